/* What single-precision instructions mean, one lane at a time.
 *
 * Written for gcc's vectoriser: no calls, no branches but selections, integers of the float's width where possible.
 * Rules are those of the RDNA2 ISA document. Arithmetic takes rounding and flushing of denormals from MXCSR, which the
 * wave's MODE register sets; nothing here changes it. NaNs come out quiet; the sign of a NaN that no source had is the
 * CPU's.
 *
 * Instructions that hardware approximates are exact to 1 ulp. Like hardware, v_rcp, v_rsq, v_sqrt, v_log take a
 * denormal source for zero, and v_rcp and v_exp give zero for a denormal result, whatever MODE says: compilers scale
 * around them. */
#ifndef HRX_GPU_SOFT_VECTOR_FLOAT_MATH_H
#define HRX_GPU_SOFT_VECTOR_FLOAT_MATH_H

#include <math.h>

#include "gpu/soft/vector/lane.h"

enum { MODE_IEEE = 1 << 9, MODE_DENORMALS = 3 << 4 };

static const float FLOAT_NORMAL_MIN = 0x1p-126F;

VECTOR_INLINE float float_absolute(float a) { return float_of_bits(bits_of_float(a) & 0x7fffffff); }
VECTOR_INLINE float float_negate(float a) { return float_of_bits(bits_of_float(a) ^ 0x80000000); }

/* The magnitude of one with the sign of another. */
VECTOR_INLINE float float_signed(float magnitude, float sign) {
  return float_of_bits((bits_of_float(magnitude) & 0x7fffffff) | (bits_of_float(sign) & 0x80000000));
}

VECTOR_INLINE bool float_is_nan(float a) { return (bits_of_float(a) & 0x7fffffff) > 0x7f800000; }
VECTOR_INLINE bool float_is_signalling(float a) {
  const uint32_t magnitude = bits_of_float(a) & 0x7fffffff;
  return (magnitude > 0x7f800000) & (magnitude < 0x7fc00000);
}
VECTOR_INLINE float float_quiet(float a) { return float_of_bits(bits_of_float(a) | 0x400000); }

/* Biased exponent. */
VECTOR_INLINE int32_t float_exponent(float a) { return (int32_t)(bits_of_float(a) >> 23 & 255); }

/* Choices by mask: gcc turns ?: on values that depend on each other into branches, and then does not vectorise. */
VECTOR_INLINE uint32_t bits_select(bool which, uint32_t yes, uint32_t no) {
  const uint32_t mask = 0 - (uint32_t)which;
  return (yes & mask) | (no & ~mask);
}
VECTOR_INLINE float float_select(bool which, float yes, float no) {
  return float_of_bits(bits_select(which, bits_of_float(yes), bits_of_float(no)));
}

VECTOR_INLINE float float_flush(float a) {
  const uint32_t bits = bits_of_float(a), keep = 0 - (uint32_t)((bits & 0x7fffffff) >= 0x00800000);
  return float_of_bits(bits & (keep | 0x80000000));
}

/* v_cmp_class: exactly one bit set. 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7
 * +denormal, 8 +normal, 9 +inf. */
VECTOR_INLINE uint32_t float_class(float a) {
  const uint32_t bits = bits_of_float(a), magnitude = bits & 0x7fffffff;
  const bool negative = bits >> 31;
  uint32_t result = negative ? 1 << 3 : 1 << 8;
  result = magnitude < 0x00800000 ? (negative ? 1 << 4 : 1 << 7) : result;
  result = magnitude == 0 ? (negative ? 1 << 5 : 1 << 6) : result;
  result = magnitude == 0x7f800000 ? (negative ? 1 << 2 : 1 << 9) : result;
  result = magnitude > 0x7f800000 ? (magnitude < 0x7fc00000 ? 1 << 0 : 1 << 1) : result;
  return result;
}

/* --- fused multiply-add --- */

/* a * b + c in double, rounded to odd: rounding that to 24 bits or fewer is as good as rounding the exact value (Boldo
 * and Melquiond, "Emulation of FMA and correctly rounded sums"). The product is exact; the error of the sum is Knuth's.
 */
