/* Loads and stores of global memory, through flat addresses and of scratch (RDNA2 ISA, "Flat, scratch and global").
 *
 * source[0] is the address VGPR (pair), source[1] the scalar base, source[2] the data VGPRs of a store, source3 the signed
 * offset of the instruction. Flat addresses are told apart by their high dword (machine.h). */
#include "gpu/soft/memory/lanes.h"

enum form {
  FORM_ADDRESS, /* 64-bit address in a VGPR pair */
  FORM_BASE,    /* 64-bit base in SGPRs and an unsigned 32-bit offset in a VGPR */
  FORM_FLAT,    /* like FORM_ADDRESS, with apertures */
  FORM_SCRATCH  /* 32-bit offset in a VGPR, an SGPR, or both */
};

enum { EXTRA_COHERENT = 1 /* the instruction says glc */ };

/* Where lane `lane` of `operation` goes. Scratch offsets come back inside the private aperture. */
LANE_INLINE uint64_t lane_address(struct wave *wave, const struct operation *operation, enum form form, unsigned lane) {
  if (form == FORM_SCRATCH) {
    uint32_t offset = (uint32_t)operation->source3;
    if (operation->kind[0] == SOURCE_VECTOR) offset += wave_word(wave, operation->source[0])[lane];
    if (operation->kind[1] != SOURCE_NONE) offset += operation_scalar(wave, operation, 1);
    return (uint64_t)FLAT_PRIVATE_HIGH << 32 | offset;
  }
  const uint32_t *words = wave_word(wave, operation->source[0]);
  if (form == FORM_BASE) return operation_scalar64(wave, operation, 1) + words[lane] + operation->source3;
  return ((uint64_t)words[SOFT_LANES + lane] << 32 | words[lane]) + operation->source3;
}

/* The host address of a checked access of one lane, or NULL. Private memory is not contiguous: *out_private says that only
 * the first dword is at the result. */
LANE_INLINE uint8_t *lane_place(struct wave *wave, enum form form, uint64_t address, unsigned bytes, bool write, unsigned lane,
                                bool *out_private) {
  const uint64_t low = (uint32_t)address;
  *out_private = false;
  if (form == FORM_FLAT && address >> 32 == FLAT_SHARED_HIGH) return low + bytes <= wave->lds_bytes ? wave->lds + low : NULL;
  if (form == FORM_SCRATCH || (form == FORM_FLAT && address >> 32 == FLAT_PRIVATE_HIGH)) {
    *out_private = true;
    return low + bytes <= wave->scratch_bytes_lane ? scratch_byte(wave, lane, low) : NULL;
  }
  return access_ok(wave, address, bytes, write) ? (uint8_t *)(uintptr_t)address : NULL;
}

/* Copies between one lane's private memory and a plain buffer. */
LANE_INLINE void private_read(const struct wave *wave, unsigned lane, uint64_t offset, unsigned bytes, uint8_t *out_buffer) {
  if ((offset & 3) == 0 && (bytes & 3) == 0)
    for (unsigned i = 0; i < bytes; i += 4)
      *(guest32 *)(out_buffer + i) = *(const guest32 *)scratch_byte(wave, lane, offset + i);
  else
    for (unsigned i = 0; i < bytes; i++) out_buffer[i] = *scratch_byte(wave, lane, offset + i);
}

LANE_INLINE void private_write(const struct wave *wave, unsigned lane, uint64_t offset, unsigned bytes, const uint8_t *buffer) {
  if ((offset & 3) == 0 && (bytes & 3) == 0)
    for (unsigned i = 0; i < bytes; i += 4)
      *(guest32 *)scratch_byte(wave, lane, offset + i) = *(const guest32 *)(buffer + i);
  else
    for (unsigned i = 0; i < bytes; i++) *scratch_byte(wave, lane, offset + i) = buffer[i];
}

