/* What compilers emit around main: fat binaries, kernels and variables register, and unregister at exit.
 *
 * Registration only records, because it runs before main, in any order, in every program that merely links a library with
 * kernels. Unregistering never waits: at exit a kernel may hang, and nobody could end it any more. */

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "interpose/entry.h"
#include "interpose/function.h"
#include "interpose/handle.h"
#include "interpose/pointer_map.h"

/* clang's __CudaFatBinaryWrapper */
struct wrapper {
  uint32_t magic, version;
  const void *binary;
  const void *unused;
};

enum { WRAPPER_MAGIC = 0x48495046 /* "HIPF" */ };

enum registered_kind { REGISTERED_FUNCTION, REGISTERED_VARIABLE, REGISTERED_MANAGED };

struct registered {
  enum registered_kind kind;
  const void *key; /* stub, or the host's variable */
  struct registered_binary *binary;
  struct registered *next; /* of the binary */
  void *pointer;           /* managed: its memory, hrx's own until the process ends */
  size_t bytes;
  struct ihipModuleSymbol_t *_Atomic functions[DOMAIN_DEVICE_MAX]; /* found already */
  char name[];
};

struct registered_binary {
  const struct wrapper *wrapper;
  pthread_mutex_t lock; /* of all below */
  struct registered *all;
  struct ihipModule_t *modules[DOMAIN_DEVICE_MAX];
  hipError_t errors[DOMAIN_DEVICE_MAX]; /* why there is no module; said once, given every time */
};

static struct pointer_map functions = POINTER_MAP_INIT, variables = POINTER_MAP_INIT;

void **entry___hipRegisterFatBinary(const void *data) {
  const struct wrapper *wrapper = data;
  struct registered_binary *binary = NULL;
  if (wrapper == NULL || wrapper->magic != WRAPPER_MAGIC) {
    log_line(LOG_ERROR, "__hipRegisterFatBinary: %p is no HIP fat binary; its kernels cannot be launched", data);
  } else {
    binary = calloc(1, sizeof *binary);
    if (binary != NULL) {
      binary->wrapper = wrapper;
      pthread_mutex_init(&binary->lock, NULL);
      if (handle_add(binary, HANDLE_BINARY) != HRX_OK) {
        free(binary);
        binary = NULL;
      }
    }
  }
  caller_objects_changed(caller_is_traced ? thread_state.caller : __builtin_return_address(0));
  /* a program stores the handle and gives it back: NULL is ignored below */
  return (void **)binary;
}

static struct registered *record(void *handle, enum registered_kind kind, const void *key, const char *name) {
  struct registered_binary *binary = handle;
  if (!handle_live(binary, HANDLE_BINARY) || key == NULL || name == NULL) return NULL;
  size_t length = strlen(name);
  struct registered *registered = calloc(1, sizeof *registered + length + 1);
  struct pointer_map *map = kind == REGISTERED_FUNCTION ? &functions : &variables;
  if (registered == NULL) return NULL;
  registered->kind = kind;
  registered->key = key;
  registered->binary = binary;
  memcpy(registered->name, name, length + 1);
  if (pointer_map_set(map, key, registered) != HRX_OK) {
    free(registered);
    return NULL;
  }
  pthread_mutex_lock(&binary->lock);
  registered->next = binary->all;
  binary->all = registered;
  pthread_mutex_unlock(&binary->lock);
  return registered;
}

void entry___hipRegisterFunction(void **handle, const void *stub, char *stub_name, const char *name, unsigned thread_limit,
                                 void *tid, void *bid, dim3 *block, dim3 *grid, int *wave_size) {
  (void)stub_name, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)wave_size;
  record(handle, REGISTERED_FUNCTION, stub, name);
}

void entry___hipRegisterVar(void **handle, void *variable, char *host_name, char *name, int ext, size_t size, int constant,
                            int global) {
  (void)host_name, (void)ext, (void)constant, (void)global;
  struct registered *registered = record(handle, REGISTERED_VARIABLE, variable, name);
  if (registered != NULL) registered->bytes = size;
}

void entry___hipRegisterManagedVar(void *handle, void **pointer, void *initial, const char *name, size_t size,
                                   unsigned alignment) {
  /* host code reads through *pointer before any device is used, so it has to be there now */
  size_t at_least = alignment > 64 && (alignment & (alignment - 1)) == 0 ? alignment : 64, rounded = 0;
  if (pointer == NULL || __builtin_add_overflow(size, at_least - 1, &rounded)) return;
  void *memory = aligned_alloc(at_least, rounded == at_least - 1 ? at_least : rounded / at_least * at_least);
  if (memory == NULL) return;
  if (initial != NULL) memcpy(memory, initial, size);
  *pointer = memory;
  struct registered *registered = record(handle, REGISTERED_MANAGED, pointer, name);
  if (registered == NULL) return;
  registered->pointer = memory;
  registered->bytes = size;
}

void entry___hipRegisterTexture(void **handle, void *variable, char *host_name, char *name, int type, int normalized,
                                int ext) {
  (void)host_name, (void)type, (void)normalized, (void)ext;
  record(handle, REGISTERED_VARIABLE, variable, name);
}

void entry___hipRegisterSurface(void **handle, void *variable, char *host_name, char *name, int type, int ext) {
  (void)host_name, (void)type, (void)ext;
  record(handle, REGISTERED_VARIABLE, variable, name);
}

