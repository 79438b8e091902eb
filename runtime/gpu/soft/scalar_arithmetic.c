/* SOP1, SOP2 and SOPK arithmetic (RDNA2 ISA, chapters "SOP2", "SOPK", "SOP1"). What each does to SCC is part of its row. */
#include "gpu/soft/scalar.h"

hrx_status scalar_bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  uint32_t shape = row->parameter;
  unsigned operand = 0, slot = 0, sources = shape >> SHAPE_SOURCES & 15;
  bool written = (shape & SHAPE_DESTINATION) != 0;
  if (instruction->operand_count < sources + (written ? 1 : 0) ||
      (written && instruction->operands[0].kind != OPERAND_SGPR))
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s with %u operands", opcode_name(row->opcode),
                           instruction->operand_count);
  if (written) out->destination = operation_sgpr_write(instruction->operands[operand++].index);
  for (; slot < sources; slot++)
    operation_source(out, slot, &instruction->operands[operand++], (enum operand_type)(shape >> (SHAPE_TYPES + 4 * slot) & 15));
  if ((shape & SHAPE_UPDATE) != 0) operation_source(out, slot++, &instruction->operands[0], TYPE_B32);
  if ((shape & SHAPE_IMMEDIATE) != 0) {
    uint32_t raw = instruction->encoding[0] & 0xffff;
    out->kind[slot] = SOURCE_CONSTANT;
    out->source[slot] = (shape & SHAPE_UNSIGNED) != 0 ? raw : (uint64_t)(int64_t)(int16_t)raw;
  }
  out->handler = row->handler;
  return HRX_OK;
}

static inline uint32_t carry(uint64_t sum) { return (uint32_t)(sum >> 32 & 1); }
static inline uint32_t lesser(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b; }
static inline uint32_t ashr32(uint32_t a, uint32_t by) { return (uint32_t)((int32_t)a >> by); }
static inline uint64_t ashr64(uint64_t a, uint64_t by) { return (uint64_t)((int64_t)a >> by); }
static inline uint32_t add_overflows(uint32_t a, uint32_t b, uint32_t d) { return (~(a ^ b) & (a ^ d)) >> 31; }
static inline uint32_t subtract_overflows(uint32_t a, uint32_t b, uint32_t d) { return ((a ^ b) & (a ^ d)) >> 31; }

static inline uint64_t field_unsigned(uint64_t value, uint32_t where, uint32_t bits) {
  uint32_t width = where >> 16 & 0x7f;
  value >>= where & (bits - 1);
  return width >= 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

/* `value` has been shifted arithmetically: only the width is left to apply. */
static inline int64_t field_sign(int64_t value, uint32_t width, uint32_t bits) {
  if (width == 0) return 0;
  if (width >= bits) return value;
  return (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
}

static inline uint64_t quads_any(uint64_t a) {
  a |= a >> 1;
  a |= a >> 2;
  return a & UINT64_C(0x1111111111111111);
}

static inline uint64_t quads_pack(uint64_t a) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 16; i++) result |= (a >> 4 * i & 1) << i;
  return result;
}

static inline uint64_t reverse64(uint64_t a) {
  a = (a >> 1 & UINT64_C(0x5555555555555555)) | (a & UINT64_C(0x5555555555555555)) << 1;
  a = (a >> 2 & UINT64_C(0x3333333333333333)) | (a & UINT64_C(0x3333333333333333)) << 2;
  a = (a >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (a & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
  return __builtin_bswap64(a);
}

static inline uint64_t replicate(uint32_t a) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 32; i++) result |= (uint64_t)(a >> i & 1) * 3 << 2 * i;
  return result;
}

static inline uint32_t first_bit(uint64_t a) { return a == 0 ? UINT32_MAX : (uint32_t)__builtin_ctzll(a); }
static inline uint32_t leading32(uint32_t a) { return a == 0 ? UINT32_MAX : (uint32_t)__builtin_clz(a); }
static inline uint32_t leading64(uint64_t a) { return a == 0 ? UINT32_MAX : (uint32_t)__builtin_clzll(a); }

