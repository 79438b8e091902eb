#include "gpu/soft/scheduler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmmintrin.h>

#include "base/clocktime.h"
#include "base/config.h"
#include "base/futex.h"
#include "base/log.h"
#include "gpu/soft/context.h"
#include "gpu/soft/interrupt.h"

enum {
  RESIDENT_MIN = 256,       /* workgroups that may be resident at once on any machine */
  RESIDENT_PER_CORE = 32,
  IDLE_CONTEXTS = 64,       /* of each class that are kept */
  GROUPS_BETWEEN_LOOKS = 16, /* workgroups that finish before the clock is read again */
  REPORT_WAVES = 16,
  HELPED_OFTEN = 8,
  SPINS = 4000              /* pauses before an idle worker sleeps: some tens of microseconds */
};

static const uint64_t TURN_NS = 1000000; /* a dispatch gives way to others after this */
static const uint64_t DROWSY_NS = 1000000, DROWSY_FOR_NS = 50000000;
static const uint64_t BUSY_NS = 10000; /* more than it costs to wake a thread */
static const uint64_t RESIDENT_SCRATCH = UINT64_C(1) << 30;

struct soft_scheduler {
  pthread_mutex_t lock;
  /* under the lock */
  struct soft_dispatch *first, *last; /* started, with workgroups that nobody took yet */
  struct soft_context *parked, **parked_end;
  struct soft_context *idle[CONTEXT_CLASSES];
  uint32_t idle_count[CONTEXT_CLASSES];
  _Atomic uint32_t made[CONTEXT_CLASSES]; /* of each class, in use or not; read without the lock */
  uint32_t turns;     /* parked ones to run before the next becomes resident */
  uint32_t resident, resident_limit;
  uint64_t resident_scratch;
  unsigned cores, workers;
  pthread_t threads[256];
  /* hints read without it */
  _Atomic uint32_t active_count, parked_count;
  /* sleeping: a worker that finds nothing to do waits for the epoch to move */
  _Atomic uint32_t epoch, sleepers, spinners;
  _Atomic bool stopping;
  /* Waking a thread costs more than a short kernel. While those who wait for single workgroups run them themselves (`helped` counts
   * up), a start wakes nobody as long as one worker is drowsy: it looks by itself every DROWSY_NS. */
  _Atomic uint32_t helped, drowsy;
  _Atomic uint64_t helped_ns; /* when that last happened */
  _Atomic uint64_t help_took_ns; /* how long the waiter's last workgroups ran */
};

static struct soft_scheduler *scheduler_of(struct soft_dispatch *dispatch) {
  return soft_device_of(dispatch->base.device)->scheduler;
}

