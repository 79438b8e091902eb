/* The calls around memory pools; pool.c is what they do. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/pool.h"
#include "interpose/virtual.h"

static hipError_t allocate_on(hipStream_t handle, struct ihipMemPoolHandle_t *pool, void **out_pointer, size_t bytes) {
  struct ihipStream_t *stream = NULL;
  if (out_pointer == NULL) return hipErrorInvalidValue;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  if (capture_active(stream)) return capture_refuses(stream->device, stream);
  if (bytes == 0) {
    *out_pointer = NULL;
    return hipSuccess;
  }
  if (pool == NULL) pool = pool_current(stream->device->ordinal, hipMemAllocationTypePinned);
  return pool_allocate(pool, stream, bytes, out_pointer);
}

hipError_t entry_hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) {
  ENTRY_RETURN(hipMallocAsync, allocate_on(stream, NULL, pointer, bytes));
}

hipError_t entry_hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  if (!pool_live(pool)) ENTRY_RETURN(hipMallocFromPoolAsync, hipErrorInvalidValue);
  ENTRY_RETURN(hipMallocFromPoolAsync, allocate_on(stream, pool, pointer, bytes));
}

static hipError_t free_on(hipStream_t handle, void *pointer) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess || pointer == NULL) return error;
  return capture_active(stream) ? capture_refuses(stream->device, stream) : pool_free(stream, pointer);
}

hipError_t entry_hipFreeAsync(void *pointer, hipStream_t stream) { ENTRY_RETURN(hipFreeAsync, free_on(stream, pointer)); }

hipError_t entry_hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = pool != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *pool = pool_default(ordinal, hipMemAllocationTypePinned);
  ENTRY_RETURN(hipDeviceGetDefaultMemPool, error);
}

hipError_t entry_hipDeviceGetMemPool(hipMemPool_t *pool, int ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = pool != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *pool = pool_current(ordinal, hipMemAllocationTypePinned);
  ENTRY_RETURN(hipDeviceGetMemPool, error);
}

hipError_t entry_hipDeviceSetMemPool(int ordinal, hipMemPool_t pool) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess && (!pool_live(pool) || pool->imported)) error = hipErrorInvalidValue;
  if (error == hipSuccess && pool_device(pool) != ordinal) error = hipErrorInvalidDevice;
  if (error == hipSuccess) pool_current_set(ordinal, hipMemAllocationTypePinned, pool);
  ENTRY_RETURN(hipDeviceSetMemPool, error);
}

static hipError_t place_check(const hipMemLocation *location, hipMemAllocationType type) {
  if (location == NULL || (int)location->type != LOCATION_DEVICE || !location_exists(location)) return hipErrorInvalidValue;
  return (int)type == hipMemAllocationTypePinned || (int)type == ALLOCATION_MANAGED ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipMemGetMemPool(hipMemPool_t *pool, hipMemLocation *location, hipMemAllocationType type) {
  hipError_t error = pool != NULL ? place_check(location, type) : hipErrorInvalidValue;
  if (error == hipSuccess) *pool = pool_current(location->id, (int)type);
  ENTRY_RETURN(hipMemGetMemPool, error);
}

hipError_t entry_hipMemSetMemPool(hipMemLocation *location, hipMemAllocationType type, hipMemPool_t pool) {
  hipError_t error = pool_live(pool) ? place_check(location, type) : hipErrorInvalidValue;
  if (error == hipSuccess && (pool->imported || pool_device(pool) != location->id || pool->type != (int)type))
    error = hipErrorInvalidValue;
  if (error == hipSuccess) pool_current_set(location->id, (int)type, pool);
  ENTRY_RETURN(hipMemSetMemPool, error);
}

static hipError_t create(hipMemPool_t *out_pool, const hipMemPoolProps *given) {
  struct pool_properties properties;
  _Static_assert(sizeof properties == sizeof *given, "one layout, with less reserved since ROCm 6");
  if (out_pool == NULL || given == NULL) return hipErrorInvalidValue;
  memcpy(&properties, given, sizeof properties);
  hipError_t error = place_check(&properties.location, (hipMemAllocationType)properties.type);
  if (error == hipSuccess && properties.handle_types != hipMemHandleTypeNone &&
      properties.handle_types != hipMemHandleTypePosixFileDescriptor)
    error = hipErrorInvalidValue;
  /* another process could not see pages move: managed memory is not shared */
  if (error == hipSuccess && properties.type == ALLOCATION_MANAGED && properties.handle_types != hipMemHandleTypeNone)
    error = hipErrorInvalidValue;
  if (error == hipSuccess) error = capture_refuses(&state_existing()->devices[properties.location.id], NULL);
  return error == hipSuccess ? pool_create(&properties, NULL, out_pool) : error;
}

