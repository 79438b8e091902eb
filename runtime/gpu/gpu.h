/* What every GPU device offers: the software GPU now; a fixed-latency one and the real HIP runtime beside it.
 *
 * A device loads code objects, makes dispatches out of a kernel and its arguments, and runs them. It never orders
 * anything: the engine starts a dispatch when all that it must follow is over. Devices are tables of functions;
 * the inline wrappers below are what callers use. Any thread may call anything. */
#ifndef HRX_GPU_GPU_H
#define HRX_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct gpu_device;
struct gpu_module;   /* one loaded code object */
struct gpu_kernel;   /* belongs to its module */
struct gpu_dispatch; /* one launch, reusable after it is done */
struct kernel_code;  /* code/kernel.h: metadata and descriptor */

/* What a program can ask about the device. Limits in work-items, bytes, Hz. */
struct gpu_properties {
  char name[64];        /* "hrx software GPU (gfx1030)" */
  char target[32];      /* "gfx1030" */
  unsigned wave_lanes;  /* 32 or 64 */
  unsigned compute_units;
  unsigned max_block;           /* work-items in a workgroup */
  uint32_t max_grid[3];         /* workgroups */
  uint32_t max_block_axis[3];
  unsigned lds_bytes;           /* of one workgroup */
  unsigned vgprs, sgprs;        /* of one wave */
  unsigned waves_per_unit;
  uint64_t memory_bytes;
  uint64_t clock_hz, memory_clock_hz;
};

struct gpu_launch {
  uint32_t grid[3];  /* work-items, not workgroups; need not be multiples of the block */
  uint32_t block[3]; /* work-items */
  uint32_t dynamic_lds;
  const void *arguments; /* the explicit kernel arguments as the code object lays them out; copied */
  size_t argument_bytes; /* may be shorter than the kernel's segment: the rest is zero or hidden */
  bool cooperative;      /* every workgroup must be resident at once */
  uint64_t multi_grid;   /* address of what the kernel's hidden_multigrid_sync_arg points to, or 0 */
};

/* Called once when a started dispatch is done, by one of the device's threads or inside help; `failure` is NULL
 * for success. The dispatch belongs to the caller again when it is called. It must not block. */
typedef void (*gpu_done)(void *context, const struct failure *failure);

struct gpu_device_table {
  void (*release)(struct gpu_device *);
  hrx_status (*module_load)(struct gpu_device *, const void *bytes, size_t size, struct gpu_module **);
  void (*module_release)(struct gpu_module *);
  hrx_status (*module_kernel)(struct gpu_module *, const char *name, struct gpu_kernel **);
  hrx_status (*module_kernel_at)(struct gpu_module *, unsigned index, struct gpu_kernel **); /* may be NULL: no list */
  hrx_status (*module_global)(struct gpu_module *, const char *name, void **address, size_t *bytes);
  const struct kernel_code *(*kernel_code)(const struct gpu_kernel *);
  hrx_status (*kernel_ready)(struct gpu_kernel *);
  hrx_status (*dispatch_create)(struct gpu_kernel *, const struct gpu_launch *, struct gpu_dispatch **);
  hrx_status (*dispatch_update)(struct gpu_dispatch *, const struct gpu_launch *);
  void (*dispatch_release)(struct gpu_dispatch *);
  void (*dispatch_start)(struct gpu_dispatch *, gpu_done, void *context);
  bool (*dispatch_help)(struct gpu_dispatch *, uint64_t slice_ns);
  void (*dispatch_cancel)(struct gpu_dispatch *);
  void (*fork_prepare)(struct gpu_device *);
  void (*fork_done)(struct gpu_device *, bool child);
};

/* Devices, modules, kernels and dispatches begin with these, so that a wrapper finds the table. */
struct gpu_device {
  const struct gpu_device_table *table;
  struct gpu_properties properties;
};
struct gpu_module { struct gpu_device *device; };
struct gpu_kernel { struct gpu_device *device; };
struct gpu_dispatch { struct gpu_device *device; };

/* Lets go of the device once nothing runs on it. NULL is accepted. */
static inline void gpu_device_release(struct gpu_device *device) {
  if (device != NULL) device->table->release(device);
}

