/* What the engine is made of; for the files of this folder only.
 *
 * Locks: a stream's lock (its clocks) is taken before the engine's lock (lanes, slots, frontiers, queues, causes).
 * Nothing allocates, blocks or calls out under the engine's lock: nodes come from pools filled outside it. */
#ifndef HRX_ENGINE_STATE_H
#define HRX_ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/frontier.h"
#include "engine/lane.h"
#include "trace/ring.h"

enum { STREAM_LANES = 4, STREAM_QUEUE = 16384, INLINE_WORK = 64 << 10 };

/* Why tasks failed: shared by the first failed task, those skipped because of it, and whoever asks. Engine's lock. */
struct cause {
  struct failure failure;
  uint64_t age; /* order in which failures happened */
  unsigned references;
  bool taken; /* by engine_failure_take: nobody reports it again */
};

/* "This slot waits for the task that has this edge in its list." */
struct edge {
  struct slot *waiter;
  struct edge *next;
  bool passes; /* a failure goes with it */
};

enum slot_state {
  SLOT_WAITING, /* for its lane's turn or for other lanes */
  SLOT_QUEUED,  /* in a crew's queue: a waiter may take it out */
  SLOT_CLAIMED, /* one thread is about to run or running it */
  SLOT_STARTED  /* a dispatch that the device has: waiters may help */
};

/* One task from submission until it is over. Type-stable, but for those of prepared graphs, which live as long as their
 * instance. */
struct slot {
  struct engine *engine;
  struct stream *stream;     /* NULL: of a prepared graph */
  struct instance *instance; /* of that graph, or NULL */
  struct instance *run_end;  /* while pending: it waits for the end of this instance's run */
  struct lane *lane;         /* NULL: the gate of an instance */
  uint64_t sequence;
  uint64_t own_wait;       /* the newest task of its own lane that it must follow */
  uint32_t pending;        /* other lanes' points that are not over */
  bool skip;               /* decided when it became ready */
  _Atomic int state;       /* enum slot_state; to STARTED without the lock */
  _Atomic uint32_t pins;   /* the device, the thread in dispatch_start, helpers: the last one out finishes the task */
  struct cause *inherited; /* the failure of what it waited for; a reference */
  struct cause *cause;     /* its own outcome: NULL for success; a reference */
  struct poison *poison;   /* what it leaves behind when it is over */
  struct edge *dependents;
  struct slot *next, *previous; /* in a queue, or the free list */
  uint64_t started_ns;          /* if a trace ran then, else 0 */
  struct task task;
};

struct worker {
  pthread_t thread;
  struct engine *engine;
  struct crew *crew;
  struct worker *next;
};

/* Threads that serve one queue of ready tasks. Engine's lock, but for `beat`. */
struct crew {
  const char *name;
  unsigned base, most; /* threads kept when idle; threads at most */
  unsigned live, idle, starting;
  struct slot *first, *last;
  unsigned queued;
  struct worker *workers;
  bool stop;
  _Atomic uint32_t beat;
};

struct stream {
  struct engine *engine;
  int priority;
  pthread_mutex_t lock;
  struct clock clock;  /* all its work and all that it must follow; quiet points may be missing */
  struct clock opaque; /* the part of it that every later task follows */
  struct clock waits;  /* scratch of submit */
  size_t edges_short;  /* scratch of submit: how many edges the last try needed */
  /* the rest under the engine's lock; `queued` and `failure` can be looked at without */
  struct lane *lanes[STREAM_LANES];
  unsigned lane_count;
  _Atomic uint32_t queued;
  bool released;
  bool blocked; /* a submitter sleeps on `room` */
  _Atomic uint32_t room;
  _Atomic(struct cause *) failure; /* the first that nobody took; a reference */
  uint64_t taken_age;              /* of the last that was */
  struct stream *next, *previous;  /* all live ones, released but busy ones included; or the free list */
};

struct engine {
  pthread_mutex_t lock;
  struct memory *memory;
  _Atomic bool forked;
  _Atomic bool used;       /* a task was submitted: a forked child cannot go on */
  _Atomic uint32_t inside; /* threads that still touch the engine after a point became over */
  struct lane_table lanes;
  struct lane *busy;
  struct frontier_pool pool;
  struct slot *free_slots;
  struct slot_slab *slot_slabs;
  struct edge *free_edges;
  size_t free_edge_count;
  struct edge_slab *edge_slabs;
  struct stream *streams, *free_streams;
  struct crew copy, host;
  uint64_t inflight;
  uint64_t opaque_inflight;          /* opaque tasks, but for those inside a run of a stream */
  uint64_t runs_inflight;            /* runs in the domain's order */
  uint64_t runs_opaque;              /* opaque nodes of those */
  struct hold *holds;                /* live ones */
  _Atomic uint32_t hold_count;       /* of `holds` */
  struct storage *poisoned;          /* storages with poison */
  _Atomic uint32_t poison_count;     /* of `poisoned` */
  uint64_t submissions, failure_age;
  _Atomic uint32_t failures;      /* streams with one, and `released_failure`: zero spares a search */
  struct cause *released_failure; /* the oldest of streams that are gone */
  struct cause spare;             /* when there is no memory for a cause */
  struct trace_ring trace;        /* its lock is taken after the engine's */
  struct {
    _Atomic uint64_t tasks, edges, failed, skipped, copied_bytes, filled_bytes, dispatches;
  } statistics;
};

