/* Vector operations on a bare wave: an instruction made by hand is bound at one level and run, and what the whole wave should
 * hold afterwards is computed lane by lane from a formula. */
#ifndef HRX_TESTS_UNIT_VECTOR_WAVE_H
#define HRX_TESTS_UNIT_VECTOR_WAVE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/soft/level.h"
#include "gpu/soft/operation.h"

static const char *const level_names[] = {"baseline", "v3", "v4"};
enum { LEVELS = 3 };

static struct wave *wave, *expected;
static const struct soft_level *level;

static uint64_t random_state = 0x9e3779b97f4a7c15;
static uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * 0x2545f4914f6cdd1d;
}

/* Small and extreme values are as likely as any. */
static uint32_t random_word(void) {
  static const uint32_t edges[] = {0, 1, 2, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000,
    0xffffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
    0x7f800001, 0x00000001, 0x007fffff, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0x3c003c00, 0x7ff00000, 0xfff00000, 0x7ff80000};
  const uint64_t bits = random_bits();
  if ((bits >> 60 & 3) == 0) return edges[(bits >> 32) % (sizeof edges / sizeof *edges)];
  return (uint32_t)bits >> (bits >> 62 == 1 ? bits >> 40 & 31 : 0);
}

/* False if this CPU cannot run the level: nothing to test then. */
static bool wave_open(int which) {
  if (soft_level_find(level_names[which], &level) != HRX_OK) {
    ck_assert_int_ne(which, 0); /* every CPU has the baseline */
    return false;
  }
  if (wave == NULL) {
    wave = aligned_alloc(64, sizeof *wave);
    expected = aligned_alloc(64, sizeof *expected);
    ck_assert(wave != NULL && expected != NULL);
    memset(wave, 0, sizeof *wave);
  }
  wave->mode = 0x3f0;
  return true;
}

/* Random registers below v32 and s32, VCC, and EXEC: all, some or none. */
static void wave_fill(void) {
  for (unsigned r = 0; r < 32; r++)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[r][lane] = random_word();
  for (unsigned r = 0; r < 32; r++) wave->s[r] = random_word();
  const unsigned kind = random_bits() % 8;
  wave->s[SREG_VCC_LO] = (uint32_t)random_bits();
  wave->s[SREG_EXEC_LO] = kind < 3 ? UINT32_MAX : kind == 3 ? 0 : (uint32_t)random_bits();
}

static struct operand vgpr(unsigned index) {
  return (struct operand){.kind = OPERAND_VGPR, .registers = 1, .index = (uint16_t)index, .select = SDWA_DWORD};
}
static struct operand sgpr(unsigned index) {
  return (struct operand){.kind = OPERAND_SGPR, .registers = 1, .index = (uint16_t)index, .select = SDWA_DWORD};
}
static struct operand constant(int64_t value) {
  return (struct operand){.kind = OPERAND_CONSTANT, .registers = 1, .select = SDWA_DWORD, .value = (uint64_t)value};
}

static struct instruction instruction_of(enum opcode opcode, unsigned destinations, unsigned count, const struct operand *operands) {
  struct instruction result = {.opcode = opcode, .size = 8, .operand_count = (uint8_t)count,
    .destination_count = (uint8_t)destinations, .form = FORM_E64, .sdwa_destination = SDWA_DWORD, .dpp_row_mask = 15,
    .dpp_bank_mask = 15, .op_sel_hi = 7};
  memcpy(result.operands, operands, count * sizeof *operands);
  return result;
}

/* What follows the operation: handlers may go on to it by themselves. */
static const struct operation *stop(struct wave *stopped, const struct operation *operation) {
  (void)stopped;
  return operation;
}

/* Binds and runs; `expected` is a copy of the wave from before, for the caller to edit. */
static void wave_step(const struct instruction *instruction) {
  struct operation operations[2] = {{0}, {.handler = stop}};
  const struct binding *row = level->bindings[instruction->opcode];
  ck_assert_msg(row != NULL, "%s: no binding", opcode_name(instruction->opcode));
  operations[0].instruction = instruction;
  ck_assert_msg(row->bind(row, instruction, operations) == HRX_OK, "%s: not bound", opcode_name(instruction->opcode));
  memcpy(expected, wave, sizeof *wave);
  ck_assert_ptr_eq(operations[0].handler(wave, operations), operations + 1);
}

static bool in_exec(unsigned lane) { return expected->s[SREG_EXEC_LO] >> lane & 1; }

static void wave_check(const struct instruction *instruction, const char *what) {
  if (memcmp(wave, expected, sizeof *wave) == 0) return;
  for (unsigned r = 0; r < 256; r++)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      ck_assert_msg(wave->v[r][lane] == expected->v[r][lane], "%s at %s, %s: v%u lane %u is %08x, expected %08x",
                    opcode_name(instruction->opcode), level->name, what, r, lane, wave->v[r][lane], expected->v[r][lane]);
  for (unsigned r = 0; r < SREG_FILE; r++)
    ck_assert_msg(wave->s[r] == expected->s[r], "%s at %s, %s: s%u is %08x, expected %08x", opcode_name(instruction->opcode),
                  level->name, what, r, wave->s[r], expected->s[r]);
  ck_abort_msg("%s at %s, %s: something else changed", opcode_name(instruction->opcode), level->name, what);
}

/* An operand's value in a lane, as `bits` wide and zero-extended. From `expected`: before the step. */
static uint64_t lane_value(const struct operand *operand, unsigned lane, unsigned bits) {
  uint64_t value = operand->value;
  if (operand->kind == OPERAND_VGPR) {
    value = expected->v[operand->index][lane];
    if (bits == 64) value |= (uint64_t)expected->v[operand->index + 1][lane] << 32;
  } else if (operand->kind == OPERAND_SGPR) {
    value = expected->s[operand->index];
    if (bits == 64) value |= (uint64_t)expected->s[operand->index + 1] << 32;
  }
  return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int suite_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}

#endif
