/* hipMemset in all its forms. Fills of device memory are ordered by the stream; the forms without "Async" also wait. */
#include <string.h>

#include "interpose/entry.h"
#include "interpose/operation.h"

static hipError_t linear_on(hipError_t found, struct ihipStream_t *stream, void *destination, uint32_t pattern,
                            unsigned element_bytes, size_t elements, enum completion completion) {
  if (found != hipSuccess) return found;
  struct task_fill fill = {.destination = destination, .height = 1, .depth = 1, .pattern = pattern,
                           .element_bytes = element_bytes};
  if (__builtin_mul_overflow(elements, (size_t)element_bytes, &fill.width)) return hipErrorInvalidValue;
  return fill_issue(stream, &fill, completion);
}

static hipError_t linear(hipStream_t handle, void *destination, uint32_t pattern, unsigned element_bytes, size_t elements,
                         enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  return linear_on(found, stream, destination, pattern, element_bytes, elements, completion);
}

static hipError_t linear_spt(hipStream_t handle, void *destination, uint32_t pattern, size_t bytes,
                             enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  return linear_on(found, stream, destination, pattern, 1, bytes, completion);
}

hipError_t entry_hipMemset(void *dst, int value, size_t bytes) {
  ENTRY_RETURN(hipMemset, linear(NULL, dst, (uint8_t)value, 1, bytes, COMPLETE_CALL));
}

hipError_t entry_hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMemsetAsync, linear(stream, dst, (uint8_t)value, 1, bytes, COMPLETE_LATER));
}

hipError_t entry_hipMemset_spt(void *dst, int value, size_t bytes) {
  ENTRY_RETURN(hipMemset_spt, linear_spt(NULL, dst, (uint8_t)value, bytes, COMPLETE_CALL));
}

