/* Explicit graphs: recording. Every call checks and makes room first, then adds. */
#include "native/gpu_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "code/kernel.h"

hrx_status hrx_stream_graph(hrx_stream *stream, hrx_gpu_graph **out_graph) {
  if (out_graph == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_stream_graph: NULL result");
  struct hrx_gpu_graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a graph");
  graph->stream = stream_hold(stream);
  *out_graph = graph;
  return HRX_OK;
}

static void list_finish(struct gpu_graph_list *list) {
  for (size_t i = 0; i < list->count; i++) hrx_stream_kernel_release(list->nodes[i].kernel);
  for (size_t i = 0; i < list->backing_capacity; i++)
    if (list->backings[i] != NULL) backing_release(list->backings[i]);
  block_return(list->nodes);
  block_return(list->after);
  block_return(list->accesses);
  block_return(list->bytes);
  block_return(list->backings);
  *list = (struct gpu_graph_list){0};
}

void hrx_gpu_graph_release(hrx_gpu_graph *graph) {
  if (graph == NULL) return;
  list_finish(&graph->list);
  stream_let_go(graph->stream);
  free(graph);
}

uint64_t hrx_gpu_graph_binding_bytes(const hrx_gpu_graph *graph) { return graph->binding_bytes; }

/* --- backings: each once --- */

static struct backing **backing_place(struct backing **table, size_t capacity, const struct backing *backing) {
  size_t at = ((uintptr_t)backing >> 5) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (capacity - 1);
  while (table[at] != NULL && table[at] != backing) at = (at + 1) & (capacity - 1);
  return &table[at];
}

static bool backings_reserve(struct gpu_graph_list *list, size_t more) {
  size_t capacity = list->backing_capacity == 0 ? 64 : list->backing_capacity;
  while (2 * (list->backing_count + more) > capacity) capacity *= 2;
  if (capacity == list->backing_capacity) return true;
  struct backing **table = block_take(capacity, sizeof(*table));
  if (table == NULL) return false;
  for (size_t i = 0; i < list->backing_capacity; i++)
    if (list->backings[i] != NULL) *backing_place(table, capacity, list->backings[i]) = list->backings[i];
  block_return(list->backings);
  list->backings = table;
  list->backing_capacity = capacity;
  return true;
}

static void backing_include(struct hrx_gpu_graph *graph, const struct access *access, struct backing *backing) {
  struct backing **place = backing_place(graph->list.backings, graph->list.backing_capacity, backing);
  if (*place != NULL) return;
  *place = backing_retain(backing);
  graph->list.backing_count++;
  graph->binding_bytes += access->allocation->bytes;
}

/* --- adding --- */

#define ROOM(array, count, capacity, more) block_grow((void **)&(array), count, &(capacity), (count) + (more), sizeof *(array))

static hrx_status reserve(struct gpu_graph_list *list, size_t afters, size_t accesses, size_t bytes) {
  bool done = list->count < UINT32_MAX / 4 && afters < UINT32_MAX / 4 && list->after_count < UINT32_MAX / 4 &&
              list->access_count < UINT32_MAX / 4 && ROOM(list->nodes, list->count, list->capacity, 1) &&
              ROOM(list->after, list->after_count, list->after_capacity, afters) &&
              ROOM(list->accesses, list->access_count, list->access_capacity, accesses) &&
              ROOM(list->bytes, list->byte_count, list->byte_capacity, bytes) && backings_reserve(list, accesses);
  return done ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for node %zu of a graph", list->count);
}

static hrx_status after_check(const struct hrx_gpu_graph *graph, const hrx_node *after, size_t count) {
  if (after == NULL && count != 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "graph: NULL list of nodes");
  for (size_t i = 0; i < count; i++)
    if (after[i] >= graph->list.count)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ORDER, "graph: node %zu cannot follow node %u, which is not there yet",
                             graph->list.count, after[i]);
  return HRX_OK;
}