hipError_t entry_hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties) {
  ENTRY_RETURN(hipMemPoolCreate, create(pool, properties));
}

hipError_t entry_hipMemPoolDestroy(hipMemPool_t pool) {
  hipError_t error = pool_live(pool) && pool->own ? hipSuccess : hipErrorInvalidValue;
  if (error == hipSuccess) error = capture_refuses(&state_existing()->devices[pool_device(pool)], NULL);
  if (error == hipSuccess) pool_destroy(pool);
  ENTRY_RETURN(hipMemPoolDestroy, error);
}

hipError_t entry_hipMemPoolTrimTo(hipMemPool_t pool, size_t keep) {
  if (!pool_live(pool)) ENTRY_RETURN(hipMemPoolTrimTo, hipErrorInvalidValue);
  pool_trim(pool, keep);
  ENTRY_RETURN(hipMemPoolTrimTo, hipSuccess);
}

enum { REUSE_FIRST = hipMemPoolReuseFollowEventDependencies, REUSE_LAST = hipMemPoolReuseAllowInternalDependencies };

/* What `value` points to: int for the switches, uint64_t for the rest. */
static hipError_t attribute_set_locked(struct ihipMemPoolHandle_t *pool, int which, const void *value) {
  if (which >= REUSE_FIRST && which <= REUSE_LAST) {
    int on = 0;
    memcpy(&on, value, sizeof on);
    pool->reuse[which - REUSE_FIRST] = on != 0;
    return hipSuccess;
  }
  uint64_t number = 0;
  memcpy(&number, value, sizeof number);
  switch (which) {
  case hipMemPoolAttrReleaseThreshold: pool->release_threshold = number; return hipSuccess;
  case hipMemPoolAttrReservedMemHigh:
    if (number == 0) pool->reserved_high = 0;
    return number == 0 ? hipSuccess : hipErrorInvalidValue;
  case hipMemPoolAttrUsedMemHigh:
    if (number == 0) pool->used_high = 0;
    return number == 0 ? hipSuccess : hipErrorInvalidValue;
  default: return hipErrorInvalidValue; /* what is now cannot be set */
  }
}

hipError_t entry_hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value) {
  if (!pool_live(pool) || value == NULL) ENTRY_RETURN(hipMemPoolSetAttribute, hipErrorInvalidValue);
  pthread_mutex_lock(&pool->lock);
  hipError_t error = attribute_set_locked(pool, (int)attribute, value);
  pthread_mutex_unlock(&pool->lock);
  ENTRY_RETURN(hipMemPoolSetAttribute, error);
}

