/* Byte pieces of a storage in address order, each with lists of graph nodes: what preparing a graph keeps while it looks for
 * conflicts. A skip list: finding a place costs the logarithm of the pieces, stepping from there nothing more.
 *
 * Not thread-safe; all memory comes from one arena, freed at once. */
#ifndef HRX_ENGINE_PIECES_H
#define HRX_ENGINE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

enum { PIECE_HEIGHTS = 12 };

/* One access of a node in a list; lists are linked by index, 0 ends one. */
struct cell {
  uint32_t node, next;
  uint8_t kind;  /* READ, WRITE or ATOMIC */
  bool replaced; /* stands for an earlier access of its lane too */
};

struct cells {
  struct cell *items;
  uint32_t count, free; /* item 0 is unused */
  size_t capacity;
};

struct piece {
  size_t begin, end;
  uint32_t list; /* of cells: the newest accesses of each lane */
  uint8_t height;
  struct piece *next[];
};

struct pieces {
  struct piece *first[PIECE_HEIGHTS];
};

struct piece_arena {
  struct piece_block *blocks;
  size_t left;
  char *at;
  struct piece *free[PIECE_HEIGHTS + 1];
  uint64_t random;
};

/* A place in the list: the links to whatever comes next, on every level. */
struct piece_cursor {
  struct piece **link[PIECE_HEIGHTS];
};

/* At the first piece that ends behind `begin`. */
void pieces_find(struct pieces *pieces, size_t begin, struct piece_cursor *out_cursor);

static inline struct piece *cursor_piece(const struct piece_cursor *cursor) { return *cursor->link[0]; }
void cursor_advance(struct piece_cursor *cursor);

/* Inserts before the cursor's piece; the cursor then stands at the new one. NULL: out of memory. */
struct piece *cursor_insert(struct piece_cursor *cursor, struct piece_arena *arena, size_t begin, size_t end);

/* Takes the cursor's piece out. The cursor then stands at the next. */
void cursor_remove(struct piece_cursor *cursor, struct piece_arena *arena);

void piece_arena_finish(struct piece_arena *arena);

/* A new cell at the head of a list. 0: out of memory. */
uint32_t cells_add(struct cells *cells, uint32_t node, enum access_kind kind, uint32_t next);

/* A copy of a list, for a piece that is cut in two. False: out of memory. */
bool cells_copy(struct cells *cells, uint32_t list, uint32_t *out_list);

/* The whole list becomes free again. */
void cells_free(struct cells *cells, uint32_t list);
void cells_finish(struct cells *cells);

#endif
