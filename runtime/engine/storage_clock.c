/* Who still works on a storage. */
#include "engine/state.h"
#include "memory/storage.h"

static bool clock_has_room(const struct clock *clock, uint32_t more) {
  return clock->count + more <= (clock->capacity != 0 ? clock->capacity : CLOCK_INLINE);
}

/* Includes points as long as there is room; false if there was none for one of them. */
static bool points_include_locked(const struct engine *engine, const struct frontier *frontier, struct clock *io_clock) {
  for (const struct frontier_segment *segment = frontier->segments; segment != NULL; segment = segment->next)
    for (const struct frontier_entry *entry = segment->entries; entry != NULL; entry = entry->next) {
      if (point_over(&engine->lanes, entry->point) || clock_covers(io_clock, entry->point)) continue;
      if (clock_sequence(io_clock, entry->point.lane) == 0 && !clock_has_room(io_clock, 1)) return false;
      clock_include(io_clock, entry->point);
    }
  return true;
}

hrx_status engine_storage_clock(struct engine *engine, const struct storage *storage, struct clock *io_clock) {
  if (engine_forked(engine)) return engine_lost();
  if (storage->frontier == NULL) return HRX_OK; /* attached by a submission that the caller comes after */
  hrx_status status = HRX_OK;
  for (bool enough = false; !enough && status == HRX_OK;) {
    pthread_mutex_lock(&engine->lock);
    enough = points_include_locked(engine, storage->frontier, io_clock);
    pthread_mutex_unlock(&engine->lock);
    if (!enough) status = clock_reserve(io_clock, 2 * io_clock->count + CLOCK_INLINE);
  }
  return status;
}
