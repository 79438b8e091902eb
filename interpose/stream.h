/* HIP streams on engine streams: handles, the default streams, and the order that stream 0 imposes.
 *
 * A stream created without hipStreamNonBlocking (and each per-thread stream) is "blocking": its work follows all earlier work of
 * stream 0 and is followed by later work of stream 0. Every submission goes through hip_stream_submit, which adds that order;
 * it costs two loads when nothing happened on the other side. */
#ifndef HRX_INTERPOSE_STREAM_H
#define HRX_INTERPOSE_STREAM_H

#include <hip/hip_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "interpose/state.h"

struct capture; /* capture.h */
struct thread_streams;

struct ihipStream_t {
  struct stream *stream;
  struct hip_device *device;
  struct engine *engine;
  unsigned flags;
  int priority;
  bool legacy, blocking;
  uint64_t id; /* unique in the process */
  _Atomic int wait_policy; /* enum synchronization_policy; 0: never set */
  uint32_t *unit_mask;     /* hipExtStreamCreateWithCUMask, one bit a compute unit; NULL: all */
  _Atomic uint64_t seen_legacy;   /* device->legacy_serial when this one last joined stream 0 */
  _Atomic uint64_t seen_blocking; /* stream 0: blocking_serial when it last joined the others */
  struct capture *_Atomic capture; /* not NULL: calls are recorded instead of run */
  struct ihipStream_t *next, *previous; /* the device's list */
};

/* What a stream argument means: NULL and hipStreamLegacy stand for stream 0 of the thread's device, hipStreamPerThread for
 * the thread's own stream there; anything else must be live. Errors: hipErrorContextIsDestroyed for a dead or foreign
 * handle; those of state_get. */
hipError_t hip_stream_find(hipStream_t handle, struct ihipStream_t **out_stream);

/* The same for the _spt twins: NULL stands for the thread's own stream. */
hipError_t hip_stream_find_spt(hipStream_t handle, struct ihipStream_t **out_stream);

/* Makes a stream of `device` (hipStreamDefault or hipStreamNonBlocking) and its handle. */
hipError_t hip_stream_create(struct hip_device *device, unsigned flags, int priority, struct ihipStream_t **out_stream);

/* Makes stream 0 of a device that is being started. */
hrx_status hip_stream_legacy_create(struct domain *domain, struct hip_device *device);

/* Ends the handle; queued work still runs. The caller has found it live. */
hipError_t hip_stream_destroy(struct ihipStream_t *stream);

/* Adds the order that stream 0 imposes, without submitting: for whoever then reads the stream's clock. */
hrx_status hip_stream_join(struct ihipStream_t *stream);

/* hip_stream_join, then stream_submit. The stream is not capturing. */
hrx_status hip_stream_submit(struct ihipStream_t *stream, const struct task *task, struct point *out_point);

/* After work other than by hip_stream_submit entered the stream (stream_wait_clock): later work of stream 0, or of the
 * blocking streams, must follow it. */
void hip_stream_touched(struct ihipStream_t *stream);

/* hip_stream_join, then adds the stream's clock to `io_clock`: what an event records. */
hrx_status hip_stream_clock(struct ihipStream_t *stream, struct clock *io_clock);

/* Waits for the stream's work so far and reports its oldest failure. */
hipError_t hip_stream_synchronize(struct ihipStream_t *stream);

/* Whether the stream's work so far, and what it follows, is over. */
bool hip_stream_idle(struct ihipStream_t *stream);

/* The failure that its tasks left, logged and taken; hipSuccess if none. */
hipError_t hip_stream_failure(struct ihipStream_t *stream);

/* Frees a thread's own streams (thread_at_exit calls it). */
void hip_thread_streams_release(struct thread_streams *streams);

#endif
