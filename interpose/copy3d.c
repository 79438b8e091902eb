/* Copies of boxes, and copies described by structures: hipMemcpy3D, hipMemcpyParam2D and their driver forms. */
#include <string.h>

#include "interpose/array.h"
#include "interpose/entry.h"
#include "interpose/operation.h"

/* One side of a box copy: where its byte (0, 0, 0) is and how far rows and slices lie apart. */
struct corner {
  char *at;
  size_t pitch, slice_pitch;
};

static bool corner_move(struct corner *corner, size_t x_bytes, size_t y, size_t z) {
  size_t rows = 0, slices = 0, sum = 0;
  if (__builtin_mul_overflow(y, corner->pitch, &rows) || __builtin_mul_overflow(z, corner->slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &sum) || __builtin_add_overflow(sum, x_bytes, &sum) ||
      sum > UINTPTR_MAX - (uintptr_t)corner->at)
    return false;
  corner->at += sum;
  return true;
}

static bool corner_of_array(const hipArray *array, struct corner *out_corner) {
  if (!array_live(array)) return false;
  *out_corner = (struct corner){array->data, array_pitch(array), array_slice_pitch(array)};
  return true;
}

static bool corner_of_pitched(hipPitchedPtr pointer, size_t height, struct corner *out_corner) {
  size_t rows = pointer.ysize != 0 ? pointer.ysize : height;
  *out_corner = (struct corner){pointer.ptr, pointer.pitch, 0};
  return !__builtin_mul_overflow(pointer.pitch, rows, &out_corner->slice_pitch);
}

static hipError_t box_issue(hipError_t found, struct ihipStream_t *stream, const struct corner *destination,
                            const struct corner *source, hipExtent bytes, hipMemcpyKind kind, enum completion completion) {
  if (found != hipSuccess) return found;
  if (bytes.width == 0 || bytes.height == 0 || bytes.depth == 0) return hipSuccess;
  if (bytes.height > 1 && (bytes.width > destination->pitch || bytes.width > source->pitch)) return hipErrorInvalidPitchValue;
  struct copy_operation operation = {.copy = {.destination = destination->at,
                                              .destination_pitch = destination->pitch,
                                              .destination_slice_pitch = destination->slice_pitch,
                                              .source = source->at,
                                              .source_pitch = source->pitch,
                                              .source_slice_pitch = source->slice_pitch,
                                              .width = bytes.width,
                                              .height = bytes.height,
                                              .depth = bytes.depth},
                                     .kind = kind};
  return copy_issue(stream, &operation, completion);
}

/* Whether a box of `width` bytes lies inside the array: outside its rows there is memory of its other rows. */
static bool box_inside(const hipArray *array, size_t x_bytes, hipPos at, size_t width, hipExtent extent) {
  size_t row = array_element_bytes(array) * array->width;
  size_t rows = array->height != 0 ? array->height : 1, slices = array->depth != 0 ? array->depth : 1;
  return x_bytes <= row && width <= row - x_bytes && at.y <= rows && extent.height <= rows - at.y && at.z <= slices &&
         extent.depth <= slices - at.z;
}

