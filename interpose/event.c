#include "interpose/event.h"

#include <stdlib.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/ipc_event.h"

enum {
  FLAGS_KNOWN = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | (int)hipEventReleaseToDevice |
                0x20000000 /* hipEventDisableSystemFence: 5.3 and later */
};
#define FLAG_RELEASE_TO_SYSTEM 0x80000000u

/* Stamps of destroyed events whose tasks are still queued. */
static pthread_mutex_t orphans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct event_stamp *orphans;

static bool timed(const struct ihipEvent_t *event) { return (event->flags & hipEventDisableTiming) == 0; }

static void stamp_release(struct event_stamp *stamp) {
  clock_finish(&stamp->clock);
  free(stamp);
}

/* Frees the stamps in `list` whose tasks are over and returns the others. */
static struct event_stamp *stamps_reap(struct engine *engine, struct event_stamp *list) {
  struct event_stamp *kept = NULL;
  while (list != NULL) {
    struct event_stamp *stamp = list;
    list = stamp->next;
    if (engine_clock_over(engine, &stamp->clock)) {
      stamp_release(stamp);
    } else {
      stamp->next = kept;
      kept = stamp;
    }
  }
  return kept;
}

/* `opened`: the other process's event, taken over on success; else one is made if the flags ask for it. */
static hipError_t create(hipEvent_t *out_event, unsigned flags, struct ipc_event *opened) {
  struct hip_device *device = NULL;
  if (out_event == NULL) return hipErrorInvalidValue;
  if ((flags & ~((unsigned)FLAGS_KNOWN | FLAG_RELEASE_TO_SYSTEM)) != 0) return hipErrorInvalidValue;
  if ((flags & hipEventInterprocess) != 0 && (flags & hipEventDisableTiming) == 0) return hipErrorInvalidValue;
  if ((flags & hipEventReleaseToDevice) != 0 && (flags & FLAG_RELEASE_TO_SYSTEM) != 0) return hipErrorInvalidValue;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  struct ihipEvent_t *event = calloc(1, sizeof *event);
  if (event == NULL) return hipErrorOutOfMemory;
  event->device = device;
  event->flags = flags;
  event->ipc = opened;
  pthread_mutex_init(&event->lock, NULL);
  if ((flags & hipEventInterprocess) != 0 && opened == NULL) error = ipc_event_create(&event->ipc);
  if (error == hipSuccess && handle_add(event, HANDLE_EVENT) != HRX_OK) error = hipErrorOutOfMemory;
  if (error != hipSuccess) {
    if (opened == NULL) ipc_event_release(event->ipc);
    free(event);
    return error;
  }
  *out_event = event;
  return hipSuccess;
}

hipError_t entry_hipEventCreate(hipEvent_t *event) { ENTRY_RETURN(hipEventCreate, create(event, hipEventDefault, NULL)); }

hipError_t entry_hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  ENTRY_RETURN(hipEventCreateWithFlags, create(event, flags, NULL));
}

static hipError_t destroy(hipEvent_t event) {
  if (event == NULL) return hipErrorInvalidHandle;
  if (!handle_remove(event, HANDLE_EVENT)) return hipErrorContextIsDestroyed;
  struct engine *engine = event->device->legacy->engine;
  pthread_mutex_lock(&orphans_lock);
  struct event_stamp *left = stamps_reap(engine, event->stamps);
  orphans = stamps_reap(engine, orphans);
  while (left != NULL) {
    struct event_stamp *stamp = left;
    left = stamp->next;
    stamp->next = orphans;
    orphans = stamp;
  }
  pthread_mutex_unlock(&orphans_lock);
  ipc_event_release(event->ipc);
  clock_finish(&event->clock);
  free(event->nodes);
  pthread_mutex_destroy(&event->lock);
  free(event);
  return hipSuccess;
}

hipError_t entry_hipEventDestroy(hipEvent_t event) { ENTRY_RETURN(hipEventDestroy, destroy(event)); }

/* A stamp that no queued task writes any more, at the head of the event's list. */
static struct event_stamp *stamp_take_locked(struct ihipEvent_t *event, struct engine *engine) {
  for (struct event_stamp **at = &event->stamps; *at != NULL; at = &(*at)->next) {
    struct event_stamp *stamp = *at;
    if (!engine_clock_over(engine, &stamp->clock)) continue;
    *at = stamp->next;
    stamp->next = event->stamps;
    event->stamps = stamp;
    return stamp;
  }
  struct event_stamp *stamp = calloc(1, sizeof *stamp);
  if (stamp == NULL) return NULL;
  stamp->next = event->stamps;
  event->stamps = stamp;
  return stamp;
}

