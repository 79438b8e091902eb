/* Libraries (HIP 7.2): code that a program loads once and that is opened on each device where it is used.
 *
 * A library keeps a copy of its code. The first question on a device opens it there. Its kernels are functions of the device on
 * which they were asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/fat_binary.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/function.h"
#include "interpose/handle.h"
#include "interpose/occupancy.h"

struct ihipLibrary_t {
  void *bytes;
  size_t size;
  pthread_mutex_t lock; /* of the modules */
  struct ihipModule_t *modules[DOMAIN_DEVICE_MAX];
};

/* Takes the bytes, also on an error. */
static hipError_t library_make(void *bytes, size_t size, hipLibrary_t *out_library) {
  struct ihipLibrary_t *library = calloc(1, sizeof *library);
  hipError_t error = library != NULL ? error_of(handle_add(library, HANDLE_LIBRARY)) : hipErrorOutOfMemory;
  if (error != hipSuccess) {
    free(library);
    free(bytes);
    return error;
  }
  library->bytes = bytes;
  library->size = size;
  pthread_mutex_init(&library->lock, NULL);
  *out_library = library;
  return hipSuccess;
}

/* Keeps what this GPU needs of an image (size 0: its headers say how far it goes); every device here is of the same kind. */
static hipError_t library_load(const void *image, size_t size, hipLibrary_t *out_library) {
  struct hip_device *device = NULL;
  struct fat_binary binary = {0};
  hipError_t error = state_current(&device);
  if (error == hipSuccess)
    error = error_logged(size != 0 ? fat_binary_open(image, size, &binary) : fat_binary_open_unsized(image, SIZE_MAX, &binary));
  if (error != hipSuccess) return error;
  const struct fat_entry *entry = fat_binary_pick(&binary, device->gpu->properties.target);
  struct ihipModule_t *none = NULL;
  void *bytes = entry != NULL ? malloc(entry->size) : NULL;
  if (entry == NULL) error = module_open(device, image, size, &none); /* which says what there is and fails */
  else if (bytes == NULL) error = hipErrorOutOfMemory;
  else memcpy(bytes, entry->bytes, entry->size);
  size_t kept = entry != NULL ? entry->size : 0;
  fat_binary_finish(&binary);
  return error == hipSuccess ? library_make(bytes, kept, out_library) : error;
}

hipError_t entry_hipLibraryLoadData(hipLibrary_t *library, const void *image, hipJitOption *options, void **values, unsigned count,
                                    int *library_options, void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)library_options, (void)library_values, (void)library_count;
  /* AMD's code objects have no use for options of a just-in-time compiler */
  hipError_t error = library != NULL && image != NULL && count == 0 ? library_load(image, 0, library) : hipErrorInvalidValue;
  ENTRY_RETURN(hipLibraryLoadData, error);
}

hipError_t entry_hipLibraryLoadFromFile(hipLibrary_t *library, const char *path, hipJitOption *options, void **values,
                                        unsigned count, int *library_options, void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)library_options, (void)library_values, (void)library_count;
  void *bytes = NULL;
  size_t size = 0;
  hipError_t error = library != NULL && path != NULL && count == 0 ? module_file_read(path, &bytes, &size) : hipErrorInvalidValue;
  if (error == hipErrorFileNotFound) error = hipErrorInvalidValue;
  if (error == hipSuccess) error = library_load(bytes, size, library);
  free(bytes);
  ENTRY_RETURN(hipLibraryLoadFromFile, error);
}

hipError_t entry_hipLibraryUnload(hipLibrary_t library) {
  struct hip_device *device = NULL;
  if (!handle_live(library, HANDLE_LIBRARY)) ENTRY_RETURN(hipLibraryUnload, hipErrorInvalidHandle);
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = capture_refuses(device, NULL);
  if (error == hipSuccess) error = module_idle_wait();
  if (error == hipSuccess && handle_remove(library, HANDLE_LIBRARY)) {
    for (unsigned i = 0; i < DOMAIN_DEVICE_MAX; i++) module_release(library->modules[i]);
    pthread_mutex_destroy(&library->lock);
    free(library->bytes);
    free(library);
  }
  ENTRY_RETURN(hipLibraryUnload, error);
}

