/* Events: a clock of the stream that recorded it. */
#include <stdlib.h>

#include "native/stream.h"

struct hrx_event {
  struct hrx_stream *stream; /* counted */
  struct clock clock;
};

hrx_status hrx_stream_record_event(hrx_stream *stream, hrx_event **out_event) {
  struct hrx_event *event = calloc(1, sizeof *event);
  if (event == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an event");
  hrx_status status = queue_clock(stream, &event->clock);
  if (status != HRX_OK) {
    clock_finish(&event->clock);
    free(event);
    return status;
  }
  event->stream = stream_hold(stream);
  *out_event = event;
  return HRX_OK;
}

hrx_status hrx_stream_wait_event(hrx_stream *stream, hrx_event *event) {
  if (event->stream->runtime->domain != stream->runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "an event of another runtime");
  return queue_wait_clock(stream, &event->clock);
}

bool hrx_event_is_complete(const hrx_event *event) {
  return engine_clock_over(event->stream->runtime->domain->engine, &event->clock);
}

hrx_status hrx_event_wait(hrx_event *event) { return stream_finish(event->stream, &event->clock); }

void hrx_event_release(hrx_event *event) {
  if (event == NULL) return;
  struct hrx_stream *stream = event->stream;
  clock_finish(&event->clock);
  free(event);
  stream_let_go(stream);
}
