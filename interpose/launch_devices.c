/* One kernel on each of several devices: launched together, and, if they cooperate, able to synchronise with each other.
 *
 * All launches are validated before the first is queued. Kernels that synchronise across devices find what they need for it
 * (device-libs: struct mg_info) behind a hidden argument; it lives until all of them are over. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/launch.h"
#include "interpose/occupancy.h"

enum { FLAGS_ALL = hipCooperativeLaunchMultiDeviceNoPreSync | hipCooperativeLaunchMultiDeviceNoPostSync };

/* ROCm-Device-Libs, ockl/src/cg.cl: what multi-grid functions read. */
struct grid_view {
  uint64_t sync; /* address of the counter that all grids share */
  uint32_t number, count;
  uint64_t items_before, items_all;
};

/* In memory of hrx that kernels reach: the counter on a line of its own, then a view a grid. */
struct grid_set {
  uint64_t counter[32];
  struct grid_view views[DOMAIN_DEVICE_MAX];
};

/* Who frees the set: the last of the grids. */
struct grid_set_owner {
  struct memory *memory;
  struct allocation *allocation;
  _Atomic unsigned left;
};

struct grid {
  struct ihipStream_t *stream;
  struct launch_operation operation;
  void **arguments;
  void *packed;
  struct gpu_dispatch *dispatch;
};

/* The streams must be the program's own, on devices that differ. */
static hipError_t streams_check(struct grid *grids, unsigned count) {
  unsigned seen = 0;
  for (unsigned i = 0; i < count; i++) {
    unsigned bit = 1u << grids[i].stream->device->ordinal;
    if (grids[i].stream->legacy) return hipErrorInvalidHandle;
    if ((seen & bit) != 0) return hipErrorInvalidDevice;
    seen |= bit;
    hipError_t error = capture_refuses(grids[i].stream->device, grids[i].stream);
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

static bool set_needed(const struct grid *grids, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    const struct kernel_code *code = grids[i].operation.function->code;
    for (uint32_t a = code->explicit_count; a < code->argument_count; a++)
      if (code->arguments[a].kind == ARGUMENT_HIDDEN_MULTIGRID_SYNC) return true;
  }
  return false;
}

static hipError_t set_create(struct grid *grids, unsigned count, struct grid_set_owner **out_owner) {
  struct hip_state *state = NULL;
  struct grid_set_owner *owner = NULL;
  hipError_t error = state_get(&state);
  if (error == hipSuccess && (owner = calloc(1, sizeof *owner)) == NULL) error = hipErrorOutOfMemory;
  if (error == hipSuccess)
    error = error_of(memory_allocate(state->domain->memory, sizeof(struct grid_set), 256, MEMORY_INTERNAL, 0, 0, &owner->allocation));
  if (error != hipSuccess) {
    free(owner);
    return error;
  }
  owner->memory = state->domain->memory;
  atomic_init(&owner->left, count);
  struct grid_set *set = (struct grid_set *)owner->allocation->address;
  memset(set, 0, sizeof *set);
  uint64_t items = 0;
  for (unsigned i = 0; i < count; i++) {
    const uint32_t *grid = grids[i].operation.grid;
    set->views[i] = (struct grid_view){.sync = (uintptr_t)set->counter, .number = i, .count = count, .items_before = items};
    items += (uint64_t)grid[0] * grid[1] * grid[2];
    grids[i].operation.multi_grid = (uintptr_t)&set->views[i];
  }
  for (unsigned i = 0; i < count; i++) set->views[i].items_all = items;
  *out_owner = owner;
  return hipSuccess;
}

static void set_let_go(struct grid_set_owner *owner, unsigned count) {
  if (owner == NULL || atomic_fetch_sub(&owner->left, count) != count) return;
  memory_free(owner->memory, owner->allocation);
  free(owner);
}

static hrx_status grid_over(void *owner) {
  set_let_go(owner, 1);
  return HRX_OK;
}

/* All streams follow what is in any of them. */
static hrx_status streams_meet(const struct grid *grids, unsigned count) {
  struct clock clock = {0};
  hrx_status status = HRX_OK;
  for (unsigned i = 0; status == HRX_OK && i < count; i++) status = hip_stream_clock(grids[i].stream, &clock);
  for (unsigned i = 0; status == HRX_OK && i < count; i++) {
    status = stream_wait_clock(grids[i].stream->stream, &clock);
    hip_stream_touched(grids[i].stream);
  }
  clock_finish(&clock);
  return status;
}

static hipError_t grid_pack(struct grid *grid) {
  grid->packed = malloc(grid->operation.function->code->kernarg_bytes + 1u);
  if (grid->packed == NULL) return hipErrorOutOfMemory;
  grid->operation.arguments = grid->packed;
  return launch_pack(grid->operation.function, grid->arguments, NULL, grid->packed, &grid->operation.argument_bytes);
}

/* From here on nothing is refused for what the program asked: only memory can be lacking. */
static hipError_t grids_queue(struct grid *grids, unsigned count, unsigned flags, struct grid_set_owner *owner) {
  hipError_t error = hipSuccess;
  if ((flags & hipCooperativeLaunchMultiDeviceNoPreSync) == 0) error = error_of(streams_meet(grids, count));
  unsigned queued = 0;
  for (; error == hipSuccess && queued < count; queued++) {
    struct gpu_dispatch *dispatch = grids[queued].dispatch;
    grids[queued].dispatch = NULL;
    error = launch_queue(grids[queued].stream, &grids[queued].operation, dispatch, NULL, NULL);
    if (error != hipSuccess) break;
    struct task end = {.kind = TASK_HOST, .opaque = true, .run_always = true, .label = "grids that cooperate",
                       .host = {.call = grid_over, .context = owner}};
    struct point point;
    /* without it the set stays, which does no harm */
    if (owner != NULL && hip_stream_submit(grids[queued].stream, &end, &point) != HRX_OK) error = hipErrorOutOfMemory;
  }
  set_let_go(owner, count - queued);
  if (error == hipSuccess && (flags & hipCooperativeLaunchMultiDeviceNoPostSync) == 0) error = error_of(streams_meet(grids, count));
  return error;
}

/* The grids' streams, functions and shapes are set. */
static hipError_t grids_launch(struct grid *grids, unsigned count, unsigned flags, bool cooperative) {
  struct grid_set_owner *owner = NULL;
  hipError_t error = streams_check(grids, count);
  for (unsigned i = 0; error == hipSuccess && i < count; i++) {
    grids[i].operation.cooperative = cooperative;
    if (cooperative) error = cooperative_check(&grids[i].operation);
    if (error == hipSuccess) error = grid_pack(&grids[i]);
  }
  if (error == hipSuccess && cooperative && set_needed(grids, count)) error = set_create(grids, count, &owner);
  for (unsigned i = 0; error == hipSuccess && i < count; i++) error = error_logged(launch_dispatch(&grids[i].operation, &grids[i].dispatch));
  if (error == hipSuccess) error = grids_queue(grids, count, flags, owner);
  else set_let_go(owner, count);
  for (unsigned i = 0; i < count; i++) {
    gpu_dispatch_release(grids[i].dispatch);
    free(grids[i].packed);
  }
  return error;
}

static hipError_t count_check(const void *list, unsigned count, unsigned flags) {
  struct hip_state *state = NULL;
  if (list == NULL || count == 0 || (flags & ~(unsigned)FLAGS_ALL) != 0) return hipErrorInvalidValue;
  hipError_t error = state_get(&state);
  return error == hipSuccess && count > state->device_count ? hipErrorInvalidValue : error;
}

static hipError_t stream_of(hipStream_t handle, struct ihipStream_t **out_stream) {
  return handle != NULL ? hip_stream_find(handle, out_stream) : hipErrorInvalidHandle;
}

static hipError_t launch_stubs(const hipLaunchParams *list, int count, unsigned flags, bool cooperative) {
  struct grid grids[DOMAIN_DEVICE_MAX] = {0};
  hipError_t error = count_check(list, count > 0 ? (unsigned)count : 0, flags);
  for (int i = 0; error == hipSuccess && i < count; i++) {
    grids[i].arguments = list[i].args;
    error = stream_of(list[i].stream, &grids[i].stream);
    if (error == hipSuccess) error = function_of_stub(list[i].func, grids[i].stream->device, &grids[i].operation.function);
    if (error == hipSuccess) error = launch_geometry(&grids[i].operation, list[i].gridDim, list[i].blockDim, list[i].sharedMem);
  }
  return error == hipSuccess ? grids_launch(grids, (unsigned)count, flags, cooperative) : error;
}

hipError_t entry_hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *list, int count, unsigned flags) {
  CALLER_NOTE();
  ENTRY_RETURN(hipLaunchCooperativeKernelMultiDevice, launch_stubs(list, count, flags, true));
}

