#include "interpose/ipc_event.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "interpose/error.h"
#include "interpose/ipc.h"

enum { PAGE = 4096 };
static const uint64_t LOOK_NS = UINT64_C(50000000); /* how often a waiter asks whether the other process is still there */

/* What is shared. The other process may write anything here: it is only ever compared. */
struct event_page {
  _Atomic uint32_t recorded, reached; /* numbers of records; they wrap */
  _Atomic int32_t recorder;           /* the process of the last record */
};

struct ipc_event {
  struct event_page *page;
  struct shared *file;
  _Atomic unsigned references; /* the event, and a queued record or wait each */
};

static hipError_t page_show(struct shared *file, struct ipc_event **out_event) {
  struct ipc_event *event = shared_bytes(file) >= PAGE ? calloc(1, sizeof *event) : NULL;
  void *page = event != NULL ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shared_descriptor(file), 0) : MAP_FAILED;
  if (page == MAP_FAILED) {
    free(event);
    return hipErrorOutOfMemory;
  }
  event->page = page;
  event->file = file;
  atomic_init(&event->references, 1);
  *out_event = event;
  return hipSuccess;
}

static hipError_t show_or_release(struct shared *file, struct ipc_event **out_event) {
  hipError_t error = page_show(file, out_event);
  if (error != hipSuccess) shared_release(state_existing()->domain->memory, file);
  return error;
}

hipError_t ipc_event_create(struct ipc_event **out_event) {
  struct shared *file = NULL;
  hipError_t error = error_of(shared_create(state_existing()->domain->memory, PAGE, false, &file));
  return error == hipSuccess ? show_or_release(file, out_event) : error;
}

hipError_t ipc_event_open(const hipIpcEventHandle_t *bytes, struct ipc_event **out_event) {
  struct ipc_handle handle;
  struct shared *file = NULL;
  int descriptor = -1;
  hipError_t error = ipc_handle_open(bytes, IPC_EVENT, hipErrorInvalidValue, &handle, &descriptor);
  if (error != hipSuccess) return error;
  error = error_of(shared_open(state_existing()->domain->memory, descriptor, &file));
  close(descriptor);
  return error == hipSuccess ? show_or_release(file, out_event) : error;
}

void ipc_event_release(struct ipc_event *event) {
  if (event == NULL || atomic_fetch_sub(&event->references, 1) != 1) return;
  munmap(event->page, PAGE);
  shared_release(state_existing()->domain->memory, event->file);
  free(event);
}

hipError_t ipc_event_handle(const struct ipc_event *event, hipIpcEventHandle_t *out_handle) {
  return ipc_handle_make(shared_descriptor(event->file), IPC_EVENT, PAGE, 0, out_handle);
}

uint32_t ipc_event_last(const struct ipc_event *event) { return atomic_load(&event->page->recorded); }

static bool reached(const struct ipc_event *event, uint32_t number) {
  return (int32_t)(atomic_load(&event->page->reached) - number) >= 0;
}

bool ipc_event_over(const struct ipc_event *event) { return reached(event, ipc_event_last(event)); }

/* A record or a wait on its way through a stream. */
struct passage {
  struct ipc_event *event;
  uint32_t number;
};

static void passage_release(void *context) {
  struct passage *passage = context;
  ipc_event_release(passage->event);
  free(passage);
}

static hrx_status passage_submit(struct ipc_event *event, uint32_t number, task_host_function call, bool run_always,
                                 struct ihipStream_t *stream, struct point *out_point) {
  struct passage *passage = malloc(sizeof *passage);
  if (passage == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an event's record");
  *passage = (struct passage){event, number};
  atomic_fetch_add(&event->references, 1);
  struct task task = {.kind = TASK_HOST,
                      .opaque = true,
                      .run_always = run_always,
                      .label = "event of several processes",
                      .host = {.call = call, .context = passage, .release = passage_release}};
  hrx_status status = hip_stream_submit(stream, &task, out_point);
  if (status != HRX_OK) passage_release(passage);
  return status;
}

static hrx_status number_reach(void *context) {
  const struct passage *passage = context;
  _Atomic uint32_t *word = &passage->event->page->reached;
  uint32_t now = atomic_load(word);
  while ((int32_t)(now - passage->number) < 0 && !atomic_compare_exchange_weak(word, &now, passage->number)) {}
  futex_wake_shared(word, INT32_MAX);
  return HRX_OK;
}

hrx_status ipc_event_record(struct ipc_event *event, struct ihipStream_t *stream, uint32_t *out_number, struct clock *io_clock) {
  struct point point;
  atomic_store(&event->page->recorder, getpid()); /* first: who sees the number must not take a process before for its maker */
  uint32_t number = atomic_fetch_add(&event->page->recorded, 1) + 1;
  hrx_status status = passage_submit(event, number, number_reach, true, stream, &point);
  if (status != HRX_OK) { /* nobody will reach the number: it must not be waited for */
    number_reach(&(struct passage){event, number});
    return status;
  }
  *out_number = number;
  return clock_include(io_clock, point);
}

/* Not there, or ended and not yet waited for by its parent. */
static bool process_gone(pid_t process) {
  char path[64], line[256] = "";
  if (process <= 0) return true;
  if (kill(process, 0) != 0 && errno == ESRCH) return true;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false; /* out of sight, but there */
  size_t got = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[got] = 0;
  const char *behind_name = strrchr(line, ')');
  return behind_name != NULL && (behind_name[1] == ' ') && (behind_name[2] == 'Z' || behind_name[2] == 'X');
}

static hrx_status number_wait(void *context) {
  const struct passage *passage = context;
  const struct ipc_event *event = passage->event;
  while (!reached(event, passage->number)) {
    uint32_t now = atomic_load(&event->page->reached);
    if ((int32_t)(now - passage->number) >= 0) break;
    futex_wait_shared(&event->page->reached, now, time_now_ns() + LOOK_NS);
    pid_t recorder = atomic_load(&event->page->recorder);
    if (!reached(event, passage->number) && process_gone(recorder))
      return hrx_fail(HRX_EXECUTION, "process %d ended before the event that it recorded", recorder);
  }
  return HRX_OK;
}

hipError_t ipc_event_wait(struct ipc_event *event) {
  return error_of(number_wait(&(struct passage){event, ipc_event_last(event)}));
}

hipError_t ipc_event_follow(struct ipc_event *event, struct ihipStream_t *stream) {
  struct point point;
  uint32_t number = ipc_event_last(event);
  if (reached(event, number)) return hipSuccess;
  return error_of(passage_submit(event, number, number_wait, false, stream, &point));
}
