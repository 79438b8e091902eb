#include <stdlib.h>
#include <string.h>

#include "gpu/soft/parts.h"

static struct soft_module *module_of(struct gpu_module *module) { return (struct soft_module *)(void *)module; }

hrx_status soft_module_load(struct gpu_device *device, const void *bytes, size_t size, struct gpu_module **out_module) {
  struct soft_module *module = calloc(1, sizeof *module);
  if (module == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a module");
  module->base.device = device;
  hrx_status status = code_object_open(bytes, size, &module->object);
  if (status == HRX_OK) status = soft_object_check(module->object, device->properties.target);
  if (status == HRX_OK)
    status = memory_allocate(soft_device_of(device)->memory, (size_t)module->object->image_bytes, 4096, MEMORY_CODE, 0, 0,
                             &module->memory);
  if (status == HRX_OK)
    status = code_object_load(module->object, bytes, size, module->memory->address, (void *)module->memory->address);
  if (status == HRX_OK) {
    module->kernels = calloc((size_t)module->object->kernel_count + 1, sizeof *module->kernels);
    if (module->kernels == NULL) status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u kernels", module->object->kernel_count);
  }
  if (status != HRX_OK) {
    soft_module_release(&module->base);
    return status;
  }
  for (uint32_t i = 0; i < module->object->kernel_count; i++)
    module->kernels[i] = (struct soft_kernel){.base.device = device, .module = module, .code = &module->object->kernels[i]};
  module->image = (struct soft_image){.object = module->object, .bytes = (const uint8_t *)module->memory->address,
                                      .base = module->memory->address};
  *out_module = &module->base;
  return HRX_OK;
}

void soft_module_release(struct gpu_module *base) {
  struct soft_module *module = module_of(base);
  if (module->kernels != NULL)
    for (uint32_t i = 0; i < module->object->kernel_count; i++) soft_bound_finish(&module->kernels[i].bound);
  soft_image_finish(&module->image);
  free(module->kernels);
  memory_free(soft_device_of(base->device)->memory, module->memory);
  code_object_release(module->object);
  free(module);
}

hrx_status soft_module_kernel(struct gpu_module *base, const char *name, struct gpu_kernel **out_kernel) {
  struct soft_module *module = module_of(base);
  const struct kernel_code *code = code_object_kernel(module->object, name);
  if (code == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "no kernel %s in the code object", name);
  *out_kernel = &module->kernels[code - module->object->kernels].base;
  return HRX_OK;
}

hrx_status soft_module_kernel_at(struct gpu_module *base, unsigned index, struct gpu_kernel **out_kernel) {
  struct soft_module *module = module_of(base);
  if (index >= module->object->kernel_count)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "no kernel %u, the code object has %u", index, module->object->kernel_count);
  *out_kernel = &module->kernels[index].base;
  return HRX_OK;
}

hrx_status soft_module_global(struct gpu_module *base, const char *name, void **out_address, size_t *out_bytes) {
  struct soft_module *module = module_of(base);
  for (uint32_t i = 0; i < module->object->variable_count; i++) {
    const struct code_variable *variable = &module->object->variables[i];
    if (strcmp(variable->name, name) != 0) continue;
    *out_address = (void *)(module->memory->address + (uintptr_t)variable->address);
    *out_bytes = (size_t)variable->bytes;
    return HRX_OK;
  }
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "no variable %s in the code object", name);
}

const struct kernel_code *soft_kernel_code(const struct gpu_kernel *kernel) {
  return ((const struct soft_kernel *)(const void *)kernel)->code;
}

/* The first missing instruction, and how many more there are. */
struct lack {
  const struct operation *first;
  uint32_t count;
};

static void lack_note(const struct operation *operation, void *context) {
  struct lack *lack = context;
  if (lack->first == NULL || operation < lack->first) lack->first = operation;
  lack->count++;
}

static hrx_status lack_refuse(const struct soft_image *image, const struct soft_bound *bound,
                              const struct kernel_code *code, const struct lack *lack) {
  const struct instruction *instruction = lack->first->instruction;
  char text[128];
  uint64_t offset = soft_instruction_text(image, bound, instruction, text, sizeof text);
  return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION,
                         "%s instruction \"%s\" (encoding %08x %08x), which kernel %s can reach at 0x%llx of the image, is not "
                         "implemented%s",
                         image->object->target, text, instruction->encoding[0],
                         instruction->size > 4 ? instruction->encoding[1] : 0, code->name, (unsigned long long)offset,
                         lack->count > 1 ? "; nor are others" : "");
}

static hrx_status kernel_bind(struct soft_kernel *kernel) {
  struct lack lack = {0};
  hrx_status status = soft_image_bind(&kernel->module->image, kernel->code, NULL, lack_note, &lack, &kernel->bound);
  if (status == HRX_OK && lack.count > 0) status = lack_refuse(&kernel->module->image, &kernel->bound, kernel->code, &lack);
  return status;
}

hrx_status soft_kernel_ready(struct gpu_kernel *base) {
  struct soft_kernel *kernel = (struct soft_kernel *)(void *)base;
  /* acquire pairs with the release below: who sees it decided sees what was */
  if (!atomic_load_explicit(&kernel->decided, memory_order_acquire)) {
    struct soft_device *device = soft_device_of(base->device);
    pthread_mutex_lock(&device->bind_lock);
    if (!kernel->decided) {
      hrx_status status = kernel_bind(kernel);
      if (status != HRX_OUT_OF_MEMORY) { /* being short of memory passes: ask again next time */
        if (status != HRX_OK) failure_capture(status, &kernel->refusal);
        atomic_store_explicit(&kernel->decided, true, memory_order_release);
      }
      pthread_mutex_unlock(&device->bind_lock);
      return status;
    }
    pthread_mutex_unlock(&device->bind_lock);
  }
  return failure_restore(&kernel->refusal);
}
