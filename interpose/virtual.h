/* Descriptors and properties as programs hand them in: what virtual memory and pools share. */
#ifndef HRX_INTERPOSE_VIRTUAL_H
#define HRX_INTERPOSE_VIRTUAL_H

#include <stdbool.h>

#include "interpose/abi_memory.h"

/* The descriptor in an "OS handle" argument. ROCm 7.1 and CUDA pass its number as the pointer, earlier ROCm passed a pointer to it; a
 * number is what is an open descriptor. False if it is neither. */
bool os_handle_descriptor(void *os_handle, int *out_descriptor);

/* hipMemAllocationProp in either of its two layouts. False for one that makes sense in neither. */
bool allocation_properties_read(const hipMemAllocationProp *given, struct allocation_properties *out_properties);

/* Whether a program may name the location: an existing device or the host. */
bool location_exists(const hipMemLocation *location);

#endif