VECTOR_INLINE double float_fma_odd(float a, float b, float c) {
  const double product = (double)a * (double)b, addend = (double)c;
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const uint64_t bits = bits_of_double(sum);
  const bool finite = (bits & 0x7fffffffffffffff) < 0x7ff0000000000000;
  const uint64_t adjust = finite & (error != 0) & ~(uint32_t)bits & 1;
  const uint64_t inward = (error > 0) != (sum > 0);
  return double_of_bits(bits + adjust - 2 * (adjust & inward));
}

VECTOR_INLINE float float_fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return (float)float_fma_odd(a, b, c);
#endif
}

/* The DX9 rule: 0 times anything is 0. */
VECTOR_INLINE float float_multiply_legacy(float a, float b) { return (a == 0) | (b == 0) ? 0 : a * b; }
VECTOR_INLINE float float_fma_legacy(float a, float b, float c) {
  const bool zero = (a == 0) | (b == 0);
  return float_fma(zero ? 0 : a, zero ? 0 : b, c);
}

/* v_mullit_f32: multiply for specular lighting. */
VECTOR_INLINE float float_mullit(float a, float b, float c) {
  return (b > -0x1.fffffep127F) & (c > 0) ? a * b : -0x1.fffffep127F;
}

/* --- minimum, maximum, median --- */

/* With MODE.IEEE a signalling NaN wins and becomes quiet; otherwise a number wins over a NaN. Denormals are flushed
 * here where MODE says so (bits 5:4), as no arithmetic does it. */
VECTOR_INLINE float float_prefer_number(uint32_t mode, float a, float b, float result) {
  const bool ieee = (mode & MODE_IEEE) != 0, keep = (mode & MODE_DENORMALS) == MODE_DENORMALS;
  float value = float_select(float_is_nan(b), a, result);
  value = float_select(float_is_nan(a), b, value);
  value = float_select(ieee & float_is_signalling(b), float_quiet(b), value);
  value = float_select(ieee & float_is_signalling(a), float_quiet(a), value);
  return float_of_bits(bits_of_float(value) & (0x80000000 | (0 - (uint32_t)(keep | (float_exponent(value) != 0)))));
}

/* -0 is less than +0: for equal operands the signs decide, and all other bits are the same. */
VECTOR_INLINE float float_min_number(float a, float b) {
  const float less = a < b ? a : b;
  return a == b ? float_of_bits(bits_of_float(a) | bits_of_float(b)) : less;
}
VECTOR_INLINE float float_max_number(float a, float b) {
  const float greater = a > b ? a : b;
  return a == b ? float_of_bits(bits_of_float(a) & bits_of_float(b)) : greater;
}
VECTOR_INLINE float float_min(uint32_t mode, float a, float b) {
  return float_prefer_number(mode, a, b, float_min_number(a, b));
}
VECTOR_INLINE float float_max(uint32_t mode, float a, float b) {
  return float_prefer_number(mode, a, b, float_max_number(a, b));
}
VECTOR_INLINE float float_min3(uint32_t mode, float a, float b, float c) {
  return float_min(mode, float_min(mode, a, b), c);
}
VECTOR_INLINE float float_max3(uint32_t mode, float a, float b, float c) {
  return float_max(mode, float_max(mode, a, b), c);
}
VECTOR_INLINE float float_med3(uint32_t mode, float a, float b, float c) {
  const float without_a = float_max_number(b, c), without_b = float_max_number(a, c),
              without_c = float_max_number(a, b);
  const float greatest = float_max_number(without_c, c);
  const float median = float_select(greatest == a, without_a, float_select(greatest == b, without_b, without_c));
  const bool number = !(float_is_nan(a) | float_is_nan(b) | float_is_nan(c));
  return float_select(number, float_prefer_number(mode, median, median, median), float_min3(mode, a, b, c));
}

/* --- to whole numbers --- */

