/* What graph nodes hold: kernels, copies, fills and host functions, and the calls that add, read and change them. */
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/graph.h"
#include "interpose/handle.h"
#include "interpose/memset_parameters.h"

void node_content_finish(struct hipGraphNode *node) {
  if (node->type != hipGraphNodeTypeKernel) return;
  free((void *)(uintptr_t)node->kernel.launch.arguments);
  free(node->kernel.pointers);
  node->kernel.launch.arguments = NULL;
  node->kernel.pointers = NULL;
}

bool node_is_copy(const struct hipGraphNode *node) {
  return node->type == hipGraphNodeTypeMemcpy || node->type == hipGraphNodeTypeMemcpy1D ||
         node->type == hipGraphNodeTypeMemcpyFromSymbol || node->type == hipGraphNodeTypeMemcpyToSymbol;
}

/* Takes over `arguments` (malloc'd, packed) on success. */
static hipError_t kernel_replace(struct hipGraphNode *node, const struct launch_operation *launch, void *arguments) {
  const struct kernel_code *code = launch->function->code;
  void **pointers = code->explicit_count == 0 ? NULL : malloc(code->explicit_count * sizeof *pointers);
  if (pointers == NULL && code->explicit_count != 0) return hipErrorOutOfMemory;
  for (uint32_t i = 0; i < code->explicit_count; i++) pointers[i] = (char *)arguments + code->arguments[i].offset;
  node_content_finish(node);
  node->kernel.launch = *launch;
  node->kernel.launch.arguments = arguments;
  node->kernel.pointers = pointers;
  hipKernelNodeParams *shown = &node->kernel.parameters;
  shown->kernelParams = pointers;
  shown->extra = NULL;
  shown->sharedMemBytes = launch->dynamic_lds;
  shown->blockDim = (dim3){launch->block[0], launch->block[1], launch->block[2]};
  shown->gridDim = (dim3){launch->grid[0] / launch->block[0], launch->grid[1] / launch->block[1],
                          launch->grid[2] / launch->block[2]};
  return hipSuccess;
}

hipError_t node_set_launch(struct hipGraphNode *node, const struct launch_operation *launch) {
  size_t bytes = launch->function->code->explicit_bytes;
  void *arguments = calloc(1, bytes + 1);
  if (arguments == NULL) return hipErrorOutOfMemory;
  if (launch->argument_bytes != 0)
    memcpy(arguments, launch->arguments, launch->argument_bytes < bytes ? launch->argument_bytes : bytes);
  struct launch_operation kept = *launch;
  kept.argument_bytes = bytes;
  hipError_t error = kernel_replace(node, &kept, arguments);
  if (error == hipSuccess) node->kernel.parameters.func = launch->function;
  else free(arguments);
  return error;
}

hipError_t node_set_kernel(struct hipGraphNode *node, const hipKernelNodeParams *parameters) {
  struct launch_operation launch = {0};
  struct hip_device *device = NULL;
  if (parameters->func == NULL) return hipErrorInvalidDeviceFunction;
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = function_find(parameters->func, device, &launch.function);
  if (error == hipSuccess)
    error = launch_geometry(&launch, parameters->gridDim, parameters->blockDim, parameters->sharedMemBytes);
  if (error != hipSuccess) return error;
  void *arguments = calloc(1, (size_t)launch.function->code->explicit_bytes + 1);
  if (arguments == NULL) return hipErrorOutOfMemory;
  /* the pointers may be the node's own, edited in place: pack before they are replaced */
  void *func = parameters->func;
  error = launch_pack(launch.function, parameters->kernelParams, parameters->extra, arguments, &launch.argument_bytes);
  if (error == hipSuccess) error = kernel_replace(node, &launch, arguments);
  if (error == hipSuccess) node->kernel.parameters.func = func;
  else free(arguments);
  return error;
}

hipError_t node_set_copy(struct hipGraphNode *node, const struct copy_operation *operation) {
  hipError_t error = copy_operation_check(operation);
  if (error != hipSuccess) return error;
  node->copy.operation = *operation;
  memset(&node->copy.parameters, 0, sizeof node->copy.parameters);
  return hipSuccess;
}

