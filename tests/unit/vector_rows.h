/* Rows of the vector families against references: one instruction on a bare wave, all levels that this CPU can run. */
#ifndef HRX_TESTS_VECTOR_ROWS_H
#define HRX_TESTS_VECTOR_ROWS_H

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/soft/operation.h"

enum { LEVELS = 3, MODE_DEFAULT = 0x3f0 };

static struct wave *wave;
static uint32_t mode = MODE_DEFAULT;

static inline bool level_runs(unsigned level) {
  return level == 0 || (level == 1 ? __builtin_cpu_supports("x86-64-v3") : __builtin_cpu_supports("x86-64-v4")) != 0;
}

static inline void rows_setup(void) {
  wave = aligned_alloc(64, (sizeof *wave + 63) / 64 * 64);
  ck_assert_ptr_nonnull(wave);
  memset(wave, 0, sizeof *wave);
  wave->s[SREG_EXEC_LO] = UINT32_MAX;
  mode = MODE_DEFAULT;
}
static inline void rows_teardown(void) { free(wave); }

static inline struct operand vgpr(unsigned index, unsigned registers) {
  return (struct operand){
      .kind = OPERAND_VGPR, .index = (uint16_t)index, .registers = (uint8_t)registers, .select = SDWA_DWORD};
}
static inline struct operand sgpr(unsigned index) {
  return (struct operand){.kind = OPERAND_SGPR, .index = (uint16_t)index, .registers = 1, .select = SDWA_DWORD};
}

static inline void register_set(unsigned index, unsigned registers, unsigned lane, uint64_t value) {
  wave->v[index][lane] = (uint32_t)value;
  if (registers == 2) wave->v[index + 1][lane] = (uint32_t)(value >> 32);
}
static inline uint64_t register_get(unsigned index, unsigned registers, unsigned lane) {
  return registers == 2 ? (uint64_t)wave->v[index + 1][lane] << 32 | wave->v[index][lane] : wave->v[index][lane];
}

/* What follows the operation: handlers may go on to it by themselves. */
static inline const struct operation *stop(struct wave *stopped, const struct operation *operation) {
  (void)stopped;
  return operation;
}

/* Binds and runs one instruction. */
static inline void step(const struct binding_table *table, const struct instruction *instruction) {
  struct operation operations[2] = {{0}, {.handler = stop}};
  for (unsigned i = 0; i < table->count; i++) {
    const struct binding *row = &table->rows[i];
    if (row->opcode != instruction->opcode) continue;
    operations[0].instruction = instruction;
    operations[0].handler = row->handler;
    if (row->bind(row, instruction, operations) != HRX_OK) ck_abort_msg("%s: cannot bind", opcode_name(row->opcode));
    wave->mode = mode;
    if (operations[0].handler(wave, operations) != operations + 1) ck_abort_msg("%s: stopped", opcode_name(row->opcode));
    return;
  }
  ck_abort_msg("no row for %s", opcode_name(instruction->opcode));
}

/* The usual registers: result v10, sources v20, v22, v24. */
static inline struct instruction instruction_of(enum opcode opcode, const char *signature, bool accumulate) {
  struct instruction instruction = {.opcode = opcode,
                                    .destination_count = 1,
                                    .form = FORM_E64,
                                    .sdwa_destination = SDWA_DWORD,
                                    .op_sel_hi = 0,
                                    .dpp_row_mask = 0xf,
                                    .dpp_bank_mask = 0xf};
  const bool packed = strchr(signature, 'p') != NULL;
  if (packed) instruction.op_sel_hi = 7;
  const unsigned sources = (unsigned)strlen(signature) - 1 - (accumulate ? 1 : 0);
  instruction.operands[0] = vgpr(10, signature[0] == 'd' ? 2 : 1);
  for (unsigned i = 0; i < sources; i++)
    instruction.operands[i + 1] = vgpr(20 + 2 * i, signature[i + 1] == 'd' ? 2 : 1);
  instruction.operand_count = (uint8_t)(sources + 1);
  return instruction;
}

/* How a result is compared. Letters of a signature, result first: d double, f float, h half (low 16 bits), i and u bits
 * (u: of the low 16 bits when the row is 16 bits wide: 's'), p pair of halves. */
