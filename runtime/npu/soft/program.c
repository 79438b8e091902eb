/* Programs: the kernel of a loaded table, validated once, so that runs need not look again. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "npu/soft/parts.h"

static hrx_status kernel_refuse(const char *kernel, const char *what, unsigned long long value, unsigned long long limit) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program: kernel %.100s: %s is %llu, the limit is %llu", kernel,
                         what, value, limit);
}

static hrx_status binding_check(const char *kernel, unsigned index, const hrx_npu_binding *binding) {
  if (binding->name == NULL || binding->access == 0 || binding->access > (HRX_NPU_READ | HRX_NPU_WRITE))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "NPU program: kernel %.100s: binding %u has %s, access %u: a name and 1 to 3 are needed", kernel,
                           index, binding->name == NULL ? "no name" : binding->name, binding->access);
  uint32_t alignment = binding->alignment;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > HRX_NPU_ALIGNMENT_MAX)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "NPU program: kernel %.100s: binding %u (%.60s) has alignment %u: a power of two up to %u is needed",
                           kernel, index, binding->name, alignment, HRX_NPU_ALIGNMENT_MAX);
  if (binding->bytes > PTRDIFF_MAX) return kernel_refuse(kernel, "the length of a binding", binding->bytes, PTRDIFF_MAX);
  return HRX_OK;
}

static hrx_status kernel_check(const hrx_npu_entry *kernel) {
  if (kernel->run == NULL || kernel->bindings == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program: kernel %.100s has no %s", kernel->name,
                           kernel->run == NULL ? "run function" : "bindings");
  if (kernel->binding_count == 0 || kernel->binding_count > HRX_NPU_BINDINGS_MAX)
    return kernel_refuse(kernel->name, "its number of bindings", kernel->binding_count, HRX_NPU_BINDINGS_MAX);
  if (kernel->constant_bytes > HRX_NPU_CONSTANT_BYTES_MAX)
    return kernel_refuse(kernel->name, "its constants' length", kernel->constant_bytes, HRX_NPU_CONSTANT_BYTES_MAX);
  hrx_status status = HRX_OK;
  for (unsigned i = 0; status == HRX_OK && i < kernel->binding_count; i++)
    status = binding_check(kernel->name, i, &kernel->bindings[i]);
  return status;
}

static hrx_status kernel_find(const struct hrx_npu_table *table, const char *source, const char *name,
                              const hrx_npu_entry **out_kernel) {
  if (table->kernels == NULL || table->kernel_count == 0 || table->kernel_count > HRX_NPU_KERNELS_MAX)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program %.200s: it has %u kernels, 1 to %u are possible", source,
                           table->kernels == NULL ? 0 : table->kernel_count, HRX_NPU_KERNELS_MAX);
  for (uint32_t i = 0; i < table->kernel_count; i++) {
    const hrx_npu_entry *kernel = &table->kernels[i];
    if (kernel->name == NULL)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program %.200s: kernel %u has no name", source, i);
    if (strcmp(kernel->name, name) != 0) continue;
    *out_kernel = kernel;
    return kernel_check(kernel);
  }
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "NPU program %.200s has no kernel %.100s; its first of %u is %.100s",
                         source, name, table->kernel_count, table->kernels[0].name);
}

static hrx_status program_make(const hrx_npu_entry *kernel, const char *source, struct npu_soft_program **out_program) {
  struct npu_soft_program *program = calloc(1, sizeof *program + kernel->binding_count * sizeof program->bindings[0]);
  char *copy = strdup(source);
  if (program == NULL || copy == NULL) {
    free(program);
    free(copy);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for NPU kernel %.100s", kernel->name);
  }
  for (unsigned i = 0; i < kernel->binding_count; i++)
    program->bindings[i] = (struct npu_binding_info){
        .name = kernel->bindings[i].name,
        .access = kernel->bindings[i].access, /* the same two bits */
        .alignment = kernel->bindings[i].alignment,
        .bytes = kernel->bindings[i].bytes,
    };
  program->kernel = kernel;
  program->source = copy;
  program->base.info = (struct npu_program_info){
      .name = kernel->name,
      .binding_count = kernel->binding_count,
      .bindings = program->bindings,
      .constant_bytes = kernel->constant_bytes,
  };
  atomic_init(&program->references, 1);
  *out_program = program;
  return HRX_OK;
}
_Static_assert((int)HRX_NPU_READ == (int)MEMORY_READ && (int)HRX_NPU_WRITE == (int)MEMORY_WRITE, "access bits are copied");
_Static_assert((int)HRX_NPU_BINDINGS_MAX == (int)NPU_BINDINGS_MAX, "one limit");

hrx_status npu_soft_program_load(struct npu_device *base, const struct npu_source *source, const char *kernel,
                                 unsigned columns, struct npu_program **out_program) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  hrx_status status = npu_soft_alive(device);
  if (status != HRX_OK) return status;
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "an NPU program without a kernel's name");
  if (columns == 0 || columns > base->properties.columns)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "NPU kernel %.100s for %u columns: %s has 1 to %u", kernel, columns,
                           base->properties.name, base->properties.columns);
  void *library = NULL;
  const struct hrx_npu_table *table = NULL;
  const hrx_npu_entry *found = NULL;
  struct npu_soft_program *program = NULL;
  const char *name = source->path != NULL ? source->path : "in memory";
  status = npu_soft_image_open(source, &library, &table);
  if (status == HRX_OK) status = kernel_find(table, name, kernel, &found);
  if (status == HRX_OK) status = program_make(found, name, &program);
  if (status != HRX_OK) {
    if (library != NULL) dlclose(library);
    return status;
  }
  program->base.device = base;
  program->base.info.columns = columns;
  program->library = library;
  atomic_fetch_add(&device->programs_live, 1);
  *out_program = &program->base;
  return HRX_OK;
}

void npu_soft_program_release(struct npu_program *base) {
  struct npu_soft_program *program = (struct npu_soft_program *)base;
  if (atomic_fetch_sub(&program->references, 1) != 1) return;
  atomic_fetch_sub(&npu_soft_device_of(base->device)->programs_live, 1);
  dlclose(program->library);
  free(program->source);
  free(program);
}
