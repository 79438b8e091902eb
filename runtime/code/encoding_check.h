/* Encodings that must not be shown to LLVM 19: its printer has no text for them and crashes. Found by fuzzing. */
#ifndef HRX_CODE_ENCODING_CHECK_H
#define HRX_CODE_ENCODING_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False if the instruction at `bytes` uses a reserved value that LLVM's decoder accepts and its printer does not. True
 * says nothing about whether it is an instruction. Holds for gfx9 to gfx12. Reads at most `size` bytes; a few
 * comparisons. */
bool encoding_printable(const uint8_t *bytes, size_t size);

#endif
