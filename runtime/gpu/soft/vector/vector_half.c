/* Half-precision arithmetic, one or two halves a lane. */
#include "gpu/soft/vector/half_math.h"
#include "gpu/soft/vector/vector.h"

#define BOTH(operation)                                                                                                \
  half_pair(operation(mode, half_low(a), half_low(b)), operation(mode, half_high(a), half_high(b)))
#define BOTH_FMA                                                                                                       \
  half_pair(half_fma(mode, half_low(a), half_low(b), half_low(c)),                                                     \
            half_fma(mode, half_high(a), half_high(b), half_high(c)))

/* v_mad and v_mac round the product (gfx9). */
#define OPERATIONS(X)                                                                                                  \
  X(PLAIN2, v_add_f16, h16, h16, h16, d = half_add(mode, a, b))                                                        \
  X(PLAIN2, v_sub_f16, h16, h16, h16, d = half_add(mode, a, half_negate(b)))                                           \
  X(PLAIN2, v_subrev_f16, h16, h16, h16, d = half_add(mode, b, half_negate(a)))                                        \
  X(PLAIN2, v_mul_f16, h16, h16, h16, d = half_multiply(mode, a, b))                                                   \
  X(PLAIN3, v_fma_f16, h16, h16, h16, h16, d = half_fma(mode, a, b, c))                                                \
  X(ACCUMULATE3, v_fmac_f16, h16, h16, h16, h16, d = half_fma(mode, a, b, c))                                          \
  X(PLAIN3, v_fmaak_f16, h16, h16, h16, h16, d = half_fma(mode, a, b, c))                                              \
  X(PLAIN3, v_fmamk_f16, h16, h16, h16, h16, d = half_fma(mode, a, b, c))                                              \
  X(PLAIN3, v_mad_f16, h16, h16, h16, h16, d = half_add(mode, half_multiply(mode, a, b), c))                           \
  X(ACCUMULATE3, v_mac_f16, h16, h16, h16, h16, d = half_add(mode, half_multiply(mode, a, b), c))                      \
  X(PLAIN2, v_min_f16, h16, h16, h16, d = half_min(mode, a, b))                                                        \
  X(PLAIN2, v_max_f16, h16, h16, h16, d = half_max(mode, a, b))                                                        \
  X(PLAIN3, v_min3_f16, h16, h16, h16, h16, d = half_min3(mode, a, b, c))                                              \
  X(PLAIN3, v_max3_f16, h16, h16, h16, h16, d = half_max3(mode, a, b, c))                                              \
  X(PLAIN3, v_med3_f16, h16, h16, h16, h16, d = half_med3(mode, a, b, c))                                              \
  X(PLAIN1, v_rcp_f16, h16, h16, d = half_rcp(mode, a))                                                                \
  X(PLAIN1, v_rsq_f16, h16, h16, d = half_rsq(mode, a))                                                                \
  X(PLAIN1, v_sqrt_f16, h16, h16, d = half_sqrt(mode, a))                                                              \
  X(PLAIN1, v_exp_f16, h16, h16, d = half_exp(mode, a))                                                                \
  X(PLAIN1, v_log_f16, h16, h16, d = half_log(mode, a))                                                                \
  X(PLAIN1, v_sin_f16, h16, h16, d = half_sin(mode, a))                                                                \
  X(PLAIN1, v_cos_f16, h16, h16, d = half_cos(mode, a))                                                                \
  X(PLAIN1, v_floor_f16, h16, h16, d = half_floor(mode, a))                                                            \
  X(PLAIN1, v_ceil_f16, h16, h16, d = half_ceil(mode, a))                                                              \
  X(PLAIN1, v_trunc_f16, h16, h16, d = half_trunc(mode, a))                                                            \
  X(PLAIN1, v_rndne_f16, h16, h16, d = half_rndne(mode, a))                                                            \
  X(PLAIN1, v_fract_f16, h16, h16, d = half_fract(mode, a))                                                            \
  X(PLAIN2, v_ldexp_f16, h16, h16, i16, d = half_ldexp(mode, a, b))                                                    \
  X(PLAIN1, v_frexp_mant_f16, h16, h16, d = half_frexp_mantissa(mode, a))                                              \
  X(PLAIN1, v_frexp_exp_i16_f16, i16, h16, d = half_frexp_exponent(mode, a))                                           \
  X(PLAIN3, v_div_fixup_f16, h16, h16, h16, h16, d = half_div_fixup(a, b, c))                                          \
  X(PLAIN2, v_pack_b32_f16, u32, h16, h16, d = half_pair(a, b))                                                        \
  X(PLAIN2, v_pk_add_f16, p16f, p16f, p16f, d = BOTH(half_add))                                                        \
  X(PLAIN2, v_pk_mul_f16, p16f, p16f, p16f, d = BOTH(half_multiply))                                                   \
  X(PLAIN2, v_pk_min_f16, p16f, p16f, p16f, d = BOTH(half_min))                                                        \
  X(PLAIN2, v_pk_max_f16, p16f, p16f, p16f, d = BOTH(half_max))                                                        \
  X(PLAIN3, v_pk_fma_f16, p16f, p16f, p16f, p16f, d = BOTH_FMA)                                                        \
  X(ACCUMULATE3, v_pk_fmac_f16, p16f, p16f, p16f, p16f, d = BOTH_FMA)                                                  \
  X(PLAIN3, v_dot2_f32_f16, f32, p16f, p16f, f32, d = half_dot2(a, b, c))                                              \
  X(ACCUMULATE3, v_dot2c_f32_f16, f32, p16f, p16f, f32, d = half_dot2(a, b, c))

OPERATIONS(VECTOR_DEFINE)
VECTOR_TABLE(vector_half, OPERATIONS)