hipError_t copy3d_operation(const hipMemcpy3DParms *parameters, struct copy_operation *out_operation) {
  struct corner source, destination;
  hipExtent extent = parameters->extent;
  size_t source_x = parameters->srcPos.x, destination_x = parameters->dstPos.x;
  /* with an array on either side the width counts elements; positions count elements where their side is an array */
  const hipArray *shape = parameters->srcArray != NULL ? parameters->srcArray : parameters->dstArray;
  if (parameters->srcArray != NULL) {
    if (parameters->srcPtr.ptr != NULL || !corner_of_array(parameters->srcArray, &source)) return hipErrorInvalidValue;
    source_x *= array_element_bytes(parameters->srcArray);
  } else if (!corner_of_pitched(parameters->srcPtr, extent.height, &source)) {
    return hipErrorInvalidValue;
  }
  if (parameters->dstArray != NULL) {
    if (parameters->dstPtr.ptr != NULL || !corner_of_array(parameters->dstArray, &destination)) return hipErrorInvalidValue;
    destination_x *= array_element_bytes(parameters->dstArray);
  } else if (!corner_of_pitched(parameters->dstPtr, extent.height, &destination)) {
    return hipErrorInvalidValue;
  }
  if (shape != NULL && __builtin_mul_overflow(extent.width, array_element_bytes(shape), &extent.width))
    return hipErrorInvalidValue;
  if (extent.width != 0 && extent.height != 0 && extent.depth != 0 &&
      ((parameters->srcArray != NULL && !box_inside(parameters->srcArray, source_x, parameters->srcPos, extent.width, extent)) ||
       (parameters->dstArray != NULL && !box_inside(parameters->dstArray, destination_x, parameters->dstPos, extent.width, extent))))
    return hipErrorInvalidValue;
  if (!corner_move(&source, source_x, parameters->srcPos.y, parameters->srcPos.z) ||
      !corner_move(&destination, destination_x, parameters->dstPos.y, parameters->dstPos.z))
    return hipErrorInvalidValue;
  *out_operation = (struct copy_operation){.copy = {.destination = destination.at,
                                                    .destination_pitch = destination.pitch,
                                                    .destination_slice_pitch = destination.slice_pitch,
                                                    .source = source.at,
                                                    .source_pitch = source.pitch,
                                                    .source_slice_pitch = source.slice_pitch,
                                                    .width = extent.width,
                                                    .height = extent.height,
                                                    .depth = extent.depth},
                                           .kind = parameters->kind};
  return hipSuccess;
}

static hipError_t copy3d(hipError_t found, struct ihipStream_t *stream, const hipMemcpy3DParms *parameters,
                         enum completion completion) {
  struct copy_operation operation;
  if (found != hipSuccess) return found;
  if (parameters == NULL) return hipErrorInvalidValue;
  hipError_t error = copy3d_operation(parameters, &operation);
  return error == hipSuccess ? copy_issue(stream, &operation, completion) : error;
}

