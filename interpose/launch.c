/* Launches: hipLaunchKernel and everything that ends like it. */
#include "interpose/launch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/occupancy.h"
#include "interpose/operation.h"

/* HIP 7 calls an empty grid a wrong value. */
static hipError_t launch_empty_error(void) { return caller_hip_version() < 7 ? hipErrorInvalidConfiguration : hipErrorInvalidValue; }

hipError_t launch_geometry(struct launch_operation *operation, dim3 blocks, dim3 block, size_t shared_bytes) {
  const uint32_t counts[3] = {blocks.x, blocks.y, blocks.z}, sizes[3] = {block.x, block.y, block.z};
  for (int axis = 0; axis < 3; axis++) {
    uint64_t items = (uint64_t)counts[axis] * sizes[axis];
    if (items == 0) return launch_empty_error();
    if (items > UINT32_MAX) return hipErrorInvalidConfiguration;
    operation->grid[axis] = (uint32_t)items;
    operation->block[axis] = sizes[axis];
  }
  if (shared_bytes > UINT32_MAX) return hipErrorInvalidValue;
  operation->dynamic_lds = (uint32_t)shared_bytes;
  return hipSuccess;
}

static hipError_t pack_extra(const struct ihipModuleSymbol_t *function, void **extra, void *buffer, size_t *out_bytes) {
  const void *bytes = NULL;
  const size_t *size = NULL;
  /* pairs of a key and a pointer; a list that runs on without its end is not HIP's */
  for (unsigned i = 0; extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
    if (i >= 8) return hipErrorInvalidValue;
    if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) bytes = extra[i + 1];
    else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) size = extra[i + 1];
    else return hipErrorInvalidValue;
  }
  if (bytes == NULL || size == NULL || *size < function->code->explicit_bytes) return hipErrorInvalidValue;
  /* what the program gives beyond the explicit arguments is its padding */
  memcpy(buffer, bytes, function->code->explicit_bytes);
  *out_bytes = function->code->explicit_bytes;
  return hipSuccess;
}

hipError_t launch_pack(const struct ihipModuleSymbol_t *function, void **parameters, void **extra, void *buffer,
                       size_t *out_bytes) {
  const struct kernel_code *code = function->code;
  *out_bytes = 0;
  if (parameters != NULL && extra != NULL) return hipErrorInvalidValue;
  if (code->explicit_count == 0) return hipSuccess;
  if (extra != NULL) return pack_extra(function, extra, buffer, out_bytes);
  if (parameters == NULL) return hipErrorInvalidValue;
  memset(buffer, 0, code->explicit_bytes);
  for (uint32_t i = 0; i < code->explicit_count; i++) {
    const struct kernel_argument *argument = &code->arguments[i];
    if (parameters[i] == NULL) return hipErrorInvalidValue;
    memcpy((char *)buffer + argument->offset, parameters[i], argument->bytes);
  }
  *out_bytes = code->explicit_bytes;
  return hipSuccess;
}

hrx_status launch_dispatch(const struct launch_operation *operation, struct gpu_dispatch **out_dispatch) {
  struct gpu_launch launch = {.dynamic_lds = operation->dynamic_lds,
                              .arguments = operation->arguments,
                              .argument_bytes = operation->argument_bytes,
                              .cooperative = operation->cooperative,
                              .multi_grid = operation->multi_grid};
  memcpy(launch.grid, operation->grid, sizeof launch.grid);
  memcpy(launch.block, operation->block, sizeof launch.block);
  return gpu_dispatch_create(operation->function->kernel, &launch, out_dispatch);
}

hipError_t launch_queue(struct ihipStream_t *stream, const struct launch_operation *operation, struct gpu_dispatch *dispatch,
                        uint64_t *out_started_ns, uint64_t *out_finished_ns) {
  struct task task = {.kind = TASK_DISPATCH,
                      .opaque = true,
                      .out_started_ns = out_started_ns,
                      .out_finished_ns = out_finished_ns,
                      .label = operation->function->code->name,
                      .dispatch = dispatch};
  struct point point;
  hrx_status status = hip_stream_submit(stream, &task, &point);
  if (status != HRX_OK) {
    gpu_dispatch_release(dispatch);
    return error_logged(status);
  }
  return hipSuccess;
}

hipError_t launch_submit(struct ihipStream_t *stream, const struct launch_operation *operation, uint64_t *out_started_ns,
                         uint64_t *out_finished_ns) {
  struct gpu_dispatch *dispatch = NULL;
  hrx_status status = launch_dispatch(operation, &dispatch);
  if (status != HRX_OK) return error_logged(status);
  return launch_queue(stream, operation, dispatch, out_started_ns, out_finished_ns);
}

