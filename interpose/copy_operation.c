/* Copies: whose memory the two sides are, what the engine must know of them, and when the call may return. */
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "interpose/capture.h"
#include "interpose/error.h"
#include "interpose/operation.h"

/* One side of a copy or fill: the bytes from its first to its last, and the allocation that holds the first if hrx knows one. The
 * others hold the next ones: mapped views that lie next to each other. */
struct side {
  const struct allocation *allocation;
  size_t offset, span;
};

/* False if the last byte's offset does not fit. */
static bool span_of(size_t pitch, size_t slice_pitch, size_t width, size_t height, size_t depth, size_t *out_span) {
  size_t rows = 0, slices = 0, span = 0;
  if (__builtin_mul_overflow(height - 1, pitch, &rows) || __builtin_mul_overflow(depth - 1, slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, width, &span))
    return false;
  *out_span = span;
  return true;
}

/* Whether the range stays in memory that allows `access`: in one allocation, or in mapped views without a gap between them. */
static bool side_inside(const struct memory *memory, const struct side *side, unsigned access) {
  const struct allocation *at = side->allocation;
  size_t left = side->span, offset = side->offset;
  for (;;) {
    if (at->kind == MEMORY_VIRTUAL && (at->access & access) == 0) return false;
    if (left <= at->bytes - offset) return true;
    left -= at->bytes - offset;
    offset = 0;
    at = memory_next(memory, at);
    if (at == NULL) return false;
  }
}

static hipError_t side_find(const void *pointer, size_t span, unsigned access, struct side *out_side) {
  struct hip_state *state = NULL;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  uintptr_t address = (uintptr_t)pointer;
  if (address == 0 || address > UINTPTR_MAX - span) return hipErrorInvalidValue;
  out_side->span = span;
  out_side->offset = 0;
  out_side->allocation = memory_find(state->domain->memory, address);
  if (out_side->allocation == NULL) return hipSuccess;
  out_side->offset = address - out_side->allocation->address;
  /* a range that starts inside an allocation and leaves it is wrong whatever lies behind */
  return side_inside(state->domain->memory, out_side, access) ? hipSuccess : hipErrorInvalidValue;
}

static bool device_side(const struct side *side) {
  return side->allocation != NULL && side->allocation->kind != MEMORY_HOST && side->allocation->kind != MEMORY_REGISTERED;
}

/* hrx reads and writes unknown addresses as the program's own memory, so a side that the program calls a device's must be
 * known. As in HIP, a wrong kind is forgiven where the pointers leave no doubt. */
static bool kind_fits(hipMemcpyKind kind, const struct side *destination, const struct side *source) {
  switch (kind) {
  case hipMemcpyHostToHost:
  case hipMemcpyDefault: return true;
  case hipMemcpyHostToDevice: return destination->allocation != NULL || device_side(source);
  case hipMemcpyDeviceToHost: return source->allocation != NULL || device_side(destination);
  case hipMemcpyDeviceToDevice: return destination->allocation != NULL && source->allocation != NULL;
  }
  return false;
}

static bool copy_empty(const struct task_copy *copy) { return copy->width == 0 || copy->height == 0 || copy->depth == 0; }

