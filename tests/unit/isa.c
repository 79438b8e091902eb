/* What each instruction of gfx1030 does, on a bare wave, at every vector level that this CPU runs. The expected results
 * are written after the "RDNA 2" ISA document, apart from the code that is tested. isa/harness.h explains the cases. */
#include "isa/harness.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/soft/level.h"
#include "gpu/soft/texture.h"
#include "isa/harness.inc"

/* Cases are formulas as the ISA document writes them. */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wparentheses"

/* RDNA2 ISA, V_PERM_B32: bytes 0 to 3 are of the second source, 4 to 7 of the first */
static uint32_t permuted(uint32_t high, uint32_t low, uint32_t selectors) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned selector = selectors >> 8 * i & 255;
    uint64_t data = (uint64_t)high << 32 | low;
    uint32_t byte = selector < 8     ? (uint32_t)(data >> 8 * selector & 255)
                    : selector < 12  ? (data >> (selector - 8) * 16 >> 15 & 1) * 255
                    : selector == 12 ? 0
                                     : 255;
    result |= byte << 8 * i;
  }
  return result;
}

/* RDNA2 ISA, V_CMP_CLASS_F32 */
static bool class32(uint32_t bits, uint32_t wanted) {
  bool negative = bits >> 31, quiet = (bits & 0x400000) != 0;
  unsigned class = 0;
  switch (fpclassify(as_float(bits))) {
  case FP_NAN: class = quiet ? 1 : 0; break;
  case FP_INFINITE: class = negative ? 2 : 9; break;
  case FP_NORMAL: class = negative ? 3 : 8; break;
  case FP_SUBNORMAL: class = negative ? 4 : 7; break;
  default: class = negative ? 5 : 6; break;
  }
  return wanted >> class & 1;
}

/* DX10_CLAMP: NaN becomes 0 */
static float clamped(float value) { return value > 0 ? value < 1 ? value : 1 : 0; }

static bool signals(float value) { return isnan(value) && (float_bits(value) & 0x400000) == 0; }
static bool signals64(double value) { return isnan(value) && (double_bits(value) & UINT64_C(0x8000000000000)) == 0; }

/* IEEE mode: a signalling NaN wins, a quiet one loses; -0 is less than +0 */
static float lesser(float x, float y) {
  if (signals(x) || signals(y)) return NAN;
  if (isnan(x)) return y;
  if (isnan(y)) return x;
  if (x == y) return signbit(x) ? x : y;
  return x < y ? x : y;
}
static float greater(float x, float y) {
  if (signals(x) || signals(y)) return NAN;
  if (isnan(x)) return y;
  if (isnan(y)) return x;
  if (x == y) return signbit(x) ? y : x;
  return x > y ? x : y;
}
static double lesser64(double x, double y) {
  if (signals64(x) || signals64(y)) return NAN;
  if (isnan(x)) return y;
  if (isnan(y)) return x;
  if (x == y) return signbit(x) ? x : y;
  return x < y ? x : y;
}
static double greater64(double x, double y) {
  if (signals64(x) || signals64(y)) return NAN;
  if (isnan(x)) return y;
  if (isnan(y)) return x;
  if (x == y) return signbit(x) ? y : x;
  return x > y ? x : y;
}

static bool signals16(uint32_t bits) { return (bits & 0x7fff) > 0x7c00 && (bits & 0x200) == 0; }
static _Float16 lesser16(uint32_t x, uint32_t y) {
  if (signals16(x) || signals16(y)) return (_Float16)NAN;
  return (_Float16)lesser((float)as_half(x), (float)as_half(y));
}
static _Float16 greater16(uint32_t x, uint32_t y) {
  if (signals16(x) || signals16(y)) return (_Float16)NAN;
  return (_Float16)greater((float)as_half(x), (float)as_half(y));
}

static uint32_t to_i32(double value) {
  if (isnan(value)) return 0;
  if (value >= 2147483647.0) return INT32_MAX;
  if (value <= -2147483648.0) return 0x80000000;
  return (uint32_t)(int32_t)value;
}
static uint32_t to_u32(double value) {
  if (isnan(value) || value <= 0) return 0;
  return value >= 4294967295.0 ? UINT32_MAX : (uint32_t)value;
}

