/* Scalar instructions: decoded by LLVM, bound, and run on a bare wave. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "code/decode.h"
#include "gpu/soft/program.h"
#include "memory/memory.h"

struct scalar_case {
  const char *text;
  uint32_t words[2];
  unsigned count;
  const char *before, *after;
};
static const struct scalar_case cases[] = {
#include "scalar_cases.h"
};

static struct wave *wave;

static void setup(void) {
  wave = aligned_alloc(64, sizeof *wave);
  ck_assert_ptr_nonnull(wave);
  memset(wave, 0, sizeof *wave);
  for (unsigned i = 0; i < SREG_FILE; i++) wave->s[i] = 0xc0000000 + i;
  wave->s[SREG_EXEC_LO] = UINT32_MAX;
  wave->s[SREG_EXEC_HI] = 0;
}

static void teardown(void) {
  free(wave);
  _mm_setcsr(0x1f80);
}

/* "s1=ff exec=3 scc=1" */
static void registers_write(struct wave *to, const char *text) {
  char name[16];
  unsigned value, index;
  int used;
  while (sscanf(text, " %15[^=]=%x%n", name, &value, &used) == 2) {
    text += used;
    if (strcmp(name, "scc") == 0) to->scc = value;
    else if (strcmp(name, "mode") == 0) to->mode = value;
    else if (strcmp(name, "exec") == 0) to->s[SREG_EXEC_LO] = value;
    else if (strcmp(name, "vcc") == 0) to->s[SREG_VCC_LO] = value;
    else if (strcmp(name, "m0") == 0) to->s[SREG_M0] = value;
    else if (sscanf(name, "s%u", &index) == 1 && index < SREG_FILE) to->s[index] = value;
    else ck_abort_msg("no register %s", name);
  }
}

static struct decoded *decoded;
static struct soft_program *program;

static void code_load(const uint32_t *words, unsigned count) {
  ck_assert_int_eq(decode_code("gfx1030", words, count * 4, &decoded), HRX_OK);
  ck_assert_int_eq(soft_program_bind(decoded, "baseline", &program), HRX_OK);
}

static void code_unload(void) {
  soft_program_release(program);
  decoded_release(decoded);
}

START_TEST(instruction_changes_what_the_isa_says_and_nothing_else) {
  const struct scalar_case *it = &cases[_i];
  uint32_t words[3] = {it->words[0], it->words[1], 0};
  words[it->count] = 0xbf810000; /* s_endpgm */
  code_load(words, it->count + 1);
  registers_write(wave, it->before);
  struct wave *expected = malloc(sizeof *expected);
  memcpy(expected, wave, sizeof *wave);
  registers_write(expected, it->after);
  soft_wave_start(wave, program, 0);
  soft_wave_run(wave);
  ck_assert_msg(wave->state == WAVE_ENDED, "%s: state %d, fault %d", it->text, wave->state, wave->fault.kind);
  for (unsigned i = 0; i < SREG_FILE; i++)
    ck_assert_msg(i == SREG_NULL || wave->s[i] == expected->s[i], "%s: s%u is %08x, not %08x", it->text, i, wave->s[i], expected->s[i]);
  ck_assert_msg(wave->scc == expected->scc, "%s: scc is %u", it->text, wave->scc);
  ck_assert_msg(wave->mode == expected->mode, "%s: mode is %x", it->text, wave->mode);
  free(expected);
  code_unload();
}
END_TEST

/* Runs words from the first; the wave stops somehow. */
static void run(const uint32_t *words, unsigned count) {
  code_load(words, count);
  soft_wave_start(wave, program, 0);
  soft_wave_run(wave);
}

