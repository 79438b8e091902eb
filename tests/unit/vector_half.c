/* Half-precision rows against double precision, rounded once by a search over all halves. */
#include <fenv.h>

#include "vector_rows.h"

ROWS_TABLES(vector_half)

/* Rounds as MODE bits 3:2 say. By arithmetic on values, which are exact in long double. */
static uint64_t half_of(long double value) {
  static const int rounds[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const uint64_t sign = signbit(value) ? 0x8000 : 0;
  if (isnan(value)) return 0x7e00;
  if (isinf(value)) return sign | 0x7c00;
  if (value == 0) return sign;
  int exponent;
  (void)frexpl(value, &exponent);
  const int place = exponent - 11 < -24 ? -24 : exponent - 11; /* of the last bit */
  fesetround(rounds[mode >> 2 & 3]);
  const long double whole = rintl(ldexpl(fabsl(value) * (sign ? -1 : 1), -place));
  fesetround(FE_TONEAREST);
  const long double rounded = fabsl(ldexpl(whole, place));
  const bool outward = (mode >> 2 & 3) == 0 || (mode >> 2 & 3) == (sign ? 2u : 1u);
  if (rounded > 65504) return sign | (outward ? 0x7c00 : 0x7bff);
  if (rounded == 0) return sign;
  (void)frexpl(rounded, &exponent);
  if (exponent < -13) return sign | (uint64_t)ldexpl(rounded, 24);
  return sign | (uint64_t)(exponent + 14) << 10 | ((uint64_t)ldexpl(rounded, 11 - exponent) & 0x3ff);
}
static bool half_nan(uint64_t a) { return (a & 0x7fff) > 0x7c00; }
static bool signalling(uint64_t a) { return half_nan(a) && !(a & 0x200); }

static uint64_t add(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return half_of((long double)as_half(a) + (long double)as_half(b));
}
static uint64_t subtract(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return half_of((long double)as_half(a) - (long double)as_half(b));
}
static uint64_t subtract_reversed(uint64_t a, uint64_t b, uint64_t c) { return subtract(b, a, c); }
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return half_of((long double)as_half(a) * (long double)as_half(b));
}
/* 64 bits of mantissa hold it exactly but for sums of 2^16 with 2^-48, where both ends agree */
static uint64_t fused(uint64_t a, uint64_t b, uint64_t c) {
  return half_of((long double)as_half(a) * (long double)as_half(b) + (long double)as_half(c));
}
static uint64_t unfused(uint64_t a, uint64_t b, uint64_t c) { return add(multiply(a, b, 0), c, 0); }
static uint64_t lesser(uint64_t a, uint64_t b, uint64_t c) {
  const double x = as_half(a), y = as_half(b);
  (void)c;
  if (signalling(a)) return a | 0x200;
  if (signalling(b)) return b | 0x200;
  if (half_nan(a)) return b;
  if (half_nan(b)) return a;
  if (x == 0 && y == 0) return signbit(x) ? a : b;
  return x < y ? a : b;
}
static uint64_t greater(uint64_t a, uint64_t b, uint64_t c) {
  const double x = as_half(a), y = as_half(b);
  (void)c;
  if (signalling(a)) return a | 0x200;
  if (signalling(b)) return b | 0x200;
  if (half_nan(a)) return b;
  if (half_nan(b)) return a;
  if (x == 0 && y == 0) return signbit(x) ? b : a;
  return x > y ? a : b;
}
static uint64_t least(uint64_t a, uint64_t b, uint64_t c) { return lesser(lesser(a, b, 0), c, 0); }
static uint64_t greatest(uint64_t a, uint64_t b, uint64_t c) { return greater(greater(a, b, 0), c, 0); }
static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
  if (half_nan(a) || half_nan(b) || half_nan(c)) return least(a, b, c);
  const double most = as_half(greatest(a, b, c));
  return most == as_half(a) ? greater(b, c, 0) : most == as_half(b) ? greater(a, c, 0) : greater(a, b, 0);
}
static uint64_t reciprocal(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of(1 / (long double)as_half(a));
}
static uint64_t root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of(sqrtl((long double)as_half(a)));
}
static uint64_t reciprocal_root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of(1 / sqrtl((long double)as_half(a)));
}
static uint64_t power(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of(exp2l((long double)as_half(a)));
}
static uint64_t logarithm(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of(log2l((long double)as_half(a)));
}
static uint64_t sine(uint64_t a, uint64_t b, uint64_t c) {
  const double turn = remainder(as_half(a), 1.0), folded = fabs(turn) > 0.25 ? copysign(0.5 - fabs(turn), turn) : turn;
  (void)b, (void)c;
  return turn == 0 ? half_of((long double)(as_half(a) - rint(as_half(a))))
                   : half_of((long double)sin(2 * M_PI * folded));
}
static uint64_t cosine(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of((long double)sin(2 * M_PI * (0.25 - fabs(remainder(as_half(a), 1.0)))));
}
static uint64_t floor_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of((long double)floor(as_half(a)));
}
static uint64_t ceil_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of((long double)ceil(as_half(a)));
}
static uint64_t trunc_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of((long double)trunc(as_half(a)));
}
static uint64_t rint_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_of((long double)rint(as_half(a)));
}
static uint64_t fract_of(uint64_t a, uint64_t b, uint64_t c) {
  const double rest = as_half(a) - floor(as_half(a));
  (void)b, (void)c;
  return half_of(isnan(rest) ? NAN : fminl((long double)rest, 0x1.ffcp-1L));
}
static uint64_t load_exponent(uint64_t a, uint64_t b, uint64_t c) {
  const int exponent = (int16_t)b;
  (void)c;
  return half_of(ldexpl((long double)as_half(a), exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent));
}
static uint64_t mantissa(uint64_t a, uint64_t b, uint64_t c) {
  int exponent;
  (void)b, (void)c;
  return half_of((long double)frexp(as_half(a), &exponent));
}
static uint64_t exponent_of(uint64_t a, uint64_t b, uint64_t c) {
  int exponent = 0;
  (void)b, (void)c;
  if (isfinite(as_half(a))) (void)frexp(as_half(a), &exponent);
  return (uint32_t)exponent;
}
static uint64_t fixup(uint64_t a, uint64_t b, uint64_t c) {
  const double d = as_half(b), n = as_half(c), special = n / d;
  if (isnan(n) || isnan(d) || isnan(special) || isinf(n) || isinf(d) || n == 0 || d == 0)
    return half_of((long double)special);
  return (a & 0x7fff) | ((b ^ c) & 0x8000);
}
static uint64_t pack(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return (a & 0xffff) | (b & 0xffff) << 16;
}