static hipError_t attribute_get_locked(const struct ihipMemPoolHandle_t *pool, int which, void *value) {
  uint64_t number = 0;
  if (which >= REUSE_FIRST && which <= REUSE_LAST) {
    int on = pool->reuse[which - REUSE_FIRST];
    memcpy(value, &on, sizeof on);
    return hipSuccess;
  }
  switch (which) {
  case hipMemPoolAttrReleaseThreshold: number = pool->release_threshold; break;
  case hipMemPoolAttrReservedMemCurrent: number = pool->reserved; break;
  case hipMemPoolAttrReservedMemHigh: number = pool->reserved_high; break;
  case hipMemPoolAttrUsedMemCurrent: number = pool->used; break;
  case hipMemPoolAttrUsedMemHigh: number = pool->used_high; break;
  default: return hipErrorInvalidValue;
  }
  memcpy(value, &number, sizeof number);
  return hipSuccess;
}

hipError_t entry_hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value) {
  if (!pool_live(pool) || value == NULL) ENTRY_RETURN(hipMemPoolGetAttribute, hipErrorInvalidValue);
  pthread_mutex_lock(&pool->lock);
  hipError_t error = attribute_get_locked(pool, (int)attribute, value);
  pthread_mutex_unlock(&pool->lock);
  ENTRY_RETURN(hipMemPoolGetAttribute, error);
}

/* A pool's own device always has all access. */
static hipError_t access_check(const struct ihipMemPoolHandle_t *pool, const hipMemAccessDesc *desc) {
  if ((int)desc->location.type != LOCATION_DEVICE) return hipErrorInvalidValue;
  if (!location_exists(&desc->location)) return hipErrorInvalidDevice;
  if ((unsigned)desc->flags > hipMemAccessFlagsProtReadWrite || (unsigned)desc->flags == 2) return hipErrorInvalidValue;
  if (desc->location.id != pool_device(pool) || desc->flags == hipMemAccessFlagsProtReadWrite) return hipSuccess;
  return desc->flags == hipMemAccessFlagsProtNone ? hipErrorInvalidDevice : hipErrorNotSupported;
}

hipError_t entry_hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc *list, size_t count) {
  if (!pool_live(pool) || list == NULL) ENTRY_RETURN(hipMemPoolSetAccess, hipErrorInvalidValue);
  if (count > state_existing()->device_count) ENTRY_RETURN(hipMemPoolSetAccess, hipErrorInvalidDevice);
  hipError_t error = hipSuccess;
  for (size_t i = 0; error == hipSuccess && i < count; i++) error = access_check(pool, &list[i]);
  if (error != hipSuccess) ENTRY_RETURN(hipMemPoolSetAccess, error);
  pthread_mutex_lock(&pool->lock);
  for (size_t i = 0; i < count; i++) pool->access[list[i].location.id] = (unsigned char)list[i].flags;
  pthread_mutex_unlock(&pool->lock);
  ENTRY_RETURN(hipMemPoolSetAccess, hipSuccess);
}

hipError_t entry_hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t pool, hipMemLocation *location) {
  if (flags == NULL || !pool_live(pool) || location == NULL || (int)location->type != LOCATION_DEVICE || !location_exists(location))
    ENTRY_RETURN(hipMemPoolGetAccess, hipErrorInvalidValue);
  pthread_mutex_lock(&pool->lock);
  unsigned char access = pool->access[location->id];
  pthread_mutex_unlock(&pool->lock);
  *flags = location->id == pool_device(pool) ? hipMemAccessFlagsProtReadWrite : (hipMemAccessFlags)access;
  ENTRY_RETURN(hipMemPoolGetAccess, hipSuccess);
}

hipError_t entry_hipMemPoolExportToShareableHandle(void *out, hipMemPool_t pool, hipMemAllocationHandleType type, unsigned flags) {
  if (out == NULL || flags != 0 || !pool_live(pool) || pool->file == NULL || pool->imported ||
      type != hipMemHandleTypePosixFileDescriptor)
    ENTRY_RETURN(hipMemPoolExportToShareableHandle, hipErrorInvalidValue);
  int descriptor = fcntl(shared_descriptor(pool->file), F_DUPFD_CLOEXEC, 0);
  if (descriptor >= 0) memcpy(out, &descriptor, sizeof descriptor);
  ENTRY_RETURN(hipMemPoolExportToShareableHandle, descriptor >= 0 ? hipSuccess : hipErrorOutOfMemory);
}

