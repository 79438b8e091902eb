/* Single-precision arithmetic, and the v_fma_mix instructions that mix in halves. */
#include "gpu/soft/vector/divide_math.h"
#include "gpu/soft/vector/half_math.h"
#include "gpu/soft/vector/vector.h"

/* v_mad and v_mac round the product (gfx9). v_fma_mixlo and v_fma_mixhi round to float, then to half. */
#define OPERATIONS(X)                                                                                                  \
  X(HOT2, v_add_f32, f32, f32, f32, d = a + b)                                                                         \
  X(HOT2, v_sub_f32, f32, f32, f32, d = a - b)                                                                         \
  X(HOT2, v_subrev_f32, f32, f32, f32, d = b - a)                                                                      \
  X(HOT2, v_mul_f32, f32, f32, f32, d = a * b)                                                                         \
  X(PLAIN2, v_mul_legacy_f32, f32, f32, f32, d = float_multiply_legacy(a, b))                                          \
  X(HOT3, v_fma_f32, f32, f32, f32, f32, d = float_fma(a, b, c))                                                       \
  X(HOTACCUMULATE3, v_fmac_f32, f32, f32, f32, f32, d = float_fma(a, b, c))                                            \
  X(PLAIN3, v_fmaak_f32, f32, f32, f32, f32, d = float_fma(a, b, c))                                                   \
  X(PLAIN3, v_fmamk_f32, f32, f32, f32, f32, d = float_fma(a, b, c))                                                   \
  X(PLAIN3, v_fma_legacy_f32, f32, f32, f32, f32, d = float_fma_legacy(a, b, c))                                       \
  X(ACCUMULATE3, v_fmac_legacy_f32, f32, f32, f32, f32, d = float_fma_legacy(a, b, c))                                 \
  X(PLAIN3, v_mad_f32, f32, f32, f32, f32, d = a * b + c)                                                              \
  X(ACCUMULATE3, v_mac_f32, f32, f32, f32, f32, d = a * b + c)                                                         \
  X(PLAIN3, v_madak_f32, f32, f32, f32, f32, d = a * b + c)                                                            \
  X(PLAIN3, v_madmk_f32, f32, f32, f32, f32, d = a * b + c)                                                            \
  X(PLAIN3, v_mullit_f32, f32, f32, f32, f32, d = float_mullit(a, b, c))                                               \
  X(PLAIN3, v_fma_mix_f32, f32, mix, mix, mix, d = float_fma(a, b, c))                                                 \
  X(PLAIN3, v_fma_mixlo_f16, h16, mix, mix, mix, d = half_result(mode, float_fma(a, b, c)))                            \
  X(PLAIN3, v_fma_mixhi_f16, hi16, mix, mix, mix, d = half_result(mode, float_fma(a, b, c)))                           \
  X(HOT2, v_min_f32, f32, f32, f32, d = float_min(mode, a, b))                                                         \
  X(HOT2, v_max_f32, f32, f32, f32, d = float_max(mode, a, b))                                                         \
  X(PLAIN3, v_min3_f32, f32, f32, f32, f32, d = float_min3(mode, a, b, c))                                             \
  X(PLAIN3, v_max3_f32, f32, f32, f32, f32, d = float_max3(mode, a, b, c))                                             \
  X(PLAIN3, v_med3_f32, f32, f32, f32, f32, d = float_med3(mode, a, b, c))                                             \
  X(PLAIN1, v_rcp_f32, f32, f32, d = float_rcp(a))                                                                     \
  X(PLAIN1, v_rcp_iflag_f32, f32, f32, d = float_rcp(a))                                                               \
  X(PLAIN1, v_rsq_f32, f32, f32, d = float_rsq(a))                                                                     \
  X(PLAIN1, v_sqrt_f32, f32, f32, d = float_sqrt(a))                                                                   \
  X(PLAIN1, v_exp_f32, f32, f32, d = float_exp(a))                                                                     \
  X(PLAIN1, v_log_f32, f32, f32, d = float_log(a))                                                                     \
  X(PLAIN1, v_sin_f32, f32, f32, d = float_sin(a))                                                                     \
  X(PLAIN1, v_cos_f32, f32, f32, d = float_cos(a))                                                                     \
  X(PLAIN1, v_floor_f32, f32, f32, d = float_floor(a))                                                                 \
  X(PLAIN1, v_ceil_f32, f32, f32, d = float_ceil(a))                                                                   \
  X(PLAIN1, v_trunc_f32, f32, f32, d = float_trunc(a))                                                                 \
  X(PLAIN1, v_rndne_f32, f32, f32, d = float_rndne(a))                                                                 \
  X(PLAIN1, v_fract_f32, f32, f32, d = float_fract(a))                                                                 \
  X(PLAIN2, v_ldexp_f32, f32, f32, i32, d = float_ldexp(a, b))                                                         \
  X(PLAIN1, v_frexp_mant_f32, f32, f32, d = float_frexp_mantissa(a))                                                   \
  X(PLAIN1, v_frexp_exp_i32_f32, i32, f32, d = float_frexp_exponent(a))                                                \
  X(CARRYOUT3, v_div_scale_f32, f32, f32, f32, f32, d = float_div_scale(a, b, c);                                      \
    carry_out = float_div_scale_flag(b, c))                                                                            \
  X(BY_HAND, v_div_fmas_f32)                                                                                           \
  X(PLAIN3, v_div_fixup_f32, f32, f32, f32, f32, d = float_div_fixup(a, b, c))                                         \
  X(PLAIN3, v_cubeid_f32, f32, f32, f32, f32, d = cube_face(a, b, c))                                                  \
  X(PLAIN3, v_cubesc_f32, f32, f32, f32, f32, d = cube_s(a, b, c))                                                     \
  X(PLAIN3, v_cubetc_f32, f32, f32, f32, f32, d = cube_t(a, b, c))                                                     \
  X(PLAIN3, v_cubema_f32, f32, f32, f32, f32, d = cube_major(a, b, c))

/* Few quotients are scaled: mostly VCC is 0. */
VECTOR_LANES_(div_fmas_plain, f32, f32, VECTOR_ABC(f32, f32, f32), VECTOR_NOTHING, VECTOR_NOTHING,
              d = float_fma(a, b, c))
VECTOR_LANES_(div_fmas_scaled, f32, f32, VECTOR_ABC(f32, f32, f32), VECTOR_CARRY_READ, VECTOR_NOTHING,
              d = carry_in ? float_div_fmas_scaled(a, b, c) : float_fma(a, b, c))
static void v_div_fmas_f32_compute(VECTOR_COMPUTE_ARGUMENTS) {
  if (side->carry_in == 0) div_fmas_plain_compute(d_, a_, b_, c_, side);
  else div_fmas_scaled_compute(d_, a_, b_, c_, side);
}
VECTOR_PLAIN_(v_div_fmas_f32, f32, f32, f32, f32, VECTOR_CARRY_VCC)

#define VECTOR_DEFINE_BY_HAND(name)
OPERATIONS(VECTOR_DEFINE)
VECTOR_TABLE(vector_float, OPERATIONS)
