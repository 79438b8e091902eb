/* Executable graphs: a copy of the nodes in an order that respects the edges, spread over streams so that only edges order.
 *
 * Branches run on streams of the executable graph's own, joined by clocks; a chain stays on one. Prepared graphs of the
 * engine will take this over. */
#include <stdlib.h>
#include <string.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/graph.h"
#include "interpose/handle.h"

enum { LANES_MAX = 64 };

struct exec_node {
  struct hipGraphNode content;
  size_t *dependencies; /* indices of earlier exec nodes */
  size_t dependency_count;
  unsigned lane;        /* 0: the stream that the graph is launched into */
  bool awaited;         /* a node of another lane depends on it: its clock is kept */
  struct clock clock;   /* of the launch being submitted */
};

struct hipGraphExec {
  pthread_mutex_t lock;
  struct exec_node *nodes;
  size_t count;
  unsigned lanes;
  struct ihipStream_t *streams[LANES_MAX]; /* [0] unused */
  struct clock last;                       /* the launch before: launches of one exec serialise */
};

static void exec_release(struct hipGraphExec *exec) {
  if (exec == NULL) return;
  for (size_t i = 0; i < exec->count; i++) {
    node_content_finish(&exec->nodes[i].content);
    free(exec->nodes[i].dependencies);
    clock_finish(&exec->nodes[i].clock);
  }
  for (unsigned i = 1; i < exec->lanes; i++)
    if (exec->streams[i] != NULL) hip_stream_destroy(exec->streams[i]);
  clock_finish(&exec->last);
  pthread_mutex_destroy(&exec->lock);
  free(exec->nodes);
  free(exec);
}

/* Indices of the graph's nodes so that edges point forward, in the order of creation where they leave a choice.
 * False if the edges have a cycle. */
static bool order_nodes(const struct ihipGraph *graph, struct hipGraphNode **order) {
  size_t count = graph->nodes.count, done = 0;
  for (size_t i = 0; i < count; i++) graph->nodes.nodes[i]->mark = graph->nodes.nodes[i]->dependencies.count;
  size_t filled = 0;
  for (size_t i = 0; i < count; i++)
    if (graph->nodes.nodes[i]->mark == 0) order[filled++] = graph->nodes.nodes[i];
  while (done < filled) {
    struct hipGraphNode *node = order[done++];
    for (size_t d = 0; d < node->dependents.count; d++)
      if (--node->dependents.nodes[d]->mark == 0) order[filled++] = node->dependents.nodes[d];
  }
  return filled == count;
}

static hipError_t exec_fill(struct hipGraphExec *exec, struct hipGraphNode *const *order, size_t count) {
  size_t tail[LANES_MAX], load[LANES_MAX] = {0};
  for (size_t i = 0; i < count; i++) order[i]->mark = i;
  exec->lanes = 1;
  for (size_t i = 0; i < count; i++) {
    struct hipGraphNode *from = order[i];
    struct exec_node *node = &exec->nodes[i];
    node->content.type = from->type;
    node->content.origin = from;
    exec->count = i + 1;
    hipError_t error = node_copy_content(&node->content, from);
    if (error != hipSuccess) return error;
    node->dependency_count = from->dependencies.count;
    node->dependencies = calloc(node->dependency_count + 1, sizeof *node->dependencies);
    if (node->dependencies == NULL) return hipErrorOutOfMemory;
    unsigned lane = LANES_MAX;
    for (size_t d = 0; d < node->dependency_count; d++) {
      size_t before = from->dependencies.nodes[d]->mark;
      node->dependencies[d] = before;
      if (lane == LANES_MAX && tail[exec->nodes[before].lane] == before) lane = exec->nodes[before].lane;
    }
    if (lane == LANES_MAX && i == 0) lane = 0;
    if (lane == LANES_MAX && exec->lanes < LANES_MAX) lane = exec->lanes++;
    if (lane == LANES_MAX) { /* wider than that: share the shortest */
      lane = 0;
      for (unsigned l = 1; l < LANES_MAX; l++)
        if (load[l] < load[lane]) lane = l;
    }
    node->lane = lane;
    tail[lane] = i;
    load[lane]++;
    for (size_t d = 0; d < node->dependency_count; d++)
      if (exec->nodes[node->dependencies[d]].lane != lane) exec->nodes[node->dependencies[d]].awaited = true;
  }
  return hipSuccess;
}

