/* Modules: loading, kernels and globals by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "code/fat_binary.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/function.h"
#include "interpose/handle.h"

/* Targets that the binary has, for the line that says that ours is not among them. */
static hipError_t no_target(const struct fat_binary *binary, const char *target) {
  char targets[1024];
  fat_binary_targets(binary, targets, sizeof targets);
  log_line(LOG_ERROR, "%s: the binary has code for %s, but none for this GPU (%s); build it with --offload-arch=%s",
           error_name(hipErrorNoBinaryForGpu), targets[0] != '\0' ? targets : "no GPU", target, target);
  return hipErrorNoBinaryForGpu;
}

hipError_t module_open(struct hip_device *device, const void *bytes, size_t size, struct ihipModule_t **out_module) {
  struct fat_binary binary = {0};
  struct ihipModule_t *module = NULL;
  hrx_status status = size != 0 ? fat_binary_open(bytes, size, &binary) : fat_binary_open_unsized(bytes, SIZE_MAX, &binary);
  if (status != HRX_OK) return error_logged(status);
  const char *target = device->gpu->properties.target;
  const struct fat_entry *entry = fat_binary_pick(&binary, target);
  hipError_t error = entry != NULL ? hipSuccess : no_target(&binary, target);
  if (error == hipSuccess) {
    module = calloc(1, sizeof *module);
    if (module == NULL) error = hipErrorOutOfMemory;
  }
  if (error == hipSuccess) error = error_logged(gpu_module_load(device->gpu, entry->bytes, entry->size, &module->module));
  fat_binary_finish(&binary);
  if (error != hipSuccess) {
    free(module);
    return error;
  }
  module->device = device;
  pthread_mutex_init(&module->lock, NULL);
  *out_module = module;
  return hipSuccess;
}

void module_release(struct ihipModule_t *module) {
  if (module == NULL) return;
  for (struct ihipModuleSymbol_t *at = module->functions, *next = NULL; at != NULL; at = next) {
    next = at->next;
    handle_remove(at, HANDLE_FUNCTION);
    free(at);
  }
  gpu_module_release(module->module);
  pthread_mutex_destroy(&module->lock);
  free(module);
}

static hrx_status function_make(struct ihipModule_t *module, struct gpu_kernel *kernel,
                                struct ihipModuleSymbol_t **out_function) {
  struct ihipModuleSymbol_t *function = calloc(1, sizeof *function);
  if (function == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a kernel's handle");
  hrx_status status = handle_add(function, HANDLE_FUNCTION);
  if (status != HRX_OK) {
    free(function);
    return status;
  }
  function->kernel = kernel;
  function->code = gpu_kernel_code(kernel);
  function->module = module;
  function->device = module->device;
  *out_function = function;
  return HRX_OK;
}

static hipError_t kernel_function(struct ihipModule_t *module, struct gpu_kernel *kernel,
                                  struct ihipModuleSymbol_t **out_function) {
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&module->lock);
  struct ihipModuleSymbol_t *function = module->functions;
  while (function != NULL && function->kernel != kernel) function = function->next;
  if (function == NULL) {
    status = function_make(module, kernel, &function);
    if (status == HRX_OK) {
      function->next = module->functions;
      module->functions = function;
    }
  }
  pthread_mutex_unlock(&module->lock);
  if (status == HRX_OK) *out_function = function;
  return error_of(status);
}

hipError_t module_function(struct ihipModule_t *module, const char *name, struct ihipModuleSymbol_t **out_function) {
  struct gpu_kernel *kernel = NULL;
  hrx_status status = gpu_module_kernel(module->module, name, &kernel);
  if (status != HRX_OK) return status == HRX_INVALID ? hipErrorNotFound : error_of(status);
  return kernel_function(module, kernel, out_function);
}

hipError_t module_function_at(struct ihipModule_t *module, unsigned index, struct ihipModuleSymbol_t **out_function) {
  struct gpu_kernel *kernel = NULL;
  hrx_status status = gpu_module_kernel_at(module->module, index, &kernel);
  return status == HRX_OK ? kernel_function(module, kernel, out_function) : error_of(status);
}

unsigned module_function_count(struct ihipModule_t *module) {
  struct gpu_kernel *kernel = NULL;
  unsigned count = 0;
  while (gpu_module_kernel_at(module->module, count, &kernel) == HRX_OK) count++;
  return count;
}

/* A module that a program loaded itself has a handle. */
static hipError_t module_give(const void *bytes, size_t size, hipModule_t *out_module) {
  struct hip_device *device = NULL;
  struct ihipModule_t *module = NULL;
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = module_open(device, bytes, size, &module);
  if (error == hipSuccess) error = error_of(handle_add(module, HANDLE_MODULE));
  if (error != hipSuccess) {
    module_release(module);
    return error;
  }
  *out_module = module;
  return hipSuccess;
}

hipError_t entry_hipModuleLoadData(hipModule_t *module, const void *image) {
  ENTRY_RETURN(hipModuleLoadData,
               module != NULL && image != NULL ? module_give(image, 0, module) : hipErrorInvalidValue);
}

