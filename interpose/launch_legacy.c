/* The thread's stack of launch configurations, and the launches of old compilers: hipConfigureCall, hipSetupArgument,
 * hipLaunchByPtr. */
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/launch.h"
#include "interpose/operation.h"

/* Deeper nesting than CALL_DEPTH_INLINE: the newest first. */
struct call_overflow {
  struct call_configuration call;
  struct call_overflow *next;
};

hipError_t call_push(const struct call_configuration *call) {
  if (thread_state.call_depth < CALL_DEPTH_INLINE) {
    thread_state.calls[thread_state.call_depth++] = *call;
    return hipSuccess;
  }
  struct call_overflow *more = malloc(sizeof *more);
  if (more == NULL) return hipErrorOutOfMemory;
  thread_at_exit();
  more->call = *call;
  more->next = thread_state.overflow;
  thread_state.overflow = more;
  thread_state.call_depth++;
  return hipSuccess;
}

struct call_configuration *call_top(void) {
  if (thread_state.call_depth == 0) return NULL;
  if (thread_state.overflow != NULL) return &thread_state.overflow->call;
  return &thread_state.calls[thread_state.call_depth - 1];
}

hipError_t call_pop(struct call_configuration *out_call) {
  struct call_configuration *top = call_top();
  if (top == NULL) return hipErrorMissingConfiguration;
  *out_call = *top;
  thread_state.call_depth--;
  struct call_overflow *more = thread_state.overflow;
  if (more != NULL) {
    thread_state.overflow = more->next;
    free(more);
  }
  return hipSuccess;
}

void call_overflow_release(struct call_overflow *overflow) {
  for (struct call_overflow *next = NULL; overflow != NULL; overflow = next) {
    next = overflow->next;
    free(overflow);
  }
}

hipError_t entry___hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  struct call_configuration call = {grid, block, shared, stream};
  ENTRY_RETURN(__hipPushCallConfiguration, call_push(&call));
}

hipError_t entry___hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream) {
  struct call_configuration call;
  hipError_t error = call_pop(&call);
  if (error == hipSuccess) {
    if (grid != NULL) *grid = call.grid;
    if (block != NULL) *block = call.block;
    if (shared != NULL) *shared = call.shared_bytes;
    if (stream != NULL) *stream = call.stream;
  }
  ENTRY_RETURN(__hipPopCallConfiguration, error);
}

enum { SETUP_CAPACITY = 4096 };

struct thread_setup {
  size_t bytes;
  _Alignas(16) unsigned char arguments[SETUP_CAPACITY];
};

hipError_t entry_hipConfigureCall(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  struct call_configuration call = {grid, block, shared, stream};
  if (thread_state.setup != NULL) thread_state.setup->bytes = 0;
  ENTRY_RETURN(hipConfigureCall, call_push(&call));
}

hipError_t entry_hipSetupArgument(const void *argument, size_t size, size_t offset) {
  struct thread_setup *setup = thread_state.setup;
  if (argument == NULL || offset > SETUP_CAPACITY || size > SETUP_CAPACITY - offset)
    ENTRY_RETURN(hipSetupArgument, hipErrorInvalidValue);
  if (call_top() == NULL) ENTRY_RETURN(hipSetupArgument, hipErrorMissingConfiguration);
  if (setup == NULL) {
    setup = calloc(1, sizeof *setup);
    if (setup == NULL) ENTRY_RETURN(hipSetupArgument, hipErrorOutOfMemory);
    thread_at_exit();
    thread_state.setup = setup;
  }
  if (offset > setup->bytes) memset(setup->arguments + setup->bytes, 0, offset - setup->bytes);
  memcpy(setup->arguments + offset, argument, size);
  if (offset + size > setup->bytes) setup->bytes = offset + size;
  ENTRY_RETURN(hipSetupArgument, hipSuccess);
}

static hipError_t launch_configured(const void *stub) {
  struct call_configuration call;
  struct ihipStream_t *stream = NULL;
  struct launch_operation operation = {0};
  hipError_t error = call_pop(&call);
  if (error == hipSuccess) error = hip_stream_find(call.stream, &stream);
  if (error == hipSuccess) error = function_of_stub(stub, stream->device, &operation.function);
  if (error == hipSuccess) error = launch_geometry(&operation, call.grid, call.block, call.shared_bytes);
  if (error != hipSuccess) return error;
  struct thread_setup *setup = thread_state.setup;
  size_t bytes = setup != NULL ? setup->bytes : 0;
  if (bytes < operation.function->code->explicit_bytes) return hipErrorInvalidValue;
  operation.arguments = setup != NULL ? setup->arguments : NULL;
  operation.argument_bytes = operation.function->code->explicit_bytes;
  return launch_issue(stream, &operation);
}

hipError_t entry_hipLaunchByPtr(const void *stub) {
  hipError_t error = launch_configured(stub);
  if (thread_state.setup != NULL) thread_state.setup->bytes = 0;
  ENTRY_RETURN(hipLaunchByPtr, error);
}
