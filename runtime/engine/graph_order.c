/* How the order is found. Nodes come one after the other. The newest accesses of each byte give the candidates of a node;
 * the newest first, a candidate that the kept ones imply is dropped. What a node is ordered after is one number a lane: the
 * newest node of the lane that is over before it starts, because lanes are in order.
 *
 * Failures need more care than order: they pass along edges only, never along lanes. So for each lane the newest node whose
 * failure reaches the node is kept, and for each node how far back on its lane the failures of all reach it; what these two
 * do not prove keeps its edge. */
#include "engine/graph_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "engine/frontier.h"

enum { LANES_A_CLASS = 256, COMPUTE_LANES = 4, SORT_SMALL = 16 };

static hrx_status no_memory(uint32_t count) {
  return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to prepare a graph of %u nodes", count);
}

/* --- candidates --- */

static bool candidate_add(struct builder *builder, uint32_t from, bool passes, bool inferred, bool given) {
  uint32_t at = builder->mark[from];
  if (at >= builder->candidate_count || builder->candidates[at].from != from) {
    if (!builder_grow((void **)&builder->candidates, builder->candidate_count, &builder->candidate_capacity,
              sizeof *builder->candidates))
      return false;
    at = builder->mark[from] = (uint32_t)builder->candidate_count++;
    builder->candidates[at] = (struct candidate){.from = from};
  }
  struct candidate *candidate = &builder->candidates[at];
  candidate->passes |= passes;
  candidate->inferred |= inferred;
  candidate->given |= given;
  return true;
}

static void raise_all(const struct builder *builder, uint32_t *to, const uint32_t *from) {
  for (uint32_t i = 0; i < builder->stride; i++)
    if (to[i] < from[i]) to[i] = from[i];
}

/* The caller's edges. In a closure they say who is an ancestor; else they are the waits. */
static hrx_status after_collect(struct builder *builder, uint32_t node) {
  const struct graph_node *self = &builder->nodes[node];
  bool closure = builder->options->order == GRAPH_CLOSURE;
  for (uint32_t i = 0; i < self->after_count; i++) {
    uint32_t from = self->after[i];
    if (from >= node)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ORDER, "node %u of a graph has an edge from node %u, which is not earlier",
                             node, from);
    bool seen = builder->mark[from] < builder->candidate_count && builder->candidates[builder->mark[from]].from == from;
    builder->plan->explicit_edges += !seen;
    builder->plan->steps++;
    if (!candidate_add(builder, from, !closure || self->task.opaque, false, true)) return no_memory(builder->count);
    if (!closure || seen) continue;
    uint16_t lane = builder->plan->lane[from];
    raise_all(builder, row(builder, builder->ancestors, node), row(builder, builder->ancestors, from));
    raise_all(builder, row(builder, builder->opaques, node), row(builder, builder->opaques, from));
    if (row(builder, builder->ancestors, node)[lane] <= from) row(builder, builder->ancestors, node)[lane] = from + 1;
    if (builder->nodes[from].task.opaque && row(builder, builder->opaques, node)[lane] <= from)
      row(builder, builder->opaques, node)[lane] = from + 1;
  }
  return HRX_OK;
}

/* Whom an opaque node follows, and the opaque ones that any node follows. */
static bool opaque_collect(struct builder *builder, uint32_t node) {
  bool opaque = builder->nodes[node].task.opaque, closure = builder->options->order == GRAPH_CLOSURE;
  for (uint32_t lane = 0; lane < builder->plan->lane_count; lane++) {
    uint32_t from = opaque && !closure ? builder->plan->lanes[lane].tail : 0;
    if (closure) from = row(builder, opaque ? builder->ancestors : builder->opaques, node)[lane];
    if (from != 0 && !candidate_add(builder, from - 1, true, true, false)) return false;
  }
  if (closure) return true;
  if (builder->opaque_end != 0 && !candidate_add(builder, builder->opaque_end - 1, true, true, false)) return false;
  for (uint32_t from = builder->opaque_end; opaque && from < node; from++, builder->plan->steps++)
    if (!builder->passed_on[from] && !candidate_add(builder, from, true, true, false)) return false;
  if (opaque) builder->opaque_end = node + 1;
  return true;
}

