/* Loads and stores of global, flat and scratch memory on a bare wave. */
#include "tests/unit/memory_wave.h"

static struct instruction load_of(enum opcode opcode, unsigned to, unsigned address, int offset) {
  return (struct instruction){.opcode = opcode, .operand_count = 3, .destination_count = 1, .offset0 = offset,
                              .operands = {vgpr(to, 1), vgpr(address, 2), off()}};
}
static struct instruction store_of(enum opcode opcode, unsigned address, unsigned from, int offset) {
  return (struct instruction){.opcode = opcode, .operand_count = 3, .offset0 = offset,
                              .operands = {vgpr(address, 2), vgpr(from, 1), off()}};
}

static uint8_t memory[8192];
static void memory_fill(void) {
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)(i * 7 + (i >> 8));
  wave_allow(0, memory, sizeof memory, true);
}
static uint32_t word_at(size_t offset) {
  uint32_t word;
  memcpy(&word, memory + offset, 4);
  return word;
}

/* how the lanes' addresses lie */
enum pattern { CONTIGUOUS, UNIFORM, STRIDED, MISALIGNED, REVERSED, PATTERNS };
static size_t lane_offset(enum pattern pattern, unsigned lane, unsigned bytes) {
  switch (pattern) {
  case CONTIGUOUS: return 64 + (size_t)lane * bytes;
  case UNIFORM: return 96;
  case STRIDED: return 32 + (size_t)lane * 100;
  case MISALIGNED: return 33 + (size_t)lane * 51;
  default: return 64 + (size_t)(SOFT_LANES - 1 - lane) * bytes;
  }
}
static const uint32_t masks[] = {0xffffffff, 0x00000001, 0x80000000, 0x0ff0a5a4, 0xaaaaaaaa, 0x00ffff00, 0};
enum { MASKS = sizeof masks / sizeof *masks };

static uint32_t element_of(enum opcode opcode, size_t at, uint32_t old) {
  const uint32_t half = word_at(at) & 0xffff, byte = memory[at], high = old & 0xffff0000, low = old & 0xffff;
  switch (opcode) {
  case OPCODE_global_load_ubyte: return byte;
  case OPCODE_global_load_sbyte: return (uint32_t)(int32_t)(int8_t)byte;
  case OPCODE_global_load_ushort: return half;
  case OPCODE_global_load_sshort: return (uint32_t)(int32_t)(int16_t)half;
  case OPCODE_global_load_ubyte_d16: return high | byte;
  case OPCODE_global_load_ubyte_d16_hi: return low | byte << 16;
  case OPCODE_global_load_sbyte_d16: return high | (uint16_t)(int8_t)byte;
  case OPCODE_global_load_sbyte_d16_hi: return low | (uint32_t)(uint16_t)(int8_t)byte << 16;
  case OPCODE_global_load_short_d16: return high | half;
  case OPCODE_global_load_short_d16_hi: return low | half << 16;
  default: return word_at(at);
  }
}

struct width { enum opcode opcode; unsigned bytes, shift; };

static void check_load(struct width width, enum pattern pattern, uint32_t mask, bool based) {
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const bool active = (mask >> lane & 1) != 0; /* inactive lanes hold addresses that are not allowed */
    const size_t at = lane_offset(pattern, lane, width.bytes);
    address_set(2, lane, active ? memory + at - 8 : (uint8_t *)8);
    if (based) wave->v[2][lane] = active ? (uint32_t)at : 0xfffffff0;
    for (unsigned r = 8; r < 12; r++) wave->v[r][lane] = 0xdead0000 + r * 32 + lane;
  }
  wave->s[SREG_EXEC_LO] = mask;
  struct instruction load = load_of(width.opcode, 8, 2, 8);
  if (based) {
    load.operands[1] = vgpr(2, 1);
    load.operands[2] = sgpr(4, 2);
    wave->s[4] = (uint32_t)((uintptr_t)memory - 8);
    wave->s[5] = (uint32_t)(((uintptr_t)memory - 8) >> 32);
  }
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    for (unsigned r = 0; r < 4; r++) {
      const uint32_t old = 0xdead0000 + (8 + r) * 32 + lane;
      const bool moved = (mask >> lane & 1) != 0 && (r == 0 || r < width.bytes / 4);
      const size_t at = lane_offset(pattern, lane, width.bytes) + 4 * r;
      ck_assert_uint_eq(wave->v[8 + r][lane], moved ? element_of(width.opcode, at, old) : old);
    }
}

