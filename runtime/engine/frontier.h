/* Frontiers: for each storage, which points a new access must follow.
 *
 * A frontier is a list of disjoint byte segments in address order; bytes in no segment were never accessed, or all
 * accesses are over. A segment holds, for each lane, the newest write, read and atomic that are not over.
 *
 * A write does not remove the accesses that it follows. Ranges are often wider than what a kernel touches, so two unordered
 * streams may both "write" a buffer after a common reader without a race; the second must still find that reader. Of one
 * lane the newest access is enough: a task whose order includes only an earlier part of that lane waits for that part.
 *
 * Everything is under the engine's lock and takes nodes from a pool that was filled outside it. */
#ifndef HRX_ENGINE_FRONTIER_H
#define HRX_ENGINE_FRONTIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/lane.h"
#include "engine/point.h"

/* More segments than this and neighbours are joined: order that no data needs, but never too little. */
enum { FRONTIER_SEGMENTS = 64 };

struct frontier_entry {
  struct point point;
  enum access_kind kind; /* READ, WRITE or ATOMIC */
  struct frontier_entry *next;
};

struct frontier_segment {
  size_t begin, end;
  struct frontier_entry *entries;
  struct frontier_segment *next;
};

struct frontier {
  struct frontier_segment *segments;
  size_t segment_count, entry_count;
  struct storage *storage; /* that it hangs on; NULL: free */
  struct frontier *next_free;
};

/* Read-write counts as write; two reads do not conflict, nor do two atomics. */
static inline enum access_kind access_kept(enum access_kind kind) {
  return kind == ACCESS_READ_WRITE ? ACCESS_WRITE : kind;
}

static inline bool access_conflicts(enum access_kind one, enum access_kind other) {
  if (one == ACCESS_READ) return other != ACCESS_READ;
  if (one == ACCESS_ATOMIC) return other != ACCESS_ATOMIC;
  return true;
}

struct frontier_slab;

/* Zero-initialised is an empty pool. */
struct frontier_pool {
  struct frontier_entry *entries;
  struct frontier_segment *segments;
  struct frontier *frontiers;
  size_t entry_count, segment_count, frontier_count; /* free ones */
  struct frontier_slab *slabs;
};

/* More nodes; allocated outside the lock, added under it. NULL: out of memory. */
struct frontier_slab *frontier_slab_create(void);
void frontier_pool_add(struct frontier_pool *pool, struct frontier_slab *slab);

/* Whether the pool has all that recording these accesses could need. */
bool frontier_pool_enough(const struct frontier_pool *pool, const struct access *accesses, unsigned count);

/* Takes the frontiers off their storages and frees the pool. The storages are still there. */
void frontier_pool_finish(struct frontier_pool *pool);

/* The storage's frontier, attaching a new one at its first access. */
struct frontier *frontier_of(struct frontier_pool *pool, struct storage *storage);

/* Raises `io_waits` by what an access to [begin, end) must follow: entries that conflict with it, as far as `order`, the
 * task's outer order, includes their lanes. Cannot fail: `io_waits` has room for every lane of `order`. Forgets quiet entries. */
void frontier_waits(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                    enum access_kind kind, const struct clock *order, const struct lane_table *lanes,
                    struct clock *io_waits);

/* Calls `visit` for each entry of [begin, end) that is not quiet. Forgets the quiet ones. */
void frontier_visit(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                    const struct lane_table *lanes,
                    void (*visit)(void *context, struct point point, enum access_kind kind), void *context);

/* The most nodes that one record in this frontier (NULL: a new one) can take: two splits copy a segment's entries each, and every
 * segment and every gap between segments gets an entry. */
enum { FRONTIER_NODES_AN_ACCESS = 4 };
static inline size_t frontier_nodes_most(const struct frontier *frontier) {
  if (frontier == NULL) return FRONTIER_NODES_AN_ACCESS;
  return 2 * frontier->entry_count + 2 * frontier->segment_count + FRONTIER_NODES_AN_ACCESS;
}

/* The entry of a frontier that knows of one access, and that of exactly [begin, end); NULL for any other. Buffers that are used
 * as a whole mostly have it: without a walk, it can be looked at, or become the access that replaces it. */
static inline struct frontier_entry *frontier_exact(const struct frontier *frontier, size_t begin, size_t end) {
  const struct frontier_segment *only = frontier->segments;
  if (only == NULL || only->next != NULL || only->begin != begin || only->end != end) return NULL;
  return only->entries != NULL && only->entries->next == NULL ? only->entries : NULL;
}

/* As frontier_record for an access that follows everything in the range: what was there goes. */
void frontier_replace(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                      enum access_kind kind, struct point self, size_t reserve);

/* Records that the task at `self` makes this access. `reserve`: nodes that must be left in the pool. */
void frontier_record(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                     enum access_kind kind, struct point self, size_t reserve);

#endif
