/* A graph under construction: what the files that find its order share. */
#ifndef HRX_ENGINE_GRAPH_BUILDER_H
#define HRX_ENGINE_GRAPH_BUILDER_H

#include "engine/graph_order.h"

struct candidate {
  uint32_t from;
  bool passes, inferred, given;
};

/* An edge under construction, in the order of its end. */
struct incoming {
  uint32_t from, to;
  bool passes;
};

struct track {
  struct storage *storage;
  struct pieces pieces;
};

struct builder {
  const struct graph_options *options;
  const struct graph_node *nodes;
  struct graph_plan *plan;
  uint32_t count, stride;
  unsigned lanes_most[LANE_CLASSES], lanes_used[LANE_CLASSES];
  uint32_t *order, *passing; /* count x stride: node + 1 by lane */
  uint32_t *ancestors, *opaques;
  uint32_t *chain;     /* the first node of its lane from which each failure passes on up to this one */
  uint32_t *mark;      /* where in the candidates a node stands */
  bool *passed_on;     /* some later node takes this one's failure */
  uint32_t opaque_end; /* INFERRED: the newest opaque node, plus 1 */
  struct candidate *candidates;
  size_t candidate_count, candidate_capacity;
  struct incoming *incoming;
  size_t incoming_count, incoming_capacity;
  struct track *tracks;
  size_t track_count, track_capacity;
  uint32_t *track_table, *entry_table; /* open addressing, index + 1 */
  size_t track_slots, entry_slots;
  struct cells cells; /* of the pieces */
  struct piece_arena arena;
};

static inline size_t access_begin(const struct access *access) { return access->allocation->storage_offset + access->offset; }

static inline uint32_t *row(const struct builder *builder, uint32_t *rows, uint32_t node) {
  return rows + (size_t)node * builder->stride;
}

/* graph_record.c: what of all nodes so far an access can meet. False, or NULL: out of memory. */
bool builder_grow(void **io_items, size_t count, size_t *io_capacity, size_t item_bytes); /* room for one more item */
struct pieces *builder_pieces(struct builder *builder, struct storage *storage);
bool builder_record(struct builder *builder, uint32_t node); /* enters the node's accesses; its order and lane are known */
bool builder_exits(struct builder *builder);

#endif
