#include "trace/ring.h"

#include <stdlib.h>

#include "base/clocktime.h"
#include "trace/label.h"

enum { EDGES_AN_EVENT = 2 };

struct trace {
  size_t capacity, edge_capacity;
  uint64_t recorded, edges_recorded; /* all that came; the ring holds the last of them */
  size_t edge_count;                 /* in a finished trace */
  uint64_t started_ns;
  struct trace_event *events;
  struct trace_edge *edges;
  uint32_t *by_lane; /* indices of events, sorted by lane and number once it is finished */
  struct label_table labels;
};

/* --- life --- */

void trace_ring_init(struct trace_ring *ring) {
  atomic_init(&ring->running, false);
  pthread_mutex_init(&ring->lock, NULL);
  ring->trace = NULL;
}

void trace_ring_finish(struct trace_ring *ring) {
  struct trace *trace = NULL;
  trace_finish(ring, &trace);
  trace_release(trace);
  pthread_mutex_destroy(&ring->lock);
}

void trace_ring_fork_prepare(struct trace_ring *ring) { pthread_mutex_lock(&ring->lock); }

void trace_ring_fork_done(struct trace_ring *ring, bool child) {
  /* the events are the parent's to write; the memory stays, because freeing is not for a fork handler */
  if (child) atomic_store(&ring->running, false);
  if (child) ring->trace = NULL;
  pthread_mutex_unlock(&ring->lock);
}

void trace_release(struct trace *trace) {
  if (trace == NULL) return;
  label_table_finish(&trace->labels);
  free(trace->events);
  free(trace->edges);
  free(trace->by_lane);
  free(trace);
}

/* calloc: of a large capacity only what is recorded becomes resident. */
static hrx_status trace_create(size_t capacity, struct trace **out_trace) {
  struct trace *trace = calloc(1, sizeof *trace);
  bool good = trace != NULL;
  if (good) {
    trace->capacity = capacity;
    trace->edge_capacity = capacity * EDGES_AN_EVENT;
    trace->events = calloc(trace->capacity, sizeof *trace->events);
    trace->edges = calloc(trace->edge_capacity, sizeof *trace->edges);
    trace->by_lane = calloc(trace->capacity, sizeof *trace->by_lane);
    good = trace->events != NULL && trace->edges != NULL && trace->by_lane != NULL;
  }
  if (!good) {
    trace_release(trace);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a trace of %zu events", capacity);
  }
  *out_trace = trace;
  return HRX_OK;
}

hrx_status trace_start(struct trace_ring *ring, size_t capacity) {
  if (capacity == 0 || capacity > TRACE_CAPACITY_MOST)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a trace of %zu events: it can keep 1 to %d", capacity,
                           (int)TRACE_CAPACITY_MOST);
  struct trace *trace = NULL;
  hrx_status status = trace_create(capacity, &trace);
  if (status != HRX_OK) return status;
  pthread_mutex_lock(&ring->lock);
  if (ring->trace == NULL) {
    trace->started_ns = time_now_ns();
    ring->trace = trace;
    trace = NULL;
    atomic_store(&ring->running, true);
  }
  pthread_mutex_unlock(&ring->lock);
  if (trace == NULL) return HRX_OK;
  trace_release(trace);
  return hrx_fail_reason(HRX_BUSY, HRX_REASON_LIVE, "a trace already runs; finish it before another is started");
}

/* --- recording --- */

void trace_event_record(struct trace_ring *ring, const struct trace_event *event) {
  pthread_mutex_lock(&ring->lock);
  struct trace *trace = ring->trace;
  if (trace != NULL && event->start_ns >= trace->started_ns) {
    struct trace_event *place = &trace->events[trace->recorded++ % trace->capacity];
    *place = *event;
    place->label = label_intern(&trace->labels, event->label);
  }
  pthread_mutex_unlock(&ring->lock);
}

void trace_edge_record(struct trace_ring *ring, struct trace_task from, struct trace_task to, enum trace_edge_kind kind) {
  pthread_mutex_lock(&ring->lock);
  struct trace *trace = ring->trace;
  if (trace != NULL) trace->edges[trace->edges_recorded++ % trace->edge_capacity] = (struct trace_edge){from, to, kind};
  pthread_mutex_unlock(&ring->lock);
}

/* --- the finished trace --- */

