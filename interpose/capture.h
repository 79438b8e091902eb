/* What the other files need to know of stream capture: whether a stream records, and where its operations go then. */
#ifndef HRX_INTERPOSE_CAPTURE_H
#define HRX_INTERPOSE_CAPTURE_H

#include <hip/hip_runtime_api.h>

#include "interpose/operation.h"

/* Whether calls on the stream are recorded. One relaxed load: the thread that begins a capture is the one that uses it, or
 * has synchronised with it. */
static inline bool capture_active(const struct ihipStream_t *stream) {
  return atomic_load_explicit(&stream->capture, memory_order_relaxed) != NULL;
}

/* Append a node behind the stream's frontier. Arguments are copied. Errors: hipErrorStreamCaptureInvalidated,
 * hipErrorOutOfMemory. */
hipError_t capture_copy(struct ihipStream_t *stream, const struct copy_operation *operation);
hipError_t capture_fill(struct ihipStream_t *stream, const struct task_fill *fill);
hipError_t capture_launch(struct ihipStream_t *stream, const struct launch_operation *operation);

/* For a call that must not happen while `stream` (or, if NULL, any stream that this thread's mode protects) is captured:
 * invalidates what HIP says it invalidates and returns the error to give; hipSuccess if nothing is in its way. Two loads when
 * nothing is being captured. */
hipError_t capture_refuses(struct hip_device *device, struct ihipStream_t *stream);

#endif
