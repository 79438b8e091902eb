/* Memory pools: stream-ordered allocation, and what a pool does with memory that comes back.
 *
 * hipFreeAsync puts memory into its pool at once, with the point of its stream at which it is really free. An allocation may take it from
 * there when that point is over, or when its stream comes after it anyway; so a loop that allocates and frees on one stream keeps
 * using the same memory, however far the host is ahead. Beyond the release threshold, memory goes back to the domain when its point
 * is over. `reserved` counts all of a pool's memory, and hipMemGetInfo counts it as used; `used` is what the program has. */
#ifndef HRX_INTERPOSE_POOL_H
#define HRX_INTERPOSE_POOL_H

#include <pthread.h>

#include "interpose/abi_memory.h"
#include "interpose/stream.h"
#include "memory/shared.h"

enum { POOL_REUSE_COUNT = 3 };

struct pool_block; /* allocation.holder of a pool's memory */

struct ihipMemPoolHandle_t {
  pthread_mutex_t lock; /* of all that changes */
  int device;             /* of a created one: pool_device */
  int type, handle_types; /* hipMemAllocationType, hipMemAllocationHandleType */
  size_t max_bytes;       /* 0: no limit of its own */
  bool own;               /* hipMemPoolCreate made it: it ends when it is destroyed and empty */
  bool imported;          /* another process's: only pointers can be imported into it */
  bool destroyed;
  bool reuse[POOL_REUSE_COUNT]; /* hipMemPoolReuse...: by event dependencies, opportunistic, by internal dependencies */
  uint64_t release_threshold;
  uint64_t used, used_high, reserved, reserved_high; /* bytes */
  size_t blocks;            /* of it, in whatever state */
  struct shared *file;      /* of a pool with handle_types: where its memory is, one piece behind the other */
  struct pool_block *held;  /* free, the newest first */
  struct pool_block *taken; /* the program's */
  unsigned char access[DOMAIN_DEVICE_MAX]; /* hipMemAccessFlags that hipMemPoolSetAccess gave */
};

/* Whether the handle is a live pool: a device's own or a created one. */
bool pool_live(const struct ihipMemPoolHandle_t *pool);

/* The device that its memory is on. */
int pool_device(const struct ihipMemPoolHandle_t *pool);

/* A device's own pool of the kind (hipMemAllocationTypePinned or ALLOCATION_MANAGED), and the one that is in its place now. */
struct ihipMemPoolHandle_t *pool_default(int device, int type);
struct ihipMemPoolHandle_t *pool_current(int device, int type);
void pool_current_set(int device, int type, struct ihipMemPoolHandle_t *pool);

/* Creates a pool. `imported` is the file of another process's pool, taken over, or NULL. Errors: hipErrorOutOfMemory. */
hipError_t pool_create(const struct pool_properties *properties, struct shared *imported, struct ihipMemPoolHandle_t **out_pool);

/* Ends the handle; the memory that the program still has stays. The pool is live and was created. */
void pool_destroy(struct ihipMemPoolHandle_t *pool);

/* Memory that work submitted to `stream` from now on may use. Errors: hipErrorOutOfMemory, after everything that was promised to come
 * back has come back. */
hipError_t pool_allocate(struct ihipMemPoolHandle_t *pool, struct ihipStream_t *stream, size_t bytes, void **out_pointer);

/* Takes memory back, of a pool or of hipMalloc, when the stream gets there. Errors: hipErrorInvalidValue for what is no such memory
 * or was freed already. */
hipError_t pool_free(struct ihipStream_t *stream, void *pointer);

/* The same now: all work is over (hipFree). */
hipError_t pool_free_now(struct allocation *allocation);

/* A view of another process's pool memory becomes the program's. */
hipError_t pool_adopt(struct ihipMemPoolHandle_t *pool, struct allocation *allocation);

/* The place of a pointer in its pool's file. False if it is not the beginning of memory that a program has from a pool with a file. */
bool pool_place(const void *pointer, struct shared **out_file, size_t *out_offset, size_t *out_bytes);

/* Gives free memory back to the domain until no more than `keep` bytes are reserved. */
void pool_trim(struct ihipMemPoolHandle_t *pool, uint64_t keep);

/* hipDeviceReset: nothing of the device's pools is left. All work is over. */
void pool_device_reset(int device);

#endif
