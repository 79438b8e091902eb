/* Whether HIP calls go to the real HIP library or to the software GPU. */
#ifndef HRX_INTERPOSE_REAL_H
#define HRX_INTERPOSE_REAL_H

#include <stdbool.h>

/* Whether calls are forwarded to the real library. Decided before main; constant afterwards. */
bool real_library_used(void);

#endif