/* Proves every active lane's access before any is made. False: the fault has been set. */
LANE_INLINE bool lanes_check(struct wave *wave, const struct operation *operation, enum form form, unsigned bytes, bool write,
                             uint64_t exec) {
  FOR_LANES(lane, exec) {
    bool private;
    const uint64_t address = lane_address(wave, operation, form, lane);
    if (lane_place(wave, form, address, bytes, write, lane, &private) == NULL) {
      operation_fault(wave, operation, FAULT_ADDRESS, address, bytes, write, lane);
      return false;
    }
  }
  return true;
}

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

/* Brings the addresses into the shape base + low[lane]. False if lanes differ in the high dword or an aperture is hit. */
LANE_INLINE bool lanes_based(struct wave *wave, const struct operation *operation, enum form form, uint64_t exec,
                             unsigned first, uint64_t *out_base, const uint32_t **out_low) {
  const uint32_t *low = wave_word(wave, operation->source[0]);
  *out_low = low;
  if (form == FORM_BASE) {
    *out_base = operation_scalar64(wave, operation, 1) + operation->source3;
    return true;
  }
  const uint32_t *high = low + SOFT_LANES;
  if (!lanes_equal(high, exec, first)) return false;
  *out_base = ((uint64_t)high[first] << 32) + operation->source3;
  if (form == FORM_FLAT) {
    /* One less and one more: the offset may carry an address over an aperture's edge. */
    const uint32_t value = high[first];
    if (value + 1 >= FLAT_SHARED_HIGH && value <= FLAT_PRIVATE_HIGH + 1) return false;
  }
  return true;
}

/* What the fast paths need of general offsets: all inside one allocation. */
LANE_INLINE bool lanes_span(struct wave *wave, uint64_t base, const uint32_t *low, uint64_t exec, unsigned bytes, bool write,
                            uint32_t *out_least, uint32_t *out_most) {
  lanes_range(low, exec, out_least, out_most);
  const uint32_t extent = *out_most - *out_least;
  return extent <= INT32_MAX && access_ok(wave, base + *out_least, (uint64_t)extent + bytes, write);
}

#define LOAD_SLOW(form, element)                                                                                     \
  LANE_SLOW const struct operation *load_slow_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return load_lanes(wave, operation, form, element);                                                               \
  }
#define STORE_SLOW(form, element)                                                                                     \
  LANE_SLOW const struct operation *store_slow_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return store_lanes(wave, operation, form, element);                                                               \
  }

LANE_INLINE const struct operation *load(struct wave *wave, const struct operation *operation, enum form form,
                                         enum element element, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  if (exec == 0) return operation + 1;
  /* A coherent load may not be answered before this thread's earlier stores are out (x86 lets loads pass stores). */
  if (__builtin_expect(operation->extra & EXTRA_COHERENT, 0)) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  uint32_t *registers = wave_word(wave, operation->destination);
  const uint32_t *low;
  uint64_t base;
  if (__builtin_expect(!lanes_based(wave, operation, form, exec, first, &base, &low), 0)) return slow(wave, operation);
  if (lanes_contiguous(low, exec, first, last, bytes)) {
    const uint64_t address = base + low[first];
    if (__builtin_expect(!access_ok(wave, address, (uint64_t)(last - first + 1) * bytes, false), 0)) return slow(wave, operation);
    lanes_load_row(registers, (const uint8_t *)(uintptr_t)(address - (uint64_t)first * bytes), exec, element);
    return operation + 1;
  }
  uint32_t least, most, offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (__builtin_expect(!lanes_span(wave, base, low, exec, bytes, false, &least, &most), 0)) return slow(wave, operation);
  const uint8_t *memory = (const uint8_t *)(uintptr_t)(base + least);
  if (least == most) {
    lanes_load_uniform(registers, memory, exec, first, element);
    return operation + 1;
  }
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] - least;
  lanes_gather(registers, memory, offsets, exec, element);
  return operation + 1;
}

