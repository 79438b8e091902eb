/* Submitting, and what becomes of it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clocktime.h"
#include "native/executable.h"

enum { AFTER_STACK = 32 };

/* --- completions are pooled --- */

static void pool_enter(struct hrx_executable *executable) {
  /* acquire: pairs with the release in pool_leave */
  for (unsigned tries = 0; atomic_exchange_explicit(&executable->pool_lock, 1, memory_order_acquire) != 0; tries++)
    if (tries >= 64)
      sched_yield();
    else
      __builtin_ia32_pause();
}

static void pool_leave(struct hrx_executable *executable) {
  atomic_store_explicit(&executable->pool_lock, 0, memory_order_release);
}

static struct hrx_completion *completion_take(struct hrx_executable *executable) {
  pool_enter(executable);
  struct hrx_completion *completion = executable->pool;
  if (completion != NULL) executable->pool = completion->next;
  pool_leave(executable);
  if (completion == NULL) completion = malloc(sizeof *completion);
  if (completion != NULL) {
    atomic_store_explicit(&completion->references, 1, memory_order_relaxed);
    completion->executable = executable;
    completion->run = NULL;
  }
  return completion;
}

static void completion_return(struct hrx_completion *completion) {
  struct hrx_executable *executable = completion->executable;
  pool_enter(executable);
  completion->next = executable->pool;
  executable->pool = completion;
  pool_leave(executable);
}

hrx_completion *hrx_completion_retain(hrx_completion *completion) {
  if (completion != NULL) atomic_fetch_add_explicit(&completion->references, 1, memory_order_relaxed); /* the caller has one */
  return completion;
}

void hrx_completion_release(hrx_completion *completion) {
  /* acq_rel: what others did with it comes before its end */
  if (completion == NULL || atomic_fetch_sub_explicit(&completion->references, 1, memory_order_acq_rel) != 1) return;
  struct run *run = completion->run;
  completion_return(completion);
  run_release(run); /* last: the executable, and the pool in it, may go with it */
}

/* --- submitting --- */

/* HRX_ORDER_SUBMISSION: the newest run is remembered while it is in flight. */
static void last_forget(void *context, struct run *run) {
  struct hrx_runtime *runtime = hrx_runtime_retain(context); /* its executable may go below */
  pthread_mutex_lock(&runtime->opening);
  bool found = runtime->last == run;
  if (found) runtime->last = NULL;
  pthread_mutex_unlock(&runtime->opening);
  if (found) run_release(run);
  hrx_runtime_release(runtime);
}

static hrx_status submit_in_order(struct hrx_executable *executable, struct run_options *options, struct run **out_run) {
  struct hrx_runtime *runtime = executable->runtime;
  struct run *before = NULL;
  options->done = last_forget;
  options->context = runtime;
  pthread_mutex_lock(&runtime->opening);
  options->follow = runtime->last;
  hrx_status status = graph_submit(executable->graph, options, out_run);
  if (status == HRX_OK) {
    before = runtime->last;
    run_retain(*out_run);
    runtime->last = *out_run;
  }
  pthread_mutex_unlock(&runtime->opening);
  run_release(before);
  return status;
}

static hrx_status submit(struct hrx_executable *executable, struct run *const *after, size_t count, hrx_completion **out_completion) {
  struct hrx_runtime *runtime = executable->runtime;
  struct hrx_completion *completion = completion_take(executable);
  if (completion == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a completion");
  struct run_options options = {.after = after, .after_count = count};
  hrx_status status = runtime->options.order == HRX_ORDER_SUBMISSION ? submit_in_order(executable, &options, &completion->run)
                                                                      : graph_submit(executable->graph, &options, &completion->run);
  if (status != HRX_OK) {
    completion_return(completion);
    return status;
  }
  atomic_fetch_add_explicit(&runtime->statistics.submissions, 1, memory_order_relaxed);
  if (out_completion != NULL)
    *out_completion = completion;
  else
    hrx_completion_release(completion);
  return HRX_OK;
}

hrx_status hrx_executable_submit(hrx_executable *executable, hrx_completion **out_completion) {
  return submit(executable, NULL, 0, out_completion);
}

hrx_status hrx_executable_submit_after(hrx_executable *executable, hrx_completion *const *after, size_t count,
                                       hrx_completion **out_completion) {
  struct run *few[AFTER_STACK], **runs = count <= AFTER_STACK ? few : malloc(count * sizeof(*runs));
  if (runs == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu completions", count);
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < count; i++) {
    if (after[i] == NULL)
      status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "submit_after: completion %zu is NULL", i);
    else if (after[i]->executable->runtime->domain != executable->runtime->domain)
      status = hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "submit_after: completion %zu belongs to another runtime", i);
    else
      runs[i] = after[i]->run;
  }
  if (status == HRX_OK) status = submit(executable, runs, count, out_completion);
  if (runs != few) free(runs);
  return status;
}