/* From 2^23 on every float is whole; below, it fits an int. Neither depends on the rounding mode. */
VECTOR_INLINE float float_trunc(float a) {
#ifdef __SSE4_1__
  return __builtin_truncf(a);
#else
  const bool small = float_absolute(a) < 0x1p23F;
  const float whole = float_signed((float)(int32_t)(small ? a : 0), a);
  return small ? whole : float_is_nan(a) ? float_quiet(a) : a;
#endif
}
VECTOR_INLINE float float_floor(float a) {
#ifdef __SSE4_1__
  return __builtin_floorf(a);
#else
  const float whole = float_trunc(a);
  return whole > a ? whole - 1 : whole;
#endif
}
VECTOR_INLINE float float_ceil(float a) {
#ifdef __SSE4_1__
  return __builtin_ceilf(a);
#else
  const float whole = float_trunc(a);
  return whole < a ? float_signed(whole + 1, a) : whole;
#endif
}
/* To the nearest, ties to even. */
VECTOR_INLINE float float_rndne(float a) {
  const float whole = float_trunc(a), rest = float_absolute(a - whole);
  const bool odd = float_trunc(whole * 0.5F) * 2 != whole; /* from 2^24 on no rest is left to round */
  const bool up = (rest > 0.5F) | ((rest == 0.5F) & odd);
  return float_select(up, whole + float_signed(1, a), whole);
}
/* Always below 1, though a - floor(a) may round to it. */
VECTOR_INLINE float float_fract(float a) {
  const float rest = a - float_floor(a);
  return rest > 0x1.fffffep-1F ? 0x1.fffffep-1F : rest;
}

/* --- exponents --- */

/* a * 2^power, rounded once: the product is exact in double. */
VECTOR_INLINE float float_ldexp(float a, int32_t power) {
  const int32_t low = power < -300 ? -300 : power, limited = low > 300 ? 300 : low;
  return (float)((double)a * double_of_bits((uint64_t)(int64_t)(limited + 1023) << 52));
}

VECTOR_INLINE bool float_is_finite(float a) { return (bits_of_float(a) & 0x7fffffff) < 0x7f800000; }

/* Mantissa in [0.5, 1) and its power of two; zero, infinity and NaN stay and have power 0. */
VECTOR_INLINE float float_frexp_mantissa(float a) {
  const double wide = (double)a;
  const float mantissa = (float)double_of_bits((bits_of_double(wide) & 0x800fffffffffffff) | 0x3fe0000000000000);
  return float_select((a == 0) | !float_is_finite(a), float_is_nan(a) ? float_quiet(a) : a, mantissa);
}
VECTOR_INLINE int32_t float_frexp_exponent(float a) {
  const double wide = (double)a;
  const int32_t exponent = (int32_t)(bits_of_double(wide) >> 52 & 2047) - 1022;
  return (a == 0) | !float_is_finite(a) ? 0 : exponent;
}

/* --- approximated by hardware --- */

VECTOR_INLINE float float_rcp(float a) { return float_flush(1.0F / float_flush(a)); }

VECTOR_INLINE float float_sqrt(float a) { return __builtin_sqrtf(float_flush(a)); }

/* One step of Newton's method on the rounded quotient, with the residue 1 - a * y * y computed to twice the precision.
 */
VECTOR_INLINE float float_rsq(float a) {
  const float source = float_flush(a);
  const float y = 1.0F / __builtin_sqrtf(source);
  const float high = source * y, low = float_fma(source, y, -high);
  const float residue = float_fma(-low, y, float_fma(-high, y, 1.0F));
  const float better = float_fma(0.5F * y, residue, y);
  return float_select((source > 0) & float_is_finite(source), better, y);
}

/* 2^a. The fraction's polynomial (degree 6, minimax on [-1/2, 1/2]) is within 1.9e-9. */
VECTOR_INLINE float float_exp2(float a) {
  const float low = a < -200 ? -200 : a, limited = low > 200 ? 200 : low;
  const float whole = float_rndne(float_is_nan(a) ? 0 : limited);
  const double f = (double)(limited - whole);
  double p = 0x1.41d3071eaa6a2p-13;
  p = p * f + 0x1.5f456822c9409p-10;
  p = p * f + 0x1.3b2dbbfa154dcp-7;
  p = p * f + 0x1.c6aed4bfc5a3ep-5;
  p = p * f + 0x1.ebfbdadc831e6p-3;
  p = p * f + 0x1.62e430c7e3e71p-1;
  p = p * f + 0x1.0000000261401p+0;
  const double power = double_of_bits((uint64_t)(int64_t)((int32_t)whole + 1023) << 52);
  const float result = (float)(p * power);
  return float_is_nan(a) ? float_quiet(a) : result;
}
VECTOR_INLINE float float_exp(float a) { return float_flush(float_exp2(a)); }

/* log2(a) of normal numbers. a = 2^whole * (1 + t) with 1 + t in [sqrt(1/2), sqrt(2)); log2(1 + t) / t is a polynomial
 * of degree 10 within 6.5e-10. */
