/* Division as compilers expand it: v_div_scale, v_div_fmas, v_div_fixup, in single and double precision.
 *
 * The quotient of numerator n and denominator d is found from r = v_rcp of the scaled d by fused multiply-adds, whose
 * intermediate values must neither overflow nor lose bits. v_div_scale moves n and d by 2^64 (2^128) where that could
 * be, and says in VCC when the quotient itself is moved; v_div_fmas moves it back, rounding once; v_div_fixup puts in
 * what is not a finite quotient.
 *
 * The ISA document's text scales a denominator above 2^126 up when the quotient is denormal too, which would overflow;
 * here it is scaled down, which the direction in v_div_fmas (by the quotient's exponent) makes right. A quotient so
 * small that it rounds to zero counts as denormal. Numerator and denominator tell every special quotient, so one that
 * comes to v_div_fixup as a NaN only says that the refinement overflowed, because the quotient did. */
#ifndef HRX_GPU_SOFT_VECTOR_DIVIDE_MATH_H
#define HRX_GPU_SOFT_VECTOR_DIVIDE_MATH_H

#include "gpu/soft/vector/double_math.h"
#include "gpu/soft/vector/float_math.h"

/* --- single precision --- */

/* Why a quotient needs scaling. */
VECTOR_INLINE bool float_quotient_huge(float d, float n) { return float_exponent(n) - float_exponent(d) >= 96; }
/* |n / d| < 2^-126, without a product that could be rounded where it matters. */
VECTOR_INLINE bool float_quotient_denormal(float d, float n) {
  return float_absolute(n) * 0x1p64F < float_absolute(d) * 0x1p-62F;
}
VECTOR_INLINE bool float_reciprocal_denormal(float d) { return (float_absolute(d) > 0x1p126F) & float_is_finite(d); }

/* v_div_scale_f32's VCC. */
VECTOR_INLINE bool float_div_scale_flag(float d, float n) {
  const bool zero = (d == 0) | (n == 0), huge = float_quotient_huge(d, n);
  const bool denormal = (float_exponent(d) != 0) & float_quotient_denormal(d, n);
  return (zero ? false : huge | denormal);
}

/* v_div_scale_f32 of `source`, which is d or n. */
VECTOR_INLINE float float_div_scale(float source, float d, float n) {
  const bool is_d = source == d, is_n = source == n;
  const bool quotient = float_quotient_denormal(d, n), reciprocal = float_reciprocal_denormal(d);
  /* the last that holds is the first in the document's list */
  float factor = float_exponent(n) <= 23 ? 0x1p64F : 1.0F;
  factor = quotient ? (is_n ? 0x1p64F : 1.0F) : factor;
  factor = reciprocal ? 0x1p-64F : factor;
  factor = quotient & reciprocal ? (is_d ? 0x1p-64F : 1.0F) : factor;
  factor = float_exponent(d) == 0 ? 0x1p64F : factor;
  factor = float_quotient_huge(d, n) ? (is_d ? 0x1p64F : 1.0F) : factor;
  return (d == 0) | (n == 0) ? float_of_bits(0x7fc00000) : source * factor;
}

/* v_div_fmas_f32 where VCC is set. */
VECTOR_INLINE float float_div_fmas_scaled(float a, float b, float c) {
  return (float)(float_fma_odd(a, b, c) * (float_exponent(c) > 127 ? 0x1p64 : 0x1p-64));
}

VECTOR_INLINE float float_div_fixup(float quotient, float d, float n) {
  const uint32_t sign = (bits_of_float(d) ^ bits_of_float(n)) & 0x80000000;
  const bool d_infinite = float_absolute(d) == INFINITY, n_infinite = float_absolute(n) == INFINITY;
  uint32_t magnitude = bits_of_float(quotient) & 0x7fffffff;
  magnitude = magnitude > 0x7f800000 ? 0x7f800000 : magnitude;
  magnitude = float_exponent(n) - float_exponent(d) < -150 ? 0 : magnitude;
  magnitude = d_infinite | (n == 0) ? 0 : magnitude;
  magnitude = n_infinite | (d == 0) ? 0x7f800000 : magnitude;
  const bool invalid = ((d == 0) & (n == 0)) | (d_infinite & n_infinite);
  float result = invalid ? float_of_bits(0xffc00000) : float_of_bits(sign | magnitude);
  result = float_is_nan(d) ? float_quiet(d) : result;
  return float_is_nan(n) ? float_quiet(n) : result;
}

