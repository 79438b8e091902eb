/* The recorder: every call checks everything first, then adds. */
#include <stdlib.h>

#include "code/kernel.h"
#include "native/record.h"

hrx_status hrx_graph_create(hrx_runtime *runtime, hrx_graph **out_graph) {
  if (runtime == NULL || out_graph == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_graph_create: NULL %s", runtime == NULL ? "runtime" : "result");
  struct hrx_graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a graph");
  graph->runtime = hrx_runtime_retain(runtime);
  *out_graph = graph;
  return HRX_OK;
}

void hrx_graph_release(hrx_graph *graph) {
  if (graph == NULL) return;
  record_list_finish(&graph->list);
  hrx_runtime_release(graph->runtime);
  free(graph);
}

size_t hrx_graph_node_count(const hrx_graph *graph) { return graph->list.count; }

static hrx_status add(hrx_graph *graph, const struct record *record, const struct hrx_view_access *accesses, size_t count,
                      hrx_node *out_node) {
  hrx_status status = record_list_reserve(&graph->list, count);
  if (status != HRX_OK) return status;
  if (out_node != NULL) *out_node = (hrx_node)graph->list.count;
  record_list_add(&graph->list, record, accesses, count);
  return HRX_OK;
}

static uint8_t npu_lane(unsigned npu) { return (uint8_t)(LANE_NPU + npu); }

hrx_status hrx_graph_fill(hrx_graph *graph, hrx_view view, uint8_t byte, hrx_node *out_node) {
  hrx_status status = view_check(graph->runtime, view, "fill");
  if (status != HRX_OK) return status;
  struct record record = {.kind = RECORD_FILL, .byte = byte, .lane = LANE_COMPUTE};
  if (view.buffer->placement == HRX_NPU_LOCAL) record.lane = npu_lane(view.buffer->npu);
  return add(graph, &record, &(struct hrx_view_access){view, HRX_WRITE}, 1, out_node);
}

/* The NPU whose local memory the copy touches, else one that shares it. */
static bool copy_npu(hrx_view destination, hrx_view source, unsigned *out_npu) {
  const struct hrx_buffer *ends[] = {destination.buffer, source.buffer};
  for (unsigned i = 0; i < 2; i++)
    if (ends[i]->placement == HRX_NPU_LOCAL) {
      *out_npu = ends[i]->npu;
      return true;
    }
  *out_npu = destination.buffer->placement == HRX_SHARED ? destination.buffer->npu
             : source.buffer->placement == HRX_SHARED    ? source.buffer->npu
                                                         : 0;
  return false;
}

hrx_status hrx_graph_copy_on(hrx_graph *graph, hrx_lane lane, hrx_view destination, hrx_view source, hrx_node *out_node) {
  hrx_status status = view_check(graph->runtime, destination, "copy destination");
  if (status == HRX_OK) status = view_check(graph->runtime, source, "copy source");
  if (status == HRX_OK) status = copy_views_check(destination, source);
  if (status != HRX_OK) return status;
  unsigned npu;
  bool local = copy_npu(destination, source, &npu);
  struct record record = {.kind = RECORD_COPY};
  switch (lane) {
  case HRX_LANE_AUTO: record.lane = local ? npu_lane(npu) : LANE_COPY; break;
  case HRX_LANE_COMPUTE: record.lane = LANE_COMPUTE; break;
  case HRX_LANE_COPY: record.lane = LANE_COPY; break;
  case HRX_LANE_NPU: record.lane = npu_lane(npu); break;
  case HRX_LANE_HOST: record.lane = LANE_HOST; break;
  default: return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "copy: %d is no lane", (int)lane);
  }
  struct hrx_view_access accesses[] = {{destination, HRX_WRITE}, {source, HRX_READ}};
  return add(graph, &record, accesses, 2, out_node);
}

hrx_status hrx_graph_copy(hrx_graph *graph, hrx_view destination, hrx_view source, hrx_node *out_node) {
  return hrx_graph_copy_on(graph, HRX_LANE_AUTO, destination, source, out_node);
}

/* Views that passed contract_check, with the contract's accesses. */
static hrx_status kernel_add(hrx_graph *graph, const struct record *record, const struct hrx_contract *contract,
                             const hrx_view *views, size_t count, hrx_node *out_node) {
  struct hrx_view_access accesses[BINDINGS_MOST];
  for (size_t i = 0; i < count; i++) accesses[i] = (struct hrx_view_access){views[i], contract->bindings[i].access};
  return add(graph, record, accesses, count, out_node);
}

