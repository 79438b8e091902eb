/* Lanes and masks: how a vector operation reads, writes, merges and compares what lies in a register.
 *
 * A register is SOFT_LANES dwords; a 64-bit operand is two registers, low first. Each type of the rows in vector_*.c has a
 * C type lane_T, read_T(register, lane), write_T(register, lane, value), and VECTOR_T, which tells the modified path
 * (modified.c) what neg, abs, clamp and constants mean. Loops over lanes are written for gcc's vectoriser: keep the
 * bodies free of calls and branches. */
#ifndef HRX_GPU_SOFT_VECTOR_LANE_H
#define HRX_GPU_SOFT_VECTOR_LANE_H

#include <immintrin.h>
#include <string.h>

#include "gpu/soft/operation.h"

enum vector_type {
  VECTOR_none,
  VECTOR_u32,  /* bits, or an integer; neg and abs act on bit 31 (v_mov_b32, v_cndmask_b32) */
  VECTOR_f32,
  VECTOR_u64,
  VECTOR_i64,  /* as u64, but a 32-bit literal sign-extends */
  VECTOR_f64,
  VECTOR_u16,  /* low half of a register; a result leaves the high half alone (gfx10; gfx9 would clear it) */
  VECTOR_h16,  /* the same, holding a half */
  VECTOR_hi16, /* results only: the high half of a register, low half left alone; write as u16 */
  VECTOR_p16,  /* two 16-bit integers */
  VECTOR_p16f, /* two halves */
  VECTOR_mix,  /* v_fma_mix: a float, or a half picked by op_sel and op_sel_hi and widened; read as f32 */
  VECTOR_mask, /* results only: one bit a lane in scalar registers */
  VECTOR_i32 = VECTOR_u32,
  VECTOR_i16 = VECTOR_u16
};

typedef uint32_t lane_u32;
typedef int32_t lane_i32;
typedef float lane_f32;
typedef float lane_mix;
typedef uint64_t lane_u64;
typedef int64_t lane_i64;
typedef double lane_f64;
typedef uint16_t lane_u16;
typedef int16_t lane_i16;
typedef uint16_t lane_h16;
typedef uint16_t lane_hi16;
typedef uint32_t lane_p16;
typedef uint32_t lane_p16f;
typedef int lane_mask;

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline lane_u32 read_u32(const uint32_t *from, unsigned lane) { return from[lane]; }
static inline lane_i32 read_i32(const uint32_t *from, unsigned lane) { return (int32_t)from[lane]; }
static inline lane_f32 read_f32(const uint32_t *from, unsigned lane) { return ((const float *)(const void *)from)[lane]; }
static inline lane_mix read_mix(const uint32_t *from, unsigned lane) { return read_f32(from, lane); }
static inline lane_u64 read_u64(const uint32_t *from, unsigned lane) {
  return (uint64_t)from[lane + SOFT_LANES] << 32 | from[lane];
}
static inline lane_i64 read_i64(const uint32_t *from, unsigned lane) { return (int64_t)read_u64(from, lane); }
static inline lane_f64 read_f64(const uint32_t *from, unsigned lane) { return double_of_bits(read_u64(from, lane)); }
static inline lane_u16 read_u16(const uint32_t *from, unsigned lane) { return (uint16_t)from[lane]; }
static inline lane_i16 read_i16(const uint32_t *from, unsigned lane) { return (int16_t)from[lane]; }
static inline lane_h16 read_h16(const uint32_t *from, unsigned lane) { return (uint16_t)from[lane]; }
static inline lane_p16 read_p16(const uint32_t *from, unsigned lane) { return from[lane]; }
static inline lane_p16f read_p16f(const uint32_t *from, unsigned lane) { return from[lane]; }