#define PAIR(name, single)                                                                                             \
  static uint64_t name(uint64_t a, uint64_t b, uint64_t c) {                                                           \
    return single(a & 0xffff, b & 0xffff, c & 0xffff) | single(a >> 16, b >> 16, c >> 16) << 16;                       \
  }
PAIR(pair_add, add)
PAIR(pair_multiply, multiply)
PAIR(pair_fused, fused)
PAIR(pair_lesser, lesser)
PAIR(pair_greater, greater)

static uint64_t dot(uint64_t a, uint64_t b, uint64_t c) {
  const long double low = (long double)as_half(a & 0xffff) * (long double)as_half(b & 0xffff);
  return of_float(
      (float)(low + (long double)as_half(a >> 16) * (long double)as_half(b >> 16) + (long double)as_float(c)));
}

static const struct row_test ROWS[] = {
    {OPCODE_v_add_f16, "hhh", add, 0, false},
    {OPCODE_v_sub_f16, "hhh", subtract, 0, false},
    {OPCODE_v_subrev_f16, "hhh", subtract_reversed, 0, false},
    {OPCODE_v_mul_f16, "hhh", multiply, 0, false},
    {OPCODE_v_fma_f16, "hhhh", fused, 0, false},
    {OPCODE_v_fmac_f16, "hhhh", fused, 0, true},
    {OPCODE_v_fmaak_f16, "hhhh", fused, 0, false},
    {OPCODE_v_fmamk_f16, "hhhh", fused, 0, false},
    {OPCODE_v_mad_f16, "hhhh", unfused, 0, false},
    {OPCODE_v_mac_f16, "hhhh", unfused, 0, true},
    {OPCODE_v_min_f16, "hhh", lesser, 0, false},
    {OPCODE_v_max_f16, "hhh", greater, 0, false},
    {OPCODE_v_min3_f16, "hhhh", least, 0, false},
    {OPCODE_v_max3_f16, "hhhh", greatest, 0, false},
    {OPCODE_v_med3_f16, "hhhh", median, 0, false},
    {OPCODE_v_rcp_f16, "hh", reciprocal, 1, false},
    {OPCODE_v_rsq_f16, "hh", reciprocal_root, 1, false},
    {OPCODE_v_sqrt_f16, "hh", root, 0, false},
    {OPCODE_v_exp_f16, "hh", power, 1, false},
    {OPCODE_v_log_f16, "hh", logarithm, 1, false},
    {OPCODE_v_sin_f16, "hh", sine, 1, false},
    {OPCODE_v_cos_f16, "hh", cosine, 1, false},
    {OPCODE_v_floor_f16, "hh", floor_of, 0, false},
    {OPCODE_v_ceil_f16, "hh", ceil_of, 0, false},
    {OPCODE_v_trunc_f16, "hh", trunc_of, 0, false},
    {OPCODE_v_rndne_f16, "hh", rint_of, 0, false},
    {OPCODE_v_fract_f16, "hh", fract_of, 0, false},
    {OPCODE_v_ldexp_f16, "hhi", load_exponent, 0, false},
    {OPCODE_v_frexp_mant_f16, "hh", mantissa, 0, false},
    {OPCODE_v_frexp_exp_i16_f16, "sh", exponent_of, 0, false},
    {OPCODE_v_div_fixup_f16, "hhhh", fixup, 0, false},
    {OPCODE_v_pack_b32_f16, "ihh", pack, 0, false},
    {OPCODE_v_pk_add_f16, "ppp", pair_add, 0, false},
    {OPCODE_v_pk_mul_f16, "ppp", pair_multiply, 0, false},
    {OPCODE_v_pk_min_f16, "ppp", pair_lesser, 0, false},
    {OPCODE_v_pk_max_f16, "ppp", pair_greater, 0, false},
    {OPCODE_v_pk_fma_f16, "pppp", pair_fused, 0, false},
    {OPCODE_v_pk_fmac_f16, "pppp", pair_fused, 0, true},
    {OPCODE_v_dot2_f32_f16, "fppf", dot, 1, false},
    {OPCODE_v_dot2c_f32_f16, "fppf", dot, 1, true},
};