struct row_test {
  enum opcode opcode;
  const char *signature;
  uint64_t (*reference)(uint64_t a, uint64_t b, uint64_t c);
  double ulps;     /* allowed; 0: equal bits, but any NaN for a NaN */
  bool accumulate; /* the last source is the destination */
};

static inline float as_float(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}
static inline uint64_t of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double as_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
/* Independent of the code under test: by value, not by bits. */
static inline double as_half(uint64_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? (double)NAN : sign * INFINITY;
  return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static inline bool same_float(uint64_t got, uint64_t wanted, double ulps) {
  const float a = as_float(got), b = as_float(wanted);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (got == wanted) return true;
  if (ulps == 0 || isinf(a) || isinf(b) || signbit(a) != signbit(b)) return false;
  return fabs((double)(int32_t)got - (double)(int32_t)wanted) <= ulps;
}
static inline bool same_double(uint64_t got, uint64_t wanted, double ulps) {
  const double a = as_double(got), b = as_double(wanted);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (got == wanted) return true;
  if (ulps == 0 || isinf(a) || isinf(b) || signbit(a) != signbit(b)) return false;
  return fabs((double)((int64_t)got - (int64_t)wanted)) <= ulps;
}
static inline bool same_half(uint64_t got, uint64_t wanted, double ulps) {
  const double a = as_half(got & 0xffff), b = as_half(wanted & 0xffff);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if ((got & 0xffff) == (wanted & 0xffff)) return true;
  return fabs((double)(int)(got & 0xffff) - (double)(int)(wanted & 0xffff)) <= ulps;
}
static inline bool same(char type, uint64_t got, uint64_t wanted, double ulps) {
  switch (type) {
  case 'd': return same_double(got, wanted, ulps);
  case 'f': return same_float(got, wanted, ulps);
  case 'h': return same_half(got, wanted, ulps);
  case 'p': return same_half(got, wanted, ulps) && same_half(got >> 16, wanted >> 16, ulps);
  case 's': return (got & 0xffff) == (wanted & 0xffff);
  default: return (uint32_t)got == (uint32_t)wanted;
  }
}

static const uint32_t FLOAT_SPECIALS[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x3f800000,
    0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffa00000, 0x4b000000, 0x4affffff, 0x4f000000, 0xcf000000,
    0x4f800000, 0x3f7fffff, 0x3f800001, 0x5f000000, 0x7e800000, 0x7f000000, 0x0c000000};
static const uint64_t DOUBLE_SPECIALS[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff,
    0x0010000000000000, 0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
    0xbfe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0xc004000000000000, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
    0x7ff0000000000001, 0x4330000000000000, 0x432fffffffffffff, 0xc32fffffffffffff, 0x41e0000000000000,
    0xc1e0000000000000, 0x41f0000000000000, 0x3fefffffffffffff, 0xc1e00000001fffff, 0x7fd0000000000001};
static const uint32_t HALF_SPECIALS[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400,
                                         0x3c00, 0xbc00, 0x3800, 0xb800, 0x3e00, 0x4100, 0xc100, 0x7bff,
                                         0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0xfd00, 0x3bff,
                                         0x3c01, 0x6400, 0x63ff, 0x7800, 0x1400, 0x5555};
static const uint32_t INTEGER_SPECIALS[] = {
    0,    1,    2,          3,          0xffffffff, 0x7fffffff, 0x80000000, 0xfffffffe, 127,
    128,  255,  256,        0x7fff,     0x8000,     0xffff,     0x10000,    0xffff8000, 0xffff7fff,
    1074, 2047, 0xfffffb00, 0xffffff80, 24,         0xffffffe8, 0x12345678, 0x00ffffff, 0x01000001};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static uint64_t random_state = 0x9e3779b97f4a7c15;
static inline uint64_t random_bits(void) {
  uint64_t x = random_state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  random_state = x;
  return x * 0x2545f4914f6cdd1d;
}

static inline unsigned special_count(char type) {
  return type == 'd'                  ? COUNT_OF(DOUBLE_SPECIALS)
         : type == 'f'                ? COUNT_OF(FLOAT_SPECIALS)
         : type == 'h' || type == 'p' ? COUNT_OF(HALF_SPECIALS)
                                      : COUNT_OF(INTEGER_SPECIALS);
}
static inline uint64_t special_of(char type, unsigned index) {
  switch (type) {
  case 'd': return DOUBLE_SPECIALS[index];
  case 'f': return FLOAT_SPECIALS[index];
  case 'h': return HALF_SPECIALS[index] | random_bits() << 16;
  case 'p': return HALF_SPECIALS[index] | (uint64_t)HALF_SPECIALS[(index + 11) % COUNT_OF(HALF_SPECIALS)] << 16;
  default: return INTEGER_SPECIALS[index];
  }
}
/* Any bits, or near one, where most values of programs lie. */
static inline uint64_t random_of(char type) {
  const uint64_t bits = random_bits();
  const bool near_one = random_bits() & 1;
  if (type == 'd' && near_one)
    return of_double(as_double((bits & 0x800fffffffffffff) | 0x3fe0000000000000) * (double)(1 << (random_bits() & 15)));
  if (type == 'f' && near_one)
    return of_float(as_float((uint32_t)((bits & 0x807fffff) | 0x3f000000)) * (float)(1 << (random_bits() & 15)));
  if (type == 'i' && near_one) return (uint64_t)((int64_t)(bits & 1023) - 512);
  return type == 'd' ? bits : bits & UINT32_MAX;
}

static inline void row_check(const struct row_test *test, unsigned level, const uint64_t in[3][SOFT_LANES],
                             unsigned lanes) {
  const bool wide = test->signature[0] == 'd';
  for (unsigned lane = 0; lane < lanes; lane++) {
    const uint64_t got = register_get(10, wide ? 2 : 1, lane);
    const uint64_t wanted = test->reference(in[0][lane], in[1][lane], in[2][lane]);
    if (!same(test->signature[0], got, wanted, test->ulps)) /* Check's assertions write to a file each time */
      ck_abort_msg("%s, level %u: of 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 " is 0x%" PRIx64
                   ", should be 0x%" PRIx64,
                   opcode_name(test->opcode), level, in[0][lane], in[1][lane], in[2][lane], got, wanted);
  }
}

static inline void row_run(const struct row_test *test, const struct binding_table *table, unsigned level,
                           const uint64_t in[3][SOFT_LANES], unsigned lanes) {
  const unsigned sources = (unsigned)strlen(test->signature) - 1;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    for (unsigned i = 0; i < sources; i++)
      register_set(test->accumulate && i == sources - 1 ? 10 : 20 + 2 * i, test->signature[i + 1] == 'd' ? 2 : 1, lane,
                   in[i][lane]);
  }
  const struct instruction instruction = instruction_of(test->opcode, test->signature, test->accumulate);
  step(table, &instruction);
  row_check(test, level, in, lanes);
}