hipError_t launch_issue(struct ihipStream_t *stream, const struct launch_operation *operation) {
  return capture_active(stream) ? capture_launch(stream, operation) : launch_submit(stream, operation, NULL, NULL);
}

enum { ARGUMENTS_INLINE = 1024 };

/* Packs the arguments on the stack if they fit, as nearly all do, and launches. */
static hipError_t pack_and_issue(struct ihipStream_t *stream, struct launch_operation *operation, void **parameters,
                                 void **extra) {
  _Alignas(16) unsigned char inline_bytes[ARGUMENTS_INLINE];
  const struct kernel_code *code = operation->function->code;
  void *bytes = code->explicit_bytes > sizeof inline_bytes ? malloc(code->explicit_bytes) : inline_bytes;
  if (bytes == NULL) return hipErrorOutOfMemory;
  hipError_t error = launch_pack(operation->function, parameters, extra, bytes, &operation->argument_bytes);
  operation->arguments = bytes;
  if (error == hipSuccess) error = launch_issue(stream, operation);
  if (bytes != inline_bytes) free(bytes);
  return error;
}

/* Says it once for each pointer; a program that goes on past the table has been told enough. */
static void unregistered_say(const void *stub) {
  static _Atomic(const void *) said[64];
  for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
    const void *before = NULL;
    if (atomic_compare_exchange_strong(&said[i], &before, stub)) {
      log_line(LOG_ERROR,
               "a launch names %p, which no kernel was registered for: the library that has the kernel is not loaded yet or no longer, "
               "or it was built without GPU code",
               stub);
      return;
    }
    if (before == stub) return;
  }
}

hipError_t launch_stub(hipError_t found, struct ihipStream_t *stream, const void *stub, dim3 blocks, dim3 block,
                       void **parameters, size_t shared_bytes, bool cooperative) {
  struct launch_operation operation = {.cooperative = cooperative};
  if (found != hipSuccess) return found;
  hipError_t error = function_of_stub(stub, stream->device, &operation.function);
  if (error == hipErrorInvalidDeviceFunction && function_stub_name(stub) == NULL)
    unregistered_say(stub);
  if (error == hipSuccess) error = launch_geometry(&operation, blocks, block, shared_bytes);
  if (error == hipSuccess && cooperative) error = cooperative_check(&operation);
  return error == hipSuccess ? pack_and_issue(stream, &operation, parameters, NULL) : error;
}

hipError_t entry_hipLaunchKernel(const void *stub, dim3 blocks, dim3 block, void **args, size_t shared, hipStream_t handle) {
  CALLER_NOTE();
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipLaunchKernel, launch_stub(found, stream, stub, blocks, block, args, shared, false));
}

hipError_t entry_hipLaunchKernel_spt(const void *stub, dim3 blocks, dim3 block, void **args, size_t shared,
                                     hipStream_t handle) {
  CALLER_NOTE();
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipLaunchKernel_spt, launch_stub(found, stream, stub, blocks, block, args, shared, false));
}

hipError_t entry_hipLaunchCooperativeKernel(const void *stub, dim3 blocks, dim3 block, void **args, unsigned shared,
                                            hipStream_t handle) {
  CALLER_NOTE();
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  /* HIP 7 calls a dead stream an invalid handle here, and here alone */
  if (found == hipErrorContextIsDestroyed && caller_hip_version() >= 7) found = hipErrorInvalidHandle;
  ENTRY_RETURN(hipLaunchCooperativeKernel, launch_stub(found, stream, stub, blocks, block, args, shared, true));
}

hipError_t entry_hipLaunchCooperativeKernel_spt(const void *stub, dim3 blocks, dim3 block, void **args, uint32_t shared,
                                                hipStream_t handle) {
  CALLER_NOTE();
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipLaunchCooperativeKernel_spt, launch_stub(found, stream, stub, blocks, block, args, shared, true));
}

/* The events around an extended launch are recorded like any others: before and behind the kernel. */
static hipError_t record(hipEvent_t event, hipStream_t stream) {
  if (event == NULL) return hipSuccess;
  return entry_hipEventRecord(event, stream);
}

hipError_t entry_hipExtLaunchKernel(const void *stub, dim3 blocks, dim3 block, void **args, size_t shared,
                                    hipStream_t handle, hipEvent_t start, hipEvent_t stop, int flags) {
  CALLER_NOTE();
  (void)flags; /* hipExtAnyOrderLaunch permits what hrx never needs */
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  if (error == hipSuccess) error = record(start, handle);
  error = launch_stub(error, stream, stub, blocks, block, args, shared, false);
  if (error == hipSuccess) error = record(stop, handle);
  ENTRY_RETURN(hipExtLaunchKernel, error);
}

