/* Copies between arrays and linear memory. */
#include "interpose/array.h"
#include "interpose/entry.h"
#include "interpose/operation.h"

/* A rectangle between an array and linear memory. */
struct rectangle {
  const hipArray *array;
  size_t x_bytes, y;
  void *linear;
  size_t pitch, width, height;
  hipMemcpyKind kind;
  bool to_array;
};

static hipError_t rectangle_issue(struct ihipStream_t *stream, const struct rectangle *r, enum completion completion) {
  if (r->width == 0 || r->height == 0) return hipSuccess;
  size_t row = array_element_bytes(r->array) * r->array->width, rows = r->array->height != 0 ? r->array->height : 1;
  if (r->x_bytes > row || r->width > row - r->x_bytes || r->y > rows || r->height > rows - r->y) return hipErrorInvalidValue;
  if (r->height > 1 && r->pitch < r->width) return hipErrorInvalidPitchValue;
  char *inside = (char *)r->array->data + r->y * array_pitch(r->array) + r->x_bytes;
  struct copy_operation operation = {.copy = {.destination = r->to_array ? inside : r->linear,
                                              .destination_pitch = r->to_array ? array_pitch(r->array) : r->pitch,
                                              .source = r->to_array ? r->linear : inside,
                                              .source_pitch = r->to_array ? r->pitch : array_pitch(r->array),
                                              .width = r->width,
                                              .height = r->height,
                                              .depth = 1},
                                     .kind = r->kind};
  return copy_issue(stream, &operation, completion);
}

static hipError_t rectangle_on(hipError_t found, struct ihipStream_t *stream, const struct rectangle *r,
                               enum completion completion) {
  if (found != hipSuccess) return found;
  if (!array_live(r->array)) return hipErrorInvalidHandle;
  if (r->linear == NULL && r->width != 0 && r->height != 0) return hipErrorInvalidValue;
  return rectangle_issue(stream, r, completion);
}

static hipError_t rectangle_current(const struct rectangle *r) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(NULL, &stream);
  return rectangle_on(found, stream, r, COMPLETE_CALL);
}

hipError_t entry_hipMemcpy2DToArray(hipArray *dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                    size_t height, hipMemcpyKind kind) {
  struct rectangle r = {dst, x, y, (void *)(uintptr_t)src, pitch, width, height, kind, true};
  ENTRY_RETURN(hipMemcpy2DToArray, rectangle_current(&r));
}

hipError_t entry_hipMemcpy2DToArrayAsync(hipArray *dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                         size_t height, hipMemcpyKind kind, hipStream_t handle) {
  struct rectangle r = {dst, x, y, (void *)(uintptr_t)src, pitch, width, height, kind, true};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipMemcpy2DToArrayAsync, rectangle_on(found, stream, &r, COMPLETE_LATER));
}

hipError_t entry_hipMemcpy2DFromArray(void *dst, size_t pitch, hipArray_const_t src, size_t x, size_t y, size_t width,
                                      size_t height, hipMemcpyKind kind) {
  struct rectangle r = {src, x, y, dst, pitch, width, height, kind, false};
  ENTRY_RETURN(hipMemcpy2DFromArray, rectangle_current(&r));
}

hipError_t entry_hipMemcpy2DFromArrayAsync(void *dst, size_t pitch, hipArray_const_t src, size_t x, size_t y, size_t width,
                                           size_t height, hipMemcpyKind kind, hipStream_t handle) {
  struct rectangle r = {src, x, y, dst, pitch, width, height, kind, false};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipMemcpy2DFromArrayAsync, rectangle_on(found, stream, &r, COMPLETE_LATER));
}

