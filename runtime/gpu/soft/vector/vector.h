/* Vector operations from one row each.
 *
 * A row says what one lane does:
 *
 *   #define OPERATIONS(X)                                                        \
 *     X(HOT2, v_add_f32, f32, f32, f32, d = a + b)                               \
 *     X(PLAIN1, v_not_b32, u32, u32, d = ~a)
 *   OPERATIONS(VECTOR_DEFINE)
 *   VECTOR_TABLE(vector_float, OPERATIONS)
 *
 * kind, opcode, types of d, a, b, c (lane.h), then statements that set d from a, b, c. They may also use `lane`, `carry_in`
 * (0 or 1), `carry_out` (set it), `mode` (the wave's) and `side` (clamp, the operation). From it come
 * NAME_lanes (the loop), NAME_compute (the same, callable, for modified.c), NAME_any (a handler for any kinds of sources) and
 * for HOT kinds NAME_hot: handlers with the loop inside, by which sources are scalar (bit i: source i), as reading a scalar
 * into all lanes is one instruction if it is known to be one. HOT costs compile time and code: for what kernels do all day.
 *
 * Kinds: PLAIN1..3, HOT1..3 by the number of sources; ACCUMULATE3, HOTACCUMULATE3: c is the destination's old value
 * (v_fmac_f32; text has two sources); CARRYOUT2: writes a mask to the second destination; CARRY2: that, and a mask after the
 * sources as carry in; SELECT2: only the carry in (v_cndmask_b32); CARRYOUT3 (v_mad_u64_u32); VCC3: three sources, carry in
 * is VCC without being an operand (v_div_fmas_f32). v_div_scale: CARRYOUT3.
 *
 * Rules kept here: lanes outside EXEC keep their value; masks get 0 for them; results of two registers are stored after all
 * lanes are computed, as they may overlap sources; 16-bit results leave the other half. */
#ifndef HRX_GPU_SOFT_VECTOR_VECTOR_H
#define HRX_GPU_SOFT_VECTOR_VECTOR_H

#include "gpu/soft/vector/lane.h"

/* What an operation may need beside its sources. */
struct vector_side {
  uint64_t carry_in;             /* a mask, if the form takes one */
  uint32_t mode;                 /* struct wave's */
  bool clamp;                    /* integer forms saturate; the modified path clamps floats by itself */
  const struct operation *operation;
  alignas(64) uint32_t carry_out[SOFT_LANES]; /* sign bits, if the form makes one */
};

/* Computes all lanes. Sources and result are registers; the result may lie on a source of the same width. */
typedef void (*vector_compute)(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                               struct vector_side *side);

enum vector_flags {
  VECTOR_CARRY_OUT = 1,  /* second destination is a mask */
  VECTOR_CARRY_IN = 2,   /* an operand after the sources is a mask: in operation->source[2] */
  VECTOR_ACCUMULATE = 4, /* the last source is the destination */
  VECTOR_CARRY_VCC = 8,  /* carry in is VCC, not among the operands */
  VECTOR_TO_EXEC = 16    /* the mask goes to EXEC and is not among the operands (v_cmpx) */
};

/* The constant part of a row: binding->compute, operation->compute. */
struct vector_form {
  vector_compute compute;
  const operation_handler *hot;      /* by scalar sources; NULL if not HOT */
  uint8_t types[4];                  /* enum vector_type of d, a, b, c */
  uint8_t flags;
};

/* Binds an instruction to a row whose `compute` is a struct vector_form. In modified.c; so is the general path: sources
 * through DPP, SDWA selection, op_sel, abs and neg; results through omod, clamp, SDWA or DPP masks. */
hrx_status SOFT_NAME(vector_bind)(const struct binding *row, const struct instruction *instruction, struct operation *out);
const struct operation *SOFT_NAME(vector_modified)(struct wave *wave, const struct operation *operation);