void entry_hip_impl_hipLaunchKernelGGLImpl(uintptr_t stub, const dim3 *blocks, const dim3 *block, uint32_t shared,
                                           hipStream_t handle, void **args) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  entry_done(ENTRY_hip_impl_hipLaunchKernelGGLImpl,
             launch_stub(found, stream, (const void *)stub, *blocks, *block, args, shared, false));
}

static hipError_t launch_function(hipFunction_t function, const uint32_t grid[3], const uint32_t block[3], size_t shared,
                                  hipStream_t handle, void **parameters, void **extra, bool cooperative) {
  struct ihipStream_t *stream = NULL;
  struct launch_operation operation = {.function = function, .cooperative = cooperative};
  hipError_t error = hip_stream_find(handle, &stream);
  if (error != hipSuccess) return error;
  if (!handle_live(function, HANDLE_FUNCTION)) return hipErrorInvalidHandle;
  if (function->device != stream->device) return hipErrorInvalidHandle;
  for (int axis = 0; axis < 3; axis++) {
    if (grid[axis] == 0 || block[axis] == 0) return launch_empty_error();
    operation.grid[axis] = grid[axis];
    operation.block[axis] = block[axis];
  }
  if (shared > UINT32_MAX) return hipErrorInvalidValue;
  operation.dynamic_lds = (uint32_t)shared;
  if (cooperative) error = cooperative_check(&operation);
  return error == hipSuccess ? pack_and_issue(stream, &operation, parameters, extra) : error;
}

hipError_t launch_blocks(hipFunction_t function, dim3 blocks, dim3 block, size_t shared, hipStream_t stream,
                         void **parameters, void **extra, bool cooperative) {
  struct launch_operation operation;
  hipError_t error = launch_geometry(&operation, blocks, block, shared);
  return error == hipSuccess ? launch_function(function, operation.grid, operation.block, shared, stream, parameters, extra,
                                               cooperative)
                             : error;
}

hipError_t entry_hipModuleLaunchKernel(hipFunction_t f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                       unsigned blockY, unsigned blockZ, unsigned shared, hipStream_t stream,
                                       void **parameters, void **extra) {
  CALLER_NOTE();
  ENTRY_RETURN(hipModuleLaunchKernel, launch_blocks(f, (dim3){gridX, gridY, gridZ}, (dim3){blockX, blockY, blockZ}, shared,
                                                    stream, parameters, extra, false));
}

hipError_t entry_hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gridX, unsigned gridY, unsigned gridZ,
                                                  unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                                                  hipStream_t stream, void **parameters) {
  CALLER_NOTE();
  ENTRY_RETURN(hipModuleLaunchCooperativeKernel,
               launch_blocks(f, (dim3){gridX, gridY, gridZ}, (dim3){blockX, blockY, blockZ}, shared, stream, parameters,
                             NULL, true));
}

/* These two count work-items, not blocks. */
hipError_t entry_hipExtModuleLaunchKernel(hipFunction_t f, uint32_t globalX, uint32_t globalY, uint32_t globalZ,
                                          uint32_t localX, uint32_t localY, uint32_t localZ, size_t shared,
                                          hipStream_t stream, void **parameters, void **extra, hipEvent_t start,
                                          hipEvent_t stop, uint32_t flags) {
  CALLER_NOTE();
  (void)flags;
  const uint32_t grid[3] = {globalX, globalY, globalZ}, block[3] = {localX, localY, localZ};
  hipError_t error = record(start, stream);
  if (error == hipSuccess) error = launch_function(f, grid, block, shared, stream, parameters, extra, false);
  if (error == hipSuccess) error = record(stop, stream);
  ENTRY_RETURN(hipExtModuleLaunchKernel, error);
}

hipError_t entry_hipHccModuleLaunchKernel(hipFunction_t f, uint32_t globalX, uint32_t globalY, uint32_t globalZ,
                                          uint32_t localX, uint32_t localY, uint32_t localZ, size_t shared,
                                          hipStream_t stream, void **parameters, void **extra, hipEvent_t start,
                                          hipEvent_t stop) {
  return entry_hipExtModuleLaunchKernel(f, globalX, globalY, globalZ, localX, localY, localZ, shared, stream, parameters,
                                        extra, start, stop, 0);
}
