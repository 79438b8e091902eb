/* One modifier of LLVM's text. Names: LLVM's "AMDGPU Modifier Syntax". */
#include "code/decode_line.h"

#include <string.h>

struct flag {
  const char *name;
  size_t place;
};

static const struct flag flags[] = {
    {"clamp", offsetof(struct instruction, clamp)},
    {"glc", offsetof(struct instruction, glc)},
    {"slc", offsetof(struct instruction, slc)},
    {"dlc", offsetof(struct instruction, dlc)},
    {"offen", offsetof(struct instruction, offen)},
    {"idxen", offsetof(struct instruction, idxen)},
    {"gds", offsetof(struct instruction, gds)},
    {"lds", offsetof(struct instruction, lds)},
    {"addr64", offsetof(struct instruction, addr64)},
    {"tfe", offsetof(struct instruction, tfe)},
    {"unorm", offsetof(struct instruction, unorm)},
    {"a16", offsetof(struct instruction, a16)},
    {"d16", offsetof(struct instruction, d16)},
    {"r128", offsetof(struct instruction, r128)},
    {"da", offsetof(struct instruction, da)},
    {"lwe", offsetof(struct instruction, lwe)},
    {"bound_ctrl:1", offsetof(struct instruction, dpp_bound_ctrl)},
    {"bound_ctrl:0", offsetof(struct instruction, dpp_bound_ctrl)}, /* as older LLVMs print the same bit */
    {"fi:1", offsetof(struct instruction, dpp_fi)}};

struct dpp_name {
  const char *name;
  enum dpp_kind kind;
};

/* "row_shl:3" */
static const struct dpp_name dpp_amounts[] = {{"row_shl:", DPP_ROW_SHL},     {"row_shr:", DPP_ROW_SHR},
                                              {"row_ror:", DPP_ROW_ROR},     {"wave_shl:", DPP_WAVE_SHL},
                                              {"wave_rol:", DPP_WAVE_ROL},   {"wave_shr:", DPP_WAVE_SHR},
                                              {"wave_ror:", DPP_WAVE_ROR},   {"row_share:", DPP_ROW_SHARE},
                                              {"row_xmask:", DPP_ROW_XMASK}, {"row_newbcast:", DPP_ROW_NEWBCAST}};
static const struct dpp_name dpp_words[] = {{"row_mirror", DPP_ROW_MIRROR},
                                            {"row_half_mirror", DPP_ROW_HALF_MIRROR},
                                            {"row_bcast:15", DPP_ROW_BCAST15},
                                            {"row_bcast:31", DPP_ROW_BCAST31}};

static bool dpp_modifier(struct text text, struct instruction *instruction, bool *out_valid) {
  uint32_t bits = 0;
  int64_t value = 0;
  *out_valid = true;
  struct text rest = text;
  if (text_skip(&rest, "quad_perm:")) {
    *out_valid = text_list(rest, 2, &bits);
    instruction->dpp = DPP_QUAD_PERM;
    instruction->dpp_value = bits;
    return true;
  }
  if (text_skip(&rest, "dpp8:")) {
    *out_valid = text_list(rest, 3, &bits);
    instruction->form = FORM_DPP8;
    instruction->dpp_value = bits;
    return true;
  }
  for (size_t i = 0; i < sizeof dpp_words / sizeof *dpp_words; i++)
    if (text_is(text, dpp_words[i].name)) {
      instruction->dpp = (uint8_t)dpp_words[i].kind;
      return true;
    }
  for (size_t i = 0; i < sizeof dpp_amounts / sizeof *dpp_amounts; i++)
    if (text_skip(&rest, dpp_amounts[i].name)) {
      *out_valid = text_number(rest, &value) && value >= 0 && value < 16;
      instruction->dpp = (uint8_t)dpp_amounts[i].kind;
      instruction->dpp_value = (uint32_t)value;
      return true;
    }
  return false;
}

static bool select_value(struct text text, uint8_t *out_select) {
  static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
    if (text_is(text, names[i])) {
      *out_select = i;
      return true;
    }
  return false;
}

