/* Conversions against C's, with saturation written out. */
#include <fenv.h>

#include "vector_rows.h"

ROWS_TABLES(vector_convert)

static uint64_t saturate(double value, double low, double high) {
  if (isnan(value)) return 0;
  return (uint64_t)(int64_t)(value < low ? low : value > high ? high : value);
}

static uint64_t f32_i32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)(int32_t)a);
}
static uint64_t f32_u32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)(uint32_t)a);
}
static uint64_t i32_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate((double)as_float(a), INT32_MIN, INT32_MAX);
}
static uint64_t u32_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate((double)as_float(a), 0, UINT32_MAX);
}
static uint64_t i32_down(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate(floor((double)as_float(a)), INT32_MIN, INT32_MAX);
}
static uint64_t i32_near(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate((double)floorl((long double)as_float(a) + 0.5L), INT32_MIN, INT32_MAX);
}
static uint64_t f64_i32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double((int32_t)a);
}
static uint64_t f64_u32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double((uint32_t)a);
}
static uint64_t i32_f64(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate(as_double(a), INT32_MIN, INT32_MAX);
}
static uint64_t u32_f64(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate(as_double(a), 0, UINT32_MAX);
}
static uint64_t f64_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_double((double)as_float(a));
}
static uint64_t f32_f64(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)as_double(a));
}
static uint64_t byte0(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)(uint8_t)a);
}
static uint64_t byte1(uint64_t a, uint64_t b, uint64_t c) { return byte0(a >> 8, b, c); }
static uint64_t byte2(uint64_t a, uint64_t b, uint64_t c) { return byte0(a >> 16, b, c); }
static uint64_t byte3(uint64_t a, uint64_t b, uint64_t c) { return byte0(a >> 24, b, c); }
static uint64_t offset(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)((int)(a & 15) - (a & 8 ? 16 : 0)) / 16.0F);
}

/* The half next to a value: all are tried. */
static uint64_t half_near(double value, unsigned round) {
  const uint64_t sign = signbit(value) ? 0x8000 : 0;
  const double magnitude = fabs(value);
  if (isnan(value)) return 0x7e00;
  if (isinf(value)) return sign | 0x7c00;
  unsigned low = 0, high = 0x7c00; /* as_half(low) <= magnitude; 0x7c00 stands for 65536 */
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    if (as_half(middle) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  const double below = magnitude - as_half(low), above = (high == 0x7c00 ? 65536 : as_half(high)) - magnitude;
  const bool nearest_is_high = above < below || (above == below && low & 1);
  const bool away = round == 0 ? nearest_is_high : below != 0 && round == (sign ? 2 : 1);
  return sign | (away ? high : low);
}
static uint64_t f16_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_near((double)as_float(a), mode >> 2 & 3);
}
static uint64_t f32_f16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return of_float((float)as_half(a & 0xffff));
}
static uint64_t f16_u16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_near((uint16_t)a, mode >> 2 & 3);
}
static uint64_t f16_i16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return half_near((int16_t)a, mode >> 2 & 3);
}
static uint64_t u16_f16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate(as_half(a & 0xffff), 0, UINT16_MAX);
}
static uint64_t i16_f16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return saturate(as_half(a & 0xffff), INT16_MIN, INT16_MAX);
}
static uint64_t toward_zero(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return half_near((double)as_float(a), 3) | half_near((double)as_float(b), 3) << 16;
}

