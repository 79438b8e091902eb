/* What ran: a bounded ring of events, one for each task that is over, and one of the edges between tasks.
 *
 * Whoever runs tasks asks trace_running first: one relaxed load. Only if it says yes are times taken and an event recorded, under
 * one short lock, into memory that trace_start allocated; a name that was not seen before may allocate. A full ring drops its
 * oldest and counts that. */
#ifndef HRX_TRACE_RING_H
#define HRX_TRACE_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TRACE_CAPACITY_MOST = 1 << 26 };

enum trace_kind { TRACE_FILL, TRACE_COPY, TRACE_KERNEL, TRACE_HOST, TRACE_JOIN, TRACE_DEVICE };
enum trace_engine { TRACE_GPU, TRACE_NPU }; /* whose lane it was */
enum trace_outcome { TRACE_DONE, TRACE_FAILED, TRACE_SKIPPED };
enum trace_edge_kind { TRACE_INFERRED, TRACE_EXPLICIT };

/* Which task: the number that its lane gave it. */
struct trace_task {
  uint32_t lane;
  uint64_t sequence;
};

struct trace_event {
  struct trace_task task;
  uint32_t stream; /* a number for the stream that the lane was lent to */
  enum trace_kind kind;
  enum trace_engine engine;
  enum trace_outcome outcome;
  const char *label; /* in a finished trace: the trace's own copy, never NULL */
  uint64_t start_ns, finish_ns; /* CLOCK_MONOTONIC */
  uint64_t bytes; /* filled, copied, or touched by a kernel; 0: not known */
};

/* `to` waited for `from`. */
struct trace_edge {
  struct trace_task from, to;
  enum trace_edge_kind kind;
};

/* A finished trace: plain data, read by any thread. */
struct trace;

/* What an engine keeps. Initialised by trace_ring_init. */
struct trace_ring {
  _Atomic bool running;
  pthread_mutex_t lock;
  struct trace *trace; /* that runs, or NULL */
};

void trace_ring_init(struct trace_ring *ring);

/* Ends and releases a trace that runs. Nobody records any more. */
void trace_ring_finish(struct trace_ring *ring);

/* Around fork(2): the ring's lock is held over it, and in the child no trace runs. */
void trace_ring_fork_prepare(struct trace_ring *ring);
void trace_ring_fork_done(struct trace_ring *ring, bool child);

/* Keeps the newest `capacity` events and twice as many edges; memory is used as they come. Errors: BUSY/LIVE if a trace
 * runs; INVALID/ARGUMENT for a capacity that is not 1..TRACE_CAPACITY_MOST; OUT_OF_MEMORY. */
hrx_status trace_start(struct trace_ring *ring, size_t capacity);

/* Ends the trace and hands it over; NULL if none runs. Tasks that are not over leave nothing in it. O(n log n). */
void trace_finish(struct trace_ring *ring, struct trace **out_trace);

/* How many events the running trace keeps; 0: none runs. */
size_t trace_capacity(struct trace_ring *ring);

/* NULL is accepted. */
void trace_release(struct trace *trace);

/* Whether to record. A hint: trace_event_record and trace_edge_record look again. */
static inline bool trace_running(const struct trace_ring *ring) {
  /* relaxed: nothing is read because of it but under the lock */
  return __builtin_expect(atomic_load_explicit(&ring->running, memory_order_relaxed), false);
}

/* Records one event, copying it and its label. Ignored if no trace runs, or if the task began before the trace did. Any
 * thread. */
void trace_event_record(struct trace_ring *ring, const struct trace_event *event);

/* Records one edge. Allocates nothing: may be called under a lock of the caller. */
void trace_edge_record(struct trace_ring *ring, struct trace_task from, struct trace_task to, enum trace_edge_kind kind);

/* Events, oldest first by when they were over, and how many more there were. */
size_t trace_event_count(const struct trace *trace);
const struct trace_event *trace_event_at(const struct trace *trace, size_t index);
uint64_t trace_events_dropped(const struct trace *trace);

/* Events by lane, then by number. */
const struct trace_event *trace_event_by_lane(const struct trace *trace, size_t index);

/* The task's event, or NULL. O(log n). */
const struct trace_event *trace_event_of(const struct trace *trace, struct trace_task task);

/* Edges, both ends of which are among the events, and how many more there were. */
size_t trace_edge_count(const struct trace *trace);
const struct trace_edge *trace_edge_at(const struct trace *trace, size_t index);
uint64_t trace_edges_dropped(const struct trace *trace);

/* When it began, CLOCK_MONOTONIC. */
uint64_t trace_started_ns(const struct trace *trace);

/* "kernel", "inferred", ...; never NULL. */
const char *trace_kind_name(enum trace_kind kind);
const char *trace_engine_name(enum trace_engine engine);
const char *trace_outcome_name(enum trace_outcome outcome);
const char *trace_edge_kind_name(enum trace_edge_kind kind);

#endif