hipError_t entry_hipMemcpy3D(const struct hipMemcpy3DParms *p) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(NULL, &stream);
  ENTRY_RETURN(hipMemcpy3D, copy3d(found, stream, p, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy3DAsync(const struct hipMemcpy3DParms *p, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipMemcpy3DAsync, copy3d(found, stream, p, COMPLETE_LATER));
}

hipError_t entry_hipMemcpy3D_spt(const struct hipMemcpy3DParms *p) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  ENTRY_RETURN(hipMemcpy3D_spt, copy3d(found, stream, p, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy3DAsync_spt(const struct hipMemcpy3DParms *p, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipMemcpy3DAsync_spt, copy3d(found, stream, p, COMPLETE_LATER));
}

enum side_type { SIDE_HOST, SIDE_DEVICE, SIDE_ARRAY, SIDE_UNIFIED, SIDE_INVALID };

/* hipMemoryType was renumbered in HIP 6. */
static enum side_type side_type_of(unsigned type) {
  if (state_hip_version() < 6) return type <= 3 ? (enum side_type)type : SIDE_INVALID;
  switch (type) {
  case MEMORY_TYPE6_UNREGISTERED:
  case MEMORY_TYPE6_HOST: return SIDE_HOST;
  case MEMORY_TYPE6_DEVICE: return SIDE_DEVICE;
  case MEMORY_TYPE6_MANAGED:
  case MEMORY_TYPE6_UNIFIED: return SIDE_UNIFIED;
  case MEMORY_TYPE6_ARRAY: return SIDE_ARRAY;
  default: return SIDE_INVALID;
  }
}

static bool corner_of_side(enum side_type type, const void *host, hipDeviceptr_t device, const hipArray *array, size_t pitch,
                           size_t rows, struct corner *out_corner) {
  if (type == SIDE_INVALID) return false;
  if (type == SIDE_ARRAY) return corner_of_array(array, out_corner);
  *out_corner = (struct corner){(char *)(type == SIDE_HOST ? (void *)host : device), pitch, 0};
  return !__builtin_mul_overflow(pitch, rows, &out_corner->slice_pitch);
}

static hipMemcpyKind kind_of_sides(enum side_type destination, enum side_type source) {
  if (destination == SIDE_UNIFIED || source == SIDE_UNIFIED) return hipMemcpyDefault;
  if (destination == SIDE_HOST) return source == SIDE_HOST ? hipMemcpyHostToHost : hipMemcpyDeviceToHost;
  return source == SIDE_HOST ? hipMemcpyHostToDevice : hipMemcpyDeviceToDevice;
}

static hipError_t parameters2d(hipStream_t handle, const hip_Memcpy2D *p, enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  if (found != hipSuccess) return found;
  if (p == NULL) return hipErrorInvalidValue;
  enum side_type from = side_type_of(p->srcMemoryType), to = side_type_of(p->dstMemoryType);
  struct corner source, destination;
  hipExtent bytes = {p->WidthInBytes, p->Height, 1};
  /* a pitch of 0 says that the rows lie without gaps */
  size_t source_pitch = p->srcPitch != 0 ? p->srcPitch : p->WidthInBytes;
  size_t destination_pitch = p->dstPitch != 0 ? p->dstPitch : p->WidthInBytes;
  if (!corner_of_side(from, p->srcHost, p->srcDevice, p->srcArray, source_pitch, 1, &source) ||
      !corner_of_side(to, p->dstHost, p->dstDevice, p->dstArray, destination_pitch, 1, &destination) ||
      !corner_move(&source, p->srcXInBytes, p->srcY, 0) || !corner_move(&destination, p->dstXInBytes, p->dstY, 0))
    return hipErrorInvalidValue;
  return box_issue(found, stream, &destination, &source, bytes, kind_of_sides(to, from), completion);
}

hipError_t entry_hipMemcpyParam2D(const hip_Memcpy2D *p) {
  CALLER_NOTE();
  ENTRY_RETURN(hipMemcpyParam2D, parameters2d(NULL, p, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyParam2DAsync(const hip_Memcpy2D *p, hipStream_t stream) {
  CALLER_NOTE();
  ENTRY_RETURN(hipMemcpyParam2DAsync, parameters2d(stream, p, COMPLETE_LATER));
}

hipError_t entry_hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *p) {
  CALLER_NOTE();
  ENTRY_RETURN(hipDrvMemcpy2DUnaligned, parameters2d(NULL, p, COMPLETE_CALL));
}

static hipError_t parameters3d(hipStream_t handle, const HIP_MEMCPY3D *p, enum completion completion) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  if (found != hipSuccess) return found;
  if (p == NULL) return hipErrorInvalidValue;
  enum side_type from = side_type_of(p->srcMemoryType), to = side_type_of(p->dstMemoryType);
  struct corner source, destination;
  hipExtent bytes = {p->WidthInBytes, p->Height, p->Depth};
  size_t source_pitch = p->srcPitch != 0 ? p->srcPitch : p->WidthInBytes;
  size_t destination_pitch = p->dstPitch != 0 ? p->dstPitch : p->WidthInBytes;
  size_t source_rows = p->srcHeight != 0 ? p->srcHeight : p->Height;
  size_t destination_rows = p->dstHeight != 0 ? p->dstHeight : p->Height;
  if (!corner_of_side(from, p->srcHost, p->srcDevice, p->srcArray, source_pitch, source_rows, &source) ||
      !corner_of_side(to, p->dstHost, p->dstDevice, p->dstArray, destination_pitch, destination_rows, &destination) ||
      !corner_move(&source, p->srcXInBytes, p->srcY, p->srcZ) ||
      !corner_move(&destination, p->dstXInBytes, p->dstY, p->dstZ))
    return hipErrorInvalidValue;
  return box_issue(found, stream, &destination, &source, bytes, kind_of_sides(to, from), completion);
}

hipError_t entry_hipDrvMemcpy3D(const HIP_MEMCPY3D *p) {
  CALLER_NOTE();
  ENTRY_RETURN(hipDrvMemcpy3D, parameters3d(NULL, p, COMPLETE_CALL));
}

hipError_t entry_hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *p, hipStream_t stream) {
  CALLER_NOTE();
  ENTRY_RETURN(hipDrvMemcpy3DAsync, parameters3d(stream, p, COMPLETE_LATER));
}