hipError_t entry_hipMemcpy2DToArray_spt(hipArray *dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                        size_t height, hipMemcpyKind kind) {
  struct rectangle r = {dst, x, y, (void *)(uintptr_t)src, pitch, width, height, kind, true};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  ENTRY_RETURN(hipMemcpy2DToArray_spt, rectangle_on(found, stream, &r, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy2DToArrayAsync_spt(hipArray *dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                             size_t height, hipMemcpyKind kind, hipStream_t handle) {
  struct rectangle r = {dst, x, y, (void *)(uintptr_t)src, pitch, width, height, kind, true};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipMemcpy2DToArrayAsync_spt, rectangle_on(found, stream, &r, COMPLETE_LATER));
}

hipError_t entry_hipMemcpy2DFromArray_spt(void *dst, size_t pitch, hipArray_const_t src, size_t x, size_t y, size_t width,
                                          size_t height, hipMemcpyKind kind) {
  struct rectangle r = {src, x, y, dst, pitch, width, height, kind, false};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  ENTRY_RETURN(hipMemcpy2DFromArray_spt, rectangle_on(found, stream, &r, COMPLETE_CALL));
}

hipError_t entry_hipMemcpy2DFromArrayAsync_spt(void *dst, size_t pitch, hipArray_const_t src, size_t x, size_t y, size_t width,
                                               size_t height, hipMemcpyKind kind, hipStream_t handle) {
  struct rectangle r = {src, x, y, dst, pitch, width, height, kind, false};
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipMemcpy2DFromArrayAsync_spt, rectangle_on(found, stream, &r, COMPLETE_LATER));
}

/* `count` bytes in the array's reading order: a partial row, whole rows, a partial row. All of them are checked before any is copied. */
static hipError_t run_copy(hipError_t found, struct ihipStream_t *stream, const hipArray *array, size_t x_bytes, size_t y, void *linear,
                           size_t count, hipMemcpyKind kind, bool to_array, enum completion completion) {
  if (found != hipSuccess) return found;
  if (!array_live(array)) return hipErrorInvalidHandle;
  size_t row = array_element_bytes(array) * array->width, rows_all = array->height != 0 ? array->height : 1;
  if (count != 0 && (x_bytes >= row || y >= rows_all || count > row * (rows_all - y) - x_bytes)) return hipErrorInvalidValue;
  char *at = linear;
  hipError_t error = hipSuccess;
  while (error == hipSuccess && count > 0) {
    bool whole = x_bytes == 0 && count >= row;
    size_t rows = whole ? count / row : 1, width = whole ? row : row - x_bytes;
    if (width > count) width = count;
    struct rectangle r = {array, x_bytes, y, at, row, width, rows, kind, to_array};
    error = rectangle_on(hipSuccess, stream, &r, completion);
    at += width * rows;
    count -= width * rows;
    y += rows;
    x_bytes = 0;
  }
  return error;
}

static hipError_t run_current(const hipArray *array, size_t x_bytes, size_t y, void *linear, size_t count, hipMemcpyKind kind,
                              bool to_array) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(NULL, &stream);
  return run_copy(found, stream, array, x_bytes, y, linear, count, kind, to_array, COMPLETE_CALL);
}

static hipError_t run_at(const hipArray *array, size_t offset, void *linear, size_t count, hipMemcpyKind kind, bool to_array) {
  if (!array_live(array)) return hipErrorInvalidHandle;
  size_t row = array_element_bytes(array) * array->width;
  return run_current(array, offset % row, offset / row, linear, count, kind, to_array);
}

static hipError_t run_later(hipStream_t handle, const hipArray *array, size_t offset, void *linear, size_t count, hipMemcpyKind kind,
                            bool to_array) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  if (found == hipSuccess && !array_live(array)) return hipErrorInvalidHandle;
  size_t row = found == hipSuccess ? array_element_bytes(array) * array->width : 1;
  return run_copy(found, stream, array, offset % row, offset / row, linear, count, kind, to_array, COMPLETE_LATER);
}

hipError_t entry_hipMemcpyToArray(hipArray *dst, size_t x, size_t y, const void *src, size_t count, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpyToArray, run_current(dst, x, y, (void *)(uintptr_t)src, count, kind, true));
}

hipError_t entry_hipMemcpyFromArray(void *dst, hipArray_const_t src, size_t x, size_t y, size_t count, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpyFromArray, run_current(src, x, y, dst, count, kind, false));
}

