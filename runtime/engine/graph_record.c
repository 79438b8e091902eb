/* What the accesses of all nodes so far have left, byte by byte, while a graph is prepared; and what of it others can see. */
#include "engine/graph_builder.h"

#include "base/block.h"
#include "engine/frontier.h"

enum { SINGLE_ATOMICS = 32, COMPARED_CELLS = 8 };

/* Room for one more item. */
bool builder_grow(void **io_items, size_t count, size_t *io_capacity, size_t item_bytes) {
  return block_grow(io_items, count, io_capacity, count + 1, item_bytes);
}

/* --- finding storages and ranges --- */

static uint64_t hash_of(const void *storage, size_t begin, size_t end) {
  uint64_t hash = (uintptr_t)storage * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ (hash >> 32) ^ begin) * UINT64_C(0xd6e8feb86659fd93);
  hash = (hash ^ (hash >> 32) ^ end) * UINT64_C(0xd6e8feb86659fd93);
  return hash ^ (hash >> 32);
}

static uint64_t track_hash(const struct builder *builder, uint32_t index) {
  return hash_of(builder->tracks[index].storage, 0, 0);
}

static uint64_t entry_hash(const struct builder *builder, uint32_t index) {
  const struct order_range *range = &builder->plan->entries.items[index];
  return hash_of(range->storage, range->begin, range->end);
}

/* Doubles a table when it is half full of `count` items. */
static bool table_grow(const struct builder *builder, uint32_t **io_table, size_t *io_slots, size_t count,
                       uint64_t (*hash)(const struct builder *, uint32_t)) {
  if (2 * count < *io_slots) return true;
  size_t slots = *io_slots != 0 ? *io_slots * 2 : 64;
  uint32_t *table = block_take(slots, sizeof *table);
  if (table == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    size_t at = hash(builder, i) & (slots - 1);
    while (table[at] != 0) at = (at + 1) & (slots - 1);
    table[at] = i + 1;
  }
  block_return(*io_table);
  *io_table = table;
  *io_slots = slots;
  return true;
}

/* The tree of a storage, new at its first access. NULL: out of memory. */
struct pieces *builder_pieces(struct builder *builder, struct storage *storage) {
  if (!table_grow(builder, &builder->track_table, &builder->track_slots, builder->track_count, track_hash)) return NULL;
  size_t at = hash_of(storage, 0, 0) & (builder->track_slots - 1);
  while (builder->track_table[at] != 0) {
    struct track *track = &builder->tracks[builder->track_table[at] - 1];
    if (track->storage == storage) return &track->pieces;
    at = (at + 1) & (builder->track_slots - 1);
  }
  if (!builder_grow((void **)&builder->tracks, builder->track_count, &builder->track_capacity, sizeof *builder->tracks))
    return NULL;
  struct track *track = &builder->tracks[builder->track_count++];
  *track = (struct track){.storage = storage};
  builder->track_table[at] = (uint32_t)builder->track_count;
  return &track->pieces;
}

static bool entry_add(struct builder *builder, uint32_t node, const struct access *access, size_t begin, size_t end) {
  struct order_ranges *entries = &builder->plan->entries;
  struct storage *storage = access->allocation->storage;
  if (!table_grow(builder, &builder->entry_table, &builder->entry_slots, entries->count, entry_hash)) return false;
  size_t at = hash_of(storage, begin, end) & (builder->entry_slots - 1);
  struct order_range *range = NULL;
  while (range == NULL && builder->entry_table[at] != 0) {
    struct order_range *other = &entries->items[builder->entry_table[at] - 1];
    if (other->storage == storage && other->begin == begin && other->end == end)
      range = other;
    else
      at = (at + 1) & (builder->entry_slots - 1);
  }
  if (range == NULL) {
    if (!builder_grow((void **)&entries->items, entries->count, &entries->capacity, sizeof *entries->items)) return false;
    range = &entries->items[entries->count++];
    *range = (struct order_range){.storage = storage, .begin = begin, .end = end};
    builder->entry_table[at] = (uint32_t)entries->count;
  }
  uint32_t cell = cells_add(&entries->cells, node, access_kept(access->kind), range->list);
  if (cell == 0) return false;
  range->list = cell;
  range->cells++;
  return true;
}

/* --- recording --- */

static bool piece_split(struct builder *builder, struct piece_cursor *cursor, size_t at) {
  struct piece *lower = cursor_piece(cursor);
  size_t end = lower->end;
  cursor_advance(cursor);
  struct piece *upper = cursor_insert(cursor, &builder->arena, at, end);
  if (upper == NULL) return false;
  lower->end = at;
  return cells_copy(&builder->cells, lower->list, &upper->list);
}

