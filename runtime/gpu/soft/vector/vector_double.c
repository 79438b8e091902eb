/* Double-precision arithmetic. */
#include "gpu/soft/vector/divide_math.h"
#include "gpu/soft/vector/double_math.h"
#include "gpu/soft/vector/vector.h"

#define OPERATIONS(X)                                                                                                  \
  X(HOT2, v_add_f64, f64, f64, f64, d = a + b)                                                                         \
  X(HOT2, v_mul_f64, f64, f64, f64, d = a * b)                                                                         \
  X(HOT3, v_fma_f64, f64, f64, f64, f64, d = double_fma(a, b, c))                                                      \
  X(ACCUMULATE3, v_fmac_f64, f64, f64, f64, f64, d = double_fma(a, b, c))                                              \
  X(PLAIN2, v_min_f64, f64, f64, f64, d = double_min(mode, a, b))                                                      \
  X(PLAIN2, v_max_f64, f64, f64, f64, d = double_max(mode, a, b))                                                      \
  X(PLAIN1, v_rcp_f64, f64, f64, d = double_rcp(a))                                                                    \
  X(PLAIN1, v_rsq_f64, f64, f64, d = double_rsq(a))                                                                    \
  X(PLAIN1, v_sqrt_f64, f64, f64, d = double_sqrt(a))                                                                  \
  X(PLAIN1, v_floor_f64, f64, f64, d = double_floor(a))                                                                \
  X(PLAIN1, v_ceil_f64, f64, f64, d = double_ceil(a))                                                                  \
  X(PLAIN1, v_trunc_f64, f64, f64, d = double_trunc(a))                                                                \
  X(PLAIN1, v_rndne_f64, f64, f64, d = double_rndne(a))                                                                \
  X(PLAIN1, v_fract_f64, f64, f64, d = double_fract(a))                                                                \
  X(PLAIN2, v_ldexp_f64, f64, f64, i32, d = double_ldexp(a, b))                                                        \
  X(PLAIN1, v_frexp_mant_f64, f64, f64, d = double_frexp_mantissa(a))                                                  \
  X(PLAIN1, v_frexp_exp_i32_f64, i32, f64, d = double_frexp_exponent(a))                                               \
  X(CARRYOUT3, v_div_scale_f64, f64, f64, f64, f64, d = double_div_scale(a, b, c);                                     \
    carry_out = double_div_scale_flag(b, c))                                                                           \
  X(BY_HAND, v_div_fmas_f64)                                                                                           \
  X(PLAIN3, v_div_fixup_f64, f64, f64, f64, f64, d = double_div_fixup(a, b, c))                                        \
  X(PLAIN2, v_trig_preop_f64, f64, f64, u32, d = double_trig_preop(a, b))

/* Few quotients are scaled: mostly VCC is 0. */
VECTOR_LANES_(div_fmas_plain, f64, f64, VECTOR_ABC(f64, f64, f64), VECTOR_NOTHING, VECTOR_NOTHING,
              d = double_fma(a, b, c))
VECTOR_LANES_(div_fmas_scaled, f64, f64, VECTOR_ABC(f64, f64, f64), VECTOR_CARRY_READ, VECTOR_NOTHING,
              d = carry_in ? double_div_fmas_scaled(a, b, c) : double_fma(a, b, c))
static void v_div_fmas_f64_compute(VECTOR_COMPUTE_ARGUMENTS) {
  if (side->carry_in == 0) div_fmas_plain_compute(d_, a_, b_, c_, side);
  else div_fmas_scaled_compute(d_, a_, b_, c_, side);
}
VECTOR_PLAIN_(v_div_fmas_f64, f64, f64, f64, f64, VECTOR_CARRY_VCC)

#define VECTOR_DEFINE_BY_HAND(name)
OPERATIONS(VECTOR_DEFINE)
VECTOR_TABLE(vector_double, OPERATIONS)
