/* Local data share: loads, stores and the lane exchanges that share its encoding (RDNA2 ISA, "Data share"). LDS atomics are in
 * lds_atomic.h.
 *
 * An address is a VGPR plus the offset of the instruction, modulo 2^32, in the LDS of the workgroup. What lies outside reads as
 * zero and is not written. source[0] is the address VGPR, source[1] and source[2] are data, source3 the offset in bytes (of
 * the second element of a pair in bits 63:32). */
#include "gpu/soft/memory/lds_atomic.h"

LANE_INLINE void lds_offsets(uint32_t *offsets, const uint32_t *low, uint32_t offset) {
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = low[lane] + offset;
}

LANE_INLINE bool lds_inside(const struct wave *wave, uint32_t offset, unsigned bytes) {
  return (uint64_t)offset + bytes <= wave->lds_bytes;
}

LANE_SLOW void lds_read_lanes(struct wave *wave, uint32_t *registers, const uint32_t *offsets, uint64_t exec,
                              enum element element) {
  static const uint8_t zeros[16];
  FOR_LANES(lane, exec) {
    const bool inside = lds_inside(wave, offsets[lane], element_bytes(element));
    element_load_lane(registers, lane, inside ? wave->lds + offsets[lane] : zeros, element);
  }
}

LANE_SLOW void lds_write_lanes(struct wave *wave, const uint32_t *registers, const uint32_t *offsets, uint64_t exec,
                               enum element element) {
  FOR_LANES(lane, exec)
    if (lds_inside(wave, offsets[lane], element_bytes(element)))
      element_store_lane(registers, lane, wave->lds + offsets[lane], element);
}

/* `offsets` is the caller's copy: the registers may be the ones that it came from. */
LANE_INLINE void lds_read(struct wave *wave, uint32_t *registers, const uint32_t *offsets, uint64_t exec, enum element element) {
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  if (lanes_contiguous(offsets, exec, first, last, bytes) && lds_inside(wave, offsets[last], bytes)) {
    lanes_load_row(registers, wave->lds + (ptrdiff_t)offsets[first] - (ptrdiff_t)(first * bytes), exec, element);
    return;
  }
  uint32_t least, most;
  lanes_range(offsets, exec, &least, &most);
  if (__builtin_expect(!lds_inside(wave, most, bytes), 0))
    lds_read_lanes(wave, registers, offsets, exec, element);
  else if (least == most)
    lanes_load_uniform(registers, wave->lds + least, exec, first, element);
  else
    lanes_gather(registers, wave->lds, offsets, exec, element);
}

LANE_INLINE void lds_write(struct wave *wave, const uint32_t *registers, const uint32_t *offsets, uint64_t exec,
                           enum element element) {
  const unsigned first = lanes_first(exec), last = lanes_last(exec), bytes = element_bytes(element);
  if (lanes_contiguous(offsets, exec, first, last, bytes) && lds_inside(wave, offsets[last], bytes)) {
    lanes_store_row(registers, wave->lds + (ptrdiff_t)offsets[first] - (ptrdiff_t)(first * bytes), exec, element);
    return;
  }
  uint32_t least, most;
  lanes_range(offsets, exec, &least, &most);
  if (__builtin_expect(!lds_inside(wave, most, bytes), 0))
    lds_write_lanes(wave, registers, offsets, exec, element);
  else
    lanes_scatter(registers, wave->lds, offsets, exec, element);
}

#define LDS_PROLOGUE                                                  \
  const uint64_t exec = wave_exec(wave);                              \
  if (exec == 0) return operation + 1;                                \
  uint32_t offsets[SOFT_LANES] __attribute__((aligned(64)));          \
  const uint32_t *low = wave_word(wave, operation->source[0]);

#define LDS_READ(name, element)                                                                       \
  SOFT_GUEST static const struct operation *name(struct wave *wave, const struct operation *operation) { \
    LDS_PROLOGUE                                                                                      \
    lds_offsets(offsets, low, (uint32_t)operation->source3);                                          \
    lds_read(wave, wave_word(wave, operation->destination), offsets, exec, element);                  \
    return operation + 1;                                                                             \
  }
