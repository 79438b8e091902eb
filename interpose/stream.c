#include "interpose/stream.h"

#include <stdlib.h>

#include "interpose/error.h"
#include "interpose/handle.h"
#include "interpose/thread.h"

/* hip_runtime_api.h of ROCm 6.2 and later: a stream argument that means stream 0 also where NULL means the thread's own. */
#define STREAM_LEGACY ((hipStream_t)1)

struct thread_streams {
  struct ihipStream_t *of_device[DOMAIN_DEVICE_MAX];
};

static hrx_status object_create(struct engine *engine, struct hip_device *device, int priority,
                                struct ihipStream_t **out_stream) {
  static _Atomic uint64_t ids;
  struct ihipStream_t *stream = calloc(1, sizeof *stream);
  hrx_status status = stream != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a stream");
  if (status == HRX_OK) status = stream_create(engine, priority, &stream->stream);
  if (status != HRX_OK) {
    free(stream);
    return status;
  }
  stream->engine = engine;
  stream->device = device;
  stream->priority = priority;
  stream->id = atomic_fetch_add(&ids, 1) + 1;
  *out_stream = stream;
  return HRX_OK;
}

hrx_status hip_stream_legacy_create(struct domain *domain, struct hip_device *device) {
  hrx_status status = object_create(domain->engine, device, 0, &device->legacy);
  if (status == HRX_OK) device->legacy->legacy = true;
  return status;
}

hipError_t hip_stream_create(struct hip_device *device, unsigned flags, int priority, struct ihipStream_t **out_stream) {
  struct ihipStream_t *stream = NULL;
  hrx_status status = object_create(device->legacy->engine, device, priority, &stream);
  if (status == HRX_OK) {
    status = handle_add(stream, HANDLE_STREAM);
    if (status != HRX_OK) {
      stream_release(stream->stream);
      free(stream);
    }
  }
  if (status != HRX_OK) return error_of(status);
  stream->flags = flags;
  stream->blocking = (flags & hipStreamNonBlocking) == 0;
  pthread_mutex_lock(&device->lock);
  stream->next = device->streams;
  if (stream->next != NULL) stream->next->previous = stream;
  device->streams = stream;
  pthread_mutex_unlock(&device->lock);
  if (stream->blocking) atomic_fetch_add(&device->blocking_count, 1);
  *out_stream = stream;
  return hipSuccess;
}

hipError_t hip_stream_destroy(struct ihipStream_t *stream) {
  struct hip_device *device = stream->device;
  if (!handle_remove(stream, HANDLE_STREAM)) return hipErrorContextIsDestroyed;
  /* its queued work still precedes later work of stream 0, which will not find it in the list any more */
  struct clock clock = {0};
  hrx_status status = HRX_OK;
  if (stream->blocking && !stream_idle(stream->stream)) {
    status = stream_clock(stream->stream, &clock);
    if (status == HRX_OK) status = stream_wait_clock(device->legacy->stream, &clock);
    clock_finish(&clock);
  }
  pthread_mutex_lock(&device->lock);
  if (stream->next != NULL) stream->next->previous = stream->previous;
  if (stream->previous != NULL) stream->previous->next = stream->next;
  else device->streams = stream->next;
  pthread_mutex_unlock(&device->lock);
  if (stream->blocking) atomic_fetch_sub(&device->blocking_count, 1);
  stream_release(stream->stream);
  free(stream->unit_mask);
  free(stream);
  return error_of(status);
}

static hipError_t thread_stream(struct hip_device *device, struct ihipStream_t **out_stream) {
  struct thread_streams *own = thread_state.streams;
  if (own == NULL) {
    own = calloc(1, sizeof *own);
    if (own == NULL) return hipErrorOutOfMemory;
    thread_at_exit();
    thread_state.streams = own;
  }
  struct ihipStream_t **place = &own->of_device[device->ordinal];
  hipError_t error = *place != NULL ? hipSuccess : hip_stream_create(device, hipStreamDefault, 0, place);
  if (error == hipSuccess) *out_stream = *place;
  return error;
}

void hip_thread_streams_release(struct thread_streams *streams) {
  if (streams == NULL) return;
  /* in a forked child the engine's locks may never be free again; the memory goes with the process */
  for (unsigned i = 0; state_existing() != NULL && i < DOMAIN_DEVICE_MAX; i++)
    if (streams->of_device[i] != NULL) hip_stream_destroy(streams->of_device[i]);
  free(streams);
}

