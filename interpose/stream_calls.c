/* The calls that make, end, wait for and ask about streams, and host functions in them. */
#include <stdlib.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/stream.h"

/* As hipDeviceGetStreamPriorityRange says: 1 is the least, -1 the greatest. */
enum { PRIORITY_LEAST = 1, PRIORITY_GREATEST = -1 };

static hipError_t create(hipStream_t *out_stream, unsigned flags, int priority) {
  struct hip_device *device = NULL;
  if (out_stream == NULL) return hipErrorInvalidValue;
  if (flags != hipStreamDefault && flags != hipStreamNonBlocking) return hipErrorInvalidValue;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  if (priority > PRIORITY_LEAST) priority = PRIORITY_LEAST;
  if (priority < PRIORITY_GREATEST) priority = PRIORITY_GREATEST;
  struct ihipStream_t *stream = NULL;
  /* the engine's higher is HIP's lower */
  error = hip_stream_create(device, flags, -priority, &stream);
  if (error != hipSuccess) return error;
  stream->priority = priority;
  *out_stream = stream;
  return hipSuccess;
}

hipError_t entry_hipStreamCreate(hipStream_t *stream) { ENTRY_RETURN(hipStreamCreate, create(stream, hipStreamDefault, 0)); }

hipError_t entry_hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  ENTRY_RETURN(hipStreamCreateWithFlags, create(stream, flags, 0));
}

hipError_t entry_hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
  ENTRY_RETURN(hipStreamCreateWithPriority, create(stream, flags, priority));
}

static hipError_t destroy(hipStream_t handle) {
  if (handle == NULL || handle == hipStreamPerThread) return hipErrorInvalidHandle;
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  if (stream->legacy) return hipErrorInvalidHandle;
  capture_forget(stream);
  return hip_stream_destroy(stream);
}

hipError_t entry_hipStreamDestroy(hipStream_t stream) { ENTRY_RETURN(hipStreamDestroy, destroy(stream)); }

static hipError_t synchronize(hipError_t found, struct ihipStream_t *stream) {
  if (found != hipSuccess) return found;
  hipError_t error = capture_refuses(stream->device, stream);
  return error == hipSuccess ? hip_stream_synchronize(stream) : error;
}

hipError_t entry_hipStreamSynchronize(hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamSynchronize, synchronize(found, stream));
}

hipError_t entry_hipStreamSynchronize_spt(hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamSynchronize_spt, synchronize(found, stream));
}

static hipError_t query(hipError_t found, struct ihipStream_t *stream) {
  if (found != hipSuccess) return found;
  hipError_t error = capture_refuses(stream->device, stream);
  if (error != hipSuccess) return error;
  return hip_stream_idle(stream) ? hip_stream_failure(stream) : hipErrorNotReady;
}

hipError_t entry_hipStreamQuery(hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamQuery, query(found, stream));
}

hipError_t entry_hipStreamQuery_spt(hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamQuery_spt, query(found, stream));
}

static hipError_t flags_of(hipError_t found, const struct ihipStream_t *stream, unsigned *flags) {
  if (flags == NULL) return hipErrorInvalidValue;
  if (found == hipSuccess) *flags = stream->flags;
  return found;
}

hipError_t entry_hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamGetFlags, flags_of(found, stream, flags));
}

hipError_t entry_hipStreamGetFlags_spt(hipStream_t handle, unsigned *flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamGetFlags_spt, flags_of(found, stream, flags));
}

static hipError_t priority_of(hipError_t found, const struct ihipStream_t *stream, int *priority) {
  if (priority == NULL) return hipErrorInvalidValue;
  if (found == hipSuccess) *priority = stream->priority;
  return found;
}

hipError_t entry_hipStreamGetPriority(hipStream_t handle, int *priority) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamGetPriority, priority_of(found, stream, priority));
}

hipError_t entry_hipStreamGetPriority_spt(hipStream_t handle, int *priority) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamGetPriority_spt, priority_of(found, stream, priority));
}

hipError_t entry_hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = device != NULL ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  if (error == hipSuccess) *device = stream->device->ordinal;
  ENTRY_RETURN(hipStreamGetDevice, error);
}

struct host_function {
  hipHostFn_t call;
  hipStreamCallback_t callback;
  hipStream_t handle; /* as the program gave it: only handed back */
  void *data;
};

static hrx_status host_function_run(void *context) {
  struct host_function *function = context;
  if (function->call != NULL) function->call(function->data);
  else function->callback(function->handle, hipSuccess, function->data);
  return HRX_OK;
}

static hipError_t host_function_submit(struct ihipStream_t *stream, const struct host_function *function) {
  struct host_function *copy = malloc(sizeof *copy);
  if (copy == NULL) return hipErrorOutOfMemory;
  *copy = *function;
  struct task task = {.kind = TASK_HOST,
                      .opaque = true,
                      .label = "host function",
                      .host = {.call = host_function_run, .context = copy, .release = free}};
  struct point point;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status != HRX_OK) free(copy);
  return error_of(status);
}

static hipError_t host_submit(struct ihipStream_t *stream, hipHostFn_t call, void *data) {
  struct host_function function = {.call = call, .data = data};
  return host_function_submit(stream, &function);
}

static hipError_t launch_host(hipError_t found, struct ihipStream_t *stream, hipHostFn_t call, void *data) {
  if (call == NULL) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  return capture_active(stream) ? capture_host(stream, call, data) : host_submit(stream, call, data);
}

hipError_t entry_hipLaunchHostFunc(hipStream_t handle, hipHostFn_t call, void *data) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipLaunchHostFunc, launch_host(found, stream, call, data));
}

hipError_t entry_hipLaunchHostFunc_spt(hipStream_t handle, hipHostFn_t call, void *data) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipLaunchHostFunc_spt, launch_host(found, stream, call, data));
}

static hipError_t add_callback(hipError_t found, struct ihipStream_t *stream, hipStream_t handle,
                               hipStreamCallback_t callback, void *data, unsigned flags) {
  if (callback == NULL || flags != 0) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  hipError_t error = capture_refuses(stream->device, stream);
  if (error != hipSuccess) return error;
  struct host_function function = {.callback = callback, .handle = handle, .data = data};
  return host_function_submit(stream, &function);
}

hipError_t entry_hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void *data, unsigned flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamAddCallback, add_callback(found, stream, handle, callback, data, flags));
}

hipError_t entry_hipStreamAddCallback_spt(hipStream_t handle, hipStreamCallback_t callback, void *data, unsigned flags) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamAddCallback_spt, add_callback(found, stream, handle, callback, data, flags));
}
