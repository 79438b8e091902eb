/* Backings, which are memory, and buffers, which are handles to it. */
#include <limits.h>
#include <stdlib.h>
#include <sys/types.h>

#include "native/stream.h"

enum { GPU_ALIGNMENT = 256, DEVICE_ALIGNMENT = 4096 }; /* the second one also satisfies every NPU program */

static void live_add(struct hrx_runtime *runtime, uint64_t bytes) {
  uint64_t live = atomic_fetch_add(&runtime->statistics.live, bytes) + bytes, peak = atomic_load(&runtime->statistics.peak);
  while (peak < live && !atomic_compare_exchange_weak(&runtime->statistics.peak, &peak, live)) {}
}

static hrx_status backing_allocate(struct backing *backing, size_t bytes, hrx_placement placement, bool zeroed) {
  struct memory *memory = backing->runtime->domain->memory;
  int device = (int)backing->runtime->options.gpu_index;
  if (placement == HRX_NPU_LOCAL) return npu_allocate(backing->npu, bytes, DEVICE_ALIGNMENT, &backing->allocation);
  enum memory_kind kind = placement == HRX_GPU_LOCAL ? MEMORY_DEVICE : MEMORY_MANAGED;
  size_t alignment = placement == HRX_SHARED ? DEVICE_ALIGNMENT : GPU_ALIGNMENT;
  return (zeroed ? memory_allocate_zeroed : memory_allocate)(memory, bytes, alignment, kind, 0, device, &backing->allocation);
}

/* The NPU that the placement needs, opened; shared memory also becomes known to it. */
static hrx_status npu_find(struct backing *backing, hrx_placement placement, unsigned npu) {
  if (placement != HRX_NPU_LOCAL && placement != HRX_SHARED) return HRX_OK;
  hrx_npu *found = NULL;
  hrx_status status = hrx_runtime_npu(backing->runtime, npu, &found);
  if (status == HRX_OK) backing->npu = found->device;
  return status;
}

static hrx_status npu_share(struct backing *backing) {
  hrx_status status = npu_import(backing->npu, (const void *)backing->allocation->address, backing->allocation->bytes, &backing->import);
  if (status == HRX_OK) atomic_fetch_add(&backing->runtime->statistics.imports, 1);
  return status;
}

static void memory_let_go(struct backing *backing) {
  struct domain *domain = backing->runtime->domain;
  npu_import_release(backing->import);
  if (backing->allocation == NULL || !backing->owned) return;
  engine_storage_forget(domain->engine, backing->allocation->storage);
  if (backing->allocation->access == 0)
    npu_free(backing->npu, backing->allocation);
  else
    memory_free(domain->memory, backing->allocation);
}

hrx_status backing_create(struct hrx_runtime *runtime, size_t bytes, hrx_placement placement, unsigned npu, bool zeroed,
                          bool charge, struct backing **out_backing) {
  if (bytes == 0 || bytes > SSIZE_MAX)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a buffer of %zu bytes: 1 to %zd are possible", bytes, (ssize_t)SSIZE_MAX);
  struct backing *backing = calloc(1, sizeof *backing);
  if (backing == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a buffer of %zu bytes", bytes);
  backing->references = 1;
  backing->runtime = runtime;
  backing->owned = true;
  hrx_status status = npu_find(backing, placement, npu);
  if (status == HRX_OK && charge) {
    status = budget_charge(runtime, bytes);
    if (status == HRX_OK) backing->charged = bytes;
  }
  if (status == HRX_OK) status = backing_allocate(backing, bytes, placement, zeroed);
  if (status == HRX_OK && placement == HRX_SHARED) status = npu_share(backing);
  if (status != HRX_OK) {
    memory_let_go(backing);
    budget_discharge(runtime, backing->charged);
    free(backing);
    return status;
  }
  backing->serial = backing->allocation->serial;
  backing->allocation->owner = backing;
  hrx_runtime_retain(runtime);
  atomic_fetch_add_explicit(&runtime->statistics.allocations, 1, memory_order_relaxed); /* a count, nothing hangs on it */
  live_add(runtime, bytes);
  *out_backing = backing;
  return HRX_OK;
}

struct backing *backing_retain(struct backing *backing) {
  atomic_fetch_add_explicit(&backing->references, 1, memory_order_relaxed); /* the caller has a reference already */
  return backing;
}

void backing_release(struct backing *backing) {
  if (backing != NULL && atomic_fetch_sub(&backing->references, 1) == 1) backing_retire(backing);
}

void backing_free(struct backing *backing) {
  struct hrx_runtime *runtime = backing->runtime;
  if (backing->owned) {
    atomic_fetch_sub(&runtime->statistics.live, backing->allocation->bytes);
    backing->allocation->owner = NULL;
  }
  memory_let_go(backing);
  budget_discharge(runtime, backing->charged); /* after the memory went: the charge lives as long */
  free(backing);
  hrx_runtime_release(runtime);
}

hrx_status buffer_wrap(struct backing *backing, hrx_placement placement, unsigned npu, hrx_buffer **out_buffer) {
  struct hrx_buffer *buffer = calloc(1, sizeof *buffer);
  if (buffer == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a buffer's handle");
  buffer->references = 1;
  buffer->backing = backing;
  buffer->placement = placement;
  buffer->npu = npu;
  *out_buffer = buffer;
  return HRX_OK;
}

hrx_status hrx_buffer_create(hrx_runtime *runtime, size_t bytes, hrx_placement placement, unsigned npu, hrx_buffer **out_buffer) {
  if (runtime == NULL || out_buffer == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or out_buffer is NULL");
  if ((unsigned)placement > HRX_SHARED)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%u is no placement", (unsigned)placement);
  struct backing *backing = NULL;
  hrx_status status = backing_create(runtime, bytes, placement, npu, true, true, &backing);
  if (status == HRX_OK) status = buffer_wrap(backing, placement, npu, out_buffer);
  if (status != HRX_OK) backing_release(backing);
  return status;
}

hrx_buffer *hrx_buffer_retain(hrx_buffer *buffer) {
  if (buffer != NULL) atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed); /* as backing_retain */
  return buffer;
}

size_t hrx_buffer_bytes(const hrx_buffer *buffer) { return buffer != NULL ? buffer->backing->allocation->bytes : 0; }

hrx_placement hrx_buffer_placement(const hrx_buffer *buffer) { return buffer != NULL ? buffer->placement : HRX_GPU_LOCAL; }

void *hrx_buffer_address(const hrx_buffer *buffer) { return buffer != NULL ? (void *)buffer->backing->allocation->address : NULL; }

void hrx_buffer_release(hrx_buffer *buffer) {
  if (buffer == NULL || atomic_fetch_sub(&buffer->references, 1) != 1) return;
  struct hrx_stream *stream = buffer->stream;
  backing_release(buffer->backing);
  free(buffer);
  stream_let_go(stream);
}
