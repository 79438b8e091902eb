/* Virtual memory: physical memory by handle, address ranges, and what is mapped where.
 *
 * A handle is a file of shared bytes; a mapping is a view of it (memory/shared.h). Which device may use a mapping is kept for each and
 * reported so; kernels may do what any device was granted. The host can always reach a mapping, as the engine's copies run there. */
#include "interpose/virtual.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interpose/caller.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/memory_release.h"
#include "memory/shared.h"

enum { GRANULARITY = 4096, GRANULARITY_RECOMMENDED = 2 << 20 };

struct ihipMemGenericAllocationHandle {
  struct shared *shared;
  unsigned handles, mappings; /* it lives while either is not 0; the handle is good while the first is not */
  hipMemAllocationProp properties; /* as they were given, whatever their layout */
  int device;
  bool exportable;
  struct ihipMemGenericAllocationHandle *next;
};

/* allocation.holder of a MEMORY_VIRTUAL allocation. */
struct mapping {
  struct ihipMemGenericAllocationHandle *physical;
  unsigned char access[DOMAIN_DEVICE_MAX]; /* hipMemAccessFlags */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipMemGenericAllocationHandle *physicals;

bool location_exists(const hipMemLocation *location) {
  struct hip_device *device = NULL;
  switch ((int)location->type) {
  case LOCATION_DEVICE: return state_device(location->id, &device) == hipSuccess;
  case LOCATION_HOST:
  case LOCATION_HOST_NODE_CURRENT: return true;
  case LOCATION_HOST_NODE: return location->id == 0; /* the host is shown as one node */
  default: return false;
  }
}

static bool kind_known(int type) { return type == hipMemAllocationTypePinned || type == ALLOCATION_UNCACHED; }
static bool place_known(int type) { return type >= LOCATION_DEVICE && type <= LOCATION_HOST_NODE_CURRENT; }

bool allocation_properties_read(const hipMemAllocationProp *given, struct allocation_properties *out_properties) {
  struct allocation_properties newer;
  _Static_assert(sizeof newer == sizeof *given, "the layouts differ in order, not in size");
  memcpy(&newer, given, sizeof newer);
  if (kind_known(given->type) && place_known((int)given->location.type)) {
    *out_properties = (struct allocation_properties){
      .type = given->type, .handle_types = given->requestedHandleType, .location = given->location, .usage = given->usage};
    return true;
  }
  *out_properties = newer;
  return kind_known(newer.type) && place_known((int)newer.location.type);
}

static hipError_t properties_check(const hipMemAllocationProp *given, struct allocation_properties *out_properties) {
  if (given == NULL || !allocation_properties_read(given, out_properties)) return hipErrorInvalidValue;
  if (location_exists(&out_properties->location)) return hipSuccess;
  bool device = (int)out_properties->location.type == LOCATION_DEVICE;
  return device && caller_hip_version() >= 7 ? hipErrorInvalidDevice : hipErrorInvalidValue;
}

hipError_t entry_hipMemGetAllocationGranularity(size_t *granularity, const hipMemAllocationProp *prop,
                                                hipMemAllocationGranularity_flags option) {
  CALLER_NOTE();
  CALLER_NOTE();
  struct allocation_properties properties;
  if (granularity == NULL || (unsigned)option > hipMemAllocationGranularityRecommended)
    ENTRY_RETURN(hipMemGetAllocationGranularity, hipErrorInvalidValue);
  hipError_t error = properties_check(prop, &properties);
  if (error == hipSuccess)
    *granularity = option == hipMemAllocationGranularityMinimum ? (size_t)GRANULARITY : (size_t)GRANULARITY_RECOMMENDED;
  ENTRY_RETURN(hipMemGetAllocationGranularity, error);
}

static void physical_add_locked(struct ihipMemGenericAllocationHandle *physical) {
  physical->next = physicals;
  physicals = physical;
}

/* Ends it if neither a handle nor a mapping is left. */
static void physical_drop_locked(struct ihipMemGenericAllocationHandle *physical) {
  const struct domain *domain = state_existing()->domain;
  if (physical->handles != 0 || physical->mappings != 0) return;
  struct ihipMemGenericAllocationHandle **at = &physicals;
  while (*at != physical) at = &(*at)->next;
  *at = physical->next;
  engine_storage_forget(domain->engine, shared_storage(physical->shared));
  shared_release(domain->memory, physical->shared);
  free(physical);
}

/* One more handle of it; the first one since there was none makes it live. */
static hipError_t physical_retain_locked(struct ihipMemGenericAllocationHandle *physical) {
  if (physical->handles == 0 && handle_add(physical, HANDLE_PHYSICAL) != HRX_OK) return hipErrorOutOfMemory;
  physical->handles++;
  return hipSuccess;
}

static hipError_t physical_make(struct shared *shared, const hipMemAllocationProp *given, int device, bool exportable,
                                hipMemGenericAllocationHandle_t *out_handle) {
  struct ihipMemGenericAllocationHandle *physical = calloc(1, sizeof *physical);
  if (physical == NULL) return hipErrorOutOfMemory;
  *physical = (struct ihipMemGenericAllocationHandle){
    .shared = shared, .properties = *given, .device = device, .exportable = exportable};
  pthread_mutex_lock(&lock);
  hipError_t error = physical_retain_locked(physical);
  if (error == hipSuccess) physical_add_locked(physical);
  pthread_mutex_unlock(&lock);
  if (error != hipSuccess) {
    free(physical);
    return error;
  }
  *out_handle = physical;
  return hipSuccess;
}

static hipError_t create(hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *prop,
                         unsigned long long flags) {
  struct hip_device *device = NULL;
  struct allocation_properties properties;
  if (handle == NULL || size == 0 || flags != 0) return hipErrorInvalidValue;
  hipError_t error = properties_check(prop, &properties);
  if (error == hipSuccess) error = state_current(&device);
  if (error != hipSuccess) return error;
  if (properties.handle_types != hipMemHandleTypeNone && properties.handle_types != hipMemHandleTypePosixFileDescriptor)
    return hipErrorNotSupported;
  if (size % GRANULARITY != 0) return hipErrorInvalidValue;
  struct memory *memory = state_existing()->domain->memory;
  struct shared *shared = NULL;
  bool on_device = (int)properties.location.type == LOCATION_DEVICE;
  error = error_of(shared_create(memory, size, on_device, &shared));
  if (error != hipSuccess) return error;
  error = physical_make(shared, prop, on_device ? properties.location.id : device->ordinal,
                        properties.handle_types == hipMemHandleTypePosixFileDescriptor, handle);
  if (error != hipSuccess) shared_release(memory, shared);
  return error;
}

hipError_t entry_hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *prop,
                              unsigned long long flags) {
  CALLER_NOTE();
  CALLER_NOTE();
  ENTRY_RETURN(hipMemCreate, create(handle, size, prop, flags));
}