/* two sources: SCC is carry, overflow, "the first was chosen" or "not zero" */
SCALAR2(add_u32, d = a + b; scc = d < a)
SCALAR2(sub_u32, d = a - b; scc = a < b)
SCALAR2(add_i32, d = a + b; scc = add_overflows(a, b, d))
SCALAR2(sub_i32, d = a - b; scc = subtract_overflows(a, b, d))
SCALAR2(addc_u32, uint64_t sum = (uint64_t)a + b + scc; d = (uint32_t)sum; scc = carry(sum))
SCALAR2(subb_u32, uint64_t left = (uint64_t)a - b - scc; d = (uint32_t)left; scc = carry(left))
SCALAR2(min_i32, scc = lesser(a, b); d = scc ? a : b)
SCALAR2(max_i32, scc = lesser(b, a); d = scc ? a : b)
SCALAR2(min_u32, scc = a < b; d = scc ? a : b)
SCALAR2(max_u32, scc = a > b; d = scc ? a : b)
SCALAR2(cselect_b32, d = scc ? a : b)
SCALAR2(and_b32, d = a & b; scc = d != 0)
SCALAR2(or_b32, d = a | b; scc = d != 0)
SCALAR2(xor_b32, d = a ^ b; scc = d != 0)
SCALAR2(andn2_b32, d = a & ~b; scc = d != 0)
SCALAR2(orn2_b32, d = a | ~b; scc = d != 0)
SCALAR2(nand_b32, d = ~(a & b); scc = d != 0)
SCALAR2(nor_b32, d = ~(a | b); scc = d != 0)
SCALAR2(xnor_b32, d = ~(a ^ b); scc = d != 0)
SCALAR2(lshl_b32, d = a << (b & 31); scc = d != 0)
SCALAR2(lshr_b32, d = a >> (b & 31); scc = d != 0)
SCALAR2(ashr_i32, d = ashr32(a, b & 31); scc = d != 0)
SCALAR2(bfm_b32, d = ((UINT32_C(1) << (a & 31)) - 1) << (b & 31))
SCALAR2(mul_i32, d = a * b)
SCALAR2(mul_hi_u32, d = (uint32_t)((uint64_t)a * b >> 32))
SCALAR2(mul_hi_i32, d = (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32))
SCALAR2(bfe_u32, d = (uint32_t)field_unsigned(a, b, 32); scc = d != 0)
SCALAR2(bfe_i32, d = (uint32_t)field_sign((int32_t)a >> (b & 31), b >> 16 & 0x7f, 32); scc = d != 0)
/* the wrapped difference decides: RDNA2 ISA gives 0x80000000 - 1 => 0x7fffffff */
SCALAR2(absdiff_i32, d = (int32_t)(a - b) < 0 ? b - a : a - b; scc = d != 0)
SCALAR2(lshl1_add_u32, uint64_t sum = ((uint64_t)a << 1) + b; d = (uint32_t)sum; scc = sum >> 32 != 0)
SCALAR2(lshl2_add_u32, uint64_t sum = ((uint64_t)a << 2) + b; d = (uint32_t)sum; scc = sum >> 32 != 0)
SCALAR2(lshl3_add_u32, uint64_t sum = ((uint64_t)a << 3) + b; d = (uint32_t)sum; scc = sum >> 32 != 0)
SCALAR2(lshl4_add_u32, uint64_t sum = ((uint64_t)a << 4) + b; d = (uint32_t)sum; scc = sum >> 32 != 0)
SCALAR2(pack_ll_b32_b16, d = (a & 0xffff) | b << 16)
SCALAR2(pack_lh_b32_b16, d = (a & 0xffff) | (b & 0xffff0000))
SCALAR2(pack_hh_b32_b16, d = a >> 16 | (b & 0xffff0000))

