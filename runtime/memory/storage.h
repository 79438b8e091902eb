/* The bytes behind allocations. Several views may share one storage; what waits for what is decided by storage.
 *
 * Type-stable like the allocations that point to it (memory.h). */
#ifndef HRX_MEMORY_STORAGE_H
#define HRX_MEMORY_STORAGE_H

struct frontier;
struct poison;
struct cause;

struct storage {
  /* Owned by the engine, read and written under its lock only; NULL until a task touches the storage. It may outlive
   * the allocation: by then every point in it is over, which is the same as an empty one. */
  struct frontier *frontier;

  /* What failed tasks may have written in part (engine/poison.c), under the same lock. engine_storage_forget empties it. */
  struct poison *poison;
  struct cause *lost; /* all of it may have been */
  struct storage *next_poisoned;
};

#endif
