/* Allocation, registration and pointer queries. */
#include "memory/memory.h"

#include <string.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/memory_release.h"
#include "interpose/pool.h"
#include "interpose/state.h"

enum { PITCH_ALIGNMENT = 256, DEVICE_ALIGNMENT = 256, HOST_ALIGNMENT = 4096 };

static hipError_t allocate(void **out_pointer, size_t bytes, size_t alignment, enum memory_kind kind, unsigned flags) {
  struct hip_device *device = NULL;
  struct hip_state *state = NULL;
  struct allocation *allocation = NULL;
  if (out_pointer == NULL) return hipErrorInvalidValue;
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = state_get(&state);
  if (error != hipSuccess) return error;
  if (bytes == 0) {
    *out_pointer = NULL;
    return hipSuccess;
  }
  hrx_status status =
    memory_allocate(state->domain->memory, bytes, alignment, kind, flags, device->ordinal, &allocation);
  if (status != HRX_OK) return error_of(status);
  *out_pointer = (void *)allocation->address;
  return hipSuccess;
}

hipError_t memory_wait(struct hip_state *state) {
  struct clock clock = {0};
  hrx_status status = engine_clock(state->domain->engine, &clock);
  if (status == HRX_OK) status = engine_clock_wait(state->domain->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  return error_of(status);
}

hipError_t memory_wait_and_free(void *pointer, unsigned kinds) {
  struct hip_state *state = NULL;
  if (pointer == NULL) return hipSuccess;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  struct allocation *allocation = memory_find(state->domain->memory, (uintptr_t)pointer);
  if (allocation == NULL || allocation->address != (uintptr_t)pointer || (kinds & 1u << allocation->kind) == 0)
    return hipErrorInvalidValue;
  error = capture_refuses(&state->devices[allocation->device], NULL);
  if (error != hipSuccess) return error;
  error = memory_wait(state);
  if (error != hipSuccess) return error;
  if (allocation->holder != NULL) return pool_free_now(allocation);
  engine_storage_forget(state->domain->engine, allocation->storage);
  memory_free(state->domain->memory, allocation);
  return hipSuccess;
}

#define KINDS_FREE (1u << MEMORY_DEVICE | 1u << MEMORY_MANAGED | 1u << MEMORY_HOST)
#define KINDS_HOST_FREE (1u << MEMORY_HOST)

hipError_t entry_hipMalloc(void **ptr, size_t size) {
  ENTRY_RETURN(hipMalloc, allocate(ptr, size, DEVICE_ALIGNMENT, MEMORY_DEVICE, 0));
}

hipError_t entry_hipFree(void *ptr) { ENTRY_RETURN(hipFree, memory_wait_and_free(ptr, KINDS_FREE)); }

hipError_t entry_hipExtMallocWithFlags(void **ptr, size_t size, unsigned flags) {
  if ((flags & ~(unsigned)(hipDeviceMallocFinegrained | hipMallocSignalMemory)) != 0)
    ENTRY_RETURN(hipExtMallocWithFlags, hipErrorInvalidValue);
  /* fine-grained memory is memory that the host may watch while a kernel runs */
  enum memory_kind kind = flags != hipDeviceMallocDefault ? MEMORY_MANAGED : MEMORY_DEVICE;
  ENTRY_RETURN(hipExtMallocWithFlags, allocate(ptr, size, DEVICE_ALIGNMENT, kind, flags));
}

hipError_t entry_hipMallocManaged(void **ptr, size_t size, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) ENTRY_RETURN(hipMallocManaged, hipErrorInvalidValue);
  ENTRY_RETURN(hipMallocManaged, allocate(ptr, size, HOST_ALIGNMENT, MEMORY_MANAGED, flags));
}

static hipError_t host_allocate(void **ptr, size_t size, unsigned flags) {
  const unsigned known = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined | hipHostMallocNumaUser |
                         hipHostMallocCoherent | hipHostMallocNonCoherent;
  if ((flags & ~known) != 0 || (flags & (hipHostMallocCoherent | hipHostMallocNonCoherent)) ==
                                 (hipHostMallocCoherent | hipHostMallocNonCoherent))
    return hipErrorInvalidValue;
  return allocate(ptr, size, HOST_ALIGNMENT, MEMORY_HOST, flags);
}

