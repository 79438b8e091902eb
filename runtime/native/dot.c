/* An executable as Graphviz DOT. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native/executable.h"
#include "trace/dot.h"

struct edge_list {
  struct dot_edge *edges; /* NULL: only counting */
  size_t count;
};

static void edge_visit(uint32_t from, uint32_t to, enum graph_edge_kind kind, void *context) {
  static const enum dot_edge_kind kinds[] = {[GRAPH_EDGE_INFERRED] = DOT_INFERRED,
                                             [GRAPH_EDGE_REDUCED] = DOT_REDUCED,
                                             [GRAPH_EDGE_EXPLICIT] = DOT_EXPLICIT,
                                             [GRAPH_EDGE_EXPLICIT_REDUCED] = DOT_REDUCED};
  struct edge_list *list = context;
  if (list->edges != NULL) list->edges[list->count] = (struct dot_edge){from, to, kinds[kind]};
  list->count++;
}

static hrx_status file_write(const char *path, const struct dot_graph *graph) {
  FILE *file = fopen(path, "we");
  if (file == NULL) return hrx_fail(HRX_IO, "%s: %s", path, strerror(errno));
  dot_write(file, graph);
  bool failed = ferror(file) != 0;
  failed = fclose(file) != 0 || failed;
  return failed ? hrx_fail(HRX_IO, "%s: the graph could not be written", path) : HRX_OK;
}

hrx_status hrx_executable_write_dot(const hrx_executable *executable, const char *path) {
  static const enum trace_kind kinds[] = {[RECORD_FILL] = TRACE_FILL, [RECORD_COPY] = TRACE_COPY, [RECORD_GPU] = TRACE_KERNEL,
                                          [RECORD_NPU] = TRACE_DEVICE, [RECORD_HOST] = TRACE_HOST, [RECORD_JOIN] = TRACE_JOIN};
  if (path == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_executable_write_dot: NULL path");
  const struct record_list *list = &executable->list;
  struct edge_list counted = {0}, edges = {0};
  graph_edges(executable->graph, edge_visit, &counted);
  struct dot_node *nodes = malloc((list->count + 1) * sizeof *nodes);
  edges.edges = malloc((counted.count + 1) * sizeof *edges.edges);
  hrx_status status = nodes != NULL && edges.edges != NULL
                          ? HRX_OK
                          : hrx_fail(HRX_OUT_OF_MEMORY, "no memory to write %zu nodes and %zu edges", list->count, counted.count);
  if (status == HRX_OK) {
    graph_edges(executable->graph, edge_visit, &edges);
    for (size_t i = 0; i < list->count; i++)
      nodes[i] = (struct dot_node){record_label(&list->records[i]), kinds[list->records[i].kind]};
    struct dot_graph graph = {.nodes = nodes, .node_count = list->count, .edges = edges.edges, .edge_count = edges.count};
    status = file_write(path, &graph);
  }
  free(nodes);
  free(edges.edges);
  return status;
}