/* --- observing --- */

bool hrx_completion_is_complete(const hrx_completion *completion) { return run_over(completion->run); }

static hrx_status result(const struct hrx_completion *completion) {
  struct failure failure;
  run_result(completion->run, &failure);
  return failure_restore(&failure);
}

hrx_status hrx_completion_wait(hrx_completion *completion) {
  hrx_status status = run_wait(completion->run, UINT64_MAX);
  return status == HRX_OK ? result(completion) : status;
}

hrx_status hrx_completion_wait_timeout(hrx_completion *completion, uint64_t nanoseconds) {
  hrx_status status = run_wait(completion->run, time_after(time_now_ns(), nanoseconds));
  return status == HRX_OK ? result(completion) : status;
}

hrx_status hrx_completion_result(const hrx_completion *completion) {
  if (!run_over(completion->run)) return hrx_fail_reason(HRX_BUSY, HRX_REASON_DEVICE_WORK, "the submission is not complete");
  return result(completion);
}

hrx_status hrx_completion_cancel(hrx_completion *completion) {
  run_cancel(completion->run);
  return HRX_OK;
}

hrx_status structure_copy(const void *structure, size_t size, void *io_structure, const char *name) {
  size_t room;
  memcpy(&room, io_structure, sizeof room);
  if (room < sizeof room || room > size)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%s: a size of %zu bytes, this library knows %zu", name, room, size);
  memcpy((char *)io_structure + sizeof room, (const char *)structure + sizeof room, room - sizeof room);
  return HRX_OK;
}

hrx_status hrx_completion_profile(const hrx_completion *completion, hrx_profile *io_profile) {
  uint64_t submitted, started, finished;
  run_times(completion->run, &submitted, &started, &finished);
  uint64_t until = finished != 0 ? finished : time_now_ns();
  if (started == 0 || started > until) started = until; /* not yet, or never */
  hrx_profile profile = {.size = sizeof profile, .queued_ns = started - submitted, .run_ns = until - started};
  return structure_copy(&profile, sizeof profile, io_profile, "hrx_profile");
}

hrx_status hrx_completion_event_fd(hrx_completion *completion, int *out_descriptor) {
  if (out_descriptor == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_completion_event_fd: NULL result");
  return run_event_fd(completion->run, out_descriptor);
}

/* --- callbacks --- */

struct callback {
  hrx_completion_function function;
  void *context;
  struct hrx_completion *completion; /* a reference */
};

static void callback_call(void *context, struct run *run) {
  (void)run;
  const struct callback callback = *(struct callback *)context;
  free(context);
  callback.function(callback.context, callback.completion);
  hrx_completion_release(callback.completion);
}

hrx_status hrx_completion_on_complete(hrx_completion *completion, hrx_completion_function function, void *context) {
  if (function == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_completion_on_complete: NULL function");
  struct callback *callback = malloc(sizeof *callback);
  if (callback == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a callback");
  *callback = (struct callback){function, context, completion};
  hrx_completion_retain(completion);
  hrx_status status = run_tell(completion->run, callback_call, callback);
  if (status != HRX_OK) {
    free(callback);
    hrx_completion_release(completion); /* the caller has another reference */
  }
  return status;
}