/* There is room for all of it. */
static void add(struct hrx_gpu_graph *graph, const struct gpu_node *node, const struct access *accesses, const hrx_view *views,
                size_t view_count, const hrx_node *after, size_t after_count, hrx_node *out_node) {
  struct gpu_graph_list *list = &graph->list;
  struct gpu_node *added = &list->nodes[list->count];
  *added = *node;
  added->first_after = (uint32_t)list->after_count;
  added->after_count = (uint32_t)after_count;
  added->first_access = (uint32_t)list->access_count;
  if (after_count != 0) memcpy(list->after + list->after_count, after, after_count * sizeof *after);
  list->after_count += after_count;
  if (node->access_count != 0) memcpy(list->accesses + list->access_count, accesses, node->access_count * sizeof *accesses);
  list->access_count += node->access_count;
  for (size_t i = 0; i < view_count; i++) {
    struct access whole = view_access(views[i], HRX_READ);
    backing_include(graph, &whole, views[i].buffer->backing);
  }
  if (out_node != NULL) *out_node = (hrx_node)list->count;
  list->count++;
}

hrx_status hrx_gpu_graph_fill(hrx_gpu_graph *graph, hrx_view view, uint8_t byte, const hrx_node *after, size_t after_count,
                              hrx_node *out_node) {
  hrx_status status = stream_view_check(graph->stream, view, "fill");
  if (status == HRX_OK) status = after_check(graph, after, after_count);
  if (status == HRX_OK) status = reserve(&graph->list, after_count, 1, 0);
  if (status != HRX_OK) return status;
  struct gpu_node node = {.kind = TASK_FILL, .byte = byte, .bytes = view.bytes, .destination = view_address(view), .access_count = 1};
  struct access access = view_access(view, HRX_WRITE);
  add(graph, &node, &access, &view, 1, after, after_count, out_node);
  return HRX_OK;
}

hrx_status hrx_gpu_graph_copy(hrx_gpu_graph *graph, hrx_view destination, hrx_view source, const hrx_node *after,
                              size_t after_count, hrx_node *out_node) {
  hrx_status status = stream_view_check(graph->stream, destination, "copy destination");
  if (status == HRX_OK) status = stream_view_check(graph->stream, source, "copy source");
  if (status == HRX_OK) status = copy_views_check(destination, source);
  if (status == HRX_OK) status = after_check(graph, after, after_count);
  if (status == HRX_OK) status = reserve(&graph->list, after_count, 2, 0);
  if (status != HRX_OK) return status;
  struct gpu_node node = {.kind = TASK_COPY, .bytes = source.bytes, .destination = view_address(destination),
                          .source = view_address(source), .access_count = 2};
  struct access accesses[] = {view_access(source, HRX_READ), view_access(destination, HRX_WRITE)};
  hrx_view views[] = {source, destination};
  add(graph, &node, accesses, views, 2, after, after_count, out_node);
  return HRX_OK;
}

hrx_status hrx_gpu_graph_dispatch(hrx_gpu_graph *graph, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                                  uint32_t dynamic_lds, const hrx_view *views, size_t count, const void *constants,
                                  size_t constant_bytes, const hrx_node *after, size_t after_count, hrx_node *out_node) {
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_gpu_graph_dispatch: NULL kernel");
  struct gpu_graph_list *list = &graph->list;
  size_t segment_bytes = gpu_kernel_code(kernel->kernel)->explicit_bytes;
  hrx_status status = after_check(graph, after, after_count);
  if (status == HRX_OK) status = reserve(list, after_count, count <= BINDINGS_MOST ? count : BINDINGS_MOST, segment_bytes);
  if (status != HRX_OK) return status;
  struct gpu_node node = {.kind = TASK_DISPATCH, .kernel = kernel, .arguments_at = list->byte_count};
  struct access accesses[BINDINGS_MOST];
  unsigned access_count;
  status = stream_launch_write(graph->stream, kernel, grid, block, dynamic_lds, views, count, constants, constant_bytes,
                               list->bytes + list->byte_count, &node.launch, accesses, &access_count);
  struct gpu_dispatch *trial = NULL; /* what only the device can check, it checks now and not when the graph is finished */
  if (status == HRX_OK) status = gpu_dispatch_create(kernel->kernel, &node.launch, &trial);
  gpu_dispatch_release(trial);
  if (status != HRX_OK) return status;
  node.access_count = access_count;
  hrx_stream_kernel_retain(kernel);
  list->byte_count += segment_bytes;
  add(graph, &node, accesses, views, count, after, after_count, out_node);
  return HRX_OK;
}

