/* The life of a task from "ready" to "over". */
#include <stdlib.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "engine/copy.h"
#include "engine/graph_state.h"
#include "engine/state.h"

enum { SLAB_SLOTS = 128, SLAB_EDGES = 512 };

struct slot_slab {
  struct slot_slab *next;
  struct slot slots[SLAB_SLOTS];
};

struct edge_slab {
  struct edge_slab *next;
  struct edge edges[SLAB_EDGES];
};

/* What this thread runs now: tasks that become ready inside are appended instead of nested, so that a long chain of
 * short tasks needs no deep stack. initial-exec: no allocation at the first access. */
static _Thread_local struct aftermath *running __attribute__((tls_model("initial-exec")));

bool engine_slots_reserve(struct engine *engine) {
  struct slot_slab *slab = calloc(1, sizeof *slab);
  if (slab == NULL) return false;
  pthread_mutex_lock(&engine->lock);
  slab->next = engine->slot_slabs;
  engine->slot_slabs = slab;
  for (unsigned i = 0; i < SLAB_SLOTS; i++) {
    slab->slots[i].engine = engine;
    slab->slots[i].next = engine->free_slots;
    engine->free_slots = &slab->slots[i];
  }
  pthread_mutex_unlock(&engine->lock);
  return true;
}

bool engine_edges_reserve(struct engine *engine, size_t edges) {
  for (size_t added = 0; added < edges; added += SLAB_EDGES) {
    struct edge_slab *slab = calloc(1, sizeof *slab);
    if (slab == NULL) return false;
    pthread_mutex_lock(&engine->lock);
    slab->next = engine->edge_slabs;
    engine->edge_slabs = slab;
    for (unsigned i = 0; i < SLAB_EDGES; i++) {
      slab->edges[i].next = engine->free_edges;
      engine->free_edges = &slab->edges[i];
    }
    engine->free_edge_count += SLAB_EDGES;
    pthread_mutex_unlock(&engine->lock);
  }
  return true;
}

void engine_pools_finish(struct engine *engine) {
  while (engine->slot_slabs != NULL) {
    struct slot_slab *slab = engine->slot_slabs;
    engine->slot_slabs = slab->next;
    free(slab);
  }
  while (engine->edge_slabs != NULL) {
    struct edge_slab *slab = engine->edge_slabs;
    engine->edge_slabs = slab->next;
    free(slab);
  }
}

static uint64_t task_bytes(const struct task *task) {
  if (task->kind == TASK_COPY) return task_copy_bytes(&task->copy);
  if (task->kind == TASK_FILL) return task_fill_bytes(&task->fill);
  return 0;
}

static void task_trace(const struct slot *slot, uint64_t finished_ns) {
  static const enum trace_kind kinds[] = {[TASK_FILL] = TRACE_FILL,
                                          [TASK_COPY] = TRACE_COPY,
                                          [TASK_DISPATCH] = TRACE_KERNEL,
                                          [TASK_HOST] = TRACE_HOST,
                                          [TASK_JOIN] = TRACE_JOIN,
                                          [TASK_DEVICE] = TRACE_DEVICE};
  const struct task *task = &slot->task;
  bool waits = task->kind == TASK_DEVICE && task->device.waits;
  enum trace_kind kind = waits ? TRACE_HOST : kinds[task->kind];
  struct trace_event event = {.task = {slot->lane->id, slot->sequence},
                              .stream = slot->stream != NULL ? slot->stream->lanes[0]->id : slot->instance->lanes[0]->id,
                              .kind = kind,
                              .engine = task->kind == TASK_DEVICE && !waits ? TRACE_NPU : TRACE_GPU,
                              .outcome = slot->skip            ? TRACE_SKIPPED
                                         : slot->cause != NULL ? TRACE_FAILED
                                                               : TRACE_DONE,
                              .label = task->label != NULL ? task->label : trace_kind_name(kind),
                              .start_ns = slot->started_ns,
                              .finish_ns = finished_ns,
                              .bytes = task_bytes(task)};
  trace_event_record(&slot->engine->trace, &event);
}