hipError_t entry_hipMemsetAsync_spt(void *dst, int value, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMemsetAsync_spt, linear_spt(stream, dst, (uint8_t)value, bytes, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD8(hipDeviceptr_t dest, unsigned char value, size_t count) {
  ENTRY_RETURN(hipMemsetD8, linear(NULL, dest, value, 1, count, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD16(hipDeviceptr_t dest, unsigned short value, size_t count) {
  ENTRY_RETURN(hipMemsetD16, linear(NULL, dest, value, 2, count, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD32(hipDeviceptr_t dest, int value, size_t count) {
  ENTRY_RETURN(hipMemsetD32, linear(NULL, dest, (uint32_t)value, 4, count, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD8Async(hipDeviceptr_t dest, unsigned char value, size_t count, hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD8Async, linear(stream, dest, value, 1, count, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD16Async(hipDeviceptr_t dest, unsigned short value, size_t count, hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD16Async, linear(stream, dest, value, 2, count, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD32Async, linear(stream, dst, (uint32_t)value, 4, count, COMPLETE_LATER));
}

static hipError_t pitched_on(hipError_t found, struct ihipStream_t *stream, void *dst, size_t pitch, uint32_t pattern,
                             unsigned element_bytes, size_t elements, size_t height, enum completion completion) {
  if (found != hipSuccess) return found;
  struct task_fill fill = {.destination = dst, .pitch = pitch, .height = height, .depth = 1, .pattern = pattern,
                           .element_bytes = element_bytes};
  if (__builtin_mul_overflow(elements, (size_t)element_bytes, &fill.width)) return hipErrorInvalidValue;
  return fill_issue(stream, &fill, completion);
}

static hipError_t pitched(hipStream_t handle, void *dst, size_t pitch, uint32_t pattern, unsigned element_bytes,
                          size_t elements, size_t height, enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  return pitched_on(found, stream, dst, pitch, pattern, element_bytes, elements, height, completion);
}

static hipError_t pitched_spt(hipStream_t handle, void *dst, size_t pitch, int value, size_t width, size_t height,
                              enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  return pitched_on(found, stream, dst, pitch, (uint8_t)value, 1, width, height, completion);
}

hipError_t entry_hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height) {
  ENTRY_RETURN(hipMemset2D, pitched(NULL, dst, pitch, (uint8_t)value, 1, width, height, COMPLETE_CALL));
}

hipError_t entry_hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  ENTRY_RETURN(hipMemset2DAsync, pitched(stream, dst, pitch, (uint8_t)value, 1, width, height, COMPLETE_LATER));
}

hipError_t entry_hipMemset2D_spt(void *dst, size_t pitch, int value, size_t width, size_t height) {
  ENTRY_RETURN(hipMemset2D_spt, pitched_spt(NULL, dst, pitch, value, width, height, COMPLETE_CALL));
}

hipError_t entry_hipMemset2DAsync_spt(void *dst, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  ENTRY_RETURN(hipMemset2DAsync_spt, pitched_spt(stream, dst, pitch, value, width, height, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD2D8(hipDeviceptr_t dst, size_t pitch, unsigned char value, size_t width, size_t height) {
  ENTRY_RETURN(hipMemsetD2D8, pitched(NULL, dst, pitch, value, 1, width, height, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD2D16(hipDeviceptr_t dst, size_t pitch, unsigned short value, size_t width, size_t height) {
  ENTRY_RETURN(hipMemsetD2D16, pitched(NULL, dst, pitch, value, 2, width, height, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD2D32(hipDeviceptr_t dst, size_t pitch, unsigned value, size_t width, size_t height) {
  ENTRY_RETURN(hipMemsetD2D32, pitched(NULL, dst, pitch, value, 4, width, height, COMPLETE_CALL));
}

hipError_t entry_hipMemsetD2D8Async(hipDeviceptr_t dst, size_t pitch, unsigned char value, size_t width, size_t height,
                                    hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD2D8Async, pitched(stream, dst, pitch, value, 1, width, height, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD2D16Async(hipDeviceptr_t dst, size_t pitch, unsigned short value, size_t width, size_t height,
                                     hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD2D16Async, pitched(stream, dst, pitch, value, 2, width, height, COMPLETE_LATER));
}

hipError_t entry_hipMemsetD2D32Async(hipDeviceptr_t dst, size_t pitch, unsigned value, size_t width, size_t height,
                                     hipStream_t stream) {
  ENTRY_RETURN(hipMemsetD2D32Async, pitched(stream, dst, pitch, value, 4, width, height, COMPLETE_LATER));
}

static hipError_t boxed_on(hipError_t found, struct ihipStream_t *stream, hipPitchedPtr at, int value, hipExtent extent,
                           enum completion completion) {
  if (found != hipSuccess) return found;
  struct task_fill fill = {.destination = at.ptr, .pitch = at.pitch, .width = extent.width, .height = extent.height,
                           .depth = extent.depth, .pattern = (uint8_t)value, .element_bytes = 1};
  /* the slices lie as many rows apart as the pitched pointer says, not as the box has */
  size_t rows = at.ysize != 0 ? at.ysize : extent.height;
  if (rows < extent.height || __builtin_mul_overflow(at.pitch, rows, &fill.slice_pitch)) return hipErrorInvalidValue;
  return fill_issue(stream, &fill, completion);
}

hipError_t entry_hipMemset3D(hipPitchedPtr at, int value, hipExtent extent) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(NULL, &stream);
  ENTRY_RETURN(hipMemset3D, boxed_on(found, stream, at, value, extent, COMPLETE_CALL));
}

hipError_t entry_hipMemset3DAsync(hipPitchedPtr at, int value, hipExtent extent, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipMemset3DAsync, boxed_on(found, stream, at, value, extent, COMPLETE_LATER));
}

hipError_t entry_hipMemset3D_spt(hipPitchedPtr at, int value, hipExtent extent) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  ENTRY_RETURN(hipMemset3D_spt, boxed_on(found, stream, at, value, extent, COMPLETE_CALL));
}

hipError_t entry_hipMemset3DAsync_spt(hipPitchedPtr at, int value, hipExtent extent, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipMemset3DAsync_spt, boxed_on(found, stream, at, value, extent, COMPLETE_LATER));
}
