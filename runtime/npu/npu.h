/* What every NPU offers: the software one now, a real one through XRT beside it.
 *
 * A device loads programs, makes invocations out of a program and its buffers, and runs them one after the other, in the
 * order in which they were started, on its own thread. Like a GPU device (gpu/gpu.h) it orders nothing else: the engine starts
 * an invocation when all that it must follow is over. Any thread may call anything unless it says otherwise. */
#ifndef HRX_NPU_NPU_H
#define HRX_NPU_NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gpu/gpu.h"
#include "memory/memory.h"

enum { NPU_COLUMNS_MAX = 8, NPU_BINDINGS_MAX = 32 };

struct npu_device;
struct npu_program;    /* one kernel of a loaded program, for a number of columns */
struct npu_invocation; /* one run, reusable after it is done */
struct npu_import;     /* shared memory that the device can reach */

struct npu_properties {
  char name[64]; /* "hrx software NPU" */
  unsigned columns;
  uint64_t memory_bytes; /* limit of its local memory */
  bool coherent;         /* true: sees what others wrote without npu_cache */
};

/* Where the program is: a file, or else bytes (copied). */
struct npu_source {
  const char *path; /* NULL: bytes */
  const void *bytes;
  size_t size;
};

struct npu_binding_info {
  const char *name; /* for messages */
  unsigned access;  /* MEMORY_READ | MEMORY_WRITE */
  size_t alignment; /* of the absolute address */
  size_t bytes;     /* exact; 0: any */
};

struct npu_program_info {
  const char *name; /* of the kernel */
  unsigned columns;
  unsigned binding_count;
  const struct npu_binding_info *bindings;
  size_t constant_bytes;
};

struct npu_binding {
  void *address;
  size_t bytes; /* 1 and up */
};

enum npu_cache { NPU_CACHE_TO_DEVICE, NPU_CACHE_FROM_DEVICE };

struct npu_statistics {
  uint64_t imports, imports_live, imported_bytes; /* a storage counts once, however often it is asked for */
  uint64_t programs_live, invocations_live;
  uint64_t completed, failed, cancelled;
  uint64_t local_bytes, local_peak;
  uint64_t maintained_bytes; /* npu_cache */
};

struct npu_device_table {
  void (*release)(struct npu_device *);
  hrx_status (*program_load)(struct npu_device *, const struct npu_source *, const char *kernel, unsigned columns,
                             struct npu_program **);
  void (*program_release)(struct npu_program *);
  hrx_status (*invocation_create)(struct npu_program *, const struct npu_binding *, unsigned count, const void *constants,
                                  size_t constant_bytes, struct npu_invocation **);
  void (*invocation_release)(struct npu_invocation *);
  hrx_status (*invocation_rebind)(struct npu_invocation *, void *const *addresses, unsigned count);
  hrx_status (*invocation_constants)(struct npu_invocation *, const void *constants, size_t bytes);
  void (*invocation_start)(struct npu_invocation *, gpu_done, void *context);
  void (*invocation_cancel)(struct npu_invocation *);
  hrx_status (*import)(struct npu_device *, const void *address, size_t bytes, struct npu_import **);
  void (*import_release)(struct npu_import *);
  hrx_status (*allocate)(struct npu_device *, size_t bytes, size_t alignment, struct allocation **);
  void (*free)(struct npu_device *, struct allocation *);
  hrx_status (*cache)(struct npu_device *, const void *address, size_t bytes, enum npu_cache);
  void (*statistics)(struct npu_device *, struct npu_statistics *);
  void (*fork_prepare)(struct npu_device *);
  void (*fork_done)(struct npu_device *, bool child);
};

/* Each object begins with these, so that a wrapper finds the table. */
struct npu_device {
  const struct npu_device_table *table;
  struct npu_properties properties;
};
struct npu_program {
  struct npu_device *device;
  struct npu_program_info info; /* constant */
};
struct npu_invocation { struct npu_device *device; };
struct npu_import { struct npu_device *device; };

/* Waits for what was started, stops the device's thread, frees its local memory. The caller has released programs,
 * invocations and imports. Not from `done`. NULL is accepted. */
static inline void npu_device_release(struct npu_device *device) {
  if (device != NULL) device->table->release(device);
}

/* Loads one kernel of a program for 1 to `properties.columns` columns. Reads files, may take milliseconds. Errors:
 * IO/FILE_NOT_FOUND, IO; INVALID/IMAGE for what is no program of a version that this device knows; INVALID/NOT_FOUND for the
 * kernel; INVALID/ARGUMENT; OUT_OF_MEMORY; DEVICE_LOST in a forked child. */
static inline hrx_status npu_program_load(struct npu_device *device, const struct npu_source *source, const char *kernel,
                                          unsigned columns, struct npu_program **out_program) {
  return device->table->program_load(device, source, kernel, columns, out_program);
}

/* Invocations of it may be live: the program goes with the last of them. NULL is accepted. */
static inline void npu_program_release(struct npu_program *program) {
  if (program != NULL) program->device->table->program_release(program);
}

