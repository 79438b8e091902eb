/* What a program sets on a stream and asks about it, beyond flags and priority. */
#include <stdlib.h>
#include <string.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/stream.h"

static hipError_t find(hipStream_t handle, struct ihipStream_t **out_stream) {
  hipError_t error = hip_stream_find(handle, out_stream);
  return error == hipErrorContextIsDestroyed ? hipErrorInvalidHandle : error;
}

/* How a thread waits for a stream does not change what it sees: the policy is kept, and waits go on to spin briefly and sleep then. */
hipError_t entry_hipStreamSetAttribute(hipStream_t handle, int attribute, const hipLaunchAttributeValue *value) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = value != NULL ? find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess && capture_active(stream)) error = hipErrorStreamCaptureUnsupported;
  if (error == hipSuccess && (attribute != LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
                              value->synchronization_policy < SYNCHRONIZATION_AUTO ||
                              value->synchronization_policy > SYNCHRONIZATION_BLOCKING))
    error = hipErrorInvalidValue;
  if (error == hipSuccess) atomic_store_explicit(&stream->wait_policy, value->synchronization_policy, memory_order_relaxed);
  ENTRY_RETURN(hipStreamSetAttribute, error);
}

static int policy_of(const struct ihipStream_t *stream) {
  int policy = atomic_load_explicit(&stream->wait_policy, memory_order_relaxed);
  return policy != 0 ? policy : SYNCHRONIZATION_AUTO;
}

hipError_t entry_hipStreamGetAttribute(hipStream_t handle, int attribute, hipLaunchAttributeValue *value) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = value != NULL ? find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess && attribute == LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
    value->synchronization_policy = policy_of(stream);
  else if (error == hipSuccess && attribute == LAUNCH_ATTRIBUTE_PRIORITY)
    value->priority = stream->priority;
  else if (error == hipSuccess)
    error = hipErrorInvalidValue;
  ENTRY_RETURN(hipStreamGetAttribute, error);
}

hipError_t entry_hipStreamCopyAttributes(hipStream_t to, hipStream_t from) {
  struct ihipStream_t *source = NULL, *destination = NULL;
  hipError_t error = find(from, &source);
  if (error == hipSuccess) error = find(to, &destination);
  if (error == hipSuccess) atomic_store_explicit(&destination->wait_policy, policy_of(source), memory_order_relaxed);
  ENTRY_RETURN(hipStreamCopyAttributes, error);
}

hipError_t entry_hipStreamGetId(hipStream_t handle, unsigned long long *id) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = id != NULL ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess) *id = stream->id;
  ENTRY_RETURN(hipStreamGetId, error);
}

/* Not an error function: it says -1, and the last error why. */
int entry_hipGetStreamDeviceId(hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  entry_done(ENTRY_hipGetStreamDeviceId, error);
  return error == hipSuccess ? stream->device->ordinal : -1;
}

static unsigned units(const struct hip_device *device) { return device->gpu->properties.compute_units; }
static unsigned mask_words(const struct hip_device *device) { return (units(device) + 31) / 32; }

/* The units of the device that a word of a mask stands for. */
static uint32_t all_units(const struct hip_device *device, unsigned word) {
  unsigned rest = units(device) - word * 32;
  return rest >= 32 ? UINT32_MAX : (1u << rest) - 1;
}

/* The mask is kept for queries. It says where work may run, not what it does: workgroups go on to use every core. */
hipError_t entry_hipExtStreamCreateWithCUMask(hipStream_t *out_stream, uint32_t words, const uint32_t *mask) {
  struct hip_device *device = NULL;
  struct ihipStream_t *stream = NULL;
  uint32_t *copy = NULL;
  hipError_t error = out_stream != NULL && words != 0 && mask != NULL ? state_current(&device) : hipErrorInvalidValue;
  if (error == hipSuccess) {
    copy = calloc(mask_words(device), sizeof *copy);
    if (copy == NULL) error = hipErrorOutOfMemory;
  }
  if (error == hipSuccess) {
    for (unsigned i = 0; i < mask_words(device) && i < words; i++) copy[i] = mask[i] & all_units(device, i);
    error = hip_stream_create(device, hipStreamDefault, 0, &stream);
  }
  if (error == hipSuccess) {
    stream->unit_mask = copy;
    *out_stream = stream;
  } else {
    free(copy);
  }
  ENTRY_RETURN(hipExtStreamCreateWithCUMask, error);
}

hipError_t entry_hipExtStreamGetCUMask(hipStream_t handle, uint32_t words, uint32_t *mask) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = mask != NULL ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess && words < mask_words(stream->device)) error = hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipExtStreamGetCUMask, error);
  bool some = false; /* a mask without any unit means all of them, as none does */
  for (unsigned i = 0; stream->unit_mask != NULL && i < mask_words(stream->device); i++) some |= stream->unit_mask[i] != 0;
  for (unsigned i = 0; i < mask_words(stream->device); i++) mask[i] = some ? stream->unit_mask[i] : all_units(stream->device, i);
  ENTRY_RETURN(hipExtStreamGetCUMask, hipSuccess);
}
