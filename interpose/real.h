/* The real HIP library: where it is, and whether calls go to it. */
#ifndef HRX_INTERPOSE_REAL_H
#define HRX_INTERPOSE_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the absolute path of the real libamdhip64 (HRX_HIP_LIBRARY, else the usual folders), which is not one of hrx's own
 * files. False if there is none. */
bool real_library_path(char *out_path, size_t capacity);

/* Whether calls are forwarded to the real library. Decided before main; constant afterwards. */
bool real_library_used(void);

#endif
