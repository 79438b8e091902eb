/* Freeing memory that the device may still use. */
#ifndef HRX_INTERPOSE_MEMORY_RELEASE_H
#define HRX_INTERPOSE_MEMORY_RELEASE_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>

#include "interpose/state.h"

/* Waits for all work of the process, without reporting what failed. */
hipError_t memory_wait(struct hip_state *state);

/* The same, then frees the allocation that starts at `pointer`, if its kind is among `kinds`
 * (bits 1 << enum memory_kind). NULL is hipSuccess. Errors: hipErrorInvalidValue. */
hipError_t memory_wait_and_free(void *pointer, unsigned kinds);

#endif