static _Float16 fma16(_Float16 x, _Float16 y, _Float16 z) { return (_Float16)((long double)x * y + z); }

#define TOPIC(NAME)                                                                                                    \
  START_TEST(NAME) {                                                                                                   \
    case_failures = 0;
#define TOPIC_END                                                                                                      \
  ck_assert_uint_eq(case_failures, 0);                                                                                 \
  }                                                                                                                    \
  END_TEST

TOPIC(scalar)
#include "isa/scalar_cases.inc"
TOPIC_END
TOPIC(integer)
#include "isa/integer_cases.inc"
TOPIC_END
TOPIC(compare_instructions)
#include "isa/compare_cases.inc"
TOPIC_END
TOPIC(floating)
#include "isa/float_cases.inc"
TOPIC_END
TOPIC(conversions)
#include "isa/convert_cases.inc"
TOPIC_END
TOPIC(lanes)
#include "isa/lane_cases.inc"
TOPIC_END
TOPIC(memory_instructions)
#include "isa/memory_cases.inc"
TOPIC_END

/* Names with encoding, as in programs; without it, as in opcodes.def. */
static const char *const seen_names[] = {
#include "isa/seen.inc"
};
static const char *const first_names[] = {
#include "isa/first.inc"
};
enum { SEEN = sizeof seen_names / sizeof *seen_names, FIRST = sizeof first_names / sizeof *first_names };

static enum opcode opcode_of(const char *name) {
  static const char *const suffixes[] = {"_e32", "_e64", "_sdwa", "_dpp"};
  size_t length = strcspn(name, " ;");
  for (unsigned i = 0; i < 4; i++) {
    size_t cut = strlen(suffixes[i]);
    if (length > cut && strncmp(name + length - cut, suffixes[i], cut) == 0) return opcode_find(name, length - cut);
  }
  return opcode_find(name, length);
}

START_TEST(every_instruction_of_public_programs_is_bound) {
  unsigned missing = 0;
  for (unsigned level = 0; level < 3; level++) {
    const struct soft_level *found = NULL;
    if (soft_level_find(level_names[level], &found) != HRX_OK) continue;
    for (unsigned i = 0; i < SEEN; i++) {
      enum opcode opcode = opcode_of(seen_names[i]);
      ck_assert_msg(opcode != OPCODE_UNKNOWN, "%s is not in opcodes.def", seen_names[i]);
      if (found->bindings[opcode] != NULL) continue;
      fprintf(stderr, "isa: %s has no handler (%s)\n", seen_names[i], level_names[level]);
      missing++;
    }
  }
  ck_assert_uint_eq(missing, 0);
}
END_TEST

/* The first 330 in the order that completes most public programs: a case executes each. */
START_TEST(cases_cover_the_first_instructions) {
  static bool tested[OPCODE_COUNT];
  unsigned covered = 0;
  for (unsigned i = 0; case_text(i) != NULL; i++)
    for (const char *text = case_text(i); text != NULL; text = strchr(text, ';')) {
      text += strspn(text, "; ");
      tested[opcode_of(text)] = true;
    }
  for (unsigned i = 0; i < FIRST; i++) {
    if (tested[opcode_of(first_names[i])])
      covered++;
    else
      printf("isa: no case for %s\n", first_names[i]);
  }
  printf("isa: %u cases; they cover %u of the first %u instructions\n", (unsigned)CASES, covered, (unsigned)FIRST);
  ck_assert_uint_eq(covered, FIRST);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("isa");
  TCase *tests = tcase_create("isa");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, scalar);
  tcase_add_test(tests, integer);
  tcase_add_test(tests, compare_instructions);
  tcase_add_test(tests, floating);
  tcase_add_test(tests, conversions);
  tcase_add_test(tests, lanes);
  tcase_add_test(tests, memory_instructions);
  tcase_add_test(tests, every_instruction_of_public_programs_is_bound);
  tcase_add_test(tests, cases_cover_the_first_instructions);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
