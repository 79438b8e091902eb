/* NPUs as the public interface shows them, and their kernels. */
#include <hrx/npu.h>

#include <stdlib.h>
#include <string.h>

#include "native/contract.h"

const char *hrx_npu_name(const hrx_npu *npu) { return npu != NULL ? npu->device->properties.name : ""; }
unsigned hrx_npu_columns(const hrx_npu *npu) { return npu != NULL ? npu->device->properties.columns : 0; }

static unsigned access_needed(hrx_access access) {
  return access == HRX_READ ? MEMORY_READ : access == HRX_WRITE ? MEMORY_WRITE : MEMORY_READ | MEMORY_WRITE;
}

/* The program says what it does: a contract that promises less would let conflicting work run beside it. */
static hrx_status bindings_check(const struct npu_program_info *info, const struct hrx_contract *contract) {
  if (contract->binding_count != info->binding_count)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "NPU kernel %s: the contract has %zu bindings, the program has %u", info->name,
                           contract->binding_count, info->binding_count);
  for (unsigned i = 0; i < info->binding_count; i++) {
    const struct npu_binding_info *needed = &info->bindings[i];
    const hrx_binding *binding = &contract->bindings[i];
    if ((needed->access & ~access_needed(binding->access)) != 0)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "NPU kernel %s: binding %u (%s): the program %s it, the contract does not say so",
                             info->name, i, needed->name, (needed->access & MEMORY_WRITE) != 0 ? "writes" : "reads");
    if (needed->bytes != 0 && needed->bytes != binding->bytes)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "NPU kernel %s: binding %u (%s) has %zu bytes in the contract, the program takes %zu",
                             info->name, i, needed->name, binding->bytes, needed->bytes);
    if (needed->alignment > binding->alignment)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "NPU kernel %s: binding %u (%s) is aligned to %zu in the contract, the program needs %zu",
                             info->name, i, needed->name, binding->alignment, needed->alignment);
  }
  return HRX_OK;
}

/* Typed constants, then indices that share what the program has left evenly. */
static hrx_status constants_make(const struct npu_program_info *info, const struct hrx_contract *contract, uint8_t **out_constants) {
  size_t typed = contract->constant_bytes, left = info->constant_bytes > typed ? info->constant_bytes - typed : 0;
  size_t count = contract->index_count, width = count != 0 ? left / count : 0;
  if (typed + count * width != info->constant_bytes || (count != 0 && width == 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "NPU kernel %s: the contract has %zu bytes of constants and %zu indices, the program takes %zu bytes",
                           info->name, typed, count, info->constant_bytes);
  uint8_t *constants = malloc(info->constant_bytes + 1);
  if (constants == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of constants", info->constant_bytes);
  if (typed != 0) memcpy(constants, contract->constants, typed);
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < count; i++)
    status = contract_index_write(info->name, contract->indices[i], width, (unsigned)i, constants + typed + i * width);
  if (status != HRX_OK) {
    free(constants);
    return status;
  }
  *out_constants = constants;
  return HRX_OK;
}

static hrx_status load(hrx_npu *npu, const struct npu_source *source, const char *name, unsigned columns, hrx_contract *contract,
                       hrx_npu_kernel **out_kernel) {
  if (npu == NULL || name == NULL || contract == NULL || out_kernel == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "npu, kernel, contract or out_kernel is NULL");
  struct hrx_npu_kernel *kernel = calloc(1, sizeof *kernel);
  hrx_status status = kernel != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for NPU kernel %s", name);
  if (status == HRX_OK) status = npu_program_load(npu->device, source, name, columns, &kernel->program);
  if (status == HRX_OK) status = bindings_check(npu_program_info(kernel->program), contract);
  if (status == HRX_OK) status = constants_make(npu_program_info(kernel->program), contract, &kernel->constants);
  if (status != HRX_OK) {
    if (kernel != NULL) npu_program_release(kernel->program);
    free(kernel);
    return status;
  }
  kernel->references = 1;
  kernel->npu = npu;
  kernel->runtime = hrx_runtime_retain(npu->runtime);
  kernel->contract = hrx_contract_retain(contract);
  kernel->constant_bytes = npu_program_info(kernel->program)->constant_bytes;
  contract_seal(contract);
  *out_kernel = kernel;
  return HRX_OK;
}

hrx_status hrx_npu_kernel_load(hrx_npu *npu, const void *bytes, size_t size, const char *kernel, unsigned columns,
                               hrx_contract *contract, hrx_npu_kernel **out_kernel) {
  if (bytes == NULL || size == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "there are no bytes to load");
  return load(npu, &(struct npu_source){.bytes = bytes, .size = size}, kernel, columns, contract, out_kernel);
}

hrx_status hrx_npu_kernel_load_file(hrx_npu *npu, const char *path, const char *kernel, unsigned columns, hrx_contract *contract,
                                    hrx_npu_kernel **out_kernel) {
  if (path == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the path is NULL");
  return load(npu, &(struct npu_source){.path = path}, kernel, columns, contract, out_kernel);
}

hrx_npu_kernel *hrx_npu_kernel_retain(hrx_npu_kernel *kernel) {
  if (kernel != NULL) atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed); /* the caller has one */
  return kernel;
}

void hrx_npu_kernel_release(hrx_npu_kernel *kernel) {
  if (kernel == NULL || atomic_fetch_sub(&kernel->references, 1) != 1) return;
  struct hrx_runtime *runtime = kernel->runtime;
  npu_program_release(kernel->program);
  hrx_contract_release(kernel->contract);
  free(kernel->constants);
  free(kernel);
  hrx_runtime_release(runtime);
}
