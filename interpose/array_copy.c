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

/* `count` bytes in the array's reading order: a partial row, whole rows, a partial row. */
static hipError_t run_copy(const hipArray *array, size_t x_bytes, size_t y, void *linear, size_t count, hipMemcpyKind kind,
                           bool to_array) {
  if (!array_live(array)) return hipErrorInvalidHandle;
  size_t row = array_element_bytes(array) * array->width;
  char *at = linear;
  hipError_t error = hipSuccess;
  while (error == hipSuccess && count > 0) {
    size_t rows = x_bytes == 0 && count >= row ? count / row : 1;
    size_t width = rows > 1 || (x_bytes == 0 && count >= row) ? row : row > x_bytes ? row - x_bytes : 0;
    if (width > count) width = count;
    if (width == 0) return hipErrorInvalidValue; /* x lies beyond the row */
    struct rectangle r = {array, x_bytes, y, at, row, width, rows, kind, to_array};
    error = rectangle_current(&r);
    at += width * rows;
    count -= width * rows;
    y += rows;
    x_bytes = 0;
  }
  return error;
}

static hipError_t run_at(const hipArray *array, size_t offset, void *linear, size_t count, hipMemcpyKind kind, bool to_array) {
  if (!array_live(array)) return hipErrorInvalidHandle;
  size_t row = array_element_bytes(array) * array->width;
  return run_copy(array, offset % row, offset / row, linear, count, kind, to_array);
}

hipError_t entry_hipMemcpyToArray(hipArray *dst, size_t x, size_t y, const void *src, size_t count, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpyToArray, run_copy(dst, x, y, (void *)(uintptr_t)src, count, kind, true));
}

hipError_t entry_hipMemcpyFromArray(void *dst, hipArray_const_t src, size_t x, size_t y, size_t count, hipMemcpyKind kind) {
  ENTRY_RETURN(hipMemcpyFromArray, run_copy(src, x, y, dst, count, kind, false));
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
