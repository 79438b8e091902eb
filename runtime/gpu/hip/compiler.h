/* hiprtc, the compiler that the real HIP runtime brings. It needs no GPU. */
#ifndef HRX_GPU_HIP_COMPILER_H
#define HRX_GPU_HIP_COMPILER_H

#include <limits.h>

/* The library that has hiprtc's functions, opened once beside hrx, for dlsym; or NULL. Opening loads a compiler: it can take a
 * second. Any thread. Before ROCm 6 that is libamdhip64 itself, later a library of its own. */
void *hip_compiler_library(void);

/* Where it was found: an absolute path; "" before it was opened. */
const char *hip_compiler_path(void);

#endif