#define LDS_WRITE(name, element)                                                                      \
  SOFT_GUEST static const struct operation *name(struct wave *wave, const struct operation *operation) { \
    LDS_PROLOGUE                                                                                      \
    lds_offsets(offsets, low, (uint32_t)operation->source3);                                          \
    lds_write(wave, wave_word(wave, operation->source[1]), offsets, exec, element);                   \
    return operation + 1;                                                                             \
  }
#define LDS_READ2(name, element)                                                                      \
  SOFT_GUEST static const struct operation *name(struct wave *wave, const struct operation *operation) { \
    LDS_PROLOGUE                                                                                      \
    uint32_t offsets2[SOFT_LANES] __attribute__((aligned(64)));                                       \
    uint32_t *registers = wave_word(wave, operation->destination);                                    \
    lds_offsets(offsets, low, (uint32_t)operation->source3);                                          \
    lds_offsets(offsets2, low, (uint32_t)(operation->source3 >> 32));                                 \
    lds_read(wave, registers, offsets, exec, element);                                                \
    lds_read(wave, registers + element_registers(element) * SOFT_LANES, offsets2, exec, element);     \
    return operation + 1;                                                                             \
  }
#define LDS_WRITE2(name, element)                                                                     \
  SOFT_GUEST static const struct operation *name(struct wave *wave, const struct operation *operation) { \
    LDS_PROLOGUE                                                                                      \
    lds_offsets(offsets, low, (uint32_t)operation->source3);                                          \
    lds_write(wave, wave_word(wave, operation->source[1]), offsets, exec, element);                   \
    lds_offsets(offsets, low, (uint32_t)(operation->source3 >> 32));                                  \
    lds_write(wave, wave_word(wave, operation->source[2]), offsets, exec, element);                   \
    return operation + 1;                                                                             \
  }

LDS_READ(read_u8, ELEMENT_U8)
LDS_READ(read_i8, ELEMENT_I8)
LDS_READ(read_u16, ELEMENT_U16)
LDS_READ(read_i16, ELEMENT_I16)
LDS_READ(read_b32, ELEMENT_B32)
LDS_READ(read_b64, ELEMENT_B64)
LDS_READ(read_b96, ELEMENT_B96)
LDS_READ(read_b128, ELEMENT_B128)
LDS_READ(read_u8_low, ELEMENT_U8_LOW)
LDS_READ(read_u8_high, ELEMENT_U8_HIGH)
LDS_READ(read_i8_low, ELEMENT_I8_LOW)
LDS_READ(read_i8_high, ELEMENT_I8_HIGH)
LDS_READ(read_b16_low, ELEMENT_B16_LOW)
LDS_READ(read_b16_high, ELEMENT_B16_HIGH)
LDS_READ2(read2_b32, ELEMENT_B32)
LDS_READ2(read2_b64, ELEMENT_B64)
LDS_WRITE(write_b8, ELEMENT_U8)
LDS_WRITE(write_b8_high, ELEMENT_U8_HIGH)
LDS_WRITE(write_b16, ELEMENT_U16)
LDS_WRITE(write_b16_high, ELEMENT_B16_HIGH)
LDS_WRITE(write_b32, ELEMENT_B32)
LDS_WRITE(write_b64, ELEMENT_B64)
LDS_WRITE(write_b96, ELEMENT_B96)
LDS_WRITE(write_b128, ELEMENT_B128)
LDS_WRITE2(write2_b32, ELEMENT_B32)
LDS_WRITE2(write2_b64, ELEMENT_B64)

/* Address of lane i: M0 + offset + 4 i. */
LANE_INLINE void addtid_offsets(const struct wave *wave, const struct operation *operation, uint32_t *offsets) {
  const uint32_t base = (wave->s[SREG_M0] & 0xffff) + (uint32_t)operation->source3;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = base + 4 * lane;
}

