/* Operations between lanes and on registers by index. */
#include "tests/unit/vector_wave.h"

START_TEST(lanes_are_read_and_written) {
  if (!wave_open(_i)) return;
  for (unsigned trial = 0; trial < 200; trial++) {
    const struct operand by = trial % 2 ? sgpr(8) : constant((int64_t)(trial % 40));
    const struct operand read[] = {sgpr(20), vgpr(4), by}, first[] = {sgpr(20), vgpr(4)};
    const struct operand write[] = {vgpr(16), trial % 3 ? sgpr(4) : constant(-3), by};

    struct instruction instruction = instruction_of(OPCODE_v_readlane_b32, 1, 3, read);
    wave_fill();
    wave_step(&instruction);
    const unsigned lane = lane_value(&by, 0, 32) % 32;
    expected->s[20] = expected->v[4][lane];
    wave_check(&instruction, "readlane");

    instruction = instruction_of(OPCODE_v_writelane_b32, 1, 3, write);
    wave_step(&instruction);
    expected->v[16][lane] = (uint32_t)lane_value(&write[1], 0, 32);
    wave_check(&instruction, "writelane");

    instruction = instruction_of(OPCODE_v_readfirstlane_b32, 1, 2, first);
    if (trial == 0) wave->s[SREG_EXEC_LO] = 0; /* takes lane 0 */
    wave_step(&instruction);
    unsigned active = 0;
    while (active < 32 && !in_exec(active)) active++;
    expected->s[20] = expected->v[4][active % 32];
    wave_check(&instruction, "readfirstlane");
  }
}
END_TEST

START_TEST(rows_are_permuted) {
  if (!wave_open(_i)) return;
  for (unsigned trial = 0; trial < 200; trial++) {
    const bool across = trial & 1, fetch = trial & 2, zero = trial & 4;
    const struct operand operands[] = {vgpr(trial & 8 ? 4 : 16), vgpr(4), sgpr(8), trial & 16 ? sgpr(9) : constant(-1)};
    struct instruction instruction =
        instruction_of(across ? OPCODE_v_permlanex16_b32 : OPCODE_v_permlane16_b32, 1, 4, operands);
    instruction.op_sel = (uint8_t)((fetch ? 1 : 0) | (zero ? 2 : 0));
    wave_fill();
    wave_step(&instruction);
    const unsigned to = operands[0].index;
    uint32_t result[SOFT_LANES];
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const uint32_t selects = (uint32_t)lane_value(&operands[lane % 16 < 8 ? 2 : 3], 0, 32);
      const unsigned from = (across ? 16 - lane / 16 * 16 : lane / 16 * 16) + (selects >> 4 * (lane % 8) & 15);
      const bool valid = fetch || in_exec(from);
      result[lane] = expected->v[to][lane];
      if (in_exec(lane) && (valid || zero)) result[lane] = valid ? expected->v[4][from] : 0;
    }
    memcpy(expected->v[to], result, sizeof result);
    wave_check(&instruction, "permlane");
  }
}
END_TEST

static void copy_active(unsigned to, unsigned from) {
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    if (in_exec(lane)) expected->v[to][lane] = expected->v[from][lane];
}

START_TEST(registers_by_index) {
  if (!wave_open(_i)) return;
  const struct operand operands[] = {vgpr(16), vgpr(4)}, uniform[] = {vgpr(16), constant(7)};
  for (uint32_t m0 = 0; m0 < 10; m0++) {
    struct instruction instruction = instruction_of(OPCODE_v_movrels_b32, 1, 2, operands);
    wave_fill();
    wave->s[SREG_M0] = m0;
    wave_step(&instruction);
    copy_active(16, 4 + m0);
    wave_check(&instruction, "movrels");

    instruction = instruction_of(OPCODE_v_movreld_b32, 1, 2, operands);
    wave_step(&instruction);
    copy_active(16 + m0, 4);
    wave_check(&instruction, "movreld");

    instruction = instruction_of(OPCODE_v_movreld_b32, 1, 2, uniform);
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      if (in_exec(lane)) expected->v[16 + m0][lane] = 7;
    wave_check(&instruction, "movreld of a constant");

    instruction = instruction_of(OPCODE_v_movrelsd_b32, 1, 2, operands);
    wave_step(&instruction);
    copy_active(16 + m0, 4 + m0);
    wave_check(&instruction, "movrelsd");

    instruction = instruction_of(OPCODE_v_movrelsd_2_b32, 1, 2, operands);
    wave->s[SREG_M0] = 3 << 16 | m0;
    wave_step(&instruction);
    copy_active(19, 4 + m0);
    wave_check(&instruction, "movrelsd_2");
  }
}
END_TEST

START_TEST(index_out_of_range) {
  if (!wave_open(_i)) return;
  const struct operand operands[] = {vgpr(16), vgpr(4)};
  static const uint32_t beyond[] = {252, 256, 0x7fffffff, 0xfffffff0};
  for (unsigned i = 0; i < 4; i++) {
    struct instruction instruction = instruction_of(OPCODE_v_movrels_b32, 1, 2, operands);
    wave_fill();
    wave->s[SREG_M0] = beyond[i];
    wave_step(&instruction);
    copy_active(16, 0);
    wave_check(&instruction, "a source out of range is v0");
    instruction = instruction_of(OPCODE_v_movreld_b32, 1, 2, operands);
    wave_step(&instruction);
    if (beyond[i] == 0xfffffff0) copy_active(0, 4); /* 16 - 16 */
    wave_check(&instruction, "a destination out of range is not written");
  }
}
END_TEST

START_TEST(registers_swap) {
  if (!wave_open(_i)) return;
  const struct operand operands[] = {vgpr(16), vgpr(4)};
  const struct instruction instruction = instruction_of(OPCODE_v_swap_b32, 1, 2, operands);
  for (unsigned trial = 0; trial < 20; trial++) {
    wave_fill();
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      if (in_exec(lane)) {
        const uint32_t old = expected->v[16][lane];
        expected->v[16][lane] = expected->v[4][lane];
        expected->v[4][lane] = old;
      }
    wave_check(&instruction, "swap");
  }
}
END_TEST

START_TEST(wrong_operands_are_refused) {
  if (!wave_open(_i)) return;
  static const enum opcode opcodes[] = {OPCODE_v_readlane_b32, OPCODE_v_writelane_b32};
  const struct operand operands[2][3] = {{sgpr(20), sgpr(4), sgpr(8)}, {vgpr(16), vgpr(4), sgpr(8)}};
  for (unsigned i = 0; i < 2; i++) {
    struct operation operation = {0};
    const struct instruction instruction = instruction_of(opcodes[i], 1, 3, operands[i]);
    const struct binding *row = level->bindings[opcodes[i]];
    ck_assert(row->bind(row, &instruction, &operation) != HRX_OK);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vector_lane");
  TCase *tests = tcase_create("all");
  tcase_add_loop_test(tests, lanes_are_read_and_written, 0, LEVELS);
  tcase_add_loop_test(tests, rows_are_permuted, 0, LEVELS);
  tcase_add_loop_test(tests, registers_by_index, 0, LEVELS);
  tcase_add_loop_test(tests, index_out_of_range, 0, LEVELS);
  tcase_add_loop_test(tests, registers_swap, 0, LEVELS);
  tcase_add_loop_test(tests, wrong_operands_are_refused, 0, LEVELS);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