static hipError_t instantiate(hipGraphExec_t *out_exec, hipGraph_t graph) {
  if (out_exec == NULL || !handle_live(graph, HANDLE_GRAPH)) return hipErrorInvalidValue;
  size_t count = graph->nodes.count;
  struct hipGraphExec *exec = calloc(1, sizeof *exec);
  struct hipGraphNode **order = calloc(count + 1, sizeof *order);
  hipError_t error = exec != NULL && order != NULL ? hipSuccess : hipErrorOutOfMemory;
  if (exec != NULL) pthread_mutex_init(&exec->lock, NULL);
  if (error == hipSuccess) {
    exec->nodes = calloc(count + 1, sizeof *exec->nodes);
    if (exec->nodes == NULL) error = hipErrorOutOfMemory;
  }
  if (error == hipSuccess && !order_nodes(graph, order)) error = hipErrorInvalidValue;
  if (error == hipSuccess) error = exec_fill(exec, order, count);
  for (unsigned i = 1; error == hipSuccess && i < exec->lanes; i++)
    error = hip_stream_create(graph->device, hipStreamNonBlocking, 0, &exec->streams[i]);
  if (error == hipSuccess && handle_add(exec, HANDLE_GRAPH_EXEC) != HRX_OK) error = hipErrorOutOfMemory;
  free(order);
  if (error == hipSuccess) *out_exec = exec;
  else exec_release(exec);
  return error;
}

hipError_t entry_hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *error_node, char *log,
                                     size_t log_bytes) {
  hipError_t error = instantiate(exec, graph);
  if (error != hipSuccess && error_node != NULL) *error_node = NULL;
  if (log != NULL && log_bytes > 0) log[0] = '\0';
  ENTRY_RETURN(hipGraphInstantiate, error);
}

/* The flags: 1 frees leftover allocations at a launch (there are no allocation nodes yet), 2 uploads, 4 is for device
 * launches, 8 keeps priorities. */
hipError_t entry_hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags) {
  hipError_t error = hipSuccess;
  if (flags > 15) error = hipErrorInvalidValue;
  else if ((flags & 4) != 0) error = hipErrorNotSupported;
  ENTRY_RETURN(hipGraphInstantiateWithFlags, error == hipSuccess ? instantiate(exec, graph) : error);
}

