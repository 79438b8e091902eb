/* Executables: recorded operations prepared as a graph of the engine, and the payloads of its instances. */
#include "native/executable.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "code/kernel.h"

enum { SEGMENT_STACK = 4096 };

/* --- payloads --- */

static void addresses_of(const struct hrx_executable *executable, const struct record *record, uintptr_t *out_addresses) {
  for (uint32_t i = 0; i < record->count; i++) out_addresses[i] = view_address(executable->list.accesses[record->first + i].view);
}

/* Writes the arguments as they are now and makes or updates the dispatch. */
static hrx_status gpu_payload(const struct hrx_executable *executable, const struct record *record, bool update, struct task *io_task) {
  const struct hrx_gpu_kernel *kernel = record->gpu;
  const struct kernel_code *code = gpu_kernel_code(kernel->kernel);
  uint8_t few[SEGMENT_STACK], *segment = code->explicit_bytes <= sizeof few ? few : malloc(code->explicit_bytes);
  if (segment == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "kernel %s: no memory for its arguments", code->name);
  uintptr_t addresses[BINDINGS_MOST];
  addresses_of(executable, record, addresses);
  const void *constants = record->constants != NULL ? record->constants : kernel->constants;
  hrx_status status = kernel_arguments_write(code, addresses, record->count, constants, kernel->constant_bytes, segment);
  struct gpu_launch launch = kernel->launch;
  launch.arguments = segment;
  launch.argument_bytes = code->explicit_bytes;
  if (status == HRX_OK)
    status = update ? gpu_dispatch_update(io_task->dispatch, &launch) : gpu_dispatch_create(kernel->kernel, &launch, &io_task->dispatch);
  if (segment != few) free(segment);
  return status;
}

static void invocation_release(void *invocation) { npu_invocation_release(invocation); }

static hrx_status npu_payload_make(const struct hrx_executable *executable, const struct record *record, struct task *io_task) {
  const struct hrx_npu_kernel *kernel = record->npu;
  struct npu_binding bindings[BINDINGS_MOST];
  for (uint32_t i = 0; i < record->count; i++) {
    hrx_view view = executable->list.accesses[record->first + i].view;
    bindings[i] = (struct npu_binding){(void *)view_address(view), view.bytes};
  }
  const void *constants = record->constants != NULL ? record->constants : kernel->constants;
  struct npu_invocation *invocation;
  hrx_status status = npu_invocation_create(kernel->program, bindings, record->count, constants, kernel->constant_bytes, &invocation);
  if (status != HRX_OK) return status;
  io_task->device.start = npu_invocation_start;
  io_task->device.cancel = npu_invocation_cancel;
  io_task->device.release = invocation_release;
  io_task->device.payload = invocation;
  return HRX_OK;
}

static hrx_status npu_payload_renew(const struct hrx_executable *executable, const struct record *record, const struct task *task) {
  const struct hrx_npu_kernel *kernel = record->npu;
  uintptr_t numbers[BINDINGS_MOST];
  void *addresses[BINDINGS_MOST];
  addresses_of(executable, record, numbers);
  for (uint32_t i = 0; i < record->count; i++) addresses[i] = (void *)numbers[i];
  const void *constants = record->constants != NULL ? record->constants : kernel->constants;
  hrx_status status = npu_invocation_rebind(task->device.payload, addresses, record->count);
  if (status == HRX_OK) status = npu_invocation_constants(task->device.payload, constants, kernel->constant_bytes);
  return status;
}

static hrx_status payload_make(void *context, uint32_t node, struct task *io_task) {
  struct hrx_executable *executable = context;
  const struct record *record = &executable->list.records[node];
  pthread_mutex_lock(&executable->lock);
  hrx_status status = HRX_OK;
  if (record->kind == RECORD_GPU) status = gpu_payload(executable, record, false, io_task);
  if (record->kind == RECORD_NPU) status = npu_payload_make(executable, record, io_task);
  pthread_mutex_unlock(&executable->lock);
  return status;
}

static hrx_status payload_renew(void *context, uint32_t node, struct task *io_task) {
  struct hrx_executable *executable = context;
  const struct record *record = &executable->list.records[node];
  pthread_mutex_lock(&executable->lock);
  hrx_status status = HRX_OK;
  if (record->kind == RECORD_GPU) status = gpu_payload(executable, record, true, io_task);
  if (record->kind == RECORD_NPU) status = npu_payload_renew(executable, record, io_task);
  pthread_mutex_unlock(&executable->lock);
  return status;
}

/* --- nodes --- */

/* A function that fails without saying why must not show what this thread failed at before. */
static hrx_status host_call(void *context) {
  const struct host_part *host = context;
  hrx_fail(HRX_EXECUTION, "a host function of a graph failed");
  return host->function(host->context);
}

