/* Pages for allocations: chunks in size classes, cut from arenas that have a guard page at either end.
 *
 * Sizes fall into four classes a doubling. A chunk that comes back waits in its class for the next of its size, so a
 * repeated allocate and free costs two list operations. Chunks keep a gap that nobody owns behind them, so that a
 * kernel which runs a little past its buffer is caught. Not thread-safe: the caller has a lock. */
#ifndef HRX_MEMORY_HEAP_H
#define HRX_MEMORY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_CLASSES = 256 };

struct heap_arena;

/* A piece of an arena. Embedded by the owner of the bytes; lives in its class's list while free. */
struct chunk {
  uintptr_t address;
  size_t bytes; /* of its class */
  struct heap_arena *arena;
  struct chunk *next, *previous;
  unsigned size_class;
  bool touched; /* its pages may be in use: it counts as cached while it is free */
};

struct heap {
  struct heap_arena *arenas, *open; /* `open`: where the next small chunk is cut */
  struct chunk *free[HEAP_CLASSES];
  uint64_t cached; /* bytes of free chunks that may occupy pages */
};

/* Takes a free chunk of `bytes` or more from its class. NULL if there is none. */
struct chunk *heap_reuse(struct heap *heap, size_t bytes);

/* Cuts a new one, zero-filled, into `out_chunk`. At most one mmap. False if the system has no memory. */
bool heap_cut(struct heap *heap, size_t bytes, struct chunk *out_chunk);

/* Gives a chunk to its class's free list. */
void heap_return(struct heap *heap, struct chunk *chunk);

/* Gives the pages of free chunks back to the system. Chunks whose whole arena went leave the heap: `lost` is called
 * for each. */
void heap_trim(struct heap *heap, void (*lost)(struct chunk *chunk, void *context), void *context);

/* Unmaps every arena. */
void heap_finish(struct heap *heap);

#endif
