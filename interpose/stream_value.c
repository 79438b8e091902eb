/* Values that streams wait for and write. */
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/value.h"

static hipError_t submit(hipStream_t handle, const struct value_operation *operations, unsigned count) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  for (unsigned i = 0; error == hipSuccess && i < count; i++) error = value_check(&operations[i]);
  if (error == hipSuccess) error = capture_refuses(stream->device, stream);
  return error == hipSuccess && count != 0 ? value_submit(stream, operations, count) : error;
}

hipError_t entry_hipStreamWaitValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags, uint32_t mask) {
  struct value_operation operation = {.wait = true, .condition = (enum value_condition)flags, .bytes = 4, .address = pointer,
                                      .value = value, .mask = mask};
  ENTRY_RETURN(hipStreamWaitValue32, submit(stream, &operation, 1));
}

hipError_t entry_hipStreamWaitValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned flags, uint64_t mask) {
  struct value_operation operation = {.wait = true, .condition = (enum value_condition)flags, .bytes = 8, .address = pointer,
                                      .value = value, .mask = mask};
  ENTRY_RETURN(hipStreamWaitValue64, submit(stream, &operation, 1));
}

/* HIP reserves the flags of writes and reads none of them. */
hipError_t entry_hipStreamWriteValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags) {
  (void)flags;
  struct value_operation operation = {.bytes = 4, .address = pointer, .value = value};
  ENTRY_RETURN(hipStreamWriteValue32, submit(stream, &operation, 1));
}

hipError_t entry_hipStreamWriteValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned flags) {
  (void)flags;
  struct value_operation operation = {.bytes = 8, .address = pointer, .value = value};
  ENTRY_RETURN(hipStreamWriteValue64, submit(stream, &operation, 1));
}

hipError_t entry_hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams *parameters, unsigned flags) {
  struct value_operation operations[VALUE_OPERATIONS_MOST];
  unsigned used = 0;
  hipError_t error = flags == 0 ? value_operations(parameters, count, operations, &used) : hipErrorInvalidValue;
  ENTRY_RETURN(hipStreamBatchMemOp, error == hipSuccess ? submit(stream, operations, used) : error);
}