/* 16 bits of floating point to 32, exactly (NaNs become quiet). */
VECTOR_INLINE float float_of_half(uint16_t half) {
#ifdef __F16C__
  return _cvtsh_ss(half);
#else
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000 : 0));
  if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float value = (float)fraction * 0x1p-24f;
  return float_of_bits(sign | bits_of_float(value));
#endif
}

/* A float to 16 bits, to nearest even. */
VECTOR_INLINE uint16_t half_of_float(float value) {
#ifdef __F16C__
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
#else
  const _Float16 half = (_Float16)value;
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
#endif
}

/* MXCSR for the single-precision rounding and denormals of MODE (bits 1:0 and 5:4), everything masked. */
VECTOR_INLINE uint32_t mode_mxcsr(uint32_t mode) {
  /* MODE counts nearest, up, down, zero; MXCSR nearest, down, up, zero. 0x40 takes denormals for zero, 0x8000 flushes. */
  const uint32_t round = ((mode & 1) << 1 | (mode >> 1 & 1)) << 13;
  return 0x1f80 | round | (mode & 0x10 ? 0 : 0x40) | (mode & 0x20 ? 0 : 0x8000);
}
VECTOR_INLINE void mode_enter(uint32_t mode) {
  __asm__ volatile("" ::: "memory"); /* arithmetic from memory to memory stays on its side */
  _mm_setcsr(mode_mxcsr(mode));
  __asm__ volatile("" ::: "memory");
}
/* MODE has rules of their own for double precision, two bits further up; MXCSR has those of single precision. */
VECTOR_INLINE bool mode_is_apart(uint32_t mode) { return ((mode >> 2 ^ mode) & 0x33) != 0; }
VECTOR_INLINE bool vector_is_double(unsigned d, unsigned a) {
  return (d == VECTOR_f64 && a != VECTOR_f32) || (a == VECTOR_f64 && d != VECTOR_f32);
}

VECTOR_INLINE bool vector_is_64(unsigned type) { return type == VECTOR_u64 || type == VECTOR_i64 || type == VECTOR_f64; }

VECTOR_INLINE bool vector_is_16(unsigned type) {
  return type == VECTOR_u16 || type == VECTOR_h16 || type == VECTOR_hi16;
}

VECTOR_INLINE void mask_write(struct wave *wave, uint32_t destination, uint64_t mask) {
  *wave_word(wave, destination) = (uint32_t)mask;
#if SOFT_LANES == 64
  wave_word(wave, destination)[1] = (uint32_t)(mask >> 32);
#endif
}

/* A register or constant; vector_bind lets no special source come here (a call would cost the hot handlers a stack frame). */
VECTOR_INLINE uint32_t vector_scalar(struct wave *wave, const struct operation *operation, unsigned slot) {
  if (operation->kind[slot] == SOURCE_SCALAR) return *wave_word(wave, operation->source[slot]);
  return (uint32_t)operation->source[slot];
}
VECTOR_INLINE uint64_t vector_scalar64(struct wave *wave, const struct operation *operation, unsigned slot) {
  if (operation->kind[slot] != SOURCE_SCALAR) return operation->source[slot];
  const uint32_t *word = wave_word(wave, operation->source[slot]);
  return (uint64_t)word[1] << 32 | word[0];
}

VECTOR_INLINE uint64_t mask_operand(struct wave *wave, const struct operation *operation, unsigned slot) {
  return SOFT_LANES == 64 ? vector_scalar64(wave, operation, slot) : vector_scalar(wave, operation, slot);
}

VECTOR_INLINE uint64_t mask_vcc(const struct wave *wave) {
  return SOFT_LANES == 64 ? (uint64_t)wave->s[SREG_VCC_HI] << 32 | wave->s[SREG_VCC_LO] : wave->s[SREG_VCC_LO];
}