START_TEST(rows_mean_what_the_isa_says) {
  const unsigned level = (unsigned)_i / COUNT_OF(ROWS);
  if (!level_runs(level)) return;
  row_test_all(&ROWS[(unsigned)_i % COUNT_OF(ROWS)], tables[level], level, 500);
}
END_TEST

START_TEST(rounding_follows_mode) {
  static const struct row_test directed[] = {{OPCODE_v_add_f16, "hhh", add, 0, false},
                                             {OPCODE_v_mul_f16, "hhh", multiply, 0, false},
                                             {OPCODE_v_fma_f16, "hhhh", fused, 0, false},
                                             {OPCODE_v_ldexp_f16, "hhi", load_exponent, 0, false},
                                             {OPCODE_v_pk_fma_f16, "pppp", pair_fused, 0, false}};
  mode = MODE_DEFAULT | (unsigned)_i << 2;
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++)
    for (unsigned i = 0; i < COUNT_OF(directed); i++) row_test_all(&directed[i], tables[level], level, 500);
}
END_TEST

START_TEST(denormals_are_flushed_as_mode_says) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    const struct instruction instruction = instruction_of(OPCODE_v_mul_f16, "hhh", false);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      wave->v[20][lane] = lane & 1 ? 0x0001 : 0x8400; /* a denormal; the least normal, negative */
      wave->v[22][lane] = lane & 1 ? 0x7800 : 0x3800; /* 2^15; a half */
    }
    mode = MODE_DEFAULT & ~0x40u; /* sources */
    step(tables[level], &instruction);
    ck_assert_uint_eq(wave->v[10][0], 0x8200);
    ck_assert_uint_eq(wave->v[10][1], 0);
    mode = MODE_DEFAULT & ~0x80u; /* results */
    step(tables[level], &instruction);
    ck_assert_uint_eq(wave->v[10][0], 0x8000);
    ck_assert_uint_eq(wave->v[10][1], 0x1800);
  }
}
END_TEST

START_TEST(packed_operands_follow_op_sel_and_neg) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    struct instruction instruction = instruction_of(OPCODE_v_pk_add_f16, "ppp", false);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      wave->v[20][lane] = 0x40003c00; /* 2, 1 */
      wave->v[22][lane] = 0x48004400; /* 8, 4 */
    }
    instruction.op_sel = 1;    /* low result takes the high half of a */
    instruction.op_sel_hi = 1; /* high result the low half of b */
    instruction.neg_hi = 2;
    step(tables[level], &instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      ck_assert_uint_eq(wave->v[10][lane], 0xc0004600); /* 2 - 4, 2 + 4 */
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("rows");
  tcase_add_loop_test(tcase, rows_mean_what_the_isa_says, 0, (int)(LEVELS * COUNT_OF(ROWS)));
  tcase_add_loop_test(tcase, rounding_follows_mode, 1, 4);
  tcase_add_test(tcase, denormals_are_flushed_as_mode_says);
  tcase_add_test(tcase, packed_operands_follow_op_sel_and_neg);
  return rows_main("vector_half", tcase);
}
