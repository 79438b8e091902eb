/* Decoding: what every form and modifier becomes, and what bytes that are no code do. */
#include "code/decode.h"

#include <check.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct decode_case {
  const char *text, *expected;
  uint32_t words[5];
};

static const struct decode_case cases[] = {
#include "decode_cases.h"
};

static void add(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t length = strlen(out);
  vsnprintf(out + length, 512 - length, format, arguments);
  va_end(arguments);
}

static void describe_operand(const struct operand *operand, char *out) {
  static const char *const kinds[] = {"none", "v", "s", "c", "x", "off"};
  add(out, " %s%s%s%s", operand->negate ? "-" : "", operand->absolute ? "|" : "", operand->sext ? "sext" : "",
      kinds[operand->kind]);
  if (operand->kind == OPERAND_CONSTANT)
    add(out, "%llx%s%s", (unsigned long long)operand->value, operand->literal ? "L" : "",
        operand->inline_float ? "f" : "");
  else if (operand->kind != OPERAND_OFF)
    add(out, "%u", operand->index);
  if (operand->kind == OPERAND_VGPR || operand->kind == OPERAND_SGPR) add(out, "/%u", operand->registers);
  if (operand->select != SDWA_DWORD) add(out, "@%u", operand->select);
}

/* name, size, destinations, form; operands: kind and index / registers @ select, constants in hexadecimal, L literal,
 * f real; then whatever modifiers are not absent. */