static inline void write_u32(uint32_t *to, unsigned lane, lane_u32 value) { to[lane] = value; }
static inline void write_i32(uint32_t *to, unsigned lane, lane_i32 value) { to[lane] = (uint32_t)value; }
static inline void write_f32(uint32_t *to, unsigned lane, lane_f32 value) { ((float *)(void *)to)[lane] = value; }
static inline void write_u64(uint32_t *to, unsigned lane, lane_u64 value) {
  to[lane] = (uint32_t)value;
  to[lane + SOFT_LANES] = (uint32_t)(value >> 32);
}
static inline void write_i64(uint32_t *to, unsigned lane, lane_i64 value) { write_u64(to, lane, (uint64_t)value); }
static inline void write_f64(uint32_t *to, unsigned lane, lane_f64 value) { write_u64(to, lane, bits_of_double(value)); }
static inline void write_u16(uint32_t *to, unsigned lane, lane_u16 value) { to[lane] = value; }
static inline void write_i16(uint32_t *to, unsigned lane, lane_i16 value) { to[lane] = (uint16_t)value; }
static inline void write_h16(uint32_t *to, unsigned lane, lane_h16 value) { to[lane] = value; }
static inline void write_hi16(uint32_t *to, unsigned lane, lane_hi16 value) { to[lane] = value; }
static inline void write_p16(uint32_t *to, unsigned lane, lane_p16 value) { to[lane] = value; }
static inline void write_p16f(uint32_t *to, unsigned lane, lane_p16f value) { to[lane] = value; }
static inline void write_mask(uint32_t *to, unsigned lane, lane_mask value) { to[lane] = value ? UINT32_MAX : 0; }

/* Before a loop over lanes whose iterations touch only their own lane (so a result may lie on a source). */
#define VECTOR_LOOP(lane) _Pragma("GCC ivdep") for (unsigned lane = 0; lane < SOFT_LANES; lane++)

#define VECTOR_INLINE static inline __attribute__((always_inline, unused))

/* One bit for each lane: SSE2 cannot shift by lane, but it can load this. */
extern const uint32_t SOFT_NAME(vector_bits)[64];

static const uint64_t VECTOR_ALL = SOFT_LANES == 64 ? UINT64_MAX : UINT32_MAX;

/* Whether a lane is in a mask. */
VECTOR_INLINE bool mask_bit(uint64_t mask, unsigned lane) {
#if SOFT_LANES == 32
  return ((uint32_t)mask & SOFT_NAME(vector_bits)[lane]) != 0;
#else
  return mask >> lane & 1;
#endif
}

/* The sign bits of a register as a mask. */
VECTOR_INLINE uint64_t mask_pack(const uint32_t *from) {
  uint64_t mask = 0;
#if defined SOFT_LEVEL_v4
  for (unsigned i = 0; i < SOFT_LANES; i += 16)
    mask |= (uint64_t)_mm512_movepi32_mask(_mm512_load_si512(from + i)) << i;
#elif defined SOFT_LEVEL_v3
  for (unsigned i = 0; i < SOFT_LANES; i += 8)
    mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_load_ps((const float *)(const void *)(from + i))) << i;
#else
  for (unsigned i = 0; i < SOFT_LANES; i += 4)
    mask |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_load_ps((const float *)(const void *)(from + i))) << i;
#endif
  return mask;
}

/* to = from where the mask has a lane. */
VECTOR_INLINE void mask_merge(uint32_t *to, const uint32_t *from, uint64_t mask) {
#if defined SOFT_LEVEL_v4
  for (unsigned i = 0; i < SOFT_LANES; i += 16)
    _mm512_mask_store_epi32(to + i, (__mmask16)(mask >> i), _mm512_load_si512(from + i));
#else
  VECTOR_LOOP(i) to[i] = mask_bit(mask, i) ? from[i] : to[i];
#endif
}

/* The same, one half of each lane: `keep` has the bits that stay, `shift` is 16 for the high half. */
VECTOR_INLINE void mask_merge_half(uint32_t *to, const uint32_t *from, uint64_t mask, uint32_t keep, unsigned shift) {
  VECTOR_LOOP(i) {
    const uint32_t merged = (to[i] & keep) | (from[i] << shift & ~keep);
    to[i] = mask_bit(mask, i) ? merged : to[i];
  }
}

#endif
