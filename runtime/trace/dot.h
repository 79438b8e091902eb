/* A graph as Graphviz DOT: nodes with a shape for each kind, edges with a style for each origin. */
#ifndef HRX_TRACE_DOT_H
#define HRX_TRACE_DOT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/ring.h"

enum dot_edge_kind {
  DOT_INFERRED, /* solid: found from what the nodes read and write */
  DOT_REDUCED,  /* dotted and grey: found, but other edges already say it; does not move nodes */
  DOT_EXPLICIT  /* bold and blue: from the caller */
};

struct dot_node {
  const char *label; /* any bytes; NULL: the kind's name */
  enum trace_kind kind;
};

struct dot_edge {
  size_t from, to; /* indices of nodes */
  enum dot_edge_kind kind;
};

struct dot_graph {
  const char *name; /* any bytes; NULL: "graph" */
  const struct dot_node *nodes;
  size_t node_count;
  const struct dot_edge *edges;
  size_t edge_count;
};

/* Edges to nodes that are not there are left out. Any thread. */
void dot_write(FILE *file, const struct dot_graph *graph);

#endif
