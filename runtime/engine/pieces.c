#include "engine/pieces.h"

#include "base/block.h"

enum { BLOCK_BYTES = 16000 };

struct piece_block {
  struct piece_block *next;
  _Alignas(16) char bytes[BLOCK_BYTES];
};

void pieces_find(struct pieces *pieces, size_t begin, struct piece_cursor *out_cursor) {
  struct piece **links = pieces->first;
  for (int level = PIECE_HEIGHTS - 1; level >= 0; level--) {
    while (links[level] != NULL && links[level]->end <= begin) links = links[level]->next;
    out_cursor->link[level] = &links[level];
  }
}

void cursor_advance(struct piece_cursor *cursor) {
  struct piece *piece = cursor_piece(cursor);
  for (int level = 0; level < piece->height; level++) cursor->link[level] = &piece->next[level];
}

static uint8_t height_pick(struct piece_arena *arena) {
  arena->random = arena->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
  uint64_t bits = arena->random >> 33;
  uint8_t height = 1;
  for (; height < PIECE_HEIGHTS && (bits & 3) == 0; bits >>= 2) height++;
  return height;
}

static struct piece *piece_new(struct piece_arena *arena, uint8_t height) {
  struct piece *piece = arena->free[height];
  if (piece != NULL) {
    arena->free[height] = piece->next[0];
    return piece;
  }
  size_t bytes = sizeof *piece + height * sizeof piece->next[0];
  if (arena->left < bytes) {
    struct piece_block *block = block_take_unset(1, sizeof *block);
    if (block == NULL) return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = block->bytes;
    arena->left = sizeof block->bytes;
  }
  piece = (struct piece *)(void *)arena->at;
  arena->at += bytes;
  arena->left -= bytes;
  return piece;
}

struct piece *cursor_insert(struct piece_cursor *cursor, struct piece_arena *arena, size_t begin, size_t end) {
  uint8_t height = height_pick(arena);
  struct piece *piece = piece_new(arena, height);
  if (piece == NULL) return NULL;
  *piece = (struct piece){.begin = begin, .end = end, .height = height};
  for (int level = 0; level < height; level++) {
    piece->next[level] = *cursor->link[level];
    *cursor->link[level] = piece;
  }
  return piece;
}

void cursor_remove(struct piece_cursor *cursor, struct piece_arena *arena) {
  struct piece *piece = cursor_piece(cursor);
  for (int level = 0; level < piece->height; level++) *cursor->link[level] = piece->next[level];
  piece->next[0] = arena->free[piece->height];
  arena->free[piece->height] = piece;
}

void piece_arena_finish(struct piece_arena *arena) {
  while (arena->blocks != NULL) {
    struct piece_block *block = arena->blocks;
    arena->blocks = block->next;
    block_return(block);
  }
  *arena = (struct piece_arena){0};
}

uint32_t cells_add(struct cells *cells, uint32_t node, enum access_kind kind, uint32_t next) {
  uint32_t at = cells->free;
  if (at != 0) {
    cells->free = cells->items[at].next;
  } else {
    if (cells->count == UINT32_MAX ||
        !block_grow((void **)&cells->items, cells->items != NULL ? (size_t)cells->count + 1 : 0, &cells->capacity,
                    (size_t)cells->count + 2, sizeof *cells->items))
      return 0;
    at = ++cells->count;
  }
  cells->items[at] = (struct cell){.node = node, .next = next, .kind = (uint8_t)kind};
  return at;
}

bool cells_copy(struct cells *cells, uint32_t list, uint32_t *out_list) {
  uint32_t copy = 0;
  for (uint32_t at = list; at != 0; at = cells->items[at].next) {
    uint32_t fresh = cells_add(cells, cells->items[at].node, (enum access_kind)cells->items[at].kind, copy);
    if (fresh == 0) {
      cells_free(cells, copy);
      return false;
    }
    cells->items[fresh].replaced = cells->items[at].replaced;
    copy = fresh;
  }
  *out_list = copy;
  return true;
}

void cells_free(struct cells *cells, uint32_t list) {
  while (list != 0) {
    uint32_t next = cells->items[list].next;
    cells->items[list].next = cells->free;
    cells->free = list;
    list = next;
  }
}

void cells_finish(struct cells *cells) {
  block_return(cells->items);
  *cells = (struct cells){0};
}