SCALAR2_64(cselect_b64, d = scc ? a : b)
SCALAR2_64(and_b64, d = a & b; scc = d != 0)
SCALAR2_64(or_b64, d = a | b; scc = d != 0)
SCALAR2_64(xor_b64, d = a ^ b; scc = d != 0)
SCALAR2_64(andn2_b64, d = a & ~b; scc = d != 0)
SCALAR2_64(orn2_b64, d = a | ~b; scc = d != 0)
SCALAR2_64(nand_b64, d = ~(a & b); scc = d != 0)
SCALAR2_64(nor_b64, d = ~(a | b); scc = d != 0)
SCALAR2_64(xnor_b64, d = ~(a ^ b); scc = d != 0)
/* the shift amount is one dword: only its low bits are looked at */
SCALAR2_64(lshl_b64, d = a << (b & 63); scc = d != 0)
SCALAR2_64(lshr_b64, d = a >> (b & 63); scc = d != 0)
SCALAR2_64(ashr_i64, d = ashr64(a, b & 63); scc = d != 0)
SCALAR2_64(bfm_b64, d = ((UINT64_C(1) << (a & 63)) - 1) << (b & 63))
SCALAR2_64(bfe_u64, d = field_unsigned(a, (uint32_t)b, 64); scc = d != 0)
SCALAR2_64(bfe_i64, d = (uint64_t)field_sign((int64_t)a >> (b & 63), (uint32_t)(b >> 16) & 0x7f, 64); scc = d != 0)

/* one source */
SCALAR1(mov_b32, d = a)
SCALAR1_64(mov_b64, d = a)
SCALAR1(not_b32, d = ~a; scc = d != 0)
SCALAR1_64(not_b64, d = ~a; scc = d != 0)
SCALAR1(wqm_b32, d = (uint32_t)(quads_any(a) * 15); scc = d != 0)
SCALAR1_64(wqm_b64, d = quads_any(a) * 15; scc = d != 0)
SCALAR1(brev_b32, d = (uint32_t)(reverse64(a) >> 32))
SCALAR1_64(brev_b64, d = reverse64(a))
SCALAR1(bcnt0_i32_b32, d = (uint32_t)__builtin_popcount(~a); scc = d != 0)
SCALAR1_NARROW(bcnt0_i32_b64, d = (uint32_t)__builtin_popcountll(~a); scc = d != 0)
SCALAR1(bcnt1_i32_b32, d = (uint32_t)__builtin_popcount(a); scc = d != 0)
SCALAR1_NARROW(bcnt1_i32_b64, d = (uint32_t)__builtin_popcountll(a); scc = d != 0)
SCALAR1(ff0_i32_b32, d = first_bit((uint32_t)~a))
SCALAR1_NARROW(ff0_i32_b64, d = first_bit(~a))
SCALAR1(ff1_i32_b32, d = first_bit(a))
SCALAR1_NARROW(ff1_i32_b64, d = first_bit(a))
SCALAR1(flbit_i32_b32, d = leading32(a))
SCALAR1_NARROW(flbit_i32_b64, d = leading64(a))
SCALAR1(flbit_i32, d = leading32(a ^ ashr32(a, 31)))
SCALAR1_NARROW(flbit_i32_i64, d = leading64(a ^ ashr64(a, 63)))
SCALAR1(sext_i32_i8, d = (uint32_t)(int32_t)(int8_t)a)
SCALAR1(sext_i32_i16, d = (uint32_t)(int32_t)(int16_t)a)
SCALAR1(abs_i32, d = (int32_t)a < 0 ? 0u - a : a; scc = d != 0)
SCALAR1(quadmask_b32, d = (uint32_t)quads_pack(quads_any(a)); scc = d != 0)
SCALAR1_64(quadmask_b64, d = quads_pack(quads_any(a)); scc = d != 0)
HANDLER(bitreplicate_b64_b32) {
  scalar_store64(wave, operation, replicate(operation_scalar(wave, operation, 0)));
  return operation + 1;
}

/* the old destination is read too (SHAPE_UPDATE): b */
SCALAR2(cmov_b32, d = scc ? a : b)
SCALAR2_64(cmov_b64, d = scc ? a : b)
SCALAR2(bitset0_b32, d = b & ~(UINT32_C(1) << (a & 31)))
SCALAR2(bitset1_b32, d = b | UINT32_C(1) << (a & 31))
SCALAR2_64(bitset0_b64, d = b & ~(UINT64_C(1) << (a & 63)))
SCALAR2_64(bitset1_b64, d = b | UINT64_C(1) << (a & 63))
/* and with an immediate: a is the old destination */
SCALAR2(addk_i32, d = a + b; scc = add_overflows(a, b, d))
SCALAR2(mulk_i32, d = a * b)
SCALAR2(cmovk_i32, d = scc ? b : a)
#define run_movk_i32 run_mov_b32