hipError_t node_set_copy3d(struct hipGraphNode *node, const hipMemcpy3DParms *parameters) {
  struct copy_operation operation;
  hipError_t error = copy3d_operation(parameters, &operation);
  if (error == hipSuccess) error = node_set_copy(node, &operation);
  if (error == hipSuccess) node->copy.parameters = *parameters;
  return error;
}

hipError_t node_set_memset(struct hipGraphNode *node, const hipMemsetParams *given) {
  hipMemsetParams own = memset_parameters_read(given, caller_hip_version());
  const hipMemsetParams *parameters = &own;
  unsigned element = parameters->elementSize;
  if (element != 1 && element != 2 && element != 4) return hipErrorInvalidValue;
  struct task_fill fill = {.destination = parameters->dst,
                           .pitch = parameters->pitch,
                           .height = parameters->height,
                           .depth = 1,
                           .pattern = parameters->value,
                           .element_bytes = element};
  if (__builtin_mul_overflow(parameters->width, (size_t)element, &fill.width)) return hipErrorInvalidValue;
  if (fill.width == 0 || fill.height == 0 || fill.destination == NULL) return hipErrorInvalidValue;
  hipError_t error = fill_operation_check(&fill);
  if (error != hipSuccess) return error;
  node->fill.fill = fill;
  node->fill.parameters = *parameters;
  return hipSuccess;
}

hipError_t node_set_host(struct hipGraphNode *node, const hipHostNodeParams *parameters) {
  if (parameters->fn == NULL) return hipErrorInvalidValue;
  node->host = *parameters;
  return hipSuccess;
}

hipError_t node_copy_content(struct hipGraphNode *to, const struct hipGraphNode *from) {
  if (from->type == hipGraphNodeTypeKernel) {
    hipError_t error = node_set_launch(to, &from->kernel.launch);
    if (error == hipSuccess) to->kernel.parameters.func = from->kernel.parameters.func;
    return error;
  }
  if (node_is_copy(from)) to->copy = from->copy;
  else if (from->type == hipGraphNodeTypeMemset) to->fill = from->fill;
  else if (from->type == hipGraphNodeTypeHost) to->host = from->host;
  return hipSuccess;
}

/* Every call that adds a node: `out_node`, `graph`, `dependencies` and `count` are its arguments, and `content` fills in the
 * `node`. If it cannot, the graph is as it was. */
#define ADD_RETURN(name, type, valid, content)                                                                                 \
  struct hipGraphNode *node = NULL;                                                                                            \
  hipError_t error = out_node != NULL && (valid) ? hipSuccess : hipErrorInvalidValue;                                          \
  if (error == hipSuccess) error = graph_node_add(graph, type, dependencies, count, &node);                                    \
  if (error == hipSuccess && (error = (content)) != hipSuccess) graph_node_remove(node);                                       \
  else if (error == hipSuccess) *out_node = node;                                                                              \
  ENTRY_RETURN(name, error)

hipError_t entry_hipGraphAddKernelNode(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                       size_t count, const hipKernelNodeParams *parameters) {
  ADD_RETURN(hipGraphAddKernelNode, hipGraphNodeTypeKernel, parameters != NULL, node_set_kernel(node, parameters));
}

static struct copy_operation linear(void *dst, const void *src, size_t bytes, hipMemcpyKind kind) {
  return (struct copy_operation){
      .copy = {.destination = dst, .source = src, .width = bytes, .height = 1, .depth = 1}, .kind = kind};
}

hipError_t entry_hipGraphAddMemcpyNode1D(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                         size_t count, void *dst, const void *src, size_t bytes, hipMemcpyKind kind) {
  struct copy_operation operation = linear(dst, src, bytes, kind);
  ADD_RETURN(hipGraphAddMemcpyNode1D, hipGraphNodeTypeMemcpy1D, dst != NULL && src != NULL && bytes != 0,
             node_set_copy(node, &operation));
}

hipError_t entry_hipGraphAddMemcpyNode(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                       size_t count, const hipMemcpy3DParms *parameters) {
  ADD_RETURN(hipGraphAddMemcpyNode, hipGraphNodeTypeMemcpy, parameters != NULL, node_set_copy3d(node, parameters));
}

