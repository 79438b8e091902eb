/* Single-precision rows against libm in double precision and the ISA document's rules. */
#include "vector_division.h"

ROWS_TABLES(vector_float)

static float flushed(float a) { return fabsf(a) < 0x1p-126F ? copysignf(0, a) : a; }
static bool signalling(uint64_t a) { return isnan(as_float(a)) && !(a & 0x400000); }

static uint64_t add(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return of_float((float)((double)as_float(a) + (double)as_float(b)));
}
static uint64_t subtract(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return of_float((float)((double)as_float(a) - (double)as_float(b)));
}
static uint64_t subtract_reversed(uint64_t a, uint64_t b, uint64_t c) { return subtract(b, a, c); }
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return of_float((float)((double)as_float(a) * (double)as_float(b)));
}
static uint64_t multiply_legacy(uint64_t a, uint64_t b, uint64_t c) {
  return as_float(a) == 0 || as_float(b) == 0 ? 0 : multiply(a, b, c);
}
static uint64_t fused(uint64_t a, uint64_t b, uint64_t c) {
  return of_float(fmaf(as_float(a), as_float(b), as_float(c)));
}
static uint64_t fused_legacy(uint64_t a, uint64_t b, uint64_t c) {
  return as_float(a) == 0 || as_float(b) == 0 ? add(0, c, 0) : fused(a, b, c);
}
static uint64_t unfused(uint64_t a, uint64_t b, uint64_t c) { return add(multiply(a, b, 0), c, 0); }
static uint64_t mullit(uint64_t a, uint64_t b, uint64_t c) {
  const float y = as_float(b), z = as_float(c);
  return isnan(y) || isnan(z) || y == -INFINITY || y == -0x1.fffffep127F || z <= 0 ? of_float(-0x1.fffffep127F)
                                                                                   : multiply(a, b, 0);
}

static uint64_t lesser(uint64_t a, uint64_t b, uint64_t c) {
  const float x = as_float(a), y = as_float(b);
  (void)c;
  if (mode >> 9 & 1 && signalling(a)) return a | 0x400000;
  if (mode >> 9 & 1 && signalling(b)) return b | 0x400000;
  if (isnan(x)) return b;
  if (isnan(y)) return a;
  if (x == 0 && y == 0) return signbit(x) ? a : b;
  return x < y ? a : b;
}
static uint64_t greater(uint64_t a, uint64_t b, uint64_t c) {
  const float x = as_float(a), y = as_float(b);
  (void)c;
  if (mode >> 9 & 1 && signalling(a)) return a | 0x400000;
  if (mode >> 9 & 1 && signalling(b)) return b | 0x400000;
  if (isnan(x)) return b;
  if (isnan(y)) return a;
  if (x == 0 && y == 0) return signbit(x) ? b : a;
  return x > y ? a : b;
}
static uint64_t least(uint64_t a, uint64_t b, uint64_t c) { return lesser(lesser(a, b, 0), c, 0); }
static uint64_t greatest(uint64_t a, uint64_t b, uint64_t c) { return greater(greater(a, b, 0), c, 0); }
static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
  if (isnan(as_float(a)) || isnan(as_float(b)) || isnan(as_float(c))) return least(a, b, c);
  const float most = as_float(greatest(a, b, c));
  return most == as_float(a) ? greater(b, c, 0) : most == as_float(b) ? greater(a, c, 0) : greater(a, b, 0);
}

static uint64_t reciprocal(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float(flushed((float)(1.0 / (double)flushed(as_float(a)))));
}
static uint64_t reciprocal_root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)(1.0 / sqrt((double)flushed(as_float(a)))));
}
static uint64_t root(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)sqrt((double)flushed(as_float(a))));
}
static uint64_t power(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float(flushed((float)exp2((double)as_float(a))));
}
static uint64_t logarithm(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)log2((double)flushed(as_float(a))));
}
static uint64_t sine(uint64_t a, uint64_t b, uint64_t c) {
  const float x = as_float(a);
  const double turn = remainder((double)x, 1.0), folded = fabs(turn) > 0.25 ? copysign(0.5 - fabs(turn), turn) : turn;
  (void)b, (void)c;
  if (turn == 0) return of_float(x - rintf(x));
  return of_float((float)sin(2 * M_PI * folded));
}
static uint64_t cosine(uint64_t a, uint64_t b, uint64_t c) {
  const double turn = remainder((double)as_float(a), 1.0);
  (void)b, (void)c;
  return of_float((float)sin(2 * M_PI * (0.25 - fabs(turn))));
}

