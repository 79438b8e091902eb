/* HIP types that programs built against ROCm 6 and 7 use and that the headers of ROCm 5.2 lack.
 *
 * Layouts follow the public HIP documentation; tests/unit/device_properties.c holds them to the sizes that programs expect. */
#ifndef HRX_INTERPOSE_ABI_H
#define HRX_INTERPOSE_ABI_H

#include <hip/hip_runtime_api.h>

#endif