static hrx_status record_locked(struct ihipEvent_t *event, struct ihipStream_t *stream) {
  struct event_stamp *stamp = NULL;
  clock_reset(&event->clock);
  if (event->ipc != NULL) return ipc_event_record(event->ipc, stream, &event->ipc_record, &event->clock);
  if (!timed(event)) return hip_stream_clock(stream, &event->clock);
  stamp = stamp_take_locked(event, stream->engine);
  if (stamp == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an event's time");
  /* measured times stay true: the stamp waits for everything before it and nothing later passes it */
  struct task task = {.kind = TASK_JOIN,
                      .opaque = true,
                      .run_always = true,
                      .out_started_ns = &stamp->started_ns,
                      .out_finished_ns = &stamp->finished_ns,
                      .label = "event"};
  struct point point;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status == HRX_OK) status = clock_include(&event->clock, point);
  if (status == HRX_OK) status = clock_copy(&stamp->clock, &event->clock);
  return status;
}

/* Whether another process recorded it last: then nothing here says when that is over. */
static bool elsewhere(struct ihipEvent_t *event) {
  if (event->ipc == NULL) return false;
  pthread_mutex_lock(&event->lock);
  bool here = event->recorded && ipc_event_last(event->ipc) == event->ipc_record;
  pthread_mutex_unlock(&event->lock);
  return !here;
}

hipError_t event_record(struct ihipEvent_t *event, struct ihipStream_t *stream) {
  pthread_mutex_lock(&event->lock);
  hrx_status status = record_locked(event, stream);
  if (status == HRX_OK) {
    event->recorded = true;
    event->stream = stream;
    event->capture_id = 0;
  }
  pthread_mutex_unlock(&event->lock);
  return error_of(status);
}

hipError_t event_wait(struct ihipStream_t *stream, struct ihipEvent_t *event) {
  if (elsewhere(event)) return ipc_event_follow(event->ipc, stream);
  pthread_mutex_lock(&event->lock);
  hrx_status status = event->recorded ? hip_stream_join(stream) : HRX_OK;
  if (status == HRX_OK && event->recorded) status = stream_wait_clock(stream->stream, &event->clock);
  pthread_mutex_unlock(&event->lock);
  if (status == HRX_OK) hip_stream_touched(stream);
  return error_of(status);
}

static hipError_t record(hipEvent_t event, struct ihipStream_t *stream) {
  if (event == NULL) return hipErrorInvalidHandle;
  if (!handle_live(event, HANDLE_EVENT)) return hipErrorContextIsDestroyed;
  if (capture_active(stream)) return capture_event_record(stream, event);
  if (event->device != stream->device) return hipErrorInvalidHandle;
  return event_record(event, stream);
}

hipError_t entry_hipEventRecord(hipEvent_t event, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipEventRecord, error == hipSuccess ? record(event, stream) : error);
}

hipError_t entry_hipEventRecord_spt(hipEvent_t event, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipEventRecord_spt, error == hipSuccess ? record(event, stream) : error);
}

hipError_t entry_hipEventRecordWithFlags(hipEvent_t event, hipStream_t handle, unsigned flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = flags <= 1 ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  ENTRY_RETURN(hipEventRecordWithFlags, error == hipSuccess ? record(event, stream) : error);
}

/* A copy of what the event stands for, so that nobody waits with its lock held. */
static hipError_t snapshot(hipEvent_t event, struct clock *out_clock, bool *out_recorded, struct ihipStream_t **out_stream) {
  if (event == NULL) return hipErrorInvalidHandle;
  if (!handle_live(event, HANDLE_EVENT)) return hipErrorContextIsDestroyed;
  pthread_mutex_lock(&event->lock);
  hipError_t error = event->capture_id != 0 ? hipErrorCapturedEvent : error_of(clock_copy(out_clock, &event->clock));
  *out_recorded = event->recorded;
  *out_stream = event->stream;
  pthread_mutex_unlock(&event->lock);
  return error;
}

/* What the recorded work left behind, if its stream can still be asked. */
static hipError_t failure_of(struct hip_device *device, struct ihipStream_t *stream) {
  if (stream == device->legacy || handle_live(stream, HANDLE_STREAM)) return hip_stream_failure(stream);
  return hipSuccess;
}

