/* Dispatches: a launch checked, its packet and argument segment written. Finished ones are pooled with their memory. */
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "gpu/soft/parts.h"
#include "gpu/soft/scheduler.h"

struct packet { /* hsa_kernel_dispatch_packet_t, HSA runtime specification 2.8 */
  uint16_t header, setup, workgroup_size[3], reserved0;
  uint32_t grid_size[3], private_segment_size, group_segment_size;
  uint64_t kernel_object, kernarg_address, reserved2, completion_signal;
};
_Static_assert(sizeof(struct packet) == 64, "kernels read it by offset");

static hrx_status geometry_check(const struct soft_kernel *kernel, const struct gpu_launch *launch) {
  const struct kernel_code *code = kernel->code;
  const struct gpu_properties *limits = &kernel->base.device->properties;
  uint64_t items = 1, groups = 1;
  for (unsigned i = 0; i < 3; i++) {
    if (launch->grid[i] == 0 || launch->block[i] == 0)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: grid or block has no work-items on axis %u",
                             code->name, i);
    if (launch->block[i] > limits->max_block_axis[i])
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: a block of %u work-items on axis %u, the limit is %u",
                             code->name, launch->block[i], i, limits->max_block_axis[i]);
    items *= launch->block[i];
    uint64_t count = ((uint64_t)launch->grid[i] + launch->block[i] - 1) / launch->block[i];
    if (__builtin_mul_overflow(groups, count, &groups))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: more than 2^64 workgroups", code->name);
  }
  uint32_t most = code->max_workgroup != 0 && code->max_workgroup < limits->max_block ? code->max_workgroup : limits->max_block;
  if (items > most)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: a block of %llu work-items, the limit is %u",
                           code->name, (unsigned long long)items, most);
  for (unsigned i = 0; i < 3; i++)
    if (code->required_workgroup[i] != 0 && code->required_workgroup[i] != launch->block[i])
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: block axis %u is %u, the kernel is built for %u",
                             code->name, i, launch->block[i], code->required_workgroup[i]);
  uint64_t lds = (uint64_t)code->group_segment_bytes + launch->dynamic_lds;
  if (lds > limits->lds_bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: %llu bytes of LDS, the limit is %u", code->name,
                           (unsigned long long)lds, limits->lds_bytes);
  if (launch->cooperative && groups > scheduler_cooperative_limit(soft_device_of(kernel->base.device)->scheduler,
                                                                  (uint32_t)((items + SOFT_LANES - 1) / SOFT_LANES)))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: %llu workgroups cannot be resident at once",
                           code->name, (unsigned long long)groups);
  return HRX_OK;
}

