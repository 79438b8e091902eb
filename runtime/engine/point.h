/* Points and clocks: how the engine says "after this" (DESIGN 2).
 *
 * A lane completes its tasks in order, so a dependency is a point and "over" is one comparison. */
#ifndef HRX_ENGINE_POINT_H
#define HRX_ENGINE_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The moment task number `sequence` of a lane, and everything it waited for, is over. sequence 0: "already". */
struct point {
  uint32_t lane;
  uint64_t sequence;
};

enum { CLOCK_INLINE = 6, CLOCK_COUNTED = 8 };

/* A moment on several lanes, sparse, sorted by lane: over when each lane has reached its number. Zero-initialised
 * is valid and means "already". The first CLOCK_INLINE lanes need no allocation. Not thread-safe by itself. */
struct clock {
  uint32_t count, capacity; /* capacity 0: points live in `few` */
  struct point *many;
  struct point few[CLOCK_INLINE];
};

/* Frees what the clock grew; it is "already" afterwards. */
void clock_finish(struct clock *clock);

/* Makes it "already" but keeps its capacity. */
void clock_reset(struct clock *clock);

/* The points, sorted by lane. Valid until the clock changes. */
static inline const struct point *clock_points(const struct clock *clock) {
  return clock->capacity != 0 ? clock->many : clock->few;
}

/* Raises `clock` so that it is not over before `point`. O(lanes). Errors: OUT_OF_MEMORY, clock unchanged. */
hrx_status clock_include(struct clock *clock, struct point point);

/* Raises `clock` so that it is not over before `other`. O(lanes of both). Errors: OUT_OF_MEMORY. */
hrx_status clock_join(struct clock *clock, const struct clock *other);

/* Makes `clock` equal to `other`. Errors: OUT_OF_MEMORY. */
hrx_status clock_copy(struct clock *clock, const struct clock *other);

/* Makes room for `points` lanes, so that including up to that many cannot fail. Errors: OUT_OF_MEMORY. */
hrx_status clock_reserve(struct clock *clock, uint32_t points);

/* Drops the points for which `keep` is false. */
void clock_keep(struct clock *clock, bool (*keep)(struct point point, const void *context), const void *context);

/* The first place whose lane is not below `lane`. Counted, up to a few lanes: which lane is asked for cannot be predicted, so each
 * branch that depends on it would be a wrong guess. */
static inline uint32_t clock_place(const struct clock *clock, uint32_t lane) {
  const struct point *points = clock_points(clock);
  uint32_t low = 0, high = clock->count;
  if (high <= CLOCK_COUNTED) {
    for (uint32_t i = 0; i < high; i++) low += points[i].lane < lane;
    return low;
  }
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (points[middle].lane < lane)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* How far `clock` includes the lane; 0: not at all. O(log lanes). */
static inline uint64_t clock_sequence(const struct clock *clock, uint32_t lane) {
  uint32_t place = clock_place(clock, lane);
  const struct point *points = clock_points(clock);
  return place < clock->count && points[place].lane == lane ? points[place].sequence : 0;
}

/* Whether `clock` includes `point`. O(log lanes). */
bool clock_covers(const struct clock *clock, struct point point);

#endif
