/* Loads and stores of global memory, through flat addresses and of scratch (RDNA2 ISA, "Flat, scratch and global").
 *
 * source[0] is the address VGPR (pair), source[1] the scalar base, source[2] the data VGPRs of a store, source3 the signed
 * offset of the instruction. Flat addresses are told apart by their high dword (machine.h). */
#include "gpu/soft/memory/places.h"

enum { EXTRA_COHERENT = 1 /* the instruction says glc */ };

/* Any addresses, lane by lane. A lane's registers are written after its own address was read, so overlap is harmless. */
LANE_INLINE const struct operation *load_lanes(struct wave *wave, const struct operation *operation, enum form form,
                                               enum element element) {
  const uint64_t exec = wave_exec(wave);
  const unsigned bytes = element_bytes(element);
  uint32_t *registers = wave_word(wave, operation->destination);
  if (!lanes_check(wave, operation, form, bytes, false, exec)) return NULL;
  FOR_LANES(lane, exec) {
    bool private;
    uint8_t buffer[16];
    const uint64_t address = lane_address(wave, operation, form, lane);
    const uint8_t *place = lane_place(wave, form, address, bytes, false, lane, &private);
    if (private) {
      private_read(wave, lane, (uint32_t)address, bytes, buffer);
      place = buffer;
    }
    if (place != NULL) element_load_lane(registers, lane, place, element);
  }
  return operation + 1;
}

LANE_INLINE const struct operation *store_lanes(struct wave *wave, const struct operation *operation, enum form form,
                                                enum element element) {
  const uint64_t exec = wave_exec(wave);
  const unsigned bytes = element_bytes(element);
  const uint32_t *registers = wave_word(wave, operation->source[2]);
  if (!lanes_check(wave, operation, form, bytes, true, exec)) return NULL;
  FOR_LANES(lane, exec) {
    bool private;
    uint8_t buffer[16];
    const uint64_t address = lane_address(wave, operation, form, lane);
    uint8_t *place = lane_place(wave, form, address, bytes, true, lane, &private);
    if (private) {
      element_store_lane(registers, lane, buffer, element);
      private_write(wave, lane, (uint32_t)address, bytes, buffer);
    } else if (place != NULL) {
      element_store_lane(registers, lane, place, element);
    }
  }
  return operation + 1;
}

#define LOAD_SLOW(form, element)                                                                                     \
  LANE_SLOW const struct operation *load_slow_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return load_lanes(wave, operation, form, element);                                                               \
  }
#define STORE_SLOW(form, element)                                                                                     \
  LANE_SLOW const struct operation *store_slow_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return store_lanes(wave, operation, form, element);                                                               \
  }

/* Addresses that are not contiguous: all the same, or anything inside one allocation. */
LANE_INLINE const struct operation *load_spread(struct wave *wave, const struct operation *operation, enum form form,
                                                enum element element, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  const unsigned first = lanes_first(exec), bytes = element_bytes(element);
  uint32_t *registers = wave_word(wave, operation->destination);
  uint32_t least, most, offsets[SOFT_LANES] __attribute__((aligned(64)));
  const uint32_t *low;
  uint64_t base;
  if (!lanes_based(wave, operation, form, exec, first, &base, &low)) return slow(wave, operation);
  if (lanes_equal(low, exec, first)) {
    const uint64_t address = base + low[first];
    if (__builtin_expect(!place_ok(wave, address, bytes, false), 0)) return slow(wave, operation);
    lanes_load_uniform(registers, (const uint8_t *)(uintptr_t)address, exec, first, element);
    return operation + 1;
  }
  if (__builtin_expect(!lanes_span(wave, base, low, exec, bytes, false, &least, &most), 0)) return slow(wave, operation);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] - least;
  lanes_gather(registers, (const uint8_t *)(uintptr_t)(base + least), offsets, exec, element);
  return operation + 1;
}

