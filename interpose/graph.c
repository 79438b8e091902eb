#include "interpose/graph.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/handle.h"

bool node_list_add(struct node_list *list, struct hipGraphNode *node) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity != 0 ? list->capacity * 2 : 4;
    struct hipGraphNode **nodes = realloc(list->nodes, capacity * sizeof *nodes);
    if (nodes == NULL) return false;
    list->nodes = nodes;
    list->capacity = capacity;
  }
  list->nodes[list->count++] = node;
  return true;
}

bool node_list_has(const struct node_list *list, const struct hipGraphNode *node) {
  for (size_t i = 0; i < list->count; i++)
    if (list->nodes[i] == node) return true;
  return false;
}

static void node_list_drop(struct node_list *list, const struct hipGraphNode *node) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->nodes[i] != node) continue;
    memmove(&list->nodes[i], &list->nodes[i + 1], (list->count - i - 1) * sizeof *list->nodes);
    list->count--;
    return;
  }
}

void node_list_finish(struct node_list *list) {
  free(list->nodes);
  *list = (struct node_list){0};
}

hipError_t graph_create(struct ihipGraph **out_graph) {
  struct hip_device *device = NULL;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  struct ihipGraph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) return hipErrorOutOfMemory;
  graph->device = device;
  if (handle_add(graph, HANDLE_GRAPH) != HRX_OK) {
    free(graph);
    return hipErrorOutOfMemory;
  }
  *out_graph = graph;
  return hipSuccess;
}

static void node_release(struct hipGraphNode *node) {
  handle_remove(node, HANDLE_GRAPH_NODE);
  node_content_finish(node);
  node_list_finish(&node->dependencies);
  node_list_finish(&node->dependents);
  free(node);
}

void hip_graph_release(struct ihipGraph *graph) {
  if (graph == NULL) return;
  handle_remove(graph, HANDLE_GRAPH);
  for (size_t i = 0; i < graph->nodes.count; i++) node_release(graph->nodes.nodes[i]);
  node_list_finish(&graph->nodes);
  free(graph);
}

static bool edge_add(struct hipGraphNode *from, struct hipGraphNode *to) {
  if (!node_list_add(&from->dependents, to)) return false;
  if (node_list_add(&to->dependencies, from)) return true;
  from->dependents.count--;
  return false;
}

static void edge_remove(struct hipGraphNode *from, struct hipGraphNode *to) {
  node_list_drop(&from->dependents, to);
  node_list_drop(&to->dependencies, from);
}

void graph_node_remove(struct hipGraphNode *node) {
  struct ihipGraph *graph = node->graph;
  while (node->dependencies.count != 0) edge_remove(node->dependencies.nodes[node->dependencies.count - 1], node);
  while (node->dependents.count != 0) edge_remove(node, node->dependents.nodes[node->dependents.count - 1]);
  node_list_drop(&graph->nodes, node);
  for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.nodes[i]->index = i;
  node_release(node);
}

static hipError_t dependencies_check(struct ihipGraph *graph, struct hipGraphNode *const *dependencies, size_t count) {
  if (!handle_live(graph, HANDLE_GRAPH)) return hipErrorInvalidValue;
  if (count > 0 && dependencies == NULL) return hipErrorInvalidValue;
  for (size_t i = 0; i < count; i++) {
    if (!handle_live(dependencies[i], HANDLE_GRAPH_NODE) || dependencies[i]->graph != graph) return hipErrorInvalidValue;
    dependencies[i]->mark = 0;
  }
  for (size_t i = 0; i < count; i++)
    if (dependencies[i]->mark++ != 0) return hipErrorInvalidValue;
  return hipSuccess;
}

hipError_t graph_node_add(struct ihipGraph *graph, hipGraphNodeType type, struct hipGraphNode *const *dependencies,
                          size_t count, struct hipGraphNode **out_node) {
  hipError_t error = dependencies_check(graph, dependencies, count);
  if (error != hipSuccess) return error;
  static _Atomic uint64_t ids;
  struct hipGraphNode *node = calloc(1, sizeof *node);
  if (node == NULL) return hipErrorOutOfMemory;
  node->id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
  node->type = type;
  node->graph = graph;
  node->index = graph->nodes.count;
  if (!node_list_add(&graph->nodes, node)) {
    free(node);
    return hipErrorOutOfMemory;
  }
  bool whole = handle_add(node, HANDLE_GRAPH_NODE) == HRX_OK;
  for (size_t i = 0; whole && i < count; i++) whole = edge_add(dependencies[i], node);
  if (!whole) {
    graph_node_remove(node);
    return hipErrorOutOfMemory;
  }
  *out_node = node;
  return hipSuccess;
}

hipGraphNodeType node_type_shown(const struct hipGraphNode *node) {
  if (state_hip_version() < 6) return node->type;
  switch (node->type) {
  case hipGraphNodeTypeMemcpy1D: return (hipGraphNodeType)1;
  case hipGraphNodeTypeMemcpyFromSymbol: return (hipGraphNodeType)12;
  case hipGraphNodeTypeMemcpyToSymbol: return (hipGraphNodeType)13;
  default: return (hipGraphNodeType)(node->type - 1);
  }
}

hipError_t entry_hipGraphCreate(hipGraph_t *graph, unsigned flags) {
  ENTRY_RETURN(hipGraphCreate, graph == NULL || flags != 0 ? hipErrorInvalidValue : graph_create(graph));
}

