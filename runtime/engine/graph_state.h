/* What prepared graphs and their runs are made of; for the files of this folder only. */
#ifndef HRX_ENGINE_GRAPH_STATE_H
#define HRX_ENGINE_GRAPH_STATE_H

#include "engine/graph.h"
#include "engine/graph_order.h"
#include "engine/hold.h"
#include "engine/state.h"

/* What a graph works on: tasks, their accesses, and what of them is visible outside. Never changes: a rebind makes another. */
struct graph_binding {
  uint32_t references; /* engine's lock */
  struct task *tasks;  /* their accesses point into the next; payloads are not here */
  struct access *accesses;
  struct order_range *entries, *exits; /* as many as the plan has */
};

/* All that one run needs. Its lanes are lent for as long as it lives. */
struct instance {
  struct graph *graph;
  struct graph_binding *binding; /* that `slots` are of; a reference */
  uint64_t version;              /* of the graph, that `slots` are of */
  struct run *run;               /* that it runs, or drains */
  struct slot *slots;
  struct lane **lanes;
  uint64_t *base;      /* of each lane: what came before this run */
  struct slot gate;    /* no task: the nodes that wait for nothing inside wait for it, if the run has to wait as a whole */
  uint32_t remaining;  /* nodes that are not over */
  struct instance *next; /* free, or spare */
  struct instance *next_made;
};

struct graph {
  struct engine *engine;
  _Atomic uint32_t references; /* the client's, and one for each run that somebody holds or that is in flight */
  struct graph_client client;
  struct graph_capacity *capacity;
  struct graph_plan plan; /* but for the ranges, which are in the bindings */
  uint32_t *roots;        /* nodes that wait for nothing inside */
  uint32_t root_count, opaque_count;
  size_t exit_storages, exit_cells;
  bool host; /* some nodes are host functions */
  bool serial;
  size_t access_count;
  /* the rest under the engine's lock */
  struct graph_binding *binding;
  uint64_t version;
  struct instance *free;  /* as many as there are slots free */
  struct instance *spare; /* drained after their slot was given to another */
  struct instance *made;  /* all */
  unsigned surplus;       /* instances that are to become spare once drained */
  struct run *free_runs;
  struct run *newest;     /* of a serial graph, until it is drained */
};

/* Who is told, on a thread for host functions, that a run is over. */
struct run_watch {
  struct slot slot; /* for the crew */
  struct run *run;  /* a reference, from when it is known that somebody will be told */
  run_function call;
  void *context;
  struct run_watch *next;
};

struct run {
  struct graph *graph;
  _Atomic uint32_t references;
  _Atomic uint32_t over; /* 1: over; the waiters' word */
  _Atomic uint32_t waiting;
  _Atomic uint64_t started, finished;
  uint64_t submitted;
  /* the rest under the engine's lock */
  struct instance *instance; /* NULL: drained */
  struct cause *doom;        /* why nothing of it shall start any more */
  struct cause *cause;       /* its result, fixed once it is over */
  struct edge *followers;    /* gates of runs that come after it */
  struct slot *exit;         /* what the stream goes on after */
  bool domain;               /* in the domain's order */
  int event;                 /* -1: none */
  struct run_watch done;     /* of who submitted it; no `call`: nobody */
  struct run_watch *watches; /* of others */
  struct run *next;
};

/* Whether the node keeps the order of the whole domain. A join touches nothing: it orders its own graph, no more. */
static inline bool node_opaque(const struct task *task) { return task->opaque && task->kind != TASK_JOIN; }

/* graph.c */
struct graph_binding *graph_binding_make(const struct graph *graph); /* with room for all; NULL: out of memory */
void graph_binding_free(struct graph_binding *binding);
hrx_status instance_make(struct graph *graph, struct instance **out_instance); /* allocates, calls out: no lock */
hrx_status instance_renew(struct instance *instance);                          /* the same; the instance is idle */
struct run *run_make(struct graph *graph);                                     /* NULL: out of memory */
void graph_drop(struct graph *graph);                                          /* no lock; may be the last */
void graph_binding_drop(struct engine *engine, struct graph_binding *binding); /* no lock */

/* run.c */
void run_ready_locked(struct slot *slot);
void run_gate_open_locked(struct instance *instance, struct aftermath *aftermath);
void run_task_over_locked(struct slot *slot, struct cause *cause, struct aftermath *aftermath);
void run_ended(struct run *run); /* tells waiters; no lock */
void run_watch_init(struct run_watch *watch, struct run *run);
bool run_watch_call(struct slot *slot); /* false: it is a task */
/* The ends of its lanes, for whoever helps; how many. */
uint32_t instance_points_locked(const struct instance *instance, struct point points[LANES_HELPED]);

/* Whether a failure of the task concerns who is submitted now: not if its run is over already (cancelled, and draining). */
static inline bool run_passes_locked(const struct slot *slot) {
  return slot->instance == NULL || atomic_load_explicit(&slot->instance->run->over, memory_order_relaxed) == 0;
}

/* poison.c: only runs in the domain's order leave poison */
struct poison *poison_make(const struct slot *slot); /* of a node that failed and may have written; no lock */
void poison_leave_locked(struct slot *slot);
/* Whether some of [begin, end) is poisoned; then the failure to report. */
bool poison_find_locked(const struct storage *storage, size_t begin, size_t end, struct failure *out_failure);
void poison_finish(struct engine *engine); /* nobody else uses the engine */

/* hold.c */
/* The hold that conflicts with an access of this kind, but for those of `stream`; NULL: none. */
const struct hold *hold_find_locked(const struct engine *engine, const struct storage *storage, size_t begin, size_t end,
                                    enum access_kind kind, const struct stream *stream);
hrx_status hold_fail(enum hold_kind kind);

#endif