START_TEST(branches_go_where_they_say) {
  static const struct {
    uint32_t word; /* branches over one instruction */
    const char *taken, *not_taken;
  } branches[] = {
      {0xbf820001, "scc=0", NULL},           /* s_branch */
      {0xbf840001, "scc=0", "scc=1"},        /* s_cbranch_scc0 */
      {0xbf850001, "scc=1", "scc=0"},
      {0xbf860001, "vcc=0 s107=5", "vcc=2"}, /* vccz: the high half does not count in wave32 */
      {0xbf870001, "vcc=2", "vcc=0"},
      {0xbf880001, "exec=0", "exec=80000000"},
      {0xbf890001, "exec=80000000", "exec=0"},
  };
  for (unsigned b = 0; b < sizeof branches / sizeof branches[0]; b++)
    for (int taken = 0; taken < 2; taken++) {
      const char *before = taken ? branches[b].taken : branches[b].not_taken;
      if (before == NULL) continue;
      registers_write(wave, before);
      wave->s[0] = 9;
      /* branch; s_mov_b32 s0, 1; s_endpgm */
      run((const uint32_t[]){branches[b].word, 0xbe800381, 0xbf810000}, 3);
      ck_assert_int_eq(wave->state, WAVE_ENDED);
      ck_assert_msg(wave->s[0] == (taken ? 9u : 1u), "branch %u taken %d", b, taken);
      code_unload();
    }
}
END_TEST

START_TEST(calls_return_behind_the_call) {
  /* 0: s_getpc_b64 s[0:1]; 4: s_add_u32 s0, s0, 20; 8: s_addc_u32 s1, s1, 0; 12: s_swappc_b64 s[30:31], s[0:1];
   * 16: s_mov_b32 s2, 3; 20: s_endpgm; 24: s_mov_b32 s3, 4; 28: s_setpc_b64 s[30:31] */
  run((const uint32_t[]){0xbe801f00, 0x80009400, 0x82018001, 0xbe9e2100, 0xbe820383, 0xbf810000, 0xbe830384, 0xbe80201e}, 8);
  ck_assert_int_eq(wave->state, WAVE_ENDED);
  ck_assert_uint_eq(wave->s[2], 3);
  ck_assert_uint_eq(wave->s[3], 4);
  ck_assert_uint_eq(wave->s[30], 16);
  code_unload();
}
END_TEST

START_TEST(jump_to_no_instruction_is_a_fault) {
  wave->s[0] = 2;
  wave->s[1] = 0;
  run((const uint32_t[]){0xbe802000, 0xbf810000}, 2); /* s_setpc_b64 s[0:1] */
  ck_assert_int_eq(wave->state, WAVE_FAULTED);
  ck_assert_int_eq(wave->fault.kind, FAULT_BRANCH);
  ck_assert_uint_eq(wave->fault.address, 2);
  code_unload();
  run((const uint32_t[]){0xbf800000}, 1); /* s_nop, and nothing behind it */
  ck_assert_int_eq(wave->state, WAVE_FAULTED);
  ck_assert_int_eq(wave->fault.kind, FAULT_BRANCH);
  code_unload();
}
END_TEST

START_TEST(trap_and_illegal_instruction_are_faults) {
  run((const uint32_t[]){0xbf920002, 0xbf810000}, 2);
  ck_assert_int_eq(wave->fault.kind, FAULT_TRAP);
  ck_assert_uint_eq(wave->fault.address, 2);
  code_unload();
  run((const uint32_t[]){0, 0xbf810000}, 2);
  ck_assert_int_eq(wave->state, WAVE_FAULTED);
  ck_assert_int_eq(wave->fault.kind, FAULT_OPCODE);
  code_unload();
}
END_TEST

START_TEST(loop_gives_way_when_its_quantum_is_over) {
  /* s_add_u32 s0, s0, 1; s_branch -2 */
  code_load((const uint32_t[]){0x80008100, 0xbf82fffe}, 2);
  wave->s[0] = 0;
  soft_wave_start(wave, program, 0);
  wave->quantum = 10;
  soft_wave_run(wave);
  ck_assert_int_eq(wave->state, WAVE_YIELDED);
  ck_assert_uint_eq(wave->s[0], 10);
  wave->quantum = 5;
  soft_wave_run(wave); /* goes on where it was */
  ck_assert_uint_eq(wave->s[0], 15);
  code_unload();
}
END_TEST