/* A source as a register: itself, or `room` filled with the scalar. */
VECTOR_INLINE const uint32_t *vector_source(struct wave *wave, const struct operation *operation, unsigned slot,
                                            unsigned type, uint32_t *room) {
  if (type == VECTOR_none) return room;
  if (operation->kind[slot] == SOURCE_VECTOR) return wave_word(wave, operation->source[slot]);
  if (vector_is_64(type)) {
    const uint64_t value = operation_scalar64(wave, operation, slot);
    VECTOR_LOOP(i) write_u64(room, i, value);
  } else {
    const uint32_t value = operation_scalar(wave, operation, slot);
    VECTOR_LOOP(i) room[i] = value;
  }
  return room;
}

/* Computes and stores. Everything but the wave is a constant once this is inlined. */
VECTOR_INLINE const struct operation *vector_finish(struct wave *wave, const struct operation *operation,
                                                    vector_compute compute, unsigned type, unsigned flags,
                                                    const uint32_t *a, const uint32_t *b, const uint32_t *c) {
  struct vector_side side;
  alignas(64) uint32_t result[2 * SOFT_LANES];
  uint32_t *d = wave_word(wave, operation->destination);
  const uint64_t exec = wave_exec(wave);

  side.mode = wave->mode;
  side.clamp = false;
  side.operation = operation;
  side.carry_in = 0;
  if (flags & VECTOR_CARRY_IN) side.carry_in = mask_operand(wave, operation, 2);
  if (flags & VECTOR_CARRY_VCC) side.carry_in = mask_vcc(wave);

  if (vector_is_64(type)) {
    compute(result, a, b, c, &side);
    if (__builtin_expect(exec == VECTOR_ALL, 1)) {
      memcpy(d, result, sizeof result);
    } else {
      mask_merge(d, result, exec);
      mask_merge(d + SOFT_LANES, result + SOFT_LANES, exec);
    }
  } else if (vector_is_16(type)) {
    compute(result, a, b, c, &side);
    mask_merge_half(d, result, exec, type == VECTOR_hi16 ? 0xffff : 0xffff0000, type == VECTOR_hi16 ? 16 : 0);
  } else if (type == VECTOR_mask) {
    compute(result, a, b, c, &side);
    mask_write(wave, operation->destination, mask_pack(result) & exec);
  } else if (__builtin_expect(exec == VECTOR_ALL, 1)) {
    compute(d, a, b, c, &side);
  } else {
    compute(result, a, b, c, &side);
    mask_merge(d, result, exec);
  }
  if (flags & VECTOR_CARRY_OUT) mask_write(wave, operation->destination2, mask_pack(side.carry_out) & exec);
  return operation + 1;
}

VECTOR_INLINE const struct operation *vector_any(struct wave *wave, const struct operation *operation,
                                                 vector_compute compute, unsigned d, unsigned a, unsigned b, unsigned c,
                                                 unsigned flags) {
  alignas(64) uint32_t room[3][2 * SOFT_LANES];
  const uint32_t *first = vector_source(wave, operation, 0, a, room[0]);
  const uint32_t *second = vector_source(wave, operation, 1, b, room[1]);
  const uint32_t *third = vector_source(wave, operation, 2, c, room[2]);
  return vector_finish(wave, operation, compute, d, flags, first, second, third);
}

/* Goes on to the next operation with a jump, which is half again as fast as returning to the loop that calls handlers. Only
 * for handlers whose locals nobody else sees, so that it is a jump; and not under sanitizers, which keep stack frames. */
VECTOR_INLINE const struct operation *vector_next(struct wave *wave, const struct operation *operation) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __OPTIMIZE__
  (void)wave;
  return operation;
#else
  return operation->handler(wave, operation);
#endif
}

/* A source that is known to be scalar, not special, in every lane of `room`; or known to be a vector register. */
VECTOR_INLINE const uint32_t *vector_source_hot(struct wave *wave, const struct operation *operation, unsigned slot,
                                                unsigned type, bool scalar, uint32_t *room) {
  if (type == VECTOR_none) return room;
  if (!scalar) return wave_word(wave, operation->source[slot]);
  if (vector_is_64(type)) {
    const uint64_t value = vector_scalar64(wave, operation, slot);
    VECTOR_LOOP(i) write_u64(room, i, value);
  } else {
    const uint32_t value = vector_scalar(wave, operation, slot);
    VECTOR_LOOP(i) room[i] = value;
  }
  return room;
}

