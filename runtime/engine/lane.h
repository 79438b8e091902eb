/* Lanes: in-order queues whose tasks are over in the order of their numbers.
 *
 * A lane is lent to one stream at a time and goes back to the table when that stream is gone and its work over. Its
 * numbers never start again, so a point of an earlier owner stays over. Lanes live as long as the table. */
#ifndef HRX_ENGINE_LANE_H
#define HRX_ENGINE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/point.h"

struct slot;
struct cause;

enum { LANES_A_CHUNK = 256, LANE_CHUNKS = 256, LANES_MOST = LANES_A_CHUNK * LANE_CHUNKS };

/* Whose tasks the lane holds. */
enum lane_use {
  LANE_OF_STREAM,
  LANE_OF_RUN,  /* of a prepared graph in the domain's order: streams must see it */
  LANE_OF_INNER /* of a prepared graph in a stream: only the run itself looks at it */
};

/* Atomics are written under the engine's lock and read anywhere; the rest belongs to the engine's lock. */
struct lane {
  _Atomic uint64_t completed; /* every task up to this one is over */
  _Atomic uint64_t opaque;    /* the newest opaque task */
  _Atomic uint64_t failed;    /* the oldest task whose failure nobody took; UINT64_MAX: none */
  struct cause *cause;        /* why; holds a reference */
  uint64_t issued;            /* the newest task submitted */
  uint64_t newest;            /* that task's place in the order of all submissions */
  struct slot **ring;         /* tasks that are not over, by sequence modulo ring_size */
  uint32_t ring_size;         /* a power of two, or 0 */
  uint32_t id;
  enum lane_use use;
  uint64_t wanted;       /* the lowest sequence that a sleeper waits for; UINT64_MAX: none */
  _Atomic uint32_t beat; /* the sleepers' word: changes when `wanted` is reached */
  struct lane *next_free;
  struct lane *next_busy, *previous_busy; /* lanes with tasks, for "the whole device" */
};

struct lane_table {
  _Atomic(struct lane *) chunks[LANE_CHUNKS];
  uint32_t count;
  struct lane *free;
};

static inline struct lane *lane_at(const struct lane_table *table, uint32_t id) {
  if (id >= LANES_MOST) return NULL;
  /* acquire: pairs with the release that published the chunk */
  struct lane *chunk = atomic_load_explicit(&table->chunks[id / LANES_A_CHUNK], memory_order_acquire);
  return chunk != NULL ? &chunk[id % LANES_A_CHUNK] : NULL;
}

/* Whether the point is over. Any thread, no lock. */
static inline bool point_over(const struct lane_table *table, struct point point) {
  const struct lane *lane = lane_at(table, point.lane);
  /* acquire: who sees a task over sees what it wrote */
  return lane == NULL || atomic_load_explicit(&lane->completed, memory_order_acquire) >= point.sequence;
}

/* Whether the point can be forgotten: over, and no failure at or before it still waits to be taken. No lock. */
static inline bool point_quiet(const struct lane_table *table, struct point point) {
  const struct lane *lane = lane_at(table, point.lane);
  return lane == NULL || (atomic_load_explicit(&lane->completed, memory_order_acquire) >= point.sequence &&
                          atomic_load_explicit(&lane->failed, memory_order_acquire) > point.sequence);
}

/* Adds a chunk of free lanes. The caller made `chunk` with lane_chunk_create outside the lock; it now belongs to the
 * table. False (chunk not taken) if the table is full. Under the engine's lock. */
bool lane_table_add_locked(struct lane_table *table, struct lane *chunk);
struct lane *lane_chunk_create(void);

/* A free lane, or NULL. Under the engine's lock. */
struct lane *lane_take_locked(struct lane_table *table);
void lane_return_locked(struct lane_table *table, struct lane *lane);

void lane_table_finish(struct lane_table *table);

#endif