hipError_t entry_hipGraphExecDestroy(hipGraphExec_t exec) {
  bool live = handle_remove(exec, HANDLE_GRAPH_EXEC);
  if (live) exec_release(exec); /* its queued work owns what it needs */
  ENTRY_RETURN(hipGraphExecDestroy, live ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t node_submit(const struct hipGraphNode *node, struct ihipStream_t *stream) {
  switch (node->type) {
  case hipGraphNodeTypeKernel: return launch_submit(stream, &node->kernel.launch, NULL, NULL);
  case hipGraphNodeTypeMemcpy:
  case hipGraphNodeTypeMemcpy1D:
  case hipGraphNodeTypeMemcpyFromSymbol:
  case hipGraphNodeTypeMemcpyToSymbol: return copy_submit(stream, &node->copy.operation, COMPLETE_GRAPH);
  case hipGraphNodeTypeMemset: return fill_submit(stream, &node->fill.fill, COMPLETE_GRAPH);
  case hipGraphNodeTypeHost: return host_submit(stream, node->host.fn, node->host.userData);
  default: return hipSuccess; /* empty: only its edges matter */
  }
}

static hipError_t lane_submit(struct hipGraphExec *exec, struct exec_node *node, struct ihipStream_t *stream) {
  hrx_status status = HRX_OK;
  for (size_t d = 0; status == HRX_OK && d < node->dependency_count; d++) {
    struct exec_node *before = &exec->nodes[node->dependencies[d]];
    if (before->lane != node->lane) status = stream_wait_clock(stream->stream, &before->clock);
  }
  hipError_t error = status == HRX_OK ? node_submit(&node->content, stream) : error_of(status);
  if (error == hipSuccess && node->awaited) {
    clock_reset(&node->clock);
    error = error_of(stream_clock(stream->stream, &node->clock));
  }
  return error;
}

static hipError_t launch_locked(struct hipGraphExec *exec, struct ihipStream_t *stream) {
  struct clock start = {0};
  hrx_status status = hip_stream_join(stream);
  if (status == HRX_OK) status = stream_wait_clock(stream->stream, &exec->last);
  if (status == HRX_OK && exec->lanes > 1) status = stream_clock(stream->stream, &start);
  for (unsigned i = 1; status == HRX_OK && i < exec->lanes; i++)
    status = stream_wait_clock(exec->streams[i]->stream, &start);
  hipError_t error = error_of(status);
  for (size_t i = 0; error == hipSuccess && i < exec->count; i++) {
    struct exec_node *node = &exec->nodes[i];
    error = lane_submit(exec, node, node->lane == 0 ? stream : exec->streams[node->lane]);
  }
  /* also after an error: what was submitted belongs to the stream's order */
  for (unsigned i = 1; i < exec->lanes; i++) {
    clock_reset(&start);
    status = stream_clock(exec->streams[i]->stream, &start);
    if (status == HRX_OK) status = stream_wait_clock(stream->stream, &start);
    if (status != HRX_OK && error == hipSuccess) error = error_of(status);
  }
  clock_reset(&exec->last);
  status = stream_clock(stream->stream, &exec->last);
  hip_stream_touched(stream);
  clock_finish(&start);
  return error == hipSuccess ? error_of(status) : error;
}

static hipError_t launch(hipError_t found, struct ihipStream_t *stream, hipGraphExec_t exec) {
  if (!handle_live(exec, HANDLE_GRAPH_EXEC)) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  hipError_t error = capture_refuses(stream->device, stream);
  if (error != hipSuccess) return error;
  pthread_mutex_lock(&exec->lock);
  error = launch_locked(exec, stream);
  pthread_mutex_unlock(&exec->lock);
  return error;
}

hipError_t entry_hipGraphLaunch(hipGraphExec_t exec, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipGraphLaunch, launch(found, stream, exec));
}

hipError_t entry_hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipGraphLaunch_spt, launch(found, stream, exec));
}

/* Upload makes a later launch cheaper; here nothing is left to prepare. */
hipError_t entry_hipGraphUpload(hipGraphExec_t exec, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = handle_live(exec, HANDLE_GRAPH_EXEC) ? hip_stream_find(handle, &stream) : hipErrorInvalidValue;
  ENTRY_RETURN(hipGraphUpload, error);
}

static struct exec_node *exec_find(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeType type) {
  if (!handle_live(exec, HANDLE_GRAPH_EXEC) || !handle_live(node, HANDLE_GRAPH_NODE) || node->type != type) return NULL;
  for (size_t i = 0; i < exec->count; i++)
    if (exec->nodes[i].content.origin == node) return &exec->nodes[i];
  return NULL;
}

hipError_t entry_hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                 const hipKernelNodeParams *parameters) {
  struct exec_node *found = parameters != NULL ? exec_find(exec, node, hipGraphNodeTypeKernel) : NULL;
  hipError_t error = hipErrorInvalidValue;
  if (found != NULL) {
    pthread_mutex_lock(&exec->lock);
    error = node_set_kernel(&found->content, parameters);
    pthread_mutex_unlock(&exec->lock);
  }
  ENTRY_RETURN(hipGraphExecKernelNodeSetParams, error);
}
