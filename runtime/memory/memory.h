/* The storage of one domain: allocations, and the map from any address to the allocation that holds it.
 *
 * Device memory of the software GPU is host memory: an allocation's device address is its host address.
 * `struct allocation` is type-stable: once handed out, its storage is reused but never returned to the
 * system, so that a reader that lost a race reads a stale allocation, never unmapped memory. */
#ifndef HRX_MEMORY_MEMORY_H
#define HRX_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct memory;

enum memory_kind {
  MEMORY_DEVICE,     /* hipMalloc: charged against the device's limit */
  MEMORY_HOST,       /* hipHostMalloc: pinned, watchable */
  MEMORY_REGISTERED, /* hipHostRegister: the program's own memory, watchable */
  MEMORY_MANAGED,    /* hipMallocManaged, watchable, charged */
  MEMORY_CODE,       /* a loaded code object's image and its globals; charged */
  MEMORY_VIRTUAL,    /* hipMemMap: a view inside a reserved range; what it shows is charged, it is not */
  MEMORY_IMPORTED,   /* another process's memory, watchable, charged there */
  MEMORY_INTERNAL    /* kernel arguments, dispatch packets, scratch: of hrx itself, not charged */
};

enum memory_access { MEMORY_READ = 1, MEMORY_WRITE = 2 };

struct storage; /* the frontier hangs on it: engine/frontier.h */

struct allocation {
  uintptr_t address; /* first byte, device and host alike */
  size_t bytes;      /* as the caller asked */
  enum memory_kind kind;
  unsigned flags;          /* the caller's own (HIP flags), kept for queries */
  unsigned access;         /* MEMORY_READ | MEMORY_WRITE: what kernels may do */
  int device;              /* ordinal that owns it */
  uint64_t serial;         /* unique for the life of the process: tells a reused address from the old one; 0: free */
  struct storage *storage; /* the bytes behind it; two views may share one */
  size_t storage_offset;   /* of `address` in it */
  bool shared;             /* another process may see the bytes: watchable, whatever the kind */
  bool synchronous;        /* the caller's own: copies with it block (hipPointerSetAttribute) */
  void *holder;            /* the HIP layer's object that it belongs to, or NULL */
  void *owner;             /* whoever allocated it may leave a mark; NULL at first */
};

struct memory_statistics {
  uint64_t limit, used, peak;        /* bytes charged */
  uint64_t live, allocations, frees; /* counts */
};

/* A domain's memory with `limit` bytes to charge. Owned by the caller. Errors: OUT_OF_MEMORY. */
hrx_status memory_create(uint64_t limit, struct memory **out_memory);

/* Releases everything, live allocations too. The caller has stopped every reader. NULL is accepted. */
void memory_release(struct memory *memory);

/* Allocates `bytes` (1 and up) at a multiple of `alignment` (power of two, at least 256 is used). Fresh pages are
 * zero; reused ones hold old bytes. Constant time for a size freed before, else one mmap. Takes the memory's
 * lock. Errors: OUT_OF_MEMORY with size, used and limit in the message, nothing charged. Any thread. */
hrx_status memory_allocate(struct memory *memory, size_t bytes, size_t alignment, enum memory_kind kind, unsigned flags,
                           int device, struct allocation **out_allocation);

/* The same, filled with zeros: pages that the system has just given need no work. Takes as long as filling does. */
hrx_status memory_allocate_zeroed(struct memory *memory, size_t bytes, size_t alignment, enum memory_kind kind, unsigned flags,
                                  int device, struct allocation **out_allocation);

/* Makes the program's own range [pointer, pointer + bytes) known to kernels. Not charged, not owned.
 * Errors: INVALID/ARGUMENT for an empty or wrapping range; INVALID/LIVE if it overlaps a known one. */
hrx_status memory_register(struct memory *memory, void *pointer, size_t bytes, unsigned flags, int device,
                           struct allocation **out_allocation);

/* Frees an allocation or forgets a registration. No task uses it any more (the caller waited). NULL is accepted. */
void memory_free(struct memory *memory, struct allocation *allocation);

/* The live allocation that holds `address`, also an inner one, or NULL. O(log n) or better. Lock-free: workers
 * call it while other threads allocate and free. The result stays true until somebody frees it. */
struct allocation *memory_find(const struct memory *memory, uintptr_t address);

/* Changes what kernels may do. Kernels that run look again at their next access that is not cached. */
void memory_access_set(struct memory *memory, struct allocation *allocation, unsigned access);

/* The mapped view that begins where `allocation`, a mapped view too, ends, or NULL: a range may go on there. Lock-free. */
struct allocation *memory_next(const struct memory *memory, const struct allocation *allocation);

/* The live allocation nearest to `address` (for messages), or NULL if there is none. Takes the lock. */
struct allocation *memory_nearest(struct memory *memory, uintptr_t address);

/* Counts grow with every allocate, register and free: who cached a find result looks again when it changed.
 * One relaxed load. */
uint64_t memory_generation(const struct memory *memory);

/* Calls `visit` for each live allocation in address order, under the memory's lock; it must not call back. */
void memory_visit(struct memory *memory, void (*visit)(const struct allocation *, void *context), void *context);

void memory_statistics(struct memory *memory, struct memory_statistics *out_statistics);

/* Fork support: lock before fork, unlock in parent and child after it (engine's atfork handlers call these). */
void memory_fork_prepare(struct memory *memory);
void memory_fork_done(struct memory *memory);

#endif