/* The node that stands for the cell in this node's order; UINT32_MAX: none does. */
static uint32_t cell_from(const struct builder *builder, uint32_t node, const struct cell *cell) {
  if (builder->options->order != GRAPH_CLOSURE) return cell->node;
  uint32_t ancestor = row(builder, builder->ancestors, node)[builder->plan->lane[cell->node]];
  if (ancestor > cell->node) return cell->node;
  return cell->replaced && ancestor != 0 ? ancestor - 1 : UINT32_MAX;
}

static bool conflicts_collect(struct builder *builder, uint32_t node, const struct access *access) {
  struct pieces *pieces = builder_pieces(builder, access->allocation->storage);
  if (pieces == NULL) return false;
  size_t begin = access_begin(access), end = begin + access->bytes;
  struct piece_cursor cursor;
  pieces_find(pieces, begin, &cursor);
  for (struct piece *piece = cursor_piece(&cursor); piece != NULL && piece->begin < end; piece = piece->next[0]) {
    builder->plan->steps++;
    for (uint32_t at = piece->list; at != 0; at = builder->cells.items[at].next) {
      const struct cell *cell = &builder->cells.items[at];
      builder->plan->steps++;
      if (!access_conflicts(access_kept(access->kind), (enum access_kind)cell->kind)) continue;
      uint32_t from = cell_from(builder, node, cell);
      if (from != UINT32_MAX && !candidate_add(builder, from, cell->kind != ACCESS_READ, true, false)) return false;
    }
  }
  return true;
}

/* --- reduction --- */

static int newer_first(const void *one, const void *other) {
  uint32_t a = ((const struct candidate *)one)->from, b = ((const struct candidate *)other)->from;
  return (a < b) - (a > b);
}

static void candidates_sort(struct builder *builder) {
  struct candidate *items = builder->candidates;
  if (builder->candidate_count > SORT_SMALL) {
    qsort(items, builder->candidate_count, sizeof *items, newer_first);
    return;
  }
  for (size_t i = 1; i < builder->candidate_count; i++) {
    struct candidate item = items[i];
    size_t at = i;
    for (; at > 0 && items[at - 1].from < item.from; at--) items[at] = items[at - 1];
    items[at] = item;
  }
}

/* Whether a failure of `from` is known to reach the node by the edges that are kept already. */
static bool passing_implied(const struct builder *builder, const uint32_t *passing, uint32_t from) {
  uint32_t reaching = passing[builder->plan->lane[from]];
  return reaching == from + 1 || (reaching > from + 1 && builder->chain[reaching - 1] <= from);
}

static bool kept_add(struct builder *builder, uint32_t node, const struct candidate *candidate, bool reduced) {
  struct graph_plan *plan = builder->plan;
  if (!builder->options->keep_edges) return true;
  if (!builder_grow((void **)&plan->kept, plan->kept_count, &plan->kept_capacity, sizeof *plan->kept)) return false;
  enum graph_edge_kind kind = reduced ? GRAPH_EDGE_REDUCED : GRAPH_EDGE_INFERRED;
  if (candidate->given) kind = reduced ? GRAPH_EDGE_EXPLICIT_REDUCED : GRAPH_EDGE_EXPLICIT;
  plan->kept[plan->kept_count++] = (struct order_kept){candidate->from, node & 0x3fffffff, (uint32_t)kind & 3};
  return true;
}

static bool candidates_reduce(struct builder *builder, uint32_t node) {
  struct graph_plan *plan = builder->plan;
  uint32_t *order = row(builder, builder->order, node), *passing = row(builder, builder->passing, node);
  candidates_sort(builder);
  for (size_t i = 0; i < builder->candidate_count; i++) {
    const struct candidate *candidate = &builder->candidates[i];
    uint32_t from = candidate->from;
    uint16_t lane = plan->lane[from];
    bool wait = candidate->inferred || builder->options->order == GRAPH_EXPLICIT;
    bool implied = !wait || order[lane] > from;
    bool passes = candidate->passes && !passing_implied(builder, passing, from);
    plan->steps++;
    plan->inferred += candidate->inferred;
    plan->reduced += implied && wait;
    if (!kept_add(builder, node, candidate, implied)) return false;
    if (implied && !passes) continue;
    if (!builder_grow((void **)&builder->incoming, builder->incoming_count, &builder->incoming_capacity,
              sizeof *builder->incoming))
      return false;
    builder->incoming[builder->incoming_count++] = (struct incoming){from, node, passes};
    raise_all(builder, order, row(builder, builder->order, from));
    if (order[lane] <= from) order[lane] = from + 1;
    if (!passes) continue;
    raise_all(builder, passing, row(builder, builder->passing, from));
    if (passing[lane] <= from) passing[lane] = from + 1;
    builder->passed_on[from] = true;
  }
  return true;
}