static hipError_t release(hipMemGenericAllocationHandle_t handle) {
  pthread_mutex_lock(&lock);
  bool live = handle_live(handle, HANDLE_PHYSICAL);
  if (live && --handle->handles == 0) {
    handle_remove(handle, HANDLE_PHYSICAL);
    physical_drop_locked(handle);
  }
  pthread_mutex_unlock(&lock);
  return live ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipMemRelease(hipMemGenericAllocationHandle_t handle) { ENTRY_RETURN(hipMemRelease, release(handle)); }

hipError_t entry_hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp *prop, hipMemGenericAllocationHandle_t handle) {
  hipError_t error = prop != NULL ? hipSuccess : hipErrorInvalidValue;
  pthread_mutex_lock(&lock);
  if (!handle_live(handle, HANDLE_PHYSICAL)) error = hipErrorInvalidValue;
  if (error == hipSuccess) *prop = handle->properties;
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemGetAllocationPropertiesFromHandle, error);
}

hipError_t entry_hipMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr, unsigned long long flags) {
  struct hip_state *state = NULL;
  uintptr_t address = 0;
  if (ptr == NULL || flags != 0 || size == 0 || size % GRANULARITY != 0 || (alignment & (alignment - 1)) != 0)
    ENTRY_RETURN(hipMemAddressReserve, hipErrorInvalidValue);
  hipError_t error = state_get(&state);
  if (error == hipSuccess) error = error_of(memory_reserve(state->domain->memory, size, alignment, (uintptr_t)addr, &address));
  if (error == hipSuccess) *ptr = (void *)address;
  ENTRY_RETURN(hipMemAddressReserve, error);
}