VECTOR_INLINE const struct operation *vector_hot(struct wave *wave, const struct operation *operation,
                                                 vector_compute compute, unsigned d, unsigned a, unsigned b, unsigned c,
                                                 unsigned flags, unsigned scalars) {
  alignas(64) uint32_t room[3][2 * SOFT_LANES];
  const uint32_t *first = vector_source_hot(wave, operation, 0, a, scalars & 1, room[0]);
  const uint32_t *second = vector_source_hot(wave, operation, 1, b, scalars & 2, room[1]);
  const uint32_t *third = vector_source_hot(wave, operation, 2, c, scalars & 4, room[2]);
  return vector_next(wave, vector_finish(wave, operation, compute, d, flags, first, second, third));
}

/* --- what a row becomes --- */
#define VECTOR_HANDLER static const struct operation *
#define VECTOR_ARGUMENTS struct wave *wave, const struct operation *operation
#define VECTOR_COMPUTE_ARGUMENTS \
  uint32_t *d_, const uint32_t *a_, const uint32_t *b_, const uint32_t *c_, struct vector_side *side
#define VECTOR_UNUSED (void)a_, (void)b_, (void)c_, (void)side
#define VECTOR_REGISTER(slot) wave_word(wave, operation->source[slot])

#define VECTOR_LANES_(name, dt, at, sources, carry_before, carry_after, ...)                                 \
  VECTOR_INLINE void name##_lanes(VECTOR_COMPUTE_ARGUMENTS) {                                                \
    const uint32_t mode = side->mode; /* a load in the loop could be thought to see the loop's stores */     \
    const bool apart = vector_is_double(VECTOR_##dt, VECTOR_##at) && mode_is_apart(mode);                    \
    VECTOR_UNUSED;                                                                                           \
    if (__builtin_expect(apart, 0)) mode_enter(mode >> 2);                                                   \
    VECTOR_LOOP(lane) {                                                                                      \
      sources lane_##dt d;                                                                                   \
      carry_before;                                                                                          \
      __VA_ARGS__;                                                                                           \
      write_##dt(d_, lane, d);                                                                               \
      carry_after;                                                                                           \
    }                                                                                                        \
    if (__builtin_expect(apart, 0)) mode_enter(mode);                                                        \
  }                                                                                                          \
  static __attribute__((noinline)) void name##_compute(VECTOR_COMPUTE_ARGUMENTS) { name##_lanes(d_, a_, b_, c_, side); }

#define VECTOR_A(at) const lane_##at a = read_##at(a_, lane);
#define VECTOR_AB(at, bt) VECTOR_A(at) const lane_##bt b = read_##bt(b_, lane);
#define VECTOR_ABC(at, bt, ct) VECTOR_AB(at, bt) const lane_##ct c = read_##ct(c_, lane);
#define VECTOR_CARRY_READ const uint32_t carry_in = mask_bit(side->carry_in, lane) ? 1 : 0
#define VECTOR_CARRY_MAKE bool carry_out
#define VECTOR_CARRY_STORE side->carry_out[lane] = carry_out ? UINT32_MAX : 0
#define VECTOR_NOTHING (void)0

#define VECTOR_ANY_(name, dt, at, bt, ct, flags)                                                             \
  VECTOR_HANDLER name##_any(VECTOR_ARGUMENTS) {                                                              \
    return vector_any(wave, operation, name##_compute, VECTOR_##dt, VECTOR_##at, VECTOR_##bt, VECTOR_##ct, flags); \
  }
#define VECTOR_FORM_(name, hot, dt, at, bt, ct, flag_bits)                                                    \
  static const struct vector_form name##_form = {                                                            \
    name##_compute, hot, {VECTOR_##dt, VECTOR_##at, VECTOR_##bt, VECTOR_##ct}, flag_bits};