static uint64_t floor_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)floor((double)as_float(a)));
}
static uint64_t ceil_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)ceil((double)as_float(a)));
}
static uint64_t trunc_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)trunc((double)as_float(a)));
}
static uint64_t rint_of(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)rint((double)as_float(a)));
}
static uint64_t fract_of(uint64_t a, uint64_t b, uint64_t c) {
  const float x = as_float(a), rest = x - floorf(x);
  (void)b, (void)c;
  return of_float(isnan(rest) ? rest : fminf(rest, 0x1.fffffep-1F));
}
static uint64_t load_exponent(uint64_t a, uint64_t b, uint64_t c) {
  const int32_t exponent = (int32_t)b;
  (void)c;
  return of_float(ldexpf(as_float(a), exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent));
}
static uint64_t mantissa(uint64_t a, uint64_t b, uint64_t c) {
  int exponent;
  (void)b, (void)c;
  return of_float(frexpf(as_float(a), &exponent));
}
static uint64_t exponent_of(uint64_t a, uint64_t b, uint64_t c) {
  int exponent = 0;
  (void)b, (void)c;
  if (!isfinite(as_float(a))) return 0;
  (void)frexpf(as_float(a), &exponent);
  return (uint32_t)exponent;
}

static int major(uint64_t a, uint64_t b, uint64_t c) {
  const float x = fabsf(as_float(a)), y = fabsf(as_float(b)), z = fabsf(as_float(c));
  return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}
static uint64_t face(uint64_t a, uint64_t b, uint64_t c) {
  const float axes[3] = {as_float(a), as_float(b), as_float(c)};
  const int axis = major(a, b, c);
  return of_float((float)(2 * axis + (axes[axis] < 0)));
}
static uint64_t face_s(uint64_t a, uint64_t b, uint64_t c) {
  const float x = as_float(a), z = as_float(c);
  return of_float(major(a, b, c) == 2 ? (z < 0 ? -x : x) : major(a, b, c) == 1 ? x : x < 0 ? z : -z);
}
static uint64_t face_t(uint64_t a, uint64_t b, uint64_t c) {
  const float y = as_float(b), z = as_float(c);
  return of_float(major(a, b, c) == 1 ? (y < 0 ? -z : z) : -y);
}
static uint64_t face_major(uint64_t a, uint64_t b, uint64_t c) {
  const float axes[3] = {as_float(a), as_float(b), as_float(c)};
  return of_float(2 * axes[major(a, b, c)]);
}

