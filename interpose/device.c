/* Devices: which there are, which one the thread uses, waiting for one. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/array.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/pool.h"
#include "interpose/properties.h"

hipError_t entry_hipInit(unsigned flags) {
  struct hip_state *state = NULL;
  ENTRY_RETURN(hipInit, flags == 0 ? state_get(&state) : hipErrorInvalidValue);
}

/* The version of the API that hrx has for the program: that of the library it was linked to. */
static int version_number(void) {
  switch (state_hip_version()) {
  case 7: return 70200000;
  case 6: return 60300000;
  default: return HIP_VERSION;
  }
}

hipError_t entry_hipDriverGetVersion(int *version) {
  CALLER_NOTE();
  if (version != NULL) *version = version_number();
  ENTRY_RETURN(hipDriverGetVersion, version != NULL ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipRuntimeGetVersion(int *version) {
  CALLER_NOTE();
  if (version != NULL) *version = version_number();
  ENTRY_RETURN(hipRuntimeGetVersion, version != NULL ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGetDeviceCount(int *count) {
  struct hip_state *state = NULL;
  if (count == NULL) ENTRY_RETURN(hipGetDeviceCount, hipErrorInvalidValue);
  hipError_t error = state_start(&state);
  if (error == hipSuccess) {
    *count = (int)state->device_count;
    if (*count == 0) error = hipErrorNoDevice;
  }
  ENTRY_RETURN(hipGetDeviceCount, error);
}

hipError_t entry_hipGetDevice(int *ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = ordinal != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *ordinal = device->ordinal;
  ENTRY_RETURN(hipGetDevice, error);
}

hipError_t entry_hipSetDevice(int ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess) thread_device_choose(ordinal);
  ENTRY_RETURN(hipSetDevice, error);
}

/* For threads that did not choose: the first of the list works, as all devices do. */
hipError_t entry_hipSetValidDevices(int *devices, int count) {
  struct hip_state *state = NULL;
  hipError_t error = count >= 0 && (count == 0 || devices != NULL) ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess && (unsigned)count > state->device_count) error = hipErrorInvalidValue;
  for (int i = 0; error == hipSuccess && i < count; i++)
    if (devices[i] < 0 || (unsigned)devices[i] >= state->device_count) error = hipErrorInvalidDevice;
  if (error == hipSuccess) atomic_store_explicit(&thread_first_device, count > 0 ? devices[0] : 0, memory_order_relaxed);
  ENTRY_RETURN(hipSetValidDevices, error);
}

hipError_t entry_hipDeviceGet(hipDevice_t *handle, int ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = handle != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *handle = ordinal;
  ENTRY_RETURN(hipDeviceGet, error);
}

hipError_t entry_hipDeviceGetName(char *name, int length, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = name != NULL && length > 0 ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) snprintf(name, (size_t)length, "%s", device->gpu->properties.name);
  ENTRY_RETURN(hipDeviceGetName, error);
}

hipError_t entry_hipDeviceGetUuid(hipUUID *uuid, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipDeviceProp_tR0600 properties;
  hipError_t error = uuid != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) {
    properties_fill(device, &properties);
    *uuid = properties.uuid;
  }
  ENTRY_RETURN(hipDeviceGetUuid, error);
}

hipError_t entry_hipDeviceTotalMem(size_t *bytes, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipError_t error = bytes != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *bytes = device->gpu->properties.memory_bytes;
  ENTRY_RETURN(hipDeviceTotalMem, error);
}

hipError_t entry_hipDeviceComputeCapability(int *major, int *minor, hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  hipDeviceProp_tR0600 properties;
  hipError_t error = major != NULL && minor != NULL ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) {
    properties_fill(device, &properties);
    *major = properties.major;
    *minor = properties.minor;
  }
  ENTRY_RETURN(hipDeviceComputeCapability, error);
}

enum { PCI_ID_BYTES = 13 }; /* "0000:01:00.0" and its end */

static void pci_id(const struct hip_device *device, char out_id[PCI_ID_BYTES]) {
  snprintf(out_id, PCI_ID_BYTES, "0000:%02x:00.0", (unsigned)(device->ordinal + 1) & 0xff);
}

hipError_t entry_hipDeviceGetPCIBusId(char *id, int length, int ordinal) {
  struct hip_device *device = NULL;
  char text_id[PCI_ID_BYTES];
  hipError_t error = id != NULL && length > 0 ? state_device(ordinal, &device) : hipErrorInvalidValue;
  if (error == hipSuccess && length < PCI_ID_BYTES) error = hipErrorInvalidValue;
  if (error == hipSuccess) {
    pci_id(device, text_id);
    memcpy(id, text_id, sizeof text_id);
  }
  ENTRY_RETURN(hipDeviceGetPCIBusId, error);
}