hrx_status scheduler_create(unsigned cores, struct soft_scheduler **out_scheduler) {
  struct soft_scheduler *scheduler = calloc(1, sizeof *scheduler);
  if (scheduler == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a scheduler");
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init(&scheduler->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  scheduler->cores = config_get()->deterministic ? 1 : cores;
  scheduler->resident_limit = cores * RESIDENT_PER_CORE > RESIDENT_MIN ? cores * RESIDENT_PER_CORE : RESIDENT_MIN;
  scheduler->parked_end = &scheduler->parked;
  *out_scheduler = scheduler;
  return HRX_OK;
}

void scheduler_release(struct soft_scheduler *scheduler) {
  if (scheduler == NULL) return;
  scheduler->stopping = true;
  scheduler->epoch++;
  futex_wake(&scheduler->epoch, 256);
  for (unsigned i = 0; i < scheduler->workers; i++) pthread_join(scheduler->threads[i], NULL);
  for (unsigned c = 0; c < CONTEXT_CLASSES; c++)
    while (scheduler->idle[c] != NULL) {
      struct soft_context *context = scheduler->idle[c];
      scheduler->idle[c] = context->next;
      context_release(context);
    }
  pthread_mutex_destroy(&scheduler->lock);
  free(scheduler);
}

uint64_t scheduler_cooperative_limit(const struct soft_scheduler *scheduler, uint32_t wave_count) {
  (void)wave_count;
  return scheduler->resident_limit;
}

/* The list of active dispatches. */

static void active_add_locked(struct soft_scheduler *scheduler, struct soft_dispatch *dispatch) {
  dispatch->previous_active = scheduler->last;
  dispatch->next_active = NULL;
  *(scheduler->last != NULL ? &scheduler->last->next_active : &scheduler->first) = dispatch;
  scheduler->last = dispatch;
}

/* Changed under the lock only, so no read-modify-write is needed. Who changes it moves `epoch` on before somebody may sleep. */
static void active_count_add_locked(struct soft_scheduler *scheduler, uint32_t more) {
  uint32_t count = atomic_load_explicit(&scheduler->active_count, memory_order_relaxed);
  atomic_store_explicit(&scheduler->active_count, count + more, memory_order_relaxed);
}

static void active_remove_locked(struct soft_scheduler *scheduler, struct soft_dispatch *dispatch) {
  *(dispatch->previous_active != NULL ? &dispatch->previous_active->next_active : &scheduler->first) = dispatch->next_active;
  *(dispatch->next_active != NULL ? &dispatch->next_active->previous_active : &scheduler->last) = dispatch->previous_active;
}

static void active_drop_locked(struct soft_scheduler *scheduler, struct soft_dispatch *dispatch) {
  if (!dispatch->active) return;
  active_remove_locked(scheduler, dispatch);
  atomic_store_explicit(&dispatch->active, false, memory_order_relaxed); /* others look under the lock again */
  active_count_add_locked(scheduler, UINT32_MAX);
}

/* Stops. The first reason stays, and none comes after the end. */

static bool stop_locked(struct soft_dispatch *dispatch, enum soft_stop stop, const struct failure *failure) {
  if (dispatch->stop != STOP_NONE || dispatch->finished) return false;
  dispatch->failure = *failure;
  dispatch->stop = stop;
  return true;
}

/* True if this was the first reason. */
static bool stop(struct soft_dispatch *dispatch, enum soft_stop why, const struct failure *failure) {
  struct soft_scheduler *scheduler = scheduler_of(dispatch);
  pthread_mutex_lock(&scheduler->lock);
  bool first = stop_locked(dispatch, why, failure);
  pthread_mutex_unlock(&scheduler->lock);
  return first;
}

/* Ends a dispatch that nobody is left to run a part of. True for the one caller who is to call finish. */
static bool end_locked(struct soft_scheduler *scheduler, struct soft_dispatch *dispatch) {
  if (dispatch->users != 0 || dispatch->finished) return false;
  if (dispatch->stop == STOP_NONE && dispatch->next_group < dispatch->total) return false;
  active_drop_locked(scheduler, dispatch);
  dispatch->finished = true;
  return true;
}

/* No lock held; the dispatch is its owner's from the call on. */
static void finish(struct soft_dispatch *dispatch) {
  gpu_done done = dispatch->done;
  void *context = dispatch->context;
  if (dispatch->stop == STOP_NONE) {
    done(context, NULL);
    return;
  }
  struct failure failure = dispatch->failure; /* the owner may reuse the dispatch inside the call */
  done(context, &failure);
}

/* Contexts. */

static uint64_t scratch_bytes(const struct soft_dispatch *dispatch) {
  return (uint64_t)dispatch->scratch_bytes_lane * SOFT_LANES * dispatch->wave_count;
}

static bool may_admit_locked(const struct soft_scheduler *scheduler, const struct soft_dispatch *dispatch) {
  if (scheduler->resident < scheduler->cores || dispatch->cooperative) return scheduler->resident < scheduler->resident_limit;
  return scheduler->resident < scheduler->resident_limit &&
         scheduler->resident_scratch + scratch_bytes(dispatch) <= RESIDENT_SCRATCH;
}

static struct soft_context *context_take_locked(struct soft_scheduler *scheduler, struct soft_dispatch *dispatch) {
  unsigned class = context_class(dispatch->wave_count);
  struct soft_context *context = scheduler->idle[class];
  hrx_status status = HRX_OK;
  if (context != NULL) {
    scheduler->idle[class] = context->next;
    scheduler->idle_count[class]--;
  } else {
    status = context_create(class, &context);
    scheduler->made[class] += status == HRX_OK;
  }
  if (status == HRX_OK) status = context_fit(context, dispatch);
  if (status != HRX_OK) {
    struct failure failure;
    failure_capture(status, &failure);
    stop_locked(dispatch, STOP_FAILED, &failure);
    scheduler->made[class] -= context != NULL;
    context_release(context);
    return NULL;
  }
  dispatch->users++;
  scheduler->resident++;
  interrupt_resident_change(1);
  scheduler->resident_scratch += scratch_bytes(dispatch);
  return context;
}

void scheduler_reserve(struct soft_scheduler *scheduler, uint32_t wave_count) {
  unsigned class = context_class(wave_count);
  uint32_t enough = scheduler->cores + 1 < IDLE_CONTEXTS ? scheduler->cores + 1 : IDLE_CONTEXTS;
  while (atomic_load_explicit(&scheduler->made[class], memory_order_relaxed) < enough) {
    struct soft_context *context = NULL;
    if (context_create(class, &context) != HRX_OK) return;
    pthread_mutex_lock(&scheduler->lock);
    bool keep = scheduler->made[class] < enough;
    if (keep) {
      scheduler->made[class]++;
      context->next = scheduler->idle[class];
      scheduler->idle[class] = context;
      scheduler->idle_count[class]++;
    }
    pthread_mutex_unlock(&scheduler->lock);
    if (!keep) context_release(context);
  }
}

/* Ends a context's workgroup for good. Finishes the dispatch if that was the last. */
static void context_return(struct soft_scheduler *scheduler, struct soft_context *context) {
  struct soft_dispatch *dispatch = context->dispatch;
  unsigned class = context_class(context->wave_capacity);
  struct soft_context *surplus = NULL;
  pthread_mutex_lock(&scheduler->lock);
  scheduler->resident--;
  interrupt_resident_change(-1);
  scheduler->resident_scratch -= scratch_bytes(dispatch);
  if (scheduler->idle_count[class] < IDLE_CONTEXTS) {
    context->next = scheduler->idle[class];
    scheduler->idle[class] = context;
    scheduler->idle_count[class]++;
  } else {
    surplus = context;
    scheduler->made[class]--;
  }
  dispatch->users--;
  bool over = end_locked(scheduler, dispatch);
  pthread_mutex_unlock(&scheduler->lock);
  context_release(surplus);
  if (over) finish(dispatch);
}

static void wake(struct soft_scheduler *scheduler, uint64_t count) {
  scheduler->epoch++;
  if (scheduler->drowsy != 0) {
    if (count == 1 && scheduler->helped >= HELPED_OFTEN) return;
    futex_wake(&scheduler->drowsy, 1);
  }
  uint32_t spinning = scheduler->spinners, sleeping = scheduler->sleepers;
  if (sleeping == 0 || count <= spinning) return;
  count -= spinning;
  futex_wake(&scheduler->epoch, count < sleeping ? (int)count : (int)sleeping);
}

static void park(struct soft_scheduler *scheduler, struct soft_context *context) {
  pthread_mutex_lock(&scheduler->lock);
  context->next = NULL;
  *scheduler->parked_end = context;
  scheduler->parked_end = &context->next;
  scheduler->parked_count++;
  pthread_mutex_unlock(&scheduler->lock);
  if (scheduler->sleepers != 0) wake(scheduler, 1);
}

/* Takes the oldest parked context, of one dispatch or (NULL) of any. */
static struct soft_context *parked_take_locked(struct soft_scheduler *scheduler, const struct soft_dispatch *only) {
  struct soft_context **link = &scheduler->parked;
  while (*link != NULL && only != NULL && (*link)->dispatch != only) link = &(*link)->next;
  struct soft_context *context = *link;
  if (context == NULL) return NULL;
  *link = context->next;
  if (scheduler->parked_end == &context->next) scheduler->parked_end = link;
  scheduler->parked_count--;
  if (scheduler->turns > 0) scheduler->turns--;
  return context;
}

/* Makes one more workgroup resident. `*out_over` is a dispatch that turned out to be over instead. */
static struct soft_context *admit_locked(struct soft_scheduler *scheduler, struct soft_dispatch *only, uint64_t *out_number,
                                         struct soft_dispatch **out_over) {
  for (;;) {
    struct soft_dispatch *dispatch = only != NULL ? only : scheduler->first;
    if (dispatch == NULL || !dispatch->active) return NULL;
    if (dispatch->stop == STOP_NONE && !may_admit_locked(scheduler, dispatch)) return NULL;
    uint64_t number = dispatch->stop == STOP_NONE ? atomic_fetch_add(&dispatch->next_group, 1) : UINT64_MAX;
    struct soft_context *context = number < dispatch->total ? context_take_locked(scheduler, dispatch) : NULL;
    if (context == NULL) { /* all taken, or stopped */
      active_drop_locked(scheduler, dispatch);
      if (!end_locked(scheduler, dispatch)) continue;
      *out_over = dispatch;
      return NULL;
    }
    if (scheduler->last != dispatch) { /* others have their turn next */
      active_remove_locked(scheduler, dispatch);
      active_add_locked(scheduler, dispatch);
    }
    scheduler->turns = scheduler->parked_count;
    *out_number = number;
    return context;
  }
}

/* Running. */

static bool crowded(const struct soft_scheduler *scheduler) {
  return scheduler->parked_count != 0 || scheduler->active_count != 0;
}

static void timeout_check(struct soft_dispatch *dispatch) {
  uint64_t limit = config_get()->timeout_ns;
  if (limit == UINT64_MAX || time_now_ns() - dispatch->started_ns < limit) return;
  struct failure failure = {.status = HRX_EXECUTION, .reason = HRX_REASON_TIME_LIMIT};
  snprintf(failure.message, sizeof failure.message, "kernel %s ran longer than the limit of %.3g s (HRX_TIMEOUT)",
           dispatch->kernel->code->name, (double)limit * 1e-9);
  if (stop(dispatch, STOP_TIMEOUT, &failure)) log_line(LOG_ERROR, "%s", failure.message);
}

/* Says where the waves of this workgroup are; a dispatch has REPORT_WAVES lines at most. */
static void places_report(struct soft_scheduler *scheduler, const struct soft_context *context) {
  struct soft_dispatch *dispatch = context->dispatch;
  for (uint32_t w = 0; w < context->group.wave_count; w++) {
    if (context->waves[w].state == WAVE_ENDED) continue;
    pthread_mutex_lock(&scheduler->lock);
    bool tell = dispatch->reported++ < REPORT_WAVES;
    pthread_mutex_unlock(&scheduler->lock);
    if (!tell) return;
    soft_report_place(dispatch, &context->waves[w]);
  }
}

/* After Ctrl-C. Stops nothing: the program must not go on with a failed kernel before the signal ends it. */
static void interrupt_report(struct soft_scheduler *scheduler, struct soft_context *context) {
  struct soft_dispatch *dispatch = context->dispatch;
  if (context->told) return;
  context->told = true;
  pthread_mutex_lock(&scheduler->lock);
  bool first = !dispatch->interrupted;
  dispatch->interrupted = true;
  pthread_mutex_unlock(&scheduler->lock);
  if (first) {
    uint64_t begun = dispatch->next_group < dispatch->total ? dispatch->next_group : dispatch->total;
    log_line(LOG_ERROR, "kernel %.160s was running when the program was interrupted (Ctrl-C); %llu of its %llu workgroups had begun",
             dispatch->kernel->code->name, (unsigned long long)begun, (unsigned long long)dispatch->total);
  }
  places_report(scheduler, context);
  interrupt_told();
}

/* Runs a context, and further workgroups of its dispatch in it, until it is parked or returned. */
static void context_work(struct soft_scheduler *scheduler, struct soft_context *context, uint64_t until_ns, bool helping) {
  struct soft_dispatch *dispatch = context->dispatch;
  unsigned looks = 0;
  for (;;) {
    struct wave *faulted = NULL;
    enum context_outcome outcome = dispatch->stop != STOP_NONE ? CONTEXT_PARKED : context_run(context, &faulted);
    if (outcome == CONTEXT_FAULTED) {
      struct failure failure;
      soft_report_fault(dispatch, faulted, &failure);
      if (stop(dispatch, STOP_FAILED, &failure)) log_line(LOG_ERROR, "%s", failure.message);
      break;
    }
    bool look = outcome == CONTEXT_PARKED || ++looks % GROUPS_BETWEEN_LOOKS == 0;
    if (look) timeout_check(dispatch);
    if (look && interrupt_wanted()) interrupt_report(scheduler, context);
    if (dispatch->stop != STOP_NONE) {
      if (outcome == CONTEXT_PARKED && dispatch->stop == STOP_TIMEOUT) places_report(scheduler, context);
      break;
    }
    bool leave = look && (helping || crowded(scheduler)) && time_now_ns() >= until_ns;
    if (outcome == CONTEXT_PARKED) {
      if (!leave && !crowded(scheduler)) continue;
      park(scheduler, context);
      return;
    }
    if (leave) break;
    uint64_t number = atomic_fetch_add(&dispatch->next_group, 1);
    if (number >= dispatch->total) break;
    context_begin(context, number);
  }
  if (helping) {
    uint64_t began = atomic_load_explicit(&scheduler->helped_ns, memory_order_relaxed);
    atomic_store_explicit(&scheduler->help_took_ns, time_now_ns() - began, memory_order_relaxed);
  }
  context_return(scheduler, context);
  /* What it held may be what the next workgroup lacks: a worker looks by itself, but a helper leaves. */
  if (helping && scheduler->active_count != 0 && scheduler->sleepers != 0) wake(scheduler, 1);
}

/* Counts who ran the first workgroup of a dispatch. Hints: nothing depends on their order. */
static void helped_note(struct soft_scheduler *scheduler, bool by_waiter) {
  uint32_t before = atomic_load_explicit(&scheduler->helped, memory_order_relaxed);
  if (by_waiter) atomic_store_explicit(&scheduler->helped_ns, time_now_ns(), memory_order_relaxed);
  if (!by_waiter || before < 2 * HELPED_OFTEN)
    atomic_store_explicit(&scheduler->helped, by_waiter ? before + 1 : before / 2, memory_order_relaxed);
}

/* One turn with any dispatch, or with `only`. False if there was nothing to do. */
static bool turn(struct soft_scheduler *scheduler, struct soft_dispatch *only, uint64_t until_ns) {
  struct soft_context *context = NULL;
  struct soft_dispatch *over = NULL;
  uint64_t number = UINT64_MAX;
  pthread_mutex_lock(&scheduler->lock);
  if (scheduler->turns > 0) context = parked_take_locked(scheduler, only);
  if (context == NULL) context = admit_locked(scheduler, only, &number, &over);
  if (context == NULL && over == NULL) context = parked_take_locked(scheduler, only);
  pthread_mutex_unlock(&scheduler->lock);
  if (over != NULL) {
    finish(over);
    return true;
  }
  if (context == NULL) return false;
  if (number != UINT64_MAX) {
    if (number == 0) helped_note(scheduler, only != NULL);
    context_begin(context, number);
  }
  context_work(scheduler, context, until_ns, only != NULL);
  return true;
}

static bool drowsy_now(struct soft_scheduler *scheduler) {
  return scheduler->helped >= HELPED_OFTEN && time_now_ns() - scheduler->helped_ns < DROWSY_FOR_NS;
}

/* Waits for work. `epoch` was read before the caller looked for some. */
static void rest(struct soft_scheduler *scheduler, uint32_t epoch, bool alone) {
  uint32_t nobody = 0;
  if (scheduler->helped < HELPED_OFTEN && !alone) {
    /* who waits for the next launch finds a worker awake */
    scheduler->spinners++;
    for (unsigned i = 0; i < SPINS && scheduler->epoch == epoch; i++) _mm_pause();
    scheduler->spinners--;
  }
  if (scheduler->epoch != epoch && scheduler->helped < HELPED_OFTEN) return;
  if (drowsy_now(scheduler) && atomic_compare_exchange_strong(&scheduler->drowsy, &nobody, 1)) {
    /* Who started work after seeing this worker drowsy did so before drowsy is 0 again, so the look that follows finds it. */
    futex_wait(&scheduler->drowsy, 1, time_now_ns() + DROWSY_NS);
    scheduler->drowsy = 0;
    return;
  }
  scheduler->sleepers++;
  futex_wait(&scheduler->epoch, epoch, UINT64_MAX);
  scheduler->sleepers--;
}

static void *worker(void *argument) {
  struct soft_scheduler *scheduler = argument;
  bool alone = config_get()->soft_cores == 1;
  _mm_setcsr(0x1f80);
  for (;;) {
    /* read before all that it stands for, the end included: whoever changes something later moves it on */
    uint32_t epoch = scheduler->epoch;
    if (scheduler->stopping) break;
    if (crowded(scheduler) && turn(scheduler, NULL, time_now_ns() + TURN_NS)) continue;
    rest(scheduler, epoch, alone);
  }
  return NULL;
}

/* Starts a thread if all are busy and one more is allowed. */
static void worker_start_locked(struct soft_scheduler *scheduler) {
  if (scheduler->workers == scheduler->cores) return;
  if (scheduler->workers == 0) interrupt_watch();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
  pthread_t *thread = &scheduler->threads[scheduler->workers];
  if (pthread_create(thread, NULL, worker, scheduler) == 0) {
    char name[16];
    snprintf(name, sizeof name, "hrx-soft-%u", scheduler->workers);
    pthread_setname_np(*thread, name);
    scheduler->workers++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void scheduler_start(struct gpu_dispatch *base, gpu_done done, void *context) {
  struct soft_dispatch *dispatch = (struct soft_dispatch *)(void *)base;
  struct soft_scheduler *scheduler = scheduler_of(dispatch);
  dispatch->done = done;
  dispatch->context = context;
  /* relaxed: the lock below publishes them */
  atomic_store_explicit(&dispatch->next_group, 0, memory_order_relaxed);
  atomic_store_explicit(&dispatch->stop, STOP_NONE, memory_order_relaxed);
  dispatch->users = dispatch->reported = 0;
  dispatch->interrupted = false;
  dispatch->started_ns = config_get()->timeout_ns != UINT64_MAX ? time_now_ns() : 0;
  uint64_t useful = dispatch->total; /* the dispatch may be over as soon as the lock is let go */
  pthread_mutex_lock(&scheduler->lock);
  dispatch->finished = false;
  atomic_store_explicit(&dispatch->active, true, memory_order_relaxed);
  active_add_locked(scheduler, dispatch);
  active_count_add_locked(scheduler, 1);
  uint64_t idle = scheduler->spinners + scheduler->sleepers;
  if (scheduler->workers < scheduler->cores)
    for (; idle < useful && scheduler->workers < scheduler->cores; idle++) worker_start_locked(scheduler);
  if (scheduler->workers == 0) {
    struct failure failure = {.status = HRX_OUT_OF_MEMORY, .message = "no thread could be started to run kernels"};
    stop_locked(dispatch, STOP_FAILED, &failure);
    end_locked(scheduler, dispatch);
    pthread_mutex_unlock(&scheduler->lock);
    finish(dispatch);
    return;
  }
  pthread_mutex_unlock(&scheduler->lock);
  wake(scheduler, useful);
}

bool scheduler_help(struct gpu_dispatch *base, uint64_t slice_ns) {
  struct soft_dispatch *dispatch = (struct soft_dispatch *)(void *)base;
  struct soft_scheduler *scheduler = scheduler_of(dispatch);
  if (config_get()->deterministic) return false;
  /* a waiter asks again and again: do not take the lock from the workers for nothing */
  if (!dispatch->active && scheduler->parked_count == 0) return false;
  uint32_t mxcsr = _mm_getcsr();
  _mm_setcsr(0x1f80);
  /* a waiter whose kernels take their time leaves what else there is to the drowsy worker */
  bool busy = atomic_load_explicit(&scheduler->help_took_ns, memory_order_relaxed) > BUSY_NS;
  if (busy && scheduler->active_count > 1 && scheduler->drowsy != 0) futex_wake(&scheduler->drowsy, 1);
  bool worked = turn(scheduler, dispatch, time_after(time_now_ns(), slice_ns));
  _mm_setcsr(mxcsr);
  return worked;
}

void scheduler_cancel(struct gpu_dispatch *base) {
  struct soft_dispatch *dispatch = (struct soft_dispatch *)(void *)base;
  struct soft_scheduler *scheduler = scheduler_of(dispatch);
  struct failure failure = {.status = HRX_CANCELLED};
  snprintf(failure.message, sizeof failure.message, "kernel %s was cancelled", dispatch->kernel->code->name);
  stop(dispatch, STOP_CANCELLED, &failure);
  wake(scheduler, 1);
}

void scheduler_fork_prepare(struct soft_scheduler *scheduler) { pthread_mutex_lock(&scheduler->lock); }

void scheduler_fork_done(struct soft_scheduler *scheduler, bool child) {
  if (child) {
    /* contexts of vanished threads are in an unknown state: they are left where they are */
    scheduler->first = scheduler->last = NULL;
    scheduler->parked = NULL;
    scheduler->parked_end = &scheduler->parked;
    scheduler->turns = scheduler->resident = 0;
    scheduler->resident_scratch = 0;
    scheduler->active_count = scheduler->parked_count = 0;
    scheduler->sleepers = scheduler->spinners = scheduler->drowsy = scheduler->helped = 0;
    scheduler->workers = 0;
    interrupt_fork_child();
  }
  pthread_mutex_unlock(&scheduler->lock);
}