static hipError_t synchronize(hipEvent_t event) {
  struct clock clock = {0};
  bool recorded = false;
  struct ihipStream_t *stream = NULL;
  hipError_t error = snapshot(event, &clock, &recorded, &stream);
  if (error == hipSuccess && elsewhere(event)) {
    error = ipc_event_wait(event->ipc);
  } else if (error == hipSuccess && recorded) {
    error = error_of(engine_clock_wait(event->device->legacy->engine, &clock, UINT64_MAX));
    if (error == hipSuccess) error = failure_of(event->device, stream);
  }
  clock_finish(&clock);
  return error;
}

hipError_t entry_hipEventSynchronize(hipEvent_t event) { ENTRY_RETURN(hipEventSynchronize, synchronize(event)); }

static hipError_t query(hipEvent_t event) {
  struct clock clock = {0};
  bool recorded = false;
  struct ihipStream_t *stream = NULL;
  hipError_t error = snapshot(event, &clock, &recorded, &stream);
  if (error == hipSuccess && elsewhere(event)) error = ipc_event_over(event->ipc) ? hipSuccess : hipErrorNotReady;
  else if (error == hipSuccess && recorded && !engine_clock_over(event->device->legacy->engine, &clock)) error = hipErrorNotReady;
  clock_finish(&clock);
  return error;
}

hipError_t entry_hipEventQuery(hipEvent_t event) { ENTRY_RETURN(hipEventQuery, query(event)); }

static hipError_t time_of(hipEvent_t event, uint64_t *out_ns) {
  if (event == NULL) return hipErrorInvalidHandle;
  if (!handle_live(event, HANDLE_EVENT)) return hipErrorContextIsDestroyed;
  if (!timed(event)) return hipErrorInvalidHandle;
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&event->lock);
  if (event->capture_id != 0) error = hipErrorCapturedEvent;
  else if (!event->recorded) error = hipErrorInvalidHandle;
  else if (!engine_clock_over(event->device->legacy->engine, &event->clock)) error = hipErrorNotReady;
  else *out_ns = event->stamps->finished_ns;
  pthread_mutex_unlock(&event->lock);
  return error;
}

static hipError_t elapsed(float *ms, hipEvent_t start, hipEvent_t stop) {
  uint64_t from = 0, to = 0;
  if (ms == NULL) return hipErrorInvalidValue;
  hipError_t error = time_of(start, &from);
  if (error == hipSuccess) error = time_of(stop, &to);
  if (error == hipSuccess) *ms = (float)((double)(int64_t)(to - from) * 1e-6);
  return error;
}

hipError_t entry_hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop) {
  ENTRY_RETURN(hipEventElapsedTime, elapsed(ms, start, stop));
}

static hipError_t stream_wait(struct ihipStream_t *stream, hipEvent_t event, unsigned flags) {
  if (flags > 1) return hipErrorInvalidValue; /* 1: hipEventWaitExternal */
  if (event == NULL) return hipErrorInvalidHandle;
  if (!handle_live(event, HANDLE_EVENT)) return hipErrorContextIsDestroyed;
  pthread_mutex_lock(&event->lock);
  bool captured = event->capture_id != 0;
  pthread_mutex_unlock(&event->lock);
  return captured || capture_active(stream) ? capture_event_wait(stream, event) : event_wait(stream, event);
}

hipError_t entry_hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamWaitEvent, error == hipSuccess ? stream_wait(stream, event, flags) : error);
}

hipError_t entry_hipStreamWaitEvent_spt(hipStream_t handle, hipEvent_t event, unsigned flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamWaitEvent_spt, error == hipSuccess ? stream_wait(stream, event, flags) : error);
}

hipError_t entry_hipIpcGetEventHandle(hipIpcEventHandle_t *handle, hipEvent_t event) {
  hipError_t error = handle != NULL && handle_live(event, HANDLE_EVENT) ? hipSuccess : hipErrorInvalidValue;
  if (error == hipSuccess) error = event->ipc != NULL ? ipc_event_handle(event->ipc, handle) : hipErrorInvalidConfiguration;
  ENTRY_RETURN(hipIpcGetEventHandle, error);
}

hipError_t entry_hipIpcOpenEventHandle(hipEvent_t *event, hipIpcEventHandle_t handle) {
  struct hip_state *state = NULL;
  struct ipc_event *opened = NULL;
  hipError_t error = event != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess) error = ipc_event_open(&handle, &opened);
  if (error == hipSuccess) {
    error = create(event, hipEventInterprocess | hipEventDisableTiming, opened);
    if (error != hipSuccess) ipc_event_release(opened);
  }
  ENTRY_RETURN(hipIpcOpenEventHandle, error);
}
