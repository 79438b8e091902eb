/* LLVM's C disassembler, loaded at first use.
 *
 * libLLVM-19 is opened with RTLD_LOCAL and stays loaded: a host program may have an LLVM of its own, and LLVM cannot be
 * unloaded. A disassembler belongs to one thread; different threads may use different ones at once. */
#ifndef HRX_CODE_DISASSEMBLER_H
#define HRX_CODE_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct disassembler {
  void *context;
};

/* Starts a disassembler for `target`: an exact processor name, "gfx1030"; processors from gfx10 on are taken as wave32
 * unless the name is followed by ":wave64". About 0.5 ms, 30 ms more for the process's first.
 * Errors: UNSUPPORTED if libLLVM-19 is missing or does not know the target. */
hrx_status disassembler_init(struct disassembler *disassembler, const char *target);

/* Accepts one that was never started (zeroes). */
void disassembler_finish(struct disassembler *disassembler);

/* Writes the text of the instruction at `bytes`, terminated and cut to `capacity`, and returns its size in bytes; 0 if
 * the bytes are no instruction. Reads at most `size` bytes. */
size_t disassembler_line(struct disassembler *disassembler, const uint8_t *bytes, size_t size, char *out_text,
                         size_t capacity);

/* "LLVM 19.1.7 (path)", or why it cannot be loaded. True if loaded. */
bool disassembler_describe(char *out_text, size_t capacity);

#endif
