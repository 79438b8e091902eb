/* What double-precision instructions mean, one lane at a time. As float_math.h; sources and rules are the same, but
 * hardware keeps denormals in all of these. Reciprocal and square roots are seeds that compilers refine; here they have
 * full precision already. */
#ifndef HRX_GPU_SOFT_VECTOR_DOUBLE_MATH_H
#define HRX_GPU_SOFT_VECTOR_DOUBLE_MATH_H

#include "gpu/soft/vector/float_math.h"

VECTOR_INLINE double double_absolute(double a) { return double_of_bits(bits_of_double(a) & 0x7fffffffffffffff); }
VECTOR_INLINE double double_signed(double magnitude, double sign) {
  return double_of_bits((bits_of_double(magnitude) & 0x7fffffffffffffff) | (bits_of_double(sign) & 0x8000000000000000));
}
VECTOR_INLINE bool double_is_nan(double a) { return a != a; }
VECTOR_INLINE bool double_is_finite(double a) { return double_absolute(a) < INFINITY; }
VECTOR_INLINE bool double_is_signalling(double a) {
  return double_is_nan(a) & !(bits_of_double(a) & 0x0008000000000000);
}
VECTOR_INLINE double double_quiet(double a) { return double_of_bits(bits_of_double(a) | 0x0008000000000000); }
VECTOR_INLINE int32_t double_exponent(double a) { return (int32_t)(bits_of_double(a) >> 52 & 2047); }

/* As float_class. */
VECTOR_INLINE uint32_t double_class(double a) {
  const uint64_t bits = bits_of_double(a), magnitude = bits & 0x7fffffffffffffff;
  const bool negative = bits >> 63;
  uint32_t result = negative ? 1 << 3 : 1 << 8;
  result = magnitude < 0x0010000000000000 ? (negative ? 1 << 4 : 1 << 7) : result;
  result = magnitude == 0 ? (negative ? 1 << 5 : 1 << 6) : result;
  result = magnitude == 0x7ff0000000000000 ? (negative ? 1 << 2 : 1 << 9) : result;
  result = magnitude > 0x7ff0000000000000 ? (magnitude < 0x7ff8000000000000 ? 1 << 0 : 1 << 1) : result;
  return result;
}

/* Without FMA in the instruction set this is libm's, which is exact. */
VECTOR_INLINE double double_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

VECTOR_INLINE double double_select(bool which, double yes, double no) {
  const uint64_t mask = 0 - (uint64_t)which;
  return double_of_bits((bits_of_double(yes) & mask) | (bits_of_double(no) & ~mask));
}
VECTOR_INLINE double double_prefer_number(uint32_t mode, double a, double b, double result) {
  const bool ieee = (mode & MODE_IEEE) != 0;
  double value = double_select(double_is_nan(b), a, result);
  value = double_select(double_is_nan(a), b, value);
  value = double_select(ieee & double_is_signalling(b), double_quiet(b), value);
  return double_select(ieee & double_is_signalling(a), double_quiet(a), value);
}
VECTOR_INLINE double double_min(uint32_t mode, double a, double b) {
  const double less = double_select(a < b, a, b);
  const double result = double_select(a == b, double_of_bits(bits_of_double(a) | bits_of_double(b)), less);
  return double_prefer_number(mode, a, b, result);
}
VECTOR_INLINE double double_max(uint32_t mode, double a, double b) {
  const double greater = double_select(a > b, a, b);
  const double result = double_select(a == b, double_of_bits(bits_of_double(a) & bits_of_double(b)), greater);
  return double_prefer_number(mode, a, b, result);
}

/* Adding and taking away 2^52 leaves a whole number next to |a|, whatever the rounding mode; one too many is put right.
 */
