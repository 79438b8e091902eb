/* What an executable graph replays: the engine's tasks for its nodes, and a dispatch for each kernel and instance. */
#include <stdlib.h>

#include "interpose/error.h"
#include "interpose/graph_exec.h"

enum {
  SLOTS_FIRST = 4,
  SLOTS_FIRST_LARGE = 2,
  NODES_LARGE = 512,
  NODES_IN_FLIGHT = 16384, /* as many tasks as a stream queues before it makes a launch wait */
  LANES_IN_FLIGHT = 4096,
  SLOTS_MOST = 1024
};

/* --- payloads --- */

static hrx_status payload_make(void *context, uint32_t index, struct task *io_task) {
  struct hipGraphExec *exec = context;
  pthread_mutex_lock(&exec->lock);
  const struct launch_operation *launch = &exec->nodes[index].content.kernel.launch;
  hrx_status status = launch_dispatch(launch, &io_task->dispatch);
  if (status == HRX_OK) io_task->label = launch->function->code->name;
  pthread_mutex_unlock(&exec->lock);
  return status;
}

/* Another dispatch, from the device's pool, and not the same with other arguments: kernel and grid may be others too. */
static hrx_status payload_renew(void *context, uint32_t index, struct task *io_task) {
  struct hipGraphExec *exec = context;
  if (io_task->kind != TASK_DISPATCH || !atomic_load_explicit(&exec->nodes[index].changed, memory_order_acquire)) return HRX_OK;
  struct gpu_dispatch *before = io_task->dispatch;
  hrx_status status = payload_make(exec, index, io_task);
  if (status == HRX_OK) gpu_dispatch_release(before);
  return status;
}

static hrx_status host_run(void *context) {
  const struct exec_node *node = context;
  node->content.host.fn(node->content.host.userData);
  return HRX_OK;
}

void exec_free(struct hipGraphExec *exec) {
  if (exec == NULL) return;
  for (uint32_t i = 0; i < exec->count; i++) node_content_finish(&exec->nodes[i].content);
  pthread_mutex_destroy(&exec->lock);
  free(exec->nodes);
  free(exec->by_id);
  free(exec);
}

static void released(void *context) { exec_free(context); }

/* --- preparing --- */

/* `accesses` has room for two. */
static hipError_t task_write(struct exec_node *node, struct access *accesses, struct task *out_task) {
  struct hipGraphNode *content = &node->content;
  if (node_is_copy(content)) return copy_task(&content->copy.operation, accesses, out_task);
  switch (content->type) {
  case hipGraphNodeTypeMemset: return fill_task(&content->fill.fill, accesses, out_task);
  case hipGraphNodeTypeKernel:
    *out_task = (struct task){.kind = TASK_DISPATCH, .opaque = true, .label = content->kernel.launch.function->code->name};
    break;
  case hipGraphNodeTypeHost:
    *out_task = (struct task){
        .kind = TASK_HOST, .opaque = true, .label = "host function", .host = {.call = host_run, .context = node}};
    break;
  default: *out_task = (struct task){.kind = TASK_JOIN, .label = "empty"}; /* only its edges matter */
  }
  return hipSuccess;
}

static hipError_t nodes_write(struct hipGraphExec *exec, const struct exec_order *order, struct graph_node *nodes,
                              struct access *accesses, uint32_t *after) {
  hipError_t error = hipSuccess;
  for (uint32_t i = 0; error == hipSuccess && i < exec->count; i++) {
    const struct node_list *dependencies = &order->nodes[i]->dependencies;
    nodes[i] = (struct graph_node){.lane_class = LANE_COMPUTE, .after = after, .after_count = (uint32_t)dependencies->count};
    for (size_t d = 0; d < dependencies->count; d++) *after++ = (uint32_t)dependencies->nodes[d]->mark;
    error = task_write(&exec->nodes[i], accesses + 2 * (size_t)i, &nodes[i].task);
    exec->touches_memory |= exec->nodes[i].content.type == hipGraphNodeTypeMemset || node_is_copy(&exec->nodes[i].content);
  }
  /* a graph without nodes can be launched as well */
  if (exec->count == 0) nodes[0] = (struct graph_node){.lane_class = LANE_COMPUTE, .task = {.kind = TASK_JOIN, .label = "empty"}};
  return error;
}