/* Loads one ELF code object (already picked for this device's target). Its image, globals included, becomes memory of
 * the domain. The bytes are copied. Kernels are decoded at their first launch. Errors: INVALID/IMAGE with the
 * offset; UNSUPPORTED/TARGET; OUT_OF_MEMORY. */
static inline hrx_status gpu_module_load(struct gpu_device *device, const void *bytes, size_t size,
                                         struct gpu_module **out_module) {
  return device->table->module_load(device, bytes, size, out_module);
}

/* The caller has waited for every dispatch of it. NULL is accepted. */
static inline void gpu_module_release(struct gpu_module *module) {
  if (module != NULL) module->device->table->module_release(module);
}

/* A kernel by its name without ".kd". Belongs to the module. Errors: INVALID/NOT_FOUND. */
static inline hrx_status gpu_module_kernel(struct gpu_module *module, const char *name, struct gpu_kernel **out_kernel) {
  return module->device->table->module_kernel(module, name, out_kernel);
}

/* The module's kernels in the order of its metadata, from 0. Errors: INVALID/NOT_FOUND behind the last. */
static inline hrx_status gpu_module_kernel_at(struct gpu_module *module, unsigned index, struct gpu_kernel **out_kernel) {
  if (module->device->table->module_kernel_at != NULL) return module->device->table->module_kernel_at(module, index, out_kernel);
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "the device does not list kernels");
}

/* Address and size of a __device__ or __constant__ variable. Errors: INVALID/NOT_FOUND. */
static inline hrx_status gpu_module_global(struct gpu_module *module, const char *name, void **out_address,
                                           size_t *out_bytes) {
  return module->device->table->module_global(module, name, out_address, out_bytes);
}

static inline const struct kernel_code *gpu_kernel_code(const struct gpu_kernel *kernel) {
  return kernel->device->table->kernel_code(kernel);
}

/* Decodes the kernel now if that has not been done. Errors: UNSUPPORTED/INSTRUCTION naming ISA, mnemonic, encoding
 * and kernel. */
static inline hrx_status gpu_kernel_ready(struct gpu_kernel *kernel) { return kernel->device->table->kernel_ready(kernel); }

/* Validates a launch completely (geometry, LDS, arguments, instructions) and makes it ready to start, so that a
 * refused one never fails later. Allocates nothing in the steady state. Errors: INVALID/LAUNCH_GEOMETRY, UNSUPPORTED/
 * INSTRUCTION, OUT_OF_MEMORY. */
static inline hrx_status gpu_dispatch_create(struct gpu_kernel *kernel, const struct gpu_launch *launch,
                                             struct gpu_dispatch **out_dispatch) {
  return kernel->device->table->dispatch_create(kernel, launch, out_dispatch);
}

/* Other arguments, of the same length, for the next start of an idle dispatch; the rest of `launch` is as it was created. Allocates
 * nothing. Errors: INVALID/ARGUMENT for another length or geometry; nothing is changed then. */
static inline hrx_status gpu_dispatch_update(struct gpu_dispatch *dispatch, const struct gpu_launch *launch) {
  return dispatch->device->table->dispatch_update(dispatch, launch);
}

static inline void gpu_dispatch_release(struct gpu_dispatch *dispatch) {
  if (dispatch != NULL) dispatch->device->table->dispatch_release(dispatch);
}

/* Starts it: returns at once; `done` is called later (or before this returns, for an empty one). */
static inline void gpu_dispatch_start(struct gpu_dispatch *dispatch, gpu_done done, void *context) {
  dispatch->device->table->dispatch_start(dispatch, done, context);
}

/* Lends the calling thread to a started dispatch for about `slice_ns`. False if it had nothing to do just now. Only
 * while the caller knows that the dispatch is alive (the engine holds the task's slot). May call `done`. */
static inline bool gpu_dispatch_help(struct gpu_dispatch *dispatch, uint64_t slice_ns) {
  return dispatch->device->table->dispatch_help(dispatch, slice_ns);
}

/* Asks a running dispatch to stop at its next run quantum; `done` then gets CANCELLED. Any state. */
static inline void gpu_dispatch_cancel(struct gpu_dispatch *dispatch) { dispatch->device->table->dispatch_cancel(dispatch); }

#endif