static uint64_t snorm(double value) {
  return saturate(rint((double)(float)(fmax(-1, fmin(1, value)) * 32767)), -32767, 32767) & 0xffff;
}
static uint64_t unorm(double value) {
  return saturate(rint((double)(float)(fmax(0, fmin(1, value)) * 65535)), 0, 65535);
}
static uint64_t snorm_nan(double value) { return isnan(value) ? 0 : snorm(value); }
static uint64_t unorm_nan(double value) { return isnan(value) ? 0 : unorm(value); }
static uint64_t norm_i16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return snorm_nan(as_half(a & 0xffff));
}
static uint64_t norm_u16(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return unorm_nan(as_half(a & 0xffff));
}
static uint64_t norm_i16_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return snorm_nan((double)as_float(a)) | snorm_nan((double)as_float(b)) << 16;
}
static uint64_t norm_u16_f32(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return unorm_nan((double)as_float(a)) | unorm_nan((double)as_float(b)) << 16;
}
static uint64_t norm_i16_f16(uint64_t a, uint64_t b, uint64_t c) { return norm_i16(a, 0, c) | norm_i16(b, 0, c) << 16; }
static uint64_t norm_u16_f16(uint64_t a, uint64_t b, uint64_t c) { return norm_u16(a, 0, c) | norm_u16(b, 0, c) << 16; }

static uint64_t insert_byte(uint64_t a, uint64_t b, uint64_t c) {
  const unsigned shift = 8 * (b & 3);
  return (c & ~(UINT64_C(255) << shift)) | saturate((double)as_float(a), 0, 255) << shift;
}
static uint64_t clip(int64_t value, int64_t low, int64_t high) {
  return (uint64_t)(value < low ? low : value > high ? high : value);
}
static uint64_t pack_i16(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return (clip((int32_t)a, INT16_MIN, INT16_MAX) & 0xffff) | (clip((int32_t)b, INT16_MIN, INT16_MAX) & 0xffff) << 16;
}
static uint64_t pack_u16(uint64_t a, uint64_t b, uint64_t c) {
  (void)c;
  return clip((uint32_t)a, 0, UINT16_MAX) | clip((uint32_t)b, 0, UINT16_MAX) << 16;
}
static uint64_t pack_u8(uint64_t a, uint64_t b, uint64_t c) {
  (void)b, (void)c;
  return clip((int16_t)a, 0, 255) | clip((int16_t)(a >> 16), 0, 255) << 8;
}

static const struct row_test ROWS[] = {
    {OPCODE_v_cvt_f32_i32, "fi", f32_i32, 0, false},
    {OPCODE_v_cvt_f32_u32, "fi", f32_u32, 0, false},
    {OPCODE_v_cvt_i32_f32, "if", i32_f32, 0, false},
    {OPCODE_v_cvt_u32_f32, "if", u32_f32, 0, false},
    {OPCODE_v_cvt_flr_i32_f32, "if", i32_down, 0, false},
    {OPCODE_v_cvt_rpi_i32_f32, "if", i32_near, 0, false},
    {OPCODE_v_cvt_f64_i32, "di", f64_i32, 0, false},
    {OPCODE_v_cvt_f64_u32, "di", f64_u32, 0, false},
    {OPCODE_v_cvt_i32_f64, "id", i32_f64, 0, false},
    {OPCODE_v_cvt_u32_f64, "id", u32_f64, 0, false},
    {OPCODE_v_cvt_f64_f32, "df", f64_f32, 0, false},
    {OPCODE_v_cvt_f32_f64, "fd", f32_f64, 0, false},
    {OPCODE_v_cvt_f32_ubyte0, "fi", byte0, 0, false},
    {OPCODE_v_cvt_f32_ubyte1, "fi", byte1, 0, false},
    {OPCODE_v_cvt_f32_ubyte2, "fi", byte2, 0, false},
    {OPCODE_v_cvt_f32_ubyte3, "fi", byte3, 0, false},
    {OPCODE_v_cvt_off_f32_i4, "fi", offset, 0, false},
    {OPCODE_v_cvt_f32_f16, "fh", f32_f16, 0, false},
    {OPCODE_v_cvt_f16_f32, "hf", f16_f32, 0, false},
    {OPCODE_v_cvt_f16_u16, "hi", f16_u16, 0, false},
    {OPCODE_v_cvt_f16_i16, "hi", f16_i16, 0, false},
    {OPCODE_v_cvt_u16_f16, "sh", u16_f16, 0, false},
    {OPCODE_v_cvt_i16_f16, "sh", i16_f16, 0, false},
    {OPCODE_v_cvt_norm_i16_f16, "sh", norm_i16, 0, false},
    {OPCODE_v_cvt_norm_u16_f16, "sh", norm_u16, 0, false},
    {OPCODE_v_cvt_pkrtz_f16_f32, "pff", toward_zero, 0, false},
    {OPCODE_v_cvt_pknorm_i16_f32, "iff", norm_i16_f32, 0, false},
    {OPCODE_v_cvt_pknorm_u16_f32, "iff", norm_u16_f32, 0, false},
    {OPCODE_v_cvt_pknorm_i16_f16, "ihh", norm_i16_f16, 0, false},
    {OPCODE_v_cvt_pknorm_u16_f16, "ihh", norm_u16_f16, 0, false},
    {OPCODE_v_cvt_pk_u8_f32, "ifii", insert_byte, 0, false},
    {OPCODE_v_cvt_pk_i16_i32, "iii", pack_i16, 0, false},
    {OPCODE_v_cvt_pk_u16_u32, "iii", pack_u16, 0, false},
    {OPCODE_v_sat_pk_u8_i16, "si", pack_u8, 0, false},
};