/* relative to M0; an index outside of the file reads and writes nothing */
static uint32_t file_index(uint32_t destination_or_source, uint32_t by, unsigned words) {
  uint64_t index = (destination_or_source - operation_sgpr_read(0)) / 4 + (uint64_t)by;
  return index + words <= SREG_TTMP0 ? (uint32_t)index : SREG_FILE;
}
HANDLER(movrels_b32) {
  *wave_word(wave, operation->destination) = wave->s[file_index((uint32_t)operation->source[0], wave->s[SREG_M0], 1)];
  return operation + 1;
}
HANDLER(movrels_b64) {
  uint32_t from = file_index((uint32_t)operation->source[0], wave->s[SREG_M0], 2);
  scalar_store64(wave, operation, (uint64_t)wave->s[from + 1] << 32 | wave->s[from]);
  return operation + 1;
}
HANDLER(movreld_b32) {
  wave->s[file_index(operation->destination, wave->s[SREG_M0], 1)] = operation_scalar(wave, operation, 0);
  return operation + 1;
}
HANDLER(movreld_b64) {
  uint64_t value = operation_scalar64(wave, operation, 0);
  uint32_t to = file_index(operation->destination, wave->s[SREG_M0], 2);
  wave->s[to] = (uint32_t)value;
  wave->s[to + 1] = (uint32_t)(value >> 32);
  return operation + 1;
}
HANDLER(movrelsd_2_b32) {
  uint32_t m0 = wave->s[SREG_M0];
  uint32_t from = file_index((uint32_t)operation->source[0], m0 & 0x3ff, 1);
  wave->s[file_index(operation->destination, m0 >> 16 & 0x3ff, 1)] = wave->s[from];
  return operation + 1;
}

/* EXEC becomes f(source, EXEC), its old value (or for _wrexec the new one) goes to the destination */
#define SAVEEXEC(name, expression)                                       \
  HANDLER(name##_saveexec_b32) {                                         \
    const uint32_t a = operation_scalar(wave, operation, 0), e = wave->s[SREG_EXEC_LO]; \
    *wave_word(wave, operation->destination) = e;                        \
    wave->s[SREG_EXEC_LO] = (expression);                                \
    wave->scc = wave->s[SREG_EXEC_LO] != 0;                              \
    return operation + 1;                                                \
  }                                                                      \
  HANDLER(name##_saveexec_b64) {                                         \
    const uint64_t a = operation_scalar64(wave, operation, 0);           \
    const uint64_t e = (uint64_t)wave->s[SREG_EXEC_HI] << 32 | wave->s[SREG_EXEC_LO]; \
    const uint64_t d = (expression);                                     \
    scalar_store64(wave, operation, e);                                  \
    wave->s[SREG_EXEC_LO] = (uint32_t)d;                                 \
    wave->s[SREG_EXEC_HI] = (uint32_t)(d >> 32);                         \
    wave->scc = d != 0;                                                  \
    return operation + 1;                                                \
  }
SAVEEXEC(and, a & e)
SAVEEXEC(or, a | e)
SAVEEXEC(xor, a ^ e)
SAVEEXEC(andn2, a & ~e)
SAVEEXEC(orn2, a | ~e)
SAVEEXEC(nand, ~(a & e))
SAVEEXEC(nor, ~(a | e))
SAVEEXEC(xnor, ~(a ^ e))
SAVEEXEC(andn1, ~a & e)
SAVEEXEC(orn1, ~a | e)