#define VECTOR_PLAIN_(name, dt, at, bt, ct, flags)                                                           \
  VECTOR_ANY_(name, dt, at, bt, ct, flags)                                                                   \
  VECTOR_FORM_(name, NULL, dt, at, bt, ct, flags)

#define VECTOR_HOT_(name, scalars, dt, at, bt, ct, flags)                                                    \
  VECTOR_HANDLER name##_hot_##scalars(VECTOR_ARGUMENTS) {                                                    \
    return vector_hot(wave, operation, name##_lanes, VECTOR_##dt, VECTOR_##at, VECTOR_##bt, VECTOR_##ct, flags, scalars); \
  }
#define VECTOR_HOT1_(name, dt, at, flags)                                                                    \
  VECTOR_HOT_(name, 0, dt, at, none, none, flags)                                                            \
  VECTOR_HOT_(name, 1, dt, at, none, none, flags)                                                            \
  static const operation_handler name##_hot[2] = {name##_hot_0, name##_hot_1};                               \
  VECTOR_ANY_(name, dt, at, none, none, flags)                                                               \
  VECTOR_FORM_(name, name##_hot, dt, at, none, none, flags)
#define VECTOR_HOT2_(name, dt, at, bt, flags)                                                                \
  VECTOR_HOT_(name, 0, dt, at, bt, none, flags)                                                              \
  VECTOR_HOT_(name, 1, dt, at, bt, none, flags)                                                              \
  VECTOR_HOT_(name, 2, dt, at, bt, none, flags)                                                              \
  static const operation_handler name##_hot[4] = {name##_hot_0, name##_hot_1, name##_hot_2};                 \
  VECTOR_ANY_(name, dt, at, bt, none, flags)                                                                 \
  VECTOR_FORM_(name, name##_hot, dt, at, bt, none, flags)
/* Both scalar: how a compiler turns a mask into 0 and 1. */
#define VECTOR_SELECT2_(name, dt, at, bt, flags)                                                             \
  VECTOR_HOT_(name, 0, dt, at, bt, none, flags)                                                              \
  VECTOR_HOT_(name, 1, dt, at, bt, none, flags)                                                              \
  VECTOR_HOT_(name, 2, dt, at, bt, none, flags)                                                              \
  VECTOR_HOT_(name, 3, dt, at, bt, none, flags)                                                              \
  static const operation_handler name##_hot[4] = {name##_hot_0, name##_hot_1, name##_hot_2, name##_hot_3};   \
  VECTOR_ANY_(name, dt, at, bt, none, flags)                                                                 \
  VECTOR_FORM_(name, name##_hot, dt, at, bt, none, flags)
#define VECTOR_HOT3_(name, dt, at, bt, ct, flags)                                                            \
  VECTOR_HOT_(name, 0, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 1, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 2, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 3, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 4, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 5, dt, at, bt, ct, flags)                                                                \
  VECTOR_HOT_(name, 6, dt, at, bt, ct, flags)                                                                \
  static const operation_handler name##_hot[8] = {name##_hot_0, name##_hot_1, name##_hot_2, name##_hot_3,    \
                                                  name##_hot_4, name##_hot_5, name##_hot_6};                 \
  VECTOR_ANY_(name, dt, at, bt, ct, flags)                                                                   \
  VECTOR_FORM_(name, name##_hot, dt, at, bt, ct, flags)

#define VECTOR_DEFINE(kind, ...) VECTOR_DEFINE_##kind(__VA_ARGS__)

#define VECTOR_DEFINE_PLAIN1(name, dt, at, ...)                                                              \
  VECTOR_LANES_(name, dt, at, VECTOR_A(at), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)                     \
  VECTOR_PLAIN_(name, dt, at, none, none, 0)
#define VECTOR_DEFINE_PLAIN2(name, dt, at, bt, ...)                                                          \
  VECTOR_LANES_(name, dt, at, VECTOR_AB(at, bt), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)                \
  VECTOR_PLAIN_(name, dt, at, bt, none, 0)
#define VECTOR_DEFINE_PLAIN3(name, dt, at, bt, ct, ...)                                                      \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)           \
  VECTOR_PLAIN_(name, dt, at, bt, ct, 0)
#define VECTOR_DEFINE_HOT1(name, dt, at, ...)                                                                \
  VECTOR_LANES_(name, dt, at, VECTOR_A(at), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)                     \
  VECTOR_HOT1_(name, dt, at, 0)
#define VECTOR_DEFINE_HOT2(name, dt, at, bt, ...)                                                            \
  VECTOR_LANES_(name, dt, at, VECTOR_AB(at, bt), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)                \
  VECTOR_HOT2_(name, dt, at, bt, 0)
#define VECTOR_DEFINE_HOT3(name, dt, at, bt, ct, ...)                                                        \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)           \
  VECTOR_HOT3_(name, dt, at, bt, ct, 0)
#define VECTOR_DEFINE_ACCUMULATE3(name, dt, at, bt, ct, ...)                                                 \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)           \
  VECTOR_PLAIN_(name, dt, at, bt, ct, VECTOR_ACCUMULATE)
#define VECTOR_DEFINE_HOTACCUMULATE3(name, dt, at, bt, ct, ...)                                              \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_NOTHING, VECTOR_NOTHING, __VA_ARGS__)           \
  VECTOR_HOT3_(name, dt, at, bt, ct, VECTOR_ACCUMULATE)
#define VECTOR_DEFINE_CARRYOUT2(name, dt, at, bt, ...)                                                       \
  VECTOR_LANES_(name, dt, at, VECTOR_AB(at, bt), VECTOR_CARRY_MAKE, VECTOR_CARRY_STORE, __VA_ARGS__)         \
  VECTOR_HOT2_(name, dt, at, bt, VECTOR_CARRY_OUT)
#define VECTOR_DEFINE_CARRY2(name, dt, at, bt, ...)                                                          \
  VECTOR_LANES_(name, dt, at, VECTOR_AB(at, bt), VECTOR_CARRY_READ; VECTOR_CARRY_MAKE, VECTOR_CARRY_STORE, __VA_ARGS__) \
  VECTOR_HOT2_(name, dt, at, bt, VECTOR_CARRY_OUT | VECTOR_CARRY_IN)
#define VECTOR_DEFINE_SELECT2(name, dt, at, bt, ...)                                                         \
  VECTOR_LANES_(name, dt, at, VECTOR_AB(at, bt), VECTOR_CARRY_READ, VECTOR_NOTHING, __VA_ARGS__)             \
  VECTOR_SELECT2_(name, dt, at, bt, VECTOR_CARRY_IN)
#define VECTOR_DEFINE_CARRYOUT3(name, dt, at, bt, ct, ...)                                                   \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_CARRY_MAKE, VECTOR_CARRY_STORE, __VA_ARGS__)    \
  VECTOR_PLAIN_(name, dt, at, bt, ct, VECTOR_CARRY_OUT)
#define VECTOR_DEFINE_VCC3(name, dt, at, bt, ct, ...)                                                        \
  VECTOR_LANES_(name, dt, at, VECTOR_ABC(at, bt, ct), VECTOR_CARRY_READ, VECTOR_NOTHING, __VA_ARGS__)        \
  VECTOR_PLAIN_(name, dt, at, bt, ct, VECTOR_CARRY_VCC)

#define VECTOR_ROW(kind, name, ...) \
  {OPCODE_##name, SOFT_NAME(vector_bind), name##_any, SOFT_NAME(vector_modified), &name##_form, 0},
#define VECTOR_TABLE(family, rows)                                                                           \
  static const struct binding family##_rows[] = {rows(VECTOR_ROW)};                                          \
  const struct binding_table SOFT_NAME(family##_table) = {family##_rows,                                     \
                                                          sizeof family##_rows / sizeof family##_rows[0]};

#endif