/* Specials with specials, then random values. */
static inline void row_test_all(const struct row_test *test, const struct binding_table *table, unsigned level,
                                unsigned random_rounds) {
  const unsigned sources = (unsigned)strlen(test->signature) - 1;
  unsigned counts[3] = {1, 1, 1}, lanes = 0;
  uint64_t in[3][SOFT_LANES] = {{0}};
  for (unsigned i = 0; i < sources; i++) counts[i] = special_count(test->signature[i + 1]);
  const unsigned total = counts[0] * counts[1] * counts[2];
  for (unsigned n = 0; n < total; n++) {
    unsigned rest = n;
    for (unsigned i = 0; i < sources; i++) {
      in[i][lanes] = special_of(test->signature[i + 1], rest % counts[i]);
      rest /= counts[i];
    }
    if (++lanes < SOFT_LANES && n + 1 < total) continue;
    row_run(test, table, level, in, lanes);
    lanes = 0;
  }
  for (unsigned n = 0; n < random_rounds; n++) {
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      for (unsigned i = 0; i < sources; i++) in[i][lane] = random_of(test->signature[i + 1]);
    row_run(test, table, level, in, SOFT_LANES);
  }
}

/* Runs a list of tests as one Check loop test a level. */
#define ROWS_TABLES(family)                                                                                            \
  static const struct binding_table *const tables[LEVELS] = {&family##_table_baseline, &family##_table_v3,             \
                                                             &family##_table_v4};

static inline int rows_main(const char *name, TCase *tcase) {
  Suite *suite = suite_create(name);
  tcase_add_checked_fixture(tcase, rows_setup, rows_teardown);
  tcase_set_timeout(tcase, 60);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
