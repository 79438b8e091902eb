/* The inner order of a graph: which node waits for which, on which lane it runs, and what of it others can see.
 *
 * Pure: nodes in, plain arrays out. The work is linear in nodes, edges and accesses, times the logarithm of the pieces of
 * a storage and the number of lanes. */
#ifndef HRX_ENGINE_GRAPH_ORDER_H
#define HRX_ENGINE_GRAPH_ORDER_H

#include "engine/graph.h"
#include "engine/pieces.h"

/* A node of another that waits for this one: its index, and whether a failure goes with it. */
struct order_edge {
  uint32_t to : 31;
  uint32_t passes : 1;
};

/* An edge as graph_edges tells it. */
struct order_kept {
  uint32_t from;
  uint32_t to : 30;
  uint32_t kind : 2;
};

/* A byte range of a storage, and the nodes concerned. */
struct order_range {
  struct storage *storage;
  size_t begin, end;
  uint32_t list, cells; /* the first, and how many */
  bool written; /* every byte is written by somebody who waited for all that was outside */
};

struct order_ranges {
  struct order_range *items;
  size_t count, capacity;
  struct cells cells;
};

struct order_lane {
  unsigned lane_class;
  uint32_t count; /* nodes on it */
  uint32_t tail;  /* the newest, plus 1 */
};

struct graph_plan {
  uint32_t count, lane_count;
  struct order_lane *lanes;
  uint16_t *lane;      /* of each node */
  uint32_t *position;  /* on its lane, from 1 */
  uint32_t *pending;   /* how many edges end there */
  uint32_t *first;     /* count + 1: where a node's edges begin */
  struct order_edge *edges;
  struct order_kept *kept;
  size_t kept_count, kept_capacity;
  struct order_ranges entries; /* accesses that something outside may have to come before: distinct ranges */
  struct order_ranges exits;   /* accesses that something later may have to follow: disjoint ranges */
  uint64_t inferred, reduced, explicit_edges;
  uint64_t steps; /* pieces, cells and edges looked at: the measure of "linear" */
};

/* Fills in the plan. Accesses have been checked. Errors: INVALID/ORDER, OUT_OF_MEMORY (the plan is empty then). */
hrx_status graph_plan_make(const struct graph_options *options, const struct graph_node *nodes, uint32_t count,
                           struct graph_plan *out_plan);
void graph_plan_finish(struct graph_plan *plan);

/* Bytes that it holds. */
size_t graph_plan_bytes(const struct graph_plan *plan);

#endif
