#include "interpose/capture.h"

/* Nothing begins a capture yet (hipStreamBeginCapture is refused), so no stream is ever handed to these. */
hipError_t capture_copy(struct ihipStream_t *stream, const struct copy_operation *operation) {
  (void)stream, (void)operation;
  return hipErrorStreamCaptureUnsupported;
}

hipError_t capture_fill(struct ihipStream_t *stream, const struct task_fill *fill) {
  (void)stream, (void)fill;
  return hipErrorStreamCaptureUnsupported;
}

hipError_t capture_launch(struct ihipStream_t *stream, const struct launch_operation *operation) {
  (void)stream, (void)operation;
  return hipErrorStreamCaptureUnsupported;
}

hipError_t capture_refuses(struct hip_device *device, struct ihipStream_t *stream) {
  (void)device, (void)stream;
  return hipSuccess;
}
