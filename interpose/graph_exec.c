/* The calls that make, launch, change and end executable graphs. */
#include "interpose/graph_exec.h"

#include <stdlib.h>

#include "base/clocktime.h"
#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"

/* --- making --- */

static hipError_t nodes_copy(struct hipGraphExec *exec, const struct ihipGraph *graph, const struct exec_order *order) {
  exec->nodes = calloc((size_t)order->count + 1, sizeof *exec->nodes);
  exec->by_id = calloc((size_t)order->count + 1, sizeof *exec->by_id);
  if (exec->nodes == NULL || exec->by_id == NULL) return hipErrorOutOfMemory;
  hipError_t error = hipSuccess;
  for (uint32_t i = 0; error == hipSuccess && i < order->count; i++) {
    struct hipGraphNode *content = &exec->nodes[i].content;
    content->type = order->nodes[i]->type;
    content->id = order->nodes[i]->id;
    exec->count = i + 1;
    error = node_copy_content(content, order->nodes[i]);
  }
  /* a graph's list is in the order of creation, and so of the ids */
  for (uint32_t i = 0; i < order->count; i++) exec->by_id[i] = (uint32_t)graph->nodes.nodes[i]->mark;
  return error;
}

static hipError_t exec_make(const struct ihipGraph *graph, struct hipGraphExec **out_exec) {
  struct hip_state *state = NULL;
  struct exec_order order = {0};
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  struct hipGraphExec *exec = calloc(1, sizeof *exec);
  if (exec == NULL) return hipErrorOutOfMemory;
  pthread_mutex_init(&exec->lock, NULL);
  exec->memory = state->domain->memory;
  error = exec_order_make(graph, &order);
  if (error == hipSuccess) error = nodes_copy(exec, graph, &order);
  if (error == hipSuccess) error = exec_prepare(exec, &order, state->domain->engine);
  exec_order_finish(&order);
  if (error == hipSuccess) *out_exec = exec;
  else exec_free(exec);
  return error;
}

static hipError_t instantiate(hipGraphExec_t *out_exec, hipGraph_t graph) {
  struct hipGraphExec *exec = NULL;
  if (out_exec == NULL || !handle_live(graph, HANDLE_GRAPH)) return hipErrorInvalidValue;
  hipError_t error = exec_make(graph, &exec);
  if (error != hipSuccess) return error;
  if (handle_add(exec, HANDLE_GRAPH_EXEC) != HRX_OK) {
    graph_release(exec->graph);
    return hipErrorOutOfMemory;
  }
  *out_exec = exec;
  return hipSuccess;
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
  if (live) graph_release(exec->graph); /* what it owns goes when the last run is over */
  ENTRY_RETURN(hipGraphExecDestroy, live ? hipSuccess : hipErrorInvalidValue);
}

/* --- launching --- */

/* As many launches are in flight as there are slots. The oldest is given some time, so that a program that runs ahead of its
 * graphs stays in the same memory. One that takes longer may wait for what the program does next: then there are more slots. */
static hrx_status room_wait(struct hipGraphExec *exec) {
  static const uint64_t patience_ns = 10000000;
  uint32_t slots = atomic_load(&exec->slots);
  if (slots >= exec->slots_most) return graph_slot_wait(exec->graph, UINT64_MAX);
  hrx_status status = graph_slot_wait(exec->graph, time_after(time_now_ns(), patience_ns));
  if (status != HRX_TIMEOUT) return status;
  uint32_t more = slots < exec->slots_most - slots ? slots : exec->slots_most - slots;
  if (!atomic_compare_exchange_strong(&exec->slots, &slots, slots + more)) return HRX_OK; /* another thread adds them */
  /* without memory or lanes for more, those that there are must do */
  if (graph_slots_add(exec->graph, more) != HRX_OK) atomic_store(&exec->slots, exec->slots_most);
  return HRX_OK;
}

static hipError_t submit(struct hipGraphExec *exec, struct ihipStream_t *stream) {
  const struct run_options options = {.stream = stream->stream};
  hrx_status status = HRX_OK;
  while (status == HRX_OK) {
    struct run *run = NULL;
    status = hip_stream_join(stream);
    if (status == HRX_OK) status = graph_submit(exec->graph, &options, &run);
    if (status == HRX_OK) {
      hip_stream_touched(stream);
      run_release(run); /* it goes on */
      return hipSuccess;
    }
    if (status == HRX_BUSY && hrx_last_reason() == HRX_REASON_SLOTS) status = room_wait(exec);
  }
  return error_logged(status);
}

static hipError_t launch(hipError_t found, struct ihipStream_t *stream, hipGraphExec_t exec) {
  if (!handle_live(exec, HANDLE_GRAPH_EXEC)) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  hipError_t error = capture_refuses(stream->device, stream);
  if (error == hipSuccess) error = exec_memory_check(exec);
  return error == hipSuccess ? submit(exec, stream) : error;
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

/* --- changing --- */

/* The copy of a node of the graph that the executable one was made from. O(log n). */
static struct exec_node *exec_find(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeType type) {
  if (!handle_live(exec, HANDLE_GRAPH_EXEC) || !handle_live(node, HANDLE_GRAPH_NODE) || node->type != type) return NULL;
  uint32_t low = 0, high = exec->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (exec->nodes[exec->by_id[middle]].content.id < node->id) low = middle + 1;
    else high = middle;
  }
  if (low == exec->count) return NULL;
  struct exec_node *found = &exec->nodes[exec->by_id[low]];
  return found->content.id == node->id ? found : NULL;
}

hipError_t entry_hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                 const hipKernelNodeParams *parameters) {
  struct exec_node *found = parameters != NULL ? exec_find(exec, node, hipGraphNodeTypeKernel) : NULL;
  hipError_t error = found != NULL ? exec_kernel_set(exec, found, parameters) : hipErrorInvalidValue;
  ENTRY_RETURN(hipGraphExecKernelNodeSetParams, error);
}