static void node_write(const struct record_list *list, const struct record *record, struct access *accesses,
                       struct graph_node *out_node) {
  const struct hrx_view_access *views = &list->accesses[record->first];
  *out_node = (struct graph_node){.lane_class = record->lane};
  struct task *task = &out_node->task;
  task->accesses = accesses;
  task->access_count = (unsigned)accesses_merge(views, record->count, accesses);
  task->label = record_label(record);
  size_t bytes = record->count != 0 ? views[0].view.bytes : 0;
  switch ((enum record_kind)record->kind) {
  case RECORD_FILL:
    task->kind = TASK_FILL;
    task->fill = (struct task_fill){.destination = (void *)view_address(views[0].view), .pitch = bytes, .slice_pitch = bytes,
                                    .width = bytes, .height = 1, .depth = 1, .pattern = record->byte, .element_bytes = 1};
    break;
  case RECORD_COPY:
    task->kind = TASK_COPY;
    task->copy = (struct task_copy){.destination = (void *)view_address(views[0].view), .destination_pitch = bytes,
                                    .destination_slice_pitch = bytes, .source = (const void *)view_address(views[1].view),
                                    .source_pitch = bytes, .source_slice_pitch = bytes, .width = bytes, .height = 1, .depth = 1};
    break;
  case RECORD_GPU: task->kind = TASK_DISPATCH; break;
  case RECORD_NPU: task->kind = TASK_DEVICE; break;
  case RECORD_HOST:
    task->kind = TASK_HOST;
    task->host.call = host_call;
    task->host.context = record->host;
    break;
  case RECORD_JOIN:
    task->kind = TASK_JOIN;
    task->opaque = true;
    break;
  }
}

/* --- life --- */

/* The graph and all its runs are gone. */
static void executable_free(void *context) {
  struct hrx_executable *executable = context;
  struct hrx_runtime *runtime = executable->runtime;
  record_list_finish(&executable->list);
  for (struct hrx_completion *completion = executable->pool, *next; completion != NULL; completion = next) {
    next = completion->next;
    free(completion);
  }
  pthread_mutex_destroy(&executable->lock);
  free(executable);
  hrx_runtime_release(runtime);
}

static hrx_status prepare(struct hrx_executable *executable, struct graph_node *nodes, struct access *accesses) {
  struct hrx_runtime *runtime = executable->runtime;
  const struct record_list *list = &executable->list;
  for (size_t i = 0; i < list->count; i++)
    node_write(list, &list->records[i], accesses + list->records[i].first, &nodes[i]);
  struct graph_options options = {
      .order = GRAPH_INFERRED,
      .slots = runtime->options.graph_slots,
      .lanes = {[LANE_COMPUTE] = runtime->options.compute_lanes},
      .capacity = &runtime->capacity,
      .client = {payload_make, payload_renew, executable_free, executable},
      .keep_edges = true,
  };
  return graph_prepare(runtime->domain->engine, &options, nodes, (uint32_t)list->count, &executable->graph);
}

hrx_status hrx_graph_prepare(hrx_graph *graph, hrx_executable **out_executable) {
  if (out_executable == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_graph_prepare: NULL result");
  if (graph->list.count == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "a graph without operations");
  struct hrx_executable *executable = calloc(1, sizeof *executable);
  struct graph_node *nodes = block_take_unset(graph->list.count, sizeof *nodes);
  struct access *accesses = block_take_unset(graph->list.access_count + 1, sizeof *accesses);
  hrx_status status = executable != NULL && nodes != NULL && accesses != NULL
                          ? record_list_copy(&graph->list, &executable->list)
                          : hrx_fail(HRX_OUT_OF_MEMORY, "no memory to prepare %zu operations", graph->list.count);
  if (status == HRX_OK) {
    atomic_init(&executable->references, 1);
    executable->runtime = hrx_runtime_retain(graph->runtime);
    pthread_mutex_init(&executable->lock, NULL);
    status = prepare(executable, nodes, accesses);
    if (status != HRX_OK) {
      executable_free(executable);
      executable = NULL;
    }
  }
  block_return(nodes);
  block_return(accesses);
  if (status != HRX_OK) {
    free(executable);
    return status;
  }
  struct graph_statistics found;
  graph_statistics(executable->graph, &found);
  atomic_fetch_add_explicit(&graph->runtime->statistics.graphs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&graph->runtime->statistics.edges_inferred, found.inferred, memory_order_relaxed);
  atomic_fetch_add_explicit(&graph->runtime->statistics.edges_reduced, found.reduced, memory_order_relaxed);
  *out_executable = executable;
  return HRX_OK;
}

hrx_executable *hrx_executable_retain(hrx_executable *executable) {
  if (executable != NULL) atomic_fetch_add_explicit(&executable->references, 1, memory_order_relaxed); /* the caller has one */
  return executable;
}

void hrx_executable_release(hrx_executable *executable) {
  /* acq_rel: what others did with it comes before its end */
  if (executable == NULL || atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1) return;
  graph_release(executable->graph); /* frees the executable when its runs are gone */
}