hipError_t entry_hipMemcpyHtoA(hipArray *dst, size_t offset, const void *src, size_t count) {
  ENTRY_RETURN(hipMemcpyHtoA, run_at(dst, offset, (void *)(uintptr_t)src, count, hipMemcpyHostToDevice, true));
}

hipError_t entry_hipMemcpyAtoH(void *dst, hipArray *src, size_t offset, size_t count) {
  ENTRY_RETURN(hipMemcpyAtoH, run_at(src, offset, dst, count, hipMemcpyDeviceToHost, false));
}

hipError_t entry_hipMemcpyDtoA(hipArray *dst, size_t offset, hipDeviceptr_t src, size_t count) {
  ENTRY_RETURN(hipMemcpyDtoA, run_at(dst, offset, src, count, hipMemcpyDeviceToDevice, true));
}

hipError_t entry_hipMemcpyAtoD(hipDeviceptr_t dst, hipArray *src, size_t offset, size_t count) {
  ENTRY_RETURN(hipMemcpyAtoD, run_at(src, offset, dst, count, hipMemcpyDeviceToDevice, false));
}

hipError_t entry_hipMemcpyFromArray_spt(void *dst, hipArray_const_t src, size_t x, size_t y, size_t count, hipMemcpyKind kind) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(NULL, &stream);
  ENTRY_RETURN(hipMemcpyFromArray_spt, run_copy(found, stream, src, x, y, dst, count, kind, false, COMPLETE_CALL));
}

hipError_t entry_hipMemcpyHtoAAsync(hipArray *dst, size_t offset, const void *src, size_t count, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyHtoAAsync, run_later(stream, dst, offset, (void *)(uintptr_t)src, count, hipMemcpyHostToDevice, true));
}

hipError_t entry_hipMemcpyAtoHAsync(void *dst, hipArray *src, size_t offset, size_t count, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpyAtoHAsync, run_later(stream, src, offset, dst, count, hipMemcpyDeviceToHost, false));
}

static bool inside(const hipArray *array, size_t x_bytes, size_t y, size_t width, size_t height) {
  size_t row = array_element_bytes(array) * array->width, rows = array->height != 0 ? array->height : 1;
  return x_bytes <= row && width <= row - x_bytes && y <= rows && height <= rows - y;
}

struct array_point {
  const hipArray *array;
  size_t x_bytes, y;
};

static hipError_t between(struct array_point to, struct array_point from, size_t width, size_t height, hipMemcpyKind kind) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(NULL, &stream);
  if (error != hipSuccess) return error;
  if (!array_live(to.array) || !array_live(from.array)) return hipErrorInvalidHandle;
  if (kind != hipMemcpyDeviceToDevice && kind != hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  if (!inside(to.array, to.x_bytes, to.y, width, height) || !inside(from.array, from.x_bytes, from.y, width, height))
    return hipErrorInvalidValue;
  struct copy_operation operation = {
    .copy = {.destination = (char *)to.array->data + to.y * array_pitch(to.array) + to.x_bytes,
             .destination_pitch = array_pitch(to.array),
             .source = (char *)from.array->data + from.y * array_pitch(from.array) + from.x_bytes,
             .source_pitch = array_pitch(from.array),
             .width = width,
             .height = height,
             .depth = 1},
    .kind = kind};
  return copy_issue(stream, &operation, COMPLETE_CALL);
}

hipError_t entry_hipMemcpy2DArrayToArray(hipArray *dst, size_t dst_x, size_t dst_y, const hipArray *src, size_t src_x, size_t src_y,
                                         size_t width, size_t height, hipMemcpyKind kind) {
  struct array_point to = {dst, dst_x, dst_y}, from = {src, src_x, src_y};
  ENTRY_RETURN(hipMemcpy2DArrayToArray, between(to, from, width, height, kind));
}

/* Inside the first row of each, as HIP has it. */
hipError_t entry_hipMemcpyAtoA(hipArray *dst, size_t dst_offset, hipArray *src, size_t src_offset, size_t count) {
  struct array_point to = {dst, dst_offset, 0}, from = {src, src_offset, 0};
  ENTRY_RETURN(hipMemcpyAtoA, between(to, from, count, 1, hipMemcpyDeviceToDevice));
}
