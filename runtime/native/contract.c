/* Contracts: made, filled with constants, and held against the views of a call. */
#include "native/contract.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { CONSTANTS_MOST = 1 << 16 };

static hrx_status binding_check(size_t index, const hrx_binding *binding) {
  if (binding->bytes == 0 || binding->bytes > SSIZE_MAX)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "binding %zu: bytes is %zu, 1 to %zd are possible", index, binding->bytes,
                           (ssize_t)SSIZE_MAX);
  if ((binding->alignment & (binding->alignment - 1)) != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "binding %zu: alignment %zu is not a power of two", index, binding->alignment);
  if (binding->access < HRX_READ || binding->access > HRX_ATOMIC)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "binding %zu: %u is no access", index, (unsigned)binding->access);
  return HRX_OK;
}

hrx_status hrx_contract_create(const hrx_binding *bindings, size_t count, hrx_contract **out_contract) {
  if (out_contract == NULL || (bindings == NULL && count != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "bindings or out_contract is NULL");
  if (count > BINDINGS_MOST)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "%zu bindings, at most %d are possible", count, BINDINGS_MOST);
  for (size_t i = 0; i < count; i++) {
    hrx_status status = binding_check(i, &bindings[i]);
    if (status != HRX_OK) return status;
  }
  struct hrx_contract *contract = calloc(1, sizeof *contract);
  bool enough = contract != NULL;
  if (enough) {
    contract->references = 1;
    contract->bindings = calloc(count + 1, sizeof *contract->bindings);
    enough = contract->bindings != NULL;
  }
  for (size_t i = 0; enough && i < count; i++) {
    contract->bindings[i] = bindings[i];
    contract->bindings[i].layout = bindings[i].layout != NULL ? strdup(bindings[i].layout) : NULL;
    if (bindings[i].alignment == 0) contract->bindings[i].alignment = 1;
    contract->binding_count = i + 1;
    enough = bindings[i].layout == NULL || contract->bindings[i].layout != NULL;
  }
  if (!enough) {
    hrx_contract_release(contract);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a contract of %zu bindings", count);
  }
  *out_contract = contract;
  return HRX_OK;
}

hrx_contract *hrx_contract_retain(hrx_contract *contract) {
  if (contract != NULL) atomic_fetch_add_explicit(&contract->references, 1, memory_order_relaxed); /* the caller has one */
  return contract;
}

void hrx_contract_release(hrx_contract *contract) {
  if (contract == NULL || atomic_fetch_sub(&contract->references, 1) != 1) return;
  for (size_t i = 0; i < contract->binding_count; i++) free((char *)contract->bindings[i].layout);
  free(contract->bindings);
  free(contract->constants);
  free(contract->indices);
  free(contract);
}

/* Room for `bytes` more behind what is pushed. */
static hrx_status constants_grow(struct hrx_contract *contract, size_t bytes, uint8_t **out_place) {
  if (contract == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "contract is NULL");
  if (atomic_load(&contract->sealed))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LIVE, "a kernel was made of the contract: its constants cannot change any more");
  if (contract->index_count != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "constants of a known width must be pushed before indices");
  if (bytes > CONSTANTS_MOST - contract->constant_bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "%zu bytes of constants behind %zu: at most %d are possible", bytes,
                           contract->constant_bytes, CONSTANTS_MOST);
  uint8_t *grown = realloc(contract->constants, contract->constant_bytes + bytes + 1);
  if (grown == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of constants", contract->constant_bytes + bytes);
  contract->constants = grown;
  *out_place = grown + contract->constant_bytes;
  contract->constant_bytes += bytes;
  return HRX_OK;
}

hrx_status hrx_contract_constants(hrx_contract *contract, const void *bytes, size_t count) {
  if (bytes == NULL && count != 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "bytes is NULL");
  uint8_t *place = NULL;
  hrx_status status = constants_grow(contract, count, &place);
  if (status == HRX_OK && count != 0) memcpy(place, bytes, count);
  return status;
}

