#include "memory/address_map.h"

#include <stdlib.h>
#include <string.h>

/* Ordering: a writer makes `version` odd, stores the data (release), makes it even (release). A reader loads it, loads
 * the data (acquire), loads it again. A reader that saw any store of a writer synchronises with that store and
 * therefore sees the odd version on its second look. Acquire and release cost nothing on x86. */
#define LOAD(from) atomic_load_explicit(&(from), memory_order_acquire)
#define STORE(to, value) atomic_store_explicit(&(to), (value), memory_order_release)

static void write_begin(struct address_map *map) {
  /* relaxed load: only writers write it and they are serialised */
  uint64_t version = atomic_load_explicit(&map->version, memory_order_relaxed);
  STORE(map->version, version + 1);
}

static void write_end(struct address_map *map) {
  uint64_t version = atomic_load_explicit(&map->version, memory_order_relaxed);
  STORE(map->version, version + 1);
}

/* The last row whose begin is at most `address`, or SIZE_MAX. */
static size_t row_of(const struct address_directory *directory, size_t rows, uintptr_t address) {
  size_t low = 0, high = rows;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (LOAD(directory->rows[middle].begin) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/* The last range of the block whose begin is at most `address`, or UINT32_MAX. */
static uint32_t place_of(const struct address_block *block, uint32_t count, uintptr_t address) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (LOAD(block->begin[middle]) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/* One optimistic look. Everything it reads may be in the middle of a change, so every index is bounded by what was
 * allocated, not by what was read. */
static void *look(const struct address_map *map, uintptr_t address) {
  const struct address_directory *directory = LOAD(map->directory);
  if (directory == NULL) return NULL;
  size_t rows = LOAD(map->blocks);
  if (rows > directory->capacity) rows = directory->capacity;
  size_t row = row_of(directory, rows, address);
  if (row == SIZE_MAX) return NULL;
  const struct address_block *block = LOAD(directory->rows[row].block);
  if (block == NULL) return NULL;
  uint32_t count = LOAD(block->count);
  if (count > ADDRESS_BLOCK) count = ADDRESS_BLOCK;
  uint32_t place = place_of(block, count, address);
  if (place == UINT32_MAX || address >= LOAD(block->end[place])) return NULL;
  return LOAD(block->owner[place]);
}

void *address_map_find(const struct address_map *map, uintptr_t address) {
  for (;;) {
    uint64_t before = LOAD(map->version);
    if ((before & 1) == 0) {
      void *owner = look(map, address);
      if (LOAD(map->version) == before) return owner;
    }
    __builtin_ia32_pause();
  }
}

static struct address_block *block_take(struct address_map *map) {
  struct address_block *block = map->free;
  if (block != NULL) {
    map->free = block->next;
    return block;
  }
  block = calloc(1, sizeof *block);
  if (block != NULL) {
    block->next_of_all = map->all;
    map->all = block;
  }
  return block;
}

static bool directory_reserve(struct address_map *map, size_t rows) {
  struct address_directory *old = LOAD(map->directory);
  if (old != NULL && rows <= old->capacity) return true;
  size_t capacity = old == NULL ? 16 : old->capacity * 2;
  struct address_directory *grown = calloc(1, sizeof *grown + capacity * sizeof grown->rows[0]);
  if (grown == NULL) return false;
  grown->capacity = capacity;
  grown->replaced = old;
  size_t used = LOAD(map->blocks);
  for (size_t i = 0; i < used; i++) {
    STORE(grown->rows[i].begin, LOAD(old->rows[i].begin));
    STORE(grown->rows[i].block, LOAD(old->rows[i].block));
  }
  /* same contents: readers may use either */
  STORE(map->directory, grown);
  return true;
}

static void range_copy(struct address_block *to, uint32_t at, const struct address_block *from, uint32_t which) {
  STORE(to->begin[at], LOAD(from->begin[which]));
  STORE(to->end[at], LOAD(from->end[which]));
  STORE(to->owner[at], LOAD(from->owner[which]));
}

/* Puts `block` in as row `row`, inside a write. */
static void row_insert(struct address_map *map, size_t row, struct address_block *block) {
  struct address_directory *directory = LOAD(map->directory);
  size_t rows = LOAD(map->blocks);
  for (size_t i = rows; i > row; i--) {
    STORE(directory->rows[i].begin, LOAD(directory->rows[i - 1].begin));
    STORE(directory->rows[i].block, LOAD(directory->rows[i - 1].block));
  }
  STORE(directory->rows[row].begin, LOAD(block->begin[0]));
  STORE(directory->rows[row].block, block);
  STORE(map->blocks, rows + 1);
}

static void row_remove(struct address_map *map, size_t row) {
  struct address_directory *directory = LOAD(map->directory);
  size_t rows = LOAD(map->blocks);
  struct address_block *block = LOAD(directory->rows[row].block);
  for (size_t i = row; i + 1 < rows; i++) {
    STORE(directory->rows[i].begin, LOAD(directory->rows[i + 1].begin));
    STORE(directory->rows[i].block, LOAD(directory->rows[i + 1].block));
  }
  STORE(map->blocks, rows - 1);
  block->next = map->free;
  map->free = block;
}

static hrx_status overlap(uintptr_t begin, uintptr_t end, uintptr_t other_begin, uintptr_t other_end) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_LIVE, "the range %#zx to %#zx overlaps the known range %#zx to %#zx",
                         begin, end, other_begin, other_end);
}

/* Where a range that begins at `begin` belongs: row and place inside the row's block. The map is not empty. */
static void place_find(const struct address_map *map, uintptr_t begin, size_t *out_row, uint32_t *out_place) {
  const struct address_directory *directory = LOAD(map->directory);
  size_t row = row_of(directory, LOAD(map->blocks), begin);
  if (row == SIZE_MAX) {
    *out_row = 0;
    *out_place = 0;
    return;
  }
  const struct address_block *block = LOAD(directory->rows[row].block);
  *out_row = row;
  *out_place = place_of(block, LOAD(block->count), begin) + 1;
}

static hrx_status overlap_check(const struct address_map *map, size_t row, uint32_t place, uintptr_t begin,
                                uintptr_t end) {
  const struct address_directory *directory = LOAD(map->directory);
  const struct address_block *block = LOAD(directory->rows[row].block);
  if (place > 0 && LOAD(block->end[place - 1]) > begin)
    return overlap(begin, end, LOAD(block->begin[place - 1]), LOAD(block->end[place - 1]));
  if (place == LOAD(block->count)) { /* the next range begins the next block */
    if (row + 1 >= LOAD(map->blocks)) return HRX_OK;
    block = LOAD(directory->rows[row + 1].block);
    place = 0;
  }
  if (LOAD(block->begin[place]) < end) return overlap(begin, end, LOAD(block->begin[place]), LOAD(block->end[place]));
  return HRX_OK;
}

/* Moves the upper half of row `row` into a new block behind it, inside a write. */
static void block_split(struct address_map *map, size_t row, struct address_block *fresh) {
  struct address_directory *directory = LOAD(map->directory);
  struct address_block *block = LOAD(directory->rows[row].block);
  uint32_t count = LOAD(block->count), half = count / 2;
  for (uint32_t i = half; i < count; i++) range_copy(fresh, i - half, block, i);
  STORE(fresh->count, count - half);
  STORE(block->count, half);
  row_insert(map, row + 1, fresh);
}

static void range_insert(struct address_map *map, size_t row, uint32_t place, uintptr_t begin, uintptr_t end,
                         void *owner) {
  struct address_directory *directory = LOAD(map->directory);
  struct address_block *block = LOAD(directory->rows[row].block);
  uint32_t count = LOAD(block->count);
  for (uint32_t i = count; i > place; i--) range_copy(block, i, block, i - 1);
  STORE(block->begin[place], begin);
  STORE(block->end[place], end);
  STORE(block->owner[place], owner);
  STORE(block->count, count + 1);
  if (place == 0) STORE(directory->rows[row].begin, begin);
}

hrx_status address_map_insert(struct address_map *map, uintptr_t begin, uintptr_t end, void *owner) {
  size_t rows = LOAD(map->blocks), row = 0;
  uint32_t place = 0;
  struct address_block *fresh = NULL;
  if (rows > 0) {
    place_find(map, begin, &row, &place);
    hrx_status status = overlap_check(map, row, place, begin, end);
    if (status != HRX_OK) return status;
  }
  bool full = rows > 0 && LOAD(LOAD(LOAD(map->directory)->rows[row].block)->count) == ADDRESS_BLOCK;
  if (rows == 0 || full) {
    if (!directory_reserve(map, rows + 1) || (fresh = block_take(map)) == NULL)
      return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the address map's %zu ranges", map->ranges + 1);
  }

  write_begin(map);
  if (rows == 0) {
    STORE(fresh->count, 0);
    row_insert(map, 0, fresh);
  } else if (full) {
    block_split(map, row, fresh);
    if (place > ADDRESS_BLOCK / 2) {
      place -= ADDRESS_BLOCK / 2;
      row++;
    }
  }
  range_insert(map, row, place, begin, end, owner);
  write_end(map);
  map->ranges++;
  return HRX_OK;
}

bool address_map_remove(struct address_map *map, uintptr_t begin) {
  size_t row;
  uint32_t place;
  if (map->ranges == 0) return false;
  place_find(map, begin, &row, &place);
  struct address_directory *directory = LOAD(map->directory);
  struct address_block *block = LOAD(directory->rows[row].block);
  if (place == 0 || LOAD(block->begin[place - 1]) != begin) return false;
  place--;
  uint32_t count = LOAD(block->count);
  write_begin(map);
  for (uint32_t i = place; i + 1 < count; i++) range_copy(block, i, block, i + 1);
  STORE(block->count, count - 1);
  if (count == 1)
    row_remove(map, row);
  else if (place == 0)
    STORE(directory->rows[row].begin, LOAD(block->begin[0]));
  write_end(map);
  map->ranges--;
  return true;
}

void *address_map_nearest(const struct address_map *map, uintptr_t address) {
  if (map->ranges == 0) return NULL;
  size_t row;
  uint32_t place;
  place_find(map, address, &row, &place);
  const struct address_directory *directory = LOAD(map->directory);
  const struct address_block *block = LOAD(directory->rows[row].block);
  void *below = NULL, *above = NULL;
  uintptr_t below_distance = 0, above_distance = 0;
  if (place > 0) {
    below = LOAD(block->owner[place - 1]);
    uintptr_t end = LOAD(block->end[place - 1]);
    below_distance = address >= end ? address - end + 1 : 0;
  }
  if (place == LOAD(block->count)) {
    block = row + 1 < LOAD(map->blocks) ? LOAD(directory->rows[row + 1].block) : NULL;
    place = 0;
  }
  if (block != NULL) {
    above = LOAD(block->owner[place]);
    above_distance = LOAD(block->begin[place]) - address;
  }
  if (below == NULL) return above;
  if (above == NULL) return below;
  return above_distance < below_distance ? above : below;
}

void address_map_visit(const struct address_map *map, void (*visit)(void *owner, void *context), void *context) {
  const struct address_directory *directory = LOAD(map->directory);
  size_t rows = LOAD(map->blocks);
  for (size_t row = 0; row < rows; row++) {
    const struct address_block *block = LOAD(directory->rows[row].block);
    uint32_t count = LOAD(block->count);
    for (uint32_t i = 0; i < count; i++) visit(LOAD(block->owner[i]), context);
  }
}

void address_map_finish(struct address_map *map) {
  struct address_directory *directory = LOAD(map->directory);
  while (directory != NULL) {
    struct address_directory *replaced = directory->replaced;
    free(directory);
    directory = replaced;
  }
  while (map->all != NULL) {
    struct address_block *block = map->all;
    map->all = block->next_of_all;
    free(block);
  }
  memset(map, 0, sizeof *map);
}
