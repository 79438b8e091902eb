/* Double-precision rows against libm and long double, which has 64 bits of mantissa here. */
#include <xmmintrin.h>

#include "vector_division.h"

ROWS_TABLES(vector_double)

static bool signalling(uint64_t a) { return isnan(as_double(a)) && !(a & 0x8000000000000); }

static uint64_t add(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return of_double(as_double(a) + as_double(b));
}
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return of_double(as_double(a) * as_double(b));
}
static uint64_t fused(uint64_t a, uint64_t b, uint64_t c) {
  return of_double(fma(as_double(a), as_double(b), as_double(c)));
}
static uint64_t lesser(uint64_t a, uint64_t b, uint64_t c) {
  const double x = as_double(a), y = as_double(b);
  (void)c;
  if (signalling(a)) return a | 0x8000000000000;
  if (signalling(b)) return b | 0x8000000000000;
  if (isnan(x)) return b;
  if (isnan(y)) return a;
  if (x == 0 && y == 0) return signbit(x) ? a : b;
  return x < y ? a : b;
}
static uint64_t greater(uint64_t a, uint64_t b, uint64_t c) {
  const double x = as_double(a), y = as_double(b);
  (void)c;
  if (signalling(a)) return a | 0x8000000000000;
  if (signalling(b)) return b | 0x8000000000000;
  if (isnan(x)) return b;
  if (isnan(y)) return a;
  if (x == 0 && y == 0) return signbit(x) ? b : a;
  return x > y ? a : b;
}
static uint64_t reciprocal(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(1 / as_double(a));
}
static uint64_t reciprocal_root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double((double)(1 / sqrtl((long double)as_double(a))));
}
static uint64_t root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(sqrt(as_double(a)));
}
static uint64_t floor_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(floor(as_double(a)));
}
static uint64_t ceil_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(ceil(as_double(a)));
}
static uint64_t trunc_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(trunc(as_double(a)));
}
static uint64_t rint_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double(rint(as_double(a)));
}
static uint64_t fract_of(uint64_t a, uint64_t b, uint64_t c) {
  const double x = as_double(a), rest = x - floor(x);
  (void)b, (void)c;
  return of_double(isnan(rest) ? rest : fmin(rest, 0x1.fffffffffffffp-1));
}
static uint64_t load_exponent(uint64_t a, uint64_t b, uint64_t c) {
  const int32_t exponent = (int32_t)b;
  (void)c;
  return of_double(ldexp(as_double(a), exponent > 9000 ? 9000 : exponent < -9000 ? -9000 : exponent));
}
static uint64_t mantissa(uint64_t a, uint64_t b, uint64_t c) {
  int exponent;
  (void)b, (void)c;
  return of_double(frexp(as_double(a), &exponent));
}
static uint64_t exponent_of(uint64_t a, uint64_t b, uint64_t c) {
  int exponent = 0;
  (void)b, (void)c;
  if (!isfinite(as_double(a))) return 0;
  (void)frexp(as_double(a), &exponent);
  return (uint32_t)exponent;
}

static const struct row_test ROWS[] = {
    {OPCODE_v_add_f64, "ddd", add, 0, false},
    {OPCODE_v_mul_f64, "ddd", multiply, 0, false},
    {OPCODE_v_fma_f64, "dddd", fused, 0, false},
    {OPCODE_v_fmac_f64, "dddd", fused, 0, true},
    {OPCODE_v_min_f64, "ddd", lesser, 0, false},
    {OPCODE_v_max_f64, "ddd", greater, 0, false},
    {OPCODE_v_rcp_f64, "dd", reciprocal, 0, false},
    {OPCODE_v_rsq_f64, "dd", reciprocal_root, 1, false},
    {OPCODE_v_sqrt_f64, "dd", root, 0, false},
    {OPCODE_v_floor_f64, "dd", floor_of, 0, false},
    {OPCODE_v_ceil_f64, "dd", ceil_of, 0, false},
    {OPCODE_v_trunc_f64, "dd", trunc_of, 0, false},
    {OPCODE_v_rndne_f64, "dd", rint_of, 0, false},
    {OPCODE_v_fract_f64, "dd", fract_of, 0, false},
    {OPCODE_v_ldexp_f64, "ddi", load_exponent, 0, false},
    {OPCODE_v_frexp_mant_f64, "dd", mantissa, 0, false},
    {OPCODE_v_frexp_exp_i32_f64, "id", exponent_of, 0, false},
};