static bool sdwa_modifier(struct text text, struct instruction *instruction, bool *out_valid) {
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  if (text_skip(&text, "dst_sel:")) {
    *out_valid = select_value(text, &instruction->sdwa_destination);
    return true;
  }
  if (text_skip(&text, "dst_unused:")) {
    *out_valid = false;
    for (uint8_t i = 0; i < 3; i++)
      if (text_is(text, unused[i])) {
        instruction->sdwa_unused = i;
        *out_valid = true;
      }
    return true;
  }
  for (unsigned source = 0; source < 2; source++) {
    if (!text_skip(&text, source == 0 ? "src0_sel:" : "src1_sel:")) continue;
    unsigned index = decode_destinations(instruction) + source;
    *out_valid = index < instruction->operand_count && select_value(text, &instruction->operands[index].select);
    return true;
  }
  return false;
}

static bool list_modifier(struct text text, struct instruction *instruction, bool *out_valid) {
  const struct {
    const char *name;
    uint8_t *bits;
  } lists[] = {{"op_sel:", &instruction->op_sel},
               {"op_sel_hi:", &instruction->op_sel_hi},
               {"neg_lo:", &instruction->neg_lo},
               {"neg_hi:", &instruction->neg_hi}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    uint32_t bits = 0;
    if (!text_skip(&text, lists[i].name)) continue;
    *out_valid = text_list(text, 1, &bits) && bits < 16;
    *lists[i].bits = (uint8_t)bits;
    if (lists[i].bits == &instruction->op_sel) instruction->has_op_sel = true;
    if (lists[i].bits == &instruction->op_sel_hi) instruction->has_op_sel_hi = true;
    return true;
  }
  return false;
}

static bool number_modifier(struct text text, struct instruction *instruction, bool *out_valid) {
  int64_t value = 0;
  if (text_skip(&text, "offset:")) {
    struct text symbol = text;
    if (text_skip(&symbol, "swizzle(")) { /* decode_fields has it */
      *out_valid = true;
      return true;
    }
    *out_valid = text_number(text, &value) && value >= INT32_MIN && value <= INT32_MAX;
    instruction->offset0 = (int32_t)value;
    return true;
  }
  if (text_skip(&text, "mul:")) {
    *out_valid = text_is(text, "2") || text_is(text, "4");
    instruction->omod = text_is(text, "2") ? 1 : 2;
    return true;
  }
  if (text_skip(&text, "div:")) {
    *out_valid = text_is(text, "2");
    instruction->omod = 3;
    return true;
  }
  bool second = false;
  if (text_skip(&text, "offset0:") || (second = text_skip(&text, "offset1:"))) {
    *out_valid = text_number(text, &value) && value >= 0 && value < 256;
    *(second ? &instruction->offset1 : &instruction->offset0) = (int32_t)value;
    return true;
  }
  uint8_t *place = text_skip(&text, "row_mask:")    ? &instruction->dpp_row_mask
                   : text_skip(&text, "bank_mask:") ? &instruction->dpp_bank_mask
                   : text_skip(&text, "dmask:")     ? &instruction->dmask
                                                    : NULL;
  if (place == NULL) return false;
  *out_valid = text_number(text, &value) && value >= 0 && value < 16;
  *place = (uint8_t)value;
  return true;
}

/* RDNA2 ISA, MIMG "DIM" */
static bool dimension_modifier(struct text text, struct instruction *instruction, bool *out_valid) {
  static const char *const names[] = {"1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};
  if (!text_skip(&text, "dim:SQ_RSRC_IMG_")) return false;
  *out_valid = false;
  for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
    if (text_is(text, names[i])) {
      instruction->dimension = i;
      *out_valid = true;
    }
  return true;
}

bool decode_modifier(struct text text, struct instruction *instruction) {
  bool valid = false;
  struct text format = text;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (text_is(text, flags[i].name)) {
      *((bool *)(void *)((char *)instruction + flags[i].place)) = true;
      return true;
    }
  if (text_skip(&format, "format:")) return true; /* decode_fields has it */
  if (number_modifier(text, instruction, &valid) || sdwa_modifier(text, instruction, &valid) ||
      dpp_modifier(text, instruction, &valid) || list_modifier(text, instruction, &valid) ||
      dimension_modifier(text, instruction, &valid))
    return valid;
  return false;
}
