#include "engine/lane.h"

#include <stdlib.h>

struct lane *lane_chunk_create(void) {
  struct lane *chunk = calloc(LANES_A_CHUNK, sizeof *chunk);
  if (chunk == NULL) return NULL;
  for (uint32_t i = 0; i < LANES_A_CHUNK; i++) {
    atomic_init(&chunk[i].failed, UINT64_MAX);
    chunk[i].wanted = UINT64_MAX;
  }
  return chunk;
}

bool lane_table_add_locked(struct lane_table *table, struct lane *chunk) {
  if (table->count == LANES_MOST) return false;
  uint32_t first = table->count;
  for (uint32_t i = LANES_A_CHUNK; i > 0; i--) {
    chunk[i - 1].id = first + i - 1;
    chunk[i - 1].next_free = table->free;
    table->free = &chunk[i - 1];
  }
  table->count += LANES_A_CHUNK;
  /* release: a reader that finds the chunk finds its lanes initialised */
  atomic_store_explicit(&table->chunks[first / LANES_A_CHUNK], chunk, memory_order_release);
  return true;
}

struct lane *lane_take_locked(struct lane_table *table) {
  struct lane *lane = table->free;
  if (lane != NULL) table->free = lane->next_free;
  return lane;
}

void lane_return_locked(struct lane_table *table, struct lane *lane) {
  lane->use = LANE_OF_STREAM;
  lane->next_free = table->free;
  table->free = lane;
}

void lane_table_finish(struct lane_table *table) {
  for (uint32_t i = 0; i < LANE_CHUNKS; i++) {
    struct lane *chunk = atomic_load(&table->chunks[i]);
    if (chunk == NULL) continue;
    for (uint32_t k = 0; k < LANES_A_CHUNK; k++) free(chunk[k].ring);
    free(chunk);
    atomic_store(&table->chunks[i], NULL);
  }
}
