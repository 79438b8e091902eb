/* Stream capture: whether a stream records, where its operations go then, and what may not happen meanwhile.
 *
 * A capture has a flat set of member streams, each with a frontier: the nodes that its next node follows. One lock guards
 * all captures; it is taken only by calls that touch one. */
#ifndef HRX_INTERPOSE_CAPTURE_H
#define HRX_INTERPOSE_CAPTURE_H

#include <hip/hip_runtime_api.h>

#include "interpose/event.h"
#include "interpose/operation.h"

/* Whether calls on the stream are recorded. One relaxed load: the thread that begins a capture is the one that uses it, or
 * has synchronised with it. */
static inline bool capture_active(const struct ihipStream_t *stream) {
  return atomic_load_explicit(&stream->capture, memory_order_relaxed) != NULL;
}

/* Append a node behind the stream's frontier. Arguments are copied. Errors: hipErrorStreamCaptureInvalidated,
 * hipErrorOutOfMemory, those of a bad operation. */
hipError_t capture_copy(struct ihipStream_t *stream, const struct copy_operation *operation);
hipError_t capture_fill(struct ihipStream_t *stream, const struct task_fill *fill);
hipError_t capture_launch(struct ihipStream_t *stream, const struct launch_operation *operation);
hipError_t capture_host(struct ihipStream_t *stream, hipHostFn_t call, void *data);

/* Tags the event with the stream's frontier: no node. */
hipError_t capture_event_record(struct ihipStream_t *stream, struct ihipEvent_t *event);

/* A wait in which the stream captures, or the event was recorded in a capture: pulls the stream in, or extends its frontier.
 * Errors: hipErrorStreamCaptureMerge (two captures meet; both become invalid), hipErrorStreamCaptureIsolation (an ordinary
 * event), hipErrorStreamCaptureImplicit (stream 0), hipErrorCapturedEvent (its capture has ended). */
hipError_t capture_event_wait(struct ihipStream_t *stream, struct ihipEvent_t *event);

/* The stream is about to be destroyed: a capture that it belongs to becomes invalid. */
void capture_forget(struct ihipStream_t *stream);

/* For a call that must not happen while `stream` (or, if NULL, any stream that this thread's mode protects) is captured:
 * invalidates what HIP says it invalidates and returns the error to give; hipSuccess if nothing is in its way. Two loads when
 * nothing is being captured. */
hipError_t capture_refuses(struct hip_device *device, struct ihipStream_t *stream);

#endif
