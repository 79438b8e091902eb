/* The engine as a whole: life, fork, the clock of everything. */
#include "engine/engine.h"

#include <sched.h>
#include <stdlib.h>

#include "engine/graph_state.h"

enum { HOST_THREADS_MOST = 4096 };

hrx_status engine_create(const struct engine_options *options, struct engine **out_engine) {
  struct engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an engine");
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP); /* it is held for less time than a sleep takes */
  pthread_mutex_init(&engine->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  trace_ring_init(&engine->trace);
  engine->memory = options->memory;
  engine->spare.references = 1;
  unsigned copy = options->copy_threads != 0 ? options->copy_threads : 1;
  unsigned host = options->host_threads != 0 ? options->host_threads : 2;
  engine->copy = (struct crew){.name = "hrx-copy", .base = copy, .most = copy};
  engine->host = (struct crew){.name = "hrx-host", .base = host, .most = HOST_THREADS_MOST};
  *out_engine = engine;
  return HRX_OK;
}

static void streams_free(struct stream *stream) {
  while (stream != NULL) {
    struct stream *next = stream->next;
    clock_finish(&stream->clock);
    clock_finish(&stream->opaque);
    clock_finish(&stream->waits);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    stream = next;
  }
}

/* Until nothing is queued and nobody is on the way out of the last task. Host functions may submit more. */
static void drain(struct engine *engine) {
  struct clock all = {0};
  for (;;) {
    pthread_mutex_lock(&engine->lock);
    bool empty = engine->inflight == 0;
    pthread_mutex_unlock(&engine->lock);
    if (empty) break;
    if (engine_clock(engine, &all) != HRX_OK || engine_clock_wait(engine, &all, UINT64_MAX) != HRX_OK) sched_yield();
  }
  while (atomic_load(&engine->inside) != 0) sched_yield();
  clock_finish(&all);
}

bool engine_idle(struct engine *engine) {
  pthread_mutex_lock(&engine->lock);
  bool empty = engine->inflight == 0;
  pthread_mutex_unlock(&engine->lock);
  return empty && atomic_load(&engine->inside) == 0;
}

void engine_release(struct engine *engine) {
  if (engine == NULL || engine_forked(engine)) return; /* a child has neither the threads nor a state to rely on */
  drain(engine);
  crew_stop(engine, &engine->copy);
  crew_stop(engine, &engine->host);
  pthread_mutex_lock(&engine->lock);
  for (struct stream *stream = engine->streams; stream != NULL; stream = stream->next)
    stream_failure_clear_locked(stream);
  cause_drop_locked(engine->released_failure);
  poison_finish(engine);
  pthread_mutex_unlock(&engine->lock);
  streams_free(engine->streams);
  streams_free(engine->free_streams);
  frontier_pool_finish(&engine->pool);
  engine_pools_finish(engine);
  lane_table_finish(&engine->lanes);
  trace_ring_finish(&engine->trace);
  pthread_mutex_destroy(&engine->lock);
  free(engine);
}

hrx_status engine_clock(struct engine *engine, struct clock *io_clock) {
  if (engine_forked(engine)) return engine_lost();
  hrx_status status = HRX_OK;
  bool enough = false;
  while (status == HRX_OK && !enough) {
    uint32_t lanes = 0;
    pthread_mutex_lock(&engine->lock);
    for (const struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) lanes++;
    uint32_t room = io_clock->capacity != 0 ? io_clock->capacity : CLOCK_INLINE;
    enough = lanes + io_clock->count <= room;
    for (const struct lane *lane = enough ? engine->busy : NULL; lane != NULL; lane = lane->next_busy)
      clock_include(io_clock, (struct point){lane->id, lane->issued});
    pthread_mutex_unlock(&engine->lock);
    if (!enough) status = clock_reserve(io_clock, io_clock->count + lanes);
  }
  return status;
}

void engine_statistics(const struct engine *engine, struct engine_statistics *out_statistics) {
  *out_statistics = (struct engine_statistics){
      .tasks = atomic_load_explicit(&engine->statistics.tasks, memory_order_relaxed),
      .edges = atomic_load_explicit(&engine->statistics.edges, memory_order_relaxed),
      .failed = atomic_load_explicit(&engine->statistics.failed, memory_order_relaxed),
      .skipped = atomic_load_explicit(&engine->statistics.skipped, memory_order_relaxed),
      .copied_bytes = atomic_load_explicit(&engine->statistics.copied_bytes, memory_order_relaxed),
      .filled_bytes = atomic_load_explicit(&engine->statistics.filled_bytes, memory_order_relaxed),
      .dispatches = atomic_load_explicit(&engine->statistics.dispatches, memory_order_relaxed),
  };
}

struct trace_ring *engine_trace(struct engine *engine) { return &engine->trace; }

void engine_fork_prepare(struct engine *engine) {
  pthread_mutex_lock(&engine->lock);
  trace_ring_fork_prepare(&engine->trace);
  memory_fork_prepare(engine->memory);
}

void engine_fork_done(struct engine *engine, bool child) {
  if (child && atomic_load(&engine->used)) atomic_store(&engine->forked, true);
  memory_fork_done(engine->memory);
  trace_ring_fork_done(&engine->trace, child);
  pthread_mutex_unlock(&engine->lock);
}

bool engine_forked(const struct engine *engine) {
  return atomic_load_explicit(&engine->forked, memory_order_relaxed); /* set before the child has a second thread */
}
