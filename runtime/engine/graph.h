/* Prepared graphs: a set of tasks whose inner order, lanes and waits are worked out once and replayed without allocating.
 *
 * A graph has `slots` instances. Each has lanes of its own and all that one replay needs: slots, edges, payloads. Submitting
 * takes a free instance, looks up only the outer footprint in the frontiers, by range and by node, and enters every node in one
 * atomic step, so that two graphs which share one buffer overlap up to the first nodes that conflict. A submission is a run.
 *
 * Order inside: GRAPH_INFERRED, nodes wait for earlier ones that they conflict with; GRAPH_CLOSURE, for those of their
 * ancestors (by the caller's edges, transitively) that they conflict with or where either is opaque; GRAPH_EXPLICIT, for exactly
 * what the caller says. All of them are reduced transitively.
 *
 * Order outside: with no stream a run belongs to the domain's order: it follows everything submitted before that it conflicts
 * with, and every opaque task in flight. With a stream it is one opaque task of that stream.
 *
 * A failure passes to nodes that wait for the failed one's result (read or write after write, explicit edges), not to one that
 * waits only because it overwrites what was read. It is clean if the task never ran (or is a host function): then nothing else
 * happens. EXECUTION and DEVICE_LOST from a device are uncertain: the ranges that the task could write are poisoned, and a
 * run that touches them is refused, until the storage is gone (engine_storage_forget). Everything may be called from any thread unless it says otherwise. */
#ifndef HRX_ENGINE_GRAPH_H
#define HRX_ENGINE_GRAPH_H

#include "engine/engine.h"

struct graph;
struct run;

enum graph_order { GRAPH_INFERRED, GRAPH_CLOSURE, GRAPH_EXPLICIT };

/* Which lanes a node may use; nodes of one class share that class's lanes. NPU n is LANE_NPU + n. */
enum lane_class { LANE_COMPUTE, LANE_COPY, LANE_HOST, LANE_NPU, LANE_CLASSES = LANE_NPU + 8 };

struct graph_node {
  /* As for stream_submit. Accesses are copied. DISPATCH and DEVICE payloads are made by the client, once a node and instance;
   * HOST functions are shared by all instances. */
  struct task task;
  unsigned lane_class;
  const uint32_t *after; /* CLOSURE and EXPLICIT: earlier nodes, duplicates allowed; copied */
  uint32_t after_count;
};

/* What only the client can do. Called without locks; not concurrently for one instance. */
struct graph_client {
  /* Fills in io_task->dispatch or io_task->device for this node of one instance. */
  hrx_status (*payload_make)(void *context, uint32_t node, struct task *io_task);
  /* Brings it up to date after graph_changed; the instance is idle. May also change io_task->fill and ->copy. */
  hrx_status (*payload_renew)(void *context, uint32_t node, struct task *io_task);
  void (*release)(void *context); /* once, when neither the graph nor a run of it is left; perhaps on the thread that ended one */
  void *context;
};

/* How many runs of a set of graphs may be in flight. Zero `most`: no limit. */
struct graph_capacity {
  _Atomic uint32_t inflight;
  uint32_t most;
  _Atomic uint64_t over, failed, cancelled; /* runs of them so far; failed ones are not counted as cancelled */
};

struct graph_options {
  enum graph_order order;
  unsigned slots;                  /* runs of this graph in flight at most; 0: 2 */
  unsigned lanes[LANE_CLASSES];    /* lanes of each class an instance may use; 0: 1 (COMPUTE: 4) */
  struct graph_capacity *capacity; /* NULL: none; outlives the graph */
  struct graph_client client;
  bool keep_edges;                 /* so that graph_edges can be asked, at 8 bytes an edge */
  bool serial;                     /* each run comes after the one submitted before it, whatever becomes of that */
};

struct graph_statistics {
  uint32_t nodes;
  uint64_t inferred, reduced, explicit_edges; /* conflicts found; those that others imply; edges that the caller gave */
  uint32_t lanes;
  size_t bytes; /* of the graph with all its instances, without payloads */
};

enum graph_edge_kind { GRAPH_EDGE_INFERRED, GRAPH_EDGE_REDUCED, GRAPH_EDGE_EXPLICIT, GRAPH_EDGE_EXPLICIT_REDUCED };

