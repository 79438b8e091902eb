/* HIP's pointers and streams in a native runtime: the shared one, whose domain they belong to. */
#include "native/hip_interop.h"

#include <stdlib.h>

#include "native/stream.h"

static const struct hip_interop *_Atomic registered;

void hip_interop_register(const struct hip_interop *interop) { atomic_store(&registered, interop); }

static hrx_status shared_check(const struct hrx_runtime *runtime, const void *out) {
  if (runtime == NULL || out == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or the result is NULL");
  if (runtime->shared) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "only the shared runtime (hrx_runtime_shared) knows HIP's pointers and streams");
}

static hrx_placement placement_of(const struct allocation *allocation) {
  return allocation->kind == MEMORY_DEVICE ? HRX_GPU_LOCAL : HRX_HOST_VISIBLE;
}

/* HIP's memory gets a backing that does not own it; hrx's own has one already. Takes nothing on an error. */
static hrx_status backing_of(struct hrx_runtime *runtime, struct allocation *allocation, struct backing **out_backing) {
  struct backing *backing = allocation->owner;
  if (backing != NULL) {
    *out_backing = backing_retain(backing);
    return HRX_OK;
  }
  backing = calloc(1, sizeof *backing);
  if (backing == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a buffer's handle");
  *backing = (struct backing){.references = 1, .runtime = hrx_runtime_retain(runtime), .allocation = allocation, .serial = allocation->serial};
  *out_backing = backing;
  return HRX_OK;
}

hrx_status hrx_runtime_view(hrx_runtime *runtime, const void *pointer, size_t bytes, hrx_view *out_view) {
  hrx_status status = shared_check(runtime, out_view);
  if (status != HRX_OK) return status;
  struct allocation *allocation = memory_find(runtime->domain->memory, (uintptr_t)pointer);
  if (allocation == NULL || allocation->kind == MEMORY_CODE || (allocation->kind == MEMORY_INTERNAL && allocation->owner == NULL))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_POINTER, "%p is no address that HIP or hrx allocated or registered", pointer);
  size_t offset = (uintptr_t)pointer - allocation->address;
  if (bytes > allocation->bytes - offset)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%zu bytes at %p: its allocation of %zu bytes ends %zu bytes behind it", bytes, pointer,
                           allocation->bytes, allocation->bytes - offset);
  struct backing *backing = NULL;
  struct hrx_buffer *buffer = NULL;
  status = backing_of(runtime, allocation, &backing);
  if (status != HRX_OK) return status;
  hrx_placement placement = backing->import != NULL ? HRX_SHARED : backing->npu != NULL ? HRX_NPU_LOCAL : placement_of(allocation);
  status = buffer_wrap(backing, placement, 0, &buffer);
  if (status != HRX_OK) {
    backing_release(backing);
    return status;
  }
  *out_view = (hrx_view){buffer, offset, bytes};
  return HRX_OK;
}

hrx_status hrx_runtime_stream(hrx_runtime *runtime, void *hip_stream, hrx_stream **out_stream) {
  hrx_status status = shared_check(runtime, out_stream);
  if (status != HRX_OK) return status;
  const struct hip_interop *interop = atomic_load(&registered);
  struct foreign_queue queue = {0};
  struct hrx_stream *stream = NULL;
  if (interop == NULL) return hrx_fail(HRX_UNSUPPORTED, "hrx does not handle the HIP calls of this process: its streams are the real HIP library's");
  status = interop->queue_find(hip_stream, &queue);
  if (status == HRX_OK) status = stream_wrap(runtime, queue.queue, true, &stream);
  if (status != HRX_OK) return status;
  stream->foreign = queue;
  *out_stream = stream;
  return HRX_OK;
}
