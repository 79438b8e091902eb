/* Runs after they were submitted: from node to node, over, results, waiting, cancelling. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "engine/graph_state.h"

enum { SPINS = 200 };

/* --- from ready to over --- */

/* A node that is ready: whether it may still start. */
void run_ready_locked(struct slot *slot) {
  struct run *run = slot->instance->run;
  if (run->doom != NULL) {
    slot->skip = true;
    if (slot->inherited == NULL) {
      slot->inherited = run->doom;
      run->doom->references++;
    }
  } else if (!slot->skip && atomic_load_explicit(&run->started, memory_order_relaxed) == 0) {
    atomic_store_explicit(&run->started, time_now_ns(), memory_order_relaxed);
  }
}

/* What the run as a whole waited for is over; if that failed, so does all of the run. */
void run_gate_open_locked(struct instance *instance, struct aftermath *aftermath) {
  struct run *run = instance->run;
  struct cause *cause = instance->gate.inherited;
  instance->gate.inherited = NULL;
  if (run->doom == NULL)
    run->doom = cause;
  else
    cause_drop_locked(cause);
  const struct graph *graph = instance->graph;
  for (uint32_t i = 0; i < graph->root_count; i++)
    slot_arrive_locked(&instance->slots[graph->roots[i]], NULL, aftermath);
}

void run_watch_init(struct run_watch *watch, struct run *run) {
  watch->slot.engine = run->graph->engine;
  watch->slot.task.kind = TASK_HOST;
  watch->slot.task.host.context = watch;
  watch->run = run;
}

/* Gives it to the crew. It has its reference. */
static void watch_push_locked(struct run_watch *watch, struct aftermath *aftermath) {
  struct engine *engine = watch->slot.engine;
  engine->inflight++;
  crew_push_locked(&engine->host, &watch->slot);
  aftermath_crew(aftermath, &engine->host);
}

/* The run is over for those who wait for it; its nodes may still have to be. */
static void run_end_locked(struct run *run, struct aftermath *aftermath) {
  struct graph_capacity *capacity = run->graph->capacity;
  if (capacity != NULL) {
    hrx_status status = run->cause != NULL ? run->cause->failure.status : HRX_OK;
    atomic_fetch_sub_explicit(&capacity->inflight, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&capacity->over, 1, memory_order_relaxed);
    if (status == HRX_CANCELLED) atomic_fetch_add_explicit(&capacity->cancelled, 1, memory_order_relaxed);
    if (status != HRX_OK && status != HRX_CANCELLED) atomic_fetch_add_explicit(&capacity->failed, 1, memory_order_relaxed);
  }
  atomic_store_explicit(&run->finished, time_now_ns(), memory_order_relaxed);
  atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed); /* for run_ended */
  if (run->done.call != NULL) {
    atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed);
    watch_push_locked(&run->done, aftermath);
  }
  for (struct run_watch *watch = run->watches; watch != NULL; watch = watch->next) watch_push_locked(watch, aftermath);
  run->watches = NULL;
  aftermath->ended = run;
  /* release: who sees the run over sees its result, and what its nodes wrote */
  atomic_store(&run->over, 1);
}

static void instance_drained_locked(struct instance *instance, struct aftermath *aftermath) {
  struct run *run = instance->run;
  struct graph *graph = instance->graph;
  struct engine *engine = graph->engine;
  if (graph->surplus != 0 && atomic_load_explicit(&run->over, memory_order_relaxed) != 0) {
    graph->surplus--;
    instance->next = graph->spare;
    graph->spare = instance;
  } else {
    instance->next = graph->free;
    graph->free = instance;
  }
  if (atomic_load_explicit(&run->over, memory_order_relaxed) == 0) run_end_locked(run, aftermath);
  instance->run = NULL;
  run->instance = NULL;
  if (graph->newest == run) graph->newest = NULL;
  engine->runs_inflight -= run->domain;
  for (struct edge *edge = run->followers, *next; edge != NULL; edge = next) {
    next = edge->next;
    slot_arrive_locked(edge->waiter, edge->passes ? run->cause : NULL, aftermath);
    edge->next = engine->free_edges;
    engine->free_edges = edge;
    engine->free_edge_count++;
  }
  run->followers = NULL;
  if (run->exit != NULL) slot_arrive_locked(run->exit, run->cause, aftermath);
  aftermath->drained = run;
}

