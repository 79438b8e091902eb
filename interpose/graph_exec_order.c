/* From a graph as the program made it to the order of its executable copy. */
#include <stdlib.h>

#include "interpose/graph_exec.h"

/* Nodes so that edges point forward, in the order of creation where they leave a choice. How many come out: fewer than there
 * are if the edges have a cycle. */
static uint32_t nodes_sort(const struct node_list *nodes, struct hipGraphNode **order) {
  uint32_t done = 0, filled = 0;
  for (size_t i = 0; i < nodes->count; i++) nodes->nodes[i]->mark = nodes->nodes[i]->dependencies.count;
  for (size_t i = 0; i < nodes->count; i++)
    if (nodes->nodes[i]->mark == 0) order[filled++] = nodes->nodes[i];
  while (done < filled) {
    const struct hipGraphNode *node = order[done++];
    for (size_t d = 0; d < node->dependents.count; d++)
      if (--node->dependents.nodes[d]->mark == 0) order[filled++] = node->dependents.nodes[d];
  }
  return filled;
}

static bool ordered_by_data(const struct hipGraphNode *node) {
  return node->type != hipGraphNodeTypeKernel && node->type != hipGraphNodeTypeHost;
}

/* An opaque node needs a lane of its own only if others have gone on behind all that it follows. The first dependent of a node
 * finds the node at its lane's end, so at most the others need one. A node that is ordered by data may follow nothing at all. */
static size_t lanes_count(const struct exec_order *order) {
  size_t lanes = 0;
  for (uint32_t i = 0; i < order->count; i++) {
    const struct hipGraphNode *node = order->nodes[i];
    lanes += node->dependencies.count == 0 || ordered_by_data(node);
    if (node->dependents.count > 1) lanes += node->dependents.count - 1;
  }
  return lanes;
}

hipError_t exec_order_make(const struct ihipGraph *graph, struct exec_order *out_order) {
  *out_order = (struct exec_order){0};
  size_t count = graph->nodes.count;
  struct hipGraphNode **nodes = count < UINT32_MAX ? malloc((count + 1) * sizeof(*nodes)) : NULL;
  if (nodes == NULL) return hipErrorOutOfMemory;
  out_order->nodes = nodes;
  out_order->count = nodes_sort(&graph->nodes, nodes);
  if (out_order->count != count) return hipErrorInvalidValue;
  for (uint32_t i = 0; i < out_order->count; i++) {
    nodes[i]->mark = i;
    out_order->edge_count += nodes[i]->dependencies.count;
  }
  size_t lanes = lanes_count(out_order);
  out_order->lanes = lanes < EXEC_LANES_MOST ? (unsigned)lanes : EXEC_LANES_MOST;
  return hipSuccess;
}

void exec_order_finish(struct exec_order *order) {
  free(order->nodes);
  order->nodes = NULL;
}
