/* The budget: bytes of all buffers of a runtime, charged before they are allocated. */
#include <inttypes.h>

#include "native/stream.h"

/* Whether it fitted; `out_charged` is what was charged without it. */
static bool try_charge(struct hrx_runtime *runtime, uint64_t bytes, uint64_t *out_charged) {
  uint64_t budget = runtime->options.memory_budget, charged = atomic_load(&runtime->charged);
  do {
    *out_charged = charged;
    if (budget != 0 && (charged > budget || bytes > budget - charged)) return false;
  } while (!atomic_compare_exchange_weak(&runtime->charged, &charged, charged + bytes));
  return true;
}

hrx_status budget_charge(struct hrx_runtime *runtime, uint64_t bytes) {
  uint64_t charged = 0;
  if (try_charge(runtime, bytes, &charged)) return HRX_OK;
  if (bytes <= runtime->options.memory_budget && runtime_scratch_drop(runtime) != 0 && try_charge(runtime, bytes, &charged))
    return HRX_OK;
  return hrx_fail_reason(HRX_BUSY, HRX_REASON_BUDGET,
                         "%" PRIu64 " bytes do not fit into the memory budget: %" PRIu64 " of %" PRIu64 " bytes are used", bytes,
                         charged, runtime->options.memory_budget);
}

void budget_discharge(struct hrx_runtime *runtime, uint64_t bytes) { atomic_fetch_sub(&runtime->charged, bytes); }