/* A node's failure and followers, and the slot ready for the next run. Its point is not over yet. */
void run_task_over_locked(struct slot *slot, struct cause *cause, struct aftermath *aftermath) {
  struct instance *instance = slot->instance;
  struct graph *graph = instance->graph;
  struct run *run = instance->run;
  uint32_t node = (uint32_t)(slot - instance->slots);
  if (cause != NULL && run->cause == NULL && atomic_load_explicit(&run->over, memory_order_relaxed) == 0) {
    run->cause = cause;
    cause->references++;
  }
  const struct graph_plan *plan = &graph->plan;
  for (uint32_t i = plan->first[node]; i < plan->first[node + 1]; i++) {
    struct order_edge edge = plan->edges[i];
    slot_arrive_locked(&instance->slots[edge.to], edge.passes ? cause : NULL, aftermath);
  }
  if (run->domain && node_opaque(&slot->task)) {
    graph->engine->opaque_inflight--;
    graph->engine->runs_opaque--;
  }
  if (cause != NULL) {
    cause_drop_locked(slot->cause);
    cause_drop_locked(slot->inherited);
    slot->cause = slot->inherited = NULL;
  }
  slot->poison = NULL;
  slot->skip = false;
  slot->pending = plan->pending[node];
  atomic_store_explicit(&slot->state, SLOT_WAITING, memory_order_relaxed);
  if (--instance->remaining == 0) instance_drained_locked(instance, aftermath);
}

static void event_signal(int descriptor) {
  static const uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void run_ended(struct run *run) {
  if (atomic_load(&run->waiting) != 0) futex_wake(&run->over, INT32_MAX);
  if (run->event >= 0) event_signal(run->event); /* nobody adds one to a run that is over */
  run_release(run);
}

bool run_watch_call(struct slot *slot) {
  if (slot->stream != NULL || slot->instance != NULL) return false;
  struct run_watch *watch = slot->task.host.context;
  struct run *run = watch->run;
  struct engine *engine = slot->engine;
  bool own = watch != &run->done; /* else it is part of the run, which may go */
  watch->call(watch->context, run);
  atomic_fetch_add(&engine->inside, 1);
  if (own) free(watch);
  run_release(run);
  pthread_mutex_lock(&engine->lock);
  engine->inflight--;
  pthread_mutex_unlock(&engine->lock);
  atomic_fetch_sub(&engine->inside, 1);
  return true;
}

hrx_status run_tell(struct run *run, run_function call, void *context) {
  struct engine *engine = run->graph->engine;
  if (engine_forked(engine)) return engine_lost();
  struct run_watch *watch = calloc(1, sizeof *watch);
  hrx_status status = watch != NULL ? crew_ensure(engine, &engine->host) : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a callback");
  if (status != HRX_OK) {
    free(watch);
    return status;
  }
  struct aftermath aftermath = {0};
  run_watch_init(watch, run);
  watch->call = call;
  watch->context = context;
  run_retain(run);
  pthread_mutex_lock(&engine->lock);
  if (atomic_load(&run->over) != 0) {
    watch_push_locked(watch, &aftermath);
  } else {
    watch->next = run->watches;
    run->watches = watch;
  }
  pthread_mutex_unlock(&engine->lock);
  aftermath_settle(engine, &aftermath);
  return HRX_OK;
}

/* --- holding --- */

void run_retain(struct run *run) { atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed); }