/* --- double precision --- */

VECTOR_INLINE bool double_quotient_huge(double d, double n) { return double_exponent(n) - double_exponent(d) >= 768; }
/* |n / d| < 2^-1022, without a product that could be rounded where it matters. */
VECTOR_INLINE bool double_quotient_denormal(double d, double n) {
  return double_absolute(n) * 0x1p512 < double_absolute(d) * 0x1p-510;
}
VECTOR_INLINE bool double_reciprocal_denormal(double d) {
  return (double_absolute(d) > 0x1p1022) & double_is_finite(d);
}

VECTOR_INLINE bool double_div_scale_flag(double d, double n) {
  const bool zero = (d == 0) | (n == 0), huge = double_quotient_huge(d, n);
  const bool denormal = (double_exponent(d) != 0) & double_quotient_denormal(d, n);
  return (zero ? false : huge | denormal);
}

VECTOR_INLINE double double_div_scale(double source, double d, double n) {
  const bool is_d = source == d, is_n = source == n;
  const bool quotient = double_quotient_denormal(d, n), reciprocal = double_reciprocal_denormal(d);
  double factor = double_exponent(n) <= 53 ? 0x1p128 : 1.0;
  factor = quotient ? (is_n ? 0x1p128 : 1.0) : factor;
  factor = reciprocal ? 0x1p-128 : factor;
  factor = quotient & reciprocal ? (is_d ? 0x1p-128 : 1.0) : factor;
  factor = double_exponent(d) == 0 ? 0x1p128 : factor;
  factor = double_quotient_huge(d, n) ? (is_d ? 0x1p128 : 1.0) : factor;
  return (d == 0) | (n == 0) ? double_of_bits(0x7ff8000000000000) : source * factor;
}

/* v_div_fmas_f64 where VCC is set. A denormal result has fewer bits than the sum and must not be rounded twice: adding
 * `anchor`, whose last place is the result's, splits c at that place; what is left decides the rounding together with
 * the product. */
VECTOR_INLINE double double_div_fmas_scaled(double a, double b, double c) {
  const double anchor = double_signed(0x1p-894, c); /* last place up to its double: 2^-946 */
  const double high = c + anchor, part = high - anchor, low = c - part;
  const double small = (high + double_fma(a, b, low)) - anchor;
  const double plain = double_fma(a, b, c);
  const double scaled = double_absolute(plain) < 0x1p-894 ? small : plain;
  return scaled * (double_exponent(c) > 1023 ? 0x1p128 : 0x1p-128);
}

VECTOR_INLINE double double_div_fixup(double quotient, double d, double n) {
  const uint64_t sign = (bits_of_double(d) ^ bits_of_double(n)) & 0x8000000000000000;
  const bool d_infinite = double_absolute(d) == INFINITY, n_infinite = double_absolute(n) == INFINITY;
  uint64_t magnitude = bits_of_double(quotient) & 0x7fffffffffffffff;
  magnitude = magnitude > 0x7ff0000000000000 ? 0x7ff0000000000000 : magnitude;
  magnitude = double_exponent(n) - double_exponent(d) < -1075 ? 0 : magnitude;
  magnitude = d_infinite | (n == 0) ? 0 : magnitude;
  magnitude = n_infinite | (d == 0) ? 0x7ff0000000000000 : magnitude;
  const bool invalid = ((d == 0) & (n == 0)) | (d_infinite & n_infinite);
  double result = invalid ? double_of_bits(0xfff8000000000000) : double_of_bits(sign | magnitude);
  result = double_is_nan(d) ? double_quiet(d) : result;
  return double_is_nan(n) ? double_quiet(n) : result;
}

#endif
