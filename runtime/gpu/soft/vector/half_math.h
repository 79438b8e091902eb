/* What half-precision instructions mean, one lane at a time. A half is 16 bits in an integer; arithmetic is done in
 * float, which has bits enough that rounding twice to nearest does no harm (24 >= 2 * 11 + 2), or, where that is not
 * enough, in double or rounded to odd first. The rounding mode is MODE's for double and half (bits 3:2), not MXCSR's.
 * Denormals are kept, except where MODE (bits 7:6) flushes them. */
#ifndef HRX_GPU_SOFT_VECTOR_HALF_MATH_H
#define HRX_GPU_SOFT_VECTOR_HALF_MATH_H

#include "gpu/soft/vector/double_math.h"
#include "gpu/soft/vector/float_math.h"

enum half_round { HALF_NEAREST, HALF_UP, HALF_DOWN, HALF_ZERO };

VECTOR_INLINE uint32_t half_mode(uint32_t mode) { return mode >> 2 & 3; }

/* To float, exactly; NaNs become quiet. Denormals are made by a subtraction of normal numbers, which no mode can flush.
 */
VECTOR_INLINE float half_widen(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16, magnitude = (half & 0x7fff) << 13;
  const uint32_t normal = magnitude + (112U << 23);
  const uint32_t denormal = bits_of_float(float_of_bits(magnitude + (113U << 23)) - 0x1p-14F);
  const uint32_t special = magnitude > 31U << 23 ? 0x7fc00000 | magnitude : 0x7f800000;
  uint32_t result = magnitude < 1U << 23 ? denormal : normal;
  result = magnitude >= 31U << 23 ? special : result;
  return float_of_bits(sign | result);
}

/* From float, rounding as `round` says: up where what is cut off, with one more if the rest is odd, exceeds the middle
 * (to nearest) or nothing (away from zero). */
VECTOR_INLINE uint16_t half_narrow(uint32_t round, float a) {
  const uint32_t bits = bits_of_float(a), sign = bits >> 31, magnitude = bits & 0x7fffffff;
  const int32_t exponent = (int32_t)(magnitude >> 23);
  const uint32_t full = (magnitude & 0x7fffff) | (uint32_t)(exponent != 0) << 23;
  const uint32_t base = (uint32_t)(exponent > 113 ? exponent - 113 : 0)
                        << 10; /* without the leading one, which `full` adds */
  const int32_t wide = exponent < 113 ? 126 - exponent : 13;
  const uint32_t shift = (uint32_t)(wide < 31 ? wide : 31);
  const uint32_t kept = full >> shift, rest = full & ((1U << shift) - 1), middle = 1U << (shift - 1);
  const uint32_t nearest = round == HALF_NEAREST, upward = round == HALF_UP, downward = round == HALF_DOWN;
  const uint32_t may = nearest | (upward & (sign ^ 1)) | (downward & sign);
  const uint32_t up = (uint32_t)(rest + (kept & nearest) > (middle & (0 - nearest))) & may;
  const uint32_t rounded = base + kept + up, most = 0x7bff + may;
  const uint32_t finite = rounded < most ? rounded : most;
  const uint32_t special = 0x7c00 | (magnitude >> 13 & 0x3ff) | (uint32_t)(magnitude > 0x7f800000) << 9;
  return (uint16_t)(sign << 15 | bits_select(magnitude >= 0x7f800000, special, finite));
}

/* From an exact double, rounding once: to odd in float first. */
VECTOR_INLINE uint16_t half_narrow_double(uint32_t round, double a) {
  const float near = (float)a;
  const double wide = (double)near;
  const uint32_t bits = bits_of_float(near);
  const uint32_t inward = double_absolute(a) < double_absolute(wide);
  const uint32_t adjust = (wide != a) & float_is_finite(near) & ~bits & 1;
  return half_narrow(round, float_of_bits(bits + adjust - 2 * (adjust & inward)));
}

VECTOR_INLINE bool half_is_nan(uint32_t a) { return (a & 0x7fff) > 0x7c00; }
VECTOR_INLINE bool half_is_signalling(uint32_t a) { return ((a & 0x7fff) > 0x7c00) & !(a & 0x200); }