/* As HIP does, it takes the whole reservation that begins at `ptr`, whatever `size` is. */
hipError_t entry_hipMemAddressFree(void *ptr, size_t size) {
  struct hip_state *state = NULL;
  hipError_t error = ptr != NULL && size != 0 ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess) error = error_of(memory_unreserve(state->domain->memory, (uintptr_t)ptr));
  ENTRY_RETURN(hipMemAddressFree, error);
}

static hipError_t map_locked(void *ptr, size_t size, hipMemGenericAllocationHandle_t handle) {
  struct allocation *allocation = NULL;
  struct mapping *mapping = NULL;
  if (!handle_live(handle, HANDLE_PHYSICAL) || size > shared_bytes(handle->shared)) return hipErrorInvalidValue;
  mapping = calloc(1, sizeof *mapping);
  if (mapping == NULL) return hipErrorOutOfMemory;
  hipError_t error = error_of(shared_map(state_existing()->domain->memory, handle->shared, 0, size, (uintptr_t)ptr, MEMORY_VIRTUAL, 0,
                                         handle->device, &allocation));
  if (error != hipSuccess) {
    free(mapping);
    return error;
  }
  mapping->physical = handle;
  handle->mappings++;
  allocation->holder = mapping;
  allocation->shared = handle->exportable;
  return hipSuccess;
}

hipError_t entry_hipMemMap(void *ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  struct hip_state *state = NULL;
  if (ptr == NULL || handle == NULL || size == 0 || size % GRANULARITY != 0 || offset != 0 || flags != 0)
    ENTRY_RETURN(hipMemMap, hipErrorInvalidValue);
  hipError_t error = state_get(&state);
  if (error != hipSuccess) ENTRY_RETURN(hipMemMap, error);
  pthread_mutex_lock(&lock);
  error = map_locked(ptr, size, handle);
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemMap, error);
}

/* The first mapping of a range that consists of whole mappings; NULL for any other range. */
static struct allocation *mappings_locked(const struct memory *memory, const void *ptr, size_t size) {
  struct allocation *first = memory_find(memory, (uintptr_t)ptr), *at = first;
  if (first == NULL || first->kind != MEMORY_VIRTUAL || first->address != (uintptr_t)ptr) return NULL;
  while (at != NULL && at->bytes < size) {
    size -= at->bytes;
    at = memory_next(memory, at);
  }
  return at != NULL && at->bytes == size ? first : NULL;
}

static hipError_t unmap_locked(const struct domain *domain, void *ptr, size_t size) {
  struct allocation *at = mappings_locked(domain->memory, ptr, size);
  if (at == NULL) return hipErrorInvalidValue;
  for (uintptr_t end = (uintptr_t)ptr + size; at != NULL;) {
    struct mapping *mapping = at->holder;
    uintptr_t behind = at->address + at->bytes;
    memory_free(domain->memory, at);
    mapping->physical->mappings--;
    physical_drop_locked(mapping->physical);
    free(mapping);
    at = behind < end ? memory_find(domain->memory, behind) : NULL;
  }
  return hipSuccess;
}