hipError_t entry_hipDeviceGetByPCIBusId(int *ordinal, const char *id) {
  struct hip_state *state = NULL;
  char text_id[PCI_ID_BYTES];
  hipError_t error = ordinal != NULL && id != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipDeviceGetByPCIBusId, error);
  for (unsigned i = 0; i < state->device_count; i++) {
    pci_id(&state->devices[i], text_id);
    if (strcasecmp(text_id, id) != 0) continue;
    *ordinal = (int)i;
    ENTRY_RETURN(hipDeviceGetByPCIBusId, hipSuccess);
  }
  ENTRY_RETURN(hipDeviceGetByPCIBusId, hipErrorInvalidDevice);
}

/* All devices of hrx are alike, so any wish is met best by the first. */
static hipError_t choose(int *ordinal, const void *wanted) {
  struct hip_device *device = NULL;
  hipError_t error = ordinal != NULL && wanted != NULL ? state_device(0, &device) : hipErrorInvalidValue;
  if (error == hipSuccess) *ordinal = 0;
  return error;
}

hipError_t entry_hipChooseDevice(int *device, const hipDeviceProp_t *wanted) {
  ENTRY_RETURN(hipChooseDevice, choose(device, wanted));
}

hipError_t entry_hipChooseDeviceR0000(int *device, const hipDeviceProp_t *wanted) {
  ENTRY_RETURN(hipChooseDeviceR0000, choose(device, wanted));
}

hipError_t entry_hipChooseDeviceR0600(int *device, const hipDeviceProp_tR0600 *wanted) {
  ENTRY_RETURN(hipChooseDeviceR0600, choose(device, wanted));
}

static hipError_t synchronize(void) {
  struct hip_state *state = NULL;
  struct hip_device *device = NULL;
  hipError_t error = state_get(&state);
  if (error == hipSuccess) error = state_current(&device);
  if (error == hipSuccess) error = capture_refuses(device, NULL);
  return error == hipSuccess ? state_synchronize(state) : error;
}

hipError_t entry_hipDeviceSynchronize(void) { ENTRY_RETURN(hipDeviceSynchronize, synchronize()); }

/* Allocations to free, found under the memory's lock and freed outside it. */
struct reset {
  int device;
  size_t count, capacity;
  struct allocation **found;
};

static void reset_visit(const struct allocation *allocation, void *context) {
  struct reset *reset = context;
  if (allocation->device != reset->device || (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_MANAGED)) return;
  if (allocation->kind == MEMORY_DEVICE && (allocation->flags & ARRAY_MEMORY_FLAG) != 0) return; /* hipFreeArray's */
  if (allocation->holder != NULL) return; /* a pool's */
  if (reset->count < reset->capacity) reset->found[reset->count] = (struct allocation *)(uintptr_t)allocation;
  reset->count++;
}

/* Frees what the device holds for the program. Pinned host memory stays: the host may be using it. */
static hipError_t reset_device(struct hip_state *state, struct hip_device *device) {
  struct reset reset = {.device = device->ordinal};
  pool_device_reset(device->ordinal);
  memory_visit(state->domain->memory, reset_visit, &reset);
  reset.capacity = reset.count;
  reset.count = 0;
  reset.found = calloc(reset.capacity + 1, sizeof *reset.found);
  if (reset.found == NULL) return hipErrorOutOfMemory;
  memory_visit(state->domain->memory, reset_visit, &reset);
  for (size_t i = 0; i < reset.count && i < reset.capacity; i++) {
    engine_storage_forget(state->domain->engine, reset.found[i]->storage);
    memory_free(state->domain->memory, reset.found[i]);
  }
  free(reset.found);
  return hipSuccess;
}

hipError_t entry_hipDeviceReset(void) {
  struct hip_state *state = NULL;
  struct hip_device *device = NULL;
  hipError_t error = state_get(&state);
  if (error == hipSuccess) error = state_current(&device);
  if (error == hipSuccess) error = capture_refuses(device, NULL);
  if (error == hipSuccess) {
    state_synchronize(state); /* a failure is what the reset is to clear */
    error = reset_device(state, device);
  }
  ENTRY_RETURN(hipDeviceReset, error);
}