START_TEST(loads_of_every_width_and_pattern) {
  static const struct width widths[] = {
      {OPCODE_global_load_ubyte, 1, 0}, {OPCODE_global_load_sbyte, 1, 0}, {OPCODE_global_load_ushort, 2, 0},
      {OPCODE_global_load_sshort, 2, 0}, {OPCODE_global_load_dword, 4, 0}, {OPCODE_global_load_dwordx2, 8, 0},
      {OPCODE_global_load_dwordx3, 12, 0}, {OPCODE_global_load_dwordx4, 16, 0}, {OPCODE_global_load_ubyte_d16, 1, 0},
      {OPCODE_global_load_ubyte_d16_hi, 1, 0}, {OPCODE_global_load_sbyte_d16, 1, 0},
      {OPCODE_global_load_sbyte_d16_hi, 1, 0}, {OPCODE_global_load_short_d16, 2, 0}, {OPCODE_global_load_short_d16_hi, 2, 0}};
  level = _i;
  memory_fill();
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++)
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
      for (unsigned m = 0; m < MASKS; m++)
        for (int based = 0; based < 2; based++) check_load(widths[w], (enum pattern)pattern, masks[m], based != 0);
}
END_TEST

START_TEST(stores_touch_active_lanes_only) {
  static const struct width widths[] = {
      {OPCODE_global_store_byte, 1, 0}, {OPCODE_global_store_byte_d16_hi, 1, 16}, {OPCODE_global_store_short, 2, 0},
      {OPCODE_global_store_short_d16_hi, 2, 16}, {OPCODE_global_store_dword, 4, 0}, {OPCODE_global_store_dwordx2, 8, 0},
      {OPCODE_global_store_dwordx3, 12, 0}, {OPCODE_global_store_dwordx4, 16, 0}};
  static uint8_t expected[sizeof memory];
  level = _i;
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++)
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
      for (unsigned m = 0; m < MASKS; m++) {
        memory_fill();
        memcpy(expected, memory, sizeof memory);
        for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
          const size_t at = lane_offset((enum pattern)pattern, lane, widths[w].bytes);
          address_set(2, lane, memory + at + 4);
          for (unsigned r = 8; r < 12; r++) wave->v[r][lane] = 0x12345678 * (r + 1) + lane * 0x01010101;
          for (unsigned b = 0; b < widths[w].bytes && (masks[m] >> lane & 1) != 0; b++)
            expected[at + b] = (uint8_t)(wave->v[8 + b / 4][lane] >> widths[w].shift >> 8 * (b % 4));
        }
        wave->s[SREG_EXEC_LO] = masks[m];
        const struct instruction store = store_of(widths[w].opcode, 2, 8, -4);
        ck_assert(wave_step(&store));
        ck_assert_int_eq(memcmp(memory, expected, sizeof memory), 0);
      }
}
END_TEST

START_TEST(a_load_may_overwrite_its_address) {
  level = _i;
  memory_fill();
  for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) address_set(2, lane, memory + lane_offset((enum pattern)pattern, lane, 16));
    const struct instruction load = load_of(OPCODE_global_load_dwordx4, 1, 2, 0);
    ck_assert(wave_step(&load));
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      for (unsigned r = 0; r < 4; r++)
        ck_assert_uint_eq(wave->v[1 + r][lane], word_at(lane_offset((enum pattern)pattern, lane, 16) + 4 * r));
  }
}
END_TEST

START_TEST(lanes_in_different_allocations_are_found_one_by_one) {
  static uint32_t other[64];
  level = _i;
  memory_fill();
  for (unsigned i = 0; i < 64; i++) other[i] = 1000 + i;
  wave_allow(0, memory, 256, true);
  wave_allow(1, other, sizeof other, true);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    address_set(2, lane, lane % 2 != 0 ? (void *)&other[lane] : (void *)(memory + 4 * lane));
  const struct instruction load = load_of(OPCODE_global_load_dword, 3, 2, 0);
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    ck_assert_uint_eq(wave->v[3][lane], lane % 2 != 0 ? 1000 + lane : word_at(4 * lane));
}
END_TEST

START_TEST(an_access_outside_faults_with_its_lane_and_stores_nothing) {
  static uint8_t before[sizeof memory];
  level = _i;
  memory_fill();
  memcpy(before, memory, sizeof memory);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) address_set(2, lane, memory + sizeof memory - 4 * 20 + 4 * lane);
  const struct instruction store = store_of(OPCODE_global_store_dword, 2, 8, 0);
  ck_assert(!wave_step(&store));
  ck_assert_int_eq(wave->state, WAVE_FAULTED);
  ck_assert_int_eq(wave->fault.kind, FAULT_ADDRESS);
  ck_assert_uint_eq(wave->fault.lane, 20);
  ck_assert_uint_eq(wave->fault.address, (uintptr_t)memory + sizeof memory);
  ck_assert_uint_eq(wave->fault.bytes, 4);
  ck_assert(wave->fault.write);
  ck_assert_int_eq(memcmp(memory, before, sizeof memory), 0);
  wave->s[SREG_EXEC_LO] = (1u << 20) - 1; /* without the lanes outside it is right */
  ck_assert(wave_step(&store));
}
END_TEST