static hrx_status dispatch_take(struct soft_device *device, size_t capacity, struct soft_dispatch **out_dispatch) {
  pthread_mutex_lock(&device->pool_lock);
  struct soft_dispatch **link = &device->idle;
  while (*link != NULL && (*link)->capacity < capacity) link = &(*link)->next_idle;
  struct soft_dispatch *dispatch = *link;
  if (dispatch != NULL) *link = dispatch->next_idle;
  pthread_mutex_unlock(&device->pool_lock);
  if (dispatch != NULL) {
    *out_dispatch = dispatch;
    return HRX_OK;
  }
  size_t bytes = 512;
  while (bytes < SOFT_KERNARG_OFFSET + capacity) bytes *= 2;
  dispatch = calloc(1, sizeof *dispatch);
  if (dispatch == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a dispatch");
  hrx_status status = memory_allocate(device->memory, bytes, SOFT_KERNARG_OFFSET, MEMORY_INTERNAL, 0, 0, &dispatch->memory);
  if (status != HRX_OK) {
    free(dispatch);
    return status;
  }
  dispatch->base.device = &device->base;
  dispatch->capacity = bytes - SOFT_KERNARG_OFFSET;
  *out_dispatch = dispatch;
  return HRX_OK;
}

static void put(uint8_t *segment, const struct kernel_argument *argument, uint64_t value) {
  memcpy(segment + argument->offset, &value, argument->bytes < sizeof value ? argument->bytes : sizeof value);
}

/* LLVM AMDGPU usage, "Code Object V5 Metadata", hidden_*. What is not listed stays zero: printf and device malloc then fail where
 * they look, not before. */
static void hidden_write(const struct soft_dispatch *dispatch, const struct gpu_launch *launch, uint8_t *segment) {
  const struct kernel_code *code = dispatch->kernel->code;
  const uint32_t *grid = dispatch->grid, *block = dispatch->block;
  for (uint32_t i = code->explicit_count; i < code->argument_count; i++) {
    const struct kernel_argument *argument = &code->arguments[i];
    unsigned kind = argument->kind;
    switch (kind) {
    case ARGUMENT_HIDDEN_BLOCK_COUNT_X:
    case ARGUMENT_HIDDEN_BLOCK_COUNT_Y:
    case ARGUMENT_HIDDEN_BLOCK_COUNT_Z: /* complete ones: the remainder is told apart */
      kind -= ARGUMENT_HIDDEN_BLOCK_COUNT_X;
      put(segment, argument, grid[kind] / block[kind]);
      break;
    case ARGUMENT_HIDDEN_GROUP_SIZE_X:
    case ARGUMENT_HIDDEN_GROUP_SIZE_Y:
    case ARGUMENT_HIDDEN_GROUP_SIZE_Z: put(segment, argument, block[kind - ARGUMENT_HIDDEN_GROUP_SIZE_X]); break;
    case ARGUMENT_HIDDEN_REMAINDER_X:
    case ARGUMENT_HIDDEN_REMAINDER_Y:
    case ARGUMENT_HIDDEN_REMAINDER_Z:
      kind -= ARGUMENT_HIDDEN_REMAINDER_X;
      put(segment, argument, grid[kind] % block[kind]);
      break;
    case ARGUMENT_HIDDEN_MULTIGRID_SYNC: put(segment, argument, launch->multi_grid); break;
    case ARGUMENT_HIDDEN_GRID_DIMS: put(segment, argument, grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1); break;
    case ARGUMENT_HIDDEN_DYNAMIC_LDS_SIZE: put(segment, argument, launch->dynamic_lds); break;
    case ARGUMENT_HIDDEN_PRIVATE_BASE: put(segment, argument, FLAT_PRIVATE_HIGH); break;
    case ARGUMENT_HIDDEN_SHARED_BASE: put(segment, argument, FLAT_SHARED_HIGH); break;
    case ARGUMENT_HIDDEN_QUEUE_POINTER:
      put(segment, argument, soft_device_of(dispatch->base.device)->queue->address);
      break;
    default: break;
    }
  }
}

static void memory_write(struct soft_dispatch *dispatch, const struct gpu_launch *launch) {
  const struct kernel_code *code = dispatch->kernel->code;
  uint8_t *segment = (uint8_t *)dispatch->memory->address + SOFT_KERNARG_OFFSET;
  size_t bytes = launch->argument_bytes < code->explicit_bytes ? launch->argument_bytes : code->explicit_bytes;
  struct packet packet = {
      .header = 2 | 1 << 8, /* a kernel dispatch, barrier bit */
      .setup = 3,
      .workgroup_size = {(uint16_t)launch->block[0], (uint16_t)launch->block[1], (uint16_t)launch->block[2]},
      .grid_size = {launch->grid[0], launch->grid[1], launch->grid[2]},
      .private_segment_size = dispatch->scratch_bytes_lane,
      .group_segment_size = dispatch->lds_bytes,
      .kernel_object = dispatch->kernel->module->memory->address + code->descriptor_address,
      .kernarg_address = (uintptr_t)segment,
  };
  memcpy((void *)dispatch->memory->address, &packet, sizeof packet);
  if (bytes > 0) memcpy(segment, launch->arguments, bytes);
  memset(segment + bytes, 0, code->kernarg_bytes > bytes ? code->kernarg_bytes - bytes : 0);
  hidden_write(dispatch, launch, segment);
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* A seeded order of the workgroups: steps of a length that is prime to their number. */
static void shuffle_choose(struct soft_dispatch *dispatch) {
  dispatch->shuffle_step = dispatch->shuffle_start = 0;
  const struct config *config = config_get();
  if (!config->deterministic || dispatch->total < 2) return;
  uint64_t mixed = (config->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  mixed ^= mixed >> 29;
  uint64_t step = mixed % dispatch->total;
  while (step == 0 || common_divisor(step, dispatch->total) != 1) step = step + 1 < dispatch->total ? step + 1 : 1;
  dispatch->shuffle_step = step;
  dispatch->shuffle_start = (mixed >> 7) % dispatch->total;
}

static uint32_t scratch_of(const struct kernel_code *code) {
  uint64_t bytes = code->private_segment_bytes;
  if (code->dynamic_stack) bytes += SOFT_STACK_EXTRA;
  return (uint32_t)((bytes + 15) & ~UINT64_C(15));
}

hrx_status soft_dispatch_create(struct gpu_kernel *base, const struct gpu_launch *launch, struct gpu_dispatch **out_dispatch) {
  struct soft_kernel *kernel = (struct soft_kernel *)(void *)base;
  struct soft_device *device = soft_device_of(base->device);
  struct soft_dispatch *dispatch = NULL;
  hrx_status status = soft_kernel_ready(base);
  if (status == HRX_OK) status = geometry_check(kernel, launch);
  if (status == HRX_OK) status = dispatch_take(device, kernel->code->kernarg_bytes, &dispatch);
  if (status != HRX_OK) return status;
  dispatch->kernel = kernel;
  dispatch->total = 1;
  uint32_t items = 1;
  for (unsigned i = 0; i < 3; i++) {
    dispatch->grid[i] = launch->grid[i];
    dispatch->block[i] = launch->block[i];
    dispatch->groups[i] = (uint32_t)(((uint64_t)launch->grid[i] + launch->block[i] - 1) / launch->block[i]);
    dispatch->total *= dispatch->groups[i];
    items *= launch->block[i];
  }
  dispatch->wave_count = (items + SOFT_LANES - 1) / SOFT_LANES;
  dispatch->lds_bytes = kernel->code->group_segment_bytes + launch->dynamic_lds;
  dispatch->scratch_bytes_lane = scratch_of(kernel->code);
  dispatch->cooperative = launch->cooperative;
  memset((void *)dispatch->sync, 0, sizeof dispatch->sync);
  shuffle_choose(dispatch);
  memory_write(dispatch, launch);
  scheduler_reserve(device->scheduler, dispatch->wave_count);
  *out_dispatch = &dispatch->base;
  return HRX_OK;
}

hrx_status soft_dispatch_update(struct gpu_dispatch *base, const struct gpu_launch *launch) {
  struct soft_dispatch *dispatch = (struct soft_dispatch *)(void *)base;
  const struct kernel_code *code = dispatch->kernel->code;
  bool same = launch->dynamic_lds + code->group_segment_bytes == dispatch->lds_bytes && launch->cooperative == dispatch->cooperative;
  for (unsigned i = 0; i < 3; i++) same = same && launch->grid[i] == dispatch->grid[i] && launch->block[i] == dispatch->block[i];
  if (!same)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel %s: a dispatch keeps its grid, block and LDS", code->name);
  memory_write(dispatch, launch);
  return HRX_OK;
}

void soft_dispatch_release(struct gpu_dispatch *base) {
  struct soft_dispatch *dispatch = (struct soft_dispatch *)(void *)base;
  struct soft_device *device = soft_device_of(base->device);
  pthread_mutex_lock(&device->pool_lock);
  dispatch->next_idle = device->idle;
  device->idle = dispatch;
  pthread_mutex_unlock(&device->pool_lock);
}

void soft_dispatch_pool_finish(struct soft_device *device) {
  while (device->idle != NULL) {
    struct soft_dispatch *dispatch = device->idle;
    device->idle = dispatch->next_idle;
    memory_free(device->memory, dispatch->memory);
    free(dispatch);
  }
}