__attribute__((noinline)) static void start_stamp(struct slot *slot) {
  uint64_t now = time_now_ns(), *out_ns = slot->task.out_started_ns;
  if (trace_running(&slot->engine->trace)) slot->started_ns = now;
  if (out_ns != NULL) __atomic_store_n(out_ns, now, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static void stop_stamp(const struct slot *slot) {
  uint64_t now = time_now_ns(), *out_ns = slot->task.out_finished_ns;
  if (slot->started_ns != 0) task_trace(slot, now);
  if (out_ns != NULL) __atomic_store_n(out_ns, now, __ATOMIC_RELEASE);
}

/* The task begins. Most need no time, and pay for two tests. */
static inline void task_started(struct slot *slot) {
  slot->started_ns = 0;
  if (trace_running(&slot->engine->trace) || slot->task.out_started_ns != NULL) start_stamp(slot);
}

/* The task has run, or was skipped; its point is not over yet. */
static inline void task_stopped(const struct slot *slot) {
  if (slot->started_ns != 0 || slot->task.out_finished_ns != NULL) stop_stamp(slot);
}

static void run_append(struct aftermath *aftermath, struct slot *slot) {
  slot->next = NULL;
  if (aftermath->last != NULL)
    aftermath->last->next = slot;
  else
    aftermath->first = slot;
  aftermath->last = slot;
}

static bool small(const struct task *task) {
  if (task->kind == TASK_COPY) return task_copy_work(&task->copy) <= INLINE_WORK;
  if (task->kind == TASK_FILL) return task_fill_work(&task->fill) <= INLINE_WORK;
  return task->kind != TASK_HOST;
}

/* It is its lane's turn and all that it waits for is over: decides whether it runs, and where. */
void task_ready_locked(struct slot *slot, struct aftermath *aftermath) {
  struct lane *lane = slot->lane;
  if (slot->inherited == NULL && lane->cause != NULL &&
      atomic_load_explicit(&lane->failed, memory_order_relaxed) <= slot->own_wait) {
    slot->inherited = lane->cause;
    lane->cause->references++;
  }
  slot->skip = slot->inherited != NULL && !slot->task.run_always;
  if (slot->instance != NULL) run_ready_locked(slot);
  if (slot->skip || small(&slot->task)) {
    atomic_store_explicit(&slot->state, SLOT_CLAIMED, memory_order_relaxed);
    run_append(aftermath, slot);
    return;
  }
  struct crew *crew = crew_of(slot->engine, slot);
  atomic_store_explicit(&slot->state, SLOT_QUEUED, memory_order_relaxed);
  crew_push_locked(crew, slot);
  aftermath_crew(aftermath, crew);
}

static void statistics_locked(struct engine *engine, const struct slot *slot) {
  if (slot->skip)
    count_locked(&engine->statistics.skipped, 1);
  else if (slot->cause != NULL)
    count_locked(&engine->statistics.failed, 1);
  else if (slot->task.kind == TASK_COPY)
    count_locked(&engine->statistics.copied_bytes, task_copy_bytes(&slot->task.copy));
  else if (slot->task.kind == TASK_FILL)
    count_locked(&engine->statistics.filled_bytes, task_fill_bytes(&slot->task.fill));
  if (!slot->skip && slot->task.kind == TASK_DISPATCH) count_locked(&engine->statistics.dispatches, 1);
}

void slot_arrive_locked(struct slot *waiter, struct cause *cause, struct aftermath *aftermath) {
  if (cause != NULL && waiter->inherited == NULL) {
    waiter->inherited = cause;
    cause->references++;
  }
  if (--waiter->pending != 0) return;
  if (waiter->lane == NULL)
    run_gate_open_locked(waiter->instance, aftermath);
  else if (waiter->sequence == atomic_load_explicit(&waiter->lane->completed, memory_order_relaxed) + 1)
    task_ready_locked(waiter, aftermath);
}

static void edges_resolve_locked(struct slot *slot, struct cause *cause, struct aftermath *aftermath) {
  struct engine *engine = slot->engine;
  for (struct edge *edge = slot->dependents, *next; edge != NULL; edge = next) {
    next = edge->next;
    slot_arrive_locked(edge->waiter, edge->passes ? cause : NULL, aftermath);
    edge->next = engine->free_edges;
    engine->free_edges = edge;
    engine->free_edge_count++;
  }
  slot->dependents = NULL;
}

static void lane_idle_locked(struct engine *engine, struct lane *lane) {
  if (lane->previous_busy != NULL)
    lane->previous_busy->next_busy = lane->next_busy;
  else
    engine->busy = lane->next_busy;
  if (lane->next_busy != NULL) lane->next_busy->previous_busy = lane->previous_busy;
  lane->next_busy = lane->previous_busy = NULL;
}

static void stream_task_over_locked(struct slot *slot, struct cause *cause, struct aftermath *aftermath) {
  struct engine *engine = slot->engine;
  struct stream *stream = slot->stream;
  struct lane *lane = slot->lane;
  if (cause != NULL) task_failure_locked(slot, cause);
  /* a point includes what came before it on its lane, failures too */
  bool failed = atomic_load_explicit(&lane->failed, memory_order_relaxed) <= slot->sequence;
  edges_resolve_locked(slot, failed ? lane->cause : NULL, aftermath);
  cause_drop_locked(slot->cause);
  cause_drop_locked(slot->inherited);
  engine->opaque_inflight -= slot->task.opaque;
  slot->next = engine->free_slots;
  engine->free_slots = slot;
  /* relaxed: a hint for submitters, who look again under the lock */
  uint32_t queued = atomic_load_explicit(&stream->queued, memory_order_relaxed) - 1;
  atomic_store_explicit(&stream->queued, queued, memory_order_relaxed);
  /* not at once, or submitter and worker would take turns task by task */
  if (stream->blocked && queued <= STREAM_QUEUE * 3 / 4) {
    stream->blocked = false;
    atomic_fetch_add(&stream->room, 1);
    aftermath->room = &stream->room;
  }
}

/* Everything that "over" means, in the order in which others may see it: failure, slot, point. */
static void task_over_locked(struct slot *slot, struct aftermath *aftermath) {
  struct engine *engine = slot->engine;
  struct stream *stream = slot->stream;
  struct lane *lane = slot->lane;
  uint64_t sequence = slot->sequence;
  statistics_locked(engine, slot);
  struct cause *cause = slot->cause != NULL ? slot->cause : slot->inherited;
  if (slot->instance != NULL && task_uncertain(slot)) poison_leave_locked(slot);
  engine->inflight--;
  if (stream != NULL) {
    stream_task_over_locked(slot, cause, aftermath);
  } else {
    edges_resolve_locked(slot, cause, aftermath);
    run_task_over_locked(slot, cause, aftermath);
  }

  /* release: who sees the point over sees what the task wrote, and its failure */
  atomic_store_explicit(&lane->completed, sequence, memory_order_release);
  if (lane->issued == sequence) {
    lane_idle_locked(engine, lane);
  } else {
    struct slot *head = lane_slot_locked(lane, sequence + 1);
    if (head->pending == 0) task_ready_locked(head, aftermath);
  }
  if (lane->wanted <= sequence) {
    lane->wanted = UINT64_MAX;
    atomic_fetch_add(&lane->beat, 1);
    aftermath->lane_beat = &lane->beat;
  }
  if (stream != NULL) stream_settle_locked(stream);
}

static void payload_release(struct slot *slot) {
  struct task *task = &slot->task;
  if (slot->instance != NULL) return; /* the next run needs it */
  if (task->kind == TASK_DISPATCH) gpu_dispatch_release(task->dispatch);
  if (task->kind == TASK_HOST && task->host.release != NULL) task->host.release(task->host.context);
  if (task->kind == TASK_DEVICE && task->device.release != NULL) task->device.release(task->device.payload);
}

static void task_finish(struct slot *slot) {
  struct engine *engine = slot->engine;
  struct aftermath aftermath = {0};
  payload_release(slot);
  atomic_fetch_add(&engine->inside, 1);
  pthread_mutex_lock(&engine->lock);
  task_over_locked(slot, &aftermath);
  pthread_mutex_unlock(&engine->lock);
  aftermath_settle(engine, &aftermath);
  atomic_fetch_sub(&engine->inside, 1);
}

void task_unpin(struct slot *slot) {
  if (atomic_fetch_sub(&slot->pins, 1) == 1) task_finish(slot);
}

bool task_uncertain(const struct slot *slot) {
  const struct task *task = &slot->task;
  if (slot->cause == NULL || (task->kind != TASK_DISPATCH && task->kind != TASK_DEVICE)) return false;
  hrx_status status = slot->cause->failure.status;
  return status == HRX_EXECUTION || status == HRX_DEVICE_LOST;
}

static void dispatch_done(void *context, const struct failure *failure) {
  struct slot *slot = context;
  if (failure != NULL && failure->status != HRX_OK) {
    slot->cause = cause_create(slot->engine, failure);
    if (slot->instance != NULL && task_uncertain(slot)) slot->poison = poison_make(slot);
  }
  task_stopped(slot);
  task_unpin(slot);
}

static void host_run(struct slot *slot) {
  hrx_status status = slot->task.host.call(slot->task.host.context);
  if (status == HRX_OK) return;
  struct failure failure;
  failure_capture(status, &failure);
  slot->cause = cause_create(slot->engine, &failure);
}

void task_run(struct slot *slot) {
  struct task *task = &slot->task;
  if (run_watch_call(slot)) return;
  task_started(slot);
  if (slot->skip) {
    task_stopped(slot);
    task_finish(slot);
    return;
  }
  if (task->kind == TASK_DISPATCH || task->kind == TASK_DEVICE) {
    /* two pins: the device's, and ours, so that the slot outlives dispatch_start even if it is done inside it. relaxed: starting
     * is a release for the device, STARTED for a helper */
    atomic_store_explicit(&slot->pins, 2, memory_order_relaxed);
    if (task->kind == TASK_DEVICE)
      task->device.start(task->device.payload, dispatch_done, slot);
    else
      gpu_dispatch_start(task->dispatch, dispatch_done, slot);
    atomic_store_explicit(&slot->state, SLOT_STARTED, memory_order_release);
    task_unpin(slot);
    return;
  }
  if (task->kind == TASK_COPY) task_copy_run(&task->copy);
  if (task->kind == TASK_FILL) task_fill_run(&task->fill);
  if (task->kind == TASK_HOST) host_run(slot);
  task_stopped(slot);
  task_finish(slot);
}

/* Wakes whom the step under the lock found, and runs what became ready. */
void aftermath_settle(struct engine *engine, struct aftermath *aftermath) {
  if (aftermath->lane_beat != NULL) futex_wake(aftermath->lane_beat, INT32_MAX);
  if (aftermath->room != NULL) futex_wake(aftermath->room, INT32_MAX);
  for (unsigned i = 0; i < aftermath->crew_count; i++) crew_wake(engine, aftermath->crews[i]);
  if (aftermath->ended != NULL) run_ended(aftermath->ended);
  if (aftermath->drained != NULL) run_release(aftermath->drained);
  if (aftermath->first == NULL) return;
  if (running != NULL) {
    for (struct slot *slot = aftermath->first, *next; slot != NULL; slot = next) {
      next = slot->next;
      run_append(running, slot);
    }
    return;
  }
  running = aftermath;
  while (aftermath->first != NULL) {
    struct slot *slot = aftermath->first;
    aftermath->first = slot->next;
    if (aftermath->first == NULL) aftermath->last = NULL;
    task_run(slot);
  }
  running = NULL;
}
