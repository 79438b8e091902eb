/* Global and flat atomics on a bare wave. */
#include <pthread.h>

#include "tests/unit/memory_wave.h"

static uint64_t memory[64];

static bool step(enum opcode opcode, bool returns, bool flat) {
  struct instruction instruction = {.opcode = opcode, .glc = returns, .destination_count = returns};
  if (returns) instruction.operands[instruction.operand_count++] = vgpr(8, 1);
  instruction.operands[instruction.operand_count++] = vgpr(2, 2);
  instruction.operands[instruction.operand_count++] = vgpr(4, 1);
  if (!flat) instruction.operands[instruction.operand_count++] = off();
  return wave_step(&instruction);
}

START_TEST(each_returns_the_value_before) {
  static const struct { enum opcode opcode; uint32_t old, operand, compare, after; } kinds[] = {
      {OPCODE_global_atomic_add, 5, 7, 0, 12}, {OPCODE_global_atomic_sub, 5, 7, 0, UINT32_MAX - 1},
      {OPCODE_global_atomic_smin, 5, UINT32_MAX, 0, UINT32_MAX}, {OPCODE_global_atomic_umin, 5, UINT32_MAX, 0, 5},
      {OPCODE_global_atomic_smax, 5, UINT32_MAX, 0, 5}, {OPCODE_global_atomic_umax, 5, UINT32_MAX, 0, UINT32_MAX},
      {OPCODE_global_atomic_and, 12, 10, 0, 8}, {OPCODE_global_atomic_or, 12, 10, 0, 14}, {OPCODE_global_atomic_xor, 12, 10, 0, 6},
      {OPCODE_global_atomic_inc, 4, 5, 0, 5}, {OPCODE_global_atomic_inc, 5, 5, 0, 0}, {OPCODE_global_atomic_dec, 0, 5, 0, 5},
      {OPCODE_global_atomic_dec, 6, 5, 0, 5}, {OPCODE_global_atomic_dec, 5, 5, 0, 4}, {OPCODE_global_atomic_swap, 5, 9, 0, 9},
      {OPCODE_global_atomic_cmpswap, 5, 9, 5, 9}, {OPCODE_global_atomic_cmpswap, 5, 9, 6, 5}, {OPCODE_global_atomic_csub, 5, 7, 0, 0},
      {OPCODE_global_atomic_csub, 9, 7, 0, 2}, {OPCODE_global_atomic_fmin, 0x3f800000, 0xbf800000, 0, 0xbf800000},
      {OPCODE_global_atomic_fmax, 0x3f800000, 0xbf800000, 0, 0x3f800000}, {OPCODE_global_atomic_add_f32, 0x3f800000, 0x40000000, 0, 0x40400000},
      {OPCODE_global_atomic_fcmpswap, 0x80000000, 9, 0, 9}};
  level = _i;
  wave_allow(0, memory, sizeof memory, true);
  wave->s[SREG_EXEC_LO] = 0x10;
  address_set(2, 4, memory + 3);
  for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int returns = 0; returns < 2; returns++) {
      memory[3] = UINT64_C(0x7777777700000000) | kinds[k].old;
      wave->v[4][4] = kinds[k].operand;
      wave->v[5][4] = kinds[k].compare;
      wave->v[8][4] = 0xabcd;
      ck_assert(step(kinds[k].opcode, returns != 0, false));
      ck_assert_uint_eq(memory[3], UINT64_C(0x7777777700000000) | kinds[k].after);
      ck_assert_uint_eq(wave->v[8][4], returns != 0 ? kinds[k].old : 0xabcd);
      ck_assert_uint_eq(wave->v[8][3], 0xa0000000u + 8 * 256 + 3);
    }
}
END_TEST

