/* Traces, as the public interface shows them. */
#include <hrx/trace.h>

#include <stdio.h>
#include <stdlib.h>

#include "native/objects.h"
#include "trace/chrome.h"
#include "trace/output.h"
#include "trace/ring.h"

enum { LANE_NAME = 24 };

struct hrx_trace {
  struct trace *trace;
  char (*lanes)[LANE_NAME]; /* by event */
};

hrx_status hrx_runtime_start_trace(hrx_runtime *runtime, size_t capacity) {
  if (runtime == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime is NULL");
  hrx_status status = trace_start(engine_trace(runtime->domain->engine), capacity);
  return status == HRX_BUSY ? hrx_fail_reason(status, HRX_REASON_TRACING, "%s", hrx_last_message()) : status;
}

static void lane_name(const struct trace_event *event, char out_name[LANE_NAME]) {
  const char *engine = event->engine == TRACE_NPU ? "NPU" : event->kind == TRACE_KERNEL ? "GPU" : "copy and host";
  snprintf(out_name, LANE_NAME, "%s %u", engine, event->task.lane);
}

hrx_status hrx_runtime_finish_trace(hrx_runtime *runtime, hrx_trace **out_trace) {
  if (runtime == NULL || out_trace == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or out_trace is NULL");
  struct trace_ring *ring = engine_trace(runtime->domain->engine);
  size_t room = trace_capacity(ring);
  struct hrx_trace *result = calloc(1, sizeof *result);
  /* before the trace ends, so that nothing of it is lost if there is no memory */
  if (result != NULL) result->lanes = calloc(room + 1, sizeof *result->lanes);
  if (result == NULL || result->lanes == NULL) {
    hrx_trace_release(result);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a finished trace; it goes on");
  }
  trace_finish(ring, &result->trace);
  if (result->trace == NULL) {
    hrx_trace_release(result);
    *out_trace = NULL;
    return HRX_OK;
  }
  size_t count = trace_event_count(result->trace);
  if (count > room) { /* somebody else ended that trace and started a larger one in between */
    free(result->lanes);
    result->lanes = calloc(count, sizeof *result->lanes);
    if (result->lanes == NULL) {
      hrx_trace_release(result);
      return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the lanes of %zu events", count);
    }
  }
  for (size_t i = 0; i < count; i++) lane_name(trace_event_at(result->trace, i), result->lanes[i]);
  *out_trace = result;
  return HRX_OK;
}

size_t hrx_trace_count(const hrx_trace *trace) { return trace != NULL ? trace_event_count(trace->trace) : 0; }
uint64_t hrx_trace_dropped(const hrx_trace *trace) { return trace != NULL ? trace_events_dropped(trace->trace) : 0; }

hrx_status hrx_trace_event_get(const hrx_trace *trace, size_t index, hrx_trace_event *out_event) {
  static const hrx_event_kind kinds[] = {
      [TRACE_FILL] = HRX_EVENT_FILL, [TRACE_COPY] = HRX_EVENT_COPY, [TRACE_KERNEL] = HRX_EVENT_KERNEL,
      [TRACE_HOST] = HRX_EVENT_HOST, [TRACE_JOIN] = HRX_EVENT_JOIN, [TRACE_DEVICE] = HRX_EVENT_NPU};
  if (trace == NULL || out_event == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "trace or out_event is NULL");
  if (index >= trace_event_count(trace->trace))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "event %zu of a trace of %zu", index, trace_event_count(trace->trace));
  const struct trace_event *event = trace_event_at(trace->trace, index);
  *out_event = (hrx_trace_event){.kind = kinds[event->kind],
                                 .label = event->label,
                                 .lane = trace->lanes[index],
                                 .started_ns = event->start_ns,
                                 .finished_ns = event->finish_ns,
                                 .bytes = event->bytes};
  return HRX_OK;
}

static hrx_status write_to(const hrx_trace *trace, const char *path, char **out_text, size_t *out_bytes) {
  struct output output;
  hrx_status status = output_create(path, &output);
  if (status != HRX_OK) return status;
  chrome_write(output.file, trace->trace);
  return output_finish(&output, out_text, out_bytes);
}

hrx_status hrx_trace_write(const hrx_trace *trace, const char *path) {
  if (trace == NULL || path == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "trace or path is NULL");
  return write_to(trace, path, NULL, NULL);
}

hrx_status hrx_trace_json(const hrx_trace *trace, char **out_text, size_t *out_bytes) {
  if (trace == NULL || out_text == NULL || out_bytes == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "trace, out_text or out_bytes is NULL");
  return write_to(trace, NULL, out_text, out_bytes);
}

void hrx_trace_release(hrx_trace *trace) {
  if (trace == NULL) return;
  trace_release(trace->trace);
  free(trace->lanes);
  free(trace);
}