/* Little-endian like every host that hrx runs on. */
hrx_status hrx_contract_push_u32(hrx_contract *contract, uint32_t value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}
hrx_status hrx_contract_push_i32(hrx_contract *contract, int32_t value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}
hrx_status hrx_contract_push_f32(hrx_contract *contract, float value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}
hrx_status hrx_contract_push_u64(hrx_contract *contract, uint64_t value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}
hrx_status hrx_contract_push_i64(hrx_contract *contract, int64_t value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}
hrx_status hrx_contract_push_f64(hrx_contract *contract, double value) {
  return hrx_contract_constants(contract, &value, sizeof value);
}

hrx_status hrx_contract_push_indices(hrx_contract *contract, const uint64_t *values, size_t count) {
  if (contract == NULL || (values == NULL && count != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "contract or values is NULL");
  if (atomic_load(&contract->sealed))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LIVE, "a kernel was made of the contract: its constants cannot change any more");
  if (count > CONSTANTS_MOST / sizeof *values - contract->index_count)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "%zu indices behind %zu: too many", count, contract->index_count);
  uint64_t *grown = realloc(contract->indices, (contract->index_count + count + 1) * sizeof *grown);
  if (grown == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu indices", count);
  contract->indices = grown;
  if (count != 0) memcpy(grown + contract->index_count, values, count * sizeof *values);
  contract->index_count += count;
  return HRX_OK;
}

void contract_seal(struct hrx_contract *contract) { atomic_store(&contract->sealed, true); }

hrx_status contract_index_write(const char *kernel, uint64_t value, size_t width, unsigned argument, uint8_t *out_bytes) {
  if (width != sizeof(uint32_t) && width != sizeof(uint64_t))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: argument %u has %zu bytes: an index has 4 or 8", kernel, argument,
                           width);
  if (width == sizeof(uint32_t) && value > UINT32_MAX)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: index %" PRIu64 " does not fit into argument %u of 4 bytes", kernel,
                           value, argument);
  memcpy(out_bytes, &value, width);
  return HRX_OK;
}

static bool writes(hrx_access access) { return access != HRX_READ; }

static hrx_status reach_check(const struct npu_device *npu, hrx_view view, size_t index, const char *kernel) {
  const struct hrx_buffer *buffer = view.buffer;
  bool for_npu = buffer->placement == HRX_NPU_LOCAL || buffer->placement == HRX_SHARED; /* of this handle: another one may be adopted as shared */
  bool reached = npu == NULL ? buffer->placement != HRX_NPU_LOCAL : for_npu && buffer->backing->npu == npu;
  if (reached) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "kernel %s: binding %zu is in memory that %s cannot reach", kernel, index,
                         npu == NULL ? "the GPU" : "this NPU");
}

hrx_status contract_check(const struct hrx_contract *contract, const struct hrx_runtime *runtime, const struct npu_device *npu,
                          const hrx_view *views, size_t count, bool aliasing, const char *kernel) {
  if (count != contract->binding_count)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: %zu views, its contract has %zu bindings", kernel, count,
                           contract->binding_count);
  if (views == NULL && count != 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel %s: views is NULL", kernel);
  for (size_t i = 0; i < count; i++) {
    const hrx_binding *binding = &contract->bindings[i];
    hrx_status status = view_check(runtime, views[i], kernel);
    if (status == HRX_OK) status = reach_check(npu, views[i], i, kernel);
    if (status != HRX_OK) return status;
    if (views[i].bytes != binding->bytes)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "kernel %s: binding %zu has %zu bytes, its contract says %zu", kernel, i,
                             views[i].bytes, binding->bytes);
    if ((view_address(views[i]) & (binding->alignment - 1)) != 0)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIGNMENT, "kernel %s: binding %zu lies at 0x%" PRIxPTR ", its contract says a multiple of %zu",
                             kernel, i, view_address(views[i]), binding->alignment);
    for (size_t j = 0; !aliasing && j < i; j++)
      if ((writes(binding->access) || writes(contract->bindings[j].access)) && view_overlap(views[i], views[j]))
        return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "kernel %s: bindings %zu and %zu overlap, and one of them is written", kernel,
                               j, i);
  }
  return HRX_OK;
}
