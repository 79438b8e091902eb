/* Stream-ordered allocation: hipMallocAsync gives memory at once, hipFreeAsync takes it back when the stream gets there.
 *
 * Each device has its default pool and no other. Freed memory goes straight back to the domain, so a pool never holds any. */
#include <string.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/stream.h"

struct ihipMemPoolHandle_t {
  _Atomic uint64_t release_threshold;
  _Atomic int reuse[3]; /* the three hipMemPoolReuse... switches, which have nothing to switch here */
};

static struct ihipMemPoolHandle_t pools[DOMAIN_DEVICE_MAX] = {
  [0 ... DOMAIN_DEVICE_MAX - 1] = {.reuse = {1, 1, 1}},
};

static bool pool_known(hipMemPool_t pool) {
  struct hip_state *state = NULL;
  return state_get(&state) == hipSuccess && pool >= pools && pool < pools + state->device_count;
}

static hipError_t allocate_on(hipStream_t handle, int ordinal, void **out_pointer, size_t bytes) {
  struct ihipStream_t *stream = NULL;
  struct allocation *allocation = NULL;
  if (out_pointer == NULL) return hipErrorInvalidValue;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  if (capture_active(stream)) return capture_refuses(stream->device, stream);
  if (bytes == 0) {
    *out_pointer = NULL;
    return hipSuccess;
  }
  struct memory *memory = state_existing()->domain->memory;
  hrx_status status = memory_allocate(memory, bytes, 256, MEMORY_DEVICE, 0,
                                      ordinal >= 0 ? ordinal : stream->device->ordinal, &allocation);
  /* what earlier hipFreeAsync calls promised may come back when the stream has caught up */
  if (status == HRX_OUT_OF_MEMORY && hip_stream_synchronize(stream) == hipSuccess)
    status = memory_allocate(memory, bytes, 256, MEMORY_DEVICE, 0, stream->device->ordinal, &allocation);
  if (status != HRX_OK) return error_of(status);
  *out_pointer = (void *)allocation->address;
  return hipSuccess;
}

hipError_t entry_hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMallocAsync, allocate_on(stream, -1, pointer, bytes));
}

hipError_t entry_hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  if (!pool_known(pool)) ENTRY_RETURN(hipMallocFromPoolAsync, hipErrorInvalidValue);
  ENTRY_RETURN(hipMallocFromPoolAsync, allocate_on(stream, (int)(pool - pools), pointer, bytes));
}

static hrx_status free_now(void *context) {
  const struct domain *domain = state_existing()->domain;
  engine_storage_forget(domain->engine, ((struct allocation *)context)->storage);
  memory_free(domain->memory, context);
  return HRX_OK;
}

static hipError_t free_on(hipStream_t handle, void *pointer) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess || pointer == NULL) return error;
  if (capture_active(stream)) return capture_refuses(stream->device, stream);
  struct allocation *allocation = memory_find(state_existing()->domain->memory, (uintptr_t)pointer);
  if (allocation == NULL || allocation->address != (uintptr_t)pointer ||
      (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_MANAGED))
    return hipErrorInvalidValue;
  /* run_always: a failed kernel before it must not leak the memory */
  struct task task = {.kind = TASK_HOST, .opaque = true, .run_always = true, .label = "hipFreeAsync",
                      .host = {.call = free_now, .context = allocation}};
  struct point point;
  return error_of(hip_stream_submit(stream, &task, &point));
}

hipError_t entry_hipFreeAsync(void *pointer, hipStream_t stream) { ENTRY_RETURN(hipFreeAsync, free_on(stream, pointer)); }

static hipError_t pool_of(hipMemPool_t *out_pool, int ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = out_pool != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *out_pool = &pools[ordinal];
  return error;
}

hipError_t entry_hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
  ENTRY_RETURN(hipDeviceGetDefaultMemPool, pool_of(pool, device));
}

hipError_t entry_hipDeviceGetMemPool(hipMemPool_t *pool, int device) { ENTRY_RETURN(hipDeviceGetMemPool, pool_of(pool, device)); }

hipError_t entry_hipDeviceSetMemPool(int ordinal, hipMemPool_t pool) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess && pool != &pools[ordinal]) error = hipErrorInvalidValue;
  ENTRY_RETURN(hipDeviceSetMemPool, error);
}

enum { REUSE_FIRST = 1 /* hipMemPoolReuseFollowEventDependencies */, REUSE_LAST = 3 };

hipError_t entry_hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value) {
  if (!pool_known(pool) || value == NULL) ENTRY_RETURN(hipMemPoolSetAttribute, hipErrorInvalidValue);
  int which = (int)attribute;
  if (attribute == hipMemPoolAttrReleaseThreshold) {
    uint64_t threshold = 0;
    memcpy(&threshold, value, sizeof threshold);
    atomic_store(&pool->release_threshold, threshold);
    ENTRY_RETURN(hipMemPoolSetAttribute, hipSuccess);
  }
  if (which < REUSE_FIRST || which > REUSE_LAST) ENTRY_RETURN(hipMemPoolSetAttribute, hipErrorInvalidValue);
  int on = 0;
  memcpy(&on, value, sizeof on);
  atomic_store(&pool->reuse[which - REUSE_FIRST], on != 0);
  ENTRY_RETURN(hipMemPoolSetAttribute, hipSuccess);
}

hipError_t entry_hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value) {
  if (!pool_known(pool) || value == NULL) ENTRY_RETURN(hipMemPoolGetAttribute, hipErrorInvalidValue);
  int which = (int)attribute;
  if (which >= REUSE_FIRST && which <= REUSE_LAST) {
    int on = atomic_load(&pool->reuse[which - REUSE_FIRST]);
    memcpy(value, &on, sizeof on);
    ENTRY_RETURN(hipMemPoolGetAttribute, hipSuccess);
  }
  /* a pool that holds nothing has nothing reserved or used beyond what its allocations are */
  uint64_t number = 0;
  struct memory_statistics statistics;
  memory_statistics(state_existing()->domain->memory, &statistics);
  switch (attribute) {
  case hipMemPoolAttrReleaseThreshold: number = atomic_load(&pool->release_threshold); break;
  case hipMemPoolAttrReservedMemCurrent:
  case hipMemPoolAttrUsedMemCurrent: number = statistics.used; break;
  case hipMemPoolAttrReservedMemHigh:
  case hipMemPoolAttrUsedMemHigh: number = statistics.peak; break;
  default: ENTRY_RETURN(hipMemPoolGetAttribute, hipErrorInvalidValue);
  }
  memcpy(value, &number, sizeof number);
  ENTRY_RETURN(hipMemPoolGetAttribute, hipSuccess);
}

hipError_t entry_hipMemPoolTrimTo(hipMemPool_t pool, size_t keep) {
  (void)keep; /* nothing is held, so no more can be given back */
  ENTRY_RETURN(hipMemPoolTrimTo, pool_known(pool) ? hipSuccess : hipErrorInvalidValue);
}