START_TEST(rows_mean_what_the_isa_says) {
  const unsigned level = (unsigned)_i / COUNT_OF(ROWS);
  if (!level_runs(level)) return;
  row_test_all(&ROWS[(unsigned)_i % COUNT_OF(ROWS)], tables[level], level, 2000);
}
END_TEST

START_TEST(rounding_to_half_follows_mode) {
  static const struct row_test directed[] = {{OPCODE_v_cvt_f16_f32, "hf", f16_f32, 0, false},
                                             {OPCODE_v_cvt_f16_i16, "hi", f16_i16, 0, false}};
  mode = MODE_DEFAULT | (unsigned)_i << 2;
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++)
    for (unsigned i = 0; i < COUNT_OF(directed); i++) row_test_all(&directed[i], tables[level], level, 1000);
}
END_TEST

/* Around every half: itself, and what lies just beside it and beside the middle to the next. */
START_TEST(every_half_comes_back) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    const struct row_test test = {OPCODE_v_cvt_f16_f32, "hf", f16_f32, 0, false};
    for (unsigned half = 0; half < 0x7c00; half += 6) {
      uint64_t in[3][SOFT_LANES] = {{0}};
      for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
        const unsigned which = half + lane / 6 % 6;
        const double low = as_half(which), high = which >= 0x7bff ? 65536 : as_half(which + 1);
        const float value = (float)(lane % 6 < 3 ? low : (low + high) / 2);
        const float moved = lane % 3 == 0 ? nextafterf(value, -1) : lane % 3 == 1 ? value : nextafterf(value, 1e9F);
        in[0][lane] = of_float(lane & 1 ? -moved : moved);
      }
      row_run(&test, tables[level], level, (const uint64_t(*)[SOFT_LANES])in, SOFT_LANES);
    }
  }
}
END_TEST

START_TEST(a_half_result_leaves_the_high_half) {
  for (unsigned level = 0; level < LEVELS && level_runs(level); level++) {
    const struct instruction instruction = instruction_of(OPCODE_v_cvt_f16_f32, "hf", false);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      wave->v[10][lane] = 0xabcd1234;
      wave->v[20][lane] = 0x3f800000;
    }
    wave->s[SREG_EXEC_LO] = 0x00ff00ff;
    step(tables[level], &instruction);
    wave->s[SREG_EXEC_LO] = UINT32_MAX;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      ck_assert_uint_eq(wave->v[10][lane], lane & 8 ? 0xabcd1234 : 0xabcd3c00);
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("rows");
  tcase_add_loop_test(tcase, rows_mean_what_the_isa_says, 0, (int)(LEVELS * COUNT_OF(ROWS)));
  tcase_add_loop_test(tcase, rounding_to_half_follows_mode, 1, 4);
  tcase_add_test(tcase, every_half_comes_back);
  tcase_add_test(tcase, a_half_result_leaves_the_high_half);
  return rows_main("vector_convert", tcase);
}