hipError_t entry_hipHostMalloc(void **ptr, size_t size, unsigned flags) {
  ENTRY_RETURN(hipHostMalloc, host_allocate(ptr, size, flags));
}

hipError_t entry_hipHostAlloc(void **ptr, size_t size, unsigned flags) {
  ENTRY_RETURN(hipHostAlloc, host_allocate(ptr, size, flags));
}

hipError_t entry_hipExtHostAlloc(void **ptr, size_t size, unsigned flags) {
  ENTRY_RETURN(hipExtHostAlloc, host_allocate(ptr, size, flags));
}

hipError_t entry_hipMallocHost(void **ptr, size_t size) { ENTRY_RETURN(hipMallocHost, host_allocate(ptr, size, 0)); }

hipError_t entry_hipMemAllocHost(void **ptr, size_t size) { ENTRY_RETURN(hipMemAllocHost, host_allocate(ptr, size, 0)); }

hipError_t entry_hipHostFree(void *ptr) { ENTRY_RETURN(hipHostFree, memory_wait_and_free(ptr, KINDS_HOST_FREE)); }

hipError_t entry_hipFreeHost(void *ptr) { ENTRY_RETURN(hipFreeHost, memory_wait_and_free(ptr, KINDS_HOST_FREE)); }

/* Rows of `width` bytes at a multiple of PITCH_ALIGNMENT. */
static hipError_t allocate_pitched(void **out_pointer, size_t *out_pitch, size_t width, size_t height, size_t depth) {
  size_t pitch = 0, rows = 0, bytes = 0;
  if (out_pointer == NULL || out_pitch == NULL) return hipErrorInvalidValue;
  if (__builtin_add_overflow(width, (size_t)PITCH_ALIGNMENT - 1, &pitch)) return hipErrorInvalidValue;
  pitch = pitch / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  if (__builtin_mul_overflow(height, depth, &rows) || __builtin_mul_overflow(pitch, rows, &bytes)) return hipErrorOutOfMemory;
  hipError_t error = allocate(out_pointer, bytes, DEVICE_ALIGNMENT, MEMORY_DEVICE, 0);
  if (error == hipSuccess) *out_pitch = pitch;
  return error;
}

hipError_t entry_hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height) {
  ENTRY_RETURN(hipMallocPitch, allocate_pitched(ptr, pitch, width, height, 1));
}

hipError_t entry_hipMemAllocPitch(hipDeviceptr_t *dptr, size_t *pitch, size_t width, size_t height, unsigned element) {
  if (element != 4 && element != 8 && element != 16) ENTRY_RETURN(hipMemAllocPitch, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemAllocPitch, allocate_pitched(dptr, pitch, width, height, 1));
}

hipError_t entry_hipMalloc3D(hipPitchedPtr *pitched, hipExtent extent) {
  if (pitched == NULL) ENTRY_RETURN(hipMalloc3D, hipErrorInvalidValue);
  void *pointer = NULL;
  size_t pitch = 0;
  hipError_t error = allocate_pitched(&pointer, &pitch, extent.width, extent.height, extent.depth);
  if (error == hipSuccess)
    *pitched = (hipPitchedPtr){.ptr = pointer, .pitch = pitch, .xsize = extent.width, .ysize = extent.height};
  ENTRY_RETURN(hipMalloc3D, error);
}

static hipError_t allocation_of(const void *pointer, struct allocation **out_allocation) {
  struct hip_state *state = NULL;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  *out_allocation = memory_find(state->domain->memory, (uintptr_t)pointer);
  return *out_allocation != NULL ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  struct allocation *allocation = NULL;
  if (device == NULL || host == NULL || flags != 0) ENTRY_RETURN(hipHostGetDevicePointer, hipErrorInvalidValue);
  hipError_t error = allocation_of(host, &allocation);
  if (error == hipSuccess && allocation->kind != MEMORY_HOST && allocation->kind != MEMORY_REGISTERED &&
      allocation->kind != MEMORY_MANAGED)
    error = hipErrorInvalidValue;
  if (error == hipSuccess) *device = host; /* one address space */
  ENTRY_RETURN(hipHostGetDevicePointer, error);
}

