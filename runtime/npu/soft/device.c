#include "npu/soft/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "npu/soft/parts.h"

hrx_status npu_soft_alive(const struct npu_soft_device *device) {
  /* relaxed: set only in a process that has one thread */
  if (!atomic_load_explicit(&device->lost, memory_order_relaxed)) return HRX_OK;
  return hrx_fail(HRX_DEVICE_LOST, "%s: this process was forked from one that had already opened it",
                  device->base.properties.name);
}

static void device_release(struct npu_device *base) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  /* in a forked child there is no such thread */
  if (device->lane.started && !atomic_load(&device->lost)) npu_soft_lane_stop(&device->lane);
  npu_soft_reach_finish(device);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static void statistics(struct npu_device *base, struct npu_statistics *out_statistics) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  pthread_mutex_lock(&device->lock);
  *out_statistics = (struct npu_statistics){
      .imports = device->imports,
      .imports_live = device->imports_live,
      .imported_bytes = device->imported_bytes,
      .programs_live = atomic_load(&device->programs_live),
      .invocations_live = atomic_load(&device->invocations_live),
      .completed = atomic_load(&device->completed),
      .failed = atomic_load(&device->failed),
      .cancelled = atomic_load(&device->cancelled),
      .local_bytes = device->local_bytes,
      .local_peak = device->local_peak,
      .maintained_bytes = atomic_load(&device->maintained_bytes),
  };
  pthread_mutex_unlock(&device->lock);
}

static void fork_prepare(struct npu_device *base) { pthread_mutex_lock(&npu_soft_device_of(base)->lock); }

static void fork_done(struct npu_device *base, bool child) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  if (child) atomic_store(&device->lost, true);
  pthread_mutex_unlock(&device->lock);
}

static const struct npu_device_table table = {
    .release = device_release,
    .program_load = npu_soft_program_load,
    .program_release = npu_soft_program_release,
    .invocation_create = npu_soft_invocation_create,
    .invocation_release = npu_soft_invocation_release,
    .invocation_rebind = npu_soft_invocation_rebind,
    .invocation_constants = npu_soft_invocation_constants,
    .invocation_start = npu_soft_invocation_start,
    .invocation_cancel = npu_soft_invocation_cancel,
    .import = npu_soft_import,
    .import_release = npu_soft_import_release,
    .allocate = npu_soft_allocate,
    .free = npu_soft_free,
    .cache = npu_soft_cache,
    .statistics = statistics,
    .fork_prepare = fork_prepare,
    .fork_done = fork_done,
};

hrx_status npu_soft_create(struct memory *memory, struct npu_device **out_device) {
  struct npu_soft_device *device = calloc(1, sizeof *device);
  if (device == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a software NPU");
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  device->base.table = &table;
  device->base.properties =
      (struct npu_properties){.columns = NPU_COLUMNS_MAX, .memory_bytes = statistics.limit, .coherent = true};
  snprintf(device->base.properties.name, sizeof device->base.properties.name, "hrx software NPU");
  device->memory = memory;
  pthread_mutex_init(&device->lock, NULL);
  *out_device = &device->base;
  return HRX_OK;
}
