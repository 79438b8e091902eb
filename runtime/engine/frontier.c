#include "engine/frontier.h"

#include <stdlib.h>

#include "memory/storage.h"

enum { SLAB_ENTRIES = 512, SLAB_SEGMENTS = 256, SLAB_FRONTIERS = 64, COMPARED_ENTRIES = 8 };

struct frontier_slab {
  struct frontier_slab *next;
  struct frontier_entry entries[SLAB_ENTRIES];
  struct frontier_segment segments[SLAB_SEGMENTS];
  struct frontier frontiers[SLAB_FRONTIERS];
};

struct frontier_slab *frontier_slab_create(void) {
  return calloc(1, sizeof(struct frontier_slab));
}

static void entry_free(struct frontier_pool *pool, struct frontier *frontier, struct frontier_entry *entry) {
  entry->next = pool->entries;
  pool->entries = entry;
  pool->entry_count++;
  frontier->entry_count--;
}

static struct frontier_entry *entry_new(struct frontier_pool *pool, struct frontier *frontier, struct point point,
                                        enum access_kind kind, struct frontier_entry *next) {
  struct frontier_entry *entry = pool->entries;
  pool->entries = entry->next;
  pool->entry_count--;
  frontier->entry_count++;
  *entry = (struct frontier_entry){.point = point, .kind = kind, .next = next};
  return entry;
}

static void segment_free(struct frontier_pool *pool, struct frontier *frontier, struct frontier_segment *segment) {
  segment->next = pool->segments;
  pool->segments = segment;
  pool->segment_count++;
  frontier->segment_count--;
}

static struct frontier_segment *segment_new(struct frontier_pool *pool, struct frontier *frontier, size_t begin,
                                            size_t end, struct frontier_segment *next) {
  struct frontier_segment *segment = pool->segments;
  pool->segments = segment->next;
  pool->segment_count--;
  frontier->segment_count++;
  *segment = (struct frontier_segment){.begin = begin, .end = end, .next = next};
  return segment;
}

void frontier_pool_add(struct frontier_pool *pool, struct frontier_slab *slab) {
  slab->next = pool->slabs;
  pool->slabs = slab;
  for (size_t i = 0; i < SLAB_ENTRIES; i++) {
    slab->entries[i].next = pool->entries;
    pool->entries = &slab->entries[i];
  }
  for (size_t i = 0; i < SLAB_SEGMENTS; i++) {
    slab->segments[i].next = pool->segments;
    pool->segments = &slab->segments[i];
  }
  for (size_t i = 0; i < SLAB_FRONTIERS; i++) {
    slab->frontiers[i].next_free = pool->frontiers;
    pool->frontiers = &slab->frontiers[i];
  }
  pool->entry_count += SLAB_ENTRIES;
  pool->segment_count += SLAB_SEGMENTS;
  pool->frontier_count += SLAB_FRONTIERS;
}

void frontier_pool_finish(struct frontier_pool *pool) {
  while (pool->slabs != NULL) {
    struct frontier_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    for (size_t i = 0; i < SLAB_FRONTIERS; i++)
      if (slab->frontiers[i].storage != NULL) slab->frontiers[i].storage->frontier = NULL;
    free(slab);
  }
  *pool = (struct frontier_pool){0};
}

bool frontier_pool_enough(const struct frontier_pool *pool, const struct access *accesses, unsigned count) {
  size_t nodes = 0;
  for (unsigned i = 0; i < count; i++)
    if (accesses[i].bytes != 0) nodes += frontier_nodes_most(accesses[i].allocation->storage->frontier) + FRONTIER_NODES_AN_ACCESS;
  return pool->entry_count >= nodes && pool->segment_count >= nodes && pool->frontier_count >= count;
}

struct frontier *frontier_of(struct frontier_pool *pool, struct storage *storage) {
  if (storage->frontier == NULL) {
    struct frontier *frontier = pool->frontiers;
    pool->frontiers = frontier->next_free;
    pool->frontier_count--;
    frontier->storage = storage;
    storage->frontier = frontier;
  }
  return storage->frontier;
}