START_TEST(wide_ones_use_register_pairs) {
  level = _i;
  wave_allow(0, memory, sizeof memory, true);
  wave->s[SREG_EXEC_LO] = 2;
  address_set(2, 1, memory + 5);
  memory[5] = UINT64_C(0x00000001ffffffff);
  wave->v[4][1] = 2;
  wave->v[5][1] = 0x10;
  ck_assert(step(OPCODE_flat_atomic_add_x2, true, true));
  ck_assert_uint_eq(memory[5], UINT64_C(0x0000001200000001));
  ck_assert_uint_eq(wave->v[8][1], UINT32_MAX);
  ck_assert_uint_eq(wave->v[9][1], 1);
  wave->v[6][1] = 1;
  wave->v[7][1] = 0x12;
  ck_assert(step(OPCODE_global_atomic_cmpswap_x2, true, false));
  ck_assert_uint_eq(memory[5], UINT64_C(0x0000001000000002));
}
END_TEST

START_TEST(flat_reaches_lds_and_scratch) {
  level = _i;
  wave->s[SREG_EXEC_LO] = 6;
  wave->v[2][1] = wave->v[2][2] = 8;
  wave->v[3][1] = FLAT_SHARED_HIGH;
  wave->v[3][2] = FLAT_PRIVATE_HIGH;
  wave->v[4][1] = wave->v[4][2] = 11;
  wave->v[5][1] = wave->v[5][2] = 0;
  ck_assert(step(OPCODE_flat_atomic_add, true, true));
  ck_assert(step(OPCODE_flat_atomic_add_x2, true, true));
  ck_assert_uint_eq(((uint32_t *)(void *)wave->lds)[2], 22);
  ck_assert_uint_eq(((uint32_t *)(void *)wave->scratch)[2 * SOFT_LANES + 2], 22);
  ck_assert_uint_eq(wave->v[8][2], 11);
}
END_TEST

START_TEST(misaligned_or_outside_faults_and_changes_nothing) {
  level = _i;
  memset(memory, 0, sizeof memory);
  wave_allow(0, memory, sizeof memory, true);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) address_set(2, lane, (uint8_t *)memory + 4 * lane + (lane == 9 ? 2 : 0));
  ck_assert(!step(OPCODE_global_atomic_add, false, false));
  ck_assert_uint_eq(wave->fault.lane, 9);
  address_set(2, 9, memory + 64);
  ck_assert(!step(OPCODE_global_atomic_or, false, false));
  ck_assert_uint_eq(wave->fault.lane, 9);
  for (unsigned i = 0; i < 64; i++) ck_assert_uint_eq(memory[i], 0);
}
END_TEST

enum { THREADS = 2, STEPS = 2000 };
static void *adder(void *context) {
  struct wave *own = context;
  struct instruction instruction = {.opcode = OPCODE_global_atomic_add, .operand_count = 3, .operands = {vgpr(2, 2), vgpr(4, 1), off()}};
  struct operation operation;
  if (wave_bind(&instruction, &operation) != HRX_OK) return NULL;
  for (unsigned i = 0; i < STEPS; i++) operation.handler(own, &operation);
  return NULL;
}

START_TEST(nothing_is_lost_between_threads) {
  pthread_t threads[THREADS];
  struct wave *waves[THREADS];
  level = _i;
  memory[0] = 0;
  wave_allow(0, memory, sizeof memory, true);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    address_set(2, lane, memory);
    wave->v[4][lane] = 1;
  }
  for (unsigned t = 0; t < THREADS; t++) {
    waves[t] = aligned_alloc(64, (sizeof *wave + 63) / 64 * 64);
    memcpy(waves[t], wave, sizeof *wave);
    ck_assert_int_eq(pthread_create(&threads[t], NULL, adder, waves[t]), 0);
  }
  for (unsigned t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    free(waves[t]);
  }
  ck_assert_uint_eq(memory[0], THREADS * STEPS * SOFT_LANES);
}
END_TEST

RUN_FAMILY(memory_atomic, each_returns_the_value_before, wide_ones_use_register_pairs, flat_reaches_lds_and_scratch,
           misaligned_or_outside_faults_and_changes_nothing, nothing_is_lost_between_threads)
