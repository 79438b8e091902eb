/* Kernels without code, and modules that hold them. */
#include <stdlib.h>
#include <string.h>

#include "gpu/sim/parts.h"

static struct sim_kernel *kernel_of(const struct gpu_kernel *kernel) { return (struct sim_kernel *)(uintptr_t)kernel; }

static struct sim_kernel *kernel_find_locked(const struct sim_device *device, const char *name) {
  struct sim_kernel *kernel = device->kernels;
  while (kernel != NULL && strcmp(kernel->code.name, name) != 0) kernel = kernel->next;
  return kernel;
}

static void kernel_release(struct sim_kernel *kernel) {
  if (kernel == NULL) return;
  free(kernel->code.name);
  free(kernel->code.symbol);
  free(kernel->code.arguments);
  free(kernel);
}

static char *symbol_of(const char *name) {
  size_t length = strlen(name);
  char *symbol = malloc(length + sizeof ".kd");
  if (symbol == NULL) return NULL;
  memcpy(symbol, name, length);
  memcpy(symbol + length, ".kd", sizeof ".kd");
  return symbol;
}

hrx_status sim_kernel_create(struct gpu_device *base, const char *name, uint64_t duration_ns, struct gpu_kernel **out_kernel) {
  struct sim_device *device = sim_device_of(base);
  struct sim_kernel *kernel = calloc(1, sizeof *kernel);
  if (kernel != NULL) {
    kernel->base.device = base;
    kernel->duration_ns = duration_ns;
    kernel->code = (struct kernel_code){.name = strdup(name),
                                        .symbol = symbol_of(name),
                                        .kernarg_alignment = 8,
                                        .wave_lanes = base->properties.wave_lanes,
                                        .max_workgroup = base->properties.max_block};
  }
  if (kernel == NULL || kernel->code.name == NULL || kernel->code.symbol == NULL) {
    kernel_release(kernel);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for kernel %s", name);
  }
  pthread_mutex_lock(&device->lock);
  bool known = kernel_find_locked(device, name) != NULL;
  if (!known) {
    kernel->next = device->kernels;
    device->kernels = kernel;
  }
  pthread_mutex_unlock(&device->lock);
  if (known) {
    kernel_release(kernel);
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LIVE, "there is a kernel %s already", name);
  }
  *out_kernel = &kernel->base;
  return HRX_OK;
}

hrx_status sim_kernel_layout(struct gpu_kernel *base, const struct kernel_argument *arguments, uint32_t count) {
  struct sim_kernel *kernel = kernel_of(base);
  uint32_t end = 0, duration_offset = UINT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    if (arguments[i].offset < end || arguments[i].bytes > UINT32_MAX - 7 - arguments[i].offset)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel %s: argument %u is %u bytes at offset %u, behind byte %u",
                             kernel->code.name, i, arguments[i].bytes, arguments[i].offset, end);
    end = arguments[i].offset + arguments[i].bytes;
    if (arguments[i].bytes == sizeof(uint64_t) && strcmp(arguments[i].name, "duration_ns") == 0)
      duration_offset = arguments[i].offset;
  }
  struct kernel_argument *copy = calloc(count > 0 ? count : 1, sizeof *copy);
  if (copy == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u arguments of kernel %s", count, kernel->code.name);
  if (count > 0) memcpy(copy, arguments, count * sizeof *copy);
  free(kernel->code.arguments);
  kernel->code.arguments = copy;
  kernel->code.argument_count = kernel->code.explicit_count = count;
  kernel->code.explicit_bytes = end;
  kernel->code.kernarg_bytes = kernel->code.descriptor.kernarg_bytes = (end + 7) & ~7u;
  kernel->duration_offset = duration_offset;
  return HRX_OK;
}

void sim_kernel_outcome(struct gpu_kernel *base, enum sim_outcome outcome, const struct failure *failure) {
  struct sim_kernel *kernel = kernel_of(base);
  struct sim_device *device = sim_device_of(base->device);
  pthread_mutex_lock(&device->lock);
  kernel->outcome = outcome;
  if (failure != NULL) kernel->failure = *failure;
  pthread_mutex_unlock(&device->lock);
}

hrx_status sim_module_load(struct gpu_device *device, const void *bytes, size_t size, struct gpu_module **out_module) {
  (void)bytes, (void)size;
  struct sim_module *module = calloc(1, sizeof *module);
  if (module == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a module");
  module->base.device = device;
  *out_module = &module->base;
  return HRX_OK;
}

void sim_module_release(struct gpu_module *module) { free(module); }

hrx_status sim_module_kernel(struct gpu_module *module, const char *name, struct gpu_kernel **out_kernel) {
  struct sim_device *device = sim_device_of(module->device);
  pthread_mutex_lock(&device->lock);
  struct sim_kernel *kernel = kernel_find_locked(device, name);
  pthread_mutex_unlock(&device->lock);
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "there is no kernel %s", name);
  *out_kernel = &kernel->base;
  return HRX_OK;
}

hrx_status sim_module_global(struct gpu_module *module, const char *name, void **out_address, size_t *out_bytes) {
  (void)module, (void)out_address, (void)out_bytes;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "there is no variable %s: this device has none", name);
}

const struct kernel_code *sim_kernel_code(const struct gpu_kernel *kernel) { return &kernel_of(kernel)->code; }

hrx_status sim_kernel_ready(struct gpu_kernel *kernel) {
  (void)kernel;
  return HRX_OK;
}

void sim_kernels_finish(struct sim_device *device) {
  while (device->kernels != NULL) {
    struct sim_kernel *kernel = device->kernels;
    device->kernels = kernel->next;
    kernel_release(kernel);
  }
}