/* `known`: entries in it are passed over, also if they are quiet by now; may be NULL. */
static inline void visit_all(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                             const struct lane_table *lanes, const struct clock *known,
                             void (*visit)(void *context, struct point point, enum access_kind kind), void *context) {
  for (struct frontier_segment **link = &frontier->segments; *link != NULL && (*link)->begin < end;) {
    struct frontier_segment *segment = *link;
    if (segment->end <= begin) {
      link = &segment->next;
      continue;
    }
    for (struct frontier_entry **entry_link = &segment->entries; *entry_link != NULL;) {
      struct frontier_entry *entry = *entry_link;
      if (known != NULL && entry->point.sequence <= clock_sequence(known, entry->point.lane)) {
        entry_link = &entry->next;
        continue;
      }
      if (point_quiet(lanes, entry->point)) {
        *entry_link = entry->next;
        entry_free(pool, frontier, entry);
        continue;
      }
      visit(context, entry->point, entry->kind);
      entry_link = &entry->next;
    }
    if (segment->entries == NULL) {
      *link = segment->next;
      segment_free(pool, frontier, segment);
    } else {
      link = &segment->next;
    }
  }
}

void frontier_visit(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                    const struct lane_table *lanes,
                    void (*visit)(void *context, struct point point, enum access_kind kind), void *context) {
  visit_all(pool, frontier, begin, end, lanes, NULL, visit, context);
}

struct ordered_wait {
  enum access_kind kind;
  const struct clock *order;
  struct clock *waits;
};

static void wait_raise(void *context, struct point point, enum access_kind kind) {
  const struct ordered_wait *wait = context;
  if (!access_conflicts(wait->kind, kind)) return;
  uint64_t sequence = clock_sequence(wait->order, point.lane);
  if (point.sequence > sequence) point.sequence = sequence;
  clock_include(wait->waits, point);
}

void frontier_waits(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                    enum access_kind kind, const struct clock *order, const struct lane_table *lanes,
                    struct clock *io_waits) {
  struct ordered_wait wait = {access_kept(kind), order, io_waits};
  visit_all(pool, frontier, begin, end, lanes, io_waits, wait_raise, &wait);
}

/* Cuts the segment at `at`, which is inside it. */
static void split(struct frontier_pool *pool, struct frontier *frontier, struct frontier_segment *segment, size_t at) {
  struct frontier_segment *upper = segment_new(pool, frontier, at, segment->end, segment->next);
  for (const struct frontier_entry *entry = segment->entries; entry != NULL; entry = entry->next)
    upper->entries = entry_new(pool, frontier, entry->point, entry->kind, upper->entries);
  segment->end = at;
  segment->next = upper;
}

/* Adds the access to one segment. At most one new entry. A write says as much as an older read or atomic of its lane. */
static void segment_touch(struct frontier_pool *pool, struct frontier *frontier, struct frontier_segment *segment,
                          enum access_kind kind, struct point self) {
  bool found = false;
  for (struct frontier_entry **link = &segment->entries; *link != NULL;) {
    struct frontier_entry *entry = *link;
    if (entry->point.lane == self.lane) {
      if (entry->kind == kind) {
        if (entry->point.sequence < self.sequence) entry->point = self; /* a run enters its last accesses in any order */
        found = true;
        if (kind != ACCESS_WRITE) break;
      } else if (kind == ACCESS_WRITE) {
        *link = entry->next;
        entry_free(pool, frontier, entry);
        continue;
      }
    }
    link = &entry->next;
  }
  if (!found) segment->entries = entry_new(pool, frontier, self, kind, segment->entries);
}

static bool same_state(const struct frontier_segment *one, const struct frontier_segment *other) {
  unsigned ones = 0, others = 0;
  for (const struct frontier_entry *entry = one->entries; entry != NULL; entry = entry->next, ones++)
    if (ones == COMPARED_ENTRIES) return false; /* too many to compare; coarsening bounds them */
  for (const struct frontier_entry *entry = other->entries; entry != NULL; entry = entry->next, others++)
    if (others == ones) return false;
  if (ones != others) return false;
  for (const struct frontier_entry *entry = one->entries; entry != NULL; entry = entry->next) {
    const struct frontier_entry *match = other->entries;
    while (match != NULL && (match->kind != entry->kind || match->point.lane != entry->point.lane ||
                             match->point.sequence != entry->point.sequence))
      match = match->next;
    if (match == NULL) return false;
  }
  return true;
}