/* `spread` and `slow` are functions of their own so that the shortest path needs no stack. */
LANE_INLINE const struct operation *load(struct wave *wave, const struct operation *operation, enum form form,
                                         enum element element, operation_handler spread, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  if (exec == 0) return operation + 1;
  /* A coherent load may not be answered before this thread's earlier stores are out (x86 lets loads pass stores). */
  if (__builtin_expect(operation->extra & EXTRA_COHERENT, 0)) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  const uint32_t *low;
  uint64_t base;
  if (__builtin_expect(!lanes_based(wave, operation, form, exec, first, &base, &low), 0)) return slow(wave, operation);
  if (!lanes_contiguous(low, exec, first, last, bytes)) return spread(wave, operation);
  const uint64_t address = base + low[first];
  if (__builtin_expect(!place_ok(wave, address, (uint64_t)(last - first + 1) * bytes, false), 0))
    return slow(wave, operation);
  lanes_load_row(wave_word(wave, operation->destination), (const uint8_t *)(uintptr_t)(address - (uint64_t)first * bytes),
                 exec, element);
  return operation + 1;
}

LANE_INLINE const struct operation *store_spread(struct wave *wave, const struct operation *operation, enum form form,
                                                 enum element element, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  uint32_t least, most, offsets[SOFT_LANES] __attribute__((aligned(64)));
  const uint32_t *low;
  uint64_t base;
  if (!lanes_based(wave, operation, form, exec, lanes_first(exec), &base, &low) ||
      !lanes_span(wave, base, low, exec, element_bytes(element), true, &least, &most))
    return slow(wave, operation);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] - least;
  lanes_scatter(wave_word(wave, operation->source[2]), (uint8_t *)(uintptr_t)(base + least), offsets, exec, element);
  return operation + 1;
}

LANE_INLINE const struct operation *store(struct wave *wave, const struct operation *operation, enum form form,
                                          enum element element, operation_handler spread, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  if (exec == 0) return operation + 1;
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  const uint32_t *low;
  uint64_t base;
  if (__builtin_expect(!lanes_based(wave, operation, form, exec, first, &base, &low), 0)) return slow(wave, operation);
  if (!lanes_contiguous(low, exec, first, last, bytes)) return spread(wave, operation);
  const uint64_t address = base + low[first];
  if (__builtin_expect(!place_ok(wave, address, (uint64_t)(last - first + 1) * bytes, true), 0))
    return slow(wave, operation);
  lanes_store_row(wave_word(wave, operation->source[2]), (uint8_t *)(uintptr_t)(address - (uint64_t)first * bytes), exec,
                  element);
  return operation + 1;
}

#define SPREAD(what, form, element)                                                                                    \
  LANE_SLOW const struct operation *what##_spread_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return what##_spread(wave, operation, form, element, what##_slow_##form##_##element);                              \
  }
#define FAST(what, form, element)                                                                                      \
  SOFT_GUEST static const struct operation *what##_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return what(wave, operation, form, element, what##_spread_##form##_##element, what##_slow_##form##_##element);     \
  }

#define FAST_AND_SPREAD(what, form, element) SPREAD(what, form, element) FAST(what, form, element)

#define LOAD_HANDLERS(element)                                                                    \
  LOAD_SLOW(FORM_ADDRESS, element) LOAD_SLOW(FORM_BASE, element) LOAD_SLOW(FORM_FLAT, element)    \
  LOAD_SLOW(FORM_SCRATCH, element) FAST_AND_SPREAD(load, FORM_ADDRESS, element) FAST_AND_SPREAD(load, FORM_BASE, element) \
  FAST_AND_SPREAD(load, FORM_FLAT, element)
#define STORE_HANDLERS(element)                                                                      \
  STORE_SLOW(FORM_ADDRESS, element) STORE_SLOW(FORM_BASE, element) STORE_SLOW(FORM_FLAT, element)    \
  STORE_SLOW(FORM_SCRATCH, element) FAST_AND_SPREAD(store, FORM_ADDRESS, element) FAST_AND_SPREAD(store, FORM_BASE, element) \
  FAST_AND_SPREAD(store, FORM_FLAT, element)