static hipError_t find(hipStream_t handle, bool own_default, struct ihipStream_t **out_stream) {
  struct hip_device *device = NULL;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  if (handle == hipStreamPerThread || (handle == NULL && own_default)) return thread_stream(device, out_stream);
  if (handle == NULL || handle == STREAM_LEGACY) {
    *out_stream = device->legacy;
    return hipSuccess;
  }
  if (!handle_live(handle, HANDLE_STREAM)) return hipErrorContextIsDestroyed;
  *out_stream = handle;
  return hipSuccess;
}

hipError_t hip_stream_find(hipStream_t handle, struct ihipStream_t **out_stream) {
  return find(handle, false, out_stream);
}

hipError_t hip_stream_find_spt(hipStream_t handle, struct ihipStream_t **out_stream) {
  return find(handle, true, out_stream);
}

/* Stream 0 follows all blocking streams of its device. */
static hrx_status legacy_join(struct ihipStream_t *legacy) {
  struct hip_device *device = legacy->device;
  /* acquire on the counters: who sees a submission counted finds it in the stream's clock */
  uint64_t serial = atomic_load_explicit(&device->blocking_serial, memory_order_acquire);
  if (serial == atomic_load_explicit(&legacy->seen_blocking, memory_order_relaxed)) return HRX_OK;
  struct clock clock = {0};
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&device->lock);
  for (struct ihipStream_t *at = device->streams; status == HRX_OK && at != NULL; at = at->next)
    if (at->blocking) status = stream_clock(at->stream, &clock);
  pthread_mutex_unlock(&device->lock);
  if (status == HRX_OK) status = stream_wait_clock(legacy->stream, &clock);
  clock_finish(&clock);
  if (status == HRX_OK) atomic_store_explicit(&legacy->seen_blocking, serial, memory_order_relaxed);
  return status;
}

hrx_status hip_stream_join(struct ihipStream_t *stream) {
  if (stream->legacy) return legacy_join(stream);
  if (!stream->blocking) return HRX_OK;
  struct ihipStream_t *legacy = stream->device->legacy;
  uint64_t serial = atomic_load_explicit(&stream->device->legacy_serial, memory_order_acquire);
  if (serial == atomic_load_explicit(&stream->seen_legacy, memory_order_relaxed)) return HRX_OK;
  struct clock clock = {0};
  hrx_status status = stream_clock(legacy->stream, &clock);
  if (status == HRX_OK) status = stream_wait_clock(stream->stream, &clock);
  clock_finish(&clock);
  if (status == HRX_OK) atomic_store_explicit(&stream->seen_legacy, serial, memory_order_relaxed);
  return status;
}

void hip_stream_touched(struct ihipStream_t *stream) {
  if (stream->legacy) atomic_fetch_add_explicit(&stream->device->legacy_serial, 1, memory_order_release);
  else if (stream->blocking) atomic_fetch_add_explicit(&stream->device->blocking_serial, 1, memory_order_release);
}

hrx_status hip_stream_submit(struct ihipStream_t *stream, const struct task *task, struct point *out_point) {
  hrx_status status = hip_stream_join(stream);
  if (status == HRX_OK) status = stream_submit(stream->stream, task, out_point);
  if (status == HRX_OK) hip_stream_touched(stream);
  return status;
}

hrx_status hip_stream_clock(struct ihipStream_t *stream, struct clock *io_clock) {
  hrx_status status = hip_stream_join(stream);
  return status == HRX_OK ? stream_clock(stream->stream, io_clock) : status;
}

hipError_t hip_stream_failure(struct ihipStream_t *stream) {
  struct failure failure;
  return stream_failure_take(stream->stream, &failure) ? error_report(&failure) : hipSuccess;
}

hipError_t hip_stream_synchronize(struct ihipStream_t *stream) {
  struct clock clock = {0};
  hrx_status status = hip_stream_clock(stream, &clock);
  if (status == HRX_OK) status = engine_clock_wait(stream->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  return status == HRX_OK ? hip_stream_failure(stream) : error_of(status);
}

bool hip_stream_idle(struct ihipStream_t *stream) {
  return hip_stream_join(stream) == HRX_OK && stream_idle(stream->stream);
}
