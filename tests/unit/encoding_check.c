/* Encodings that crash LLVM's printer are kept from it; their neighbours are not. */
#include "code/encoding_check.h"

#include <check.h>

#include "code/decode.h"

/* v_sub_f32_sdwa with its second word's selects given: {dst_sel, dst_unused, src0_sel, src1_sel}. */
static const uint32_t *sub_sdwa(unsigned dst, unsigned unused, unsigned src0, unsigned src1) {
  static uint32_t words[2];
  words[0] = 0x08f404f9;
  words[1] = 0x01 | dst << 8 | unused << 11 | src0 << 16 | src1 << 24;
  return words;
}

static bool printable(const uint32_t *words) { return encoding_printable((const uint8_t *)words, 8); }

START_TEST(reserved_sdwa_selects_are_not_shown_to_llvm) {
  ck_assert(printable(sub_sdwa(6, 2, 6, 6)));
  ck_assert(!printable(sub_sdwa(7, 2, 6, 6)));
  ck_assert(!printable(sub_sdwa(6, 3, 6, 6)));
  ck_assert(!printable(sub_sdwa(6, 2, 7, 6)));
  ck_assert(!printable(sub_sdwa(6, 2, 6, 7)));
  const uint32_t compare[2] = {0x7d0004f9, 0x0606ff01}; /* v_cmp_lt_f32_sdwa: bits 8 to 15 are its destination */
  ck_assert(printable(compare));
  const uint32_t move[2] = {0x7e0402f9, 0x07061601}; /* v_mov_b32_sdwa has one source */
  ck_assert(printable(move));
  ck_assert(encoding_printable((const uint8_t *)sub_sdwa(7, 2, 6, 6), 4)); /* cut: LLVM sees that itself */
}
END_TEST

START_TEST(they_decode_as_no_instruction) {
  struct decoded *decoded = NULL;
  ck_assert_int_eq(decode_code("gfx1030", sub_sdwa(6, 2, 6, 6), 8, &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->count, 1);
  ck_assert_str_eq(opcode_name(decoded->instructions[0].opcode), "v_sub_f32");
  decoded_release(decoded);
  ck_assert_int_eq(decode_code("gfx1030", sub_sdwa(7, 2, 6, 6), 8, &decoded), HRX_OK);
  ck_assert_int_eq(decoded->instructions[0].opcode, OPCODE_UNKNOWN);
  decoded_release(decoded);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("encoding_check");
  TCase *tests = tcase_create("all");
  tcase_add_test(tests, reserved_sdwa_selects_are_not_shown_to_llvm);
  tcase_add_test(tests, they_decode_as_no_instruction);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
