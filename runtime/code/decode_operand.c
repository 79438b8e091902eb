/* One operand of LLVM's text. Names of registers: LLVM's "AMDGPU Operand Syntax". */
#include "code/decode_line.h"

#include <string.h>

struct register_name {
  const char *name;
  uint8_t kind, registers;
  uint16_t index;
};

static const struct register_name register_names[] = {
    {"vcc_lo", OPERAND_SGPR, 1, SREG_VCC_LO},
    {"vcc", OPERAND_SGPR, 2, SREG_VCC_LO},
    {"exec_lo", OPERAND_SGPR, 1, SREG_EXEC_LO},
    {"exec", OPERAND_SGPR, 2, SREG_EXEC_LO},
    {"off", OPERAND_OFF, 0, 0},
    {"null", OPERAND_SGPR, 1, SREG_NULL},
    {"m0", OPERAND_SGPR, 1, SREG_M0},
    {"vcc_hi", OPERAND_SGPR, 1, SREG_VCC_HI},
    {"exec_hi", OPERAND_SGPR, 1, SREG_EXEC_HI},
    {"src_scc", OPERAND_SPECIAL, 1, SPECIAL_SCC},
    {"src_vccz", OPERAND_SPECIAL, 1, SPECIAL_VCCZ},
    {"src_execz", OPERAND_SPECIAL, 1, SPECIAL_EXECZ},
    {"src_shared_base", OPERAND_SPECIAL, 1, SPECIAL_SHARED_BASE},
    {"src_shared_limit", OPERAND_SPECIAL, 1, SPECIAL_SHARED_LIMIT},
    {"src_private_base", OPERAND_SPECIAL, 1, SPECIAL_PRIVATE_BASE},
    {"src_private_limit", OPERAND_SPECIAL, 1, SPECIAL_PRIVATE_LIMIT},
    {"src_pops_exiting_wave_id", OPERAND_SPECIAL, 1, SPECIAL_POPS_EXITING_WAVE_ID},
    {"src_lds_direct", OPERAND_SPECIAL, 1, SPECIAL_LDS_DIRECT},
    /* gfx9's places, which gfx10's numbering leaves free there */
    {"flat_scratch", OPERAND_SGPR, 2, 102},
    {"flat_scratch_lo", OPERAND_SGPR, 1, 102},
    {"flat_scratch_hi", OPERAND_SGPR, 1, 103},
    {"xnack_mask", OPERAND_SGPR, 2, 104},
    {"xnack_mask_lo", OPERAND_SGPR, 1, 104},
    {"xnack_mask_hi", OPERAND_SGPR, 1, 105}};

/* "5" or "[4:7]" behind v, s or ttmp. `base` is the number of the first register of the file, `limit` its end. */
static bool register_range(struct text text, unsigned base, unsigned limit, struct operand *operand) {
  int64_t first = 0, last = 0;
  if (text_skip(&text, "[")) {
    if (text.at == text.end || text.end[-1] != ']') return false;
    text.end--;
    const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));
    struct text low = {text.at, colon != NULL ? colon : text.end};
    if (!text_number(low, &first)) return false;
    last = first;
    if (colon != NULL && !text_number((struct text){colon + 1, text.end}, &last)) return false;
  } else {
    if (!text_number(text, &first)) return false;
    last = first;
  }
  if (first < 0 || last < first || last >= (int64_t)(limit - base) || last - first > 31) return false;
  operand->index = (uint16_t)(base + first);
  operand->registers = (uint8_t)(last - first + 1);
  return true;
}

static bool register_operand(struct text text, struct operand *operand) {
  struct text number = text;
  if (text_skip(&number, "v") && register_range(number, 0, 256, operand)) {
    operand->kind = OPERAND_VGPR;
    return true;
  }
  number = text;
  if ((text_skip(&number, "s") && register_range(number, 0, 106, operand)) ||
      (text_skip(&number, "ttmp") && register_range(number, SREG_TTMP0, SREG_M0, operand))) {
    operand->kind = OPERAND_SGPR;
    return true;
  }
  for (size_t i = 0; i < sizeof register_names / sizeof *register_names; i++) {
    const struct register_name *row = &register_names[i];
    if (!text_is(text, row->name)) continue;
    operand->kind = row->kind;
    operand->registers = row->registers;
    operand->index = row->index;
    return true;
  }
  return false;
}

/* Numbers; decode_fields replaces those that it finds in a source field. Real numbers and symbols stand only where it
 * does. */
static bool constant_operand(struct text text, struct operand *operand) {
  int64_t value = 0;
  struct text name = text;
  if (text.at == text.end) return false;
  bool number = text_number(text, &value);
  bool digit = (*text.at >= '0' && *text.at <= '9') || *text.at == '-';
  if (!number && !digit && !text_skip(&name, "hwreg(") && !text_skip(&name, "UC_VERSION")) return false;
  operand->kind = OPERAND_CONSTANT;
  operand->registers = 1;
  operand->value = (uint64_t)value;
  return true;
}

/* "neg(x)", "abs(x)", "sext(x)": takes the name and the closing bracket away. */
static bool unwrap(struct text *text, const char *opening) {
  if (text->at == text->end || text->end[-1] != ')' || !text_skip(text, opening)) return false;
  text->end--;
  return true;
}

/* An image address in registers that do not follow each other: "[v1, v5, v3]". */
static bool address_list(struct text text, struct instruction *instruction) {
  text.at++;
  text.end--;
  while (text.at < text.end) {
    const char *comma = memchr(text.at, ',', (size_t)(text.end - text.at));
    struct text element = {text.at, comma != NULL ? comma : text.end};
    if (element.at == element.end || *element.at != 'v' || !decode_operand(element, instruction)) return false;
    text.at = comma != NULL ? comma + 1 : text.end;
    while (text.at < text.end && *text.at == ' ') text.at++;
  }
  return true;
}

bool decode_operand(struct text text, struct instruction *instruction) {
  if (text.end - text.at >= 2 && *text.at == '[' && text.end[-1] == ']') return address_list(text, instruction);
  if (instruction->operand_count == INSTRUCTION_OPERANDS) return false;
  struct operand *operand = &instruction->operands[instruction->operand_count];
  struct operand plain = {.select = SDWA_DWORD};
  struct text inner = text;

  if (unwrap(&inner, "sext(")) plain.sext = true;
  if (unwrap(&inner, "neg(")) plain.negate = true;
  if (unwrap(&inner, "abs(")) plain.absolute = true;
  if (inner.end - inner.at >= 2 && inner.at[0] == '-' && (inner.at[1] < '0' || inner.at[1] > '9')) {
    plain.negate = true;
    inner.at++;
  }
  if (inner.end - inner.at >= 2 && inner.at[0] == '|' && inner.end[-1] == '|') {
    plain.absolute = true;
    inner.at++;
    inner.end--;
  }
  if (!register_operand(inner, &plain) && !constant_operand(inner, &plain)) return false;
  *operand = plain;
  instruction->operand_count++;
  return true;
}
