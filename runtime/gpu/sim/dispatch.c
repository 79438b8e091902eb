/* Dispatches: a launch checked and its arguments kept. Released ones are pooled. */
#include <stdlib.h>
#include <string.h>

#include "gpu/sim/parts.h"

static hrx_status geometry_check(const struct sim_kernel *kernel, const struct gpu_launch *launch) {
  const struct gpu_properties *limits = &kernel->base.device->properties;
  uint64_t items = 1;
  for (unsigned i = 0; i < 3; i++) {
    if (launch->grid[i] == 0 || launch->block[i] == 0)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: grid or block has no work-items on axis %u",
                             kernel->code.name, i);
    if (launch->block[i] > limits->max_block_axis[i])
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: a block of %u work-items on axis %u, the limit is %u",
                             kernel->code.name, launch->block[i], i, limits->max_block_axis[i]);
    items *= launch->block[i];
  }
  if (items > limits->max_block)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: a block of %llu work-items, the limit is %u",
                           kernel->code.name, (unsigned long long)items, limits->max_block);
  if (launch->dynamic_lds > limits->lds_bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: %u bytes of LDS, the limit is %u", kernel->code.name,
                           launch->dynamic_lds, limits->lds_bytes);
  return HRX_OK;
}

static hrx_status create_failure_check(struct sim_device *device) {
  struct failure failure = {.status = HRX_OK};
  pthread_mutex_lock(&device->lock);
  if (device->create_fails && device->create_calls-- == 0) {
    device->create_fails = false;
    failure = device->create_failure;
  }
  pthread_mutex_unlock(&device->lock);
  return failure_restore(&failure);
}

static struct sim_dispatch *dispatch_take(struct sim_device *device) {
  pthread_mutex_lock(&device->lock);
  struct sim_dispatch *dispatch = device->idle;
  if (dispatch != NULL) {
    device->idle = dispatch->next;
  } else if (sim_heap_reserve_locked(device)) {
    dispatch = calloc(1, sizeof *dispatch);
    if (dispatch != NULL) {
      dispatch->base.device = &device->base;
      device->dispatches++;
    }
  }
  pthread_mutex_unlock(&device->lock);
  return dispatch;
}

static bool arguments_keep(struct sim_dispatch *dispatch, const struct gpu_launch *launch) {
  if (launch->argument_bytes > dispatch->argument_capacity) {
    uint8_t *arguments = realloc(dispatch->arguments, launch->argument_bytes);
    if (arguments == NULL) return false;
    dispatch->arguments = arguments;
    dispatch->argument_capacity = launch->argument_bytes;
  }
  dispatch->argument_bytes = launch->argument_bytes;
  if (launch->argument_bytes > 0) memcpy(dispatch->arguments, launch->arguments, launch->argument_bytes);
  return true;
}

static uint64_t duration_of(const struct sim_dispatch *dispatch) {
  const struct sim_kernel *kernel = dispatch->kernel;
  size_t offset = kernel->code.arguments != NULL ? kernel->duration_offset : 0;
  uint64_t duration_ns = kernel->duration_ns;
  if (dispatch->argument_bytes >= sizeof duration_ns && offset <= dispatch->argument_bytes - sizeof duration_ns)
    memcpy(&duration_ns, dispatch->arguments + offset, sizeof duration_ns);
  return duration_ns;
}

hrx_status sim_dispatch_create(struct gpu_kernel *base, const struct gpu_launch *launch, struct gpu_dispatch **out_dispatch) {
  struct sim_kernel *kernel = (struct sim_kernel *)(void *)base;
  struct sim_device *device = sim_device_of(base->device);
  hrx_status status = geometry_check(kernel, launch);
  if (status == HRX_OK) status = create_failure_check(device);
  if (status != HRX_OK) return status;
  struct sim_dispatch *dispatch = dispatch_take(device);
  if (dispatch == NULL || !arguments_keep(dispatch, launch)) {
    if (dispatch != NULL) sim_dispatch_release(&dispatch->base);
    return hrx_fail(HRX_OUT_OF_MEMORY, "kernel %s: no memory for a dispatch", kernel->code.name);
  }
  dispatch->kernel = kernel;
  dispatch->duration_ns = duration_of(dispatch);
  *out_dispatch = &dispatch->base;
  return HRX_OK;
}

hrx_status sim_dispatch_update(struct gpu_dispatch *base, const struct gpu_launch *launch) {
  struct sim_dispatch *dispatch = (struct sim_dispatch *)(void *)base;
  if (launch->argument_bytes != dispatch->argument_bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel %s: %zu bytes of arguments instead of %zu",
                           dispatch->kernel->code.name, launch->argument_bytes, dispatch->argument_bytes);
  arguments_keep(dispatch, launch);
  dispatch->duration_ns = duration_of(dispatch);
  return HRX_OK;
}

void sim_dispatch_release(struct gpu_dispatch *base) {
  struct sim_dispatch *dispatch = (struct sim_dispatch *)(void *)base;
  struct sim_device *device = sim_device_of(base->device);
  pthread_mutex_lock(&device->lock);
  dispatch->next = device->idle;
  device->idle = dispatch;
  pthread_mutex_unlock(&device->lock);
}

void sim_dispatches_finish(struct sim_device *device) {
  while (device->idle != NULL) {
    struct sim_dispatch *dispatch = device->idle;
    device->idle = dispatch->next;
    free(dispatch->arguments);
    free(dispatch);
  }
}
