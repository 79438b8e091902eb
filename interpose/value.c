#include "interpose/value.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "interpose/error.h"

struct value_task {
  gpu_done done;
  void *context;
  struct value_task *next; /* of those that wait */
  unsigned count, at;
  struct value_operation operations[];
};

enum { PAUSE_LEAST_NS = 20000, PAUSE_MOST_NS = 500000 };

/* The thread and those that wait. A forked child has neither; it submits nothing, so it never gets here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct value_task *waiting;
static bool watched;         /* the thread exists */
static _Atomic uint32_t beat; /* changes when there is something to look at */
static _Atomic bool asleep;   /* seq_cst with `beat`: who changes that sees this, or the thread sees the change */

static void watcher_wake(void) {
  atomic_fetch_add(&beat, 1);
  if (atomic_load(&asleep)) futex_wake(&beat, 1);
}

static bool condition_holds(const struct value_operation *operation) {
  uint64_t have = operation->bytes == 4 ? __atomic_load_n((uint32_t *)operation->address, __ATOMIC_ACQUIRE)
                                        : __atomic_load_n((uint64_t *)operation->address, __ATOMIC_ACQUIRE);
  uint64_t width = operation->bytes == 4 ? UINT32_MAX : UINT64_MAX;
  have &= operation->mask;
  switch (operation->condition) {
  case VALUE_AT_LEAST: return have >= operation->value;
  case VALUE_EQUAL: return have == operation->value;
  case VALUE_AND: return (have & operation->value) != 0;
  case VALUE_NOR: return (~(have | (operation->value & operation->mask)) & width) != 0;
  }
  return true;
}

static void value_write(const struct value_operation *operation) {
  if (operation->bytes == 4) __atomic_store_n((uint32_t *)operation->address, (uint32_t)operation->value, __ATOMIC_RELEASE);
  else __atomic_store_n((uint64_t *)operation->address, operation->value, __ATOMIC_RELEASE);
  watcher_wake();
}

/* As far as it goes now. True: the task has done all. */
static bool advance(struct value_task *task) {
  for (; task->at < task->count; task->at++) {
    const struct value_operation *operation = &task->operations[task->at];
    if (!operation->wait) value_write(operation);
    else if (!condition_holds(operation)) return false;
  }
  return true;
}

/* Takes out those that are done, which may be many, and ends them outside the lock: what follows them may come back here. */
static bool watch_once(void) {
  struct value_task *finished = NULL;
  pthread_mutex_lock(&lock);
  for (struct value_task **at = &waiting; *at != NULL;) {
    struct value_task *task = *at;
    if (!advance(task)) {
      at = &task->next;
      continue;
    }
    *at = task->next;
    task->next = finished;
    finished = task;
  }
  pthread_mutex_unlock(&lock);
  bool any = finished != NULL;
  while (finished != NULL) {
    struct value_task *task = finished;
    finished = task->next;
    task->done(task->context, NULL);
  }
  return any;
}

static void *watch(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "hrx-value");
  uint64_t pause = PAUSE_LEAST_NS;
  for (;;) {
    uint32_t seen = atomic_load(&beat);
    if (watch_once()) pause = PAUSE_LEAST_NS;
    pthread_mutex_lock(&lock);
    bool idle = waiting == NULL;
    pthread_mutex_unlock(&lock);
    atomic_store(&asleep, true);
    futex_wait(&beat, seen, idle ? UINT64_MAX : time_after(time_now_ns(), pause));
    atomic_store(&asleep, false);
    if (atomic_load(&beat) != seen) pause = PAUSE_LEAST_NS;
    else if (pause < PAUSE_MOST_NS) pause *= 2;
  }
  return NULL;
}

static int watcher_start_locked(void) {
  if (watched) return 0;
  pthread_t thread;
  sigset_t every, before;
  sigfillset(&every); /* the program's signals belong on the program's threads */
  pthread_sigmask(SIG_SETMASK, &every, &before);
  int error = pthread_create(&thread, NULL, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) return error;
  pthread_detach(thread);
  watched = true;
  return 0;
}

static void task_start(void *payload, gpu_done done, void *context) {
  struct value_task *task = payload;
  task->done = done;
  task->context = context;
  task->at = 0;
  if (advance(task)) {
    done(context, NULL);
    return;
  }
  pthread_mutex_lock(&lock);
  int error = watcher_start_locked();
  if (error == 0) {
    task->next = waiting;
    waiting = task;
  }
  pthread_mutex_unlock(&lock);
  if (error == 0) {
    watcher_wake();
    return;
  }
  struct failure failure;
  failure_capture(hrx_fail(HRX_OUT_OF_MEMORY, "no thread to wait for a value in memory: %s", strerror(error)), &failure);
  done(context, &failure);
}

hipError_t value_check(const struct value_operation *operation) {
  struct hip_state *state = NULL;
  uintptr_t address = (uintptr_t)operation->address;
  if (operation->address == NULL || (operation->wait && (unsigned)operation->condition > VALUE_NOR)) return hipErrorInvalidValue;
  if (address % operation->bytes != 0) return hipErrorInvalidValue;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  const struct allocation *allocation = memory_find(state->domain->memory, address);
  if (allocation == NULL || allocation->bytes - (address - allocation->address) < operation->bytes) return hipErrorInvalidValue;
  return hipSuccess;
}

hipError_t value_operations(const hipStreamBatchMemOpParams *parameters, unsigned count,
                            struct value_operation out_operations[VALUE_OPERATIONS_MOST], unsigned *out_count) {
  unsigned used = 0;
  if (parameters == NULL || count == 0 || count > VALUE_OPERATIONS_MOST) return hipErrorInvalidValue;
  for (unsigned i = 0; i < count; i++) {
    const hipStreamBatchMemOpParams *from = &parameters[i];
    struct value_operation operation = {.bytes = 4, .address = from->value.address, .value = from->value.value, .mask = UINT32_MAX};
    switch (from->operation) {
    case STREAM_FLUSH_REMOTE_WRITES:
    case STREAM_BARRIER: continue;
    case STREAM_WAIT_VALUE_32: operation.wait = true; break;
    case STREAM_WRITE_VALUE_32: break;
    case STREAM_WAIT_VALUE_64: operation.wait = true; /* fall through */
    case STREAM_WRITE_VALUE_64:
      operation.bytes = 8;
      operation.value = from->value.value64;
      operation.mask = UINT64_MAX;
      break;
    default: return hipErrorInvalidValue;
    }
    if (operation.wait) operation.condition = (enum value_condition)from->value.flags;
    hipError_t error = value_check(&operation);
    if (error != hipSuccess) return error;
    out_operations[used++] = operation;
  }
  *out_count = used;
  return hipSuccess;
}

hipError_t value_task(const struct value_operation *operations, unsigned count, struct task *out_task) {
  struct value_task *task = calloc(1, sizeof *task + count * sizeof *operations);
  if (task == NULL) return hipErrorOutOfMemory;
  task->count = count;
  memcpy(task->operations, operations, count * sizeof *operations);
  *out_task = (struct task){.kind = TASK_DEVICE,
                            .opaque = true,
                            .label = "value in memory",
                            .device = {.start = task_start, .release = free, .payload = task, .waits = true}};
  return hipSuccess;
}

hipError_t value_submit(struct ihipStream_t *stream, const struct value_operation *operations, unsigned count) {
  struct task task;
  struct point point;
  hipError_t error = value_task(operations, count, &task);
  if (error != hipSuccess) return error;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status != HRX_OK) free(task.device.payload);
  return error_of(status);
}
