/* Copies, fills and launches as data: what a stream runs now, what a capture records, what a graph replays.
 *
 * The *_submit functions run the operation on a stream that is not capturing; handlers call *_issue, which records into a
 * capture instead if the stream has one. */
#ifndef HRX_INTERPOSE_OPERATION_H
#define HRX_INTERPOSE_OPERATION_H

#include <hip/hip_runtime_api.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "interpose/function.h"
#include "interpose/stream.h"

struct copy_operation {
  struct task_copy copy; /* bytes, rows, slices; height and depth at least 1, pitches 0 where they do not matter */
  hipMemcpyKind kind;
};

/* How long the call that issues a copy or fill must wait. */
enum completion {
  COMPLETE_LATER,  /* ...Async: returns once queued (a pageable source is staged first) */
  COMPLETE_CALL    /* returns once the operation is over */
};

/* Validates pointers and kind: both sides must be memory of hrx or, where the kind allows, host memory. An empty copy is valid
 * whatever its pointers. */
hipError_t copy_operation_check(const struct copy_operation *operation);

/* The task for it, which reads and writes host memory when it runs; a JOIN if the copy is empty. `accesses` is where the task's
 * accesses will be. Errors: those of copy_operation_check. */
hipError_t copy_task(const struct copy_operation *operation, struct access accesses[2], struct task *out_task);

/* Runs a checked copy behind the stream's order. */
hipError_t copy_submit(struct ihipStream_t *stream, const struct copy_operation *operation, enum completion completion);

/* copy_operation_check, then into the stream's capture or copy_submit. */
hipError_t copy_issue(struct ihipStream_t *stream, const struct copy_operation *operation, enum completion completion);

/* The copy that hipMemcpy3D's structure describes. Errors: hipErrorInvalidValue for dead arrays and sizes that overflow. */
hipError_t copy3d_operation(const hipMemcpy3DParms *parameters, struct copy_operation *out_operation);

/* The copy between `other` and a registered variable. Errors: hipErrorInvalidSymbol, hipErrorInvalidValue beyond its end,
 * hipErrorInvalidMemcpyDirection. */
hipError_t symbol_copy(struct hip_device *device, const void *symbol, size_t offset, size_t bytes, hipMemcpyKind kind,
                       bool to_symbol, void *other, struct copy_operation *out_operation);

/* The destination must be memory of hrx. An empty fill is valid. */
hipError_t fill_operation_check(const struct task_fill *fill);
/* As copy_task. */
hipError_t fill_task(const struct task_fill *fill, struct access accesses[1], struct task *out_task);
hipError_t fill_submit(struct ihipStream_t *stream, const struct task_fill *fill, enum completion completion);
hipError_t fill_issue(struct ihipStream_t *stream, const struct task_fill *fill, enum completion completion);

struct launch_operation {
  struct ihipModuleSymbol_t *function; /* of the stream's device */
  uint32_t grid[3];  /* work-items */
  uint32_t block[3]; /* work-items */
  uint32_t dynamic_lds;
  bool cooperative;
  uint64_t multi_grid; /* gpu_launch */
  const void *arguments; /* packed as function->code says */
  size_t argument_bytes;
};

/* Packs the arguments behind `parameters` (one pointer each) or `extra` (HIP_LAUNCH_PARAM_*) into `buffer`, which has room for
 * function->code->kernarg_bytes. Errors: hipErrorInvalidValue. */
hipError_t launch_pack(const struct ihipModuleSymbol_t *function, void **parameters, void **extra, void *buffer,
                       size_t *out_bytes);

/* Sets grid and block from HIP's block counts. Errors: hipErrorInvalidConfiguration for zero sizes (HIP 7: hipErrorInvalidValue) or
 * 2^32 work-items and more. */
hipError_t launch_geometry(struct launch_operation *operation, dim3 blocks, dim3 block, size_t shared_bytes);

/* Validates completely and makes what the GPU can start; the caller's to release. Errors: those of gpu_dispatch_create. */
hrx_status launch_dispatch(const struct launch_operation *operation, struct gpu_dispatch **out_dispatch);

/* Queues what launch_dispatch made, or releases it if that fails. */
hipError_t launch_queue(struct ihipStream_t *stream, const struct launch_operation *operation, struct gpu_dispatch *dispatch,
                        uint64_t *out_started_ns, uint64_t *out_finished_ns);

/* Both. `out_started_ns` and `out_finished_ns` may be NULL. */
hipError_t launch_submit(struct ihipStream_t *stream, const struct launch_operation *operation, uint64_t *out_started_ns,
                         uint64_t *out_finished_ns);

/* Into the stream's capture, or launch_submit. */
hipError_t launch_issue(struct ihipStream_t *stream, const struct launch_operation *operation);

#endif
