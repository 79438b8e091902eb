#include "trace/dot.h"

#include "trace/escape.h"

static const char *shape_of(enum trace_kind kind) {
  switch (kind) {
  case TRACE_FILL: return "parallelogram";
  case TRACE_COPY: return "cds";
  case TRACE_KERNEL: return "box";
  case TRACE_HOST: return "ellipse";
  case TRACE_JOIN: return "point";
  case TRACE_DEVICE: return "component";
  }
  return "plaintext";
}

static const char *style_of(enum dot_edge_kind kind) {
  switch (kind) {
  case DOT_INFERRED: return "style=solid";
  case DOT_REDUCED: return "style=dotted, color=gray50, constraint=false";
  case DOT_EXPLICIT: return "style=bold, color=blue";
  }
  return "style=dashed";
}

void dot_write(FILE *file, const struct dot_graph *graph) {
  fputs("digraph ", file);
  dot_string_write(file, graph->name != NULL ? graph->name : "graph");
  fputs(" {\n", file);
  for (size_t i = 0; i < graph->node_count; i++) {
    const struct dot_node *node = &graph->nodes[i];
    fprintf(file, "  n%zu [shape=%s, label=", i, shape_of(node->kind));
    dot_string_write(file, node->label != NULL ? node->label : trace_kind_name(node->kind));
    fputs("];\n", file);
  }
  for (size_t i = 0; i < graph->edge_count; i++) {
    const struct dot_edge *edge = &graph->edges[i];
    if (edge->from >= graph->node_count || edge->to >= graph->node_count) continue;
    fprintf(file, "  n%zu -> n%zu [%s];\n", edge->from, edge->to, style_of(edge->kind));
  }
  fputs("}\n", file);
}