hrx_status hrx_gpu_graph_join(hrx_gpu_graph *graph, const hrx_node *after, size_t after_count, hrx_node *out_node) {
  hrx_status status = after_check(graph, after, after_count);
  if (status == HRX_OK) status = reserve(&graph->list, after_count, 0, 0);
  if (status != HRX_OK) return status;
  struct gpu_node node = {.kind = TASK_JOIN};
  add(graph, &node, NULL, NULL, 0, after, after_count, out_node);
  return HRX_OK;
}

/* --- finishing --- */

static hrx_status payload_make(void *context, uint32_t index, struct task *io_task) {
  const struct hrx_gpu_executable *executable = context;
  const struct gpu_node *node = &executable->list.nodes[index];
  if (node->kind != TASK_DISPATCH) return HRX_OK;
  struct gpu_launch launch = node->launch;
  launch.arguments = executable->list.bytes + node->arguments_at;
  return gpu_dispatch_create(node->kernel->kernel, &launch, &io_task->dispatch);
}

static hrx_status payload_renew(void *context, uint32_t index, struct task *io_task) {
  (void)context; /* nothing of an explicit graph changes */
  (void)index;
  (void)io_task;
  return HRX_OK;
}

static void executable_free(void *context) {
  struct hrx_gpu_executable *executable = context;
  struct hrx_runtime *runtime = executable->runtime;
  list_finish(&executable->list);
  for (size_t i = 0; executable->labels != NULL && i < executable->label_count; i++) free(executable->labels[i]);
  free(executable->labels);
  free(executable->times);
  pthread_mutex_destroy(&executable->lock);
  free(executable);
  hrx_runtime_release(runtime);
}

static void *copied(const void *items, size_t bytes) {
  void *copy = block_take_unset(bytes + 1, 1);
  if (copy != NULL && bytes != 0) memcpy(copy, items, bytes);
  return copy;
}

/* The graph can be released or recorded further: the executable has its own. */
static bool list_copy(const struct gpu_graph_list *list, struct gpu_graph_list *out_copy) {
  struct gpu_graph_list copy = *list;
  copy.nodes = copied(list->nodes, list->count * sizeof *list->nodes);
  copy.after = copied(list->after, list->after_count * sizeof *list->after);
  copy.accesses = copied(list->accesses, list->access_count * sizeof *list->accesses);
  copy.bytes = copied(list->bytes, list->byte_count);
  copy.backings = copied(list->backings, list->backing_capacity * sizeof(*list->backings));
  if (copy.nodes == NULL || copy.after == NULL || copy.accesses == NULL || copy.bytes == NULL || copy.backings == NULL) {
    block_return(copy.nodes);
    block_return(copy.after);
    block_return(copy.accesses);
    block_return(copy.bytes);
    block_return(copy.backings);
    return false;
  }
  for (size_t i = 0; i < copy.count; i++) hrx_stream_kernel_retain(copy.nodes[i].kernel);
  for (size_t i = 0; i < copy.backing_capacity; i++)
    if (copy.backings[i] != NULL) backing_retain(copy.backings[i]);
  *out_copy = copy;
  return true;
}

static void node_write(const struct gpu_graph_list *list, const struct gpu_node *node, struct graph_node *out_node) {
  *out_node = (struct graph_node){.lane_class = node->kind == TASK_COPY ? LANE_COPY : LANE_COMPUTE,
                                  .after = list->after + node->first_after,
                                  .after_count = node->after_count};
  struct task *task = &out_node->task;
  size_t bytes = node->bytes;
  task->kind = node->kind;
  task->accesses = list->accesses + node->first_access;
  task->access_count = node->access_count;
  if (node->kind == TASK_FILL)
    task->fill = (struct task_fill){.destination = (void *)node->destination, .pitch = bytes, .slice_pitch = bytes, .width = bytes,
                                    .height = 1, .depth = 1, .pattern = node->byte, .element_bytes = 1};
  if (node->kind == TASK_COPY)
    task->copy = (struct task_copy){.destination = (void *)node->destination, .destination_pitch = bytes,
                                    .destination_slice_pitch = bytes, .source = (const void *)node->source, .source_pitch = bytes,
                                    .source_slice_pitch = bytes, .width = bytes, .height = 1, .depth = 1};
  if (node->kind == TASK_DISPATCH) task->label = gpu_kernel_code(node->kernel->kernel)->name;
}

