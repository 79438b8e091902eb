#include "engine/hold.h"

#include "engine/graph_state.h"
#include "memory/storage.h"

static size_t begin_of(const struct access *access) { return access->allocation->storage_offset + access->offset; }

static enum access_kind kind_of(const struct hold *hold, const struct access *access) {
  if (hold->kind == HOLD_READ) return ACCESS_READ;
  return hold->kind == HOLD_WRITE ? ACCESS_WRITE : access_kept(access->kind);
}

static bool overlaps(const struct access *access, const struct storage *storage, size_t begin, size_t end) {
  return access->bytes != 0 && access->allocation->storage == storage && begin_of(access) < end &&
         begin < begin_of(access) + access->bytes;
}

const struct hold *hold_find_locked(const struct engine *engine, const struct storage *storage, size_t begin, size_t end,
                                    enum access_kind kind, const struct stream *stream) {
  for (const struct hold *hold = engine->holds; hold != NULL; hold = hold->next) {
    if (hold->kind == HOLD_HANDOFF && stream != NULL && hold->stream == stream) continue;
    for (unsigned i = 0; i < hold->access_count; i++)
      if (overlaps(&hold->accesses[i], storage, begin, end) &&
          access_conflicts(access_kept(kind), kind_of(hold, &hold->accesses[i])))
        return hold;
  }
  return NULL;
}

hrx_status hold_fail(enum hold_kind kind) {
  if (kind == HOLD_HANDOFF)
    return hrx_fail_reason(HRX_BUSY, HRX_REASON_HANDED_OFF, "the memory is handed to a native stream for a stage");
  return hrx_fail_reason(HRX_BUSY, HRX_REASON_MAPPED, "a live host map (%s) conflicts", kind == HOLD_READ ? "read" : "write");
}

/* Whom the new hold conflicts with. A handoff is exclusive: of two that overlap the second is refused, whatever they access. */
static const struct hold *rival_locked(const struct engine *engine, const struct hold *hold) {
  for (const struct hold *other = engine->holds; other != NULL; other = other->next)
    for (unsigned i = 0; i < other->access_count; i++)
      for (unsigned k = 0; k < hold->access_count; k++) {
        const struct access *one = &other->accesses[i], *two = &hold->accesses[k];
        if (one->bytes == 0 || !overlaps(two, one->allocation->storage, begin_of(one), begin_of(one) + one->bytes)) continue;
        if ((hold->kind == HOLD_HANDOFF && other->kind == HOLD_HANDOFF) ||
            access_conflicts(kind_of(other, one), kind_of(hold, two)))
          return other;
      }
  return NULL;
}

struct held_wait {
  enum access_kind kind;
  struct clock *clock;
};

static void held_add(void *context, struct point point, enum access_kind kind) {
  const struct held_wait *wait = context;
  if (access_conflicts(wait->kind, kind)) clock_include(wait->clock, point);
}

/* What is in flight and conflicts: by the frontiers, and everything opaque. Room for all busy lanes was made. */
static void work_find_locked(struct engine *engine, const struct hold *hold, struct clock *io_clock) {
  for (unsigned i = 0; i < hold->access_count; i++) {
    const struct access *access = &hold->accesses[i];
    struct frontier *frontier = access->bytes != 0 ? access->allocation->storage->frontier : NULL;
    struct held_wait wait = {kind_of(hold, access), io_clock};
    if (frontier != NULL)
      frontier_visit(&engine->pool, frontier, begin_of(access), begin_of(access) + access->bytes, &engine->lanes, held_add,
                     &wait);
  }
  for (const struct lane *lane = engine->opaque_inflight != 0 ? engine->busy : NULL; lane != NULL; lane = lane->next_busy) {
    uint64_t opaque = atomic_load_explicit(&lane->opaque, memory_order_relaxed);
    if (opaque > atomic_load_explicit(&lane->completed, memory_order_relaxed))
      clock_include(io_clock, (struct point){lane->id, opaque});
  }
}

/* Entries that are over but whose failure nobody took are not on busy lanes, so they are counted as well. */
static uint32_t lanes_most(const struct engine *engine, const struct hold *hold) {
  size_t most = 0;
  for (const struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) most++;
  for (unsigned i = 0; i < hold->access_count; i++) {
    const struct frontier *frontier = hold->accesses[i].bytes != 0 ? hold->accesses[i].allocation->storage->frontier : NULL;
    if (frontier != NULL) most += frontier->entry_count;
  }
  return most < LANES_MOST ? (uint32_t)most : LANES_MOST;
}

