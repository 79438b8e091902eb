/* Native streams: an in-order queue of one GPU, with its own buffers. Two streams with nothing between them are ordered by
 * nobody; events and hrx_stream_wait_event put something between them. */
#ifndef HRX_STREAM_H
#define HRX_STREAM_H

#include <hrx/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_event hrx_event;
typedef struct hrx_gpu_graph hrx_gpu_graph;           /* gpu_graph.h */
typedef struct hrx_gpu_executable hrx_gpu_executable; /* gpu_graph.h */

/* A stream of the runtime's GPU. A failure of its work is reported by the next synchronising call, once. */
hrx_status hrx_stream_open(hrx_runtime *runtime, hrx_stream **out_stream);
void hrx_stream_close(hrx_stream *stream); /* queued work goes on; NULL is accepted */

/* Memory of the stream's GPU, not charged to the budget unless `attach_budget` was called. 1 to SSIZE_MAX bytes; not zeroed: may hold anything.
 * Released with hrx_buffer_release; the memory is there until the work on it is over. */
hrx_status hrx_stream_allocate(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer);
hrx_status hrx_stream_allocate_zeroed(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer);

/* Charges what the stream allocates from now on to its runtime's budget. */
hrx_status hrx_stream_attach_budget(hrx_stream *stream);

/* Copies host bytes to the buffer: staged before the call returns, through at most 64 MiB of staging memory, for which it waits if it
 * must. read: queues, then waits. Errors: INVALID/RANGE, /FOREIGN, /EMPTY. */
hrx_status hrx_stream_upload(hrx_stream *stream, hrx_buffer *buffer, const void *bytes, size_t count);
hrx_status hrx_stream_upload_at(hrx_stream *stream, hrx_view view, const void *bytes, size_t count);
hrx_status hrx_stream_upload_blocking(hrx_stream *stream, hrx_view view, const void *bytes, size_t count);
hrx_status hrx_stream_read(hrx_stream *stream, hrx_view view, void *out_bytes, size_t count);

/* At least one byte; the whole range is checked first. */
hrx_status hrx_stream_fill(hrx_stream *stream, hrx_view view, uint8_t byte);
hrx_status hrx_stream_copy(hrx_stream *stream, hrx_view destination, hrx_view source);

/* Loads a kernel without a contract. */
hrx_status hrx_stream_kernel_load(hrx_stream *stream, const void *bytes, size_t size, const char *symbol,
                                  hrx_stream_kernel **out_kernel);
hrx_status hrx_stream_kernel_load_file(hrx_stream *stream, const char *path, const char *symbol, hrx_stream_kernel **out_kernel);
hrx_stream_kernel *hrx_stream_kernel_retain(hrx_stream_kernel *kernel);
void hrx_stream_kernel_release(hrx_stream_kernel *kernel);

/* Launches. `views` are the pointer arguments in order, `constants` the by-value ones packed in order. The kernel is taken to read
 * and write all of the views' buffers. Errors: INVALID/LAUNCH_GEOMETRY (a zero axis, more than 1024 work-items, another size than the
 * code was compiled for), /CONTRACT, /FOREIGN; UNSUPPORTED/INSTRUCTION. */
hrx_status hrx_stream_dispatch(hrx_stream *stream, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                               uint32_t dynamic_lds, const hrx_view *views, size_t count, const void *constants,
                               size_t constant_bytes);

/* Temporary memory: a buffer of `bytes` to 2 * `bytes`, reused from what was recycled, in stream order: no wait. */
hrx_status hrx_stream_scratch(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer);
void hrx_stream_recycle(hrx_stream *stream, hrx_buffer *buffer); /* takes the caller's reference */
hrx_status hrx_stream_set_scratch_limit(hrx_stream *stream, uint64_t bytes); /* kept at most; 256 MiB at first */

/* Events mark a moment of a stream. */
hrx_status hrx_stream_record_event(hrx_stream *stream, hrx_event **out_event);
hrx_status hrx_stream_wait_event(hrx_stream *stream, hrx_event *event);
bool hrx_event_is_complete(const hrx_event *event);
hrx_status hrx_event_wait(hrx_event *event); /* reports a failure of its stream, as hrx_stream_synchronize does */
void hrx_event_release(hrx_event *event);

/* Makes sure that queued work has been given to the device; costs nothing where it always is. */
hrx_status hrx_stream_submit(hrx_stream *stream);

/* Waits for all of it and reports its first failure. Independent of how much unrelated memory and work there is. */
hrx_status hrx_stream_synchronize(hrx_stream *stream);

/* An empty explicit graph for this stream (gpu_graph.h), and runs of finished ones, on any stream of their runtime. A run is in
 * order with the rest of its stream. hrx does not look into it: until it is over, host maps and graphs of the domain that
 * come after it wait for it, and it for graphs of the domain before it, whatever they touch. Launching waits while four runs of
 * one graph are in flight. */
hrx_status hrx_stream_graph(hrx_stream *stream, hrx_gpu_graph **out_graph);
hrx_status hrx_stream_launch(hrx_stream *stream, hrx_gpu_executable *executable);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