hipError_t entry_hipHostGetFlags(unsigned *flags, void *host) {
  struct allocation *allocation = NULL;
  if (flags == NULL || host == NULL) ENTRY_RETURN(hipHostGetFlags, hipErrorInvalidValue);
  hipError_t error = allocation_of(host, &allocation);
  if (error == hipSuccess && allocation->kind != MEMORY_HOST && allocation->kind != MEMORY_REGISTERED)
    error = hipErrorInvalidValue;
  if (error == hipSuccess) *flags = allocation->flags;
  ENTRY_RETURN(hipHostGetFlags, error);
}

hipError_t entry_hipHostRegister(void *host, size_t bytes, unsigned flags) {
  struct hip_device *device = NULL;
  struct hip_state *state = NULL;
  struct allocation *allocation = NULL;
  const unsigned known =
    hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterIoMemory | hipExtHostRegisterCoarseGrained;
  if (host == NULL || bytes == 0 || (flags & ~known) != 0) ENTRY_RETURN(hipHostRegister, hipErrorInvalidValue);
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = state_get(&state);
  if (error == hipSuccess) {
    hrx_status status = memory_register(state->domain->memory, host, bytes, flags, device->ordinal, &allocation);
    error = status == HRX_INVALID && hrx_last_reason() == HRX_REASON_LIVE ? hipErrorHostMemoryAlreadyRegistered
                                                                          : error_of(status);
  }
  ENTRY_RETURN(hipHostRegister, error);
}

hipError_t entry_hipHostUnregister(void *host) {
  if (host == NULL) ENTRY_RETURN(hipHostUnregister, hipErrorInvalidValue);
  hipError_t error = memory_wait_and_free(host, 1u << MEMORY_REGISTERED);
  ENTRY_RETURN(hipHostUnregister, error == hipErrorInvalidValue ? hipErrorHostMemoryNotRegistered : error);
}

hipError_t entry_hipMemGetInfo(size_t *free_bytes, size_t *total) {
  struct hip_state *state = NULL;
  struct memory_statistics statistics;
  hipError_t error = free_bytes != NULL && total != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess) {
    memory_statistics(state->domain->memory, &statistics);
    *free_bytes = statistics.limit - statistics.used;
    *total = statistics.limit;
  }
  ENTRY_RETURN(hipMemGetInfo, error);
}

hipError_t entry_hipMemPtrGetInfo(void *ptr, size_t *size) {
  struct allocation *allocation = NULL;
  hipError_t error = size != NULL ? allocation_of(ptr, &allocation) : hipErrorInvalidValue;
  if (error == hipSuccess) *size = allocation->bytes;
  ENTRY_RETURN(hipMemPtrGetInfo, error);
}

hipError_t entry_hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t ptr) {
  struct allocation *allocation = NULL;
  hipError_t error = allocation_of(ptr, &allocation);
  if (error == hipErrorInvalidValue) error = hipErrorNotFound;
  if (error == hipSuccess && base != NULL) *base = (hipDeviceptr_t)allocation->address;
  if (error == hipSuccess && size != NULL) *size = allocation->bytes;
  ENTRY_RETURN(hipMemGetAddressRange, error);
}

hipError_t entry_hipStreamAttachMemAsync(hipStream_t handle, void *ptr, size_t length, unsigned flags) {
  (void)length;
  struct allocation *allocation = NULL;
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error == hipSuccess && flags != hipMemAttachGlobal && flags != hipMemAttachHost && flags != hipMemAttachSingle)
    error = hipErrorInvalidValue;
  if (error == hipSuccess) error = allocation_of(ptr, &allocation);
  ENTRY_RETURN(hipStreamAttachMemAsync, error);
}
