/* Buffer operations on a bare wave. */
#include "tests/unit/memory_wave.h"

static uint32_t memory[1024];

static struct instruction buffer_of(enum opcode opcode, int offset, bool offen, bool idxen) {
  return (struct instruction){.opcode = opcode, .operand_count = 4, .offset0 = offset, .offen = offen, .idxen = idxen,
                              .operands = {vgpr(8, 1), offen || idxen ? vgpr(2, 1) : off(), sgpr(0, 4), sgpr(32, 1)}};
}

/* The resource that a kernel's stack is reached through (LLVM AMDGPU usage, "Private segment buffer"). */
static void stack_resource(void) {
  const uint64_t base = (uintptr_t)wave->scratch;
  wave->s[0] = (uint32_t)base;
  wave->s[1] = (uint32_t)(base >> 32) | UINT32_C(1) << 31;
  wave->s[2] = wave->scratch_bytes_lane * SOFT_LANES;
  wave->s[3] = UINT32_C(2) << 21 | UINT32_C(1) << 23 | UINT32_C(2) << 28;
  wave->s[32] = 0;
}

static void plain_resource(uint32_t stride, uint32_t records, uint32_t check) {
  for (unsigned i = 0; i < 1024; i++) memory[i] = 0x10000 + i;
  wave_allow(0, memory, sizeof memory, true);
  wave->s[0] = (uint32_t)(uintptr_t)memory;
  wave->s[1] = (uint32_t)((uintptr_t)memory >> 32) | stride << 16;
  wave->s[2] = records;
  wave->s[3] = check << 28;
  wave->s[32] = 0;
}

START_TEST(the_stack_is_swizzled_by_dword) {
  level = _i;
  stack_resource();
  wave->s[32] = 4 * 4 * SOFT_LANES; /* the stack pointer counts bytes of the whole wave */
  struct instruction store = buffer_of(OPCODE_buffer_store_dword, 8, false, false), load = buffer_of(OPCODE_buffer_load_dword, 8, false, false);
  ck_assert(wave_step(&store));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    ck_assert_uint_eq(((uint32_t *)(void *)wave->scratch)[6 * SOFT_LANES + lane], wave->v[8][lane]);
  load.operands[0] = vgpr(9, 1);
  wave->s[SREG_EXEC_LO] = 0x00ffff0f;
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    ck_assert_uint_eq(wave->v[9][lane], (wave->s[SREG_EXEC_LO] >> lane & 1) != 0 ? wave->v[8][lane] : 0xa0000000u + 9 * 256 + lane);
}
END_TEST

START_TEST(each_lane_has_its_own_index_into_the_stack) {
  level = _i;
  stack_resource();
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = lane * 3;
  struct instruction store = buffer_of(OPCODE_buffer_store_byte, 1, true, false), load = buffer_of(OPCODE_buffer_load_ubyte, 1, true, false);
  ck_assert(wave_step(&store));
  ck_assert_uint_eq(wave->scratch[(16 / 4 * SOFT_LANES + 5) * 4], wave->v[8][5] & 0xff);
  load.operands[0] = vgpr(9, 1);
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) ck_assert_uint_eq(wave->v[9][lane], wave->v[8][lane] & 0xff);
  struct instruction high = buffer_of(OPCODE_buffer_load_ubyte_d16_hi, 1, true, false);
  high.operands[0] = vgpr(10, 1);
  ck_assert(wave_step(&high));
  ck_assert_uint_eq(wave->v[10][7], ((0xa0000000u + 10 * 256 + 7) & 0xffff) | (wave->v[8][7] & 0xff) << 16);
  wave->v[2][11] = wave->scratch_bytes_lane; /* beyond the stack: nobody else's memory */
  ck_assert(!wave_step(&load));
  ck_assert_uint_eq(wave->fault.lane, 11);
}
END_TEST

START_TEST(raw_buffers_are_bounded_by_bytes) {
  level = _i;
  plain_resource(0, 64 * 4, 3);
  struct instruction load = buffer_of(OPCODE_buffer_load_dwordx2, 4, true, false);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = 8 * lane;
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    ck_assert_uint_eq(wave->v[8][lane], lane < 31 ? 0x10001 + 2 * lane : 0);
    ck_assert_uint_eq(wave->v[9][lane], lane < 31 ? 0x10002 + 2 * lane : 0);
  }
}
END_TEST

START_TEST(structured_buffers_are_bounded_by_index) {
  level = _i;
  plain_resource(12, 20, 1);
  struct instruction store = buffer_of(OPCODE_buffer_store_dword, 4, false, true);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = lane;
  ck_assert(wave_step(&store));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    ck_assert_uint_eq(memory[3 * lane + 1], lane < 20 ? wave->v[8][lane] : 0x10000 + 3 * lane + 1);
}
END_TEST

START_TEST(atomics_return_only_if_asked) {
  level = _i;
  plain_resource(0, sizeof memory, 3);
  struct instruction add = buffer_of(OPCODE_buffer_atomic_add, 16, false, false);
  wave->s[SREG_EXEC_LO] = 3;
  wave->v[8][0] = wave->v[8][1] = 5;
  ck_assert(wave_step(&add));
  ck_assert_uint_eq(memory[4], 0x10004 + 10);
  ck_assert_uint_eq(wave->v[8][0], 5);
  add.glc = true;
  ck_assert(wave_step(&add));
  ck_assert_uint_eq(wave->v[8][1], 0x10004 + 15);
}
END_TEST

START_TEST(an_address_nobody_allocated_faults) {
  level = _i;
  plain_resource(0, UINT32_MAX, 3);
  struct instruction store = buffer_of(OPCODE_buffer_store_dword, 0, true, false);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = (uint32_t)sizeof memory;
  ck_assert(!wave_step(&store));
  ck_assert_uint_eq(wave->fault.address, (uintptr_t)memory + sizeof memory);
}
END_TEST

RUN_FAMILY(memory_buffer, the_stack_is_swizzled_by_dword, each_lane_has_its_own_index_into_the_stack,
           raw_buffers_are_bounded_by_bytes, structured_buffers_are_bounded_by_index, atomics_return_only_if_asked,
           an_address_nobody_allocated_faults)