/* A write of INFERRED: all that was there is ordered before it. */
static bool record_over(struct builder *builder, struct pieces *pieces, uint32_t node, size_t begin, size_t end) {
  struct piece_cursor cursor;
  pieces_find(pieces, begin, &cursor);
  struct piece *piece = cursor_piece(&cursor);
  if (piece != NULL && piece->begin < begin && !piece_split(builder, &cursor, begin)) return false;
  while ((piece = cursor_piece(&cursor)) != NULL && piece->end <= end) {
    cells_free(&builder->cells, piece->list);
    cursor_remove(&cursor, &builder->arena);
  }
  if (piece != NULL && piece->begin < end) piece->begin = end;
  piece = cursor_insert(&cursor, &builder->arena, begin, end);
  return piece != NULL && (piece->list = cells_add(&builder->cells, node, ACCESS_WRITE, 0)) != 0;
}

/* An atomic that stands for an older one of its lane takes over its failure as well. */
static bool atomic_follow(struct builder *builder, uint32_t node, uint32_t from) {
  if (from == node) return true;
  if (!builder_grow((void **)&builder->incoming, builder->incoming_count, &builder->incoming_capacity, sizeof *builder->incoming))
    return false;
  builder->incoming[builder->incoming_count++] = (struct incoming){from, node, true};
  builder->passed_on[from] = true;
  return true;
}

static bool piece_touch(struct builder *builder, struct piece *piece, uint32_t node, enum access_kind kind) {
  struct cells *cells = &builder->cells;
  uint16_t lane = builder->plan->lane[node];
  unsigned atomics = 0;
  bool replaced = false;
  uint32_t same = 0;
  for (uint32_t at = piece->list, *link = &piece->list; at != 0; at = *link) {
    struct cell *cell = &cells->items[at];
    bool mine = builder->plan->lane[cell->node] == lane;
    builder->plan->steps++;
    atomics += cell->kind == ACCESS_ATOMIC;
    if (mine && kind == ACCESS_WRITE && cell->kind != ACCESS_WRITE) {
      replaced |= cell->replaced || cell->node != node;
      *link = cell->next;
      cell->next = 0;
      cells_free(cells, at);
      continue;
    }
    if (mine && cell->kind == kind && (same == 0 || cells->items[same].node < cell->node)) same = at;
    link = &cell->next;
  }
  if (same != 0 && kind == ACCESS_ATOMIC && cells->items[same].node != node) {
    if (atomics < SINGLE_ATOMICS)
      same = 0;
    else if (!atomic_follow(builder, node, cells->items[same].node))
      return false;
  }
  if (same == 0) {
    uint32_t cell = cells_add(cells, node, kind, piece->list);
    if (cell == 0) return false;
    cells->items[cell].replaced = replaced;
    piece->list = cell;
    return true;
  }
  cells->items[same].replaced |= replaced || cells->items[same].node != node;
  cells->items[same].node = node;
  return true;
}

static bool same_cells(const struct builder *builder, const struct piece *one, const struct piece *other) {
  const struct cell *cells = builder->cells.items;
  unsigned ones = 0, others = 0;
  for (uint32_t at = one->list; at != 0; at = cells[at].next)
    if (++ones > COMPARED_CELLS) return false;
  for (uint32_t at = other->list; at != 0; at = cells[at].next)
    if (++others > ones) return false;
  if (ones != others) return false;
  for (uint32_t at = one->list; at != 0; at = cells[at].next) {
    uint32_t match = other->list;
    while (match != 0 && (cells[match].node != cells[at].node || cells[match].kind != cells[at].kind ||
                          cells[match].replaced != cells[at].replaced))
      match = cells[match].next;
    if (match == 0) return false;
  }
  return true;
}

/* Pieces that became equal are one again, or many small reads would stay for ever. */
static void pieces_join(struct builder *builder, struct pieces *pieces, size_t begin, size_t end) {
  struct piece_cursor cursor;
  pieces_find(pieces, begin != 0 ? begin - 1 : 0, &cursor);
  for (struct piece *piece = cursor_piece(&cursor); piece != NULL && piece->begin < end; piece = cursor_piece(&cursor)) {
    cursor_advance(&cursor);
    struct piece *next = cursor_piece(&cursor);
    while (next != NULL && next->begin == piece->end && same_cells(builder, piece, next)) {
      piece->end = next->end;
      cells_free(&builder->cells, next->list);
      cursor_remove(&cursor, &builder->arena);
      next = cursor_piece(&cursor);
    }
  }
}