#define WREXEC(name, expression)                                         \
  HANDLER(name##_wrexec_b32) {                                           \
    const uint32_t a = operation_scalar(wave, operation, 0), e = wave->s[SREG_EXEC_LO]; \
    const uint32_t d = (expression);                                     \
    wave->s[SREG_EXEC_LO] = d;                                           \
    *wave_word(wave, operation->destination) = d;                        \
    wave->scc = d != 0;                                                  \
    return operation + 1;                                                \
  }                                                                      \
  HANDLER(name##_wrexec_b64) {                                           \
    const uint64_t a = operation_scalar64(wave, operation, 0);           \
    const uint64_t e = (uint64_t)wave->s[SREG_EXEC_HI] << 32 | wave->s[SREG_EXEC_LO]; \
    const uint64_t d = (expression);                                     \
    wave->s[SREG_EXEC_LO] = (uint32_t)d;                                 \
    wave->s[SREG_EXEC_HI] = (uint32_t)(d >> 32);                         \
    scalar_store64(wave, operation, d);                                  \
    wave->scc = d != 0;                                                  \
    return operation + 1;                                                \
  }
WREXEC(andn1, ~a & e)
WREXEC(andn2, a & ~e)

#define D SHAPE_DESTINATION
#define TWO SHAPE(D, 2, TYPE_B32, TYPE_B32)
#define TWO_64 SHAPE(D, 2, TYPE_B64, TYPE_B64)
#define WIDE_NARROW SHAPE(D, 2, TYPE_B64, TYPE_B32)
#define ONE SHAPE(D, 1, TYPE_B32, 0)
#define ONE_64 SHAPE(D, 1, TYPE_B64, 0)
#define UPDATE SHAPE(D | SHAPE_UPDATE, 1, TYPE_B32, 0)
#define UPDATE_64 SHAPE(D | SHAPE_UPDATE, 1, TYPE_B64, 0)
#define UPDATE_K SHAPE(D | SHAPE_UPDATE | SHAPE_IMMEDIATE, 0, 0, 0)