/* One after the other, with marks: each node but a join also follows the one before it. `after` has room for one more a node. */
static void serialise(struct hrx_gpu_executable *executable, struct graph_node *nodes, uint32_t *after) {
  size_t label = 0;
  uint32_t before = UINT32_MAX;
  for (uint32_t i = 0; i < executable->list.count; i++) {
    struct graph_node *node = &nodes[i];
    if (node->task.kind == TASK_JOIN) continue;
    if (before != UINT32_MAX) {
      if (node->after_count != 0) memcpy(after, node->after, node->after_count * sizeof *after);
      after[node->after_count++] = before;
      node->after = after;
      after += node->after_count;
    }
    before = i;
    node->task.label = executable->labels[label];
    node->task.out_started_ns = &executable->times[2 * label];
    node->task.out_finished_ns = &executable->times[2 * label + 1];
    label++;
  }
}

static bool labels_copy(struct hrx_gpu_executable *executable, const char *const *labels, size_t count) {
  executable->labels = calloc(count + 1, sizeof(*executable->labels));
  executable->times = calloc(2 * count + 1, sizeof *executable->times);
  executable->label_count = count;
  bool done = executable->labels != NULL && executable->times != NULL;
  for (size_t i = 0; done && i < count; i++) done = (executable->labels[i] = strdup(labels[i] != NULL ? labels[i] : "")) != NULL;
  return done;
}

hrx_status gpu_graph_finish(struct hrx_gpu_graph *graph, const char *const *labels, size_t count,
                            hrx_gpu_executable **out_executable) {
  struct gpu_graph_list *list = &graph->list;
  if (out_executable == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "graph: NULL result");
  if (list->count == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "a graph without nodes");
  struct hrx_runtime *runtime = graph->stream->runtime;
  struct hrx_gpu_executable *executable = calloc(1, sizeof *executable);
  struct graph_node *nodes = block_take_unset(list->count, sizeof *nodes);
  uint32_t *after = block_take_unset(list->after_count + list->count + 1, sizeof *after);
  hrx_status status = HRX_OK;
  bool made = executable != NULL && nodes != NULL && after != NULL && list_copy(list, &executable->list);
  if (made) {
    executable->runtime = hrx_runtime_retain(runtime);
    pthread_mutex_init(&executable->lock, NULL);
  }
  if (!made || (labels != NULL && !labels_copy(executable, labels, count)))
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to finish a graph of %zu nodes", list->count);
  if (status == HRX_OK) {
    for (size_t i = 0; i < list->count; i++) node_write(&executable->list, &executable->list.nodes[i], &nodes[i]);
    if (labels != NULL) serialise(executable, nodes, after);
    struct graph_options options = {.order = GRAPH_EXPLICIT,
                                    .slots = labels != NULL ? 1 : GPU_EXECUTABLE_SLOTS,
                                    .lanes = {[LANE_COMPUTE] = runtime->options.compute_lanes},
                                    .client = {payload_make, payload_renew, executable_free, executable}};
    status = graph_prepare(runtime->domain->engine, &options, nodes, (uint32_t)list->count, &executable->graph);
  }
  block_return(nodes);
  block_return(after);
  if (status != HRX_OK) {
    if (made)
      executable_free(executable);
    else
      free(executable);
    return status;
  }
  atomic_fetch_add_explicit(&runtime->statistics.graphs, 1, memory_order_relaxed);
  *out_executable = executable;
  return HRX_OK;
}

hrx_status hrx_gpu_graph_finish(hrx_gpu_graph *graph, hrx_gpu_executable **out_executable) {
  return gpu_graph_finish(graph, NULL, 0, out_executable);
}
