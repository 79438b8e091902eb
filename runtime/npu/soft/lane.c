/* The device's thread: runs what was started, in the order of the starts. Pushing is one exchange on a list head; the thread
 * sleeps on a word that every push changes. */
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "npu/soft/parts.h"

static const uint64_t SPIN_NS = 5000; /* about what waking a sleeper costs */

static void run_failed(const struct npu_soft_invocation *invocation, int code, struct failure *out_failure) {
  const struct npu_soft_program *program = invocation->program;
  *out_failure = (struct failure){.status = HRX_EXECUTION, .reason = HRX_REASON_NONE};
  const char *message = invocation->message;
  snprintf(out_failure->message, sizeof out_failure->message, "NPU program %.200s: kernel %.100s failed with code %d%s%s",
           program->source, program->base.info.name, code, message[0] != '\0' ? ": " : "", message);
}

static void invocation_run(struct npu_soft_device *device, struct npu_soft_invocation *invocation) {
  struct failure failure = {.status = HRX_OK};
  uint32_t queued = NPU_SOFT_QUEUED;
  if (atomic_compare_exchange_strong(&invocation->state, &queued, NPU_SOFT_RUNNING)) {
    invocation->message[0] = '\0';
    int code = invocation->program->kernel->run(&invocation->call);
    invocation->message[sizeof invocation->message - 1] = '\0';
    if (code != 0) run_failed(invocation, code, &failure);
    atomic_fetch_add(code == 0 ? &device->completed : &device->failed, 1);
  } else {
    failure.status = HRX_CANCELLED;
    snprintf(failure.message, sizeof failure.message, "NPU kernel %.100s was cancelled before it ran",
             invocation->program->base.info.name);
    atomic_fetch_add(&device->cancelled, 1);
  }
  gpu_done done = invocation->done;
  void *context = invocation->context;
  atomic_store(&invocation->state, NPU_SOFT_IDLE); /* from here on it is the caller's */
  done(context, failure.status != HRX_OK ? &failure : NULL);
}

/* The oldest invocation of the inbox, which is then empty, linked to the younger ones; or NULL. */
static struct npu_soft_invocation *inbox_take(struct npu_soft_lane *lane) {
  struct npu_soft_invocation *newest = atomic_exchange(&lane->inbox, NULL), *oldest = NULL;
  while (newest != NULL) {
    struct npu_soft_invocation *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

/* Until something was pushed or the lane stops. Sequentially consistent throughout: either the pusher sees `sleeping`, or
 * this sees what was pushed. */
static void lane_idle(struct npu_soft_lane *lane) {
  uint64_t deadline = time_after(time_now_ns(), SPIN_NS);
  while (time_now_ns() < deadline)
    if (atomic_load(&lane->inbox) != NULL || atomic_load(&lane->stop)) return;
  uint32_t beat = atomic_load(&lane->beat);
  atomic_store(&lane->sleeping, 1);
  if (atomic_load(&lane->inbox) == NULL && !atomic_load(&lane->stop)) futex_wait(&lane->beat, beat, UINT64_MAX);
  atomic_store(&lane->sleeping, 0);
}

static void *lane_main(void *context) {
  struct npu_soft_device *device = context;
  struct npu_soft_lane *lane = &device->lane;
  pthread_setname_np(pthread_self(), "hrx-npu");
  fesetenv(FE_DFL_ENV); /* not that of whoever made the first invocation */
  for (;;) {
    bool stop = atomic_load(&lane->stop); /* before the look: what was pushed before the stop still runs */
    struct npu_soft_invocation *invocation = inbox_take(lane);
    if (invocation == NULL && stop) return NULL;
    if (invocation == NULL) lane_idle(lane);
    while (invocation != NULL) {
      struct npu_soft_invocation *next = invocation->next; /* it may be started again inside `done` */
      invocation_run(device, invocation);
      invocation = next;
    }
  }
}

hrx_status npu_soft_lane_ensure_locked(struct npu_soft_device *device) {
  if (device->lane.started) return HRX_OK;
  sigset_t every, before;
  sigfillset(&every); /* the program's signals belong on the program's threads */
  pthread_sigmask(SIG_SETMASK, &every, &before);
  int error = pthread_create(&device->lane.thread, NULL, lane_main, device);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) return hrx_fail(HRX_OUT_OF_MEMORY, "cannot start the NPU's thread: %s", strerror(error));
  device->lane.started = true;
  return HRX_OK;
}

static void lane_wake(struct npu_soft_lane *lane) {
  atomic_fetch_add(&lane->beat, 1);
  if (atomic_load(&lane->sleeping) != 0) futex_wake(&lane->beat, 1);
}

void npu_soft_lane_stop(struct npu_soft_lane *lane) {
  atomic_store(&lane->stop, true);
  lane_wake(lane);
  pthread_join(lane->thread, NULL);
  while (atomic_load(&lane->inside) != 0) sched_yield();
}

void npu_soft_invocation_start(struct npu_invocation *base, gpu_done done, void *context) {
  struct npu_soft_invocation *invocation = (struct npu_soft_invocation *)base;
  struct npu_soft_device *device = npu_soft_device_of(base->device);
  if (npu_soft_alive(device) != HRX_OK) {
    struct failure failure;
    failure_capture(HRX_DEVICE_LOST, &failure);
    done(context, &failure);
    return;
  }
  struct npu_soft_lane *lane = &device->lane;
  invocation->done = done;
  invocation->context = context;
  atomic_fetch_add(&lane->inside, 1);
  atomic_store(&invocation->state, NPU_SOFT_QUEUED);
  invocation->next = atomic_load(&lane->inbox);
  while (!atomic_compare_exchange_weak(&lane->inbox, &invocation->next, invocation)) {
  }
  lane_wake(lane);
  atomic_fetch_sub(&lane->inside, 1);
}

void npu_soft_invocation_cancel(struct npu_invocation *base) {
  struct npu_soft_invocation *invocation = (struct npu_soft_invocation *)base;
  uint32_t queued = NPU_SOFT_QUEUED;
  atomic_compare_exchange_strong(&invocation->state, &queued, NPU_SOFT_CANCELLED);
}