hipError_t entry_hipMemUnmap(void *ptr, size_t size) {
  struct hip_state *state = NULL;
  hipError_t error = ptr != NULL && size != 0 ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess) error = memory_wait(state);
  if (error != hipSuccess) ENTRY_RETURN(hipMemUnmap, error);
  pthread_mutex_lock(&lock);
  error = unmap_locked(state->domain, ptr, size);
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemUnmap, error);
}

hipError_t entry_hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle, void *addr) {
  struct hip_state *state = NULL;
  hipError_t error = handle != NULL && addr != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipMemRetainAllocationHandle, error);
  pthread_mutex_lock(&lock);
  struct allocation *allocation = memory_find(state->domain->memory, (uintptr_t)addr);
  struct mapping *mapping = allocation != NULL && allocation->kind == MEMORY_VIRTUAL ? allocation->holder : NULL;
  error = mapping != NULL ? physical_retain_locked(mapping->physical) : hipErrorInvalidValue;
  if (error == hipSuccess) *handle = mapping->physical;
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemRetainAllocationHandle, error);
}

static bool access_valid(const hipMemAccessDesc *desc) {
  return location_exists(&desc->location) && (desc->flags == hipMemAccessFlagsProtNone || desc->flags == hipMemAccessFlagsProtRead ||
                                              desc->flags == hipMemAccessFlagsProtReadWrite);
}

static unsigned access_of(const struct mapping *mapping) {
  unsigned access = 0;
  for (unsigned i = 0; i < DOMAIN_DEVICE_MAX; i++) access |= mapping->access[i];
  return access;
}

static hipError_t access_set_locked(struct memory *memory, void *ptr, size_t size, const hipMemAccessDesc *desc, size_t count) {
  _Static_assert((int)hipMemAccessFlagsProtRead == (int)MEMORY_READ &&
                   (int)hipMemAccessFlagsProtReadWrite == (MEMORY_READ | MEMORY_WRITE), "access bits are copied");
  struct allocation *at = mappings_locked(memory, ptr, size);
  if (at == NULL) return hipErrorInvalidValue;
  for (uintptr_t end = (uintptr_t)ptr + size; at != NULL; at = at->address + at->bytes < end ? memory_next(memory, at) : NULL) {
    struct mapping *mapping = at->holder;
    for (size_t i = 0; i < count; i++)
      if ((int)desc[i].location.type == LOCATION_DEVICE) mapping->access[desc[i].location.id] = (unsigned char)desc[i].flags;
    memory_access_set(memory, at, access_of(mapping));
  }
  return hipSuccess;
}

hipError_t entry_hipMemSetAccess(void *ptr, size_t size, const hipMemAccessDesc *desc, size_t count) {
  struct hip_state *state = NULL;
  bool takes_away = false;
  hipError_t error = ptr != NULL && size != 0 && desc != NULL && count != 0 ? state_get(&state) : hipErrorInvalidValue;
  for (size_t i = 0; error == hipSuccess && i < count; i++) {
    if (!access_valid(&desc[i])) error = hipErrorInvalidValue;
    takes_away = takes_away || desc[i].flags != hipMemAccessFlagsProtReadWrite;
  }
  /* what is queued was allowed when it was queued */
  if (error == hipSuccess && takes_away) error = memory_wait(state);
  if (error != hipSuccess) ENTRY_RETURN(hipMemSetAccess, error);
  pthread_mutex_lock(&lock);
  error = access_set_locked(state->domain->memory, ptr, size, desc, count);
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemSetAccess, error);
}

hipError_t entry_hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location, void *ptr) {
  struct hip_state *state = NULL;
  hipError_t error = flags != NULL && location != NULL && ptr != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess && ((int)location->type != LOCATION_DEVICE || !location_exists(location))) error = hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipMemGetAccess, error);
  pthread_mutex_lock(&lock);
  const struct allocation *allocation = memory_find(state->domain->memory, (uintptr_t)ptr);
  const struct mapping *mapping = allocation != NULL && allocation->kind == MEMORY_VIRTUAL ? allocation->holder : NULL;
  if (mapping != NULL) *flags = mapping->access[location->id];
  else error = hipErrorInvalidValue;
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemGetAccess, error);
}