START_TEST(rows_mean_what_the_isa_says) {
  const unsigned level = (unsigned)_i / COUNT_OF(ROWS);
  if (!level_runs(level)) return;
  row_test_all(&ROWS[(unsigned)_i % COUNT_OF(ROWS)], tables[level], level, 1000);
}
END_TEST

/* --- division as compilers expand it --- */

static void divide_check(unsigned level) {
  const struct binding_table *table = tables[level];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) register_set(ONE, 2, lane, of_double(1));
  division_scale(table, OPCODE_v_div_scale_f64, "dddd", SCALED_D, D);
  division_step(table, OPCODE_v_rcp_f64, "dd", R, SCALED_D, 0, 0);
  for (unsigned i = 0; i < 2; i++) {
    division_step(table, OPCODE_v_fma_f64, "dddd", E, -SCALED_D, R, ONE);
    division_step(table, OPCODE_v_fma_f64, "dddd", R, R, E, R);
  }
  division_scale(table, OPCODE_v_div_scale_f64, "dddd", SCALED_N, N);
  division_step(table, OPCODE_v_mul_f64, "ddd", Q, SCALED_N, R, 0);
  division_step(table, OPCODE_v_fma_f64, "dddd", E, -SCALED_D, Q, SCALED_N);
  division_step(table, OPCODE_v_div_fmas_f64, "dddd", Q, E, R, Q);
  division_step(table, OPCODE_v_div_fixup_f64, "dddd", RESULT, Q, D, N);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const double n = as_double(register_get(N, 2, lane)), d = as_double(register_get(D, 2, lane));
    const uint64_t got = register_get(RESULT, 2, lane);
    if (!same_double(got, of_double(n / d), 0))
      ck_abort_msg("level %u: %a / %a is %a, should be %a", level, n, d, as_double(got), n / d);
  }
}

START_TEST(expanded_division_is_correctly_rounded) {
  const unsigned level = (unsigned)_i;
  if (!level_runs(level)) return;
  for (unsigned i = 0; i < COUNT_OF(DOUBLE_SPECIALS); i++)
    for (unsigned j = 0; j < COUNT_OF(DOUBLE_SPECIALS); j++) {
      for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
        register_set(D, 2, lane, DOUBLE_SPECIALS[i] ^ (lane & 3));
        register_set(N, 2, lane, DOUBLE_SPECIALS[j] ^ (lane >> 2));
      }
      divide_check(level);
    }
  for (unsigned n = 0; n < 10000; n++) {
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const uint64_t d = random_bits();
      const int offset = (int)(random_bits() % 8);
      /* every second one near where results become denormal or overflow */
      const int exponent = (int)(d >> 52 & 2047) + (lane & 1 ? 1022 - offset : -1018 - 8 * offset);
      uint64_t numerator = random_bits();
      if (lane & 2 && exponent >= 0 && exponent < 2047)
        numerator = (numerator & 0x800fffffffffffff) | (uint64_t)exponent << 52;
      register_set(D, 2, lane, d);
      register_set(N, 2, lane, numerator);
    }
    divide_check(level);
  }
}
END_TEST