/* Linear in nodes and edges but for a logarithm of the pieces of a storage. On HRX_OK the graph owns `client`; on an error
 * nothing passed. Errors: INVALID/EMPTY for no nodes; INVALID/ORDER for an edge to a node that is not earlier; those of accesses
 * outside their allocation; OUT_OF_MEMORY; those of payload_make. */
hrx_status graph_prepare(struct engine *engine, const struct graph_options *options, const struct graph_node *nodes,
                         uint32_t count, struct graph **out_graph);

/* Lets go; runs in flight go on and keep what they need. NULL is accepted. */
void graph_release(struct graph *graph);

/* Lets `count` more runs be in flight. Allocates. Errors: those of graph_prepare for memory, lanes and payloads; some may have been
 * added then. */
hrx_status graph_slots_add(struct graph *graph, unsigned count);

/* Waits until the oldest run in flight is over, if as many are in flight as there are slots; another thread may be quicker to take
 * its slot. Helps as run_wait does. Errors: TIMEOUT. */
hrx_status graph_slot_wait(struct graph *graph, uint64_t deadline_ns);

void graph_statistics(const struct graph *graph, struct graph_statistics *out_statistics);

/* Calls `visit` for each edge, if the graph keeps them. */
void graph_edges(const struct graph *graph, void (*visit)(uint32_t from, uint32_t to, enum graph_edge_kind kind, void *context),
                 void *context);

/* Payloads changed (constants, kernels): each instance is renewed before its next run. */
void graph_changed(struct graph *graph);

/* The accesses' ranges [from, from + bytes) of one allocation become [to, to + bytes) of another for later runs; task.fill and
 * task.copy pointers inside are moved along, payloads through payload_renew. All or nothing. Errors: INVALID if an access lies
 * partly in a moved range, or if the moved ranges would alias each other or what stays (inner order would no longer be right). */
struct graph_move {
  const struct allocation *from, *to;
  size_t from_offset, to_offset, bytes;
};
hrx_status graph_rebind(struct graph *graph, const struct graph_move *moves, size_t count);

/* --- runs --- */

typedef void (*run_function)(void *context, struct run *run);

struct run_options {
  struct stream *stream;    /* NULL: the domain's order */
  struct run *const *after; /* finished or not; a failed one fails this run (clean, nothing poisoned) */
  size_t after_count;
  struct run *follow;       /* NULL, or one more to come after, whatever becomes of it */
  run_function done;        /* called once on a thread for host functions, after the run is over; may be NULL */
  void *context;
};

/* Submits. Allocates nothing while runs are released in time. The run is the caller's to release. Errors: BUSY/CAPACITY, BUSY/
 * SLOTS, BUSY/MAPPED or /HANDED_OFF (a conflicting hold), DEVICE_LOST/POISONED; nothing was submitted then, and none of them
 * hurts a later try. */
hrx_status graph_submit(struct graph *graph, const struct run_options *options, struct run **out_run);

void run_retain(struct run *run);
void run_release(struct run *run); /* NULL is accepted; the work goes on */

bool run_over(const struct run *run); /* one load */

/* As engine_clock_wait. Errors: TIMEOUT. */
hrx_status run_wait(struct run *run, uint64_t deadline_ns);

/* HRX_OK, or the first failure (CANCELLED for a cancelled run); only once it is over. */
void run_result(const struct run *run, struct failure *out_failure);

/* Nodes that have not started will not (CANCELLED); those that run drain. The result is CANCELLED only if a node was left to skip. If nothing of it runs, the run is over and its capacity
 * and graph slot are free at once, although what waits for its nodes still waits for all that they waited for. */
void run_cancel(struct run *run);

/* Times on the time_now_ns scale; 0: not yet. */
void run_times(const struct run *run, uint64_t *out_submitted, uint64_t *out_started, uint64_t *out_finished);

/* Calls `call` once on a thread for host functions when the run is over, soon if it already is; no thread waits for that.
 * Errors: OUT_OF_MEMORY, also for the thread; nothing is called then. */
hrx_status run_tell(struct run *run, run_function call, void *context);

/* A file descriptor that becomes readable when the run is over; the caller's to close. Errors: those of eventfd(2). */
hrx_status run_event_fd(struct run *run, int *out_descriptor);

#endif