static size_t kept(uint64_t recorded, size_t capacity) { return recorded < capacity ? (size_t)recorded : capacity; }

/* Where in the ring the element is that has `index` older ones. */
static size_t ring_place(uint64_t recorded, size_t capacity, size_t index) {
  return recorded <= capacity ? index : (size_t)((recorded + index) % capacity);
}

static int task_compare(struct trace_task a, struct trace_task b) {
  if (a.lane != b.lane) return a.lane < b.lane ? -1 : 1;
  return a.sequence < b.sequence ? -1 : a.sequence > b.sequence;
}

static int place_compare(const void *a, const void *b, void *context) {
  const struct trace_event *events = context;
  return task_compare(events[*(const uint32_t *)a].task, events[*(const uint32_t *)b].task);
}

/* Keeps the edges between events that are there; the ring becomes a list. */
static void edges_settle(struct trace *trace) {
  size_t count = kept(trace->edges_recorded, trace->edge_capacity);
  size_t good = 0;
  for (size_t i = 0; i < count; i++) {
    const struct trace_edge edge = trace->edges[i];
    if (trace_event_of(trace, edge.from) != NULL && trace_event_of(trace, edge.to) != NULL) trace->edges[good++] = edge;
  }
  trace->edge_count = good;
}

void trace_finish(struct trace_ring *ring, struct trace **out_trace) {
  pthread_mutex_lock(&ring->lock);
  struct trace *trace = ring->trace;
  ring->trace = NULL;
  atomic_store(&ring->running, false);
  pthread_mutex_unlock(&ring->lock);
  *out_trace = trace;
  if (trace == NULL) return;
  size_t count = trace_event_count(trace);
  for (size_t i = 0; i < count; i++) trace->by_lane[i] = (uint32_t)i;
  qsort_r(trace->by_lane, count, sizeof *trace->by_lane, place_compare, trace->events);
  edges_settle(trace);
}

size_t trace_capacity(struct trace_ring *ring) {
  pthread_mutex_lock(&ring->lock);
  size_t capacity = ring->trace != NULL ? ring->trace->capacity : 0;
  pthread_mutex_unlock(&ring->lock);
  return capacity;
}

size_t trace_event_count(const struct trace *trace) { return kept(trace->recorded, trace->capacity); }

const struct trace_event *trace_event_at(const struct trace *trace, size_t index) {
  return &trace->events[ring_place(trace->recorded, trace->capacity, index)];
}

uint64_t trace_events_dropped(const struct trace *trace) { return trace->recorded - trace_event_count(trace); }

const struct trace_event *trace_event_by_lane(const struct trace *trace, size_t index) {
  return &trace->events[trace->by_lane[index]];
}

const struct trace_event *trace_event_of(const struct trace *trace, struct trace_task task) {
  size_t low = 0, high = trace_event_count(trace);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = task_compare(trace_event_by_lane(trace, middle)->task, task);
    if (order == 0) return trace_event_by_lane(trace, middle);
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

size_t trace_edge_count(const struct trace *trace) { return trace->edge_count; }
const struct trace_edge *trace_edge_at(const struct trace *trace, size_t index) { return &trace->edges[index]; }
uint64_t trace_edges_dropped(const struct trace *trace) { return trace->edges_recorded - trace->edge_count; }
uint64_t trace_started_ns(const struct trace *trace) { return trace->started_ns; }

/* --- names --- */

const char *trace_kind_name(enum trace_kind kind) {
  switch (kind) {
  case TRACE_FILL: return "fill";
  case TRACE_COPY: return "copy";
  case TRACE_KERNEL: return "kernel";
  case TRACE_HOST: return "host";
  case TRACE_JOIN: return "join";
  case TRACE_DEVICE: return "device";
  }
  return "unknown";
}

const char *trace_engine_name(enum trace_engine engine) { return engine == TRACE_NPU ? "NPU" : "GPU"; }

const char *trace_outcome_name(enum trace_outcome outcome) {
  switch (outcome) {
  case TRACE_DONE: return "done";
  case TRACE_FAILED: return "failed";
  case TRACE_SKIPPED: return "skipped";
  }
  return "unknown";
}

const char *trace_edge_kind_name(enum trace_edge_kind kind) { return kind == TRACE_EXPLICIT ? "explicit" : "inferred"; }