void run_release(struct run *run) {
  if (run == NULL || engine_forked(run->graph->engine)) return;
  if (atomic_fetch_sub(&run->references, 1) != 1) return;
  struct graph *graph = run->graph;
  if (run->event >= 0) close(run->event);
  pthread_mutex_lock(&graph->engine->lock);
  cause_drop_locked(run->cause);
  cause_drop_locked(run->doom);
  run->cause = run->doom = NULL;
  run->next = graph->free_runs;
  graph->free_runs = run;
  pthread_mutex_unlock(&graph->engine->lock);
  graph_drop(graph);
}

bool run_over(const struct run *run) {
  return atomic_load_explicit(&run->over, memory_order_acquire) != 0 || engine_forked(run->graph->engine);
}

void run_result(const struct run *run, struct failure *out_failure) {
  struct engine *engine = run->graph->engine;
  *out_failure = (struct failure){.status = HRX_OK};
  if (engine_forked(engine)) {
    failure_capture(engine_lost(), out_failure);
    return;
  }
  pthread_mutex_lock(&engine->lock);
  if (run->cause != NULL) *out_failure = run->cause->failure;
  pthread_mutex_unlock(&engine->lock);
}

void run_times(const struct run *run, uint64_t *out_submitted, uint64_t *out_started, uint64_t *out_finished) {
  if (out_submitted != NULL) *out_submitted = run->submitted;
  if (out_started != NULL) *out_started = atomic_load_explicit(&run->started, memory_order_relaxed);
  if (out_finished != NULL) *out_finished = atomic_load_explicit(&run->finished, memory_order_relaxed);
}

/* The run keeps a descriptor of its own, because the caller may close his at any time. */
hrx_status run_event_fd(struct run *run, int *out_descriptor) {
  struct engine *engine = run->graph->engine;
  if (engine_forked(engine)) return engine_lost();
  int fresh = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), theirs = -1;
  if (fresh >= 0) {
    pthread_mutex_lock(&engine->lock);
    bool over = atomic_load(&run->over) != 0;
    int event = run->event;
    if (event < 0 && !over) event = run->event = fresh;
    pthread_mutex_unlock(&engine->lock);
    if (over) event_signal(fresh);
    theirs = over ? fresh : fcntl(event, F_DUPFD_CLOEXEC, 0);
    if (!over && event != fresh) close(fresh);
  }
  if (theirs < 0) return hrx_fail(HRX_IO, "no event descriptor for a run: %s", strerror(errno));
  *out_descriptor = theirs;
  return HRX_OK;
}

/* --- waiting --- */

uint32_t instance_points_locked(const struct instance *instance, struct point points[LANES_HELPED]) {
  uint32_t count = instance->graph->plan.lane_count;
  if (count > LANES_HELPED) count = LANES_HELPED;
  for (uint32_t i = 0; i < count; i++) points[i] = (struct point){instance->lanes[i]->id, instance->lanes[i]->issued};
  return count;
}

static uint32_t points_of(const struct run *run, struct point points[LANES_HELPED]) {
  struct engine *engine = run->graph->engine;
  pthread_mutex_lock(&engine->lock);
  uint32_t count = run->instance != NULL ? instance_points_locked(run->instance, points) : 0;
  pthread_mutex_unlock(&engine->lock);
  return count;
}

static bool spin(const struct run *run) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&run->over, memory_order_acquire) != 0) return true;
    __builtin_ia32_pause();
  }
  return false;
}

hrx_status run_wait(struct run *run, uint64_t deadline_ns) {
  struct engine *engine = run->graph->engine;
  if (engine_forked(engine)) return engine_lost();
  if (run_over(run)) return HRX_OK;
  struct point points[LANES_HELPED];
  uint32_t count = points_of(run, points);
  while (!run_over(run)) {
    if (deadline_ns != UINT64_MAX && time_now_ns() >= deadline_ns)
      return hrx_fail(HRX_TIMEOUT, "the wait ended before the run did");
    if (engine_help(engine, points, count) || spin(run)) continue;
    atomic_fetch_add(&run->waiting, 1);
    if (atomic_load(&run->over) == 0) futex_wait(&run->over, 0, deadline_ns);
    atomic_fetch_sub(&run->waiting, 1);
  }
  return HRX_OK;
}

