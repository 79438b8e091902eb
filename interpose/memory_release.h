/* Freeing memory that the device may still use. */
#ifndef HRX_INTERPOSE_MEMORY_RELEASE_H
#define HRX_INTERPOSE_MEMORY_RELEASE_H

#include <hip/hip_runtime_api.h>

/* Waits for all work of the process, then frees the allocation that starts at `pointer`, if its kind is among `kinds`
 * (bits 1 << enum memory_kind). NULL is hipSuccess. Errors: hipErrorInvalidValue. */
hipError_t memory_wait_and_free(void *pointer, unsigned kinds);

#endif
