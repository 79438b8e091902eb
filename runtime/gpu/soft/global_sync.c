/* Global wave sync: barriers across the workgroups of a dispatch (RDNA2 ISA, "GWS"). HIP's grid.sync() is one.
 *
 * A barrier counts waves up to the number that each of them brings; the last one moves the generation on. A wave that waits
 * gives way and looks again when it has its next turn, so every workgroup of the dispatch must be able to become resident:
 * cooperative launches are checked for that. */
#include "gpu/soft/parts.h"
#include "gpu/soft/scalar.h"

enum { SYNC_MASK = SOFT_SYNC_RESOURCES - 1 };

/* The value of the first active lane, or of lane 0 if none is. */
static uint32_t first_lane(struct wave *wave, const struct operation *operation) {
  uint64_t exec = wave_exec(wave);
  return wave_word(wave, operation->source[0])[exec == 0 ? 0 : __builtin_ctzll(exec)];
}

HANDLER(gws_barrier) {
  if (wave->group == NULL || wave->group->dispatch == NULL) return operation + 1;
  struct soft_sync *sync = &wave->group->dispatch->sync[operation->extra];
  uint32_t generation = sync->generation;
  if (wave->sync_generation == 0) {
    wave->sync_generation = generation + 1;
    if (atomic_fetch_add(&sync->arrived, 1) == first_lane(wave, operation)) { /* the number of the others */
      sync->arrived = 0;
      sync->generation++;
    }
  }
  if (sync->generation != wave->sync_generation - 1) {
    wave->sync_generation = 0;
    return operation + 1;
  }
  wave->state = WAVE_YIELDED;
  wave->next = operation;
  return NULL;
}

/* The number that a barrier waits for comes with the barrier itself: there is nothing to prepare. */
HANDLER(gws_init) {
  (void)wave;
  return operation + 1;
}

static hrx_status bind_sync(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  if (instruction->operand_count < 1 || instruction->operands[0].kind != OPERAND_VGPR)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s without a vector register", opcode_name(row->opcode));
  operation_source(out, 0, &instruction->operands[0], TYPE_B32);
  out->extra = (uint16_t)(instruction->offset0 & SYNC_MASK);
  out->handler = row->handler;
  return HRX_OK;
}

static const struct binding global_sync_rows[] = {
    {OPCODE_ds_gws_barrier, bind_sync, run_gws_barrier, NULL, NULL, 0},
    {OPCODE_ds_gws_init, bind_sync, run_gws_init, NULL, NULL, 0},
};
SCALAR_TABLE(global_sync);
