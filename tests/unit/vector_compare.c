/* Comparisons and class tests to SGPRs, VCC and EXEC, with every predicate and type, against one relation of the values. */
#include <math.h>

#include "tests/unit/vector_wave.h"

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };
enum number { UNSIGNED, SIGNED, FLOATING };

struct comparison {
  enum opcode to_mask, to_exec;
  uint8_t bits, number, truth; /* truth: the relations for which it holds */
};

#define BOTH(name) OPCODE_v_cmp_##name, OPCODE_v_cmpx_##name
#define INTEGERS(type, bits, number) \
  {BOTH(lt_##type), bits, number, 1}, {BOTH(eq_##type), bits, number, 2}, {BOTH(le_##type), bits, number, 3}, \
  {BOTH(gt_##type), bits, number, 4}, {BOTH(ne_##type), bits, number, 5}, {BOTH(ge_##type), bits, number, 6},
#define CONSTANTS(type, bits, number) {BOTH(f_##type), bits, number, 0}, {BOTH(t_##type), bits, number, 7},
#define FLOATS(type, bits) \
  {BOTH(f_##type), bits, FLOATING, 0}, {BOTH(lt_##type), bits, FLOATING, 1}, {BOTH(eq_##type), bits, FLOATING, 2}, \
  {BOTH(le_##type), bits, FLOATING, 3}, {BOTH(gt_##type), bits, FLOATING, 4}, {BOTH(lg_##type), bits, FLOATING, 5}, \
  {BOTH(ge_##type), bits, FLOATING, 6}, {BOTH(o_##type), bits, FLOATING, 7}, {BOTH(u_##type), bits, FLOATING, 8}, \
  {BOTH(nge_##type), bits, FLOATING, 9}, {BOTH(nlg_##type), bits, FLOATING, 10}, {BOTH(ngt_##type), bits, FLOATING, 11}, \
  {BOTH(nle_##type), bits, FLOATING, 12}, {BOTH(neq_##type), bits, FLOATING, 13}, {BOTH(nlt_##type), bits, FLOATING, 14}, \
  {BOTH(tru_##type), bits, FLOATING, 15},

static const struct comparison comparisons[] = {
  INTEGERS(i16, 16, SIGNED) INTEGERS(u16, 16, UNSIGNED) INTEGERS(i32, 32, SIGNED) INTEGERS(u32, 32, UNSIGNED)
  INTEGERS(i64, 64, SIGNED) INTEGERS(u64, 64, UNSIGNED) CONSTANTS(i32, 32, SIGNED) CONSTANTS(u32, 32, UNSIGNED)
  CONSTANTS(i64, 64, SIGNED) CONSTANTS(u64, 64, UNSIGNED) FLOATS(f16, 16) FLOATS(f32, 32) FLOATS(f64, 64)};

static double half_value(uint64_t bits) {
  const int exponent = (int)(bits >> 10 & 31);
  const double fraction = (double)(bits & 0x3ff);
  double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction != 0 ? NAN : INFINITY;
  return bits & 0x8000 ? -value : value;
}

static double number_value(uint64_t bits, unsigned width) {
  if (width == 16) return half_value(bits);
  double wide;
  float narrow;
  const uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return width == 32 ? (double)narrow : wide;
}

static unsigned relation(uint64_t a, uint64_t b, const struct comparison *comparison) {
  const unsigned up = 64 - comparison->bits;
  if (comparison->number == FLOATING) {
    const double x = number_value(a, comparison->bits), y = number_value(b, comparison->bits);
    return x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
  }
  if (comparison->number == UNSIGNED) return a < b ? LESS : a > b ? GREATER : EQUAL;
  const int64_t x = (int64_t)(a << up), y = (int64_t)(b << up);
  return x < y ? LESS : x > y ? GREATER : EQUAL;
}

static uint64_t signs_modified(uint64_t value, const struct operand *operand, unsigned bits) {
  const uint64_t sign = UINT64_C(1) << (bits - 1);
  if (operand->absolute) value &= ~sign;
  return operand->negate ? value ^ sign : value;
}

/* Makes b equal to a in some lanes: random values hardly ever are. */
static void make_equal(unsigned a, unsigned b) {
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    if (random_bits() % 4 == 0) memcpy(&wave->v[b][lane], &wave->v[a][lane], 4), wave->v[b + 1][lane] = wave->v[a + 1][lane];
}

static void comparison_trial(const struct comparison *comparison, unsigned kinds, bool to_exec) {
  struct operand operands[3] = {random_bits() % 2 ? sgpr(20) : sgpr(SREG_VCC_LO), vgpr(4), vgpr(8)};
  struct operand *a = &operands[1], *b = &operands[2];
  if (kinds % 3 == 1) *a = sgpr(4);
  if (kinds % 3 == 2) *a = constant(comparison->number == FLOATING ? 0 : 1);
  if (kinds / 3 % 3 == 1) *b = sgpr(8);
  if (kinds / 3 % 3 == 2) *b = constant(0);
  if (comparison->number == FLOATING && kinds / 9 % 2 == 1) {
    a->negate = random_bits() & 1, a->absolute = random_bits() & 1;
    b->negate = random_bits() & 1, b->absolute = random_bits() & 1;
  }
  const struct instruction instruction =
      to_exec ? instruction_of(comparison->to_exec, 0, 2, operands + 1) : instruction_of(comparison->to_mask, 1, 3, operands);
  wave_fill();
  make_equal(4, 8);
  wave_step(&instruction);
  uint32_t mask = 0;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const uint64_t x = signs_modified(lane_value(a, lane, comparison->bits), a, comparison->bits);
    const uint64_t y = signs_modified(lane_value(b, lane, comparison->bits), b, comparison->bits);
    const bool holds = (relation(x, y, comparison) & comparison->truth) != 0;
    mask |= (uint32_t)(holds && in_exec(lane)) << lane;
  }
  expected->s[to_exec ? SREG_EXEC_LO : operands[0].index] = mask;
  wave_check(&instruction, "comparison");
}

START_TEST(every_predicate_of_every_type) {
  if (!wave_open(_i)) return;
  for (unsigned i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
    for (unsigned trial = 0; trial < 18 * 2 * 4; trial++) comparison_trial(&comparisons[i], trial % 18, trial / 18 % 2);
}
END_TEST

/* The bit that the class mask must have for a number. */
static unsigned class_of(uint64_t bits, unsigned width) {
  const unsigned fraction_bits = width == 16 ? 10 : width == 32 ? 23 : 52;
  const bool negative = bits >> (width - 1) & 1;
  const uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
  const uint64_t exponent = bits >> fraction_bits & ((UINT64_C(1) << (width - 1 - fraction_bits)) - 1);
  const uint64_t highest = (UINT64_C(1) << (width - 1 - fraction_bits)) - 1;
  if (exponent == highest && fraction != 0) return fraction >> (fraction_bits - 1) & 1;
  if (exponent == highest) return negative ? 2 : 9;
  if (exponent != 0) return negative ? 3 : 8;
  if (fraction != 0) return negative ? 4 : 7;
  return negative ? 5 : 6;
}

START_TEST(classes_are_told_apart) {
  static const struct comparison classes[] = {
      {BOTH(class_f16), 16, FLOATING, 0}, {BOTH(class_f32), 32, FLOATING, 0}, {BOTH(class_f64), 64, FLOATING, 0}};
  if (!wave_open(_i)) return;
  for (unsigned trial = 0; trial < 3 * 400; trial++) {
    const struct comparison *comparison = &classes[trial % 3];
    struct operand operands[3] = {sgpr(20), vgpr(4), trial % 2 ? vgpr(8) : constant(1 << trial / 3 % 10)};
    operands[1].negate = trial % 7 == 0;
    operands[1].absolute = trial % 11 == 0;
    const bool to_exec = trial % 5 == 0;
    const struct instruction instruction =
        to_exec ? instruction_of(comparison->to_exec, 0, 2, operands + 1) : instruction_of(comparison->to_mask, 1, 3, operands);
    wave_fill();
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      static const uint32_t tops[] = {0, 0x80000000, 0x7ff00000, 0xfff00000, 0x7ff80000, 0x00000001, 0x80000001};
      if (comparison->bits == 64 && lane % 2) wave->v[5][lane] = tops[random_bits() % 7];
      if (comparison->bits == 64 && lane % 4 == 3) wave->v[4][lane] = random_bits() & 1;
    }
    wave_step(&instruction);
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const uint64_t value = signs_modified(lane_value(&operands[1], lane, comparison->bits), &operands[1], comparison->bits);
      const uint64_t wanted = lane_value(&operands[2], lane, 32);
      mask |= (uint32_t)((wanted >> class_of(value, comparison->bits) & 1) && in_exec(lane)) << lane;
    }
    expected->s[to_exec ? SREG_EXEC_LO : 20] = mask;
    wave_check(&instruction, "class");
  }
}
END_TEST

START_TEST(sdwa_compares_parts) {
  if (!wave_open(_i)) return;
  for (unsigned trial = 0; trial < 200; trial++) {
    struct operand operands[3] = {trial % 2 ? sgpr(SREG_VCC_LO) : sgpr(20), vgpr(4), vgpr(8)};
    operands[1].select = SDWA_BYTE_1;
    operands[1].sext = true;
    operands[2].select = SDWA_WORD_1;
    struct instruction instruction = instruction_of(OPCODE_v_cmp_lt_i32, 1, 3, operands);
    instruction.form = FORM_SDWA;
    wave_fill();
    wave_step(&instruction);
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const int32_t a = (int8_t)(expected->v[4][lane] >> 8), b = (int32_t)(expected->v[8][lane] >> 16);
      mask |= (uint32_t)(a < b && in_exec(lane)) << lane;
    }
    expected->s[operands[0].index] = mask;
    wave_check(&instruction, "sdwa");
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vector_compare");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, every_predicate_of_every_type, 0, LEVELS);
  tcase_add_loop_test(tests, classes_are_told_apart, 0, LEVELS);
  tcase_add_loop_test(tests, sdwa_compares_parts, 0, LEVELS);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
