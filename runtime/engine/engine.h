/* The engine: tasks with accesses, run as soon as what they must follow is over (DESIGN 4).
 *
 * A client (a HIP stream, a native stream) is a `stream`: it keeps the clock of all its work and the part of
 * it that is opaque. Submitting computes the task's waits from the outer order (the stream's clock) and the
 * frontiers of the storages that it touches, in one short critical section of the engine; nothing in it
 * allocates, blocks or calls out. Every function may be called from any thread unless it says otherwise.
 *
 * The engine knows no HIP and no AMDGCN: dispatches are opaque objects of the GPU device (gpu/gpu.h). */
#ifndef HRX_ENGINE_ENGINE_H
#define HRX_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/point.h"
#include "gpu/gpu.h"
#include "memory/memory.h"

struct trace_ring;
struct engine;
struct stream;

enum access_kind { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_READ_WRITE = 3, ACCESS_ATOMIC = 4 };

/* A byte range of a storage and what the task does to it. An empty one has no effect. */
struct access {
  const struct allocation *allocation; /* live until the task is over */
  size_t offset, bytes;                /* inside the allocation */
  enum access_kind kind;
};

enum task_kind { TASK_FILL, TASK_COPY, TASK_DISPATCH, TASK_HOST, TASK_JOIN, TASK_DEVICE };

/* Fill `depth` slices of `height` rows of `width` bytes with a repeated `element_bytes` (1, 2 or 4) pattern. */
struct task_fill {
  void *destination;
  size_t pitch, slice_pitch; /* bytes from row to row, slice to slice */
  size_t width, height, depth;
  uint32_t pattern;
  unsigned element_bytes;
};

struct task_copy {
  void *destination;
  size_t destination_pitch, destination_slice_pitch;
  const void *source;
  size_t source_pitch, source_slice_pitch;
  size_t width, height, depth; /* bytes, rows, slices; height and depth 1 for a linear copy */
};

/* Runs on a thread of the engine, no lock held. May call back into the engine except to wait for its own
 * stream. What it returns becomes the task's outcome. */
typedef hrx_status (*task_host_function)(void *context);

/* One operation. Plain data: copied by submit, except what the pointers in it point to. */
struct task {
  enum task_kind kind;
  bool opaque;                   /* keeps the whole outer order before and after it */
  bool run_always;               /* runs (HOST, JOIN) even if what it waited for failed */
  const struct access *accesses; /* copied */
  unsigned access_count;
  uint64_t *out_started_ns, *out_finished_ns; /* if not NULL: written (release) before the point is over; must
                                                 outlive the task: timing events, profiles */
  const char *label;                          /* for traces and messages; outlives the task */
  union {
    struct task_fill fill;
    struct task_copy copy;
    struct gpu_dispatch *dispatch; /* ownership passes to the engine on HRX_OK; it calls gpu_dispatch_release */
    struct {
      task_host_function call;
      void *context;
      void (*release)(void *context); /* called exactly once, run or skipped; may be NULL */
    } host;
    struct { /* an engine of another kind (NPU): started like a dispatch, on a thread of its own */
      void (*start)(void *payload, gpu_done done, void *context);
      void (*cancel)(void *payload);  /* may be NULL */
      void (*release)(void *payload); /* once, when the engine is done with it; may be NULL */
      void *payload;
      bool waits; /* it computes nothing but waits for something outside, such as a value in memory: shown as host work */
    } device;
  };
};

struct engine_options {
  struct memory *memory; /* not owned */
  unsigned copy_threads; /* 0: default 1 */
  unsigned host_threads; /* 0: default 2; grows when host functions block */
};

struct engine_statistics {
  uint64_t tasks, edges, failed, skipped;
  uint64_t copied_bytes, filled_bytes, dispatches;
};

/* Errors: OUT_OF_MEMORY. Threads start lazily, at the first task that needs one. */
hrx_status engine_create(const struct engine_options *options, struct engine **out_engine);