static bool record_beside(struct builder *builder, struct pieces *pieces, uint32_t node, size_t begin, size_t end,
                          enum access_kind kind) {
  struct piece_cursor cursor;
  pieces_find(pieces, begin, &cursor);
  for (size_t at = begin; at < end;) {
    struct piece *piece = cursor_piece(&cursor);
    if (piece == NULL || piece->begin > at) {
      piece = cursor_insert(&cursor, &builder->arena, at, piece == NULL || piece->begin > end ? end : piece->begin);
      if (piece == NULL) return false;
    }
    if (piece->begin < at) {
      if (!piece_split(builder, &cursor, at)) return false;
      piece = cursor_piece(&cursor);
    }
    if (piece->end > end) {
      struct piece_cursor upper = cursor;
      if (!piece_split(builder, &upper, end)) return false;
    }
    if (!piece_touch(builder, piece, node, kind)) return false;
    at = piece->end;
    cursor_advance(&cursor);
  }
  pieces_join(builder, pieces, begin, end);
  return true;
}

/* Whether each byte was written before by somebody whom the node follows: then nothing outside matters to it directly. */
static bool covered(const struct builder *builder, struct pieces *pieces, uint32_t node, size_t begin, size_t end) {
  const uint32_t *order = builder->order + (size_t)node * builder->stride;
  struct piece_cursor cursor;
  pieces_find(pieces, begin, &cursor);
  size_t at = begin;
  for (struct piece *piece = cursor_piece(&cursor); piece != NULL && piece->begin <= at && at < end; piece = piece->next[0]) {
    bool found = false;
    for (uint32_t c = piece->list; c != 0 && !found; c = builder->cells.items[c].next) {
      const struct cell *cell = &builder->cells.items[c];
      found = cell->kind == ACCESS_WRITE && order[builder->plan->lane[cell->node]] > cell->node;
    }
    if (!found) return false;
    at = piece->end;
  }
  return at >= end;
}

bool builder_record(struct builder *builder, uint32_t node) {
  const struct task *task = &builder->nodes[node].task;
  for (unsigned i = 0; i < task->access_count && !task->opaque; i++) {
    const struct access *access = &task->accesses[i];
    if (access->bytes == 0) continue;
    struct pieces *pieces = builder_pieces(builder, access->allocation->storage);
    size_t begin = access_begin(access), end = begin + access->bytes;
    enum access_kind kind = access_kept(access->kind);
    if (pieces == NULL) return false;
    if (!covered(builder, pieces, node, begin, end) && !entry_add(builder, node, access, begin, end)) return false;
    bool over = builder->options->order == GRAPH_INFERRED && kind == ACCESS_WRITE;
    if (over ? !record_over(builder, pieces, node, begin, end)
             : !record_beside(builder, pieces, node, begin, end, kind))
      return false;
  }
  return true;
}

/* Writes before what came after them: a frontier takes a write as newer than the reads of its lane. */
static uint32_t writes_first(struct cells *cells, uint32_t list) {
  uint32_t writes = 0, others = 0;
  for (uint32_t at = list, next; at != 0; at = next) {
    next = cells->items[at].next;
    uint32_t *head = cells->items[at].kind == ACCESS_WRITE ? &writes : &others;
    cells->items[at].next = *head;
    *head = at;
  }
  uint32_t *link = &writes;
  while (*link != 0) link = &cells->items[*link].next;
  *link = others;
  return writes;
}

bool builder_exits(struct builder *builder) {
  struct order_ranges *exits = &builder->plan->exits;
  for (size_t i = 0; i < builder->track_count; i++)
    for (struct piece *piece = builder->tracks[i].pieces.first[0]; piece != NULL; piece = piece->next[0]) {
      if (!builder_grow((void **)&exits->items, exits->count, &exits->capacity, sizeof *exits->items)) return false;
      struct order_range *range = &exits->items[exits->count++];
      *range = (struct order_range){builder->tracks[i].storage, piece->begin, piece->end,
                                     writes_first(&builder->cells, piece->list), 0, false};
      for (uint32_t at = range->list; at != 0; at = builder->cells.items[at].next, range->cells++)
        range->written |= builder->cells.items[at].kind == ACCESS_WRITE;
    }
  exits->cells = builder->cells;
  builder->cells = (struct cells){0};
  return true;
}

