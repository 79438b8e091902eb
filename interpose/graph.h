/* hipGraph: nodes and edges exactly as the program made them. Executable copies of them are in graph_exec.h.
 *
 * Graph and node handles are not thread-safe, as HIP says. */
#ifndef HRX_INTERPOSE_GRAPH_H
#define HRX_INTERPOSE_GRAPH_H

#include <hip/hip_runtime_api.h>
#include <stdbool.h>

#include "interpose/operation.h"

struct node_list {
  struct hipGraphNode **nodes;
  size_t count, capacity;
};

struct hipGraphNode {
  struct ihipGraph *graph; /* NULL for the copies in an executable graph */
  hipGraphNodeType type;   /* numbered as in ROCm 5.2; see node_type_shown */
  uint64_t id;             /* unique in the process, and growing from node to node; a copy has its original's */
  size_t index;            /* in its graph */
  size_t mark;             /* scratch for walks */
  struct node_list dependencies, dependents;
  union {
    struct {
      hipKernelNodeParams parameters; /* kernelParams points into `pointers`, extra is NULL */
      struct launch_operation launch; /* arguments: owned */
      void **pointers;                /* owned: one for each explicit argument, into the arguments */
    } kernel;
    struct {
      struct copy_operation operation;
      hipMemcpy3DParms parameters; /* of hipGraphAddMemcpyNode, zeros otherwise */
    } copy;
    struct {
      struct task_fill fill;
      hipMemsetParams parameters;
    } fill;
    hipHostNodeParams host;
  };
};

struct ihipGraph {
  struct node_list nodes;
  struct hip_device *device;
};

/* Appends; false if there is no memory. O(1) amortised. */
bool node_list_add(struct node_list *list, struct hipGraphNode *node);
bool node_list_has(const struct node_list *list, const struct hipGraphNode *node);
void node_list_finish(struct node_list *list);

/* A live graph with no nodes. */
hipError_t graph_create(struct ihipGraph **out_graph);
void hip_graph_release(struct ihipGraph *graph);

/* Makes a live node of `type` behind `dependencies`, which are checked: nodes of this graph, no duplicates.
 * The graph is unchanged on an error. */
hipError_t graph_node_add(struct ihipGraph *graph, hipGraphNodeType type, struct hipGraphNode *const *dependencies,
                          size_t count, struct hipGraphNode **out_node);
void graph_node_remove(struct hipGraphNode *node);

/* Fill a node's content. On an error the node is as it was. */
hipError_t node_set_launch(struct hipGraphNode *node, const struct launch_operation *launch);
hipError_t node_set_kernel(struct hipGraphNode *node, const hipKernelNodeParams *parameters);
hipError_t node_set_copy(struct hipGraphNode *node, const struct copy_operation *operation);
hipError_t node_set_copy3d(struct hipGraphNode *node, const hipMemcpy3DParms *parameters);
hipError_t node_set_memset(struct hipGraphNode *node, const hipMemsetParams *parameters);
hipError_t node_set_host(struct hipGraphNode *node, const hipHostNodeParams *parameters);

/* Copies a node's content into a node that has none. */
hipError_t node_copy_content(struct hipGraphNode *to, const struct hipGraphNode *from);
void node_content_finish(struct hipGraphNode *node);

/* Whether it is one of the four kinds of copies. */
bool node_is_copy(const struct hipGraphNode *node);

/* The type as the program's HIP version numbers it: from ROCm 6 one less, and one value for all copies. */
hipGraphNodeType node_type_shown(const struct hipGraphNode *node);

#endif