/* 2 / pi, 128 places of it, is what the first segments hold; each follows the one before. */
START_TEST(trig_preop_gives_two_over_pi_in_pieces) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    struct instruction instruction = instruction_of(OPCODE_v_trig_preop_f64, "ddi", false);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      register_set(20, 2, lane, of_double(lane < 8 ? 1.0 : lane < 16 ? 0x1p60 : 0x1p1000));
      wave->v[22][lane] = lane & 7;
    }
    step(tables[level], &instruction);
    long double sum = 0;
    for (unsigned lane = 0; lane < 8; lane++) {
      const double piece = as_double(register_get(10, 2, lane));
      ck_assert(piece >= 0 && piece < ldexp(1, -53 * (int)lane));
      ck_assert(ldexp(piece, 53 * ((int)lane + 1)) == floor(ldexp(piece, 53 * ((int)lane + 1))));
      sum += (long double)piece;
    }
    ck_assert(fabsl(sum - 0.63661977236758134307553505349005744814L) <= 0x1p-64L);
    /* 0x1p60 has biased exponent 1083: 6 places further down, so piece 0 starts after the first 6 bits, 0.101000 */
    const double piece = as_double(register_get(10, 2, 8)), first = as_double(register_get(10, 2, 0));
    ck_assert(fabs(first - 0.625 - piece) <= 0x1p-52);
    /* 0x1p1000: 946 places down, and times 2^128 */
    const double far = as_double(register_get(10, 2, 16));
    ck_assert(far < 0x1p-818 && ldexp(far, 946 + 53 - 128) == floor(ldexp(far, 946 + 53 - 128)));
  }
}
END_TEST

START_TEST(inactive_lanes_keep_both_registers) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    const struct instruction instruction = instruction_of(OPCODE_v_add_f64, "ddd", false);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      register_set(10, 2, lane, 0x1122334455667788);
      register_set(20, 2, lane, of_double(lane));
      register_set(22, 2, lane, of_double(0.5));
    }
    wave->s[SREG_EXEC_LO] = 0xaaaaaaaa;
    step(tables[level], &instruction);
    wave->s[SREG_EXEC_LO] = UINT32_MAX;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      ck_assert_uint_eq(register_get(10, 2, lane), lane & 1 ? of_double(lane + 0.5) : 0x1122334455667788);
  }
}
END_TEST

static uint64_t rounded(uint64_t a, uint64_t b, enum opcode opcode, unsigned level) {
  const struct instruction instruction = instruction_of(opcode, "ddd", false);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    register_set(20, 2, lane, a);
    register_set(22, 2, lane, b);
  }
  step(tables[level], &instruction);
  return register_get(10, 2, 31);
}

/* MXCSR is set up for single precision while waves run. */
START_TEST(double_precision_follows_its_own_mode_bits) {
  const uint64_t tiny = of_double(0x1p-600), one = of_double(1), bit = of_double(0x1p-60);
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    mode = MODE_DEFAULT & ~0x30u; /* single flushes, double does not */
    _mm_setcsr(0x9fc0);
    const uint64_t kept = rounded(tiny, of_double(0x1p-460), OPCODE_v_mul_f64, level);
    const uint32_t after = _mm_getcsr() & 0xffc0;
    mode = MODE_DEFAULT & ~0xc0u; /* the other way round */
    _mm_setcsr(0x1f80);
    const uint64_t flushed = rounded(tiny, of_double(0x1p-460), OPCODE_v_mul_f64, level);
    mode = MODE_DEFAULT | 1 << 2;
    const uint64_t up = rounded(one, bit, OPCODE_v_add_f64, level);
    mode = MODE_DEFAULT | 3 << 2;
    const uint64_t zero = rounded(of_double(-1), bit, OPCODE_v_add_f64, level);
    mode = MODE_DEFAULT | 1;
    _mm_setcsr(0x5f80);
    const uint64_t nearest = rounded(one, bit, OPCODE_v_add_f64, level);
    _mm_setcsr(0x1f80);
    ck_assert_uint_eq(kept, of_double(0x1p-1060));
    ck_assert_uint_eq(after, 0x9fc0);
    ck_assert_uint_eq(flushed, 0);
    ck_assert_uint_eq(up, one + 1);
    ck_assert_uint_eq(zero, of_double(-1) - 1);
    ck_assert_uint_eq(nearest, one);
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("rows");
  tcase_add_loop_test(tcase, rows_mean_what_the_isa_says, 0, (int)(LEVELS * COUNT_OF(ROWS)));
  tcase_add_loop_test(tcase, expanded_division_is_correctly_rounded, 0, LEVELS);
  tcase_add_test(tcase, trig_preop_gives_two_over_pi_in_pieces);
  tcase_add_test(tcase, inactive_lanes_keep_both_registers);
  tcase_add_test(tcase, double_precision_follows_its_own_mode_bits);
  return rows_main("vector_double", tcase);
}
