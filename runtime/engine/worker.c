/* Crews: threads of the engine for copies and for host functions. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "base/log.h"
#include "engine/state.h"

static const uint64_t IDLE_NS = UINT64_C(1000000000); /* a thread beyond the base leaves after this */

struct crew *crew_of(struct engine *engine, const struct slot *slot) {
  return slot->task.kind == TASK_HOST ? &engine->host : &engine->copy;
}

static int slot_priority(const struct slot *slot) { return slot->stream != NULL ? slot->stream->priority : 0; }

/* Behind all of its priority. */
void crew_push_locked(struct crew *crew, struct slot *slot) {
  struct slot *before = crew->last;
  while (before != NULL && slot_priority(before) < slot_priority(slot)) before = before->previous;
  slot->previous = before;
  slot->next = before != NULL ? before->next : crew->first;
  if (slot->next != NULL)
    slot->next->previous = slot;
  else
    crew->last = slot;
  if (before != NULL)
    before->next = slot;
  else
    crew->first = slot;
  crew->queued++;
  atomic_fetch_add(&crew->beat, 1);
}

void crew_remove_locked(struct crew *crew, struct slot *slot) {
  if (slot->previous != NULL)
    slot->previous->next = slot->next;
  else
    crew->first = slot->next;
  if (slot->next != NULL)
    slot->next->previous = slot->previous;
  else
    crew->last = slot->previous;
  slot->next = slot->previous = NULL;
  crew->queued--;
  atomic_store_explicit(&slot->state, SLOT_CLAIMED, memory_order_relaxed);
}

/* Waits for work. False if the thread should leave. */
static bool crew_sleep_locked(struct engine *engine, struct crew *crew) {
  uint64_t deadline = time_after(time_now_ns(), IDLE_NS);
  crew->idle++;
  while (crew->first == NULL && !crew->stop && (crew->live <= crew->base || time_now_ns() < deadline)) {
    uint32_t beat = atomic_load(&crew->beat);
    uint64_t until = crew->live > crew->base ? deadline : UINT64_MAX;
    pthread_mutex_unlock(&engine->lock);
    futex_wait(&crew->beat, beat, until);
    pthread_mutex_lock(&engine->lock);
  }
  crew->idle--;
  return crew->first != NULL;
}

static void worker_unlink_locked(struct worker *worker) {
  struct worker **link = &worker->crew->workers;
  while (*link != worker) link = &(*link)->next;
  *link = worker->next;
}

static void *worker_main(void *context) {
  struct worker *worker = context;
  struct engine *engine = worker->engine;
  struct crew *crew = worker->crew;
  pthread_setname_np(pthread_self(), crew->name);
  pthread_mutex_lock(&engine->lock);
  worker->thread = pthread_self();
  crew->starting--;
  while (crew->first != NULL || crew_sleep_locked(engine, crew)) {
    struct slot *slot = crew->first;
    crew_remove_locked(crew, slot);
    pthread_mutex_unlock(&engine->lock);
    task_run(slot);
    pthread_mutex_lock(&engine->lock);
  }
  crew->live--;
  /* crew_stop joins whom it finds in the list; who leaves earlier is nobody's to join. `inside` keeps the engine until
   * this thread has let go of its lock. */
  bool alone = !crew->stop;
  if (alone) {
    atomic_fetch_add(&engine->inside, 1);
    worker_unlink_locked(worker);
  }
  pthread_mutex_unlock(&engine->lock);
  if (alone) {
    atomic_fetch_sub(&engine->inside, 1);
    free(worker);
    pthread_detach(pthread_self());
  }
  return NULL;
}

/* Starts a thread; the caller has counted it in `live` and `starting`. */
static hrx_status worker_start(struct engine *engine, struct crew *crew) {
  struct worker *worker = calloc(1, sizeof *worker);
  int error = worker == NULL ? ENOMEM : 0;
  if (error == 0) {
    worker->engine = engine;
    worker->crew = crew;
    pthread_mutex_lock(&engine->lock);
    worker->next = crew->workers;
    crew->workers = worker;
    pthread_mutex_unlock(&engine->lock);
    /* the program's signals belong on the program's threads */
    pthread_t thread;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    error = pthread_create(&thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  if (error == 0) return HRX_OK;
  pthread_mutex_lock(&engine->lock);
  if (worker != NULL) worker_unlink_locked(worker);
  crew->live--;
  crew->starting--;
  pthread_mutex_unlock(&engine->lock);
  free(worker);
  return hrx_fail(HRX_OUT_OF_MEMORY, "cannot start a thread for %s: %s", crew->name, strerror(error));
}

hrx_status crew_ensure(struct engine *engine, struct crew *crew) {
  pthread_mutex_lock(&engine->lock);
  bool start = crew->live == 0;
  if (start) {
    crew->live++;
    crew->starting++;
  }
  pthread_mutex_unlock(&engine->lock);
  return start ? worker_start(engine, crew) : HRX_OK;
}

void crew_wake(struct engine *engine, struct crew *crew) {
  bool start = true;
  while (start) { /* one step may have queued several tasks, which may wait for each other */
    pthread_mutex_lock(&engine->lock);
    unsigned wake = crew->idle > 0 ? crew->queued : 0;
    start = crew->queued > crew->idle + crew->starting && crew->live < crew->most && !crew->stop;
    if (start) {
      crew->live++;
      crew->starting++;
    }
    pthread_mutex_unlock(&engine->lock);
    if (wake > 0) futex_wake(&crew->beat, wake < INT32_MAX ? (int)wake : INT32_MAX);
    if (start && worker_start(engine, crew) != HRX_OK) {
      log_line(LOG_WARN, "%s", hrx_last_message());
      break;
    }
  }
  if (!start || crew == &engine->host) return; /* submit made sure of one host thread; it will come to the task */
  for (;;) { /* with no copy thread at all, whoever made the task ready runs it */
    pthread_mutex_lock(&engine->lock);
    struct slot *slot = crew->live == 0 ? crew->first : NULL;
    if (slot != NULL) crew_remove_locked(crew, slot);
    pthread_mutex_unlock(&engine->lock);
    if (slot == NULL) return;
    task_run(slot);
  }
}

void crew_stop(struct engine *engine, struct crew *crew) {
  struct worker *workers = NULL;
  bool started = false;
  while (!started) { /* a thread says who it is when it starts */
    pthread_mutex_lock(&engine->lock);
    crew->stop = true;
    started = crew->starting == 0;
    if (started) {
      workers = crew->workers;
      crew->workers = NULL;
      atomic_fetch_add(&crew->beat, 1);
    }
    pthread_mutex_unlock(&engine->lock);
    if (!started) sched_yield();
  }
  futex_wake(&crew->beat, INT32_MAX);
  while (workers != NULL) {
    struct worker *worker = workers;
    workers = worker->next;
    pthread_join(worker->thread, NULL);
    free(worker);
  }
  while (atomic_load(&engine->inside) != 0) sched_yield();
}