/* The address of `offset` in a variable that has at least `bytes` behind it. */
static hipError_t symbol_range(const void *symbol, size_t offset, size_t bytes, char **out_address) {
  struct hip_device *device = NULL;
  void *address = NULL;
  size_t size = 0;
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = symbol_find(symbol, device, &address, &size);
  if (error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  *out_address = (char *)address + offset;
  return hipSuccess;
}

hipError_t entry_hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *out_node, hipGraph_t graph,
                                                 const hipGraphNode_t *dependencies, size_t count, void *dst,
                                                 const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  char *address = NULL;
  hipError_t found = dst == NULL || bytes == 0 ? hipErrorInvalidValue : symbol_range(symbol, offset, bytes, &address);
  if (found != hipSuccess) ENTRY_RETURN(hipGraphAddMemcpyNodeFromSymbol, found);
  struct copy_operation operation = linear(dst, address, bytes, kind);
  ADD_RETURN(hipGraphAddMemcpyNodeFromSymbol, hipGraphNodeTypeMemcpyFromSymbol, true, node_set_copy(node, &operation));
}

hipError_t entry_hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *out_node, hipGraph_t graph,
                                               const hipGraphNode_t *dependencies, size_t count, const void *symbol,
                                               const void *src, size_t bytes, size_t offset, hipMemcpyKind kind) {
  char *address = NULL;
  hipError_t found = src == NULL || bytes == 0 ? hipErrorInvalidValue : symbol_range(symbol, offset, bytes, &address);
  if (found != hipSuccess) ENTRY_RETURN(hipGraphAddMemcpyNodeToSymbol, found);
  struct copy_operation operation = linear(address, src, bytes, kind);
  ADD_RETURN(hipGraphAddMemcpyNodeToSymbol, hipGraphNodeTypeMemcpyToSymbol, true, node_set_copy(node, &operation));
}

hipError_t entry_hipGraphAddMemsetNode(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                       size_t count, const hipMemsetParams *parameters) {
  CALLER_NOTE();
  ADD_RETURN(hipGraphAddMemsetNode, hipGraphNodeTypeMemset, parameters != NULL, node_set_memset(node, parameters));
}

hipError_t entry_hipGraphAddHostNode(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                     size_t count, const hipHostNodeParams *parameters) {
  ADD_RETURN(hipGraphAddHostNode, hipGraphNodeTypeHost, parameters != NULL, node_set_host(node, parameters));
}

hipError_t entry_hipGraphAddEmptyNode(hipGraphNode_t *out_node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                      size_t count) {
  ADD_RETURN(hipGraphAddEmptyNode, hipGraphNodeTypeEmpty, true, hipSuccess);
}

static bool node_is(hipGraphNode_t node, hipGraphNodeType type) {
  return handle_live(node, HANDLE_GRAPH_NODE) && node->type == type;
}

hipError_t entry_hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *parameters) {
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeKernel);
  if (valid) *parameters = node->kernel.parameters;
  ENTRY_RETURN(hipGraphKernelNodeGetParams, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams *parameters) {
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeKernel);
  ENTRY_RETURN(hipGraphKernelNodeSetParams, valid ? node_set_kernel(node, parameters) : hipErrorInvalidValue);
}

hipError_t entry_hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *parameters) {
  CALLER_NOTE();
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeMemset);
  if (valid) memset_parameters_write(&node->fill.parameters, caller_hip_version(), parameters);
  ENTRY_RETURN(hipGraphMemsetNodeGetParams, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams *parameters) {
  CALLER_NOTE();
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeMemset);
  ENTRY_RETURN(hipGraphMemsetNodeSetParams, valid ? node_set_memset(node, parameters) : hipErrorInvalidValue);
}

hipError_t entry_hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *parameters) {
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeHost);
  if (valid) *parameters = node->host;
  ENTRY_RETURN(hipGraphHostNodeGetParams, valid ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams *parameters) {
  bool valid = parameters != NULL && node_is(node, hipGraphNodeTypeHost);
  ENTRY_RETURN(hipGraphHostNodeSetParams, valid ? node_set_host(node, parameters) : hipErrorInvalidValue);
}

hipError_t entry_hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *dst, const void *src, size_t bytes,
                                               hipMemcpyKind kind) {
  struct copy_operation operation = linear(dst, src, bytes, kind);
  bool valid = dst != NULL && src != NULL && bytes != 0 && handle_live(node, HANDLE_GRAPH_NODE) && node_is_copy(node);
  ENTRY_RETURN(hipGraphMemcpyNodeSetParams1D, valid ? node_set_copy(node, &operation) : hipErrorInvalidValue);
}
