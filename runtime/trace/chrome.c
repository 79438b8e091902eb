#include "trace/chrome.h"

#include <inttypes.h>

#include "trace/escape.h"

struct place {
  int process;
  uint64_t thread; /* 0 is no thread of its own in some viewers, so lanes begin at 1 */
};

static struct place place_of(const struct trace_event *event) {
  return (struct place){(int)event->engine + 1, (uint64_t)event->task.lane + 1};
}

static void separator(FILE *file, bool *io_first) {
  fputs(*io_first ? "\n" : ",\n", file);
  *io_first = false;
}

/* No floating point: the program's locale decides what its decimal point looks like. */
static void microseconds_write(FILE *file, const char *name, uint64_t ns) {
  fprintf(file, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static uint64_t since(const struct trace *trace, uint64_t ns) {
  uint64_t started = trace_started_ns(trace);
  return ns > started ? ns - started : 0;
}

static void processes_write(FILE *file, const struct trace *trace, bool *io_first) {
  bool seen[2] = {false, false};
  size_t count = trace_event_count(trace);
  for (size_t i = 0; i < count; i++) seen[trace_event_at(trace, i)->engine == TRACE_NPU] = true;
  for (int engine = TRACE_GPU; engine <= TRACE_NPU; engine++) {
    if (!seen[engine]) continue;
    separator(file, io_first);
    fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"%s\"}}", engine + 1,
            trace_engine_name((enum trace_engine)engine));
  }
}

/* A lane is lent to one stream after another: it is named after the stream only if there was just one. */
static void lane_write(FILE *file, const struct trace_event *event, bool one_stream, bool *io_first) {
  struct place place = place_of(event);
  separator(file, io_first);
  fprintf(file, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%" PRIu64 ",\"args\":{\"name\":\"", place.process,
          place.thread);
  if (one_stream) fprintf(file, "stream %" PRIu32 ", ", event->stream);
  fprintf(file, "lane %" PRIu32 "\"}}", event->task.lane);
  separator(file, io_first);
  fprintf(file, "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%" PRIu64 ",\"args\":{\"sort_index\":%" PRIu32 "}}",
          place.process, place.thread, event->stream);
}

static void lanes_write(FILE *file, const struct trace *trace, bool *io_first) {
  size_t count = trace_event_count(trace);
  for (size_t begin = 0, end; begin < count; begin = end) {
    const struct trace_event *first = trace_event_by_lane(trace, begin);
    bool one_stream = true;
    const struct trace_event *other = NULL; /* of the other engine, on a lane that had work of both */
    for (end = begin; end < count; end++) {
      const struct trace_event *event = trace_event_by_lane(trace, end);
      if (event->task.lane != first->task.lane) break;
      one_stream &= event->stream == first->stream;
      if (event->engine != first->engine) other = event;
    }
    lane_write(file, first, one_stream, io_first);
    if (other != NULL) lane_write(file, other, one_stream, io_first);
  }
}

static void event_write(FILE *file, const struct trace *trace, const struct trace_event *event) {
  struct place place = place_of(event);
  fprintf(file, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRIu64, place.process, place.thread);
  microseconds_write(file, "ts", since(trace, event->start_ns));
  microseconds_write(file, "dur", event->finish_ns > event->start_ns ? event->finish_ns - event->start_ns : 0);
  fputs(",\"name\":", file);
  json_string_write(file, event->label);
  fprintf(file, ",\"cat\":\"%s\",\"args\":{\"task\":\"%" PRIu32 ":%" PRIu64 "\",\"stream\":%" PRIu32 ",\"outcome\":\"%s\"",
          trace_kind_name(event->kind), event->task.lane, event->task.sequence, event->stream,
          trace_outcome_name(event->outcome));
  if (event->bytes != 0 || event->kind == TRACE_COPY || event->kind == TRACE_FILL)
    fprintf(file, ",\"bytes\":%" PRIu64, event->bytes);
  fputs("}}", file);
}

/* `phase`: "s" starts a flow, "f" finishes it; bp e: at the task that encloses the time, not at the next one. */
static void flow_end_write(FILE *file, const struct trace *trace, const struct trace_event *event, uint64_t ns,
                           const char *phase, enum trace_edge_kind kind, size_t id) {
  struct place place = place_of(event);
  fprintf(file, "{\"ph\":\"%s\",\"bp\":\"e\",\"pid\":%d,\"tid\":%" PRIu64, phase, place.process, place.thread);
  microseconds_write(file, "ts", since(trace, ns));
  fprintf(file, ",\"id\":%zu,\"name\":\"%s\",\"cat\":\"edge\"}", id, trace_edge_kind_name(kind));
}

static void edge_write(FILE *file, const struct trace *trace, size_t index) {
  const struct trace_edge *edge = trace_edge_at(trace, index);
  const struct trace_event *from = trace_event_of(trace, edge->from), *to = trace_event_of(trace, edge->to);
  /* a flow binds to what is running at its time, and at its finish a task is not any more */
  uint64_t last = from->finish_ns > from->start_ns ? from->finish_ns - 1 : from->start_ns;
  flow_end_write(file, trace, from, last, "s", edge->kind, index + 1);
  fputs(",\n", file);
  flow_end_write(file, trace, to, to->start_ns, "f", edge->kind, index + 1);
}

void chrome_write(FILE *file, const struct trace *trace) {
  fprintf(file,
          "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"hrx\",\"clock\":\"CLOCK_MONOTONIC\",\"started_ns\":%" PRIu64
          ",\"events_dropped\":%" PRIu64 ",\"edges_dropped\":%" PRIu64 "},\n\"traceEvents\":[",
          trace_started_ns(trace), trace_events_dropped(trace), trace_edges_dropped(trace));
  bool first = true;
  processes_write(file, trace, &first);
  lanes_write(file, trace, &first);
  for (size_t i = 0; i < trace_event_count(trace); i++) {
    separator(file, &first);
    event_write(file, trace, trace_event_at(trace, i));
  }
  for (size_t i = 0; i < trace_edge_count(trace); i++) {
    separator(file, &first);
    edge_write(file, trace, i);
  }
  fputs("\n]}\n", file);
}
