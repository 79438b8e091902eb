/* What is behind a native stream; for the files of this folder and for tests. */
#ifndef HRX_NATIVE_STREAM_H
#define HRX_NATIVE_STREAM_H

#include "native/hip_interop.h"
#include "native/objects.h"

enum { SCRATCH_CLASSES = 64, STAGING_CHUNK = 4 << 20, STAGING_CHUNKS = 16 };

/* Host memory that uploads are copied through. Free for use again when `busy` is over. */
struct staging_chunk {
  uint8_t *bytes;
  size_t used;
  struct clock busy;
};

/* Code that the stream has queued: its module lives until `busy` is over. */
struct stream_code {
  struct code_module *code;
  unsigned users; /* threads that submit a launch of it */
  struct clock busy;
};

struct hrx_stream {
  _Atomic uint32_t references; /* the opener's, one a buffer, one an event, one a graph */
  struct hrx_runtime *runtime; /* counted */
  struct stream *stream;
  bool borrowed;               /* HIP's queue: not released here */
  struct foreign_queue foreign; /* borrowed: what HIP wants to know of submissions */
  _Atomic bool charged;        /* attach_budget */
  struct hrx_stream *next, *previous; /* runtime->streams */

  pthread_mutex_t staging_lock; /* one upload at a time */
  struct staging_chunk staging[STAGING_CHUNKS];
  unsigned staging_at;

  pthread_mutex_t code_lock;
  struct stream_code *codes;
  size_t code_count, code_capacity;

  struct {
    _Atomic uint32_t lock; /* held for a few instructions; see stream_scratch.c */
    bool closed;
    uint64_t kept, limit;
    struct hrx_buffer *classes[SCRATCH_CLASSES]; /* by the logarithm of their bytes */
  } scratch;
};

/* The engine's calls of these names for a stream's queue, with the order that HIP adds to its own queues. All work of a stream goes
 * through them. */
static inline hrx_status queue_join(const struct hrx_stream *stream) {
  return stream->foreign.join != NULL ? stream->foreign.join(stream->foreign.owner) : HRX_OK;
}
static inline void queue_submitted(const struct hrx_stream *stream) {
  if (stream->foreign.submitted != NULL) stream->foreign.submitted(stream->foreign.owner);
}
static inline hrx_status queue_submit(const struct hrx_stream *stream, const struct task *task, struct point *out_point) {
  hrx_status status = queue_join(stream);
  if (status == HRX_OK) status = stream_submit(stream->stream, task, out_point);
  if (status == HRX_OK) queue_submitted(stream);
  return status;
}
static inline hrx_status queue_wait_clock(const struct hrx_stream *stream, const struct clock *clock) {
  hrx_status status = stream_wait_clock(stream->stream, clock);
  if (status == HRX_OK) queue_submitted(stream);
  return status;
}
static inline hrx_status queue_clock(const struct hrx_stream *stream, struct clock *io_clock) {
  hrx_status status = queue_join(stream);
  return status == HRX_OK ? stream_clock(stream->stream, io_clock) : status;
}

/* A native stream of an engine's one. `borrowed`: it stays its owner's, who keeps it longer. */
hrx_status stream_wrap(struct hrx_runtime *runtime, struct stream *engine_stream, bool borrowed, hrx_stream **out_stream);

struct hrx_stream *stream_hold(struct hrx_stream *stream);
void stream_let_go(struct hrx_stream *stream); /* at the last: goes when its queued work is over; NULL is accepted */

/* Checks a view for work on this stream: memory that the GPU reaches, of its domain, not empty. */
hrx_status stream_view_check(const struct hrx_stream *stream, hrx_view view, const char *what);

/* Equal lengths, no byte in both. Errors: INVALID/RANGE, /ALIASING. */
hrx_status copy_views_check(hrx_view destination, hrx_view source);

/* Whether two views show a byte in common, also through different allocations of one storage. */
bool views_overlap(hrx_view one, hrx_view other);

/* Waits for `clock` and reports the stream's first failure. */
hrx_status stream_finish(struct hrx_stream *stream, const struct clock *clock);

/* The launch of a kernel without a contract, checked but for what only the device can check. `segment` has room for
 * explicit_bytes; `out_accesses` for `count`: each buffer once. */
hrx_status stream_launch_write(const struct hrx_stream *stream, const hrx_stream_kernel *kernel, hrx_dimensions grid,
                               hrx_dimensions block, uint32_t dynamic_lds, const hrx_view *views, size_t count,
                               const void *constants, size_t constant_bytes, void *segment, struct gpu_launch *out_launch,
                               struct access *out_accesses, unsigned *out_access_count);

/* stream_scratch.c */
void scratch_init(struct hrx_stream *stream);
void scratch_close(struct hrx_stream *stream); /* lets go of all of it; later recycling just releases */

/* Lets go of the scratch that the runtime's streams keep. Returns its bytes. For a budget that is full. */
uint64_t runtime_scratch_drop(struct hrx_runtime *runtime);

/* stream_transfer.c */
void staging_finish(struct hrx_stream *stream); /* no copy out of it is left */

/* Drops code that is not needed any more; all of it if `all`: no work is left. */
void stream_codes_drop(struct hrx_stream *stream, bool all);

#endif
