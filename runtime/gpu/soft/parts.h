/* The structures behind a soft device, for the files of this folder only. */
#ifndef HRX_GPU_SOFT_PARTS_H
#define HRX_GPU_SOFT_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu/soft/device.h"
#include "gpu/soft/image.h"
#include "memory/memory.h"

struct soft_scheduler;
struct soft_context;

enum {
  SOFT_LDS_BYTES = 65536, SOFT_BLOCK_MAX = 1024,
  SOFT_STACK_EXTRA = 16384,   /* scratch for each work-item of a kernel whose stack is not bounded */
  SOFT_KERNARG_OFFSET = 256   /* behind the packet in a dispatch's memory */
};

struct soft_device {
  struct gpu_device base;
  struct memory *memory;
  struct allocation *queue; /* an amd_queue_t as far as kernels look at it: the flat apertures */
  struct soft_scheduler *scheduler;
  pthread_mutex_t bind_lock; /* decoding and binding of kernels; taken before pool_lock */
  pthread_mutex_t pool_lock; /* the list of idle dispatches */
  struct soft_dispatch *idle;
};

struct soft_kernel {
  struct gpu_kernel base;
  struct soft_module *module;
  const struct kernel_code *code;
  _Atomic bool decided; /* bound or refused: the fields below are constant */
  struct failure refusal;
  struct soft_bound bound;
};

struct soft_module {
  struct gpu_module base;
  struct code_object *object;
  struct allocation *memory;
  struct soft_image image;
  struct soft_kernel *kernels;
};

/* A barrier of all workgroups (global_sync.c). */
enum { SOFT_SYNC_RESOURCES = 64 };
struct soft_sync {
  _Atomic uint32_t arrived, generation;
};

/* Why a dispatch stops early. */
enum soft_stop { STOP_NONE, STOP_FAILED, STOP_CANCELLED, STOP_TIMEOUT };

struct soft_dispatch {
  struct gpu_dispatch base;
  struct soft_kernel *kernel;
  struct soft_dispatch *next_idle;
  struct allocation *memory; /* packet, then the kernel argument segment */
  size_t capacity;           /* bytes of the argument segment */
  /* geometry: constant from create to done */
  uint32_t grid[3], block[3], groups[3];
  uint64_t total;
  uint32_t lds_bytes, scratch_bytes_lane, wave_count; /* wave_count of a whole workgroup */
  bool cooperative;
  uint64_t shuffle_step, shuffle_start; /* HRX_DETERMINISTIC: group number i is (start + i * step) % total */
  struct soft_sync sync[SOFT_SYNC_RESOURCES]; /* all zero at the start */
  /* progress; next_group without the scheduler's lock, the rest under it */
  _Atomic uint64_t next_group;
  _Atomic int stop;       /* enum soft_stop */
  uint64_t started_ns;
  uint32_t users;         /* contexts that belong to it, running or parked */
  uint32_t reported;      /* waves told about after a timeout or Ctrl-C */
  bool interrupted;       /* Ctrl-C has been told about */
  _Atomic bool active;    /* in the scheduler's list */
  bool finished;          /* `done` has been or is about to be called */
  struct soft_dispatch *next_active, *previous_active;
  struct failure failure;
  gpu_done done;
  void *context;
};

/* dispatch.c: the device's table entries. */
hrx_status soft_dispatch_create(struct gpu_kernel *kernel, const struct gpu_launch *launch, struct gpu_dispatch **out_dispatch);
hrx_status soft_dispatch_update(struct gpu_dispatch *dispatch, const struct gpu_launch *launch);
void soft_dispatch_release(struct gpu_dispatch *dispatch);
/* Frees the pooled ones. */
void soft_dispatch_pool_finish(struct soft_device *device);

/* module.c */
hrx_status soft_module_load(struct gpu_device *device, const void *bytes, size_t size, struct gpu_module **out_module);
void soft_module_release(struct gpu_module *module);
hrx_status soft_module_kernel(struct gpu_module *module, const char *name, struct gpu_kernel **out_kernel);
hrx_status soft_module_kernel_at(struct gpu_module *module, unsigned index, struct gpu_kernel **out_kernel);
hrx_status soft_module_global(struct gpu_module *module, const char *name, void **out_address, size_t *out_bytes);
const struct kernel_code *soft_kernel_code(const struct gpu_kernel *kernel);
hrx_status soft_kernel_ready(struct gpu_kernel *kernel);

/* missing.c: what loading and launching have in common with saying beforehand whether they will fail. */
/* Whether a device for `target` can load a code object. Errors: UNSUPPORTED/TARGET; INVALID/IMAGE. */
hrx_status soft_object_check(const struct code_object *object, const char *target);
/* LLVM's text of an instruction of a bound kernel; the result is its offset in the image. */
uint64_t soft_instruction_text(const struct soft_image *image, const struct soft_bound *bound,
                               const struct instruction *instruction, char *out_text, size_t capacity);

/* report.c: what a stopped wave did. */
void soft_report_fault(struct soft_dispatch *dispatch, const struct wave *wave, struct failure *out_failure);
/* A line that says where a wave is, after a timeout or Ctrl-C. */
void soft_report_place(const struct soft_dispatch *dispatch, const struct wave *wave);

static inline struct soft_device *soft_device_of(struct gpu_device *device) { return (struct soft_device *)(void *)device; }

#endif
