/* What conversions mean, one lane at a time: to integers they cut off, saturate, and give 0 for NaN, unless said
 * otherwise. */
#ifndef HRX_GPU_SOFT_VECTOR_CONVERT_MATH_H
#define HRX_GPU_SOFT_VECTOR_CONVERT_MATH_H

#include "gpu/soft/vector/half_math.h"

VECTOR_INLINE int32_t i32_of_float(float a) {
  const bool inside = (a >= -0x1p31F) & (a < 0x1p31F);
  const int32_t whole = (int32_t)(inside ? a : 0);
  return inside ? whole : a > 0 ? INT32_MAX : a < 0 ? INT32_MIN : 0;
}
/* CPUs before AVX-512 have only the signed conversion. */
VECTOR_INLINE uint32_t u32_of_float(float a) {
  const bool high = a >= 0x1p31F, inside = (a > 0) & (a < 0x1p32F);
  const uint32_t whole = (uint32_t)(int32_t)(inside ? (high ? a - 0x1p31F : a) : 0) ^ (high ? 0x80000000 : 0);
  return inside ? whole : a > 0 ? UINT32_MAX : 0;
}
VECTOR_INLINE int32_t i32_of_double(double a) {
  const bool inside = (a > -0x1p31 - 1) & (a < 0x1p31);
  const int32_t whole = (int32_t)(inside ? a : 0);
  return inside ? whole : a > 0 ? INT32_MAX : a < 0 ? INT32_MIN : 0;
}
VECTOR_INLINE uint32_t u32_of_double(double a) {
  const bool high = a >= 0x1p31, inside = (a > 0) & (a < 0x1p32);
  const uint32_t whole = (uint32_t)(int32_t)(inside ? (high ? a - 0x1p31 : a) : 0) ^ (high ? 0x80000000 : 0);
  return inside ? whole : a > 0 ? UINT32_MAX : 0;
}

/* v_cvt_flr_i32_f32 rounds down, v_cvt_rpi_i32_f32 to the nearest, ties up. The sum is exact in double. */
VECTOR_INLINE int32_t i32_of_floor(float a) { return i32_of_float(float_floor(a)); }
VECTOR_INLINE int32_t i32_of_nearest(float a) { return i32_of_double(double_floor((double)a + 0.5)); }

/* v_cvt_off_f32_i4: four bits, signed, in sixteenths. */
VECTOR_INLINE float float_of_offset(uint32_t a) { return (float)((int32_t)(a << 28) >> 28) * 0.0625F; }

/* [-1, 1] to [-32767, 32767] and [0, 1] to [0, 65535], to nearest. */
VECTOR_INLINE uint32_t snorm_of_float(float a) {
  const float low = a > -1 ? a : -1, limited = low < 1 ? low : 1;
  return (uint32_t)(int32_t)float_rndne(float_is_nan(a) ? 0 : limited * 32767.0F) & 0xffff;
}
VECTOR_INLINE uint32_t unorm_of_float(float a) {
  const float low = a > 0 ? a : 0, limited = low < 1 ? low : 1;
  return (uint32_t)(int32_t)float_rndne(limited * 65535.0F);
}

/* v_cvt_pk_u8_f32: puts a byte, saturated, into one of four places. */
VECTOR_INLINE uint32_t byte_insert(float a, uint32_t place, uint32_t into) {
  const float low = a > 0 ? a : 0, limited = low < 255 ? low : 255;
  const uint32_t shift = (place & 3) * 8;
  return (into & ~(0xffU << shift)) | (uint32_t)(int32_t)limited << shift;
}

VECTOR_INLINE uint32_t i16_saturate(int32_t a) {
  const int32_t low = a > INT16_MIN ? a : INT16_MIN;
  return (uint32_t)(low < INT16_MAX ? low : INT16_MAX) & 0xffff;
}
VECTOR_INLINE uint32_t u16_saturate(uint32_t a) { return a < UINT16_MAX ? a : UINT16_MAX; }
VECTOR_INLINE uint32_t u8_saturate(int32_t a) {
  const int32_t low = a > 0 ? a : 0;
  return (uint32_t)(low < UINT8_MAX ? low : UINT8_MAX);
}

VECTOR_INLINE int16_t i16_of_half(uint32_t a) {
  const float value = half_widen(a);
  const float low = value > -32768 ? value : -32768, limited = low < 32767 ? low : 32767;
  return (int16_t)(int32_t)(float_is_nan(value) ? 0 : limited);
}
VECTOR_INLINE uint16_t u16_of_half(uint32_t a) {
  const float value = half_widen(a);
  const float low = value > 0 ? value : 0, limited = low < 65535 ? low : 65535;
  return (uint16_t)(int32_t)limited;
}

#endif
