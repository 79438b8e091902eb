/* Data share operations on a bare wave. */
#include "tests/unit/memory_wave.h"

static uint32_t *lds_words(void) { return (uint32_t *)(void *)wave->lds; }

/* `operands` registers v8 (result), v2 (address), v4 and v6 (data) as the operation's text orders them. */
static bool step(enum opcode opcode, bool result, bool address, unsigned data, unsigned offset) {
  struct instruction instruction = {.opcode = opcode, .destination_count = result, .encoding = {offset & 0xffff, 0}};
  if (result) instruction.operands[instruction.operand_count++] = vgpr(8, 1);
  if (address) instruction.operands[instruction.operand_count++] = vgpr(2, 1);
  for (unsigned i = 0; i < data; i++) instruction.operands[instruction.operand_count++] = vgpr(4 + 2 * i, 1);
  return wave_step(&instruction);
}

static void lds_fill(void) {
  for (unsigned i = 0; i < wave->lds_bytes / 4; i++) lds_words()[i] = i * 0x01030507;
}

START_TEST(reads_of_every_width) {
  static const struct { enum opcode opcode; unsigned registers; uint32_t keep; unsigned bytes, sign, shift; } kinds[] = {
      {OPCODE_ds_read_u8, 1, 0, 1, 0, 0}, {OPCODE_ds_read_i8, 1, 0, 1, 1, 0}, {OPCODE_ds_read_u16, 1, 0, 2, 0, 0},
      {OPCODE_ds_read_i16, 1, 0, 2, 1, 0}, {OPCODE_ds_read_b32, 1, 0, 4, 0, 0}, {OPCODE_ds_read_b64, 2, 0, 4, 0, 0},
      {OPCODE_ds_read_b96, 3, 0, 4, 0, 0}, {OPCODE_ds_read_b128, 4, 0, 4, 0, 0},
      {OPCODE_ds_read_u8_d16, 1, 0xffff0000, 1, 0, 0}, {OPCODE_ds_read_u8_d16_hi, 1, 0x0000ffff, 1, 0, 16},
      {OPCODE_ds_read_u16_d16, 1, 0xffff0000, 2, 0, 0}, {OPCODE_ds_read_u16_d16_hi, 1, 0x0000ffff, 2, 0, 16}};
  static const unsigned strides[] = {0, 1, 2, 4, 7, 8, 12, 16, 100};
  level = _i;
  lds_fill();
  for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (unsigned s = 0; s < sizeof strides / sizeof *strides; s++)
      for (int partial = 0; partial < 2; partial++) {
        wave->s[SREG_EXEC_LO] = partial != 0 ? 0x00f0a5f2 : UINT32_MAX;
        for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
          wave->v[2][lane] = lane * strides[s] - 4; /* negative with the offset: modulo 2^32 */
          if ((wave->s[SREG_EXEC_LO] >> lane & 1) == 0) wave->v[2][lane] = 0x7fffffff;
          for (unsigned r = 0; r < 4; r++) wave->v[8 + r][lane] = 0xcafebabe;
        }
        ck_assert(step(kinds[k].opcode, true, true, 0, 28));
        for (unsigned lane = 0; lane < SOFT_LANES; lane++)
          for (unsigned r = 0; r < 4; r++) {
            uint32_t expected = 0xcafebabe;
            if ((wave->s[SREG_EXEC_LO] >> lane & 1) != 0 && r < kinds[k].registers) {
              uint32_t raw = 0;
              memcpy(&raw, wave->lds + lane * strides[s] + 24 + 4 * r, kinds[k].bytes);
              if (kinds[k].sign != 0) raw = kinds[k].bytes == 1 ? (uint32_t)(int8_t)raw : (uint32_t)(int16_t)raw;
              expected = (expected & kinds[k].keep) | raw << kinds[k].shift;
            }
            ck_assert_uint_eq(wave->v[8 + r][lane], expected);
          }
      }
}
END_TEST

