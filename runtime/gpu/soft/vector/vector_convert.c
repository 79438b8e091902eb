/* Conversions between the number formats. */
#include "gpu/soft/vector/convert_math.h"
#include "gpu/soft/vector/vector.h"

#define OPERATIONS(X)                                                                                                  \
  X(HOT1, v_cvt_f32_i32, f32, i32, d = (float)a)                                                                       \
  X(HOT1, v_cvt_f32_u32, f32, u32, d = (float)a)                                                                       \
  X(PLAIN1, v_cvt_i32_f32, i32, f32, d = i32_of_float(a))                                                              \
  X(PLAIN1, v_cvt_u32_f32, u32, f32, d = u32_of_float(a))                                                              \
  X(PLAIN1, v_cvt_flr_i32_f32, i32, f32, d = i32_of_floor(a))                                                          \
  X(PLAIN1, v_cvt_rpi_i32_f32, i32, f32, d = i32_of_nearest(a))                                                        \
  X(PLAIN1, v_cvt_f64_i32, f64, i32, d = (double)a)                                                                    \
  X(PLAIN1, v_cvt_f64_u32, f64, u32, d = (double)a)                                                                    \
  X(PLAIN1, v_cvt_i32_f64, i32, f64, d = i32_of_double(a))                                                             \
  X(PLAIN1, v_cvt_u32_f64, u32, f64, d = u32_of_double(a))                                                             \
  X(PLAIN1, v_cvt_f64_f32, f64, f32, d = (double)a)                                                                    \
  X(PLAIN1, v_cvt_f32_f64, f32, f64, d = (float)a)                                                                     \
  X(PLAIN1, v_cvt_f32_ubyte0, f32, u32, d = (float)(int32_t)(a & 0xff))                                                \
  X(PLAIN1, v_cvt_f32_ubyte1, f32, u32, d = (float)(int32_t)(a >> 8 & 0xff))                                           \
  X(PLAIN1, v_cvt_f32_ubyte2, f32, u32, d = (float)(int32_t)(a >> 16 & 0xff))                                          \
  X(PLAIN1, v_cvt_f32_ubyte3, f32, u32, d = (float)(int32_t)(a >> 24))                                                 \
  X(PLAIN1, v_cvt_off_f32_i4, f32, u32, d = float_of_offset(a))                                                        \
  X(PLAIN1, v_cvt_f32_f16, f32, h16, d = half_source(mode, a))                                                         \
  X(PLAIN1, v_cvt_f16_f32, h16, f32, d = half_result(mode, a))                                                         \
  X(PLAIN1, v_cvt_f16_u16, h16, u16, d = half_result(mode, (float)a))                                                  \
  X(PLAIN1, v_cvt_f16_i16, h16, i16, d = half_result(mode, (float)a))                                                  \
  X(PLAIN1, v_cvt_u16_f16, u16, h16, d = u16_of_half(a))                                                               \
  X(PLAIN1, v_cvt_i16_f16, i16, h16, d = i16_of_half(a))                                                               \
  X(PLAIN1, v_cvt_norm_i16_f16, i16, h16, d = (int16_t)snorm_of_float(half_widen(a)))                                  \
  X(PLAIN1, v_cvt_norm_u16_f16, u16, h16, d = (uint16_t)unorm_of_float(half_widen(a)))                                 \
  X(PLAIN2, v_cvt_pkrtz_f16_f32, u32, f32, f32, d = half_pair(half_narrow(HALF_ZERO, a), half_narrow(HALF_ZERO, b)))   \
  X(PLAIN2, v_cvt_pknorm_i16_f32, u32, f32, f32, d = half_pair(snorm_of_float(a), snorm_of_float(b)))                  \
  X(PLAIN2, v_cvt_pknorm_u16_f32, u32, f32, f32, d = half_pair(unorm_of_float(a), unorm_of_float(b)))                  \
  X(PLAIN2, v_cvt_pknorm_i16_f16, u32, h16, h16,                                                                       \
    d = half_pair(snorm_of_float(half_widen(a)), snorm_of_float(half_widen(b))))                                       \
  X(PLAIN2, v_cvt_pknorm_u16_f16, u32, h16, h16,                                                                       \
    d = half_pair(unorm_of_float(half_widen(a)), unorm_of_float(half_widen(b))))                                       \
  X(PLAIN3, v_cvt_pk_u8_f32, u32, f32, u32, u32, d = byte_insert(a, b, c))                                             \
  X(PLAIN2, v_cvt_pk_i16_i32, u32, i32, i32, d = half_pair(i16_saturate(a), i16_saturate(b)))                          \
  X(PLAIN2, v_cvt_pk_u16_u32, u32, u32, u32, d = half_pair(u16_saturate(a), u16_saturate(b)))                          \
  X(PLAIN1, v_sat_pk_u8_i16, u16, u32, d = (uint16_t)(u8_saturate((int16_t)a) | u8_saturate((int32_t)a >> 16) << 8))

OPERATIONS(VECTOR_DEFINE)
VECTOR_TABLE(vector_convert, OPERATIONS)