SOFT_GUEST static const struct operation *read_addtid(struct wave *wave, const struct operation *operation) {
  const uint64_t exec = wave_exec(wave);
  uint32_t offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (exec == 0) return operation + 1;
  addtid_offsets(wave, operation, offsets);
  lds_read(wave, wave_word(wave, operation->destination), offsets, exec, ELEMENT_B32);
  return operation + 1;
}

SOFT_GUEST static const struct operation *write_addtid(struct wave *wave, const struct operation *operation) {
  const uint64_t exec = wave_exec(wave);
  uint32_t offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (exec == 0) return operation + 1;
  addtid_offsets(wave, operation, offsets);
  lds_write(wave, wave_word(wave, operation->source[1]), offsets, exec, ELEMENT_B32);
  return operation + 1;
}

/* Append and consume: one addition a wave, of the number of active lanes. */
LANE_INLINE const struct operation *count_lanes(struct wave *wave, const struct operation *operation, enum atomic what) {
  const uint64_t exec = wave_exec(wave);
  const uint32_t offset = ((wave->s[SREG_M0] & 0xffff) + (uint32_t)operation->source3) & ~3u;
  uint32_t before;
  if (exec == 0) return operation + 1;
  before = lds_apply32(wave, what, offset, (uint32_t)__builtin_popcountll(exec), 0);
  lanes_fill(wave_word(wave, operation->destination), before, exec);
  return operation + 1;
}

SOFT_GUEST static const struct operation *append(struct wave *wave, const struct operation *operation) {
  return count_lanes(wave, operation, ATOMIC_ADD);
}
SOFT_GUEST static const struct operation *consume(struct wave *wave, const struct operation *operation) {
  return count_lanes(wave, operation, ATOMIC_SUB);
}

/* registers[lane] = values[from[lane]] for the active lanes, 0 from an inactive one. */
LANE_INLINE void lanes_exchange(uint32_t *registers, const uint32_t *values, const uint32_t *from, uint64_t exec) {
#if defined(SOFT_LEVEL_v4) && SOFT_LANES == 32
  const __m512i low = _mm512_maskz_loadu_epi32((__mmask16)exec, values);
  const __m512i high = _mm512_maskz_loadu_epi32((__mmask16)(exec >> 16), values + 16);
  for (unsigned row = 0; row < LANE_ROWS; row++)
    _mm512_mask_storeu_epi32(registers + 16 * row, (__mmask16)(exec >> 16 * row),
                             _mm512_permutex2var_epi32(low, _mm512_loadu_si512(from + 16 * row), high));
#else
  uint32_t active[SOFT_LANES];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) active[lane] = (exec >> lane & 1) != 0 ? values[lane] : 0;
  FOR_LANES(lane, exec) registers[lane] = active[from[lane]];
#endif
}

SOFT_GUEST static const struct operation *bpermute(struct wave *wave, const struct operation *operation) {
  LDS_PROLOGUE
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    offsets[lane] = (low[lane] + (uint32_t)operation->source3) / 4 % SOFT_LANES;
  lanes_exchange(wave_word(wave, operation->destination), wave_word(wave, operation->source[1]), offsets, exec);
  return operation + 1;
}

SOFT_GUEST static const struct operation *permute(struct wave *wave, const struct operation *operation) {
  LDS_PROLOGUE
  const uint32_t *values = wave_word(wave, operation->source[1]);
  uint32_t *registers = wave_word(wave, operation->destination);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = 0;
  FOR_LANES(lane, exec) offsets[(low[lane] + (uint32_t)operation->source3) / 4 % SOFT_LANES] = values[lane];
  FOR_LANES(lane, exec) registers[lane] = offsets[lane];
  return operation + 1;
}