START_TEST(writes_and_pairs) {
  level = _i;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    wave->v[2][lane] = 16 * lane;
    for (unsigned r = 4; r < 8; r++) wave->v[r][lane] = r << 24 | lane;
  }
  ck_assert(step(OPCODE_ds_write_b128, false, true, 1, 16));
  for (unsigned i = 0; i < 4; i++) ck_assert_uint_eq(lds_words()[4 + 4 * 5 + i], (4 + i) << 24 | 5);
  ck_assert(step(OPCODE_ds_write2_b32, false, true, 2, 0x0302));
  ck_assert_uint_eq(lds_words()[4 * 7 + 2], 4u << 24 | 7);
  ck_assert_uint_eq(lds_words()[4 * 7 + 3], 6u << 24 | 7);
  ck_assert(step(OPCODE_ds_write2st64_b64, false, true, 2, 0x0201));
  ck_assert_uint_eq(lds_words()[128 + 4 * 9 + 1], 5u << 24 | 9);
  ck_assert_uint_eq(lds_words()[256 + 4 * 9], 6u << 24 | 9);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[8][lane] = 16 * lane;
  struct instruction read2 = {.opcode = OPCODE_ds_read2_b64, .operand_count = 2, .encoding = {0x4140, 0},
                              .operands = {vgpr(7, 4), vgpr(8, 1)}}; /* the result covers the address */
  ck_assert(wave_step(&read2));
  for (unsigned i = 0; i < 4; i++) ck_assert_uint_eq(wave->v[7 + i][11], lds_words()[128 + 4 * 11 + i]);
  wave->v[2][3] = 3;
  wave->s[SREG_EXEC_LO] = 8;
  ck_assert(step(OPCODE_ds_write_b8, false, true, 1, 0));
  ck_assert_uint_eq(wave->lds[3], 3);
  ck_assert(step(OPCODE_ds_write_b16_d16_hi, false, true, 1, 1));
  ck_assert_uint_eq(wave->lds[5], 4);
}
END_TEST

START_TEST(outside_reads_zero_and_is_not_written) {
  level = _i;
  lds_fill();
  wave->lds[wave->lds_bytes] = 0x77;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = wave->lds_bytes - 64 + 4 * lane;
  ck_assert(step(OPCODE_ds_read_b32, true, true, 0, 0));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    ck_assert_uint_eq(wave->v[8][lane], lane < 16 ? lds_words()[wave->lds_bytes / 4 - 16 + lane] : 0);
  ck_assert(step(OPCODE_ds_write_b32, false, true, 1, 0));
  ck_assert_uint_eq(wave->lds[wave->lds_bytes], 0x77);
  ck_assert_uint_eq(lds_words()[wave->lds_bytes / 4 - 1], wave->v[4][15]);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = wave->lds_bytes;
  ck_assert(step(OPCODE_ds_add_rtn_u32, true, true, 1, 0));
  ck_assert_uint_eq(wave->v[8][0], 0);
  ck_assert_uint_eq(wave->lds[wave->lds_bytes], 0x77);
}
END_TEST

START_TEST(atomics_return_the_value_before) {
  static const struct { enum opcode opcode; unsigned data; uint32_t old, first, second, after; } kinds[] = {
      {OPCODE_ds_add_rtn_u32, 1, 5, 7, 0, 12}, {OPCODE_ds_sub_rtn_u32, 1, 5, 7, 0, UINT32_MAX - 1},
      {OPCODE_ds_rsub_rtn_u32, 1, 5, 7, 0, 2}, {OPCODE_ds_inc_rtn_u32, 1, 5, 5, 0, 0}, {OPCODE_ds_inc_rtn_u32, 1, 5, 6, 0, 6},
      {OPCODE_ds_dec_rtn_u32, 1, 0, 9, 0, 9}, {OPCODE_ds_dec_rtn_u32, 1, 10, 9, 0, 9}, {OPCODE_ds_dec_rtn_u32, 1, 9, 9, 0, 8},
      {OPCODE_ds_min_rtn_i32, 1, 5, UINT32_MAX, 0, UINT32_MAX}, {OPCODE_ds_max_rtn_i32, 1, 5, UINT32_MAX, 0, 5},
      {OPCODE_ds_min_rtn_u32, 1, 5, UINT32_MAX, 0, 5}, {OPCODE_ds_max_rtn_u32, 1, 5, UINT32_MAX, 0, UINT32_MAX},
      {OPCODE_ds_and_rtn_b32, 1, 12, 10, 0, 8}, {OPCODE_ds_or_rtn_b32, 1, 12, 10, 0, 14}, {OPCODE_ds_xor_rtn_b32, 1, 12, 10, 0, 6},
      {OPCODE_ds_mskor_rtn_b32, 2, 0xff, 0x0f, 0x05, 0xf5}, {OPCODE_ds_wrxchg_rtn_b32, 1, 1, 2, 0, 2},
      {OPCODE_ds_cmpst_rtn_b32, 2, 5, 5, 9, 9}, {OPCODE_ds_cmpst_rtn_b32, 2, 5, 6, 9, 5},
      {OPCODE_ds_add_rtn_f32, 1, 0x3f800000, 0x40000000, 0, 0x40400000}, {OPCODE_ds_min_rtn_f32, 1, 0x3f800000, 0xbf800000, 0, 0xbf800000},
      {OPCODE_ds_max_rtn_f32, 1, 0x3f800000, 0xbf800000, 0, 0x3f800000}, {OPCODE_ds_wrap_rtn_b32, 2, 9, 4, 3, 5},
      {OPCODE_ds_wrap_rtn_b32, 2, 2, 4, 3, 5}};
  level = _i;
  wave->s[SREG_EXEC_LO] = 4;
  wave->v[2][2] = 40;
  for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    lds_words()[11] = kinds[k].old;
    wave->v[4][2] = kinds[k].first;
    wave->v[6][2] = kinds[k].second;
    ck_assert(step(kinds[k].opcode, true, true, kinds[k].data, 4));
    ck_assert_uint_eq(wave->v[8][2], kinds[k].old);
    ck_assert_uint_eq(lds_words()[11], kinds[k].after);
    ck_assert_uint_eq(wave->v[8][1], 0xa0000000u + 8 * 256 + 1);
  }
}
END_TEST

