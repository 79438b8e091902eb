/* What a runtime did: counts, and a bounded trace. */
#ifndef HRX_TRACE_H
#define HRX_TRACE_H

#include <hrx/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_trace hrx_trace;

typedef struct hrx_statistics {
  size_t size; /* the caller's sizeof */
  uint64_t allocations, imports, submissions, completions, completions_failed, completions_cancelled;
  uint64_t native_graphs, copy_streams;
  uint64_t copied_bytes, uploaded_bytes, downloaded_bytes, device_copied_bytes, cache_maintained_bytes;
  uint64_t live_bytes, peak_bytes, staging_bytes;
  uint64_t tasks, edges_inferred, edges_reduced;
} hrx_statistics;

hrx_status hrx_runtime_statistics(hrx_runtime *runtime, hrx_statistics *io_statistics);

/* The same as a JSON object. The text is the caller's to free(). */
hrx_status hrx_runtime_statistics_json(hrx_runtime *runtime, char **out_text);

/* Keeps the newest `capacity` events. Errors: BUSY/TRACING if one runs; INVALID/ARGUMENT for 0. */
hrx_status hrx_runtime_start_trace(hrx_runtime *runtime, size_t capacity);

/* Ends it. *out_trace is NULL if none ran. Errors: OUT_OF_MEMORY; it goes on then. */
hrx_status hrx_runtime_finish_trace(hrx_runtime *runtime, hrx_trace **out_trace);

typedef enum hrx_event_kind {
  HRX_EVENT_FILL, HRX_EVENT_COPY, HRX_EVENT_KERNEL, HRX_EVENT_HOST, HRX_EVENT_JOIN, HRX_EVENT_NPU
} hrx_event_kind;

typedef struct hrx_trace_event {
  hrx_event_kind kind;
  const char *label, *lane; /* live as long as the trace */
  uint64_t started_ns, finished_ns, bytes;
} hrx_trace_event;

size_t hrx_trace_count(const hrx_trace *trace);
uint64_t hrx_trace_dropped(const hrx_trace *trace);
hrx_status hrx_trace_event_get(const hrx_trace *trace, size_t index, hrx_trace_event *out_event);

/* Chrome trace-event JSON, which Perfetto opens: lanes as threads, edges as flows. */
hrx_status hrx_trace_write(const hrx_trace *trace, const char *path);
hrx_status hrx_trace_json(const hrx_trace *trace, char **out_text, size_t *out_bytes); /* the caller's to free() */
void hrx_trace_release(hrx_trace *trace);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