/* RDNA2 ISA, "DS_SWIZZLE_B32": the offset is a small program for the source lane. */
LANE_INLINE unsigned swizzle_source(unsigned lane, uint32_t control) {
  if (control >= 0xe000) { /* FFT: bit reversal */
    const unsigned mask = control & 0x1f;
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; bit++) reversed |= (lane >> bit & 1) << (4 - bit);
    return (reversed >> __builtin_popcount(mask)) | (lane & mask) | (lane & 0x20);
  }
  if (control >= 0xc000) { /* rotate */
    const unsigned mask = control & 0x1f, amount = control >> 5 & 0x1f;
    const unsigned rotated = (control & 0x400) != 0 ? lane - amount : lane + amount;
    return (lane & mask) | (rotated & ~mask & 0x1f) | (lane & 0x20);
  }
  if ((control & 0x8000) != 0) return (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
  return (((lane & (control & 0x1f)) | (control >> 5 & 0x1f)) ^ (control >> 10 & 0x1f)) | (lane & 0x20);
}

SOFT_GUEST static const struct operation *swizzle(struct wave *wave, const struct operation *operation) {
  LDS_PROLOGUE
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) offsets[lane] = swizzle_source(lane, (uint32_t)operation->source3);
  lanes_exchange(wave_word(wave, operation->destination), low, offsets, exec);
  return operation + 1;
}

static const struct operation *nothing(struct wave *wave, const struct operation *operation) {
  (void)wave;
  return operation + 1;
}

/* Operands of a row: registers of the result, whether an address comes first, registers and number of data operands. `scale`
 * is what the two offsets of a pair count. */
#define SHAPE(result, address, size, count) ((result) | (address) << 4 | (size) << 8 | (count) << 12)
#define PAIR(scale) ((uint32_t)(scale) << 16)

static hrx_status bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const unsigned result = row->parameter & 15, address = row->parameter >> 4 & 15, size = row->parameter >> 8 & 15;
  const unsigned count = row->parameter >> 12 & 15, scale = row->parameter >> 16;
  const unsigned first = result != 0, needed = first + address + count;
  bool fits = !instruction->gds && instruction->operand_count >= needed;
  for (unsigned i = 0; fits && i < needed; i++) {
    const unsigned registers = i < first ? result : i < first + address ? 1 : size;
    fits = instruction->operands[i].kind == OPERAND_VGPR && instruction->operands[i].index + registers <= 256;
  }
  if (!fits)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s: operands of a form that is not implemented",
                           opcode_name(instruction->opcode));
  if (result != 0) out->destination = operation_vgpr(instruction->operands[0].index);
  for (unsigned i = 0; i < address + count; i++) {
    const unsigned slot = i + 1 - address;
    out->kind[slot] = SOURCE_VECTOR;
    out->source[slot] = operation_vgpr(instruction->operands[first + i].index);
  }
  /* The text of an offset differs by operation; its place in the encoding does not. */
  const uint32_t offset0 = instruction->encoding[0] & 0xff, offset1 = instruction->encoding[0] >> 8 & 0xff;
  out->source3 = scale != 0 ? (uint64_t)(offset1 * scale) << 32 | offset0 * scale : offset1 << 8 | offset0;
  out->handler = row->handler;
  return HRX_OK;
}

#define ROW(name, handler, shape) {OPCODE_ds_##name, bind, handler, NULL, NULL, shape}

