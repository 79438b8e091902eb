/* Which build of the vector loops this CPU runs: v4 (AVX-512), v3 (AVX2, FMA) or baseline x86-64. */
#ifndef HRX_GPU_SOFT_LEVEL_H
#define HRX_GPU_SOFT_LEVEL_H

#include "gpu/soft/operation.h"

struct soft_level {
  const char *name;
  const struct binding **bindings; /* by enum opcode; NULL: no handler */
};

/* The level of that name; NULL asks for HRX_SOFT_LEVEL, else the best. Gathered at first use, constant afterwards. Any thread.
 * Errors: INVALID/ARGUMENT for a name that is unknown or that this CPU cannot run. */
hrx_status soft_level_find(const char *name, const struct soft_level **out_level);

#endif
