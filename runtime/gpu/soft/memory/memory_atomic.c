/* Atomics on global memory and through flat addresses (RDNA2 ISA, "Flat, scratch and global").
 *
 * Sources as in places.h; source[2] is the operand, followed by the comparand of a compare-and-swap. An operand that is not
 * aligned faults, as it does on the hardware. */
#include "gpu/soft/memory/atomics.h"
#include "gpu/soft/memory/places.h"

enum { EXTRA_FORM = 3, EXTRA_RETURNS = 4 };

/* One lane's operand, comparand and result; private memory is nobody else's, so plain accesses do there. */
LANE_INLINE void lane_apply(const struct wave *wave, const struct operation *operation, enum atomic what, unsigned width,
                            unsigned lane, void *place, bool private, uint32_t offset) {
  const uint32_t *data = wave_word((struct wave *)(uintptr_t)wave, operation->source[2]);
  uint32_t *registers = wave_word((struct wave *)(uintptr_t)wave, operation->destination);
  const bool compares = what == ATOMIC_COMPARE || what == ATOMIC_FLOAT_COMPARE;
  uint64_t before;
  if (width == 64) {
    const uint64_t value = (uint64_t)data[SOFT_LANES + lane] << 32 | data[lane];
    const uint64_t compare = compares ? (uint64_t)data[3 * SOFT_LANES + lane] << 32 | data[2 * SOFT_LANES + lane] : 0;
    if (private) {
      uint64_t after;
      private_read(wave, lane, offset, 8, (uint8_t *)&before);
      after = atomic_result64(what, before, value, compare);
      private_write(wave, lane, offset, 8, (const uint8_t *)&after);
    } else {
      before = atomic_apply64(what, place, value, compare);
    }
  } else {
    before = atomic_apply32(what, place, data[lane], compares ? data[SOFT_LANES + lane] : 0);
  }
  if ((operation->extra & EXTRA_RETURNS) == 0) return;
  registers[lane] = (uint32_t)before;
  if (width == 64) registers[SOFT_LANES + lane] = (uint32_t)(before >> 32);
}

/* Lane by lane: several allocations, apertures, or a fault to be told. */
LANE_INLINE const struct operation *atomic_lanes(struct wave *wave, const struct operation *operation, enum atomic what,
                                                 unsigned width, enum form form, uint64_t exec) {
  FOR_LANES(lane, exec) {
    const uint64_t address = lane_address(wave, operation, form, lane);
    if ((address & (width / 8 - 1)) != 0)
      return operation_fault(wave, operation, FAULT_ADDRESS, address, width / 8, true, lane);
  }
  if (!lanes_check(wave, operation, form, width / 8, true, exec)) return NULL;
  FOR_LANES(lane, exec) {
    bool private;
    const uint64_t address = lane_address(wave, operation, form, lane);
    uint8_t *place = lane_place(wave, form, address, width / 8, true, lane, &private);
    if (place != NULL) lane_apply(wave, operation, what, width, lane, place, private, (uint32_t)address);
  }
  return operation + 1;
}

LANE_INLINE const struct operation *atomic(struct wave *wave, const struct operation *operation, enum atomic what,
                                           unsigned width) {
  const uint64_t exec = wave_exec(wave);
  const enum form form = (enum form)(operation->extra & EXTRA_FORM);
  const uint32_t *low;
  uint32_t least, most, offsets[SOFT_LANES];
  uint64_t base;
  if (exec == 0) return operation + 1;
  if (!lanes_based(wave, operation, form, exec, lanes_first(exec), &base, &low) ||
      !lanes_span(wave, base, low, exec, width / 8, true, &least, &most))
    return atomic_lanes(wave, operation, what, width, form, exec);
  uint32_t misaligned = 0;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] - least; /* low may be overwritten */
  FOR_LANES(lane, exec) misaligned |= offsets[lane] + least + (uint32_t)base;
  if ((misaligned & (width / 8 - 1)) != 0) return atomic_lanes(wave, operation, what, width, form, exec);
  uint8_t *memory = (uint8_t *)(uintptr_t)(base + least);
  FOR_LANES(lane, exec) lane_apply(wave, operation, what, width, lane, memory + offsets[lane], false, 0);
  return operation + 1;
}

#define ATOMIC_HANDLER(name, what, width)                                                                         \
  SOFT_GUEST static const struct operation *atomic_##name(struct wave *wave, const struct operation *operation) { \
    return atomic(wave, operation, what, width);                                                                  \
  }
ATOMICS(ATOMIC_HANDLER)
ATOMIC_HANDLER(csub, ATOMIC_CLAMP_SUB, 32)

enum { PARAMETER_FLAT = 0x100 };

static hrx_status bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const bool flat = (row->parameter & PARAMETER_FLAT) != 0, returns = instruction->glc;
  const unsigned registers = (row->parameter & 15), operands = row->parameter >> 4 & 15, first = returns ? 1 : 0;
  const struct operand *address = &instruction->operands[first], *data = &instruction->operands[first + 1];
  const struct operand *base = &instruction->operands[first + 2];
  const bool based = !flat && base->kind == OPERAND_SGPR && base->index != SREG_NULL;
  if (instruction->operand_count < first + (flat ? 2u : 3u) || !vgprs_fit(address, based ? 1 : 2) ||
      !vgprs_fit(data, operands) || (returns && !vgprs_fit(&instruction->operands[0], registers)) ||
      (based && base->index + 1 >= SREG_FILE))
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s: operands of a form that is not implemented",
                           opcode_name(instruction->opcode));
  out->kind[0] = out->kind[2] = SOURCE_VECTOR;
  out->source[0] = operation_vgpr(address->index);
  out->source[2] = operation_vgpr(data->index);
  if (based) {
    out->kind[1] = SOURCE_SCALAR;
    out->source[1] = operation_sgpr_read(base->index);
  }
  if (returns) out->destination = operation_vgpr(instruction->operands[0].index);
  out->source3 = (uint64_t)(int64_t)instruction->offset0;
  out->width = (uint8_t)registers;
  out->extra = (uint16_t)((flat ? FORM_FLAT : based ? FORM_BASE : FORM_ADDRESS) | (returns ? EXTRA_RETURNS : 0));
  out->handler = row->handler;
  return HRX_OK;
}

#define DATA(what, width) \
  ((width) / 32 | ((what) == ATOMIC_COMPARE || (what) == ATOMIC_FLOAT_COMPARE ? (width) / 16 : (width) / 32) << 4)
#define ROWS(name, what, width)                                                                  \
  {OPCODE_global_atomic_##name, bind, atomic_##name, NULL, NULL, DATA(what, width)},             \
  {OPCODE_flat_atomic_##name, bind, atomic_##name, NULL, NULL, DATA(what, width) | PARAMETER_FLAT},

static const struct binding rows[] = {
    ATOMICS(ROWS){OPCODE_global_atomic_csub, bind, atomic_csub, NULL, NULL, DATA(ATOMIC_CLAMP_SUB, 32)}};

const struct binding_table SOFT_NAME(memory_atomic_table) = {rows, sizeof rows / sizeof *rows};
