/* AMD's code object manager (libamd_comgr), the compiler and linker behind hiprtc, called in this process. It needs no GPU.
 *
 * Both calls take as long as a compiler does; any thread. They fail with UNSUPPORTED if the library is missing. */
#ifndef HRX_GPU_HIP_COMGR_H
#define HRX_GPU_HIP_COMGR_H

#include <stddef.h>

#include "base/status.h"

/* A text or bitcode with the name that messages call it by. */
struct comgr_input {
  const char *name;
  const void *bytes;
  size_t size;
};

/* Compiles HIP source, with headers that it includes by name, to LLVM bitcode for `target` that is still to be linked. `out_log` gets
 * what the compiler said, malloced, also if it failed; NULL if it said nothing. `out_bytes` is malloced. Errors: COMPILE. */
hrx_status comgr_compile(const struct comgr_input *source, const struct comgr_input *headers, size_t header_count,
                         const char *const *options, size_t option_count, const char *target, char **out_log, void **out_bytes,
                         size_t *out_size);

/* Links bitcode (plain) and makes a code object of it, malloced. Errors: COMPILE with the linker's first line. */
hrx_status comgr_link(const struct comgr_input *inputs, size_t count, const char *target, void **out_bytes, size_t *out_size);

#endif