hipError_t entry_hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *list, int count, unsigned flags) {
  CALLER_NOTE();
  ENTRY_RETURN(hipExtLaunchMultiKernelMultiDevice, launch_stubs(list, count, flags, false));
}

static hipError_t launch_functions(const hipFunctionLaunchParams *list, unsigned count, unsigned flags) {
  struct grid grids[DOMAIN_DEVICE_MAX] = {0};
  hipError_t error = count_check(list, count, flags);
  for (unsigned i = 0; error == hipSuccess && i < count; i++) {
    const hipFunctionLaunchParams *from = &list[i];
    grids[i].arguments = from->kernelParams;
    grids[i].operation.function = from->function;
    error = stream_of(from->hStream, &grids[i].stream);
    if (error == hipSuccess && (!handle_live(from->function, HANDLE_FUNCTION) || from->function->device != grids[i].stream->device))
      error = hipErrorInvalidHandle;
    if (error == hipSuccess)
      error = launch_geometry(&grids[i].operation, (dim3){from->gridDimX, from->gridDimY, from->gridDimZ},
                              (dim3){from->blockDimX, from->blockDimY, from->blockDimZ}, from->sharedMemBytes);
  }
  return error == hipSuccess ? grids_launch(grids, count, flags, true) : error;
}

hipError_t entry_hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams *list, unsigned count, unsigned flags) {
  CALLER_NOTE();
  ENTRY_RETURN(hipModuleLaunchCooperativeKernelMultiDevice, launch_functions(list, count, flags));
}
