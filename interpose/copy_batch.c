/* Copies in batches, and boxes between devices. A batch is checked as a whole: if one of its copies is wrong, none is made, and the
 * program is told which one it was. */
#include <stdlib.h>

#include "interpose/array.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/operation.h"

enum { ORDER_STREAM = 1, ORDER_CALL = 2, ORDER_ANY = 3 };               /* hipMemcpySrcAccessOrder */
enum { FLAG_OVERLAP = 1, FLAG_PREFER_ENGINE = 0x100 };                  /* hipMemcpyFlags that are advice */
enum { OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

static bool order_known(int order) { return order >= ORDER_STREAM && order <= ORDER_ANY; }

/* Flags that change what a copy does, such as swapping, are refused; those that say where it should run are advice. */
static hipError_t flags_check(unsigned flags) {
  return (flags & ~(unsigned)(FLAG_OVERLAP | FLAG_PREFER_ENGINE)) == 0 ? hipSuccess : hipErrorNotSupported;
}

/* Issues what was checked. Memory of the program is read before the call returns, which every access order allows. */
static hipError_t issue_all(struct ihipStream_t *stream, const struct copy_operation *operations, size_t count, size_t *out_failed) {
  for (size_t i = 0; i < count; i++) {
    hipError_t error = copy_issue(stream, &operations[i], COMPLETE_LATER);
    if (error != hipSuccess) {
      if (out_failed != NULL) *out_failed = i;
      return error;
    }
  }
  return hipSuccess;
}

static hipError_t attributes_check(const hipMemcpyAttributes *attributes, const size_t *indices, size_t attribute_count, size_t count) {
  if (attribute_count == 0) return hipSuccess;
  if (attributes == NULL || indices == NULL || attribute_count > count) return hipErrorInvalidValue;
  for (size_t i = 0; i < attribute_count; i++) {
    hipError_t error = order_known(attributes[i].srcAccessOrder) ? flags_check(attributes[i].flags) : hipErrorInvalidValue;
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

static hipError_t batch(hipStream_t handle, void **dsts, void **srcs, const size_t *sizes, size_t count, size_t *out_failed) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  struct copy_operation *operations = calloc(count, sizeof *operations);
  if (operations == NULL) return hipErrorOutOfMemory;
  for (size_t i = 0; error == hipSuccess && i < count; i++) {
    operations[i] = (struct copy_operation){
      .copy = {.destination = dsts[i], .source = srcs[i], .width = sizes[i], .height = 1, .depth = 1}, .kind = hipMemcpyDefault};
    error = sizes[i] != 0 ? copy_operation_check(&operations[i]) : hipErrorInvalidValue;
    if (error != hipSuccess && out_failed != NULL) *out_failed = i;
  }
  if (error == hipSuccess) error = issue_all(stream, operations, count, out_failed);
  free(operations);
  return error;
}

hipError_t entry_hipMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count, hipMemcpyAttributes *attributes,
                                     size_t *indices, size_t attribute_count, size_t *failed, hipStream_t stream) {
  bool given = dsts != NULL && srcs != NULL && sizes != NULL && count != 0;
  hipError_t error = given ? attributes_check(attributes, indices, attribute_count, count) : hipErrorInvalidValue;
  if (error != hipSuccess && failed != NULL) *failed = SIZE_MAX; /* not one of the copies */
  ENTRY_RETURN(hipMemcpyBatchAsync, error == hipSuccess ? batch(stream, dsts, srcs, sizes, count, failed) : error);
}

/* One side of a box as hipMemcpy3D has it. `element` is the array's on either side, 1 without one. */
static hipError_t operand_place(const hipMemcpy3DOperand *operand, hipExtent extent, size_t element, hipArray_t *out_array,
                                hipPos *out_position, hipPitchedPtr *out_pointer) {
  if (operand->type == OPERAND_ARRAY) {
    if (!array_live(operand->op.array.array)) return hipErrorInvalidValue;
    *out_array = operand->op.array.array;
    *out_position = (hipPos){operand->op.array.offset.x, operand->op.array.offset.y, operand->op.array.offset.z};
    return hipSuccess;
  }
  if (operand->type != OPERAND_POINTER || operand->op.ptr.ptr == NULL) return hipErrorInvalidValue;
  size_t row = operand->op.ptr.rowLength != 0 ? operand->op.ptr.rowLength : extent.width;
  size_t rows = operand->op.ptr.layerHeight != 0 ? operand->op.ptr.layerHeight : extent.height;
  size_t pitch = 0;
  if (row < extent.width || rows < extent.height || __builtin_mul_overflow(row, element, &pitch)) return hipErrorInvalidValue;
  *out_pointer = (hipPitchedPtr){.ptr = operand->op.ptr.ptr, .pitch = pitch, .xsize = row, .ysize = rows};
  return hipSuccess;
}

static hipError_t box_read(const struct hipMemcpy3DBatchOp *box, struct copy_operation *out_operation) {
  hipMemcpy3DParms parameters = {.extent = box->extent, .kind = hipMemcpyDefault};
  size_t element = 1;
  if (box->extent.width == 0 || box->extent.height == 0 || box->extent.depth == 0 || !order_known(box->srcAccessOrder))
    return hipErrorInvalidValue;
  if (box->src.type == OPERAND_ARRAY && array_live(box->src.op.array.array)) element = array_element_bytes(box->src.op.array.array);
  else if (box->dst.type == OPERAND_ARRAY && array_live(box->dst.op.array.array)) element = array_element_bytes(box->dst.op.array.array);
  hipError_t error = flags_check(box->flags);
  if (error == hipSuccess)
    error = operand_place(&box->src, box->extent, element, &parameters.srcArray, &parameters.srcPos, &parameters.srcPtr);
  if (error == hipSuccess)
    error = operand_place(&box->dst, box->extent, element, &parameters.dstArray, &parameters.dstPos, &parameters.dstPtr);
  if (error == hipSuccess) error = copy3d_operation(&parameters, out_operation);
  return error == hipSuccess ? copy_operation_check(out_operation) : error;
}

static hipError_t boxes(hipStream_t handle, const struct hipMemcpy3DBatchOp *ops, size_t count, size_t *out_failed) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  struct copy_operation *operations = calloc(count, sizeof *operations);
  if (operations == NULL) return hipErrorOutOfMemory;
  for (size_t i = 0; error == hipSuccess && i < count; i++) {
    error = box_read(&ops[i], &operations[i]);
    if (error != hipSuccess && out_failed != NULL) *out_failed = i;
  }
  if (error == hipSuccess) error = issue_all(stream, operations, count, out_failed);
  free(operations);
  return error;
}

