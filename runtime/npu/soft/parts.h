/* What the files of the software NPU share. */
#ifndef HRX_NPU_SOFT_PARTS_H
#define HRX_NPU_SOFT_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <hrx/npu_program.h>

#include "memory/address_map.h"
#include "npu/npu.h"

struct npu_soft_invocation;

/* The device's queue and thread. Starters push onto `inbox`, newest first; the thread takes the whole list and runs it oldest
 * first. */
struct npu_soft_lane {
  struct npu_soft_invocation *_Atomic inbox;
  _Atomic uint32_t beat;     /* grows with each push: what an idle thread sleeps on */
  _Atomic uint32_t sleeping; /* 1: whoever pushes wakes it */
  _Atomic uint32_t inside;   /* starters that still use the lane, though their invocation may be done already */
  _Atomic bool stop;
  bool started; /* guarded by the device's lock */
  pthread_t thread;
};

struct npu_soft_device {
  struct npu_device base;
  struct memory *memory;
  pthread_mutex_t lock;
  struct address_map reachable; /* by the storage's own address: struct npu_soft_reach; guarded by `lock` */
  uint64_t local_bytes, local_peak, imports, imported_bytes, imports_live; /* guarded by `lock` */
  _Atomic uint64_t programs_live, invocations_live, completed, failed, cancelled, maintained_bytes;
  _Atomic bool lost; /* a forked child */
  struct npu_soft_lane lane;
};

/* A storage that the device can reach. */
struct npu_soft_reach {
  struct npu_import import; /* first: the handle */
  struct allocation *allocation;
  uint64_t serial; /* of the allocation: another one means that it was freed meanwhile */
  unsigned references;
  bool local;
};

struct npu_soft_program {
  struct npu_program base;
  void *library;
  const hrx_npu_entry *kernel; /* in the library */
  char *source;                 /* for messages: its path, or "bytes" */
  _Atomic unsigned references;
  struct npu_binding_info bindings[]; /* base.info.binding_count */
};

enum npu_soft_state { NPU_SOFT_IDLE, NPU_SOFT_QUEUED, NPU_SOFT_RUNNING, NPU_SOFT_CANCELLED };

struct npu_soft_invocation {
  struct npu_invocation base;
  struct npu_soft_program *program;
  _Atomic uint32_t state; /* an npu_soft_state */
  struct npu_soft_invocation *next; /* in the lane */
  gpu_done done;
  void *context;
  hrx_npu_call call;      /* points to the three below */
  hrx_npu_range *ranges;  /* behind this struct, as are the constants */
  unsigned char *constants;
  char message[160];
};

static inline struct npu_soft_device *npu_soft_device_of(struct npu_device *base) { return (struct npu_soft_device *)base; }

/* DEVICE_LOST in a forked child, else OK. One load. */
hrx_status npu_soft_alive(const struct npu_soft_device *device);

/* lane.c. Starts the thread if there is none yet. Errors: OUT_OF_MEMORY. */
hrx_status npu_soft_lane_ensure_locked(struct npu_soft_device *device);
/* Lets the thread run what is queued, then ends it. */
void npu_soft_lane_stop(struct npu_soft_lane *lane);
void npu_soft_invocation_start(struct npu_invocation *invocation, gpu_done done, void *context);
void npu_soft_invocation_cancel(struct npu_invocation *invocation);

/* reach.c. Which memory the device can use. */
hrx_status npu_soft_import(struct npu_device *device, const void *address, size_t bytes, struct npu_import **out_import);
void npu_soft_import_release(struct npu_import *import);
hrx_status npu_soft_allocate(struct npu_device *device, size_t bytes, size_t alignment, struct allocation **out_allocation);
void npu_soft_free(struct npu_device *device, struct allocation *allocation);
hrx_status npu_soft_cache(struct npu_device *device, const void *address, size_t bytes, enum npu_cache direction);
void npu_soft_reach_finish(struct npu_soft_device *device);
/* Whether the device can reach the whole range; if not, a constant phrase that says why ("..., it is <phrase>"). */
bool npu_soft_reaches_locked(const struct npu_soft_device *device, const void *address, size_t bytes, const char **out_why);

/* image.c. Opens a shared object with the loader and finds its table. Errors as npu_program_load. */
hrx_status npu_soft_image_open(const struct npu_source *source, void **out_library, const struct hrx_npu_table **out_table);

/* program.c */
hrx_status npu_soft_program_load(struct npu_device *device, const struct npu_source *source, const char *kernel,
                                 unsigned columns, struct npu_program **out_program);
void npu_soft_program_release(struct npu_program *program);

/* invocation.c */
hrx_status npu_soft_invocation_create(struct npu_program *program, const struct npu_binding *bindings, unsigned count,
                                      const void *constants, size_t constant_bytes, struct npu_invocation **out_invocation);
void npu_soft_invocation_release(struct npu_invocation *invocation);
hrx_status npu_soft_invocation_rebind(struct npu_invocation *invocation, void *const *addresses, unsigned count);
hrx_status npu_soft_invocation_constants(struct npu_invocation *invocation, const void *constants, size_t bytes);

#endif