static hipError_t module_on(struct ihipLibrary_t *library, struct hip_device *device, struct ihipModule_t **out_module) {
  struct ihipModule_t **place = &library->modules[device->ordinal];
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&library->lock);
  if (*place == NULL) {
    error = module_open(device, library->bytes, library->size, place);
    if (error == hipSuccess) (*place)->library = library;
  }
  *out_module = *place;
  pthread_mutex_unlock(&library->lock);
  return error;
}

static hipError_t module_here(hipLibrary_t library, struct ihipModule_t **out_module) {
  struct hip_device *device = NULL;
  if (!handle_live(library, HANDLE_LIBRARY)) return hipErrorInvalidHandle;
  hipError_t error = state_current(&device);
  return error == hipSuccess ? module_on(library, device, out_module) : error;
}

hipError_t entry_hipLibraryGetKernelCount(unsigned *count, hipLibrary_t library) {
  struct ihipModule_t *module = NULL;
  hipError_t error = count != NULL && library != NULL ? module_here(library, &module) : hipErrorInvalidValue;
  if (error == hipSuccess) *count = module_function_count(module);
  ENTRY_RETURN(hipLibraryGetKernelCount, error);
}

hipError_t entry_hipLibraryGetKernel(hipKernel_t *kernel, hipLibrary_t library, const char *name) {
  struct ihipModule_t *module = NULL;
  hipError_t error = kernel != NULL && library != NULL && name != NULL ? module_here(library, &module) : hipErrorInvalidValue;
  ENTRY_RETURN(hipLibraryGetKernel, error == hipSuccess ? module_function(module, name, kernel) : error);
}

/* The first `count` kernels; fewer if there are fewer. */
hipError_t entry_hipLibraryEnumerateKernels(hipKernel_t *kernels, unsigned count, hipLibrary_t library) {
  struct ihipModule_t *module = NULL;
  hipError_t error = kernels != NULL && library != NULL ? module_here(library, &module) : hipErrorInvalidValue;
  for (unsigned i = 0; error == hipSuccess && i < count; i++) error = module_function_at(module, i, &kernels[i]);
  ENTRY_RETURN(hipLibraryEnumerateKernels, error == hipErrorNotFound ? hipSuccess : error);
}

static hipError_t variable(hipLibrary_t library, const char *name, void **address, size_t *bytes, bool managed) {
  struct ihipModule_t *module = NULL;
  char storage[1024];
  void *found = NULL, *pointer = NULL;
  size_t found_bytes = 0, pointer_bytes = 0;
  if ((address == NULL && bytes == NULL) || name == NULL || *name == '\0') return hipErrorInvalidValue;
  /* clang names the memory of a managed variable so, and the pointer to it by the variable's own name */
  int length = snprintf(storage, sizeof storage, "%s%s", name, managed ? ".managed" : "");
  if (length < 0 || (size_t)length >= sizeof storage) return hipErrorNotFound;
  hipError_t error = module_here(library, &module);
  if (error != hipSuccess) return error;
  hrx_status status = gpu_module_global(module->module, storage, &found, &found_bytes);
  if (status == HRX_OK && managed) status = gpu_module_global(module->module, name, &pointer, &pointer_bytes);
  if (status != HRX_OK) return status == HRX_INVALID ? hipErrorNotFound : error_of(status);
  if (managed && pointer_bytes == sizeof found) __atomic_store_n((void **)pointer, found, __ATOMIC_RELEASE);
  if (address != NULL) *address = found;
  if (bytes != NULL) *bytes = found_bytes;
  return hipSuccess;
}

hipError_t entry_hipLibraryGetGlobal(void **address, size_t *bytes, hipLibrary_t library, const char *name) {
  ENTRY_RETURN(hipLibraryGetGlobal, variable(library, name, address, bytes, false));
}

