/* HIP arrays: images in linear memory, rows padded to ARRAY_PITCH_ALIGNMENT, slices without gaps.
 *
 * hipArray is HIP's own public structure; `data` is device memory that only hrx lays out. */
#ifndef HRX_INTERPOSE_ARRAY_H
#define HRX_INTERPOSE_ARRAY_H

#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum { ARRAY_PITCH_ALIGNMENT = 256 };

/* In allocation.flags of an array's memory: it belongs to the array, not to the program. No HIP flag has this bit. */
#define ARRAY_MEMORY_FLAG 0x1000000u

/* Whether `array` is one that a program created and has not freed. */
bool array_live(const hipArray *array);

/* Bytes of an element, from row to row, from slice to slice. The array is live. */
size_t array_element_bytes(const hipArray *array);
size_t array_pitch(const hipArray *array);
size_t array_slice_pitch(const hipArray *array);

/* The channels that a driver format stands for. False for a format or count that HIP does not have. */
bool array_descriptor(hipArray_Format format, unsigned channels, hipChannelFormatDesc *out_desc);

/* Fills in all of a zeroed array but its data. Errors: hipErrorInvalidValue for a format or an extent that HIP does not have. */
hipError_t array_describe(hipArray *array, const hipChannelFormatDesc *desc, hipExtent extent, unsigned flags);

/* Bytes that its data takes. */
size_t array_bytes(const hipArray *array);

#endif