/* As float_class. */
VECTOR_INLINE uint32_t half_class(uint32_t a) {
  const uint32_t magnitude = a & 0x7fff;
  const bool negative = (a & 0x8000) != 0;
  uint32_t result = negative ? 1 << 3 : 1 << 8;
  result = magnitude < 0x0400 ? (negative ? 1 << 4 : 1 << 7) : result;
  result = magnitude == 0 ? (negative ? 1 << 5 : 1 << 6) : result;
  result = magnitude == 0x7c00 ? (negative ? 1 << 2 : 1 << 9) : result;
  result = magnitude > 0x7c00 ? (magnitude < 0x7e00 ? 1 << 0 : 1 << 1) : result;
  return result;
}

/* MODE bit 6 allows denormal sources, bit 7 denormal results. */
VECTOR_INLINE uint32_t half_flush(bool keep, uint32_t a) {
  return a & (0x8000 | (0 - (uint32_t)(keep | ((a & 0x7c00) != 0))));
}
VECTOR_INLINE float half_source(uint32_t mode, uint32_t a) { return half_widen(half_flush(mode >> 6 & 1, a)); }
VECTOR_INLINE uint16_t half_result(uint32_t mode, float a) {
  return (uint16_t)half_flush(mode >> 7 & 1, half_narrow(half_mode(mode), a));
}
VECTOR_INLINE uint16_t half_result_double(uint32_t mode, double a) {
  return (uint16_t)half_flush(mode >> 7 & 1, half_narrow_double(half_mode(mode), a));
}

/* Sums and products of halves are exact in double; those of both together may have 64 bits, so they are rounded to odd.
 */
VECTOR_INLINE uint16_t half_add(uint32_t mode, uint32_t a, uint32_t b) {
  return half_result_double(mode, (double)half_source(mode, a) + (double)half_source(mode, b));
}
VECTOR_INLINE uint16_t half_multiply(uint32_t mode, uint32_t a, uint32_t b) {
  return half_result(mode, half_source(mode, a) * half_source(mode, b));
}
VECTOR_INLINE uint16_t half_fma(uint32_t mode, uint32_t a, uint32_t b, uint32_t c) {
  const double sum = float_fma_odd(half_source(mode, a), half_source(mode, b), half_source(mode, c));
  return half_result_double(mode, sum);
}
VECTOR_INLINE uint32_t half_negate(uint32_t a) { return a ^ 0x8000; }

/* Halves order as their floats do; the winner's bits are kept. */
VECTOR_INLINE uint16_t half_prefer_number(uint32_t mode, uint32_t a, uint32_t b, uint32_t result) {
  const bool ieee = (mode & MODE_IEEE) != 0;
  uint32_t value = bits_select(half_is_nan(b), a, result);
  value = bits_select(half_is_nan(a), b, value);
  value = bits_select(ieee & half_is_signalling(b), b | 0x200, value);
  value = bits_select(ieee & half_is_signalling(a), a | 0x200, value);
  return (uint16_t)value;
}
/* As an integer that orders as the half does, -0 below +0. */
VECTOR_INLINE int32_t half_order(uint32_t a) {
  const int32_t magnitude = (int32_t)(a & 0x7fff);
  return magnitude ^ (0 - (int32_t)(a >> 15 & 1));
}
VECTOR_INLINE uint16_t half_min(uint32_t mode, uint32_t first, uint32_t second) {
  const uint32_t a = half_flush(mode >> 6 & 1, first), b = half_flush(mode >> 6 & 1, second);
  return half_prefer_number(mode, a, b, half_order(a) < half_order(b) ? a : b);
}
VECTOR_INLINE uint16_t half_max(uint32_t mode, uint32_t first, uint32_t second) {
  const uint32_t a = half_flush(mode >> 6 & 1, first), b = half_flush(mode >> 6 & 1, second);
  return half_prefer_number(mode, a, b, half_order(a) > half_order(b) ? a : b);
}
VECTOR_INLINE uint16_t half_min3(uint32_t mode, uint32_t a, uint32_t b, uint32_t c) {
  return half_min(mode, half_min(mode, a, b), c);
}
VECTOR_INLINE uint16_t half_max3(uint32_t mode, uint32_t a, uint32_t b, uint32_t c) {
  return half_max(mode, half_max(mode, a, b), c);
}
VECTOR_INLINE uint16_t half_med3(uint32_t mode, uint32_t a, uint32_t b, uint32_t c) {
  const float greatest = half_widen(half_max3(mode, a, b, c));
  const uint16_t without_a = half_max(mode, b, c), without_b = half_max(mode, a, c), without_c = half_max(mode, a, b);
  const uint32_t median =
      bits_select(greatest == half_widen(a), without_a, bits_select(greatest == half_widen(b), without_b, without_c));
  const bool number = !(half_is_nan(a) | half_is_nan(b) | half_is_nan(c));
  return (uint16_t)bits_select(number, median, half_min3(mode, a, b, c));
}

