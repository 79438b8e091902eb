/* From an address to the range that holds it: disjoint byte ranges in address order, each with an owner.
 *
 * Two levels: a directory of blocks of up to ADDRESS_BLOCK ranges, each block sorted. Readers take no lock: they read
 * optimistically and look again if a writer was at work meanwhile (a sequence lock whose data are atomics). Writers
 * are serialised by the caller. Memory that a reader may still look at is freed only by address_map_finish. */
#ifndef HRX_MEMORY_ADDRESS_MAP_H
#define HRX_MEMORY_ADDRESS_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { ADDRESS_BLOCK = 64 };

struct address_block {
  _Atomic uint32_t count;
  struct address_block *next; /* in the free list or the list of all blocks: writers only */
  struct address_block *next_of_all;
  _Atomic uintptr_t begin[ADDRESS_BLOCK];
  _Atomic uintptr_t end[ADDRESS_BLOCK];
  _Atomic(void *) owner[ADDRESS_BLOCK];
};

struct address_directory {
  size_t capacity;
  struct address_directory *replaced; /* the smaller one before it, kept for late readers */
  struct {
    _Atomic uintptr_t begin; /* of the block's first range */
    _Atomic(struct address_block *) block;
  } rows[];
};

/* Zero-initialised is an empty map. */
struct address_map {
  _Atomic uint64_t version; /* odd while a writer is at work */
  _Atomic(struct address_directory *) directory;
  _Atomic size_t blocks;
  size_t ranges;
  struct address_block *free, *all;
};

/* Frees everything. No reader is left. */
void address_map_finish(struct address_map *map);

/* Adds [begin, end), which is not empty. O(log n) plus a move inside one block. Errors: INVALID/LIVE naming the range
 * that it overlaps; OUT_OF_MEMORY. The map is unchanged then. */
hrx_status address_map_insert(struct address_map *map, uintptr_t begin, uintptr_t end, void *owner);

/* Removes the range that begins at `begin`; false if there is none. */
bool address_map_remove(struct address_map *map, uintptr_t begin);

/* The owner of the range that holds `address`, or NULL. O(log n), lock-free, any thread. */
void *address_map_find(const struct address_map *map, uintptr_t address);

/* The owner of the range nearest to `address`, or NULL if the map is empty. Serialised with writers. */
void *address_map_nearest(const struct address_map *map, uintptr_t address);

/* Calls `visit` for each owner in address order. Serialised with writers. */
void address_map_visit(const struct address_map *map, void (*visit)(void *owner, void *context), void *context);

#endif