VECTOR_INLINE double double_trunc(double a) {
#ifdef __SSE4_1__
  return __builtin_trunc(a);
#else
  const double magnitude = double_absolute(a);
  const double near = (magnitude + 0x1p52) - 0x1p52;
  const double whole = double_signed(near > magnitude ? near - 1 : near, a);
  return magnitude < 0x1p52 ? whole : double_is_nan(a) ? double_quiet(a) : a;
#endif
}
VECTOR_INLINE double double_floor(double a) {
#ifdef __SSE4_1__
  return __builtin_floor(a);
#else
  const double whole = double_trunc(a);
  return whole > a ? whole - 1 : whole;
#endif
}
VECTOR_INLINE double double_ceil(double a) {
#ifdef __SSE4_1__
  return __builtin_ceil(a);
#else
  const double whole = double_trunc(a);
  return whole < a ? double_signed(whole + 1, a) : whole;
#endif
}
VECTOR_INLINE double double_rndne(double a) {
  const double whole = double_trunc(a), rest = double_absolute(a - whole);
  const bool odd = double_trunc(whole * 0.5) * 2 != whole; /* from 2^53 on no rest is left to round */
  const bool up = (rest > 0.5) | ((rest == 0.5) & odd);
  return up ? whole + double_signed(1, a) : whole;
}
VECTOR_INLINE double double_fract(double a) {
  const double rest = a - double_floor(a);
  return rest > 0x1.fffffffffffffp-1 ? 0x1.fffffffffffffp-1 : rest;
}

VECTOR_INLINE double double_power_of_two(int32_t power) {
  return double_of_bits((uint64_t)(int64_t)(power + 1023) << 52);
}

/* a * 2^power, rounded once: steps down leave 53 bits of room above the denormals, so only the last one can round. */
VECTOR_INLINE double double_ldexp(double a, int32_t power) {
  const int32_t low = power < -2200 ? -2200 : power, limited = low > 2200 ? 2200 : low;
  int32_t rest = limited;
  double value = a;
  for (int step = 0; step < 2; step++) {
    const int32_t taken = rest > 1023 ? 1023 : rest < -1022 ? -969 : 0;
    value *= double_power_of_two(taken);
    rest -= taken;
  }
  rest = rest < -1022 ? -1022 : rest > 1023 ? 1023 : rest;
  return value * double_power_of_two(rest);
}

VECTOR_INLINE double double_frexp_mantissa(double a) {
  const double normal = double_exponent(a) == 0 ? a * 0x1p64 : a;
  const double mantissa = double_of_bits((bits_of_double(normal) & 0x800fffffffffffff) | 0x3fe0000000000000);
  return (a == 0) | !double_is_finite(a) ? (double_is_nan(a) ? double_quiet(a) : a) : mantissa;
}
VECTOR_INLINE int32_t double_frexp_exponent(double a) {
  const bool denormal = double_exponent(a) == 0;
  const int32_t exponent = double_exponent(denormal ? a * 0x1p64 : a) - 1022 - (denormal ? 64 : 0);
  return (a == 0) | !double_is_finite(a) ? 0 : exponent;
}

VECTOR_INLINE double double_rcp(double a) { return 1.0 / a; }
VECTOR_INLINE double double_sqrt(double a) { return __builtin_sqrt(a); }
VECTOR_INLINE double double_rsq(double a) { return 1.0 / __builtin_sqrt(a); }

/* 53 bits of 2 / pi from bit `segment` * 53 on, further down for exponents above 1077, at their place, times 2^128 for
 * exponents of 1968 and up: argument reduction of large angles. */
VECTOR_INLINE double double_trig_preop(double a, uint32_t segment) {
  /* 2 / pi in binary, 1201 places as the hardware's table; more are 0 */
  static const uint64_t bits[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                                  0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                  0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                                  0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                                  0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};
  enum { WORDS = sizeof bits / sizeof bits[0] };
  const int32_t exponent = double_exponent(a);
  const uint32_t shift = (segment & 31) * 53 + (exponent > 1077 ? (uint32_t)(exponent - 1077) : 0);
  const uint32_t word = shift / 64, bit = shift % 64;
  const uint64_t first = word < WORDS ? bits[word] : 0, second = word + 1 < WORDS ? bits[word + 1] : 0;
  const uint64_t window = bit == 0 ? first : first << bit | second >> (64 - bit);
  const int32_t scale = -53 - (int32_t)shift + (exponent >= 1968 ? 128 : 0);
  return double_ldexp((double)(int64_t)(window >> 11), scale);
}

#endif