static const struct row_test ROWS[] = {
    {OPCODE_v_add_f32, "fff", add, 0, false},
    {OPCODE_v_sub_f32, "fff", subtract, 0, false},
    {OPCODE_v_subrev_f32, "fff", subtract_reversed, 0, false},
    {OPCODE_v_mul_f32, "fff", multiply, 0, false},
    {OPCODE_v_mul_legacy_f32, "fff", multiply_legacy, 0, false},
    {OPCODE_v_fma_f32, "ffff", fused, 0, false},
    {OPCODE_v_fmac_f32, "ffff", fused, 0, true},
    {OPCODE_v_fmaak_f32, "ffff", fused, 0, false},
    {OPCODE_v_fmamk_f32, "ffff", fused, 0, false},
    {OPCODE_v_fma_legacy_f32, "ffff", fused_legacy, 0, false},
    {OPCODE_v_fmac_legacy_f32, "ffff", fused_legacy, 0, true},
    {OPCODE_v_mad_f32, "ffff", unfused, 0, false},
    {OPCODE_v_mac_f32, "ffff", unfused, 0, true},
    {OPCODE_v_madak_f32, "ffff", unfused, 0, false},
    {OPCODE_v_madmk_f32, "ffff", unfused, 0, false},
    {OPCODE_v_mullit_f32, "ffff", mullit, 0, false},
    {OPCODE_v_fma_mix_f32, "ffff", fused, 0, false},
    {OPCODE_v_min_f32, "fff", lesser, 0, false},
    {OPCODE_v_max_f32, "fff", greater, 0, false},
    {OPCODE_v_min3_f32, "ffff", least, 0, false},
    {OPCODE_v_max3_f32, "ffff", greatest, 0, false},
    {OPCODE_v_med3_f32, "ffff", median, 0, false},
    {OPCODE_v_rcp_f32, "ff", reciprocal, 0, false},
    {OPCODE_v_rcp_iflag_f32, "ff", reciprocal, 0, false},
    {OPCODE_v_rsq_f32, "ff", reciprocal_root, 1, false},
    {OPCODE_v_sqrt_f32, "ff", root, 0, false},
    {OPCODE_v_exp_f32, "ff", power, 1, false},
    {OPCODE_v_log_f32, "ff", logarithm, 1, false},
    {OPCODE_v_sin_f32, "ff", sine, 1, false},
    {OPCODE_v_cos_f32, "ff", cosine, 1, false},
    {OPCODE_v_floor_f32, "ff", floor_of, 0, false},
    {OPCODE_v_ceil_f32, "ff", ceil_of, 0, false},
    {OPCODE_v_trunc_f32, "ff", trunc_of, 0, false},
    {OPCODE_v_rndne_f32, "ff", rint_of, 0, false},
    {OPCODE_v_fract_f32, "ff", fract_of, 0, false},
    {OPCODE_v_ldexp_f32, "ffi", load_exponent, 0, false},
    {OPCODE_v_frexp_mant_f32, "ff", mantissa, 0, false},
    {OPCODE_v_frexp_exp_i32_f32, "if", exponent_of, 0, false},
    {OPCODE_v_cubeid_f32, "ffff", face, 0, false},
    {OPCODE_v_cubesc_f32, "ffff", face_s, 0, false},
    {OPCODE_v_cubetc_f32, "ffff", face_t, 0, false},
    {OPCODE_v_cubema_f32, "ffff", face_major, 0, false},
};

START_TEST(rows_mean_what_the_isa_says) {
  const unsigned level = (unsigned)_i / COUNT_OF(ROWS);
  if (!level_runs(level)) return;
  row_test_all(&ROWS[(unsigned)_i % COUNT_OF(ROWS)], tables[level], level, 2000);
}
END_TEST

START_TEST(without_ieee_a_signalling_nan_loses) {
  static const struct row_test test[] = {{OPCODE_v_min_f32, "fff", lesser, 0, false},
                                         {OPCODE_v_max_f32, "fff", greater, 0, false}};
  mode = MODE_DEFAULT & ~0x200u;
  for (unsigned level = 0; level < LEVELS; level++)
    for (unsigned i = 0; i < 2 && level_runs(level); i++) row_test_all(&test[i], tables[level], level, 10);
}
END_TEST

/* --- division as compilers expand it --- */

static void divide(unsigned level) {
  const struct binding_table *table = tables[level];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[ONE][lane] = 0x3f800000;
  division_scale(table, OPCODE_v_div_scale_f32, "ffff", SCALED_D, D);
  division_step(table, OPCODE_v_rcp_f32, "ff", R, SCALED_D, 0, 0);
  division_step(table, OPCODE_v_fma_f32, "ffff", E, -SCALED_D, R, ONE);
  division_step(table, OPCODE_v_fma_f32, "ffff", R, E, R, R);
  division_scale(table, OPCODE_v_div_scale_f32, "ffff", SCALED_N, N);
  division_step(table, OPCODE_v_mul_f32, "fff", Q, SCALED_N, R, 0);
  division_step(table, OPCODE_v_fma_f32, "ffff", E, -SCALED_D, Q, SCALED_N);
  division_step(table, OPCODE_v_fma_f32, "ffff", Q, E, R, Q);
  division_step(table, OPCODE_v_fma_f32, "ffff", E, -SCALED_D, Q, SCALED_N);
  division_step(table, OPCODE_v_div_fmas_f32, "ffff", Q, E, R, Q);
  division_step(table, OPCODE_v_div_fixup_f32, "ffff", RESULT, Q, D, N);
}
static void divide_check(unsigned level) {
  divide(level);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const float n = as_float(wave->v[N][lane]), d = as_float(wave->v[D][lane]), wanted = (float)((double)n / (double)d);
    if (!same_float(wave->v[RESULT][lane], of_float(wanted), 0))
      ck_abort_msg("level %u: %a / %a is %a, should be %a", level, (double)n, (double)d,
                   (double)as_float(wave->v[RESULT][lane]), (double)wanted);
  }
}

