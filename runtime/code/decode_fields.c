/* What the encoding says better than the text. Field positions: RDNA2 ISA, "Microcode formats"; gfx9 and gfx11 keep
 * those that are used here. */
#include "code/decode_line.h"

#include <string.h>

enum { SOURCE_LITERAL = 255 };

static bool starts(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }
static bool contains(const char *name, const char *part) { return strstr(name, part) != NULL; }

static uint8_t memory_destinations(const struct instruction *instruction, const char *name) {
  if (contains(name, "_store") || starts(name, "ds_write") || contains(name, "_inv") || contains(name, "_wb")) return 0;
  if (contains(name, "_load") || starts(name, "ds_read")) return instruction->lds ? 0 : 1;
  if (starts(name, "ds_"))
    return contains(name, "_rtn") || contains(name, "permute") || contains(name, "swizzle") ||
           contains(name, "append") || contains(name, "consume") || contains(name, "ordered_count");
  if (contains(name, "_atomic_csub")) return 1; /* returns whether glc is set or not */
  if (contains(name, "_atomic")) return instruction->glc;
  return starts(name, "image_");
}

static uint8_t scalar_destinations(const char *name) {
  static const char *const none[] = {"s_cmp_",          "s_cmpk_",   "s_bitcmp",   "s_setreg",    "s_setpc",
                                     "s_rfe",           "s_set_gpr", "s_setvskip", "s_store",     "s_buffer_store",
                                     "s_scratch_store", "s_dcache",  "s_gl1_inv",  "s_atc_probe", "s_waitcnt",
                                     "s_cbranch_join",  "s_setprio"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (starts(name, none[i])) return 0;
  return 1;
}

static uint8_t vector_destinations(const struct instruction *instruction, const char *name) {
  if (starts(name, "v_cmpx_")) return instruction->operand_count > 2; /* before gfx10 it writes VCC too */
  if (starts(name, "v_swap") || starts(name, "v_div_scale") || starts(name, "v_mad_u64_u32") ||
      starts(name, "v_mad_i64_i32") || contains(name, "_co_u32") || contains(name, "_co_ci_u32"))
    return 2;
  return !starts(name, "v_nop") && !starts(name, "v_clrexcp");
}

uint8_t decode_destinations(const struct instruction *instruction) {
  const char *name = opcode_name(instruction->opcode);
  bool sopp = instruction->encoding[0] >> 23 == 0x17f;
  uint8_t count = sopp                 ? 0
                  : starts(name, "s_") ? scalar_destinations(name)
                  : starts(name, "v_") ? vector_destinations(instruction, name)
                                       : memory_destinations(instruction, name);
  return count < instruction->operand_count ? count : instruction->operand_count;
}

/* Sets a constant operand from its source field. Fields that name no constant leave it as it is. */
static void constant_from(struct operand *operand, unsigned field, uint32_t literal) {
  static const uint32_t reals[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  if (operand->kind != OPERAND_CONSTANT) return;
  if (field == SOURCE_LITERAL) {
    operand->value = literal;
    operand->literal = true;
  } else if (field >= 128 && field <= 192) {
    operand->value = field - 128;
  } else if (field > 192 && field <= 208) {
    operand->value = (uint64_t)((int64_t)192 - field);
  } else if (field >= 240 && field <= 248) {
    operand->value = reals[field - 240];
    operand->inline_float = true;
  }
}

/* Source `index` counts from the first operand that is not written. */
static void source_from(struct instruction *instruction, unsigned index, unsigned field, uint32_t literal) {
  index += instruction->destination_count;
  if (index < instruction->operand_count) constant_from(&instruction->operands[index], field, literal);
}

static void vector_fields(const uint32_t *words, struct instruction *instruction, const char *name, uint32_t literal) {
  if (words[0] >> 31 == 0) { /* VOP1, VOP2, VOPC */
    source_from(instruction, 0, words[0] & 0x1ff, literal);
    if (contains(name, "amk_f") || contains(name, "admk_f")) source_from(instruction, 1, SOURCE_LITERAL, literal);
    if (contains(name, "aak_f") || contains(name, "adak_f")) source_from(instruction, 2, SOURCE_LITERAL, literal);
    return;
  }
  if (instruction->size < 8) return;
  for (unsigned i = 0; i < 3; i++) source_from(instruction, i, words[1] >> (9 * i) & 0x1ff, literal);
  bool packed = (starts(name, "v_pk_") || starts(name, "v_dot")) && instruction->form == FORM_PLAIN;
  if (packed && !instruction->has_op_sel_hi)
    instruction->op_sel_hi = (uint8_t)((1u << (instruction->operand_count - instruction->destination_count)) - 1);
}

static void sopk_fields(const uint32_t *words, struct instruction *instruction, const char *name, uint32_t literal) {
  uint32_t bits = words[0] & 0xffff;
  bool zero_extended = starts(name, "s_getreg") || starts(name, "s_setreg") || starts(name, "s_waitcnt") ||
                       (starts(name, "s_cmpk_") && contains(name, "_u32"));
  instruction->immediate = bits;
  for (unsigned i = 0; i < instruction->operand_count; i++)
    if (instruction->operands[i].kind == OPERAND_CONSTANT)
      instruction->operands[i].value = zero_extended ? bits : (uint64_t)(int64_t)(int16_t)bits;
  if (starts(name, "s_setreg_imm32") && instruction->operand_count == 2)
    constant_from(&instruction->operands[1], SOURCE_LITERAL, literal);
}

static bool has_target(const char *name) {
  return strcmp(name, "s_branch") == 0 ||
         (starts(name, "s_cbranch_") && !starts(name, "s_cbranch_g") && !starts(name, "s_cbranch_join")) ||
         starts(name, "s_call") || starts(name, "s_subvector_loop");
}

static void scalar_fields(const uint32_t *words, struct instruction *instruction, const char *name, uint32_t literal) {
  uint32_t word = words[0];
  if (word >> 30 != 2) return; /* SMEM */
  if (word >> 23 == 0x17f) {   /* SOPP */
    instruction->immediate = word & 0xffff;
    instruction->operand_count = 1;
    instruction->operands[0] =
        (struct operand){.kind = OPERAND_CONSTANT, .registers = 1, .select = SDWA_DWORD, .value = word & 0xffff};
  } else if (word >> 23 == 0x17d) { /* SOP1 */
    source_from(instruction, 0, word & 0xff, literal);
  } else if (word >> 28 == 0xb && word >> 23 != 0x17e) {
    sopk_fields(words, instruction, name, literal);
  } else { /* SOP2, SOPC */
    source_from(instruction, 0, word & 0xff, literal);
    source_from(instruction, 1, word >> 8 & 0xff, literal);
  }
  if (has_target(name)) instruction->target = (int64_t)instruction->offset + 4 + (int64_t)(int16_t)(word & 0xffff) * 4;
}

void decode_fields(const uint32_t *words, struct instruction *instruction) {
  const char *name = opcode_name(instruction->opcode);
  uint32_t literal = instruction->size >= 8 ? words[instruction->size / 4 - 1] : 0;
  if (starts(name, "v_")) {
    vector_fields(words, instruction, name, literal);
  } else if (starts(name, "s_")) {
    scalar_fields(words, instruction, name, literal);
  } else if (instruction->size >= 8 && (starts(name, "buffer_") || starts(name, "tbuffer_"))) {
    for (unsigned i = 0; i < instruction->operand_count; i++)
      constant_from(&instruction->operands[i], words[1] >> 24, 0);
    if (*name == 't') instruction->format = (uint8_t)(words[0] >> 19 & 0x7f);
  } else if (strcmp(name, "ds_swizzle_b32") == 0) {
    instruction->immediate = words[0] & 0xffff;
    instruction->offset0 = (int32_t)(words[0] & 0xffff);
  }
}