static void describe(const struct instruction *in, char *out) {
  *out = '\0';
  add(out, "%s sz%u d%u f%u", opcode_name(in->opcode), in->size, in->destination_count, in->form);
  for (unsigned i = 0; i < in->operand_count; i++) describe_operand(&in->operands[i], out);
  if (in->clamp) add(out, " clamp");
  if (in->omod) add(out, " omod%u", in->omod);
  if (in->has_op_sel || in->op_sel) add(out, " os%x", in->op_sel);
  if (in->has_op_sel_hi || in->op_sel_hi) add(out, " osh%x", in->op_sel_hi);
  if (in->neg_lo) add(out, " nl%x", in->neg_lo);
  if (in->neg_hi) add(out, " nh%x", in->neg_hi);
  if (in->form == FORM_SDWA) add(out, " dst%u,%u", in->sdwa_destination, in->sdwa_unused);
  if (in->form == FORM_DPP || in->form == FORM_DPP8)
    add(out, " dpp%u:%x r%x b%x bc%d fi%d", in->dpp, in->dpp_value, in->dpp_row_mask, in->dpp_bank_mask,
        in->dpp_bound_ctrl, in->dpp_fi);
  if (in->offset0 || in->offset1) add(out, " o%d,%d", in->offset0, in->offset1);
#define FLAG(name)                                                                                                     \
  if (in->name) add(out, " " #name);
  FLAG(gds)
  FLAG(glc) FLAG(slc) FLAG(dlc) FLAG(lds) FLAG(idxen) FLAG(offen) FLAG(addr64) FLAG(tfe) FLAG(unorm) FLAG(a16) FLAG(d16)
      FLAG(r128) FLAG(da) FLAG(lwe)
#undef FLAG
          if (in->dmask) add(out, " dmask%x", in->dmask);
  if (in->dimension) add(out, " dim%u", in->dimension);
  if (in->format) add(out, " fmt%u", in->format);
  if (in->immediate) add(out, " imm%x", in->immediate);
  if (in->target != -1) add(out, " ->%lld", (long long)in->target);
}

static size_t case_bytes(const struct decode_case *row) {
  unsigned size = 0;
  ck_assert_int_eq(sscanf(strstr(row->expected, " sz"), " sz%u", &size), 1);
  return size;
}

START_TEST(every_form_and_modifier_is_decoded) {
  const struct decode_case *row = &cases[_i];
  struct decoded *decoded = NULL;
  char text[512], described[512];
  ck_assert_int_eq(decode_code("gfx1030", row->words, case_bytes(row), &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->count, 1);
  describe(&decoded->instructions[0], described);
  ck_assert_str_eq(described, row->expected);
  ck_assert_int_eq(decode_text("gfx1030", row->words, case_bytes(row), text, sizeof text), HRX_OK);
  ck_assert_str_eq(text, row->text);
  decoded_release(decoded);
}
END_TEST

START_TEST(instructions_follow_each_other_and_are_found_by_offset) {
  uint32_t code[2 * sizeof cases / sizeof *cases];
  uint32_t offsets[sizeof cases / sizeof *cases], words = 0, count = sizeof cases / sizeof *cases;
  struct decoded *decoded = NULL;
  ck_assert_uint_ge(count, 120);
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t size = (uint32_t)case_bytes(&cases[i]) / 4;
    if (size > 2) continue;
    offsets[used++] = words * 4;
    memcpy(code + words, cases[i].words, size * 4u);
    words += size;
  }
  ck_assert_int_eq(decode_code("gfx1030", code, words * 4u, &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->count, used);
  for (uint32_t i = 0; i < used; i++) {
    ck_assert_uint_eq(decoded->instructions[i].offset, offsets[i]);
    ck_assert_int_eq(decoded_find(decoded, offsets[i]), i);
  }
  ck_assert_int_eq(decoded_find(decoded, 2), -1);
  ck_assert_int_eq(decoded_find(decoded, words * 4u), -1);
  ck_assert_int_eq(decoded_find(decoded, UINT64_MAX), -1);
  decoded_release(decoded);
}
END_TEST

START_TEST(branch_targets_count_from_the_next_instruction) {
  /* s_nop 0; s_branch -2; s_cbranch_scc0 +1; s_call_b64 s[0:1], 0 */
  const uint32_t code[] = {0xbf800000, 0xbf82fffe, 0xbf840001, 0xbb000000};
  struct decoded *decoded = NULL;
  ck_assert_int_eq(decode_code("gfx1030", code, sizeof code, &decoded), HRX_OK);
  ck_assert_int_eq(decoded->instructions[0].target, -1);
  ck_assert_int_eq(decoded->instructions[1].target, 0);
  ck_assert_int_eq(decoded->instructions[2].target, 16);
  ck_assert_int_eq(decoded->instructions[3].target, 16);
  decoded_release(decoded);
}
END_TEST

START_TEST(padding_becomes_unknown_words) {
  /* zero words, s_endpgm, a truncated two-word instruction, three stray bytes */
  const uint32_t code[] = {0, 0, 0xbf810000, 0xd5690000, 0};
  struct decoded *decoded = NULL;
  ck_assert_int_eq(decode_code("gfx1030", code, 19, &decoded), HRX_OK);
  ck_assert_uint_ge(decoded->count, 2);
  const struct instruction *last = &decoded->instructions[decoded->count - 1];
  ck_assert_int_eq(last->opcode, OPCODE_UNKNOWN);
  ck_assert_uint_eq(last->offset, 12);
  ck_assert_uint_eq(last->encoding[0], 0xd5690000);
  ck_assert_uint_eq(last->size, 4);
  ck_assert_int_ne(decoded_find(decoded, 8), -1);
  decoded_release(decoded);
  ck_assert_int_eq(decode_code("gfx1030", code, 0, &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->count, 0);
  decoded_release(decoded);
}
END_TEST

/* Pseudo-random code that ends where memory does: no byte behind the end may be read. */
START_TEST(any_bytes_are_decoded_without_gaps) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  ck_assert_int_eq(mprotect(memory + page, page, PROT_NONE), 0);
  uint64_t state = 88172645463325252u + (uint64_t)_i;
  for (size_t i = 0; i < page; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    memory[i] = (uint8_t)state;
  }
  /* Half of the words get the top bits of an encoding with modifiers, so that most of them decode. */
  static const uint8_t tops[] = {0xd5, 0xd7, 0xcc, 0xd8, 0xdc, 0xe0, 0xf0, 0xf4, 0x7e, 0xbf, 0xbe, 0xb0, 0xd4, 0xe8};
  for (size_t i = 3; i < page; i += 8) memory[i] = tops[memory[i] % sizeof tops];
  for (size_t cut = 0; cut < 24; cut++) {
    struct decoded *decoded = NULL;
    const uint8_t *start = memory + cut * 4;
    size_t size = page - cut * 4;
    ck_assert_int_eq(decode_code("gfx1030", start, size, &decoded), HRX_OK);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < decoded->count; i++) {
      const struct instruction *in = &decoded->instructions[i];
      ck_assert_uint_eq(in->offset, offset);
      ck_assert_uint_le(in->operand_count, INSTRUCTION_OPERANDS);
      ck_assert_uint_le(in->destination_count, in->operand_count);
      for (unsigned k = 0; k < in->operand_count; k++) {
        const struct operand *operand = &in->operands[k];
        unsigned limit = operand->kind == OPERAND_VGPR ? 256 : operand->kind == OPERAND_SGPR ? SREG_FILE : 512;
        ck_assert_uint_le(operand->index + operand->registers, limit);
      }
      offset += in->size;
    }
    ck_assert_uint_eq(offset, size);
    decoded_release(decoded);
  }
  munmap(memory, 2 * page);
}
END_TEST

START_TEST(wave64_prints_whole_masks) {
  const uint32_t code[] = {0x7d840200}; /* v_cmp_eq_u32_e32 vcc, v0, v1 */
  struct decoded *decoded = NULL;
  ck_assert_int_eq(decode_code("gfx1030:wave64", code, sizeof code, &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->instructions[0].operands[0].registers, 2);
  decoded_release(decoded);
  ck_assert_int_eq(decode_code("gfx90a", code, sizeof code, &decoded), HRX_OK);
  ck_assert_uint_eq(decoded->count, 1);
  decoded_release(decoded);
}
END_TEST

START_TEST(unknown_targets_are_refused_by_name) {
  struct decoded *decoded = NULL;
  char text[64];
  const uint32_t code[] = {0xbf810000, 0xffffffff};
  ck_assert_int_eq(decode_code("gfx9999", code, 4, &decoded), HRX_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "gfx9999"));
  ck_assert_int_eq(decode_code("gfx1030:xnack+", code, 4, &decoded), HRX_UNSUPPORTED);
  ck_assert_int_eq(decode_code("", code, 4, &decoded), HRX_UNSUPPORTED);
  ck_assert_int_eq(decode_text("gfx1030", code + 1, 4, text, sizeof text), HRX_INVALID);
  ck_assert_int_eq(decode_text("gfx1030", code, 3, text, sizeof text), HRX_INVALID);
  ck_assert_int_eq(decode_text("gfx1030", code, 4, text, 4), HRX_OK);
  ck_assert_str_eq(text, "s_e");
  decoded_release(NULL);
}
END_TEST

START_TEST(opcodes_are_sorted_and_found) {
  for (unsigned i = 1; i < OPCODE_COUNT; i++) {
    const char *name = opcode_name((enum opcode)i);
    if (i > 1) ck_assert_msg(strcmp(opcode_name((enum opcode)(i - 1)), name) < 0, "%s is out of order", name);
    ck_assert_uint_eq(opcode_find(name, strlen(name)), i);
  }
  ck_assert_uint_eq(opcode_find("v_add_f3", 8), OPCODE_UNKNOWN);
  ck_assert_uint_eq(opcode_find("v_add_f32_e32", 9), OPCODE_v_add_f32);
  ck_assert_uint_eq(opcode_find("v_add_f322", 10), OPCODE_UNKNOWN);
  ck_assert_uint_eq(opcode_find("", 0), OPCODE_UNKNOWN);
}
END_TEST

static void *decode_all(void *unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct decoded *decoded = NULL;
    char described[512] = "";
    if (decode_code("gfx1030", cases[i].words, case_bytes(&cases[i]), &decoded) == HRX_OK)
      describe(&decoded->instructions[0], described);
    decoded_release(decoded);
    if (strcmp(described, cases[i].expected) != 0) return (void *)(uintptr_t)(i + 1);
  }
  return NULL;
}

START_TEST(threads_decode_at_once) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, decode_all, NULL), 0);
  for (int i = 0; i < 4; i++) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    ck_assert_ptr_null(failed);
  }
}
END_TEST

START_TEST(the_library_is_described) {
  char text[300];
  ck_assert(decode_describe(text, sizeof text));
  ck_assert_ptr_nonnull(strstr(text, "LLVM 19."));
  ck_assert(decode_describe(text, 5));
  ck_assert_str_eq(text, "LLVM");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("decode");
  TCase *tests = tcase_create("decode");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, threads_decode_at_once); /* first: also the load is raced for */
  tcase_add_loop_test(tests, every_form_and_modifier_is_decoded, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(tests, instructions_follow_each_other_and_are_found_by_offset);
  tcase_add_test(tests, branch_targets_count_from_the_next_instruction);
  tcase_add_test(tests, padding_becomes_unknown_words);
  tcase_add_loop_test(tests, any_bytes_are_decoded_without_gaps, 0, 20);
  tcase_add_test(tests, wave64_prints_whole_masks);
  tcase_add_test(tests, unknown_targets_are_refused_by_name);
  tcase_add_test(tests, opcodes_are_sorted_and_found);
  tcase_add_test(tests, the_library_is_described);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