/* Waits for all work, stops the threads. NULL is accepted. */
void engine_release(struct engine *engine);

/* Around fork(2), from the HIP layer's pthread_atfork functions: prepare before it, done after it in parent and child.
 * They also hold and let go of the engine's memory. In a child of a process that had used the engine there are no
 * threads, and work may be half done: submitting and waiting there fail with DEVICE_LOST, clocks count as over so that
 * nobody polls for ever, and engine_release returns at once. */
void engine_fork_prepare(struct engine *engine);
void engine_fork_done(struct engine *engine, bool child);

/* Whether this process is such a child. One load. */
bool engine_forked(const struct engine *engine);

/* Where the engine's tasks are recorded while a trace runs: trace_start and trace_finish (trace/ring.h) take it. A task's event
 * is there before its point is over. */
struct trace_ring *engine_trace(struct engine *engine);

void engine_statistics(const struct engine *engine, struct engine_statistics *out_statistics);

/* A new stream. `priority`: higher runs first among ready heads. Errors: OUT_OF_MEMORY, BUSY (lanes). */
hrx_status stream_create(struct engine *engine, int priority, struct stream **out_stream);

/* Lets go of the stream; its queued work still runs, and lanes return once it is over. NULL is accepted. */
void stream_release(struct stream *stream);

/* Submits one task behind the stream's outer order and writes its point. Blocks only when the stream already has
 * 16,384 tasks queued, outside every lock. Errors: INVALID for accesses outside their allocation; OUT_OF_MEMORY.
 * On an error nothing was submitted and ownership did not pass. */
hrx_status stream_submit(struct stream *stream, const struct task *task, struct point *out_point);

/* All later work of the stream follows `clock`. */
hrx_status stream_wait_clock(struct stream *stream, const struct clock *clock);

/* Adds the stream's clock (all its work so far and all it must follow) to `io_clock`. Errors: OUT_OF_MEMORY. */
hrx_status stream_clock(struct stream *stream, struct clock *io_clock);

/* Whether all of the stream's work so far is over. */
bool stream_idle(struct stream *stream);

/* Whether `clock` is over. Takes no lock. */
bool engine_clock_over(const struct engine *engine, const struct clock *clock);

/* Waits until `clock` is over or `deadline_ns` (time_now_ns scale, UINT64_MAX none) has passed: HRX_TIMEOUT. Spins
 * briefly, runs tasks inside the clock in time slices (gpu_dispatch_help, copies, fills; never host functions), then
 * sleeps. Does not report the tasks' failures: stream_failure_take does. */
hrx_status engine_clock_wait(struct engine *engine, const struct clock *clock, uint64_t deadline_ns);

/* The first failure of the stream's tasks since the last take, which it clears; false if none. A failed task makes
 * later tasks already queued in the stream's outer order be skipped with the same cause until it is taken
 * (run_always ones run). */
bool stream_failure_take(struct stream *stream, struct failure *out_failure);

/* The same for any stream of the engine, oldest first. */
bool engine_failure_take(struct engine *engine, struct failure *out_failure);

/* The storage's memory is about to be freed or used for something else: its poison goes with it. All its work is over. */
void engine_storage_forget(struct engine *engine, struct storage *storage);

/* Adds the work that touches the storage and is not over to `io_clock`, but for opaque tasks, whose accesses nobody knows. Nobody
 * submits such work meanwhile. Errors: OUT_OF_MEMORY. */
hrx_status engine_storage_clock(struct engine *engine, const struct storage *storage, struct clock *io_clock);

/* Whether nothing is queued or runs and no thread is on its way out of a task: engine_release would not wait. */
bool engine_idle(struct engine *engine);

/* Adds the clock of every stream, released ones included, to `io_clock`: the device's whole work. */
hrx_status engine_clock(struct engine *engine, struct clock *io_clock);

#endif