START_TEST(rounding_mode_reaches_the_host) {
  _mm_setcsr(0x1f80);
  run((const uint32_t[]){0xbfa40001, 0xbf810000}, 2); /* s_round_mode 1: up */
  ck_assert_uint_eq(_mm_getcsr() & 0x6000, 0x4000);
  code_unload();
  run((const uint32_t[]){0xbfa40003, 0xbf810000}, 2); /* to zero */
  ck_assert_uint_eq(_mm_getcsr() & 0x6000, 0x6000);
  code_unload();
}
END_TEST


START_TEST(loads_read_only_what_is_allocated) {
  struct memory *memory = NULL;
  struct allocation *allocation = NULL;
  ck_assert_int_eq(memory_create(1 << 20, &memory), HRX_OK);
  ck_assert_int_eq(memory_allocate(memory, 64, 256, MEMORY_DEVICE, 0, 0, &allocation), HRX_OK);
  uint32_t *words = (uint32_t *)allocation->address;
  for (uint32_t i = 0; i < 16; i++) words[i] = 100 + i;
  wave->memory = memory;
  wave->span_generation = UINT64_MAX;
  wave->s[0] = (uint32_t)allocation->address;
  wave->s[1] = (uint32_t)(allocation->address >> 32);
  wave->s[4] = 8;
  /* s_load_dwordx4 s[8:11], s[0:1], 0x10; s_load_dword s2, s[0:1], s4; s_endpgm */
  run((const uint32_t[]){0xf4080200, 0xfa000010, 0xf4000080, 0x08000000, 0xbf810000}, 5);
  ck_assert_int_eq(wave->state, WAVE_ENDED);
  for (unsigned i = 0; i < 4; i++) ck_assert_uint_eq(wave->s[8 + i], 104 + i);
  ck_assert_uint_eq(wave->s[2], 102);
  code_unload();
  /* a base that is overwritten by its own load; then 4 bytes over the end */
  run((const uint32_t[]){0xf4040000, 0xfa000038, 0xbf810000}, 3); /* s_load_dwordx2 s[0:1], s[0:1], 0x38 */
  ck_assert_int_eq(wave->state, WAVE_ENDED);
  ck_assert_uint_eq(wave->s[0], 114);
  ck_assert_uint_eq(wave->s[1], 115);
  code_unload();
  wave->s[0] = (uint32_t)allocation->address;
  wave->s[1] = (uint32_t)(allocation->address >> 32);
  run((const uint32_t[]){0xf4040000, 0xfa00003c, 0xbf810000}, 3);
  ck_assert_int_eq(wave->state, WAVE_FAULTED);
  ck_assert_int_eq(wave->fault.kind, FAULT_ADDRESS);
  ck_assert_uint_eq(wave->fault.address, allocation->address + 60);
  ck_assert_uint_eq(wave->fault.bytes, 8);
  code_unload();
  memory_release(memory);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scalar");
  TCase *rules = tcase_create("scalar");
  tcase_add_checked_fixture(rules, setup, teardown);
  tcase_add_loop_test(rules, instruction_changes_what_the_isa_says_and_nothing_else, 0, sizeof cases / sizeof cases[0]);
  tcase_add_test(rules, branches_go_where_they_say);
  tcase_add_test(rules, calls_return_behind_the_call);
  tcase_add_test(rules, jump_to_no_instruction_is_a_fault);
  tcase_add_test(rules, trap_and_illegal_instruction_are_faults);
  tcase_add_test(rules, loop_gives_way_when_its_quantum_is_over);
  tcase_add_test(rules, rounding_mode_reaches_the_host);
  tcase_add_test(rules, loads_read_only_what_is_allocated);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