START_TEST(a_read_only_range_refuses_stores) {
  level = _i;
  memory_fill();
  wave_allow(0, memory, sizeof memory, false);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) address_set(2, lane, memory + 4 * lane);
  const struct instruction store = store_of(OPCODE_global_store_dword, 2, 8, 0), load = load_of(OPCODE_global_load_dword, 8, 2, 0);
  ck_assert(wave_step(&load));
  ck_assert(!wave_step(&store));
}
END_TEST

START_TEST(flat_tells_apertures_by_the_high_dword) {
  level = _i;
  memory_fill();
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const uint32_t high[3] = {(uint32_t)((uintptr_t)memory >> 32), FLAT_SHARED_HIGH, FLAT_PRIVATE_HIGH};
    wave->v[2][lane] = lane % 3 == 0 ? (uint32_t)(uintptr_t)memory + 8 * lane : 8 * (lane % 16);
    wave->v[3][lane] = high[lane % 3];
    wave->v[8][lane] = 0x1000 + lane;
    wave->v[9][lane] = 0x2000 + lane;
  }
  wave->s[SREG_EXEC_LO] = 0xffff;
  struct instruction store = store_of(OPCODE_flat_store_dwordx2, 2, 8, 0), load = load_of(OPCODE_flat_load_dwordx2, 10, 2, 0);
  store.operand_count = load.operand_count = 2;
  ck_assert(wave_step(&store));
  ck_assert_uint_eq(word_at(8 * 3), 0x1003);
  ck_assert_uint_eq(((uint32_t *)(void *)wave->lds)[2 * 4], 0x1004);
  ck_assert_uint_eq(((uint32_t *)(void *)wave->scratch)[2 * 5 * SOFT_LANES + 5], 0x1005);
  ck_assert_uint_eq(((uint32_t *)(void *)wave->scratch)[(2 * 5 + 1) * SOFT_LANES + 5], 0x2005);
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < 16; lane++) {
    ck_assert_uint_eq(wave->v[10][lane], 0x1000 + lane);
    ck_assert_uint_eq(wave->v[11][lane], 0x2000 + lane);
  }
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    wave->v[2][lane] = wave->lds_bytes - 4 + (lane == 7 ? 1 : 0);
    wave->v[3][lane] = FLAT_SHARED_HIGH;
  }
  load.opcode = OPCODE_flat_load_dword;
  ck_assert(!wave_step(&load));
  ck_assert_uint_eq(wave->fault.lane, 7);
}
END_TEST

START_TEST(scratch_is_private_to_each_lane) {
  level = _i;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    wave->v[2][lane] = 4 * (lane % 5) + 1;
    wave->v[8][lane] = 0x11223344 + lane;
  }
  wave->s[9] = 16;
  struct instruction store = {.opcode = OPCODE_scratch_store_dword, .operand_count = 3, .offset0 = 4,
                              .operands = {vgpr(2, 1), vgpr(8, 1), off()}};
  struct instruction load = {.opcode = OPCODE_scratch_load_dword, .operand_count = 3, .offset0 = 4,
                             .operands = {vgpr(10, 1), vgpr(2, 1), off()}};
  ck_assert(wave_step(&store));
  ck_assert(wave_step(&load));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) ck_assert_uint_eq(wave->v[10][lane], 0x11223344 + lane);
  store.operands[0] = off();
  store.operands[2] = sgpr(9, 1);
  ck_assert(wave_step(&store));
  ck_assert_uint_eq(((uint32_t *)(void *)wave->scratch)[20 / 4 * SOFT_LANES + 3], 0x11223347);
  wave->s[9] = 256;
  ck_assert(!wave_step(&store));
}
END_TEST

START_TEST(registers_beyond_the_file_are_refused) {
  struct operation operation;
  const struct instruction load = load_of(OPCODE_global_load_dwordx4, 253, 2, 0);
  level = _i;
  ck_assert_int_eq(wave_bind(&load, &operation), HRX_UNSUPPORTED);
}
END_TEST

RUN_FAMILY(memory_global, loads_of_every_width_and_pattern, stores_touch_active_lanes_only, a_load_may_overwrite_its_address,
           lanes_in_different_allocations_are_found_one_by_one, an_access_outside_faults_with_its_lane_and_stores_nothing,
           a_read_only_range_refuses_stores, flat_tells_apertures_by_the_high_dword, scratch_is_private_to_each_lane,
           registers_beyond_the_file_are_refused)
