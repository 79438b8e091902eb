/* The stages of decoding one instruction: LLVM's text for the mnemonic, registers and modifiers; the encoding for
 * constants and immediates, where the text is ambiguous (a literal 0x3f800000 prints as "1.0") or symbolic (hwreg,
 * s_waitcnt).
 *
 * Pure functions. Each answers false for what it cannot make sense of; the instruction then becomes OPCODE_UNKNOWN. */
#ifndef HRX_CODE_DECODE_LINE_H
#define HRX_CODE_DECODE_LINE_H

#include "code/instruction.h"

/* A piece of the line, not terminated. */
struct text {
  const char *at, *end;
};

/* Whether `text` starts with `prefix`; if so skips it. */
bool text_skip(struct text *text, const char *prefix);

/* Whether `text` is exactly `word`. */
bool text_is(struct text text, const char *word);

/* Reads a whole number ("12", "-16", "0x1f", "-0x10") that fills `text`. */
bool text_number(struct text text, int64_t *out_value);

/* Reads "[1,0,1]" that fills `text`: element i goes to bits i * bits_each. */
bool text_list(struct text text, unsigned bits_each, uint32_t *out_bits);

/* Fills opcode, form, operands and modifiers from one line. Everything that does not come from the text is set by
 * decode_fields. `instruction` has offset, size and encoding. */
bool decode_line(const char *line, struct instruction *instruction);

/* Appends one operand ("-|v0|", "s[4:5]", "0x10", "off", "[v1, v5]"). */
bool decode_operand(struct text text, struct instruction *instruction);

/* Applies one modifier ("offset:16", "glc", "quad_perm:[0,1,2,3]"). */
bool decode_modifier(struct text text, struct instruction *instruction);

/* How many of the first operands are written. Needs opcode, operands and modifiers. */
uint8_t decode_destinations(const struct instruction *instruction);

/* Sets constants, immediate and target from the encoding. `words` are size / 4 of them; needs destination_count. */
void decode_fields(const uint32_t *words, struct instruction *instruction);

#endif
