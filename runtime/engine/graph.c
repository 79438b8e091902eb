/* The life of prepared graphs: prepare, instances, release. */
#include "engine/graph.h"

#include <stdlib.h>

#include "base/block.h"
#include "engine/graph_state.h"
#include "memory/storage.h"

enum { SLOTS_DEFAULT = 2, SPARE_RUNS = 2, NODES_MOST = 1 << 29 };

/* --- bindings --- */

void graph_binding_free(struct graph_binding *binding) {
  if (binding == NULL) return;
  block_return(binding->tasks);
  block_return(binding->accesses);
  block_return(binding->entries);
  block_return(binding->exits);
  free(binding);
}

void graph_binding_drop(struct engine *engine, struct graph_binding *binding) {
  if (binding == NULL) return;
  pthread_mutex_lock(&engine->lock);
  bool last = --binding->references == 0;
  pthread_mutex_unlock(&engine->lock);
  if (last) graph_binding_free(binding);
}

struct graph_binding *graph_binding_make(const struct graph *graph) {
  const struct graph_plan *plan = &graph->plan;
  struct graph_binding *binding = calloc(1, sizeof *binding);
  if (binding == NULL) return NULL;
  binding->references = 1;
  binding->tasks = block_take(plan->count, sizeof *binding->tasks);
  binding->accesses = block_take(graph->access_count + 1, sizeof *binding->accesses);
  binding->entries = block_take(plan->entries.count + 1, sizeof *binding->entries);
  binding->exits = block_take(plan->exits.count + 1, sizeof *binding->exits);
  if (binding->tasks != NULL && binding->accesses != NULL && binding->entries != NULL && binding->exits != NULL) return binding;
  graph_binding_free(binding);
  return NULL;
}

/* The first binding takes the ranges from the plan. */
static bool binding_first(struct graph *graph, const struct graph_node *nodes) {
  struct graph_binding *binding = graph_binding_make(graph);
  if (binding == NULL) return false;
  struct access *at = binding->accesses;
  for (uint32_t i = 0; i < graph->plan.count; i++) {
    binding->tasks[i] = nodes[i].task;
    binding->tasks[i].accesses = at;
    for (unsigned k = 0; k < nodes[i].task.access_count; k++) *at++ = nodes[i].task.accesses[k];
  }
  struct order_ranges *entries = &graph->plan.entries, *exits = &graph->plan.exits;
  for (size_t i = 0; i < entries->count; i++) binding->entries[i] = entries->items[i];
  for (size_t i = 0; i < exits->count; i++) binding->exits[i] = exits->items[i];
  block_return(entries->items);
  block_return(exits->items);
  entries->items = exits->items = NULL;
  entries->capacity = exits->capacity = 0;
  const struct storage *storage = NULL;
  for (size_t i = 0; i < graph->plan.exits.count; i++) {
    graph->exit_storages += binding->exits[i].storage != storage;
    storage = binding->exits[i].storage;
    graph->exit_cells += binding->exits[i].cells;
  }
  graph->binding = binding;
  return true;
}

/* --- instances --- */

static void instance_free(struct instance *instance) {
  if (instance == NULL) return;
  struct graph *graph = instance->graph;
  struct engine *engine = graph->engine;
  for (uint32_t i = 0; instance->slots != NULL && i < graph->plan.count; i++) {
    struct task *task = &instance->slots[i].task;
    if (task->kind == TASK_DISPATCH) gpu_dispatch_release(task->dispatch);
    if (task->kind == TASK_DEVICE && task->device.payload != NULL && task->device.release != NULL)
      task->device.release(task->device.payload);
  }
  pthread_mutex_lock(&engine->lock);
  for (uint32_t i = 0; instance->lanes != NULL && i < graph->plan.lane_count; i++)
    if (instance->lanes[i] != NULL) lane_return_locked(&engine->lanes, instance->lanes[i]);
  pthread_mutex_unlock(&engine->lock);
  graph_binding_drop(engine, instance->binding);
  block_return(instance->slots);
  free(instance->lanes);
  free(instance->base);
  free(instance);
}

