/* Failures: where they are kept until somebody asks, and what they make of the tasks behind them. */
#include <stdlib.h>

#include "engine/state.h"

struct cause *cause_create(struct engine *engine, const struct failure *failure) {
  struct cause *cause = malloc(sizeof *cause);
  pthread_mutex_lock(&engine->lock);
  if (cause == NULL) {
    cause = &engine->spare;
    cause->references++;
  } else {
    cause->references = 1;
  }
  cause->failure = *failure;
  cause->age = ++engine->failure_age;
  cause->taken = false;
  pthread_mutex_unlock(&engine->lock);
  return cause;
}

/* Freeing under the lock only happens after failures, and the spare one, which lives in the engine, never reaches
 * zero because the engine itself holds a reference. */
void cause_drop_locked(struct cause *cause) {
  if (cause != NULL && --cause->references == 0) free(cause);
}

static bool cause_spent(const struct stream *stream, const struct cause *cause) {
  return cause->taken || cause->age == stream->taken_age;
}

/* Leaves `cause` where it will be asked for, before the slot's point is over: at its lane, for those that wait for it, and at
 * its stream. */
void task_failure_locked(struct slot *slot, struct cause *cause) {
  struct stream *stream = slot->stream;
  struct lane *lane = slot->lane;
  if (cause_spent(stream, cause)) return;
  if (lane->cause == NULL) {
    cause->references++;
    lane->cause = cause;
    atomic_store_explicit(&lane->failed, slot->sequence, memory_order_release);
  }
  if (atomic_load_explicit(&stream->failure, memory_order_relaxed) == NULL) {
    cause->references++;
    atomic_store_explicit(&stream->failure, cause, memory_order_release);
    atomic_fetch_add(&slot->engine->failures, 1);
  }
}

static void lane_clear_locked(struct lane *lane) {
  if (lane->cause == NULL) return;
  atomic_store_explicit(&lane->failed, UINT64_MAX, memory_order_release);
  cause_drop_locked(lane->cause);
  lane->cause = NULL;
}

static void lanes_clear_locked(struct stream *stream) {
  for (unsigned i = 0; i < stream->lane_count; i++) lane_clear_locked(stream->lanes[i]);
}

/* The stream goes: its failure, if any, becomes the engine's to report. */
void stream_failure_clear_locked(struct stream *stream) {
  struct engine *engine = stream->engine;
  lanes_clear_locked(stream);
  struct cause *cause = atomic_load_explicit(&stream->failure, memory_order_relaxed);
  if (cause == NULL) return;
  atomic_store_explicit(&stream->failure, NULL, memory_order_relaxed);
  if (engine->released_failure == NULL || cause->age < engine->released_failure->age) {
    struct cause *newer = engine->released_failure;
    engine->released_failure = cause;
    cause = newer;
  }
  if (cause != NULL) {
    cause_drop_locked(cause);
    atomic_fetch_sub(&engine->failures, 1);
  }
}

bool stream_failure_take(struct stream *stream, struct failure *out_failure) {
  /* acquire: pairs with the release in task_failure_locked; a waiter that saw the point over also sees this */
  if (atomic_load_explicit(&stream->failure, memory_order_acquire) == NULL) return false;
  struct engine *engine = stream->engine;
  if (engine_forked(engine)) return false;
  pthread_mutex_lock(&engine->lock);
  struct cause *cause = atomic_load_explicit(&stream->failure, memory_order_relaxed);
  bool found = cause != NULL;
  if (found) {
    *out_failure = cause->failure;
    stream->taken_age = cause->age;
    atomic_store_explicit(&stream->failure, NULL, memory_order_relaxed);
    atomic_fetch_sub(&engine->failures, 1);
    lanes_clear_locked(stream);
    cause_drop_locked(cause);
  }
  pthread_mutex_unlock(&engine->lock);
  return found;
}

bool engine_failure_take(struct engine *engine, struct failure *out_failure) {
  if (atomic_load(&engine->failures) == 0 || engine_forked(engine)) return false;
  pthread_mutex_lock(&engine->lock);
  struct cause *oldest = engine->released_failure;
  for (struct stream *stream = engine->streams; stream != NULL; stream = stream->next) {
    struct cause *cause = atomic_load_explicit(&stream->failure, memory_order_relaxed);
    if (cause != NULL && (oldest == NULL || cause->age < oldest->age)) oldest = cause;
  }
  bool found = oldest != NULL;
  if (found) {
    *out_failure = oldest->failure;
    oldest->taken = true;
    oldest->references++; /* while its holders let go of it below */
    for (struct stream *stream = engine->streams; stream != NULL; stream = stream->next) {
      for (unsigned i = 0; i < stream->lane_count; i++)
        if (stream->lanes[i]->cause == oldest) {
          atomic_store_explicit(&stream->lanes[i]->failed, UINT64_MAX, memory_order_release);
          stream->lanes[i]->cause = NULL;
          oldest->references--;
        }
      if (atomic_load_explicit(&stream->failure, memory_order_relaxed) != oldest) continue;
      atomic_store_explicit(&stream->failure, NULL, memory_order_relaxed);
      atomic_fetch_sub(&engine->failures, 1);
      oldest->references--;
    }
    if (engine->released_failure == oldest) {
      engine->released_failure = NULL;
      atomic_fetch_sub(&engine->failures, 1);
      oldest->references--;
    }
    cause_drop_locked(oldest);
  }
  pthread_mutex_unlock(&engine->lock);
  return found;
}

hrx_status engine_lost(void) {
  return hrx_fail(HRX_DEVICE_LOST, "the GPU cannot be used in a forked child of a process that had used it");
}
