/* hipMemcpy in all its linear and pitched forms. */
#include <string.h>

#include "interpose/entry.h"
#include "interpose/operation.h"

static hipError_t linear_on(hipError_t found, struct ihipStream_t *stream, void *destination, const void *source, size_t bytes,
                            hipMemcpyKind kind, enum completion completion) {
  if (found != hipSuccess) return found;
  struct copy_operation operation = {
    .copy = {.destination = destination, .source = source, .width = bytes, .height = 1, .depth = 1}, .kind = kind};
  return copy_issue(stream, &operation, completion);
}

static hipError_t linear(hipStream_t handle, void *destination, const void *source, size_t bytes, hipMemcpyKind kind,
                         enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  return linear_on(found, stream, destination, source, bytes, kind, completion);
}

static hipError_t linear_spt(hipStream_t handle, void *destination, const void *source, size_t bytes, hipMemcpyKind kind,
                             enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  return linear_on(found, stream, destination, source, bytes, kind, completion);
}

hipError_t entry_hipMemcpy(void *dst, const void *src, size_t bytes, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpy, linear(NULL, dst, src, bytes, kind, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy_spt(void *dst, const void *src, size_t bytes, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpy_spt, linear_spt(NULL, dst, src, bytes, kind, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyWithStream(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyWithStream, linear(stream, dst, src, bytes, kind, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyAsync(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyAsync, linear(stream, dst, src, bytes, kind, COMPLETE_LATER));
}

hipError_t entry_hipMemcpyAsync_spt(void *dst, const void *src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyAsync_spt, linear_spt(stream, dst, src, bytes, kind, COMPLETE_LATER));
}

hipError_t entry_hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t bytes) {
  ENTRY_RETURN(hipMemcpyHtoD, linear(NULL, dst, src, bytes, hipMemcpyHostToDevice, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t bytes) {
  ENTRY_RETURN(hipMemcpyDtoH, linear(NULL, dst, src, bytes, hipMemcpyDeviceToHost, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes) {
  ENTRY_RETURN(hipMemcpyDtoD, linear(NULL, dst, src, bytes, hipMemcpyDeviceToDevice, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyHtoDAsync(hipDeviceptr_t dst, void *src, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyHtoDAsync, linear(stream, dst, src, bytes, hipMemcpyHostToDevice, COMPLETE_LATER));
}

hipError_t entry_hipMemcpyDtoHAsync(void *dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyDtoHAsync, linear(stream, dst, src, bytes, hipMemcpyDeviceToHost, COMPLETE_LATER));
}

hipError_t entry_hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyDtoDAsync, linear(stream, dst, src, bytes, hipMemcpyDeviceToDevice, COMPLETE_LATER));
}

static hipError_t peer(hipStream_t stream, void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                       enum completion completion) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(dst_device, &device);
  if (error == hipSuccess) error = state_device(src_device, &device);
  return error == hipSuccess ? linear(stream, dst, src, bytes, hipMemcpyDeviceToDevice, completion) : error;
}

hipError_t entry_hipMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t bytes) {
  ENTRY_RETURN(hipMemcpyPeer, peer(NULL, dst, dstDevice, src, srcDevice, bytes, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t bytes,
                                    hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyPeerAsync, peer(stream, dst, dstDevice, src, srcDevice, bytes, COMPLETE_LATER));
}

struct pitched {
  void *destination;
  size_t destination_pitch;
  const void *source;
  size_t source_pitch, width, height;
  hipMemcpyKind kind;
};

static hipError_t pitched_on(hipError_t found, struct ihipStream_t *stream, const struct pitched *pitched,
                             enum completion completion) {
  if (found != hipSuccess) return found;
  if (pitched->width > pitched->destination_pitch || pitched->width > pitched->source_pitch) return hipErrorInvalidPitchValue;
  struct copy_operation operation = {.copy = {.destination = pitched->destination,
                                              .destination_pitch = pitched->destination_pitch,
                                              .source = pitched->source,
                                              .source_pitch = pitched->source_pitch,
                                              .width = pitched->width,
                                              .height = pitched->height,
                                              .depth = 1},
                                     .kind = pitched->kind};
  return copy_issue(stream, &operation, completion);
}

hipError_t entry_hipMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                             hipMemcpyKind kind) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(NULL, &stream);
  struct pitched pitched = {dst, dpitch, src, spitch, width, height, kind};
  ENTRY_RETURN(hipMemcpy2D, pitched_on(found, stream, &pitched, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy2D_spt(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                                 hipMemcpyKind kind) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  struct pitched pitched = {dst, dpitch, src, spitch, width, height, kind};
  ENTRY_RETURN(hipMemcpy2D_spt, pitched_on(found, stream, &pitched, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                                  hipMemcpyKind kind, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  struct pitched pitched = {dst, dpitch, src, spitch, width, height, kind};
  ENTRY_RETURN(hipMemcpy2DAsync, pitched_on(found, stream, &pitched, COMPLETE_LATER));
}

hipError_t entry_hipMemcpy2DAsync_spt(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                                      hipMemcpyKind kind, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  struct pitched pitched = {dst, dpitch, src, spitch, width, height, kind};
  ENTRY_RETURN(hipMemcpy2DAsync_spt, pitched_on(found, stream, &pitched, COMPLETE_LATER));
}