/* Modules that nothing uses any more go; others stay, as a busy device must keep its code. */
static void modules_drop(struct registered_binary *binary) {
  struct hip_state *state = state_existing();
  struct clock clock = {0};
  if (state != NULL && engine_clock(state->domain->engine, &clock) == HRX_OK &&
      engine_clock_over(state->domain->engine, &clock))
    for (unsigned i = 0; i < DOMAIN_DEVICE_MAX; i++) module_release(binary->modules[i]);
  clock_finish(&clock);
}

void entry___hipUnregisterFatBinary(void **handle) {
  struct registered_binary *binary = (struct registered_binary *)handle;
  if (!handle_remove(binary, HANDLE_BINARY)) return;
  caller_objects_changed(NULL);
  modules_drop(binary);
  for (struct registered *at = binary->all, *next = NULL; at != NULL; at = next) {
    next = at->next;
    pointer_map_take(at->kind == REGISTERED_FUNCTION ? &functions : &variables, at->key);
    free(at);
  }
  pthread_mutex_destroy(&binary->lock);
  free(binary);
}

/* A managed variable is a pointer on the device too: to the same memory. */
static hipError_t managed_attach(struct registered *managed, struct ihipModule_t *module) {
  struct memory *memory = state_existing()->domain->memory;
  struct allocation *allocation = NULL;
  void *address = NULL;
  size_t bytes = 0;
  hrx_status status = HRX_OK;
  if (memory_find(memory, (uintptr_t)managed->pointer) == NULL && managed->bytes != 0)
    status = memory_register(memory, managed->pointer, managed->bytes, hipMemAttachGlobal, module->device->ordinal,
                             &allocation);
  if (status == HRX_OK) status = gpu_module_global(module->module, managed->name, &address, &bytes);
  if (status == HRX_OK && bytes >= sizeof managed->pointer) memcpy(address, &managed->pointer, sizeof managed->pointer);
  /* a variable that no kernel uses may be missing from the code object */
  if (status == HRX_INVALID && hrx_last_reason() == HRX_REASON_NOT_FOUND) status = HRX_OK;
  return error_of(status);
}

static hipError_t module_open_locked(struct registered_binary *binary, struct hip_device *device) {
  struct ihipModule_t *module = NULL;
  hipError_t error = module_open(device, binary->wrapper->binary, 0, &module);
  for (struct registered *at = binary->all; error == hipSuccess && at != NULL; at = at->next)
    if (at->kind == REGISTERED_MANAGED) error = managed_attach(at, module);
  if (error == hipSuccess) {
    binary->modules[device->ordinal] = module;
    return hipSuccess;
  }
  module_release(module);
  if (error != hipErrorOutOfMemory) binary->errors[device->ordinal] = error;
  return error;
}

static hipError_t binary_module(struct registered_binary *binary, struct hip_device *device,
                                struct ihipModule_t **out_module) {
  pthread_mutex_lock(&binary->lock);
  hipError_t error = binary->errors[device->ordinal];
  if (error == hipSuccess && binary->modules[device->ordinal] == NULL) error = module_open_locked(binary, device);
  if (error == hipSuccess) *out_module = binary->modules[device->ordinal];
  pthread_mutex_unlock(&binary->lock);
  return error;
}

hipError_t function_of_stub(const void *stub, struct hip_device *device, struct ihipModuleSymbol_t **out_function) {
  struct registered *registered = pointer_map_get(&functions, stub);
  if (registered == NULL) return hipErrorInvalidDeviceFunction;
  /* acquire: who sees the pointer sees the function */
  struct ihipModuleSymbol_t *function =
    atomic_load_explicit(&registered->functions[device->ordinal], memory_order_acquire);
  struct ihipModule_t *module = NULL;
  hipError_t error = hipSuccess;
  if (function == NULL) {
    error = binary_module(registered->binary, device, &module);
    if (error == hipSuccess) error = module_function(module, registered->name, &function);
    if (error == hipErrorNotFound) error = hipErrorInvalidDeviceFunction;
    if (error == hipSuccess)
      atomic_store_explicit(&registered->functions[device->ordinal], function, memory_order_release);
  }
  if (error == hipSuccess) *out_function = function;
  return error;
}

hipError_t function_find(const void *function, struct hip_device *device, struct ihipModuleSymbol_t **out_function) {
  if (handle_live(function, HANDLE_FUNCTION)) {
    *out_function = (struct ihipModuleSymbol_t *)(uintptr_t)function;
    return hipSuccess;
  }
  return function_of_stub(function, device, out_function);
}

const char *function_stub_name(const void *stub) {
  struct registered *registered = pointer_map_get(&functions, stub);
  return registered != NULL ? registered->name : NULL;
}

hipError_t symbol_find(const void *symbol, struct hip_device *device, void **out_address, size_t *out_bytes) {
  struct registered *registered = pointer_map_get(&variables, symbol);
  struct ihipModule_t *module = NULL;
  if (registered == NULL) return hipErrorInvalidSymbol;
  hipError_t error = binary_module(registered->binary, device, &module);
  if (error != hipSuccess) return error;
  if (registered->kind == REGISTERED_MANAGED) {
    *out_address = registered->pointer;
    *out_bytes = registered->bytes;
    return hipSuccess;
  }
  hrx_status status = gpu_module_global(module->module, registered->name, out_address, out_bytes);
  return status == HRX_INVALID ? hipErrorInvalidSymbol : error_of(status);
}