enum { LIMIT_STACK = 0, LIMIT_COUNT = 3 }; /* hipLimit_t has no name for 0 before HIP 6 */

static _Atomic size_t limits[LIMIT_COUNT] = {1024, 1 << 20, 8 << 20};

hipError_t entry_hipDeviceGetLimit(size_t *value, enum hipLimit_t limit) {
  struct hip_device *device = NULL;
  hipError_t error = value != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess && (unsigned)limit >= LIMIT_COUNT) error = hipErrorUnsupportedLimit;
  if (error == hipSuccess) *value = atomic_load(&limits[limit]);
  ENTRY_RETURN(hipDeviceGetLimit, error);
}

hipError_t entry_hipDeviceSetLimit(enum hipLimit_t limit, size_t value) {
  struct hip_device *device = NULL;
  hipError_t error = state_current(&device);
  /* kernels say how much scratch they need; a stack limit only matters to those that do not know */
  if (error == hipSuccess && (unsigned)limit != LIMIT_STACK) error = hipErrorUnsupportedLimit;
  if (error == hipSuccess) atomic_store(&limits[LIMIT_STACK], value);
  ENTRY_RETURN(hipDeviceSetLimit, error);
}

hipError_t entry_hipSetDeviceFlags(unsigned flags) {
  struct hip_device *device = NULL;
  const unsigned known = hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax;
  hipError_t error = (flags & ~known) == 0 ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) atomic_store(&device->flags, flags);
  ENTRY_RETURN(hipSetDeviceFlags, error);
}

hipError_t entry_hipGetDeviceFlags(unsigned *flags) {
  struct hip_device *device = NULL;
  hipError_t error = flags != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *flags = atomic_load(&device->flags);
  ENTRY_RETURN(hipGetDeviceFlags, error);
}

hipError_t entry_hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  struct hip_device *device = NULL;
  hipError_t error = state_current(&device);
  if (error == hipSuccess && least != NULL) *least = 1;
  if (error == hipSuccess && greatest != NULL) *greatest = -1;
  ENTRY_RETURN(hipDeviceGetStreamPriorityRange, error);
}

/* The software GPU has no caches to configure: the setters are hints, the getters say "no preference". */
static hipError_t cache_set(hipFuncCache_t config) {
  struct hip_device *device = NULL;
  return (unsigned)config <= hipFuncCachePreferEqual ? state_current(&device) : hipErrorInvalidValue;
}

static hipError_t cache_get(hipFuncCache_t *config) {
  struct hip_device *device = NULL;
  hipError_t error = config != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *config = hipFuncCachePreferNone;
  return error;
}

static hipError_t banks_set(hipSharedMemConfig config) {
  struct hip_device *device = NULL;
  return (unsigned)config <= hipSharedMemBankSizeEightByte ? state_current(&device) : hipErrorInvalidValue;
}

static hipError_t banks_get(hipSharedMemConfig *config) {
  struct hip_device *device = NULL;
  hipError_t error = config != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) *config = hipSharedMemBankSizeFourByte;
  return error;
}

hipError_t entry_hipDeviceSetCacheConfig(hipFuncCache_t c) { ENTRY_RETURN(hipDeviceSetCacheConfig, cache_set(c)); }
hipError_t entry_hipDeviceGetCacheConfig(hipFuncCache_t *c) { ENTRY_RETURN(hipDeviceGetCacheConfig, cache_get(c)); }
hipError_t entry_hipDeviceSetSharedMemConfig(hipSharedMemConfig c) { ENTRY_RETURN(hipDeviceSetSharedMemConfig, banks_set(c)); }
hipError_t entry_hipDeviceGetSharedMemConfig(hipSharedMemConfig *c) { ENTRY_RETURN(hipDeviceGetSharedMemConfig, banks_get(c)); }
hipError_t entry_hipCtxSetCacheConfig(hipFuncCache_t c) { ENTRY_RETURN(hipCtxSetCacheConfig, cache_set(c)); }
hipError_t entry_hipCtxGetCacheConfig(hipFuncCache_t *c) { ENTRY_RETURN(hipCtxGetCacheConfig, cache_get(c)); }
hipError_t entry_hipCtxSetSharedMemConfig(hipSharedMemConfig c) { ENTRY_RETURN(hipCtxSetSharedMemConfig, banks_set(c)); }
hipError_t entry_hipCtxGetSharedMemConfig(hipSharedMemConfig *c) { ENTRY_RETURN(hipCtxGetSharedMemConfig, banks_get(c)); }
