/* Names of AMD GPU targets: "gfx90a" and its features ":sramecc+:xnack-".
 *
 * Source: LLVM AMDGPU usage, "Processors" and "Target ID"; LLVM BinaryFormat/ELF.h for the numbers. */
#ifndef HRX_CODE_TARGET_H
#define HRX_CODE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processor name for EF_AMDGPU_MACH (the low byte of e_flags), or NULL. O(1). */
const char *target_processor(uint32_t elf_flags);

/* Features that e_flags pin down, as text: "", ":xnack-", ":sramecc+:xnack+". "any" and "unsupported" add nothing.
 * `version` is the code object version: before 4 the bits meant something else. */
void target_features(uint32_t elf_flags, unsigned version, char *out_text, size_t capacity);

/* How well code for `code` suits the device `device`: -1 not at all, higher is more specific. The processors must be
 * equal, or `code` a generic processor that covers the device's; a feature that both name must agree. O(length). */
int target_match(const char *code, const char *device);

#endif
