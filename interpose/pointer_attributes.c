/* What HIP tells about a pointer. Before HIP 6 an unknown one was an error and memory types had other numbers. */
#include <string.h>

#include "interpose/entry.h"
#include "interpose/state.h"

static hipError_t find(const void *pointer, struct allocation **out_allocation) {
  struct hip_state *state = NULL;
  hipError_t error = state_get(&state);
  if (error == hipSuccess) *out_allocation = memory_find(state->domain->memory, (uintptr_t)pointer);
  return error;
}

static bool host_memory(const struct allocation *allocation) {
  return allocation->kind == MEMORY_HOST || allocation->kind == MEMORY_REGISTERED;
}

/* Stored through int: both numberings share the field. */
static int type_of(const struct allocation *allocation) {
  if (state_hip_version() < 6) return host_memory(allocation) ? hipMemoryTypeHost : hipMemoryTypeDevice;
  if (host_memory(allocation)) return MEMORY_TYPE6_HOST;
  return allocation->kind == MEMORY_MANAGED ? MEMORY_TYPE6_MANAGED : MEMORY_TYPE6_DEVICE;
}

static bool host_visible(const struct allocation *allocation) {
  return host_memory(allocation) || allocation->kind == MEMORY_MANAGED;
}

hipError_t entry_hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
  CALLER_NOTE();
  struct allocation *allocation = NULL;
  hipError_t error = attributes != NULL && pointer != NULL ? find(pointer, &allocation) : hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipPointerGetAttributes, error);
  if (allocation == NULL) {
    if (state_hip_version() < 6) ENTRY_RETURN(hipPointerGetAttributes, hipErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes); /* hipMemoryTypeUnregistered */
    attributes->device = -2; /* hipInvalidDeviceId */
    ENTRY_RETURN(hipPointerGetAttributes, hipSuccess);
  }
  int type = type_of(allocation);
  memset(attributes, 0, sizeof *attributes);
  memcpy(&attributes->memoryType, &type, sizeof type);
  attributes->device = allocation->device;
  attributes->devicePointer = (void *)(uintptr_t)pointer;
  attributes->hostPointer = host_visible(allocation) ? (void *)(uintptr_t)pointer : NULL;
  attributes->isManaged = allocation->kind == MEMORY_MANAGED;
  attributes->allocationFlags = allocation->flags;
  ENTRY_RETURN(hipPointerGetAttributes, hipSuccess);
}

/* One attribute of the driver's form; its size follows from which it is. */
static hipError_t attribute(const struct allocation *allocation, hipPointer_attribute which, const void *pointer, void *data) {
  switch (which) {
  case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: {
    int type = type_of(allocation);
    memcpy(data, &type, sizeof type);
    return hipSuccess;
  }
  case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: memcpy(data, &allocation->device, sizeof allocation->device); return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: memcpy(data, &pointer, sizeof pointer); return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!host_visible(allocation)) return hipErrorInvalidValue;
    memcpy(data, &pointer, sizeof pointer);
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_IS_MANAGED: *(bool *)data = allocation->kind == MEMORY_MANAGED; return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_MAPPED: *(bool *)data = true; return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_BUFFER_ID: memcpy(data, &allocation->serial, sizeof allocation->serial); return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    memcpy(data, &allocation->address, sizeof allocation->address);
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: {
    uint64_t bytes = allocation->bytes;
    memcpy(data, &bytes, sizeof bytes);
    return hipSuccess;
  }
  case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(bool *)data = allocation->synchronous; return hipSuccess;
  default: return hipErrorNotSupported;
  }
}

hipError_t entry_hipPointerGetAttribute(void *data, hipPointer_attribute which, hipDeviceptr_t pointer) {
  CALLER_NOTE();
  struct allocation *allocation = NULL;
  hipError_t error = data != NULL && pointer != NULL ? find(pointer, &allocation) : hipErrorInvalidValue;
  if (error == hipSuccess) error = allocation != NULL ? attribute(allocation, which, pointer, data) : hipErrorInvalidValue;
  ENTRY_RETURN(hipPointerGetAttribute, error);
}

/* An attribute that a pointer does not have is left alone; the call succeeds if all attributes exist. */
hipError_t entry_hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *which, void **data, hipDeviceptr_t pointer) {
  CALLER_NOTE();
  struct allocation *allocation = NULL;
  if (count == 0 || which == NULL || data == NULL) ENTRY_RETURN(hipDrvPointerGetAttributes, hipErrorInvalidValue);
  hipError_t error = find(pointer, &allocation);
  for (unsigned i = 0; error == hipSuccess && i < count; i++) {
    if (data[i] == NULL) error = hipErrorInvalidValue;
    else if (allocation != NULL && attribute(allocation, which[i], pointer, data[i]) == hipErrorNotSupported)
      error = hipErrorNotSupported;
  }
  ENTRY_RETURN(hipDrvPointerGetAttributes, error);
}

/* Copies with the memory block until they are over, from now on or no longer. */
hipError_t entry_hipPointerSetAttribute(const void *value, hipPointer_attribute which, hipDeviceptr_t pointer) {
  struct allocation *allocation = NULL;
  if (value == NULL || pointer == NULL || which != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS)
    ENTRY_RETURN(hipPointerSetAttribute, hipErrorInvalidValue);
  hipError_t error = find(pointer, &allocation);
  if (error == hipSuccess && allocation == NULL) error = hipErrorInvalidDevicePointer;
  if (error == hipSuccess) allocation->synchronous = *(const bool *)value;
  ENTRY_RETURN(hipPointerSetAttribute, error);
}