hipError_t entry_hipLibraryGetManaged(void **address, size_t *bytes, hipLibrary_t library, const char *name) {
  ENTRY_RETURN(hipLibraryGetManaged, variable(library, name, address, bytes, true));
}

/* A kernel of a library, on the device where it was asked for. Functions of modules are none. */
static hipError_t kernel_check(hipKernel_t kernel) {
  if (kernel == NULL) return hipErrorInvalidValue;
  return handle_live(kernel, HANDLE_FUNCTION) && kernel->module->library != NULL ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t entry_hipKernelGetLibrary(hipLibrary_t *library, hipKernel_t kernel) {
  hipError_t error = library != NULL ? kernel_check(kernel) : hipErrorInvalidValue;
  if (error == hipSuccess) *library = kernel->module->library;
  ENTRY_RETURN(hipKernelGetLibrary, error);
}

hipError_t entry_hipKernelGetName(const char **name, hipKernel_t kernel) {
  hipError_t error = name != NULL ? kernel_check(kernel) : hipErrorInvalidValue;
  if (error == hipSuccess) *name = kernel->code->name;
  ENTRY_RETURN(hipKernelGetName, error);
}

/* The same kernel on another device. */
static hipError_t kernel_on(hipKernel_t kernel, int ordinal, struct ihipModuleSymbol_t **out_function) {
  struct hip_device *device = NULL;
  struct ihipModule_t *module = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess) error = module_on(kernel->module->library, device, &module);
  return error == hipSuccess ? module_function(module, kernel->code->name, out_function) : error;
}

/* For the thread's device. */
hipError_t entry_hipKernelGetFunction(hipFunction_t *function, hipKernel_t kernel) {
  struct hip_device *device = NULL;
  hipError_t error = function != NULL ? kernel_check(kernel) : hipErrorInvalidValue;
  if (error == hipSuccess) error = state_current(&device);
  ENTRY_RETURN(hipKernelGetFunction, error == hipSuccess ? kernel_on(kernel, device->ordinal, function) : error);
}

hipError_t entry_hipKernelGetParamInfo(hipKernel_t kernel, size_t index, size_t *offset, size_t *bytes) {
  hipError_t error = offset != NULL ? kernel_check(kernel) : hipErrorInvalidValue;
  if (error == hipSuccess && index >= kernel->code->explicit_count) error = hipErrorInvalidValue;
  if (error == hipSuccess) {
    *offset = kernel->code->arguments[index].offset;
    if (bytes != NULL) *bytes = kernel->code->arguments[index].bytes;
  }
  ENTRY_RETURN(hipKernelGetParamInfo, error);
}

hipError_t entry_hipKernelGetAttribute(int *value, hipFunction_attribute which, hipKernel_t kernel, hipDevice_t device) {
  struct ihipModuleSymbol_t *function = NULL;
  hipError_t error = value != NULL ? kernel_check(kernel) : hipErrorInvalidValue;
  if (error == hipErrorInvalidValue && value != NULL) error = hipErrorInvalidHandle;
  if (error == hipSuccess) error = kernel_on(kernel, device, &function);
  ENTRY_RETURN(hipKernelGetAttribute, error == hipSuccess ? function_attribute(function, which, value) : error);
}

hipError_t entry_hipKernelSetAttribute(hipFunction_attribute which, int value, hipKernel_t kernel, hipDevice_t device) {
  struct ihipModuleSymbol_t *function = NULL;
  hipError_t error = kernel_check(kernel);
  if (error == hipSuccess) error = kernel_on(kernel, device, &function);
  if (error != hipSuccess) ENTRY_RETURN(hipKernelSetAttribute, error);
  if (which == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    ENTRY_RETURN(hipKernelSetAttribute, function_set_dynamic_lds(function, value));
  /* how LDS and cache share their memory: there is no cache here */
  bool carveout = which == HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 && value <= 100;
  ENTRY_RETURN(hipKernelSetAttribute, carveout ? hipSuccess : hipErrorInvalidValue);
}
