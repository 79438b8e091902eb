/* A bare wave for tests of memory operations: one instruction is bound and run, on each level that this CPU can run. */
#ifndef HRX_TESTS_MEMORY_WAVE_H
#define HRX_TESTS_MEMORY_WAVE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/soft/access.h"
#include "gpu/soft/operation.h"

static const struct binding_table *const *level_tables;
static int level; /* set by each test from its loop */
static struct wave *wave;
static struct workgroup group;

static inline bool level_runs(int which) {
  return which == 0 || (which == 1 ? __builtin_cpu_supports("x86-64-v3") : __builtin_cpu_supports("x86-64-v4")) != 0;
}

static inline void wave_setup(void) {
  wave = aligned_alloc(64, (sizeof *wave + 63) / 64 * 64);
  ck_assert_ptr_nonnull(wave);
  memset(wave, 0, sizeof *wave);
  for (unsigned r = 0; r < 256; r++)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[r][lane] = 0xa0000000u + r * 256 + lane;
  wave->s[SREG_EXEC_LO] = UINT32_MAX;
  group.lds_bytes = 4096;
  group.lds = aligned_alloc(64, group.lds_bytes + 64);
  memset(group.lds, 0, group.lds_bytes + 64);
  wave->group = &group;
  wave->lds = group.lds;
  wave->lds_bytes = group.lds_bytes;
  wave->scratch_bytes_lane = 256;
  wave->scratch = aligned_alloc(64, 256 * SOFT_LANES);
  memset(wave->scratch, 0, 256 * SOFT_LANES);
}

static inline void wave_teardown(void) {
  free(wave->scratch);
  free(group.lds);
  free(wave);
}

/* Lets the wave use [memory, memory + bytes). */
static inline void wave_allow(unsigned slot, const void *memory, size_t bytes, bool writable) {
  wave->spans[slot] = (struct span){(uintptr_t)memory, (uintptr_t)memory + bytes, writable};
}

static inline struct operand vgpr(unsigned index, unsigned count) {
  return (struct operand){.kind = OPERAND_VGPR, .index = (uint16_t)index, .registers = (uint8_t)count, .select = SDWA_DWORD};
}
static inline struct operand sgpr(unsigned index, unsigned count) {
  return (struct operand){.kind = OPERAND_SGPR, .index = (uint16_t)index, .registers = (uint8_t)count, .select = SDWA_DWORD};
}
static inline struct operand off(void) { return (struct operand){.kind = OPERAND_OFF, .select = SDWA_DWORD}; }
static inline struct operand number(uint64_t value) {
  return (struct operand){.kind = OPERAND_CONSTANT, .value = value, .registers = 1, .select = SDWA_DWORD};
}

static inline hrx_status wave_bind(const struct instruction *instruction, struct operation *out) {
  const struct binding_table *table = level_tables[level];
  for (unsigned i = 0; i < table->count; i++)
    if (table->rows[i].opcode == instruction->opcode) {
      memset(out, 0, sizeof *out);
      out->instruction = instruction;
      out->handler = table->rows[i].handler;
      return table->rows[i].bind(&table->rows[i], instruction, out);
    }
  ck_abort_msg("no row for %s", opcode_name(instruction->opcode));
}

/* True if the operation went on to the next one. */
static inline bool wave_step(const struct instruction *instruction) {
  struct operation operation;
  ck_assert_int_eq(wave_bind(instruction, &operation), HRX_OK);
  const struct operation *next = operation.handler(wave, &operation);
  ck_assert(next == &operation + 1 || next == NULL);
  return next != NULL;
}

static inline void address_set(unsigned index, unsigned lane, const void *address) {
  wave->v[index][lane] = (uint32_t)(uintptr_t)address;
  wave->v[index + 1][lane] = (uint32_t)((uintptr_t)address >> 32);
}

static inline int run_suite(const char *name, const struct binding_table *const *tables, const TTest *const *tests, int count) {
  level_tables = tables;
  Suite *suite = suite_create(name);
  TCase *cases = tcase_create(name);
  tcase_add_checked_fixture(cases, wave_setup, wave_teardown);
  for (int which = 0; which < 3; which++)
    for (int i = 0; i < count && level_runs(which); i++) tcase_add_loop_test(cases, tests[i], which, which + 1);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* main of a family's test. */
#define RUN_FAMILY(family, ...)                                                                                     \
  int main(void) {                                                                                                  \
    static const struct binding_table *const tables[] = {&family##_table_baseline, &family##_table_v3, &family##_table_v4}; \
    const TTest *const tests[] = {__VA_ARGS__};                                                                     \
    return run_suite(#family, tables, tests, (int)(sizeof tests / sizeof *tests));                                  \
  }

#endif