hrx_status graph_slot_wait(struct graph *graph, uint64_t deadline_ns) {
  struct engine *engine = graph->engine;
  if (engine_forked(engine)) return engine_lost();
  struct run *oldest = NULL;
  pthread_mutex_lock(&engine->lock);
  bool full = graph->free == NULL;
  for (struct instance *at = full ? graph->made : NULL; at != NULL; at = at->next_made) {
    struct run *run = at->run;
    if (run == NULL || atomic_load_explicit(&run->over, memory_order_relaxed) != 0) continue;
    if (oldest == NULL || run->submitted < oldest->submitted) oldest = run;
  }
  if (oldest != NULL) run_retain(oldest);
  pthread_mutex_unlock(&engine->lock);
  if (oldest == NULL) {
    if (full) sched_yield(); /* another thread renews the last one */
    return HRX_OK;
  }
  hrx_status status = run_wait(oldest, deadline_ns);
  run_release(oldest);
  return status;
}

/* --- cancelling --- */

/* Takes out of the crews' queues what has not started, and says whether anything has. */
static bool running_locked(struct instance *instance, struct slot **out_queued) {
  bool running = false;
  for (uint32_t i = 0; i < instance->graph->plan.count; i++) {
    struct slot *slot = &instance->slots[i];
    if (slot->sequence <= atomic_load_explicit(&slot->lane->completed, memory_order_relaxed)) continue;
    int state = atomic_load(&slot->state);
    if (state == SLOT_QUEUED) {
      crew_remove_locked(crew_of(slot->engine, slot), slot);
      run_ready_locked(slot);
      slot->next = *out_queued;
      *out_queued = slot;
    } else {
      running |= state != SLOT_WAITING && !slot->skip;
    }
  }
  return running;
}

/* Another instance, for the slot of a run that is over but not drained. */
static struct instance *replacement_take_locked(struct graph *graph) {
  struct instance *instance = graph->spare;
  if (instance != NULL) graph->spare = instance->next;
  return instance;
}

void run_cancel(struct run *run) {
  struct graph *graph = run->graph;
  struct engine *engine = graph->engine;
  if (engine_forked(engine) || run_over(run)) return;
  struct failure failure = {.status = HRX_CANCELLED};
  strcpy(failure.message, "the run was cancelled before this started");
  struct cause *cause = cause_create(engine, &failure);
  struct instance *replacement = NULL;
  bool tried = false, done = false;
  struct aftermath aftermath = {0};
  while (!done) {
    struct slot *queued = NULL;
    pthread_mutex_lock(&engine->lock);
    done = atomic_load(&run->over) != 0;
    if (!done) {
      if (run->doom == NULL) {
        run->doom = cause;
        cause->references++;
      }
      bool running = running_locked(run->instance, &queued);
      while (queued != NULL) { /* whoever settles runs them, which skips them */
        struct slot *slot = queued;
        queued = slot->next;
        slot->next = aftermath.first;
        if (aftermath.first == NULL) aftermath.last = slot;
        aftermath.first = slot;
      }
      if (replacement == NULL) replacement = replacement_take_locked(graph);
      done = running || replacement != NULL || tried;
      if (!running && done) {
        if (run->cause == NULL) {
          run->cause = run->doom;
          run->doom->references++;
        }
        run_end_locked(run, &aftermath);
        if (replacement != NULL) {
          graph->surplus++;
          replacement->next = graph->free;
          graph->free = replacement;
          replacement = NULL;
        }
      }
    }
    if (done && replacement != NULL) {
      replacement->next = graph->spare;
      graph->spare = replacement;
    }
    if (done) cause_drop_locked(cause);
    pthread_mutex_unlock(&engine->lock);
    if (!done) tried = instance_make(graph, &replacement) != HRX_OK || replacement == NULL;
  }
  aftermath_settle(engine, &aftermath);
}