static hrx_status argument_missing(const char *call, const char *what) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%s: NULL %s", call, what);
}

static hrx_status gpu(hrx_graph *graph, hrx_gpu_kernel *kernel, const hrx_view *views, size_t count, bool aliasing,
                      hrx_node *out_node) {
  if (kernel == NULL) return argument_missing("hrx_graph_gpu", "kernel");
  const char *name = gpu_kernel_code(kernel->kernel)->name;
  if (kernel->code->runtime->domain != graph->runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "kernel %s belongs to another runtime", name);
  hrx_status status = contract_check(kernel->contract, graph->runtime, NULL, views, count, aliasing, name);
  if (status != HRX_OK) return status;
  struct record record = {.kind = RECORD_GPU, .lane = LANE_COMPUTE, .aliasing = aliasing, .gpu = kernel};
  return kernel_add(graph, &record, kernel->contract, views, count, out_node);
}

hrx_status hrx_graph_gpu(hrx_graph *graph, hrx_gpu_kernel *kernel, const hrx_view *views, size_t count, hrx_node *out_node) {
  return gpu(graph, kernel, views, count, false, out_node);
}

hrx_status hrx_graph_gpu_aliasing(hrx_graph *graph, hrx_gpu_kernel *kernel, const hrx_view *views, size_t count,
                                  hrx_node *out_node) {
  return gpu(graph, kernel, views, count, true, out_node);
}

static hrx_status npu(hrx_graph *graph, hrx_npu_kernel *kernel, const hrx_view *views, size_t count, bool aliasing,
                      hrx_node *out_node) {
  if (kernel == NULL) return argument_missing("hrx_graph_npu", "kernel");
  const char *name = npu_program_info(kernel->program)->name;
  if (kernel->runtime->domain != graph->runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "NPU kernel %s belongs to another runtime", name);
  hrx_status status = contract_check(kernel->contract, graph->runtime, kernel->npu->device, views, count, aliasing, name);
  if (status != HRX_OK) return status;
  struct record record = {.kind = RECORD_NPU, .lane = npu_lane(kernel->npu->index), .aliasing = aliasing, .npu = kernel};
  return kernel_add(graph, &record, kernel->contract, views, count, out_node);
}

hrx_status hrx_graph_npu(hrx_graph *graph, hrx_npu_kernel *kernel, const hrx_view *views, size_t count, hrx_node *out_node) {
  return npu(graph, kernel, views, count, false, out_node);
}

hrx_status hrx_graph_npu_aliasing(hrx_graph *graph, hrx_npu_kernel *kernel, const hrx_view *views, size_t count,
                                  hrx_node *out_node) {
  return npu(graph, kernel, views, count, true, out_node);
}

static hrx_status host_access_check(const hrx_graph *graph, const hrx_view_access *access, size_t index) {
  hrx_status status = view_check(graph->runtime, access->view, "host function");
  if (status != HRX_OK) return status;
  if (access->access < HRX_READ || access->access > HRX_ATOMIC)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "host function: access %zu is of kind %d", index, (int)access->access);
  hrx_placement placement = access->view.buffer->placement;
  if (placement == HRX_GPU_LOCAL || placement == HRX_NPU_LOCAL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "host function: access %zu is to memory that the host cannot reach",
                           index);
  return HRX_OK;
}

hrx_status hrx_graph_host(hrx_graph *graph, const hrx_view_access *accesses, size_t count, hrx_host_function function,
                          void *context, void (*release)(void *context), hrx_node *out_node) {
  if (function == NULL) return argument_missing("hrx_graph_host", "function");
  if (accesses == NULL && count != 0) return argument_missing("hrx_graph_host", "accesses");
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < count; i++) status = host_access_check(graph, &accesses[i], i);
  if (status != HRX_OK) return status;
  struct host_part *host = malloc(sizeof *host);
  if (host == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a host function");
  *host = (struct host_part){.function = function, .context = context, .release = release};
  struct record record = {.kind = RECORD_HOST, .lane = LANE_HOST, .host = host};
  status = add(graph, &record, accesses, count, out_node);
  if (status != HRX_OK) free(host); /* the context stays the caller's */
  return status;
}

hrx_status hrx_graph_join(hrx_graph *graph, hrx_node *out_node) {
  struct record record = {.kind = RECORD_JOIN, .lane = LANE_COMPUTE};
  return add(graph, &record, NULL, 0, out_node);
}