hipError_t entry_hipMemcpy3DBatchAsync(size_t count, struct hipMemcpy3DBatchOp *ops, size_t *failed, unsigned long long flags,
                                       hipStream_t stream) {
  bool given = count != 0 && ops != NULL && flags == 0;
  if (!given && failed != NULL) *failed = SIZE_MAX;
  ENTRY_RETURN(hipMemcpy3DBatchAsync, given ? boxes(stream, ops, count, failed) : hipErrorInvalidValue);
}

static hipError_t peer_box(hipStream_t handle, const hipMemcpy3DPeerParms *p, enum completion completion) {
  struct hip_device *device = NULL;
  struct ihipStream_t *stream = NULL;
  struct copy_operation operation;
  hipError_t error = p != NULL ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess) error = state_device(p->srcDevice, &device);
  if (error == hipSuccess) error = state_device(p->dstDevice, &device);
  if (error != hipSuccess) return error;
  hipMemcpy3DParms parameters = {.srcArray = p->srcArray,
                                 .srcPos = p->srcPos,
                                 .srcPtr = p->srcPtr,
                                 .dstArray = p->dstArray,
                                 .dstPos = p->dstPos,
                                 .dstPtr = p->dstPtr,
                                 .extent = p->extent,
                                 .kind = hipMemcpyDeviceToDevice};
  error = copy3d_operation(&parameters, &operation);
  return error == hipSuccess ? copy_issue(stream, &operation, completion) : error;
}

hipError_t entry_hipMemcpy3DPeer(hipMemcpy3DPeerParms *p) { ENTRY_RETURN(hipMemcpy3DPeer, peer_box(NULL, p, COMPLETE_CALL)); }

hipError_t entry_hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms *p, hipStream_t stream) {
  ENTRY_RETURN(hipMemcpy3DPeerAsync, peer_box(stream, p, COMPLETE_LATER));
}