static bool poisoned_locked(const struct engine *engine, const struct hold *hold, struct failure *out_failure) {
  if (atomic_load_explicit(&engine->poison_count, memory_order_relaxed) == 0) return false;
  for (unsigned i = 0; i < hold->access_count; i++) {
    const struct access *access = &hold->accesses[i];
    if (access->bytes != 0 && poison_find_locked(access->allocation->storage, begin_of(access),
                                                 begin_of(access) + access->bytes, out_failure))
      return true;
  }
  return false;
}

static hrx_status hold_enter(struct engine *engine, struct hold *hold, struct clock *io_clock) {
  for (;;) {
    struct failure failure = {.status = HRX_OK};
    pthread_mutex_lock(&engine->lock);
    const struct hold *rival = rival_locked(engine, hold);
    enum hold_kind kind = rival != NULL ? rival->kind : HOLD_READ;
    bool poisoned = rival == NULL && poisoned_locked(engine, hold, &failure);
    uint32_t lanes = lanes_most(engine, hold);
    bool room = lanes <= (io_clock->capacity != 0 ? io_clock->capacity : CLOCK_INLINE);
    bool entered = rival == NULL && !poisoned && room;
    if (entered) {
      work_find_locked(engine, hold, io_clock);
      hold->previous = NULL;
      hold->next = engine->holds;
      if (hold->next != NULL) hold->next->previous = hold;
      engine->holds = hold;
      atomic_fetch_add(&engine->hold_count, 1);
    }
    pthread_mutex_unlock(&engine->lock);
    if (rival != NULL) return hold_fail(kind);
    if (poisoned) return failure_restore(&failure);
    if (entered) return HRX_OK;
    hrx_status status = clock_reserve(io_clock, lanes);
    if (status != HRX_OK) return status;
  }
}

hrx_status hold_take(struct engine *engine, struct hold *hold, bool try_only, uint64_t deadline_ns) {
  if (engine_forked(engine)) return engine_lost();
  struct clock clock = {0};
  hrx_status status = hold_enter(engine, hold, &clock);
  bool entered = status == HRX_OK;
  if (entered && try_only && !engine_clock_over(engine, &clock))
    status = hrx_fail_reason(HRX_BUSY, HRX_REASON_DEVICE_WORK, "device work that conflicts is not over");
  else if (entered && !try_only)
    status = engine_clock_wait(engine, &clock, deadline_ns);
  if (entered && status == HRX_OK) { /* what it waited for may have failed */
    struct failure failure;
    pthread_mutex_lock(&engine->lock);
    bool poisoned = poisoned_locked(engine, hold, &failure);
    pthread_mutex_unlock(&engine->lock);
    if (poisoned) status = failure_restore(&failure);
  }
  if (entered && status != HRX_OK) hold_drop(engine, hold);
  clock_finish(&clock);
  return status;
}

void hold_drop(struct engine *engine, struct hold *hold) {
  if (engine_forked(engine)) return;
  pthread_mutex_lock(&engine->lock);
  if (hold->previous != NULL)
    hold->previous->next = hold->next;
  else
    engine->holds = hold->next;
  if (hold->next != NULL) hold->next->previous = hold->previous;
  atomic_fetch_sub(&engine->hold_count, 1);
  pthread_mutex_unlock(&engine->lock);
}

hrx_status hold_check(struct engine *engine, const struct access *accesses, unsigned count, const struct stream *stream) {
  if (atomic_load_explicit(&engine->hold_count, memory_order_acquire) == 0) return HRX_OK;
  if (engine_forked(engine)) return engine_lost();
  const struct hold *hold = NULL;
  enum hold_kind kind = HOLD_READ;
  pthread_mutex_lock(&engine->lock);
  for (unsigned i = 0; i < count && hold == NULL; i++)
    if (accesses[i].bytes != 0)
      hold = hold_find_locked(engine, accesses[i].allocation->storage, begin_of(&accesses[i]),
                              begin_of(&accesses[i]) + accesses[i].bytes, accesses[i].kind, stream);
  if (hold != NULL) kind = hold->kind;
  pthread_mutex_unlock(&engine->lock);
  return hold != NULL ? hold_fail(kind) : HRX_OK;
}