static hipError_t export_locked(int *out_descriptor, hipMemGenericAllocationHandle_t handle) {
  if (!handle_live(handle, HANDLE_PHYSICAL) || !handle->exportable) return hipErrorInvalidValue;
  int descriptor = fcntl(shared_descriptor(handle->shared), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return hipErrorOutOfMemory;
  *out_descriptor = descriptor;
  return hipSuccess;
}

/* The descriptor is the program's to close. */
hipError_t entry_hipMemExportToShareableHandle(void *out, hipMemGenericAllocationHandle_t handle, hipMemAllocationHandleType type,
                                               unsigned long long flags) {
  if (out == NULL || handle == NULL || flags != 0 || type != hipMemHandleTypePosixFileDescriptor)
    ENTRY_RETURN(hipMemExportToShareableHandle, hipErrorInvalidValue);
  pthread_mutex_lock(&lock);
  hipError_t error = export_locked(out, handle);
  pthread_mutex_unlock(&lock);
  ENTRY_RETURN(hipMemExportToShareableHandle, error);
}

bool os_handle_descriptor(void *os_handle, int *out_descriptor) {
  uintptr_t number = (uintptr_t)os_handle;
  int behind = -1;
  if (number <= INT_MAX && fcntl((int)number, F_GETFD) >= 0) {
    *out_descriptor = (int)number;
    return true;
  }
  /* by way of the kernel: what is no pointer must not end the process */
  struct iovec to = {&behind, sizeof behind}, from = {os_handle, sizeof behind};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof behind || fcntl(behind, F_GETFD) < 0) return false;
  *out_descriptor = behind;
  return true;
}

/* What is known of memory that another process made, in the layout that the program was compiled with. */
static hipMemAllocationProp imported_properties(int device) {
  hipMemLocation location = {hipMemLocationTypeDevice, device};
  hipMemAllocationProp properties = {
    .location = location, .requestedHandleType = hipMemHandleTypePosixFileDescriptor, .type = hipMemAllocationTypePinned};
  struct allocation_properties newer = {
    .type = hipMemAllocationTypePinned, .handle_types = hipMemHandleTypePosixFileDescriptor, .location = location};
  if (caller_hip_version() >= 6) memcpy(&properties, &newer, sizeof properties);
  return properties;
}

static hipError_t import(hipMemGenericAllocationHandle_t *out_handle, void *os_handle) {
  struct hip_device *device = NULL;
  struct shared *shared = NULL;
  int descriptor = -1;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  struct memory *memory = state_existing()->domain->memory;
  if (!os_handle_descriptor(os_handle, &descriptor)) return hipErrorInvalidValue;
  error = error_of(shared_open(memory, descriptor, &shared));
  if (error != hipSuccess) return error;
  pthread_mutex_lock(&lock);
  struct ihipMemGenericAllocationHandle *known = physicals;
  while (known != NULL && known->shared != shared) known = known->next;
  if (known != NULL) {
    error = physical_retain_locked(known);
    if (error == hipSuccess) *out_handle = known;
  }
  pthread_mutex_unlock(&lock);
  if (known == NULL) {
    hipMemAllocationProp properties = imported_properties(device->ordinal);
    error = physical_make(shared, &properties, device->ordinal, true, out_handle);
  }
  if (known != NULL || error != hipSuccess) shared_release(memory, shared);
  return error;
}

hipError_t entry_hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle, void *os_handle,
                                                 hipMemAllocationHandleType type) {
  CALLER_NOTE();
  CALLER_NOTE();
  /* descriptor 0 as a number looks like NULL; HIP refuses it too */
  if (handle == NULL || os_handle == NULL || type != hipMemHandleTypePosixFileDescriptor)
    ENTRY_RETURN(hipMemImportFromShareableHandle, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemImportFromShareableHandle, import(handle, os_handle));
}