static const struct binding rows[] = {
    ROW(read_u8, read_u8, SHAPE(1, 1, 0, 0)),
    ROW(read_i8, read_i8, SHAPE(1, 1, 0, 0)),
    ROW(read_u16, read_u16, SHAPE(1, 1, 0, 0)),
    ROW(read_i16, read_i16, SHAPE(1, 1, 0, 0)),
    ROW(read_b32, read_b32, SHAPE(1, 1, 0, 0)),
    ROW(read_b64, read_b64, SHAPE(2, 1, 0, 0)),
    ROW(read_b96, read_b96, SHAPE(3, 1, 0, 0)),
    ROW(read_b128, read_b128, SHAPE(4, 1, 0, 0)),
    ROW(read_u8_d16, read_u8_low, SHAPE(1, 1, 0, 0)),
    ROW(read_u8_d16_hi, read_u8_high, SHAPE(1, 1, 0, 0)),
    ROW(read_i8_d16, read_i8_low, SHAPE(1, 1, 0, 0)),
    ROW(read_i8_d16_hi, read_i8_high, SHAPE(1, 1, 0, 0)),
    ROW(read_u16_d16, read_b16_low, SHAPE(1, 1, 0, 0)),
    ROW(read_u16_d16_hi, read_b16_high, SHAPE(1, 1, 0, 0)),
    ROW(read2_b32, read2_b32, SHAPE(2, 1, 0, 0) | PAIR(4)),
    ROW(read2_b64, read2_b64, SHAPE(4, 1, 0, 0) | PAIR(8)),
    ROW(read2st64_b32, read2_b32, SHAPE(2, 1, 0, 0) | PAIR(256)),
    ROW(read2st64_b64, read2_b64, SHAPE(4, 1, 0, 0) | PAIR(512)),
    ROW(read_addtid_b32, read_addtid, SHAPE(1, 0, 0, 0)),
    ROW(write_b8, write_b8, SHAPE(0, 1, 1, 1)),
    ROW(write_b8_d16_hi, write_b8_high, SHAPE(0, 1, 1, 1)),
    ROW(write_b16, write_b16, SHAPE(0, 1, 1, 1)),
    ROW(write_b16_d16_hi, write_b16_high, SHAPE(0, 1, 1, 1)),
    ROW(write_b32, write_b32, SHAPE(0, 1, 1, 1)),
    ROW(write_b64, write_b64, SHAPE(0, 1, 2, 1)),
    ROW(write_b96, write_b96, SHAPE(0, 1, 3, 1)),
    ROW(write_b128, write_b128, SHAPE(0, 1, 4, 1)),
    ROW(write2_b32, write2_b32, SHAPE(0, 1, 1, 2) | PAIR(4)),
    ROW(write2_b64, write2_b64, SHAPE(0, 1, 2, 2) | PAIR(8)),
    ROW(write2st64_b32, write2_b32, SHAPE(0, 1, 1, 2) | PAIR(256)),
    ROW(write2st64_b64, write2_b64, SHAPE(0, 1, 2, 2) | PAIR(512)),
    ROW(write_addtid_b32, write_addtid, SHAPE(0, 0, 1, 1)),
    ROW(append, append, SHAPE(1, 0, 0, 0)),
    ROW(consume, consume, SHAPE(1, 0, 0, 0)),
    ROW(bpermute_b32, bpermute, SHAPE(1, 1, 1, 1)),
    ROW(permute_b32, permute, SHAPE(1, 1, 1, 1)),
    ROW(swizzle_b32, swizzle, SHAPE(1, 1, 0, 0)),
    ROW(nop, nothing, SHAPE(0, 0, 0, 0)),
#define ATOMIC_ROW(name, what, width, count)                                       \
  ROW(name, atomic_##name, SHAPE(0, 1, (width) / 32, count)),
#define ATOMIC_ROW_RETURN(name, what, width, count)                                \
  ROW(name, atomic_##name, SHAPE((width) / 32, 1, (width) / 32, count)),
    LDS_ATOMICS(ATOMIC_ROW) LDS_ATOMICS_RETURN(ATOMIC_ROW_RETURN)
    ROW(wrxchg2_rtn_b32, exchange2_32, SHAPE(2, 1, 1, 2) | PAIR(4)),
    ROW(wrxchg2_rtn_b64, exchange2_64, SHAPE(4, 1, 2, 2) | PAIR(8)),
    ROW(wrxchg2st64_rtn_b32, exchange2_32, SHAPE(2, 1, 1, 2) | PAIR(256)),
    ROW(wrxchg2st64_rtn_b64, exchange2_64, SHAPE(4, 1, 2, 2) | PAIR(512)),
};

const struct binding_table SOFT_NAME(memory_lds_table) = {rows, sizeof rows / sizeof *rows};