/* A lane whose ring holds `count` tasks. */
static hrx_status lane_lend(struct engine *engine, uint32_t count, struct lane **out_lane) {
  uint32_t size = 1;
  while (size < count) size *= 2;
  struct slot **ring = calloc(size, sizeof(*ring)), **unused = ring;
  if (ring == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a lane of %u tasks", count);
  struct lane *lane = NULL;
  hrx_status status = HRX_OK;
  while (status == HRX_OK && lane == NULL) {
    pthread_mutex_lock(&engine->lock);
    lane = lane_take_locked(&engine->lanes);
    if (lane != NULL && lane->ring_size < size) {
      unused = lane->ring;
      lane->ring = ring;
      lane->ring_size = size;
    }
    pthread_mutex_unlock(&engine->lock);
    if (lane == NULL) status = engine_lanes_add(engine);
  }
  free(unused);
  if (status == HRX_OK) *out_lane = lane;
  return status;
}

static hrx_status slots_fill(struct instance *instance) {
  struct graph *graph = instance->graph;
  const struct graph_plan *plan = &graph->plan;
  hrx_status status = HRX_OK;
  for (uint32_t i = 0; i < plan->count; i++) {
    struct slot *slot = &instance->slots[i];
    struct lane *lane = instance->lanes[plan->lane[i]];
    slot->engine = graph->engine;
    slot->instance = instance;
    slot->lane = lane;
    slot->pending = plan->pending[i];
    slot->task = instance->binding->tasks[i];
    if (slot->task.kind == TASK_DISPATCH) slot->task.dispatch = NULL;
    if (slot->task.kind == TASK_DEVICE) slot->task.device.payload = NULL;
    lane->ring[plan->position[i] & (lane->ring_size - 1)] = slot;
  }
  for (uint32_t i = 0; status == HRX_OK && i < plan->count; i++) {
    struct task *task = &instance->slots[i].task;
    if (task->kind == TASK_DISPATCH || task->kind == TASK_DEVICE) {
      task->accesses = instance->binding->tasks[i].accesses;
      status = graph->client.payload_make(graph->client.context, i, task);
    }
    task->accesses = NULL; /* the binding has them */
    task->access_count = 0;
  }
  return status;
}

hrx_status instance_make(struct graph *graph, struct instance **out_instance) {
  struct engine *engine = graph->engine;
  struct instance *instance = calloc(1, sizeof *instance);
  if (instance == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for one more run of a graph");
  instance->graph = graph;
  instance->gate.engine = engine;
  instance->gate.instance = instance;
  instance->slots = block_take(graph->plan.count, sizeof *instance->slots);
  instance->lanes = calloc(graph->plan.lane_count, sizeof(*instance->lanes));
  instance->base = calloc(graph->plan.lane_count, sizeof *instance->base);
  hrx_status status = HRX_OK;
  if (instance->slots == NULL || instance->lanes == NULL || instance->base == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for one more run of a graph of %u nodes", graph->plan.count);
  for (uint32_t i = 0; status == HRX_OK && i < graph->plan.lane_count; i++)
    status = lane_lend(engine, graph->plan.lanes[i].count, &instance->lanes[i]);
  pthread_mutex_lock(&engine->lock);
  instance->binding = graph->binding;
  instance->binding->references++;
  instance->version = graph->version;
  pthread_mutex_unlock(&engine->lock);
  if (status == HRX_OK) status = slots_fill(instance);
  if (status != HRX_OK) {
    instance_free(instance);
    return status;
  }
  pthread_mutex_lock(&engine->lock);
  instance->next_made = graph->made;
  graph->made = instance;
  pthread_mutex_unlock(&engine->lock);
  *out_instance = instance;
  return HRX_OK;
}

hrx_status instance_renew(struct instance *instance) {
  struct graph *graph = instance->graph;
  struct engine *engine = graph->engine;
  pthread_mutex_lock(&engine->lock);
  struct graph_binding *old = instance->binding;
  instance->binding = graph->binding;
  instance->binding->references++;
  uint64_t version = graph->version;
  pthread_mutex_unlock(&engine->lock);
  graph_binding_drop(engine, old);
  hrx_status status = HRX_OK;
  for (uint32_t i = 0; status == HRX_OK && i < graph->plan.count; i++) {
    struct task task = instance->binding->tasks[i], *now = &instance->slots[i].task;
    if (task.kind == TASK_DISPATCH) task.dispatch = now->dispatch;
    if (task.kind == TASK_DEVICE) task.device = now->device;
    bool payload = task.kind == TASK_DISPATCH || task.kind == TASK_DEVICE || task.kind == TASK_FILL || task.kind == TASK_COPY;
    if (payload && graph->client.payload_renew != NULL)
      status = graph->client.payload_renew(graph->client.context, i, &task);
    task.accesses = NULL;
    task.access_count = 0;
    *now = task;
  }
  if (status == HRX_OK) instance->version = version;
  return status;
}

struct run *run_make(struct graph *graph) {
  struct run *run = calloc(1, sizeof *run);
  if (run == NULL) return NULL;
  run->graph = graph;
  run->event = -1;
  run_watch_init(&run->done, run);
  return run;
}

/* --- prepare --- */

static hrx_status nodes_check(const struct graph_options *options, const struct graph_node *nodes, uint32_t count) {
  if (count == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "a graph without nodes cannot be prepared");
  if (count > NODES_MOST)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a graph of %u nodes: %d are possible", count, (int)NODES_MOST);
  for (uint32_t i = 0; i < count; i++) {
    const struct task *task = &nodes[i].task;
    hrx_status status = task_check(task);
    if (status != HRX_OK) return status;
    bool payload = task->kind == TASK_DISPATCH || task->kind == TASK_DEVICE;
    if (payload && options->client.payload_make == NULL)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "node %u of a graph has a payload, and nobody makes it", i);
  }
  return HRX_OK;
}

static void graph_free(struct graph *graph) {
  while (graph->made != NULL) {
    struct instance *instance = graph->made;
    graph->made = instance->next_made;
    instance_free(instance);
  }
  while (graph->free_runs != NULL) {
    struct run *run = graph->free_runs;
    graph->free_runs = run->next;
    free(run);
  }
  graph_binding_drop(graph->engine, graph->binding);
  graph_plan_finish(&graph->plan);
  block_return(graph->roots);
  free(graph);
}

static bool roots_find(struct graph *graph) {
  const struct graph_plan *plan = &graph->plan;
  for (uint32_t i = 0; i < plan->count; i++) graph->root_count += plan->pending[i] == 0;
  graph->roots = block_take_unset(graph->root_count, sizeof *graph->roots);
  if (graph->roots == NULL) return false;
  for (uint32_t i = 0, at = 0; i < plan->count; i++)
    if (plan->pending[i] == 0) graph->roots[at++] = i;
  return true;
}

static hrx_status runs_make(struct graph *graph, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    struct run *run = run_make(graph);
    if (run == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the runs of a graph");
    pthread_mutex_lock(&graph->engine->lock);
    run->next = graph->free_runs;
    graph->free_runs = run;
    pthread_mutex_unlock(&graph->engine->lock);
  }
  return HRX_OK;
}

hrx_status graph_slots_add(struct graph *graph, unsigned count) {
  struct engine *engine = graph->engine;
  if (engine_forked(engine)) return engine_lost();
  for (unsigned i = 0; i < count; i++) {
    struct instance *instance = NULL;
    hrx_status status = runs_make(graph, 1);
    if (status == HRX_OK) status = instance_make(graph, &instance);
    if (status != HRX_OK) return status;
    pthread_mutex_lock(&engine->lock);
    instance->next = graph->free;
    graph->free = instance;
    pthread_mutex_unlock(&engine->lock);
  }
  return HRX_OK;
}

static hrx_status graph_fill(struct graph *graph, const struct graph_options *options, const struct graph_node *nodes) {
  uint32_t count = graph->plan.count;
  for (uint32_t i = 0; i < count; i++) {
    graph->access_count += nodes[i].task.access_count;
    graph->opaque_count += node_opaque(&nodes[i].task);
    graph->host |= nodes[i].task.kind == TASK_HOST;
  }
  hrx_status status = HRX_OK;
  if (!roots_find(graph) || !binding_first(graph, nodes))
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a graph of %u nodes", count);
  unsigned slots = options->slots != 0 ? options->slots : SLOTS_DEFAULT;
  if (status == HRX_OK) status = graph_slots_add(graph, slots);
  return status == HRX_OK ? runs_make(graph, SPARE_RUNS) : status;
}

hrx_status graph_prepare(struct engine *engine, const struct graph_options *options, const struct graph_node *nodes,
                         uint32_t count, struct graph **out_graph) {
  if (engine_forked(engine)) return engine_lost();
  hrx_status status = nodes_check(options, nodes, count);
  if (status != HRX_OK) return status;
  atomic_store_explicit(&engine->used, true, memory_order_relaxed);
  struct graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a graph");
  graph->engine = engine;
  graph->references = 1;
  graph->client = options->client;
  graph->capacity = options->capacity;
  graph->serial = options->serial;
  status = graph_plan_make(options, nodes, count, &graph->plan);
  if (status == HRX_OK) status = graph_fill(graph, options, nodes);
  if (status != HRX_OK) {
    graph_free(graph);
    return status;
  }
  *out_graph = graph;
  return HRX_OK;
}

void graph_drop(struct graph *graph) {
  if (atomic_fetch_sub(&graph->references, 1) != 1) return;
  struct graph_client client = graph->client;
  for (uint32_t i = 0; i < graph->plan.count; i++) {
    const struct task *task = &graph->binding->tasks[i];
    if (task->kind == TASK_HOST && task->host.release != NULL) task->host.release(task->host.context);
  }
  graph_free(graph);
  if (client.release != NULL) client.release(client.context);
}

void graph_release(struct graph *graph) {
  if (graph == NULL || engine_forked(graph->engine)) return;
  graph_drop(graph);
}

void graph_changed(struct graph *graph) {
  if (engine_forked(graph->engine)) return;
  pthread_mutex_lock(&graph->engine->lock);
  graph->version++;
  pthread_mutex_unlock(&graph->engine->lock);
}

/* --- what a graph tells --- */

static size_t instance_bytes(const struct graph *graph, const struct instance *instance) {
  size_t bytes = sizeof *instance + graph->plan.count * sizeof(struct slot) +
                 graph->plan.lane_count * (sizeof(struct lane *) + sizeof *instance->base);
  for (uint32_t i = 0; i < graph->plan.lane_count; i++)
    bytes += sizeof(struct lane) + instance->lanes[i]->ring_size * sizeof(struct slot *);
  return bytes;
}

void graph_statistics(const struct graph *graph, struct graph_statistics *out_statistics) {
  const struct graph_plan *plan = &graph->plan;
  *out_statistics = (struct graph_statistics){.nodes = plan->count,
                                              .inferred = plan->inferred,
                                              .reduced = plan->reduced,
                                              .explicit_edges = plan->explicit_edges,
                                              .lanes = plan->lane_count};
  size_t bytes = sizeof *graph + graph_plan_bytes(plan) + graph->root_count * sizeof *graph->roots;
  pthread_mutex_lock(&graph->engine->lock);
  bytes += (plan->entries.count + plan->exits.count) * sizeof(struct order_range);
  bytes += sizeof *graph->binding + plan->count * sizeof(struct task) + graph->access_count * sizeof(struct access);
  for (const struct instance *instance = graph->made; instance != NULL; instance = instance->next_made)
    bytes += instance_bytes(graph, instance);
  pthread_mutex_unlock(&graph->engine->lock);
  out_statistics->bytes = bytes;
}

void graph_edges(const struct graph *graph, void (*visit)(uint32_t from, uint32_t to, enum graph_edge_kind kind, void *context),
                 void *context) {
  for (size_t i = 0; i < graph->plan.kept_count; i++) {
    const struct order_kept *edge = &graph->plan.kept[i];
    visit(edge->from, edge->to, (enum graph_edge_kind)edge->kind, context);
  }
}