START_TEST(expanded_division_is_correctly_rounded) {
  const unsigned level = (unsigned)_i;
  if (!level_runs(level)) return;
  for (unsigned i = 0; i < COUNT_OF(FLOAT_SPECIALS); i++)
    for (unsigned j = 0; j < COUNT_OF(FLOAT_SPECIALS); j++) {
      for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
        wave->v[D][lane] = FLOAT_SPECIALS[i] ^ (lane & 3);
        wave->v[N][lane] = FLOAT_SPECIALS[j] ^ (lane >> 2);
      }
      divide_check(level);
    }
  for (unsigned n = 0; n < 20000; n++) {
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const uint32_t d = (uint32_t)random_bits(), offset = (uint32_t)(random_bits() % 8);
      /* every second one near where results become denormal or overflow */
      const int exponent = (int)(d >> 23 & 255) + (lane & 1 ? 126 - (int)offset : -124 - 4 * (int)offset);
      wave->v[D][lane] = d;
      wave->v[N][lane] = (uint32_t)random_bits();
      if (lane & 2 && exponent >= 0 && exponent < 255)
        wave->v[N][lane] = (wave->v[N][lane] & 0x807fffff) | (uint32_t)exponent << 23;
    }
    divide_check(level);
  }
}
END_TEST

START_TEST(minimum_and_median_flush_denormals_as_mode_says) {
  static const enum opcode opcodes[] = {OPCODE_v_min_f32, OPCODE_v_max_f32, OPCODE_v_med3_f32, OPCODE_v_max3_f32};
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++)
    for (unsigned i = 0; i < COUNT_OF(opcodes); i++) {
      const struct instruction instruction = instruction_of(opcodes[i], i < 2 ? "fff" : "ffff", false);
      for (unsigned lane = 0; lane < SOFT_LANES; lane++)
        wave->v[20][lane] = wave->v[22][lane] = wave->v[24][lane] = lane & 1 ? 0x807fffff : 0x80800000;
      mode = MODE_DEFAULT;
      step(tables[level], &instruction);
      ck_assert_uint_eq(wave->v[10][0], 0x80800000);
      ck_assert_uint_eq(wave->v[10][1], 0x807fffff);
      mode = MODE_DEFAULT & ~0x30u;
      step(tables[level], &instruction);
      ck_assert_uint_eq(wave->v[10][0], 0x80800000);
      ck_assert_uint_eq(wave->v[10][1], 0x80000000);
    }
}
END_TEST

START_TEST(mixed_halves_are_picked_by_op_sel) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    struct instruction instruction = instruction_of(OPCODE_v_fma_mix_f32, "ffff", false);
    instruction.op_sel_hi = 3; /* a and b are halves, */
    instruction.op_sel = 2;    /* b the high one */
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      wave->v[20][lane] = 0xdead4200; /* 3 */
      wave->v[22][lane] = 0xc500beef; /* -5 */
      wave->v[24][lane] = (uint32_t)of_float((float)lane);
    }
    step(tables[level], &instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) ck_assert(as_float(wave->v[10][lane]) == (float)lane - 15);

    for (unsigned high = 0; high < 2; high++) {
      instruction.opcode = high ? OPCODE_v_fma_mixhi_f16 : OPCODE_v_fma_mixlo_f16;
      for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[10][lane] = 0x12345678;
      wave->s[SREG_EXEC_LO] = 0x0000ffff;
      step(tables[level], &instruction);
      wave->s[SREG_EXEC_LO] = UINT32_MAX;
      ck_assert_uint_eq(wave->v[10][0], high ? 0xcb805678 : 0x1234cb80); /* -15 */
      ck_assert_uint_eq(wave->v[10][15], high ? 0x00005678 : 0x12340000);
      ck_assert_uint_eq(wave->v[10][16], 0x12345678);
    }
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("rows");
  tcase_add_loop_test(tcase, rows_mean_what_the_isa_says, 0, (int)(LEVELS * COUNT_OF(ROWS)));
  tcase_add_test(tcase, without_ieee_a_signalling_nan_loses);
  tcase_add_loop_test(tcase, expanded_division_is_correctly_rounded, 0, LEVELS);
  tcase_add_test(tcase, minimum_and_median_flush_denormals_as_mode_says);
  tcase_add_test(tcase, mixed_halves_are_picked_by_op_sel);
  return rows_main("vector_float", tcase);
}
