/* Large blocks that graphs need while they live: kept for the next graph, because fresh pages cost more than preparing does. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph_state.h"

enum { BLOCKS_KEPT = 16 << 20, BLOCK_SMALL = 32 << 10 };

struct block {
  struct block *next;
  size_t bytes;
  _Alignas(16) char payload[];
};

void *block_take(struct engine *engine, size_t count, size_t item_bytes) {
  size_t bytes;
  if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > SIZE_MAX - sizeof(struct block)) return NULL;
  struct block *block = NULL;
  pthread_mutex_lock(&engine->lock);
  struct block **link = &engine->blocks;
  while (*link != NULL && ((*link)->bytes < bytes || (*link)->bytes / 2 > bytes)) link = &(*link)->next;
  if (*link != NULL) {
    block = *link;
    *link = block->next;
    engine->block_bytes -= block->bytes;
  }
  pthread_mutex_unlock(&engine->lock);
  if (block != NULL) {
    memset(block->payload, 0, bytes);
  } else {
    block = calloc(1, sizeof *block + bytes);
    if (block == NULL) return NULL;
    block->bytes = bytes;
  }
  return block->payload;
}

void block_return(struct engine *engine, void *payload) {
  if (payload == NULL) return;
  struct block *block = (struct block *)(void *)((char *)payload - offsetof(struct block, payload));
  pthread_mutex_lock(&engine->lock);
  bool keep = block->bytes > BLOCK_SMALL && block->bytes <= BLOCKS_KEPT - engine->block_bytes;
  if (keep) {
    engine->block_bytes += block->bytes;
    block->next = engine->blocks;
    engine->blocks = block;
  }
  pthread_mutex_unlock(&engine->lock);
  if (!keep) free(block);
}

void blocks_finish(struct engine *engine) {
  while (engine->blocks != NULL) {
    struct block *block = engine->blocks;
    engine->blocks = block->next;
    free(block);
  }
}