/* The square root of a denormal half is far from float's denormals, so these flush nothing by themselves. */
VECTOR_INLINE uint16_t half_rcp(uint32_t mode, uint32_t a) { return half_result(mode, 1.0F / half_source(mode, a)); }
VECTOR_INLINE uint16_t half_sqrt(uint32_t mode, uint32_t a) {
  return half_result(mode, __builtin_sqrtf(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_rsq(uint32_t mode, uint32_t a) {
  return half_result(mode, 1.0F / __builtin_sqrtf(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_exp(uint32_t mode, uint32_t a) {
  return half_result(mode, float_exp(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_log(uint32_t mode, uint32_t a) {
  return half_result(mode, float_log(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_sin(uint32_t mode, uint32_t a) {
  return half_result(mode, float_sin(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_cos(uint32_t mode, uint32_t a) {
  return half_result(mode, float_cos(half_source(mode, a)));
}

VECTOR_INLINE uint16_t half_floor(uint32_t mode, uint32_t a) {
  return half_result(mode, float_floor(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_ceil(uint32_t mode, uint32_t a) {
  return half_result(mode, float_ceil(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_trunc(uint32_t mode, uint32_t a) {
  return half_result(mode, float_trunc(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_rndne(uint32_t mode, uint32_t a) {
  return half_result(mode, float_rndne(half_source(mode, a)));
}
VECTOR_INLINE uint16_t half_fract(uint32_t mode, uint32_t a) {
  const float value = half_source(mode, a), rest = value - float_floor(value);
  return half_result(mode, rest > 0x1.ffcp-1F ? 0x1.ffcp-1F : rest);
}

VECTOR_INLINE uint16_t half_ldexp(uint32_t mode, uint32_t a, int32_t power) {
  const int32_t low = power < -60 ? -60 : power, limited = low > 60 ? 60 : low;
  return half_result(mode, half_source(mode, a) * float_of_bits((uint32_t)(limited + 127) << 23));
}
VECTOR_INLINE uint16_t half_frexp_mantissa(uint32_t mode, uint32_t a) {
  return half_result(mode, float_frexp_mantissa(half_source(mode, a)));
}
VECTOR_INLINE int16_t half_frexp_exponent(uint32_t mode, uint32_t a) {
  return (int16_t)float_frexp_exponent(half_source(mode, a));
}

VECTOR_INLINE uint16_t half_div_fixup(uint32_t quotient, uint32_t d, uint32_t n) {
  const uint32_t sign = (d ^ n) & 0x8000, under = d & 0x7fff, over = n & 0x7fff;
  uint32_t magnitude = quotient & 0x7fff;
  magnitude = under == 0x7c00 || over == 0 ? 0 : magnitude;
  magnitude = over == 0x7c00 || under == 0 ? 0x7c00 : magnitude;
  const bool invalid = (under == 0 && over == 0) || (under == 0x7c00 && over == 0x7c00);
  uint32_t result = invalid ? 0xfe00 : sign | magnitude;
  result = half_is_nan(d) ? d | 0x200 : result;
  return (uint16_t)(half_is_nan(n) ? n | 0x200 : result);
}

/* Two halves in a register. */
VECTOR_INLINE uint32_t half_low(uint32_t pair) { return pair & 0xffff; }
VECTOR_INLINE uint32_t half_high(uint32_t pair) { return pair >> 16; }
VECTOR_INLINE uint32_t half_pair(uint32_t low, uint32_t high) { return low | high << 16; }

/* v_dot2_f32_f16: the products are exact, the sum is rounded in double, then to float. */
VECTOR_INLINE float half_dot2(uint32_t a, uint32_t b, float c) {
  const double low = (double)half_widen(half_low(a)) * (double)half_widen(half_low(b));
  const double high = (double)half_widen(half_high(a)) * (double)half_widen(half_high(b));
  return (float)(low + high + (double)c);
}

#endif
