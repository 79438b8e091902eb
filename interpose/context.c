#include "interpose/context.h"

#include <stdlib.h>

#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/state.h"

struct ihipCtx_t {
  int device;
  unsigned flags;
};

/* The newest is last. */
struct thread_contexts {
  size_t count, capacity;
  hipCtx_t items[];
};

static struct ihipCtx_t primary[DOMAIN_DEVICE_MAX];
static _Atomic unsigned primary_users[DOMAIN_DEVICE_MAX];

void thread_contexts_release(struct thread_contexts *contexts) { free(contexts); }

static bool is_primary(hipCtx_t context) { return context >= primary && context < primary + DOMAIN_DEVICE_MAX; }

int context_device(hipCtx_t context) {
  if (is_primary(context)) {
    struct hip_device *device = NULL;
    int ordinal = (int)(context - primary);
    return state_device(ordinal, &device) == hipSuccess ? ordinal : -1;
  }
  return handle_live(context, HANDLE_CONTEXT) ? context->device : -1;
}

static hipError_t push(hipCtx_t context) {
  struct thread_contexts *stack = thread_state.contexts;
  size_t count = stack != NULL ? stack->count : 0;
  if (stack == NULL || count == stack->capacity) {
    size_t capacity = count == 0 ? 4 : count * 2;
    stack = realloc(stack, sizeof *stack + capacity * sizeof *stack->items);
    if (stack == NULL) return hipErrorOutOfMemory;
    thread_at_exit();
    stack->count = count;
    stack->capacity = capacity;
    thread_state.contexts = stack;
  }
  stack->items[stack->count++] = context;
  thread_device_choose(context_device(context));
  return hipSuccess;
}

/* The stack's top, else the primary context of the thread's device. */
static hipCtx_t top(void) {
  struct thread_contexts *stack = thread_state.contexts;
  if (stack != NULL && stack->count > 0) return stack->items[stack->count - 1];
  return &primary[thread_device()];
}

static hipCtx_t pop(void) {
  struct thread_contexts *stack = thread_state.contexts;
  if (stack == NULL || stack->count == 0) return NULL;
  hipCtx_t context = stack->items[--stack->count];
  if (stack->count > 0 && context_device(top()) >= 0) thread_device_choose(context_device(top()));
  return context;
}

hipError_t entry_hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = context != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipCtxCreate, error);
  struct ihipCtx_t *made = calloc(1, sizeof *made);
  if (made == NULL) ENTRY_RETURN(hipCtxCreate, hipErrorOutOfMemory);
  made->device = ordinal;
  made->flags = flags;
  error = error_of(handle_add(made, HANDLE_CONTEXT));
  if (error == hipSuccess) {
    error = push(made);
    if (error != hipSuccess) handle_remove(made, HANDLE_CONTEXT);
  }
  if (error == hipSuccess) *context = made;
  else free(made);
  ENTRY_RETURN(hipCtxCreate, error);
}

hipError_t entry_hipCtxDestroy(hipCtx_t context) {
  if (context == NULL) ENTRY_RETURN(hipCtxDestroy, hipErrorInvalidValue);
  if (is_primary(context)) ENTRY_RETURN(hipCtxDestroy, hipErrorInvalidContext);
  if (!handle_remove(context, HANDLE_CONTEXT)) ENTRY_RETURN(hipCtxDestroy, hipErrorInvalidContext);
  struct thread_contexts *stack = thread_state.contexts;
  if (stack != NULL && stack->count > 0 && stack->items[stack->count - 1] == context) pop();
  free(context);
  ENTRY_RETURN(hipCtxDestroy, hipSuccess);
}

hipError_t entry_hipCtxGetCurrent(hipCtx_t *context) {
  struct hip_device *device = NULL;
  hipError_t error = context != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *context = top();
  ENTRY_RETURN(hipCtxGetCurrent, error);
}

hipError_t entry_hipCtxSetCurrent(hipCtx_t context) {
  if (context == NULL) {
    pop();
    ENTRY_RETURN(hipCtxSetCurrent, hipSuccess);
  }
  if (context_device(context) < 0) ENTRY_RETURN(hipCtxSetCurrent, hipErrorInvalidContext);
  pop();
  ENTRY_RETURN(hipCtxSetCurrent, push(context));
}

hipError_t entry_hipCtxPushCurrent(hipCtx_t context) {
  ENTRY_RETURN(hipCtxPushCurrent, context_device(context) >= 0 ? push(context) : hipErrorInvalidContext);
}

hipError_t entry_hipCtxPopCurrent(hipCtx_t *context) {
  hipCtx_t popped = pop();
  if (popped != NULL && context != NULL) *context = popped;
  ENTRY_RETURN(hipCtxPopCurrent, popped != NULL ? hipSuccess : hipErrorInvalidContext);
}

hipError_t entry_hipCtxGetDevice(hipDevice_t *ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = ordinal != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *ordinal = device->ordinal;
  ENTRY_RETURN(hipCtxGetDevice, error);
}

hipError_t entry_hipCtxGetApiVersion(hipCtx_t context, int *version) {
  if (version == NULL) ENTRY_RETURN(hipCtxGetApiVersion, hipErrorInvalidValue);
  if (context != NULL && context_device(context) < 0) ENTRY_RETURN(hipCtxGetApiVersion, hipErrorInvalidContext);
  *version = 4; /* what HIP has always said */
  ENTRY_RETURN(hipCtxGetApiVersion, hipSuccess);
}

hipError_t entry_hipCtxGetFlags(unsigned *flags) {
  struct hip_device *device = NULL;
  hipError_t error = flags != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *flags = is_primary(top()) ? atomic_load(&device->flags) : top()->flags;
  ENTRY_RETURN(hipCtxGetFlags, error);
}

hipError_t entry_hipCtxSynchronize(void) {
  struct hip_state *state = NULL;
  hipError_t error = state_get(&state);
  ENTRY_RETURN(hipCtxSynchronize, error == hipSuccess ? entry_hipDeviceSynchronize() : error);
}

hipError_t entry_hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = context != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) {
    atomic_fetch_add(&primary_users[ordinal], 1);
    *context = &primary[ordinal];
  }
  ENTRY_RETURN(hipDevicePrimaryCtxRetain, error);
}

hipError_t entry_hipDevicePrimaryCtxRelease(hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess && atomic_load(&primary_users[ordinal]) > 0) atomic_fetch_sub(&primary_users[ordinal], 1);
  ENTRY_RETURN(hipDevicePrimaryCtxRelease, error);
}

hipError_t entry_hipDevicePrimaryCtxReset(hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess) {
    int before = thread_device();
    thread_device_choose(ordinal);
    error = entry_hipDeviceReset();
    thread_device_choose(before);
  }
  ENTRY_RETURN(hipDevicePrimaryCtxReset, error);
}

hipError_t entry_hipDevicePrimaryCtxGetState(hipDevice_t ordinal, unsigned *flags, int *active) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess && flags != NULL) *flags = atomic_load(&device->flags);
  if (error == hipSuccess && active != NULL) *active = atomic_load(&primary_users[ordinal]) > 0;
  ENTRY_RETURN(hipDevicePrimaryCtxGetState, error);
}

hipError_t entry_hipDevicePrimaryCtxSetFlags(hipDevice_t ordinal, unsigned flags) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess) atomic_store(&device->flags, flags);
  ENTRY_RETURN(hipDevicePrimaryCtxSetFlags, error);
}
