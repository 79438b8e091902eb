#include "engine/point.h"

#include <stdlib.h>
#include <string.h>

static struct point *points_of(struct clock *clock) { return clock->capacity != 0 ? clock->many : clock->few; }

void clock_finish(struct clock *clock) {
  if (clock->capacity != 0) free(clock->many);
  memset(clock, 0, sizeof *clock);
}

void clock_reset(struct clock *clock) { clock->count = 0; }

hrx_status clock_reserve(struct clock *clock, uint32_t points) {
  uint32_t capacity = clock->capacity != 0 ? clock->capacity : CLOCK_INLINE;
  if (points <= capacity) return HRX_OK;
  while (capacity < points) capacity = capacity > UINT32_MAX / 2 ? points : capacity * 2;
  struct point *many = malloc(capacity * sizeof *many);
  if (many == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a clock of %u lanes", points);
  memcpy(many, points_of(clock), clock->count * sizeof *many);
  if (clock->capacity != 0) free(clock->many);
  clock->many = many;
  clock->capacity = capacity;
  return HRX_OK;
}

hrx_status clock_include(struct clock *clock, struct point point) {
  if (point.sequence == 0) return HRX_OK;
  uint32_t place = clock_place(clock, point.lane);
  struct point *points = points_of(clock);
  if (place < clock->count && points[place].lane == point.lane) {
    if (points[place].sequence < point.sequence) points[place].sequence = point.sequence;
    return HRX_OK;
  }
  hrx_status status = clock_reserve(clock, clock->count + 1);
  if (status != HRX_OK) return status;
  points = points_of(clock);
  memmove(points + place + 1, points + place, (clock->count - place) * sizeof *points);
  points[place] = point;
  clock->count++;
  return HRX_OK;
}

hrx_status clock_join(struct clock *clock, const struct clock *other) {
  if (other->count == 0 || clock == other) return HRX_OK;
  const struct point *theirs = clock_points(other);
  /* How many lanes are new: the merge below runs from the back inside one array. */
  uint32_t fresh = 0;
  for (uint32_t i = 0, place = 0; i < other->count; i++) {
    const struct point *ours = clock_points(clock);
    while (place < clock->count && ours[place].lane < theirs[i].lane) place++;
    fresh += place == clock->count || ours[place].lane != theirs[i].lane;
  }
  hrx_status status = clock_reserve(clock, clock->count + fresh);
  if (status != HRX_OK) return status;
  struct point *ours = points_of(clock);
  uint32_t mine = clock->count, left = other->count, to = mine + fresh;
  while (left > 0) {
    if (mine > 0 && ours[mine - 1].lane > theirs[left - 1].lane) {
      ours[--to] = ours[--mine];
    } else if (mine > 0 && ours[mine - 1].lane == theirs[left - 1].lane) {
      struct point point = ours[--mine];
      left--;
      if (theirs[left].sequence > point.sequence) point.sequence = theirs[left].sequence;
      ours[--to] = point;
    } else {
      ours[--to] = theirs[--left];
    }
  }
  clock->count += fresh;
  return HRX_OK;
}

hrx_status clock_copy(struct clock *clock, const struct clock *other) {
  if (clock == other) return HRX_OK;
  hrx_status status = clock_reserve(clock, other->count);
  if (status != HRX_OK) return status;
  memcpy(points_of(clock), clock_points(other), other->count * sizeof(struct point));
  clock->count = other->count;
  return HRX_OK;
}

void clock_keep(struct clock *clock, bool (*keep)(struct point point, const void *context), const void *context) {
  struct point *points = points_of(clock);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < clock->count; i++)
    if (keep(points[i], context)) points[kept++] = points[i];
  clock->count = kept;
}

bool clock_covers(const struct clock *clock, struct point point) {
  return clock_sequence(clock, point.lane) >= point.sequence;
}