LANE_INLINE const struct operation *store(struct wave *wave, const struct operation *operation, enum form form,
                                          enum element element, operation_handler slow) {
  const uint64_t exec = wave_exec(wave);
  if (exec == 0) return operation + 1;
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  const uint32_t *registers = wave_word(wave, operation->source[2]);
  const uint32_t *low;
  uint64_t base;
  if (__builtin_expect(!lanes_based(wave, operation, form, exec, first, &base, &low), 0)) return slow(wave, operation);
  if (lanes_contiguous(low, exec, first, last, bytes)) {
    const uint64_t address = base + low[first];
    if (__builtin_expect(!access_ok(wave, address, (uint64_t)(last - first + 1) * bytes, true), 0)) return slow(wave, operation);
    lanes_store_row(registers, (uint8_t *)(uintptr_t)(address - (uint64_t)first * bytes), exec, element);
    return operation + 1;
  }
  uint32_t least, most, offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (__builtin_expect(!lanes_span(wave, base, low, exec, bytes, true, &least, &most), 0)) return slow(wave, operation);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] - least;
  lanes_scatter(registers, (uint8_t *)(uintptr_t)(base + least), offsets, exec, element);
  return operation + 1;
}

#define FAST(what, form, element)                                                                                      \
  SOFT_GUEST static const struct operation *what##_##form##_##element(struct wave *wave, const struct operation *operation) { \
    return what(wave, operation, form, element, what##_slow_##form##_##element);                                       \
  }

#define LOAD_HANDLERS(element)                                                                    \
  LOAD_SLOW(FORM_ADDRESS, element) LOAD_SLOW(FORM_BASE, element) LOAD_SLOW(FORM_FLAT, element)    \
  LOAD_SLOW(FORM_SCRATCH, element) FAST(load, FORM_ADDRESS, element) FAST(load, FORM_BASE, element) \
  FAST(load, FORM_FLAT, element)
#define STORE_HANDLERS(element)                                                                      \
  STORE_SLOW(FORM_ADDRESS, element) STORE_SLOW(FORM_BASE, element) STORE_SLOW(FORM_FLAT, element)    \
  STORE_SLOW(FORM_SCRATCH, element) FAST(store, FORM_ADDRESS, element) FAST(store, FORM_BASE, element) \
  FAST(store, FORM_FLAT, element)

/* One row for each width: name in the mnemonics, element. */
#define LOADS(X)                                                                                            \
  X(ubyte, ELEMENT_U8) X(sbyte, ELEMENT_I8) X(ushort, ELEMENT_U16) X(sshort, ELEMENT_I16) X(dword, ELEMENT_B32) \
  X(dwordx2, ELEMENT_B64) X(dwordx3, ELEMENT_B96) X(dwordx4, ELEMENT_B128) X(ubyte_d16, ELEMENT_U8_LOW)     \
  X(ubyte_d16_hi, ELEMENT_U8_HIGH) X(sbyte_d16, ELEMENT_I8_LOW) X(sbyte_d16_hi, ELEMENT_I8_HIGH)            \
  X(short_d16, ELEMENT_B16_LOW) X(short_d16_hi, ELEMENT_B16_HIGH)
#define STORES(X)                                                                                          \
  X(byte, ELEMENT_U8) X(byte_d16_hi, ELEMENT_U8_HIGH) X(short, ELEMENT_U16) X(short_d16_hi, ELEMENT_B16_HIGH) \
  X(dword, ELEMENT_B32) X(dwordx2, ELEMENT_B64) X(dwordx3, ELEMENT_B96) X(dwordx4, ELEMENT_B128)

#define LOAD_ELEMENT(name, element) LOAD_HANDLERS(element)
#define STORE_ELEMENT(name, element) STORE_HANDLERS(element)
LOADS(LOAD_ELEMENT)
STORES(STORE_ELEMENT)

enum { PARAMETER_STORE = 0x100, PARAMETER_FLAT = 0x200, PARAMETER_SCRATCH = 0x400 };

static bool vgprs_fit(const struct operand *operand, unsigned count) {
  return operand->kind == OPERAND_VGPR && operand->index + count <= 256;
}

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
