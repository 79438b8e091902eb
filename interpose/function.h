/* Modules, kernels and variables as HIP names them.
 *
 * Registration (before main) only records. The first use of a stub or a symbol on a device opens its fat binary there. Modules
 * and kernels of registered binaries live until the binary is unregistered; those of hipModuleLoad until unloaded. */
#ifndef HRX_INTERPOSE_FUNCTION_H
#define HRX_INTERPOSE_FUNCTION_H

#include <hip/hip_runtime_api.h>
#include <stdbool.h>

#include "code/kernel.h"
#include "interpose/state.h"

/* hipFunction_t: one kernel on one device. */
struct ihipModuleSymbol_t {
  struct gpu_kernel *kernel;
  const struct kernel_code *code;
  struct ihipModule_t *module;
  struct hip_device *device;
  _Atomic unsigned max_dynamic_lds; /* hipFuncSetAttribute; 0: the device's limit */
  struct ihipModuleSymbol_t *next;  /* of the module */
};

/* hipModule_t: one code object on one device. */
struct ihipModule_t {
  struct gpu_module *module;
  struct hip_device *device;
  struct ihipLibrary_t *library; /* of which it is the code on this device, or NULL */
  pthread_mutex_t lock; /* of the list */
  struct ihipModuleSymbol_t *functions;
};

/* Loads the best code object for `device` out of `bytes` (fat binary or ELF; size 0: read it from the headers).
 * Errors: hipErrorNoBinaryForGpu after a log line that lists the targets; hipErrorInvalidImage; hipErrorOutOfMemory. */
hipError_t module_open(struct hip_device *device, const void *bytes, size_t size, struct ihipModule_t **out_module);
void module_release(struct ihipModule_t *module);

/* A kernel of the module by name; made a live handle at the first call. Errors: hipErrorNotFound. */
hipError_t module_function(struct ihipModule_t *module, const char *name, struct ihipModuleSymbol_t **out_function);

/* The module's kernels by index from 0; like module_function. Errors: hipErrorNotFound behind the last. */
hipError_t module_function_at(struct ihipModule_t *module, unsigned index, struct ihipModuleSymbol_t **out_function);

/* How many there are. */
unsigned module_function_count(struct ihipModule_t *module);

/* Waits for all work, as the kernels of a module that is to go may be queued or running. */
hipError_t module_idle_wait(void);

/* The bytes of a file, malloced. Errors: hipErrorFileNotFound; hipErrorInvalidImage for an empty one; hipErrorOutOfMemory. */
hipError_t module_file_read(const char *path, void **out_bytes, size_t *out_size);

/* The kernel behind a host stub (what <<<>>> and hipLaunchKernel name) on `device`. Opens its binary at first use.
 * Errors: hipErrorInvalidDeviceFunction for an unknown stub; those of module_open and module_function. */
hipError_t function_of_stub(const void *stub, struct hip_device *device, struct ihipModuleSymbol_t **out_function);

/* The same, where `function` may also be a live hipFunction_t (graph kernel nodes, occupancy). */
hipError_t function_find(const void *function, struct hip_device *device, struct ihipModuleSymbol_t **out_function);

/* Name that a stub was registered with, or NULL. */
const char *function_stub_name(const void *stub);

/* Address and size on `device` of a registered __device__, __constant__ or __managed__ variable. Errors:
 * hipErrorInvalidSymbol. */
hipError_t symbol_find(const void *symbol, struct hip_device *device, void **out_address, size_t *out_bytes);

#endif
