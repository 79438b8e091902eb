/* Executable hipGraphs: a copy of the nodes, and one prepared graph of the engine that replays them.
 *
 * Order is GRAPH_CLOSURE over the program's edges: kernels and host functions are opaque, copies and fills say what they touch.
 * A launch is one run in a stream; the runs of one executable graph come one after the other, as HIP says, whatever their
 * streams. The nodes live as long as the prepared graph, which is until the last run is over. */
#ifndef HRX_INTERPOSE_GRAPH_EXEC_H
#define HRX_INTERPOSE_GRAPH_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/graph.h"
#include "interpose/graph.h"

struct exec_node {
  struct hipGraphNode content; /* without edges */
  _Atomic bool changed;        /* its content is not what the prepared graph was made of */
};

struct hipGraphExec {
  struct graph *graph;     /* owns all of this */
  pthread_mutex_t lock;    /* of the nodes' contents; nothing is waited for under it */
  struct exec_node *nodes; /* no edge points backward */
  uint32_t count;
  uint32_t *by_id;         /* nodes in the order of their ids */
  bool touches_memory;     /* there are copies or fills */
  struct memory *memory;   /* of the domain */
  _Atomic uint64_t memory_checked; /* memory_generation when their pointers were last looked at */
  _Atomic uint32_t slots;          /* launches that may be in flight */
  uint32_t slots_most;
};

/* --- graph_exec_order.c: pure --- */

enum { EXEC_LANES_MOST = 64 };

/* The order in which an executable graph keeps the nodes; each node's mark is its place. */
struct exec_order {
  struct hipGraphNode **nodes;
  uint32_t count;
  size_t edge_count;
  unsigned lanes; /* with so many no node is queued behind one that it need not follow; at most EXEC_LANES_MOST */
};

/* Linear in nodes and edges. Errors: hipErrorInvalidValue for a cycle; hipErrorOutOfMemory. To be finished in any case. */
hipError_t exec_order_make(const struct ihipGraph *graph, struct exec_order *out_order);
void exec_order_finish(struct exec_order *order);

/* --- graph_exec_payload.c --- */

/* Prepares exec->graph from exec->nodes; on hipSuccess that owns `exec`. Errors: those of the nodes' operations, logged. */
hipError_t exec_prepare(struct hipGraphExec *exec, const struct exec_order *order, struct engine *engine);

/* Frees what was not prepared. NULL is accepted. */
void exec_free(struct hipGraphExec *exec);

/* Other parameters for later launches, checked as a launch is. On an error nothing is changed. */
hipError_t exec_kernel_set(struct hipGraphExec *exec, struct exec_node *node, const hipKernelNodeParams *parameters);

/* Whether what the copies and fills point to is still there. Two loads if nothing was allocated or freed since. */
hipError_t exec_memory_check(struct hipGraphExec *exec);

#endif
