/* Waiting for clocks: spin, help, sleep. */
#include "base/clocktime.h"
#include "base/futex.h"
#include "engine/graph_state.h"

enum { SPINS = 200 };
static const uint64_t SLICE_NS = 500000;

bool engine_clock_over(const struct engine *engine, const struct clock *clock) {
  if (engine_forked(engine)) return true;
  const struct point *points = clock_points(clock);
  for (uint32_t i = 0; i < clock->count; i++)
    if (!point_over(&engine->lanes, points[i])) return false;
  return true;
}

/* The task that the lane works on, if the point is not over. */
static struct slot *head_locked(const struct engine *engine, struct point point) {
  if (point_over(&engine->lanes, point)) return NULL;
  struct lane *lane = lane_at(&engine->lanes, point.lane);
  if (lane == NULL) return NULL;
  uint64_t next = atomic_load_explicit(&lane->completed, memory_order_relaxed) + 1;
  return next <= lane->issued ? lane->ring[next & (lane->ring_size - 1)] : NULL;
}

/* Runs one task, or a part of one, that the points wait for. False if there was none to run. */
bool engine_help(struct engine *engine, const struct point *points, uint32_t count) {
  if (count > LANES_HELPED) count = LANES_HELPED;
  for (uint32_t i = 0; i < count; i++) {
    if (point_over(&engine->lanes, points[i])) continue;
    struct slot *copy = NULL, *dispatch = NULL;
    struct point inner[LANES_HELPED];
    uint32_t inner_count = 0;
    pthread_mutex_lock(&engine->lock);
    struct slot *head = head_locked(engine, points[i]);
    if (head != NULL) {
      int state = atomic_load(&head->state);
      if (state == SLOT_QUEUED && head->task.kind != TASK_HOST) {
        copy = head;
        crew_remove_locked(&engine->copy, copy);
      }
      if (state == SLOT_STARTED && head->task.kind == TASK_DISPATCH) {
        /* a pin only while somebody else has one: with none left the task is being finished */
        uint32_t pins = atomic_load(&head->pins);
        while (pins != 0 && !atomic_compare_exchange_weak(&head->pins, &pins, pins + 1)) {
        }
        if (pins != 0) dispatch = head;
      }
      if (state == SLOT_WAITING && head->run_end != NULL && head->pending != 0)
        inner_count = instance_points_locked(head->run_end, inner);
    }
    pthread_mutex_unlock(&engine->lock);
    if (copy != NULL) {
      task_run(copy);
      return true;
    }
    if (dispatch != NULL) {
      bool helped = gpu_dispatch_help(dispatch->task.dispatch, SLICE_NS);
      task_unpin(dispatch);
      if (helped) return true;
    }
    if (inner_count != 0 && engine_help(engine, inner, inner_count)) return true;
  }
  return false;
}

static bool spin(const struct engine *engine, struct point point) {
  for (int i = 0; i < SPINS; i++) {
    if (point_over(&engine->lanes, point)) return true;
    __builtin_ia32_pause();
  }
  return false;
}

static void sleep_until(struct engine *engine, struct point point, uint64_t deadline_ns) {
  struct lane *lane = lane_at(&engine->lanes, point.lane);
  if (lane == NULL) return;
  pthread_mutex_lock(&engine->lock);
  uint32_t beat = atomic_load(&lane->beat);
  bool over = point_over(&engine->lanes, point);
  if (!over && lane->wanted > point.sequence) lane->wanted = point.sequence;
  pthread_mutex_unlock(&engine->lock);
  if (!over) futex_wait(&lane->beat, beat, deadline_ns);
}

hrx_status engine_clock_wait(struct engine *engine, const struct clock *clock, uint64_t deadline_ns) {
  if (engine_forked(engine)) return engine_lost();
  const struct point *points = clock_points(clock);
  for (uint32_t at = 0; at < clock->count;) {
    if (point_over(&engine->lanes, points[at])) {
      at++;
      continue;
    }
    if (deadline_ns != UINT64_MAX && time_now_ns() >= deadline_ns)
      return hrx_fail(HRX_TIMEOUT, "the wait ended before the work did");
    if (engine_help(engine, points + at, clock->count - at) || spin(engine, points[at])) continue;
    sleep_until(engine, points[at], deadline_ns);
  }
  return HRX_OK;
}
