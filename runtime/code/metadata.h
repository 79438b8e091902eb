/* The NT_AMDGPU_METADATA note: msgpack that describes kernels and their arguments.
 *
 * Source: LLVM AMDGPU usage, "Code Object V3 Metadata" and following. Version 1.0, 1.1 and 1.2 (code objects v3, v4,
 * v5 and v6) are the same here: later ones only add hidden argument kinds. */
#ifndef HRX_CODE_METADATA_H
#define HRX_CODE_METADATA_H

#include "base/status.h"
#include "code/kernel.h"

struct metadata {
  char target[96];             /* amdhsa.target: "amdgcn-amd-amdhsa--gfx1030"; "" before version 1.1 */
  struct kernel_code *kernels; /* all but what the descriptor and symbols say */
  uint32_t kernel_count;
};

/* Reads the note's description. `offset` is where it lies in the file, for messages. Cost: linear. Errors:
 * INVALID/IMAGE with the offset, OUT_OF_MEMORY. */
hrx_status metadata_read(const void *bytes, size_t size, uint64_t offset, struct metadata *out_metadata);

/* Frees kernels as metadata_read makes them. */
void metadata_release_kernels(struct kernel_code *kernels, uint32_t count);

#endif