START_TEST(atomics_of_all_lanes_on_one_word_add_up) {
  level = _i;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    wave->v[2][lane] = 64;
    wave->v[4][lane] = UINT32_MAX;
    wave->v[5][lane] = lane;
  }
  ck_assert(step(OPCODE_ds_add_u64, false, true, 1, 0));
  ck_assert_uint_eq(*(uint64_t *)(void *)(wave->lds + 64), UINT64_C(0xffffffff) * 32 + ((uint64_t)(31 * 32 / 2) << 32));
}
END_TEST

START_TEST(exchange_of_lanes) {
  level = _i;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = 4 * (lane + 3);
  wave->s[SREG_EXEC_LO] = ~(1u << 6);
  ck_assert(step(OPCODE_ds_bpermute_b32, true, true, 1, 0));
  ck_assert_uint_eq(wave->v[8][0], wave->v[4][3]);
  ck_assert_uint_eq(wave->v[8][3], 0); /* from the inactive lane */
  ck_assert_uint_eq(wave->v[8][30], wave->v[4][1]);
  ck_assert_uint_eq(wave->v[8][6], 0xa0000000u + 8 * 256 + 6);
  ck_assert(step(OPCODE_ds_permute_b32, true, true, 1, 0));
  ck_assert_uint_eq(wave->v[8][3], wave->v[4][0]);
  ck_assert_uint_eq(wave->v[8][9], 0); /* nobody sent */
  ck_assert_uint_eq(wave->v[8][1], wave->v[4][30]);
  wave->s[SREG_EXEC_LO] = UINT32_MAX;
  ck_assert(step(OPCODE_ds_swizzle_b32, true, true, 0, 0x1f | 1 << 10)); /* xor 1 */
  ck_assert_uint_eq(wave->v[8][4], wave->v[2][5]);
  ck_assert(step(OPCODE_ds_swizzle_b32, true, true, 0, 0x8000 | 0x1b)); /* quads reversed */
  ck_assert_uint_eq(wave->v[8][4], wave->v[2][7]);
  ck_assert(step(OPCODE_ds_swizzle_b32, true, true, 0, 0xc000 | 2 << 5)); /* rotate by two */
  ck_assert_uint_eq(wave->v[8][31], wave->v[2][1]);
}
END_TEST

START_TEST(append_counts_active_lanes) {
  level = _i;
  wave->s[SREG_M0] = 8;
  lds_words()[3] = 100;
  wave->s[SREG_EXEC_LO] = 0x70;
  ck_assert(step(OPCODE_ds_append, true, false, 0, 4));
  ck_assert_uint_eq(wave->v[8][5], 100);
  ck_assert_uint_eq(lds_words()[3], 103);
  ck_assert(step(OPCODE_ds_consume, true, false, 0, 4));
  ck_assert_uint_eq(wave->v[8][5], 103);
  ck_assert_uint_eq(lds_words()[3], 100);
}
END_TEST

START_TEST(gds_is_refused) {
  struct operation operation;
  struct instruction read = {.opcode = OPCODE_ds_read_b32, .operand_count = 2, .operands = {vgpr(8, 1), vgpr(2, 1)}, .gds = true};
  level = _i;
  ck_assert_int_eq(wave_bind(&read, &operation), HRX_UNSUPPORTED);
}
END_TEST

RUN_FAMILY(memory_lds, reads_of_every_width, writes_and_pairs, outside_reads_zero_and_is_not_written,
           atomics_return_the_value_before, atomics_of_all_lanes_on_one_word_add_up, exchange_of_lanes,
           append_counts_active_lanes, gds_is_refused)