#define LOAD_ELEMENT(name, element) LOAD_HANDLERS(element)
#define STORE_ELEMENT(name, element) STORE_HANDLERS(element)
LOADS(LOAD_ELEMENT)
STORES(STORE_ELEMENT)

enum { PARAMETER_STORE = 0x100, PARAMETER_FLAT = 0x200, PARAMETER_SCRATCH = 0x400 };

static hrx_status bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const bool is_store = (row->parameter & PARAMETER_STORE) != 0, flat = (row->parameter & PARAMETER_FLAT) != 0;
  const bool scratch = (row->parameter & PARAMETER_SCRATCH) != 0;
  const unsigned registers = element_registers((enum element)(row->parameter & 0xff));
  const struct operand *address = &instruction->operands[is_store ? 0 : 1];
  const struct operand *moved = &instruction->operands[is_store ? 1 : 0], *base = &instruction->operands[2];
  const bool based = !flat && base->kind == OPERAND_SGPR && base->index != SREG_NULL;
  bool fits = vgprs_fit(moved, registers) && instruction->operand_count >= (flat ? 2 : 3) && !instruction->lds;
  if (scratch)
    fits = fits && (address->kind == OPERAND_OFF || vgprs_fit(address, 1)) && (based || base->kind == OPERAND_OFF || base->kind == OPERAND_SGPR);
  else
    fits = fits && vgprs_fit(address, based ? 1 : 2) && (!based || base->index + 1 < SREG_FILE);
  if (!fits)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s: operands of a form that is not implemented",
                           opcode_name(instruction->opcode));
  if (address->kind == OPERAND_VGPR) {
    out->kind[0] = SOURCE_VECTOR;
    out->source[0] = operation_vgpr(address->index);
  }
  if (based) {
    out->kind[1] = SOURCE_SCALAR;
    out->source[1] = operation_sgpr_read(base->index);
  }
  if (is_store) {
    out->kind[2] = SOURCE_VECTOR;
    out->source[2] = operation_vgpr(moved->index);
  } else {
    out->destination = operation_vgpr(moved->index);
  }
  out->source3 = (uint64_t)(int64_t)instruction->offset0;
  out->width = (uint8_t)registers;
  out->extra = instruction->glc ? EXTRA_COHERENT : 0;
  out->handler = based && !scratch ? row->modified : row->handler;
  return HRX_OK;
}

#define LOAD_ROWS(name, element)                                                                                       \
  {OPCODE_global_load_##name, bind, load_FORM_ADDRESS_##element, load_FORM_BASE_##element, NULL, element},               \
  {OPCODE_flat_load_##name, bind, load_FORM_FLAT_##element, NULL, NULL, (uint32_t)element | PARAMETER_FLAT},             \
  {OPCODE_scratch_load_##name, bind, load_slow_FORM_SCRATCH_##element, NULL, NULL, (uint32_t)element | PARAMETER_SCRATCH},
#define STORE_ROWS(name, element)                                                                                      \
  {OPCODE_global_store_##name, bind, store_FORM_ADDRESS_##element, store_FORM_BASE_##element, NULL,                      \
   (uint32_t)element | PARAMETER_STORE},                                                                               \
  {OPCODE_flat_store_##name, bind, store_FORM_FLAT_##element, NULL, NULL,                                                \
   (uint32_t)element | PARAMETER_STORE | PARAMETER_FLAT},                                                              \
  {OPCODE_scratch_store_##name, bind, store_slow_FORM_SCRATCH_##element, NULL, NULL,                                     \
   (uint32_t)element | PARAMETER_STORE | PARAMETER_SCRATCH},

static const struct binding rows[] = {LOADS(LOAD_ROWS) STORES(STORE_ROWS)};

const struct binding_table SOFT_NAME(memory_global_table) = {rows, sizeof rows / sizeof *rows};
