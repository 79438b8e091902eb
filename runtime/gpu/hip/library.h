/* Where the real HIP runtime is: libamdhip64 of ROCm or of the distribution. */
#ifndef HRX_GPU_HIP_LIBRARY_H
#define HRX_GPU_HIP_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes the absolute path of the real libamdhip64: HRX_HIP_LIBRARY if set, else the newest under /opt/rocm, then under
 * the system's library folders. hrx's own stand-ins are not taken. Only looks at the file system; nothing is opened.
 * False if there is none (then `out_path` is ""), or if HRX_HIP_LIBRARY names no readable file (then it is that name).
 * Any thread. */
bool hip_library_find(char *out_path, size_t capacity);

/* How to dlopen the real library. It calls some of its own exports by name, which must not come back to hrx's:
 * RTLD_DEEPBIND. Sanitizers refuse that flag and end the process; hrx built with one goes without. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HIP_LIBRARY_OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define HIP_LIBRARY_OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

#endif
