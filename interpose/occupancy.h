/* How many blocks of a kernel one compute unit holds at once. */
#ifndef HRX_INTERPOSE_OCCUPANCY_H
#define HRX_INTERPOSE_OCCUPANCY_H

#include "interpose/operation.h"

/* Blocks of `block_items` work-items and `dynamic_lds` bytes that a compute unit holds; 0 if it cannot hold one. */
unsigned occupancy_blocks(const struct ihipModuleSymbol_t *function, uint32_t block_items, size_t dynamic_lds);

/* Whether all blocks of a cooperative launch are resident at once. Errors: hipErrorCooperativeLaunchTooLarge. */
hipError_t cooperative_check(const struct launch_operation *operation);

/* One attribute of a function. Errors: hipErrorInvalidValue for one that there is not; nothing is written then. */
hipError_t function_attribute(const struct ihipModuleSymbol_t *function, hipFunction_attribute which, int *out_value);

/* The most dynamic LDS that launches of the function will ask for. Errors: hipErrorInvalidValue for more than there is. */
hipError_t function_set_dynamic_lds(struct ihipModuleSymbol_t *function, int bytes);

#endif