static void slots_choose(struct hipGraphExec *exec, const struct exec_order *order) {
  uint32_t nodes = order->count != 0 ? order->count : 1, lanes = order->lanes != 0 ? order->lanes : 1;
  uint32_t first = nodes <= NODES_LARGE ? SLOTS_FIRST : SLOTS_FIRST_LARGE;
  uint32_t most = NODES_IN_FLIGHT / nodes;
  if (most > LANES_IN_FLIGHT / lanes) most = LANES_IN_FLIGHT / lanes;
  if (most > SLOTS_MOST) most = SLOTS_MOST;
  exec->slots_most = most > first ? most : first;
  atomic_store(&exec->slots, first);
}

static hipError_t prepare(struct hipGraphExec *exec, const struct exec_order *order, const struct graph_node *nodes,
                          struct engine *engine) {
  struct graph_options options = {.order = GRAPH_CLOSURE,
                                  .slots = exec->slots,
                                  .lanes = {[LANE_COMPUTE] = order->lanes},
                                  .serial = true,
                                  .client = {payload_make, payload_renew, released, exec}};
  hrx_status status = graph_prepare(engine, &options, nodes, order->count != 0 ? order->count : 1, &exec->graph);
  hipError_t error = error_logged(status);
  return status == HRX_BUSY ? hipErrorOutOfMemory : error; /* all lanes are taken */
}

hipError_t exec_prepare(struct hipGraphExec *exec, const struct exec_order *order, struct engine *engine) {
  size_t count = exec->count;
  struct graph_node *nodes = calloc(count + 1, sizeof *nodes);
  struct access *accesses = calloc(2 * count + 1, sizeof *accesses);
  uint32_t *after = calloc(order->edge_count + 1, sizeof *after);
  hipError_t error = nodes != NULL && accesses != NULL && after != NULL ? hipSuccess : hipErrorOutOfMemory;
  slots_choose(exec, order);
  atomic_store(&exec->memory_checked, memory_generation(exec->memory));
  if (error == hipSuccess) error = nodes_write(exec, order, nodes, accesses, after);
  if (error == hipSuccess) error = prepare(exec, order, nodes, engine);
  free(nodes);
  free(accesses);
  free(after);
  return error;
}

/* --- changes --- */

hipError_t exec_kernel_set(struct hipGraphExec *exec, struct exec_node *node, const hipKernelNodeParams *parameters) {
  struct hipGraphNode fresh = {.type = hipGraphNodeTypeKernel};
  struct gpu_dispatch *trial = NULL;
  hipError_t error = node_set_kernel(&fresh, parameters);
  if (error == hipSuccess) error = error_logged(launch_dispatch(&fresh.kernel.launch, &trial));
  gpu_dispatch_release(trial);
  if (error == hipSuccess) {
    pthread_mutex_lock(&exec->lock);
    struct hipGraphNode before = {.type = hipGraphNodeTypeKernel, .kernel = node->content.kernel};
    node->content.kernel = fresh.kernel;
    pthread_mutex_unlock(&exec->lock);
    fresh = before;
    atomic_store_explicit(&node->changed, true, memory_order_release);
    graph_changed(exec->graph);
  }
  node_content_finish(&fresh);
  return error;
}

hipError_t exec_memory_check(struct hipGraphExec *exec) {
  uint64_t generation = memory_generation(exec->memory);
  if (!exec->touches_memory || atomic_load_explicit(&exec->memory_checked, memory_order_relaxed) == generation) return hipSuccess;
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&exec->lock);
  for (uint32_t i = 0; error == hipSuccess && i < exec->count; i++) {
    const struct hipGraphNode *content = &exec->nodes[i].content;
    if (content->type == hipGraphNodeTypeMemset) error = fill_operation_check(&content->fill.fill);
    if (node_is_copy(content)) error = copy_operation_check(&content->copy.operation);
  }
  pthread_mutex_unlock(&exec->lock);
  if (error == hipSuccess) atomic_store_explicit(&exec->memory_checked, generation, memory_order_relaxed);
  return error;
}