static inline const struct npu_program_info *npu_program_info(const struct npu_program *program) { return &program->info; }

/* Validates buffers and constants completely and allocates all that runs need, the device's thread included. Each binding
 * must lie in local memory of this device or in memory imported by it. Buffers and imports outlive the invocation, or its next
 * rebind. Constants are copied. Errors: INVALID/ARGUMENT, INVALID/POINTER, both naming the binding; OUT_OF_MEMORY; DEVICE_LOST in a
 * forked child. */
static inline hrx_status npu_invocation_create(struct npu_program *program, const struct npu_binding *bindings,
                                               unsigned count, const void *constants, size_t constant_bytes,
                                               struct npu_invocation **out_invocation) {
  return program->device->table->invocation_create(program, bindings, count, constants, constant_bytes, out_invocation);
}

/* It is not started, or its `done` was called (inside which this is allowed). NULL is accepted. */
static inline void npu_invocation_release(struct npu_invocation *invocation) {
  if (invocation != NULL) invocation->device->table->invocation_release(invocation);
}

/* Other buffers of the same lengths, for the next start. Allocates nothing; takes the device's lock briefly. Nothing changes
 * on an error: as create, and BUSY/LIVE while it is started. Serialised by the caller with start. */
static inline hrx_status npu_invocation_rebind(struct npu_invocation *invocation, void *const *addresses, unsigned count) {
  return invocation->device->table->invocation_rebind(invocation, addresses, count);
}

/* Other constants of the same length, for the next start. Errors: INVALID/ARGUMENT, BUSY/LIVE while it is started.
 * Serialised by the caller with start. */
static inline hrx_status npu_invocation_constants(struct npu_invocation *invocation, const void *constants, size_t bytes) {
  return invocation->device->table->invocation_constants(invocation, constants, bytes);
}

/* Starts `invocation` (a struct npu_invocation, not started): returns at once, takes no lock, allocates nothing. `done` is called
 * on the device's thread and must not block; the invocation belongs to the caller again when it is called. Its failure:
 * EXECUTION with the program's code; CANCELLED; DEVICE_LOST in a forked child, there before this returns. */
static inline void npu_invocation_start(void *invocation, gpu_done done, void *context) {
  struct npu_invocation *started = (struct npu_invocation *)invocation;
  started->device->table->invocation_start(started, done, context);
}

/* A started invocation (void *, as above) that does not run yet will not: its `done` gets CANCELLED when its turn comes. One that
 * runs, or is not started, is not affected. */
static inline void npu_invocation_cancel(void *invocation) {
  struct npu_invocation *started = (struct npu_invocation *)invocation;
  started->device->table->invocation_cancel(started);
}

/* Makes the whole allocation that holds [address, address + bytes) reachable for the device. A storage is imported once: later
 * calls give the same import again; each needs its release. The import is released before the memory is freed. Errors:
 * INVALID/POINTER for what is no memory of the domain, or is local memory; OUT_OF_MEMORY; DEVICE_LOST in a forked child. */
static inline hrx_status npu_import(struct npu_device *device, const void *address, size_t bytes,
                                    struct npu_import **out_import) {
  return device->table->import(device, address, bytes, out_import);
}

static inline void npu_import_release(struct npu_import *import) {
  if (import != NULL) import->device->table->import_release(import);
}

/* Zero-filled memory of the device. It has an address that host code of hrx may use; GPU kernels may not (its `access`
 * is 0). `alignment` is a power of two, 0 for the natural one. Errors: INVALID/ARGUMENT; OUT_OF_MEMORY with size, use and
 * limit; DEVICE_LOST in a forked child. */
static inline hrx_status npu_allocate(struct npu_device *device, size_t bytes, size_t alignment,
                                      struct allocation **out_allocation) {
  return device->table->allocate(device, bytes, alignment, out_allocation);
}

/* Nothing uses it any more. NULL is accepted. */
static inline void npu_free(struct npu_device *device, struct allocation *allocation) {
  if (allocation != NULL) device->table->free(device, allocation);
}

/* Before a run: what others wrote in an imported or local range becomes visible to the device; after it: the other way
 * round. Counted in the statistics. Not needed, and free, where `properties.coherent`. Errors: INVALID/POINTER for memory
 * that the device cannot reach. */
static inline hrx_status npu_cache(struct npu_device *device, const void *address, size_t bytes, enum npu_cache direction) {
  return device->table->cache(device, address, bytes, direction);
}

static inline void npu_statistics(struct npu_device *device, struct npu_statistics *out_statistics) {
  device->table->statistics(device, out_statistics);
}

/* Around fork(2): prepare before it, done in parent and child. The child's device refuses all work with DEVICE_LOST; releasing
 * its objects and itself works. */
static inline void npu_fork_prepare(struct npu_device *device) { device->table->fork_prepare(device); }
static inline void npu_fork_done(struct npu_device *device, bool child) { device->table->fork_done(device, child); }

#endif
