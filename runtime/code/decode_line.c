/* LLVM's line: mnemonic, operands between commas, modifiers between blanks. */
#include "code/decode_line.h"

#include <string.h>

bool text_skip(struct text *text, const char *prefix) {
  size_t length = strlen(prefix);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, prefix, length) != 0) return false;
  text->at += length;
  return true;
}

bool text_is(struct text text, const char *word) { return text_skip(&text, word) && text.at == text.end; }

bool text_number(struct text text, int64_t *out_value) {
  bool negative = text_skip(&text, "-");
  unsigned base = text_skip(&text, "0x") ? 16 : 10;
  uint64_t value = 0;
  if (text.at == text.end || text.end - text.at > 18) return false;
  for (; text.at < text.end; text.at++) {
    char c = *text.at;
    unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
    if (digit >= base) return false;
    value = value * base + digit;
  }
  *out_value = negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

bool text_list(struct text text, unsigned bits_each, uint32_t *out_bits) {
  uint32_t bits = 0;
  if (!text_skip(&text, "[") || text.at == text.end || text.end[-1] != ']') return false;
  text.end--;
  for (unsigned shift = 0;; shift += bits_each) {
    const char *comma = memchr(text.at, ',', (size_t)(text.end - text.at));
    struct text element = {text.at, comma != NULL ? comma : text.end};
    int64_t value = 0;
    if (!text_number(element, &value) || value < 0 || value >= 1 << bits_each || shift + bits_each > 32) return false;
    bits |= (uint32_t)value << shift;
    if (comma == NULL) break;
    text.at = comma + 1;
  }
  *out_bits = bits;
  return true;
}

/* Takes from `rest` up to the next separator outside brackets, without blanks around it. `at_blanks`: blanks separate
 * too. */
static struct text take(struct text *rest, bool at_blanks) {
  while (rest->at < rest->end && *rest->at == ' ') rest->at++;
  struct text piece = {rest->at, rest->at};
  int depth = 0;
  for (; rest->at < rest->end; rest->at++) {
    char c = *rest->at;
    if (c == '[' || c == '(') depth++;
    if (c == ']' || c == ')') depth--;
    if (depth <= 0 && (c == ',' || (at_blanks && c == ' '))) break;
  }
  piece.end = rest->at;
  while (piece.end > piece.at && piece.end[-1] == ' ') piece.end--;
  return piece;
}

static void mnemonic(struct text name, struct instruction *instruction) {
  static const struct {
    const char *suffix;
    enum instruction_form form;
  } suffixes[] = {{"_e32", FORM_E32},   {"_e64_dpp", FORM_DPP}, {"_e64", FORM_E64},
                  {"_sdwa", FORM_SDWA}, {"_dpp8", FORM_DPP8},   {"_dpp", FORM_DPP}};
  size_t length = (size_t)(name.end - name.at);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t cut = strlen(suffixes[i].suffix);
    if (length > cut && memcmp(name.end - cut, suffixes[i].suffix, cut) == 0) {
      instruction->form = (uint8_t)suffixes[i].form;
      length -= cut;
      break;
    }
  }
  instruction->opcode = opcode_find(name.at, length);
}

/* SOPP instructions print symbols and, s_waitcnt, no commas: decode_fields knows all from the encoding. */
static bool has_symbols(const struct instruction *instruction) { return instruction->encoding[0] >> 23 == 0x17f; }

bool decode_line(const char *line, struct instruction *instruction) {
  /* Comments stand for encodings that the hardware does not define, except one about unaligned scalar registers. */
  if (strstr(line, "/*") != NULL) return false;
  struct text rest = {line, line + strcspn(line, ";\n")};
  while (rest.at < rest.end && (*rest.at == ' ' || *rest.at == '\t')) rest.at++;
  struct text name = {rest.at, rest.at};
  while (rest.at < rest.end && *rest.at != ' ' && *rest.at != '\t') rest.at++;
  name.end = rest.at;
  mnemonic(name, instruction);
  if (instruction->opcode == OPCODE_UNKNOWN) return false;
  if (has_symbols(instruction)) return true;

  while (rest.at < rest.end && *rest.at == '\t') rest.at++;
  bool more = rest.at < rest.end, first = true;
  while (more) {
    /* An operand ends at a comma, the last one at a blank; what follows that are modifiers. Without operands (ds_nop
     * offset:4) the first word is a modifier already. */
    struct text operand = take(&rest, true);
    if (first && decode_modifier(operand, instruction)) break;
    if (operand.at == operand.end) break;
    if (!decode_operand(operand, instruction)) return false;
    first = false;
    more = rest.at < rest.end && *rest.at == ',';
    rest.at += more;
  }
  while (rest.at < rest.end) {
    struct text modifier = take(&rest, true);
    if (modifier.at == modifier.end) break;
    if (!decode_modifier(modifier, instruction)) return false;
  }
  return rest.at == rest.end;
}