/* --- lanes --- */

static uint32_t lane_pick(const struct builder *builder, uint32_t node) {
  const struct graph_plan *plan = builder->plan;
  unsigned lane_class = builder->nodes[node].lane_class;
  for (size_t i = 0; i < builder->candidate_count; i++) {
    uint32_t from = builder->candidates[i].from, lane = plan->lane[from];
    bool wait = builder->candidates[i].inferred || builder->options->order == GRAPH_EXPLICIT;
    if (wait && plan->lanes[lane].lane_class == lane_class && plan->lanes[lane].tail == from + 1) return lane;
  }
  const uint32_t *order = builder->order + (size_t)node * builder->stride;
  uint32_t least = UINT32_MAX, free = UINT32_MAX;
  for (uint32_t lane = 0; lane < plan->lane_count; lane++) {
    if (plan->lanes[lane].lane_class != lane_class) continue;
    if (least == UINT32_MAX || plan->lanes[lane].count < plan->lanes[least].count) least = lane;
    /* behind a node that is over by then anyway, nothing is lost */
    if (order[lane] >= plan->lanes[lane].tail && (free == UINT32_MAX || plan->lanes[lane].count < plan->lanes[free].count))
      free = lane;
  }
  if (free != UINT32_MAX) return free;
  return builder->lanes_used[lane_class] < builder->lanes_most[lane_class] ? plan->lane_count : least;
}

static void lane_enter(struct builder *builder, uint32_t node) {
  struct graph_plan *plan = builder->plan;
  unsigned lane_class = builder->nodes[node].lane_class;
  uint32_t number = lane_pick(builder, node);
  struct order_lane *lane = &plan->lanes[number];
  if (number == plan->lane_count) {
    *lane = (struct order_lane){.lane_class = lane_class};
    plan->lane_count++;
    builder->lanes_used[lane_class]++;
  }
  plan->lane[node] = (uint16_t)number;
  builder->chain[node] = node;
  if (lane->tail != 0) {
    uint32_t *order = row(builder, builder->order, node);
    raise_all(builder, order, row(builder, builder->order, lane->tail - 1));
    if (order[number] < lane->tail) order[number] = lane->tail;
    if (row(builder, builder->passing, node)[number] == lane->tail) builder->chain[node] = builder->chain[lane->tail - 1];
  }
  lane->tail = node + 1;
  plan->position[node] = ++lane->count;
}

/* --- the whole --- */

static hrx_status node_place(struct builder *builder, uint32_t node) {
  const struct task *task = &builder->nodes[node].task;
  builder->candidate_count = 0;
  hrx_status status = HRX_OK;
  if (builder->options->order != GRAPH_INFERRED) status = after_collect(builder, node);
  if (status != HRX_OK) return status;
  bool done = true;
  if (builder->options->order != GRAPH_EXPLICIT) {
    done = opaque_collect(builder, node);
    for (unsigned i = 0; done && i < task->access_count && !task->opaque; i++)
      if (task->accesses[i].bytes != 0) done = conflicts_collect(builder, node, &task->accesses[i]);
  }
  done = done && candidates_reduce(builder, node);
  if (done) lane_enter(builder, node);
  return done && builder_record(builder, node) ? HRX_OK : no_memory(builder->count);
}

/* From edges by their end to edges by their beginning. */
static bool edges_turn(struct builder *builder) {
  struct graph_plan *plan = builder->plan;
  plan->edges = block_take_unset(builder->incoming_count + 1, sizeof *plan->edges);
  if (plan->edges == NULL) return false;
  for (size_t i = 0; i < builder->incoming_count; i++) {
    plan->pending[builder->incoming[i].to]++;
    plan->first[builder->incoming[i].from + 1]++;
  }
  for (uint32_t i = 0; i < plan->count; i++) plan->first[i + 1] += plan->first[i];
  uint32_t *next = builder->mark; /* no longer needed */
  memcpy(next, plan->first, plan->count * sizeof *next);
  for (size_t i = 0; i < builder->incoming_count; i++) {
    const struct incoming *edge = &builder->incoming[i];
    plan->edges[next[edge->from]++] = (struct order_edge){edge->to & INT32_MAX, edge->passes};
  }
  return true;
}

