/* Decoding: machine code bytes -> instructions, once a kernel, through LLVM's C disassembler.
 *
 * libLLVM-19 is loaded at first use with RTLD_LOCAL (the host program may have an LLVM of its own).
 * Implicit operands that LLVM's text leaves out are not added, except VCC where the _e32 text prints vcc_lo: whoever binds
 * an opcode knows them. */
#ifndef HRX_CODE_DECODE_H
#define HRX_CODE_DECODE_H

#include <stddef.h>

#include "base/status.h"
#include "code/instruction.h"

struct decoded {
  struct instruction *instructions; /* in address order, no gaps except undecodable words (OPCODE_UNKNOWN, size 4) */
  uint32_t count;
  char target[32];
};

/* Decodes `size` bytes as code for `target` ("gfx1030"; gfx10 and later are wave32 unless ":wave64" follows: it decides
 * whether masks print as vcc_lo or vcc). SOPP instructions get one constant operand, the raw simm16. Undecodable words become OPCODE_UNKNOWN instructions (padding
 * between functions is such), so bytes can never make this fail. Errors: UNSUPPORTED if libLLVM-19 is missing or knows no such
 * target; OUT_OF_MEMORY. About 1 us an instruction and 0.5 ms a call. Any thread. */
hrx_status decode_code(const char *target, const void *bytes, size_t size, struct decoded **out_decoded);

/* NULL is accepted. */
void decoded_release(struct decoded *decoded);

/* LLVM's text of the instruction at `bytes` (for messages and `hrx inspect`): "v_add_f32_e32 v0, v1, v2". Errors as above,
 * and INVALID if the bytes are no instruction. */
hrx_status decode_text(const char *target, const void *bytes, size_t size, char *out_text, size_t capacity);

/* Index of the instruction at byte `offset`, or -1. O(log n). */
long decoded_find(const struct decoded *decoded, uint64_t offset);

/* "LLVM 19.1.7" and the path, or why it cannot be loaded: for `hrx doctor`. Always terminated. True if loaded. */
bool decode_describe(char *out_text, size_t capacity);

#endif