static hipError_t copy_sides(const struct copy_operation *operation, struct side *out_destination, struct side *out_source) {
  const struct task_copy *copy = &operation->copy;
  if ((unsigned)operation->kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  if ((copy->height > 1 && (copy->destination_pitch < copy->width || copy->source_pitch < copy->width)))
    return hipErrorInvalidPitchValue;
  size_t destination_span = 0, source_span = 0;
  if (!span_of(copy->destination_pitch, copy->destination_slice_pitch, copy->width, copy->height, copy->depth,
               &destination_span) ||
      !span_of(copy->source_pitch, copy->source_slice_pitch, copy->width, copy->height, copy->depth, &source_span))
    return hipErrorInvalidValue;
  hipError_t error = side_find(copy->destination, destination_span, MEMORY_WRITE, out_destination);
  if (error == hipSuccess) error = side_find(copy->source, source_span, MEMORY_READ, out_source);
  if (error == hipSuccess && !kind_fits(operation->kind, out_destination, out_source)) error = hipErrorInvalidValue;
  return error;
}

hipError_t copy_operation_check(const struct copy_operation *operation) {
  struct side destination, source;
  if (copy_empty(&operation->copy)) return hipSuccess;
  return copy_sides(operation, &destination, &source);
}

static bool watchable(const struct side *side) {
  const struct allocation *at = side->allocation;
  if (at == NULL || at->kind == MEMORY_HOST || at->kind == MEMORY_REGISTERED || at->kind == MEMORY_MANAGED) return true;
  for (size_t left = side->span, offset = side->offset; at != NULL; at = memory_next(state_existing()->domain->memory, at)) {
    if (at->shared) return true;
    if (left <= at->bytes - offset) return false;
    left -= at->bytes - offset;
    offset = 0;
  }
  return false;
}

/* Whether all of the side is in one allocation: what goes on in the next mapped view makes its task opaque, which keeps any order. */
static bool whole(const struct side *side) {
  return side->allocation == NULL || side->span <= side->allocation->bytes - side->offset;
}

static void access_add(const struct side *side, enum access_kind kind, struct access *accesses, unsigned *io_count) {
  if (side->allocation == NULL) return;
  size_t inside = side->allocation->bytes - side->offset;
  accesses[(*io_count)++] = (struct access){side->allocation, side->offset, side->span < inside ? side->span : inside, kind};
}

static unsigned accesses_of(const struct side *destination, const struct side *source, struct access *out_accesses) {
  unsigned count = 0;
  access_add(destination, ACCESS_WRITE, out_accesses, &count);
  if (source != NULL) access_add(source, ACCESS_READ, out_accesses, &count);
  return count;
}

/* Whether the program asked that copies with the side's memory block. */
static bool synchronous(const struct side *side) { return side->allocation != NULL && side->allocation->synchronous; }

/* Waits for all that the stream has been given so far. */
static hrx_status wait_for(struct ihipStream_t *stream) {
  struct clock clock = {0};
  hrx_status status = stream_clock(stream->stream, &clock);
  if (status == HRX_OK) status = engine_clock_wait(stream->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  return status;
}

/* The same for a call on which HIP blocks: it also reports what failed. */
static hipError_t settle(struct ihipStream_t *stream) {
  hrx_status status = wait_for(stream);
  return status == HRX_OK ? hip_stream_failure(stream) : error_of(status);
}

/* A pageable source, copied aside: the program may overwrite its own memory as soon as the call returns. */
struct staged_copy {
  struct task_copy copy; /* source: `bytes` */
  unsigned char bytes[];
};

static void rows_copy(const struct task_copy *copy) {
  for (size_t slice = 0; slice < copy->depth; slice++)
    for (size_t row = 0; row < copy->height; row++)
      memcpy((char *)copy->destination + slice * copy->destination_slice_pitch + row * copy->destination_pitch,
             (const char *)copy->source + slice * copy->source_slice_pitch + row * copy->source_pitch, copy->width);
}

static hrx_status staged_run(void *context) {
  rows_copy(&((struct staged_copy *)context)->copy);
  return HRX_OK;
}

static hrx_status staged_submit(struct ihipStream_t *stream, const struct task *template, bool *out_staged) {
  const struct task_copy *copy = &template->copy;
  size_t bytes = copy->width * copy->height * copy->depth; /* at most the source's span, which was checked */
  struct staged_copy *staged = malloc(sizeof *staged + bytes);
  *out_staged = staged != NULL;
  if (staged == NULL) return HRX_OK;
  struct task_copy aside = *copy;
  aside.destination = staged->bytes;
  aside.destination_pitch = copy->width;
  aside.destination_slice_pitch = copy->width * copy->height;
  rows_copy(&aside);
  staged->copy = *copy;
  staged->copy.source = staged->bytes;
  staged->copy.source_pitch = aside.destination_pitch;
  staged->copy.source_slice_pitch = aside.destination_slice_pitch;
  struct task task = *template;
  task.kind = TASK_HOST;
  task.host.call = staged_run;
  task.host.context = staged;
  task.host.release = free;
  struct point point;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status != HRX_OK) free(staged);
  return status;
}

static struct task task_of_sides(const struct copy_operation *operation, const struct side *destination, const struct side *source,
                                 struct access accesses[2]) {
  return (struct task){.kind = TASK_COPY,
                       .accesses = accesses,
                       .access_count = accesses_of(destination, source, accesses),
                       .opaque = config_get()->order_stream || watchable(destination) || source->allocation == NULL ||
                                 !whole(destination) || !whole(source),
                       .label = "copy",
                       .copy = operation->copy};
}

hipError_t copy_task(const struct copy_operation *operation, struct access accesses[2], struct task *out_task) {
  struct side destination, source;
  *out_task = (struct task){.kind = TASK_JOIN, .label = "copy"};
  if (copy_empty(&operation->copy)) return hipSuccess;
  hipError_t error = copy_sides(operation, &destination, &source);
  if (error == hipSuccess) *out_task = task_of_sides(operation, &destination, &source, accesses);
  return error;
}

hipError_t copy_submit(struct ihipStream_t *stream, const struct copy_operation *operation, enum completion completion) {
  if (copy_empty(&operation->copy)) return completion == COMPLETE_CALL ? settle(stream) : hipSuccess;
  struct side destination, source;
  hipError_t error = copy_sides(operation, &destination, &source);
  if (error != hipSuccess) return error;
  if (completion == COMPLETE_LATER && (synchronous(&destination) || synchronous(&source))) completion = COMPLETE_CALL;
  struct access accesses[2];
  struct task task = task_of_sides(operation, &destination, &source, accesses);
  hrx_status status = HRX_OK;
  bool staged = false, pageable = source.allocation == NULL || destination.allocation == NULL;
  /* pageable memory on either side makes HIP's call a blocking one; a source can be staged instead, which never waits
   * for a kernel that the host has yet to release. With nothing before it, waiting is the shorter way. */
  if (completion == COMPLETE_LATER && source.allocation == NULL && destination.allocation != NULL && !hip_stream_idle(stream))
    status = staged_submit(stream, &task, &staged);
  if (status == HRX_OK && !staged) {
    struct point point;
    status = hip_stream_submit(stream, &task, &point);
    if (status == HRX_OK && completion == COMPLETE_LATER && pageable) status = wait_for(stream);
  }
  if (status != HRX_OK) return error_of(status);
  return completion == COMPLETE_CALL ? settle(stream) : hipSuccess;
}

hipError_t copy_issue(struct ihipStream_t *stream, const struct copy_operation *operation, enum completion completion) {
  hipError_t error = copy_operation_check(operation);
  if (error != hipSuccess) return error;
  if (capture_active(stream) && completion == COMPLETE_LATER) return capture_copy(stream, operation);
  if (completion == COMPLETE_CALL) error = capture_refuses(stream->device, stream);
  return error == hipSuccess ? copy_submit(stream, operation, completion) : error;
}

static bool fill_empty(const struct task_fill *fill) { return fill->width == 0 || fill->height == 0 || fill->depth == 0; }

static hipError_t fill_side(const struct task_fill *fill, struct side *out_side) {
  size_t span = 0;
  if (fill->height > 1 && fill->pitch < fill->width) return hipErrorInvalidValue;
  if (!span_of(fill->pitch, fill->slice_pitch, fill->width, fill->height, fill->depth, &span)) return hipErrorInvalidValue;
  hipError_t error = side_find(fill->destination, span, MEMORY_WRITE, out_side);
  if (error == hipSuccess && out_side->allocation == NULL) error = hipErrorInvalidValue;
  return error;
}

hipError_t fill_operation_check(const struct task_fill *fill) {
  struct side side;
  return fill_empty(fill) ? hipSuccess : fill_side(fill, &side);
}

hipError_t fill_task(const struct task_fill *fill, struct access accesses[1], struct task *out_task) {
  struct side side;
  *out_task = (struct task){.kind = TASK_JOIN, .label = "fill"};
  if (fill_empty(fill)) return hipSuccess;
  hipError_t error = fill_side(fill, &side);
  if (error != hipSuccess) return error;
  *out_task = (struct task){.kind = TASK_FILL,
                            .accesses = accesses,
                            .access_count = accesses_of(&side, NULL, accesses),
                            .opaque = config_get()->order_stream || watchable(&side) || !whole(&side),
                            .label = "fill",
                            .fill = *fill};
  return hipSuccess;
}

hipError_t fill_submit(struct ihipStream_t *stream, const struct task_fill *fill, enum completion completion) {
  if (fill_empty(fill)) return completion == COMPLETE_CALL ? settle(stream) : hipSuccess;
  struct access accesses[1];
  struct task task;
  hipError_t error = fill_task(fill, accesses, &task);
  if (error != hipSuccess) return error;
  struct point point;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status != HRX_OK) return error_of(status);
  return completion == COMPLETE_CALL ? settle(stream) : hipSuccess;
}

hipError_t fill_issue(struct ihipStream_t *stream, const struct task_fill *fill, enum completion completion) {
  hipError_t error = fill_operation_check(fill);
  if (error != hipSuccess) return error;
  if (capture_active(stream) && completion == COMPLETE_LATER) return capture_fill(stream, fill);
  if (completion == COMPLETE_CALL) error = capture_refuses(stream->device, stream);
  return error == hipSuccess ? fill_submit(stream, fill, completion) : error;
}