static hrx_status builder_init(struct builder *builder) {
  const struct graph_options *options = builder->options;
  for (uint32_t i = 0; i < builder->count; i++) {
    unsigned lane_class = builder->nodes[i].lane_class;
    if (lane_class >= LANE_CLASSES)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "node %u of a graph has lane class %u of %d", i, lane_class,
                             (int)LANE_CLASSES);
    unsigned most = options->lanes[lane_class] != 0 ? options->lanes[lane_class] : lane_class == LANE_COMPUTE ? COMPUTE_LANES : 1;
    if (builder->lanes_most[lane_class] < most && builder->lanes_most[lane_class] < LANES_A_CLASS) {
      builder->lanes_most[lane_class]++;
      builder->stride++;
    }
  }
  struct graph_plan *plan = builder->plan;
  size_t count = builder->count, cells = count * builder->stride;
  plan->lanes = block_take(builder->stride, sizeof *plan->lanes);
  plan->lane = block_take(count, sizeof *plan->lane);
  plan->position = block_take(count, sizeof *plan->position);
  plan->pending = block_take(count, sizeof *plan->pending);
  plan->first = block_take(count + 1, sizeof *plan->first);
  builder->order = block_take(cells, sizeof *builder->order);
  builder->passing = block_take(cells, sizeof *builder->passing);
  builder->chain = block_take(count, sizeof *builder->chain);
  builder->mark = block_take(count, sizeof *builder->mark);
  builder->passed_on = block_take(count, sizeof *builder->passed_on);
  bool done = plan->lanes != NULL && plan->lane != NULL && plan->position != NULL && plan->pending != NULL &&
              plan->first != NULL && builder->order != NULL && builder->passing != NULL && builder->chain != NULL &&
              builder->mark != NULL && builder->passed_on != NULL;
  if (done && options->order == GRAPH_CLOSURE) {
    builder->ancestors = block_take(cells, sizeof *builder->ancestors);
    builder->opaques = block_take(cells, sizeof *builder->opaques);
    done = builder->ancestors != NULL && builder->opaques != NULL;
  }
  return done ? HRX_OK : no_memory(builder->count);
}

static void builder_finish(struct builder *builder) {
  block_return(builder->order);
  block_return(builder->passing);
  block_return(builder->ancestors);
  block_return(builder->opaques);
  block_return(builder->chain);
  block_return(builder->mark);
  block_return(builder->passed_on);
  block_return(builder->candidates);
  block_return(builder->incoming);
  block_return(builder->tracks);
  block_return(builder->track_table);
  block_return(builder->entry_table);
  cells_finish(&builder->cells);
  piece_arena_finish(&builder->arena);
}

hrx_status graph_plan_make(const struct graph_options *options, const struct graph_node *nodes, uint32_t count,
                           struct graph_plan *out_plan) {
  *out_plan = (struct graph_plan){.count = count};
  struct builder builder = {.options = options, .nodes = nodes, .plan = out_plan, .count = count};
  hrx_status status = builder_init(&builder);
  for (uint32_t i = 0; status == HRX_OK && i < count; i++) status = node_place(&builder, i);
  if (status == HRX_OK && (!builder_exits(&builder) || !edges_turn(&builder))) status = no_memory(count);
  builder_finish(&builder);
  if (status != HRX_OK) graph_plan_finish(out_plan);
  return status;
}

void graph_plan_finish(struct graph_plan *plan) {
  block_return(plan->lanes);
  block_return(plan->lane);
  block_return(plan->position);
  block_return(plan->pending);
  block_return(plan->first);
  block_return(plan->edges);
  block_return(plan->kept);
  block_return(plan->entries.items);
  block_return(plan->exits.items);
  cells_finish(&plan->entries.cells);
  cells_finish(&plan->exits.cells);
  *plan = (struct graph_plan){0};
}

static size_t ranges_bytes(const struct order_ranges *ranges) {
  return ranges->capacity * sizeof *ranges->items + ranges->cells.capacity * sizeof *ranges->cells.items;
}

size_t graph_plan_bytes(const struct graph_plan *plan) {
  size_t a_node = sizeof *plan->lane + sizeof *plan->position + sizeof *plan->pending + sizeof *plan->first;
  size_t edges = plan->count != 0 ? plan->first[plan->count] : 0;
  return plan->count * a_node + plan->lane_count * sizeof *plan->lanes + edges * sizeof *plan->edges +
         plan->kept_capacity * sizeof *plan->kept + ranges_bytes(&plan->entries) + ranges_bytes(&plan->exits);
}
