/* What the device is made of; for the files of this folder only. */
#ifndef HRX_GPU_SIM_PARTS_H
#define HRX_GPU_SIM_PARTS_H

#include <pthread.h>

#include "gpu/sim/sim.h"

struct sim_module {
  struct gpu_module base;
};

struct sim_kernel {
  struct gpu_kernel base;
  struct kernel_code code;
  uint64_t duration_ns;
  uint32_t duration_offset; /* in the arguments; UINT32_MAX: none */
  enum sim_outcome outcome; /* under the device's lock, as `failure` */
  struct failure failure;
  struct sim_kernel *next;
};

enum sim_state { SIM_IDLE, SIM_WAITING, SIM_RUNNING };

struct sim_dispatch {
  struct gpu_dispatch base;
  struct sim_kernel *kernel;
  uint8_t *arguments;
  size_t argument_bytes, argument_capacity;
  uint64_t duration_ns;
  gpu_done done;
  void *context;
  /* the rest under the device's lock */
  enum sim_state state;
  uint64_t started_ns, began_ns, finish_ns;
  uint64_t order; /* of starting: who is first at the same time */
  size_t place;   /* in the heap */
  enum sim_outcome outcome;
  struct failure failure;
  struct sim_dispatch *next; /* waiting for a unit, or the free list */
};

struct sim_device {
  struct gpu_device base;
  pthread_mutex_t lock;
  struct sim_kernel *kernels;
  struct sim_dispatch *idle;
  struct sim_dispatch **heap; /* running, the earliest first; room for every dispatch that exists */
  size_t running, capacity, dispatches;
  struct sim_dispatch *first_waiting, **last_waiting;
  unsigned units;
  bool waits_run;
  uint64_t order;
  bool create_fails;
  uint64_t create_calls;
  struct failure create_failure;
  void (*watch)(const struct sim_run_record *record, void *context);
  void *watch_context;
  struct sim_statistics statistics;
};

static inline struct sim_device *sim_device_of(struct gpu_device *device) { return (struct sim_device *)(void *)device; }

/* kernel.c */
hrx_status sim_module_load(struct gpu_device *device, const void *bytes, size_t size, struct gpu_module **out_module);
void sim_module_release(struct gpu_module *module);
hrx_status sim_module_kernel(struct gpu_module *module, const char *name, struct gpu_kernel **out_kernel);
hrx_status sim_module_global(struct gpu_module *module, const char *name, void **out_address, size_t *out_bytes);
const struct kernel_code *sim_kernel_code(const struct gpu_kernel *kernel);
hrx_status sim_kernel_ready(struct gpu_kernel *kernel);
void sim_kernels_finish(struct sim_device *device);

/* dispatch.c */
hrx_status sim_dispatch_create(struct gpu_kernel *kernel, const struct gpu_launch *launch, struct gpu_dispatch **out_dispatch);
hrx_status sim_dispatch_update(struct gpu_dispatch *dispatch, const struct gpu_launch *launch);
void sim_dispatch_release(struct gpu_dispatch *dispatch);
void sim_dispatches_finish(struct sim_device *device);

/* device.c: the running list's order, for dispatch.c */
bool sim_heap_reserve_locked(struct sim_device *device);

#endif