static hipError_t import(hipMemPool_t *out_pool, void *os_handle) {
  struct hip_device *device = NULL;
  struct shared *file = NULL;
  int descriptor = -1;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  if (!os_handle_descriptor(os_handle, &descriptor)) return hipErrorInvalidValue;
  struct memory *memory = state_existing()->domain->memory;
  error = error_of(shared_open(memory, descriptor, &file));
  if (error != hipSuccess) return error;
  struct pool_properties properties = {.type = hipMemAllocationTypePinned,
                                       .handle_types = hipMemHandleTypePosixFileDescriptor,
                                       .location = {hipMemLocationTypeDevice, device->ordinal}};
  error = pool_create(&properties, file, out_pool);
  if (error != hipSuccess) shared_release(memory, file);
  return error;
}

hipError_t entry_hipMemPoolImportFromShareableHandle(hipMemPool_t *pool, void *os_handle, hipMemAllocationHandleType type,
                                                     unsigned flags) {
  if (pool == NULL || os_handle == NULL || flags != 0 || type != hipMemHandleTypePosixFileDescriptor)
    ENTRY_RETURN(hipMemPoolImportFromShareableHandle, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemPoolImportFromShareableHandle, import(pool, os_handle));
}

/* hipMemPoolPtrExportData: where in its pool's file the memory is. */
struct exported_pointer {
  uint32_t magic;
  uint32_t reserved;
  uint64_t offset, bytes;
};

#define EXPORTED_MAGIC 0x504d5848u

hipError_t entry_hipMemPoolExportPointer(hipMemPoolPtrExportData *data, void *pointer) {
  struct hip_state *state = NULL;
  struct exported_pointer exported = {.magic = EXPORTED_MAGIC};
  struct shared *file = NULL;
  size_t offset = 0, bytes = 0;
  _Static_assert(sizeof exported <= sizeof *data, "HIP's size");
  hipError_t error = data != NULL && pointer != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess && !pool_place(pointer, &file, &offset, &bytes)) error = hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipMemPoolExportPointer, error);
  exported.offset = offset;
  exported.bytes = bytes;
  memset(data, 0, sizeof *data);
  memcpy(data, &exported, sizeof exported);
  ENTRY_RETURN(hipMemPoolExportPointer, hipSuccess);
}

static hipError_t import_pointer(void **out_pointer, struct ihipMemPoolHandle_t *pool, const hipMemPoolPtrExportData *data) {
  struct exported_pointer exported;
  struct allocation *allocation = NULL;
  struct shared *again = NULL;
  struct memory *memory = state_existing()->domain->memory;
  memcpy(&exported, data, sizeof exported);
  if (exported.magic != EXPORTED_MAGIC || !pool->imported) return hipErrorInvalidValue;
  /* the file may have grown since the pool was imported */
  hipError_t error = error_of(shared_open(memory, shared_descriptor(pool->file), &again));
  if (error != hipSuccess) return error;
  error = error_of(shared_map(memory, pool->file, exported.offset, exported.bytes, 0, MEMORY_DEVICE, MEMORY_READ | MEMORY_WRITE,
                              pool_device(pool), &allocation));
  shared_release(memory, again);
  if (error != hipSuccess) return error;
  error = pool_adopt(pool, allocation);
  if (error == hipSuccess) *out_pointer = (void *)allocation->address;
  else memory_free(memory, allocation);
  return error;
}

hipError_t entry_hipMemPoolImportPointer(void **pointer, hipMemPool_t pool, hipMemPoolPtrExportData *data) {
  if (pointer == NULL || data == NULL || !pool_live(pool)) ENTRY_RETURN(hipMemPoolImportPointer, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemPoolImportPointer, import_pointer(pointer, pool, data));
}