/* The options steer just-in-time compilers that AMD's code objects have no use for; HIP ignores them too. */
hipError_t entry_hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count, hipJitOption *options,
                                     void **values) {
  (void)count, (void)options, (void)values;
  ENTRY_RETURN(hipModuleLoadDataEx,
               module != NULL && image != NULL ? module_give(image, 0, module) : hipErrorInvalidValue);
}

hipError_t entry_hipModuleLoadFatBinary(hipModule_t *module, const void *image) {
  ENTRY_RETURN(hipModuleLoadFatBinary,
               module != NULL && image != NULL ? module_give(image, 0, module) : hipErrorInvalidValue);
}

hipError_t module_file_read(const char *path, void **out_bytes, size_t *out_size) {
  struct stat about;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return hipErrorFileNotFound;
  hipError_t error = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) ? hipSuccess : hipErrorFileNotFound;
  size_t size = error == hipSuccess ? (size_t)about.st_size : 0, have = 0;
  if (error == hipSuccess && size == 0) error = hipErrorInvalidImage;
  char *bytes = error == hipSuccess ? malloc(size) : NULL;
  if (error == hipSuccess && bytes == NULL) error = hipErrorOutOfMemory;
  while (error == hipSuccess && have < size) {
    ssize_t got = read(descriptor, bytes + have, size - have);
    if (got > 0) have += (size_t)got;
    else if (got == 0 || errno != EINTR) error = hipErrorInvalidImage; /* it shrank, or the disk failed */
  }
  close(descriptor);
  if (error != hipSuccess) {
    free(bytes);
    return error;
  }
  *out_bytes = bytes;
  *out_size = size;
  return hipSuccess;
}

hipError_t entry_hipModuleLoad(hipModule_t *module, const char *path) {
  void *bytes = NULL;
  size_t size = 0;
  hipError_t error = module != NULL && path != NULL ? module_file_read(path, &bytes, &size) : hipErrorInvalidValue;
  if (error == hipSuccess) error = module_give(bytes, size, module);
  free(bytes);
  ENTRY_RETURN(hipModuleLoad, error);
}

hipError_t module_idle_wait(void) {
  struct hip_state *state = NULL;
  struct clock clock = {0};
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  hrx_status status = engine_clock(state->domain->engine, &clock);
  if (status == HRX_OK) status = engine_clock_wait(state->domain->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  return error_of(status);
}

hipError_t entry_hipModuleUnload(hipModule_t module) {
  if (!handle_live(module, HANDLE_MODULE)) ENTRY_RETURN(hipModuleUnload, hipErrorInvalidHandle);
  hipError_t error = capture_refuses(module->device, NULL);
  if (error == hipSuccess) error = module_idle_wait();
  if (error == hipSuccess && handle_remove(module, HANDLE_MODULE)) module_release(module);
  ENTRY_RETURN(hipModuleUnload, error);
}

hipError_t entry_hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  if (function == NULL || name == NULL || *name == '\0') ENTRY_RETURN(hipModuleGetFunction, hipErrorInvalidValue);
  if (!handle_live(module, HANDLE_MODULE)) ENTRY_RETURN(hipModuleGetFunction, hipErrorInvalidHandle);
  ENTRY_RETURN(hipModuleGetFunction, module_function(module, name, function));
}

hipError_t entry_hipModuleGetFunctionCount(unsigned *count, hipModule_t module) {
  if (count == NULL) ENTRY_RETURN(hipModuleGetFunctionCount, hipErrorInvalidValue);
  if (!handle_live(module, HANDLE_MODULE)) ENTRY_RETURN(hipModuleGetFunctionCount, hipErrorInvalidHandle);
  *count = module_function_count(module);
  ENTRY_RETURN(hipModuleGetFunctionCount, hipSuccess);
}

hipError_t entry_hipModuleGetGlobal(void **address, size_t *bytes, hipModule_t module, const char *name) {
  if ((address == NULL && bytes == NULL) || name == NULL) ENTRY_RETURN(hipModuleGetGlobal, hipErrorInvalidValue);
  if (!handle_live(module, HANDLE_MODULE)) ENTRY_RETURN(hipModuleGetGlobal, hipErrorInvalidHandle);
  void *found = NULL;
  size_t found_bytes = 0;
  hrx_status status = gpu_module_global(module->module, name, &found, &found_bytes);
  if (status == HRX_OK && address != NULL) *address = found;
  if (status == HRX_OK && bytes != NULL) *bytes = found_bytes;
  ENTRY_RETURN(hipModuleGetGlobal, status == HRX_INVALID ? hipErrorNotFound : error_of(status));
}

hipError_t entry_hipGetFuncBySymbol(hipFunction_t *function, const void *symbol) {
  struct hip_device *device = NULL;
  hipError_t error = function != NULL && symbol != NULL ? state_current(&device) : hipErrorInvalidValue;
  ENTRY_RETURN(hipGetFuncBySymbol, error == hipSuccess ? function_of_stub(symbol, device, function) : error);
}

text entry_hipKernelNameRef(hipFunction_t function) {
  return handle_live(function, HANDLE_FUNCTION) ? function->code->name : NULL;
}

text entry_hipKernelNameRefByPtr(const void *stub, hipStream_t stream) {
  (void)stream;
  return function_stub_name(stub);
}