hipError_t entry_hipGraphDestroy(hipGraph_t graph) {
  bool live = handle_live(graph, HANDLE_GRAPH);
  if (live) hip_graph_release(graph);
  ENTRY_RETURN(hipGraphDestroy, live ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphDestroyNode(hipGraphNode_t node) {
  bool live = handle_live(node, HANDLE_GRAPH_NODE);
  if (live) graph_node_remove(node);
  ENTRY_RETURN(hipGraphDestroyNode, live ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t edges_check(struct ihipGraph *graph, const hipGraphNode_t *from, const hipGraphNode_t *to, size_t count) {
  if (!handle_live(graph, HANDLE_GRAPH) || (count > 0 && (from == NULL || to == NULL))) return hipErrorInvalidValue;
  for (size_t i = 0; i < count; i++) {
    if (!handle_live(from[i], HANDLE_GRAPH_NODE) || !handle_live(to[i], HANDLE_GRAPH_NODE)) return hipErrorInvalidValue;
    if (from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i]) return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t entry_hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                         size_t count) {
  hipError_t error = edges_check(graph, from, to, count);
  for (size_t i = 0; error == hipSuccess && i < count; i++)
    if (node_list_has(&from[i]->dependents, to[i])) error = hipErrorInvalidValue;
  size_t added = 0;
  while (error == hipSuccess && added < count) {
    /* the list itself may name an edge twice */
    if (node_list_has(&from[added]->dependents, to[added])) error = hipErrorInvalidValue;
    else if (!edge_add(from[added], to[added])) error = hipErrorOutOfMemory;
    else added++;
  }
  if (error != hipSuccess)
    while (added-- > 0) edge_remove(from[added], to[added]);
  ENTRY_RETURN(hipGraphAddDependencies, error);
}

hipError_t entry_hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                            size_t count) {
  hipError_t error = edges_check(graph, from, to, count);
  for (size_t i = 0; error == hipSuccess && i < count; i++)
    if (!node_list_has(&from[i]->dependents, to[i])) error = hipErrorInvalidValue;
  for (size_t i = 0; error == hipSuccess && i < count; i++) edge_remove(from[i], to[i]);
  ENTRY_RETURN(hipGraphRemoveDependencies, error);
}

/* HIP's way of returning lists: NULL asks for the count; a longer buffer is padded with NULL, a shorter one filled. */
static void list_write(const struct node_list *list, hipGraphNode_t *nodes, size_t *io_count) {
  if (nodes != NULL)
    for (size_t i = 0; i < *io_count; i++) nodes[i] = i < list->count ? list->nodes[i] : NULL;
  if (nodes == NULL || *io_count > list->count) *io_count = list->count;
}

hipError_t entry_hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  bool valid = count != NULL && handle_live(graph, HANDLE_GRAPH);
  if (valid) list_write(&graph->nodes, nodes, count);
  ENTRY_RETURN(hipGraphGetNodes, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
  if (count == NULL || !handle_live(graph, HANDLE_GRAPH)) ENTRY_RETURN(hipGraphGetRootNodes, hipErrorInvalidValue);
  struct node_list roots = {0};
  bool whole = true;
  for (size_t i = 0; whole && i < graph->nodes.count; i++)
    if (graph->nodes.nodes[i]->dependencies.count == 0) whole = node_list_add(&roots, graph->nodes.nodes[i]);
  if (whole) list_write(&roots, nodes, count);
  node_list_finish(&roots);
  ENTRY_RETURN(hipGraphGetRootNodes, whole ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t entry_hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to, size_t *count) {
  if (count == NULL || !handle_live(graph, HANDLE_GRAPH) || (from == NULL) != (to == NULL))
    ENTRY_RETURN(hipGraphGetEdges, hipErrorInvalidValue);
  size_t found = 0;
  for (size_t i = 0; i < graph->nodes.count; i++) {
    struct hipGraphNode *node = graph->nodes.nodes[i];
    for (size_t d = 0; d < node->dependents.count; d++, found++) {
      if (from == NULL || found >= *count) continue;
      from[found] = node;
      to[found] = node->dependents.nodes[d];
    }
  }
  for (size_t i = found; from != NULL && i < *count; i++) from[i] = to[i] = NULL;
  if (from == NULL || *count > found) *count = found;
  ENTRY_RETURN(hipGraphGetEdges, hipSuccess);
}

hipError_t entry_hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *dependencies, size_t *count) {
  bool valid = count != NULL && handle_live(node, HANDLE_GRAPH_NODE);
  if (valid) list_write(&node->dependencies, dependencies, count);
  ENTRY_RETURN(hipGraphNodeGetDependencies, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t *dependents, size_t *count) {
  bool valid = count != NULL && handle_live(node, HANDLE_GRAPH_NODE);
  if (valid) list_write(&node->dependents, dependents, count);
  ENTRY_RETURN(hipGraphNodeGetDependentNodes, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type) {
  CALLER_NOTE();
  bool valid = type != NULL && handle_live(node, HANDLE_GRAPH_NODE);
  if (valid) *type = node_type_shown(node);
  ENTRY_RETURN(hipGraphNodeGetType, valid ? hipSuccess : hipErrorInvalidValue);
}