/* Written under the lock only, so no read-modify-write is needed; read without it. */
static inline void count_locked(_Atomic uint64_t *counter, uint64_t more) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Slots that became ready and that this thread shall run, and words to wake, once the lock is gone. */
struct aftermath {
  struct slot *first, *last;
  _Atomic uint32_t *lane_beat, *room;
  struct crew *crews[2]; /* a task was queued there */
  unsigned crew_count;
  struct run *ended;   /* a run became over: its waiters are to be told */
  struct run *drained; /* and nothing of this run is in flight any more */
};

static inline void aftermath_crew(struct aftermath *aftermath, struct crew *crew) {
  if (aftermath->crew_count != 0 && aftermath->crews[0] == crew) return;
  if (aftermath->crew_count < 2) aftermath->crews[aftermath->crew_count++] = crew;
}

static inline uint64_t lane_load(const struct lane *lane) {
  return lane->issued - atomic_load_explicit(&lane->completed, memory_order_relaxed);
}

/* The task of a lane that is not over. */
static inline struct slot *lane_slot_locked(const struct lane *lane, uint64_t sequence) {
  return lane->ring[sequence & (lane->ring_size - 1)];
}

/* task.c */
bool engine_slots_reserve(struct engine *engine);               /* allocates: no lock */
bool engine_edges_reserve(struct engine *engine, size_t edges); /* the same */
void task_ready_locked(struct slot *slot, struct aftermath *aftermath);
void aftermath_settle(struct engine *engine, struct aftermath *aftermath); /* no lock */
void slot_arrive_locked(struct slot *waiter, struct cause *cause, struct aftermath *aftermath); /* one wait is over */
bool task_uncertain(const struct slot *slot); /* failed, and may have written */
void task_run(struct slot *slot);                                          /* claimed; no lock */
void task_unpin(struct slot *slot);                                        /* no lock */
void engine_pools_finish(struct engine *engine);

/* failure.c */
struct cause *cause_create(struct engine *engine, const struct failure *failure);
void cause_drop_locked(struct cause *cause);
void task_failure_locked(struct slot *slot, struct cause *cause);
void stream_failure_clear_locked(struct stream *stream);
hrx_status engine_lost(void);

/* worker.c */
void crew_push_locked(struct crew *crew, struct slot *slot);
void crew_remove_locked(struct crew *crew, struct slot *slot);
struct crew *crew_of(struct engine *engine, const struct slot *slot);
hrx_status crew_ensure(struct engine *engine, struct crew *crew); /* at least one thread; no lock */
void crew_wake(struct engine *engine, struct crew *crew);         /* after a push; no lock */
void crew_stop(struct engine *engine, struct crew *crew);         /* ends and joins; no lock */

/* wait.c */
enum { LANES_HELPED = 64 };
bool engine_help(struct engine *engine, const struct point *points, uint32_t count); /* no lock */

/* stream.c */
enum shortage {
  SHORT_OF_NOTHING,
  SHORT_OF_ROOM,
  SHORT_OF_SLOTS,
  SHORT_OF_EDGES,
  SHORT_OF_NODES,
  SHORT_OF_RING
};
void stream_settle_locked(struct stream *stream); /* frees a released stream whose work is over */
bool engine_point_unquiet(struct point point, const void *lanes);
hrx_status engine_lanes_add(struct engine *engine);                     /* allocates: no lock */
bool engine_nodes_add(struct engine *engine);                           /* the same */
hrx_status task_check(const struct task *task);
hrx_status stream_clocks_reserve(struct stream *stream);                /* the stream's lock only */
/* Whether `tasks` tasks like this one can be entered, and on which lane. Both locks. */
enum shortage stream_enter_try_locked(struct stream *stream, const struct task *task, unsigned tasks,
                                      struct lane **out_lane);
struct point stream_enter_locked(struct stream *stream, const struct task *task, struct lane *lane,
                                 struct aftermath *aftermath);
bool stream_shortage_end(struct stream *stream, enum shortage shortage, struct lane *lane, uint32_t ring_size);
void stream_room_wait(struct stream *stream); /* no lock */
void lane_busy_locked(struct engine *engine, struct lane *lane);
void edge_add_locked(struct engine *engine, struct slot *before, struct slot *waiter, bool passes);

#endif