/* Makes `segment` and its successor one, with the entries of both. Takes no node. */
static void join_next(struct frontier_pool *pool, struct frontier *frontier, struct frontier_segment *segment) {
  struct frontier_segment *next = segment->next;
  for (struct frontier_entry *entry = next->entries, *following; entry != NULL; entry = following) {
    following = entry->next;
    struct frontier_entry *match = segment->entries;
    while (match != NULL && (match->kind != entry->kind || match->point.lane != entry->point.lane)) match = match->next;
    if (match == NULL) {
      entry->next = segment->entries;
      segment->entries = entry;
      continue;
    }
    if (match->point.sequence < entry->point.sequence) match->point = entry->point;
    entry_free(pool, frontier, entry);
  }
  segment->end = next->end;
  segment->next = next->next;
  segment_free(pool, frontier, next);
}

/* Joins equal neighbours that touch [begin, end), then halves the list while it is too long. */
static void coarsen(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end) {
  struct frontier_segment *segment = frontier->segments;
  while (segment != NULL && segment->next != NULL && segment->begin <= end) {
    struct frontier_segment *next = segment->next;
    if (segment->end == next->begin && segment->end >= begin && same_state(segment, next))
      join_next(pool, frontier, segment);
    else
      segment = next;
  }
  while (frontier->segment_count > FRONTIER_SEGMENTS)
    for (segment = frontier->segments; segment != NULL && segment->next != NULL; segment = segment->next)
      join_next(pool, frontier, segment);
}

/* Everything in one segment that also holds [begin, end): when the pool has no nodes for more. */
static struct frontier_segment *collapse(struct frontier_pool *pool, struct frontier *frontier, size_t begin,
                                         size_t end) {
  if (frontier->segments == NULL) frontier->segments = segment_new(pool, frontier, begin, end, NULL);
  struct frontier_segment *segment = frontier->segments;
  while (segment->next != NULL) join_next(pool, frontier, segment);
  if (begin < segment->begin) segment->begin = begin;
  if (end > segment->end) segment->end = end;
  return segment;
}

static void entries_free(struct frontier_pool *pool, struct frontier *frontier, struct frontier_segment *segment) {
  while (segment->entries != NULL) {
    struct frontier_entry *entry = segment->entries;
    segment->entries = entry->next;
    entry_free(pool, frontier, entry);
  }
}

static void record(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                   enum access_kind kind, struct point self, size_t reserve, bool replace) {
  kind = access_kept(kind);
  size_t most = frontier_nodes_most(frontier) + reserve;
  if (pool->entry_count < most || pool->segment_count < most) {
    segment_touch(pool, frontier, collapse(pool, frontier, begin, end), kind, self);
    return;
  }
  size_t at = begin;
  struct frontier_segment **link = &frontier->segments;
  while (at < end) {
    struct frontier_segment *segment = *link;
    if (segment != NULL && segment->end <= at) {
      link = &segment->next;
    } else if (segment == NULL || segment->begin >= end) { /* a gap up to the end */
      *link = segment_new(pool, frontier, at, end, segment);
      (*link)->entries = entry_new(pool, frontier, self, kind, NULL);
      at = end;
    } else if (segment->begin > at) { /* a gap up to the segment */
      *link = segment_new(pool, frontier, at, segment->begin, segment);
      (*link)->entries = entry_new(pool, frontier, self, kind, NULL);
      at = segment->begin;
      link = &(*link)->next;
    } else if (segment->begin < at) {
      split(pool, frontier, segment, at);
      link = &segment->next;
    } else {
      if (segment->end > end) split(pool, frontier, segment, end);
      if (replace) entries_free(pool, frontier, segment);
      segment_touch(pool, frontier, segment, kind, self);
      at = segment->end;
      link = &segment->next;
    }
  }
  coarsen(pool, frontier, begin, end);
}

void frontier_record(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                     enum access_kind kind, struct point self, size_t reserve) {
  record(pool, frontier, begin, end, kind, self, reserve, false);
}

void frontier_replace(struct frontier_pool *pool, struct frontier *frontier, size_t begin, size_t end,
                      enum access_kind kind, struct point self, size_t reserve) {
  record(pool, frontier, begin, end, kind, self, reserve, true);
}