static const struct binding scalar_arithmetic_rows[] = {
    SCALAR_ROW(add_u32, TWO), SCALAR_ROW(sub_u32, TWO), SCALAR_ROW(add_i32, TWO), SCALAR_ROW(sub_i32, TWO),
    SCALAR_ROW(addc_u32, TWO), SCALAR_ROW(subb_u32, TWO), SCALAR_ROW(min_i32, TWO), SCALAR_ROW(max_i32, TWO),
    SCALAR_ROW(min_u32, TWO), SCALAR_ROW(max_u32, TWO), SCALAR_ROW(cselect_b32, TWO), SCALAR_ROW(and_b32, TWO),
    SCALAR_ROW(or_b32, TWO), SCALAR_ROW(xor_b32, TWO), SCALAR_ROW(andn2_b32, TWO), SCALAR_ROW(orn2_b32, TWO),
    SCALAR_ROW(nand_b32, TWO), SCALAR_ROW(nor_b32, TWO), SCALAR_ROW(xnor_b32, TWO), SCALAR_ROW(lshl_b32, TWO),
    SCALAR_ROW(lshr_b32, TWO), SCALAR_ROW(ashr_i32, TWO), SCALAR_ROW(bfm_b32, TWO), SCALAR_ROW(mul_i32, TWO),
    SCALAR_ROW(mul_hi_u32, TWO), SCALAR_ROW(mul_hi_i32, TWO), SCALAR_ROW(bfe_u32, TWO), SCALAR_ROW(bfe_i32, TWO),
    SCALAR_ROW(absdiff_i32, TWO), SCALAR_ROW(lshl1_add_u32, TWO), SCALAR_ROW(lshl2_add_u32, TWO),
    SCALAR_ROW(lshl3_add_u32, TWO), SCALAR_ROW(lshl4_add_u32, TWO), SCALAR_ROW(pack_ll_b32_b16, TWO),
    SCALAR_ROW(pack_lh_b32_b16, TWO), SCALAR_ROW(pack_hh_b32_b16, TWO),
    SCALAR_ROW(cselect_b64, TWO_64), SCALAR_ROW(and_b64, TWO_64), SCALAR_ROW(or_b64, TWO_64),
    SCALAR_ROW(xor_b64, TWO_64), SCALAR_ROW(andn2_b64, TWO_64), SCALAR_ROW(orn2_b64, TWO_64),
    SCALAR_ROW(nand_b64, TWO_64), SCALAR_ROW(nor_b64, TWO_64), SCALAR_ROW(xnor_b64, TWO_64),
    SCALAR_ROW(lshl_b64, WIDE_NARROW), SCALAR_ROW(lshr_b64, WIDE_NARROW),
    SCALAR_ROW(ashr_i64, SHAPE(D, 2, TYPE_I64, TYPE_B32)), SCALAR_ROW(bfm_b64, TWO),
    SCALAR_ROW(bfe_u64, WIDE_NARROW), SCALAR_ROW(bfe_i64, SHAPE(D, 2, TYPE_I64, TYPE_B32)),
    SCALAR_ROW(mov_b32, ONE), SCALAR_ROW(mov_b64, ONE_64), SCALAR_ROW(not_b32, ONE), SCALAR_ROW(not_b64, ONE_64),
    SCALAR_ROW(wqm_b32, ONE), SCALAR_ROW(wqm_b64, ONE_64), SCALAR_ROW(brev_b32, ONE), SCALAR_ROW(brev_b64, ONE_64),
    SCALAR_ROW(bcnt0_i32_b32, ONE), SCALAR_ROW(bcnt0_i32_b64, ONE_64), SCALAR_ROW(bcnt1_i32_b32, ONE),
    SCALAR_ROW(bcnt1_i32_b64, ONE_64), SCALAR_ROW(ff0_i32_b32, ONE), SCALAR_ROW(ff0_i32_b64, ONE_64),
    SCALAR_ROW(ff1_i32_b32, ONE), SCALAR_ROW(ff1_i32_b64, ONE_64), SCALAR_ROW(flbit_i32_b32, ONE),
    SCALAR_ROW(flbit_i32_b64, ONE_64), SCALAR_ROW(flbit_i32, ONE), SCALAR_ROW(flbit_i32_i64, SHAPE(D, 1, TYPE_I64, 0)),
    SCALAR_ROW(sext_i32_i8, ONE), SCALAR_ROW(sext_i32_i16, ONE), SCALAR_ROW(abs_i32, ONE),
    SCALAR_ROW(quadmask_b32, ONE), SCALAR_ROW(quadmask_b64, ONE_64), SCALAR_ROW(bitreplicate_b64_b32, ONE),
    SCALAR_ROW(cmov_b32, UPDATE), SCALAR_ROW(cmov_b64, UPDATE_64), SCALAR_ROW(bitset0_b32, UPDATE),
    SCALAR_ROW(bitset1_b32, UPDATE), SCALAR_ROW(bitset0_b64, UPDATE), SCALAR_ROW(bitset1_b64, UPDATE),
    SCALAR_ROW(addk_i32, UPDATE_K), SCALAR_ROW(mulk_i32, UPDATE_K), SCALAR_ROW(cmovk_i32, UPDATE_K),
    SCALAR_ROW(movk_i32, SHAPE(D | SHAPE_IMMEDIATE, 0, 0, 0)),
    SCALAR_ROW(movrels_b32, ONE), SCALAR_ROW(movrels_b64, ONE_64), SCALAR_ROW(movreld_b32, ONE),
    SCALAR_ROW(movreld_b64, ONE_64), SCALAR_ROW(movrelsd_2_b32, ONE),
#define SAVEEXEC_ROWS(name) SCALAR_ROW(name##_saveexec_b32, ONE), SCALAR_ROW(name##_saveexec_b64, ONE_64)
    SAVEEXEC_ROWS(and), SAVEEXEC_ROWS(or), SAVEEXEC_ROWS(xor), SAVEEXEC_ROWS(andn2), SAVEEXEC_ROWS(orn2),
    SAVEEXEC_ROWS(nand), SAVEEXEC_ROWS(nor), SAVEEXEC_ROWS(xnor), SAVEEXEC_ROWS(andn1), SAVEEXEC_ROWS(orn1),
    SCALAR_ROW(andn1_wrexec_b32, ONE), SCALAR_ROW(andn1_wrexec_b64, ONE_64),
    SCALAR_ROW(andn2_wrexec_b32, ONE), SCALAR_ROW(andn2_wrexec_b64, ONE_64),
};
SCALAR_TABLE(scalar_arithmetic);
