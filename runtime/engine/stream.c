/* Streams: outer order, and the step that submits a task. */
#include <stdlib.h>

#include "base/futex.h"
#include "engine/copy.h"
#include "engine/graph_state.h"
#include "memory/storage.h"

bool engine_point_unquiet(struct point point, const void *lanes) { return !point_quiet(lanes, point); }

/* --- life --- */

hrx_status engine_lanes_add(struct engine *engine) {
  struct lane *chunk = lane_chunk_create();
  if (chunk == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %d lanes", (int)LANES_A_CHUNK);
  pthread_mutex_lock(&engine->lock);
  bool added = lane_table_add_locked(&engine->lanes, chunk);
  pthread_mutex_unlock(&engine->lock);
  if (added) return HRX_OK;
  free(chunk);
  return hrx_fail_reason(HRX_BUSY, HRX_REASON_QUEUE_FULL, "all %d lanes are taken by streams", (int)LANES_MOST);
}

hrx_status stream_create(struct engine *engine, int priority, struct stream **out_stream) {
  if (engine_forked(engine)) return engine_lost();
  for (;;) {
    pthread_mutex_lock(&engine->lock);
    struct stream *stream = engine->free_streams;
    struct lane *lane = stream != NULL ? lane_take_locked(&engine->lanes) : NULL;
    if (lane != NULL) {
      engine->free_streams = stream->next;
      stream->priority = priority;
      stream->lanes[0] = lane;
      stream->lane_count = 1;
      stream->released = stream->blocked = false;
      stream->taken_age = 0;
      stream->previous = NULL;
      stream->next = engine->streams;
      if (stream->next != NULL) stream->next->previous = stream;
      engine->streams = stream;
    }
    pthread_mutex_unlock(&engine->lock);
    if (lane != NULL) {
      *out_stream = stream;
      return HRX_OK;
    }
    if (stream == NULL) {
      stream = calloc(1, sizeof *stream);
      if (stream == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a stream");
      stream->engine = engine;
      pthread_mutex_init(&stream->lock, NULL);
      pthread_mutex_lock(&engine->lock);
      stream->next = engine->free_streams;
      engine->free_streams = stream;
      pthread_mutex_unlock(&engine->lock);
    } else {
      hrx_status status = engine_lanes_add(engine);
      if (status != HRX_OK) return status;
    }
  }
}

void stream_settle_locked(struct stream *stream) {
  if (!stream->released || atomic_load_explicit(&stream->queued, memory_order_relaxed) != 0) return;
  struct engine *engine = stream->engine;
  stream_failure_clear_locked(stream);
  for (unsigned i = 0; i < stream->lane_count; i++) lane_return_locked(&engine->lanes, stream->lanes[i]);
  stream->lane_count = 0;
  if (stream->previous != NULL)
    stream->previous->next = stream->next;
  else
    engine->streams = stream->next;
  if (stream->next != NULL) stream->next->previous = stream->previous;
  stream->next = engine->free_streams;
  engine->free_streams = stream;
}

void stream_release(struct stream *stream) {
  if (stream == NULL || engine_forked(stream->engine)) return;
  struct engine *engine = stream->engine;
  /* nobody submits any more, so the clocks are free to be emptied for the next owner of the structure */
  pthread_mutex_lock(&stream->lock);
  clock_reset(&stream->clock);
  clock_reset(&stream->opaque);
  pthread_mutex_unlock(&stream->lock);
  pthread_mutex_lock(&engine->lock);
  stream->released = true;
  stream_settle_locked(stream);
  pthread_mutex_unlock(&engine->lock);
}

/* --- outer order --- */

static void clocks_tidy(struct stream *stream) {
  clock_keep(&stream->clock, engine_point_unquiet, &stream->engine->lanes);
  clock_keep(&stream->opaque, engine_point_unquiet, &stream->engine->lanes);
}

/* The newest opaque task at or before the point. If the lane has had a newer one since, which one it was is not known
 * any more, and the point itself is taken, which is never too early. */
static struct point opaque_before(const struct lane_table *lanes, struct point point) {
  const struct lane *lane = lane_at(lanes, point.lane);
  uint64_t opaque = lane != NULL ? atomic_load_explicit(&lane->opaque, memory_order_acquire) : 0;
  if (opaque <= point.sequence) point.sequence = opaque;
  return point;
}

hrx_status stream_wait_clock(struct stream *stream, const struct clock *clock) {
  struct engine *engine = stream->engine;
  if (engine_forked(engine)) return engine_lost();
  pthread_mutex_lock(&stream->lock);
  clocks_tidy(stream);
  hrx_status status = clock_reserve(&stream->clock, stream->clock.count + clock->count);
  if (status == HRX_OK) status = clock_reserve(&stream->opaque, stream->opaque.count + clock->count);
  const struct point *points = clock_points(clock);
  for (uint32_t i = 0; status == HRX_OK && i < clock->count; i++) {
    if (point_quiet(&engine->lanes, points[i])) continue;
    struct point opaque = opaque_before(&engine->lanes, points[i]);
    clock_include(&stream->clock, points[i]);
    if (!point_quiet(&engine->lanes, opaque)) clock_include(&stream->opaque, opaque);
  }
  pthread_mutex_unlock(&stream->lock);
  return status;
}

hrx_status stream_clock(struct stream *stream, struct clock *io_clock) {
  if (engine_forked(stream->engine)) return engine_lost();
  pthread_mutex_lock(&stream->lock);
  clocks_tidy(stream);
  hrx_status status = clock_join(io_clock, &stream->clock);
  pthread_mutex_unlock(&stream->lock);
  return status;
}

bool stream_idle(struct stream *stream) {
  if (engine_forked(stream->engine)) return true;
  pthread_mutex_lock(&stream->lock);
  bool idle = engine_clock_over(stream->engine, &stream->clock);
  pthread_mutex_unlock(&stream->lock);
  return idle;
}

/* --- submitting --- */

hrx_status task_check(const struct task *task) {
  for (unsigned i = 0; i < task->access_count; i++) {
    const struct access *access = &task->accesses[i];
    if (access->bytes == 0) continue;
    if (access->allocation == NULL || access->kind < ACCESS_READ || access->kind > ACCESS_ATOMIC)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%s: access %u has no allocation or no kind",
                             task->label != NULL ? task->label : "task", i);
    if (access->offset > access->allocation->bytes || access->bytes > access->allocation->bytes - access->offset)
      return hrx_fail_reason(
          HRX_INVALID, HRX_REASON_ARGUMENT, "%s: access %u is %zu bytes at offset %zu of an allocation of %zu bytes",
          task->label != NULL ? task->label : "task", i, access->bytes, access->offset, access->allocation->bytes);
  }
  if (task->kind == TASK_FILL) return task_fill_check(&task->fill);
  if (task->kind == TASK_COPY) return task_copy_check(&task->copy);
  return HRX_OK;
}

static size_t begin_of(const struct access *access) { return access->allocation->storage_offset + access->offset; }

/* What the task must follow, into the stream's scratch clock. An opaque task does not look at frontiers and leaves
 * nothing there: it follows everything, and all that comes after follows it. */
static void waits_compute_locked(struct stream *stream, const struct task *task) {
  struct engine *engine = stream->engine;
  clock_reset(&stream->waits);
  clock_copy(&stream->waits, task->opaque ? &stream->clock : &stream->opaque);
  for (unsigned i = 0; i < task->access_count && !task->opaque; i++) {
    const struct access *access = &task->accesses[i];
    if (access->bytes == 0 || access->allocation->storage->frontier == NULL) continue;
    frontier_waits(&engine->pool, access->allocation->storage->frontier, begin_of(access),
                   begin_of(access) + access->bytes, access->kind, &stream->clock, &engine->lanes, &stream->waits);
  }
}

/* The lane whose tail is the newest of the waits; or an idle one; or a new one; or the least loaded. */
static struct lane *lane_choose_locked(struct stream *stream) {
  struct lane *follow = NULL, *least = stream->lanes[0];
  for (unsigned i = 0; i < stream->lane_count; i++) {
    struct lane *lane = stream->lanes[i];
    if (lane_load(lane) < lane_load(least)) least = lane;
    if (lane_load(lane) == 0) continue;
    if (clock_covers(&stream->waits, (struct point){lane->id, lane->issued}) &&
        (follow == NULL || lane->newest > follow->newest))
      follow = lane;
  }
  if (follow != NULL) return follow;
  if (lane_load(least) != 0 && stream->lane_count < STREAM_LANES) {
    struct lane *fresh = lane_take_locked(&stream->engine->lanes);
    if (fresh != NULL) return stream->lanes[stream->lane_count++] = fresh;
  }
  return least;
}

static void edge_count_locked(struct engine *engine, const struct slot *slot, struct point point) {
  count_locked(&engine->statistics.edges, 1);
  if (trace_running(&engine->trace) && slot->lane != NULL)
    trace_edge_record(&engine->trace, (struct trace_task){point.lane, point.sequence},
                      (struct trace_task){slot->lane->id, slot->sequence}, TRACE_INFERRED);
}

/* One more wait of `waiter`, for a task that is not over. Twice in a row for the same two is one edge. */
void edge_add_locked(struct engine *engine, struct slot *before, struct slot *waiter, bool passes) {
  if (before->dependents != NULL && before->dependents->waiter == waiter) {
    before->dependents->passes |= passes;
    return;
  }
  struct edge *edge = engine->free_edges;
  engine->free_edges = edge->next;
  engine->free_edge_count--;
  *edge = (struct edge){waiter, before->dependents, passes};
  before->dependents = edge;
  waiter->pending++;
  edge_count_locked(engine, waiter, (struct point){before->lane->id, before->sequence});
}

/* Hangs the slot on every lane that it waits for. */
static void edges_add_locked(struct engine *engine, struct slot *slot, const struct clock *waits) {
  const struct point *points = clock_points(waits);
  for (uint32_t i = 0; i < waits->count; i++) {
    struct lane *lane = lane_at(&engine->lanes, points[i].lane);
    if (lane == slot->lane) {
      slot->own_wait = points[i].sequence;
      if (!point_over(&engine->lanes, points[i])) edge_count_locked(engine, slot, points[i]);
    } else if (!point_over(&engine->lanes, points[i])) {
      edge_add_locked(engine, lane_slot_locked(lane, points[i].sequence), slot, lane->use == LANE_OF_STREAM);
    } else if (lane->cause != NULL && slot->inherited == NULL && !point_quiet(&engine->lanes, points[i])) {
      slot->inherited = lane->cause;
      lane->cause->references++;
    }
  }
}

struct run_wait {
  struct engine *engine;
  struct slot *slot;
  enum access_kind kind;
};

static void run_wait_add(void *context, struct point point, enum access_kind kind) {
  const struct run_wait *wait = context;
  const struct lane *lane = lane_at(&wait->engine->lanes, point.lane);
  if (lane->use != LANE_OF_RUN || !access_conflicts(wait->kind, kind)) return;
  struct slot *before = lane_slot_locked(lane, point.sequence);
  edge_add_locked(wait->engine, before, wait->slot, kind != ACCESS_READ && run_passes_locked(before));
}

/* A task follows the nodes of runs that it conflicts with, in the order of submission, whatever its stream knows; an opaque one
 * all of them. */
static void run_waits_add_locked(struct engine *engine, struct slot *slot, const struct task *task) {
  if (engine->runs_inflight == 0) return;
  if (task->opaque || engine->runs_opaque != 0)
    for (struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) {
      if (lane->use != LANE_OF_RUN) continue;
      uint64_t last = task->opaque ? lane->issued : atomic_load_explicit(&lane->opaque, memory_order_relaxed);
      if (last > atomic_load_explicit(&lane->completed, memory_order_relaxed))
        edge_add_locked(engine, lane_slot_locked(lane, last), slot, false);
    }
  for (unsigned i = 0; i < task->access_count && !task->opaque; i++) {
    const struct access *access = &task->accesses[i];
    struct frontier *frontier = access->bytes != 0 ? access->allocation->storage->frontier : NULL;
    struct run_wait wait = {engine, slot, access_kept(access->kind)};
    if (frontier != NULL)
      frontier_visit(&engine->pool, frontier, begin_of(access), begin_of(access) + access->bytes, &engine->lanes,
                     run_wait_add, &wait);
  }
}

/* At most how many edges that can add. */
static size_t run_waits_most(const struct engine *engine, const struct task *task) {
  size_t most = 0;
  if (engine->runs_inflight == 0) return 0;
  if (task->opaque || engine->runs_opaque != 0)
    for (const struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) most += lane->use == LANE_OF_RUN;
  for (unsigned i = 0; i < task->access_count && !task->opaque; i++) {
    const struct access *access = &task->accesses[i];
    const struct frontier *frontier = access->bytes != 0 ? access->allocation->storage->frontier : NULL;
    if (frontier != NULL) most += frontier->entry_count;
  }
  return most;
}

void lane_busy_locked(struct engine *engine, struct lane *lane) {
  lane->previous_busy = NULL;
  lane->next_busy = engine->busy;
  if (engine->busy != NULL) engine->busy->previous_busy = lane;
  engine->busy = lane;
}

static void lane_push_locked(struct engine *engine, struct lane *lane, struct slot *slot) {
  if (lane_load(lane) == 0) lane_busy_locked(engine, lane);
  slot->lane = lane;
  slot->sequence = ++lane->issued;
  lane->newest = ++engine->submissions;
  lane->ring[slot->sequence & (lane->ring_size - 1)] = slot;
}

static struct slot *slot_fill_locked(struct stream *stream, const struct task *task) {
  struct engine *engine = stream->engine;
  struct slot *slot = engine->free_slots;
  engine->free_slots = slot->next;
  slot->stream = stream;
  slot->instance = slot->run_end = NULL;
  slot->own_wait = 0;
  slot->pending = 0;
  slot->skip = false;
  atomic_store_explicit(&slot->state, SLOT_WAITING, memory_order_relaxed);
  slot->inherited = slot->cause = NULL;
  slot->poison = NULL;
  slot->dependents = NULL;
  slot->next = slot->previous = NULL;
  slot->task = *task;
  slot->task.accesses = NULL; /* used up by now */
  slot->task.access_count = 0;
  return slot;
}

/* The atomic step: waits, lane, number, edges, frontiers. Cannot fail: all that it takes was reserved. */
struct point stream_enter_locked(struct stream *stream, const struct task *task, struct lane *lane,
                                 struct aftermath *aftermath) {
  struct engine *engine = stream->engine;
  struct slot *slot = slot_fill_locked(stream, task);
  lane_push_locked(engine, lane, slot);
  edges_add_locked(engine, slot, &stream->waits);
  run_waits_add_locked(engine, slot, task);
  struct point self = {lane->id, slot->sequence};
  for (unsigned i = 0; i < task->access_count && !task->opaque; i++) {
    const struct access *access = &task->accesses[i];
    if (access->bytes == 0) continue;
    frontier_record(&engine->pool, frontier_of(&engine->pool, access->allocation->storage), begin_of(access),
                    begin_of(access) + access->bytes, access->kind, self, 4 * (size_t)(task->access_count - i));
  }
  count_locked(&engine->statistics.tasks, 1);
  engine->inflight++;
  engine->opaque_inflight += task->opaque;
  atomic_store_explicit(&stream->queued, atomic_load_explicit(&stream->queued, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  if (task->opaque) {
    atomic_store_explicit(&lane->opaque, self.sequence, memory_order_release);
    /* it follows the whole clock, so it alone says as much */
    clock_reset(&stream->clock);
    clock_reset(&stream->opaque);
    clock_include(&stream->opaque, self);
  }
  clock_include(&stream->clock, self);
  if (slot->pending == 0 && slot->sequence == atomic_load_explicit(&lane->completed, memory_order_relaxed) + 1)
    task_ready_locked(slot, aftermath);
  return self;
}

/* Room in the clocks for the one lane that this submission could add. Lanes of `opaque` and of `waits` are always
 * lanes of `clock` too. Under the stream's lock only. */
hrx_status stream_clocks_reserve(struct stream *stream) {
  if (stream->clock.count >= CLOCK_INLINE) clocks_tidy(stream);
  uint32_t most = stream->clock.count + 1;
  hrx_status status = clock_reserve(&stream->clock, most);
  if (status == HRX_OK) status = clock_reserve(&stream->opaque, most);
  if (status == HRX_OK) status = clock_reserve(&stream->waits, most);
  return status;
}

enum shortage stream_enter_try_locked(struct stream *stream, const struct task *task, unsigned tasks,
                                      struct lane **out_lane) {
  struct engine *engine = stream->engine;
  if (atomic_load_explicit(&stream->queued, memory_order_relaxed) >= STREAM_QUEUE) return SHORT_OF_ROOM;
  const struct slot *slot = engine->free_slots;
  for (unsigned i = 0; i < tasks; i++, slot = slot->next)
    if (slot == NULL) return SHORT_OF_SLOTS;
  stream->edges_short = (stream->clock.count + run_waits_most(engine, task)) * tasks;
  if (engine->free_edge_count < stream->edges_short) return SHORT_OF_EDGES;
  if (!task->opaque && !frontier_pool_enough(&engine->pool, task->accesses, task->access_count)) return SHORT_OF_NODES;
  waits_compute_locked(stream, task);
  *out_lane = lane_choose_locked(stream);
  return lane_load(*out_lane) + tasks > (*out_lane)->ring_size ? SHORT_OF_RING : SHORT_OF_NOTHING;
}

/* Doubles a lane's ring, allocating outside the lock. */
static bool ring_grow(struct engine *engine, struct lane *lane, uint32_t size) {
  uint32_t doubled = size == 0 ? 16 : size * 2;
  struct slot **ring = calloc(doubled, sizeof(*ring)), **unused = ring;
  if (ring == NULL) return false;
  pthread_mutex_lock(&engine->lock);
  if (lane->ring_size < doubled) {
    for (uint64_t s = atomic_load(&lane->completed) + 1; s <= lane->issued; s++)
      ring[s & (doubled - 1)] = lane->ring[s & (lane->ring_size - 1)];
    unused = lane->ring;
    lane->ring = ring;
    lane->ring_size = doubled;
  }
  pthread_mutex_unlock(&engine->lock);
  free(unused);
  return true;
}

bool engine_nodes_add(struct engine *engine) {
  struct frontier_slab *slab = frontier_slab_create();
  if (slab == NULL) return false;
  pthread_mutex_lock(&engine->lock);
  frontier_pool_add(&engine->pool, slab);
  pthread_mutex_unlock(&engine->lock);
  return true;
}

/* Gets what the last try was short of. No engine lock. */
bool stream_shortage_end(struct stream *stream, enum shortage shortage, struct lane *lane, uint32_t ring_size) {
  struct engine *engine = stream->engine;
  switch (shortage) {
  case SHORT_OF_SLOTS: return engine_slots_reserve(engine);
  case SHORT_OF_EDGES: return engine_edges_reserve(engine, stream->edges_short);
  case SHORT_OF_NODES: return engine_nodes_add(engine);
  case SHORT_OF_RING: return ring_grow(engine, lane, ring_size);
  case SHORT_OF_NOTHING:
  case SHORT_OF_ROOM: break;
  }
  return true;
}

/* Sleeps until the stream's queue has room. No lock. */
void stream_room_wait(struct stream *stream) {
  struct engine *engine = stream->engine;
  pthread_mutex_lock(&engine->lock);
  uint32_t room = atomic_load(&stream->room);
  bool full = atomic_load_explicit(&stream->queued, memory_order_relaxed) >= STREAM_QUEUE;
  if (full) stream->blocked = true;
  pthread_mutex_unlock(&engine->lock);
  if (full) futex_wait(&stream->room, room, UINT64_MAX);
}

/* One attempt under the stream's lock. Leaves SHORT_OF_ROOM to the caller, who sleeps without it. */
static hrx_status enter(struct stream *stream, const struct task *task, struct point *out_point,
                        struct aftermath *aftermath, enum shortage *out_shortage) {
  struct engine *engine = stream->engine;
  hrx_status status = stream_clocks_reserve(stream);
  enum shortage shortage = SHORT_OF_NOTHING;
  while (status == HRX_OK) {
    struct lane *lane = NULL;
    uint32_t ring_size = 0;
    pthread_mutex_lock(&engine->lock);
    shortage = stream_enter_try_locked(stream, task, 1, &lane);
    if (shortage == SHORT_OF_NOTHING) *out_point = stream_enter_locked(stream, task, lane, aftermath);
    if (shortage == SHORT_OF_RING) ring_size = lane->ring_size;
    pthread_mutex_unlock(&engine->lock);
    if (shortage == SHORT_OF_NOTHING || shortage == SHORT_OF_ROOM) break;
    if (!stream_shortage_end(stream, shortage, lane, ring_size))
      status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to queue %s", task->label != NULL ? task->label : "a task");
  }
  *out_shortage = shortage;
  return status;
}

hrx_status stream_submit(struct stream *stream, const struct task *task, struct point *out_point) {
  struct engine *engine = stream->engine;
  if (engine_forked(engine)) return engine_lost();
  hrx_status status = task_check(task);
  if (status != HRX_OK) return status;
  atomic_store_explicit(&engine->used, true, memory_order_relaxed); /* read by fork handlers of any thread: a hint */
  if (task->kind == TASK_HOST) status = crew_ensure(engine, &engine->host);

  struct aftermath aftermath = {0};
  struct point point = {0, 0};
  enum shortage shortage = SHORT_OF_ROOM;
  while (status == HRX_OK && shortage == SHORT_OF_ROOM) {
    pthread_mutex_lock(&stream->lock);
    status = enter(stream, task, &point, &aftermath, &shortage);
    pthread_mutex_unlock(&stream->lock);
    if (status == HRX_OK && shortage == SHORT_OF_ROOM) stream_room_wait(stream);
  }
  if (status != HRX_OK) return status;
  *out_point = point;
  aftermath_settle(engine, &aftermath);
  return HRX_OK;
}