VECTOR_INLINE float float_log(float a) {
  const uint32_t bits = bits_of_float(a);
  const int32_t whole = (int32_t)(bits - 0x3f3504f3) >> 23;
  const double t = (double)float_of_bits(bits - ((uint32_t)whole << 23)) - 1.0;
  double p = 0x1.8d776b3d6a37fp-4;
  p = p * t - 0x1.5a3eb93d05d0fp-3;
  p = p * t + 0x1.605edd7326684p-3;
  p = p * t - 0x1.6e6784b6b9101p-3;
  p = p * t + 0x1.a3ede2d43ca5dp-3;
  p = p * t - 0x1.ec7a1549c82e3p-3;
  p = p * t + 0x1.278082e9cc81ap-2;
  p = p * t - 0x1.71549067679b5p-2;
  p = p * t + 0x1.ec707f0cba7a0p-2;
  p = p * t - 0x1.71547629a2ebfp-1;
  p = p * t + 0x1.71547656a12e3p+0;
  const float result = (float)(p * t + (double)whole);
  float special = a < 0 ? float_of_bits(0xffc00000) : a; /* +inf stays */
  special = float_absolute(a) < FLOAT_NORMAL_MIN ? -INFINITY : special;
  special = float_is_nan(a) ? float_quiet(a) : special;
  return (a >= FLOAT_NORMAL_MIN) & float_is_finite(a) ? result : special;
}

/* sin(2 pi r) for r in [-1/4, 1/4]: an odd polynomial, within 2.2e-11 of its value. */
VECTOR_INLINE float float_sine_of_quarter(double r) {
  const double u = r * r;
  double p = -0x1.cc34536c527e7p+3;
  p = p * u + 0x1.500ff7ae56830p+5;
  p = p * u - 0x1.32d111ffe934cp+6;
  p = p * u + 0x1.466bbfc246322p+6;
  p = p * u - 0x1.4abbce4f1a156p+5;
  p = p * u + 0x1.921fb5441e4abp+2;
  return (float)(p * r);
}
/* Of an angle in turns; gfx10 takes any finite one. The fraction of a turn is exact. */
VECTOR_INLINE float float_sin(float a) {
  const double r = (double)(a - float_rndne(a)); /* NaN for infinities */
  const double magnitude = r < 0 ? -r : r;
  const double folded = magnitude > 0.25 ? 0.5 - magnitude : magnitude;
  const float result = float_sine_of_quarter(folded);
  return float_is_nan((float)r) ? (float)r
                                : float_of_bits(bits_of_float(result) | (bits_of_float((float)r) & 0x80000000));
}
VECTOR_INLINE float float_cos(float a) {
  const double r = (double)(a - float_rndne(a));
  const double magnitude = r < 0 ? -r : r;
  const float result = float_sine_of_quarter(0.25 - magnitude);
  return float_is_nan((float)r) ? (float)r : result;
}

/* --- cube maps --- */

VECTOR_INLINE bool cube_is_z(float x, float y, float z) {
  return (float_absolute(z) >= float_absolute(x)) & (float_absolute(z) >= float_absolute(y));
}
VECTOR_INLINE bool cube_is_y(float x, float y) { return float_absolute(y) >= float_absolute(x); }

VECTOR_INLINE float cube_face(float x, float y, float z) {
  const float face_z = z < 0 ? 5 : 4, face_y = y < 0 ? 3 : 2, face_x = x < 0 ? 1 : 0;
  return cube_is_z(x, y, z) ? face_z : cube_is_y(x, y) ? face_y : face_x;
}
VECTOR_INLINE float cube_s(float x, float y, float z) {
  const float on_z = z < 0 ? float_negate(x) : x, on_x = x < 0 ? z : float_negate(z);
  return cube_is_z(x, y, z) ? on_z : cube_is_y(x, y) ? x : on_x;
}
VECTOR_INLINE float cube_t(float x, float y, float z) {
  const float on_y = y < 0 ? float_negate(z) : z;
  return !cube_is_z(x, y, z) & cube_is_y(x, y) ? on_y : float_negate(y);
}
VECTOR_INLINE float cube_major(float x, float y, float z) {
  return 2.0F * (cube_is_z(x, y, z) ? z : cube_is_y(x, y) ? y : x);
}

#endif
