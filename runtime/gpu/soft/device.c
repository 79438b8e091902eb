#include "gpu/soft/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "gpu/soft/level.h"
#include "gpu/soft/parts.h"
#include "gpu/soft/scheduler.h"

enum { QUEUE_BYTES = 256, QUEUE_SHARED_HIGH = 0x40, QUEUE_PRIVATE_HIGH = 0x44 }; /* amd_queue_t */

static void device_release(struct gpu_device *base) {
  struct soft_device *device = soft_device_of(base);
  scheduler_release(device->scheduler);
  soft_dispatch_pool_finish(device);
  memory_free(device->memory, device->queue);
  pthread_mutex_destroy(&device->pool_lock);
  pthread_mutex_destroy(&device->bind_lock);
  free(device);
}

static void fork_prepare(struct gpu_device *base) {
  struct soft_device *device = soft_device_of(base);
  pthread_mutex_lock(&device->bind_lock);
  pthread_mutex_lock(&device->pool_lock);
  scheduler_fork_prepare(device->scheduler);
}

static void fork_done(struct gpu_device *base, bool child) {
  struct soft_device *device = soft_device_of(base);
  scheduler_fork_done(device->scheduler, child);
  pthread_mutex_unlock(&device->pool_lock);
  pthread_mutex_unlock(&device->bind_lock);
}

static const struct gpu_device_table table = {
    .release = device_release,
    .module_load = soft_module_load,
    .module_release = soft_module_release,
    .module_kernel = soft_module_kernel,
    .module_kernel_at = soft_module_kernel_at,
    .module_global = soft_module_global,
    .kernel_code = soft_kernel_code,
    .kernel_ready = soft_kernel_ready,
    .dispatch_create = soft_dispatch_create,
    .dispatch_update = soft_dispatch_update,
    .dispatch_release = soft_dispatch_release,
    .dispatch_start = scheduler_start,
    .dispatch_help = scheduler_help,
    .dispatch_cancel = scheduler_cancel,
    .fork_prepare = fork_prepare,
    .fork_done = fork_done,
};

static void properties_fill(struct gpu_properties *properties, const char *target, struct memory *memory) {
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  *properties = (struct gpu_properties){
      .wave_lanes = SOFT_LANES,
      .compute_units = config_get()->soft_cores,
      .max_block = SOFT_BLOCK_MAX,
      .max_grid = {INT32_MAX, 65535, 65535},
      .max_block_axis = {SOFT_BLOCK_MAX, SOFT_BLOCK_MAX, SOFT_BLOCK_MAX},
      .lds_bytes = SOFT_LDS_BYTES,
      .vgprs = 256,
      .sgprs = 106,
      .waves_per_unit = 32,
      .memory_bytes = statistics.limit,
      .clock_hz = UINT64_C(1000000000), /* s_memtime counts nanoseconds */
      .memory_clock_hz = UINT64_C(1000000000),
  };
  snprintf(properties->target, sizeof properties->target, "%s", target);
  snprintf(properties->name, sizeof properties->name, "hrx software GPU (%s)", target);
}

hrx_status soft_device_create(struct memory *memory, const char *target, struct gpu_device **out_device) {
  const struct soft_level *level = NULL;
  hrx_status status = soft_target_check(target);
  if (status == HRX_OK) status = soft_level_find(NULL, &level);
  if (status != HRX_OK) return status;
  struct soft_device *device = calloc(1, sizeof *device);
  if (device == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a device");
  device->base.table = &table;
  device->memory = memory;
  pthread_mutex_init(&device->bind_lock, NULL);
  pthread_mutex_init(&device->pool_lock, NULL);
  properties_fill(&device->base.properties, target, memory);
  status = memory_allocate(memory, QUEUE_BYTES, 256, MEMORY_INTERNAL, 0, 0, &device->queue);
  if (status == HRX_OK) status = scheduler_create(config_get()->soft_cores, &device->scheduler);
  if (status != HRX_OK) {
    device_release(&device->base);
    return status;
  }
  const uint32_t shared = FLAT_SHARED_HIGH, private = FLAT_PRIVATE_HIGH;
  memcpy((uint8_t *)device->queue->address + QUEUE_SHARED_HIGH, &shared, sizeof shared);
  memcpy((uint8_t *)device->queue->address + QUEUE_PRIVATE_HIGH, &private, sizeof private);
  *out_device = &device->base;
  return HRX_OK;
}
