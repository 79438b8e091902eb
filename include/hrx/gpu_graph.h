/* Explicit graphs: the caller says what each node comes after; hrx checks and adds nothing. */
#ifndef HRX_GPU_GRAPH_H
#define HRX_GPU_GRAPH_H

#include <hrx/graph.h>
#include <hrx/stream.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* `after` are nodes of this graph; duplicates are harmless. Errors: INVALID/ORDER for a node that is not there yet; /FOREIGN
 * for buffers or kernels of another device; as in stream.h otherwise. The graph is unchanged by an error. */
hrx_status hrx_gpu_graph_fill(hrx_gpu_graph *graph, hrx_view view, uint8_t byte, const hrx_node *after, size_t after_count,
                              hrx_node *out_node);
hrx_status hrx_gpu_graph_copy(hrx_gpu_graph *graph, hrx_view destination, hrx_view source, const hrx_node *after,
                              size_t after_count, hrx_node *out_node);
hrx_status hrx_gpu_graph_dispatch(hrx_gpu_graph *graph, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                                  uint32_t dynamic_lds, const hrx_view *views, size_t count, const void *constants,
                                  size_t constant_bytes, const hrx_node *after, size_t after_count, hrx_node *out_node);
hrx_status hrx_gpu_graph_join(hrx_gpu_graph *graph, const hrx_node *after, size_t after_count, hrx_node *out_node);

/* Bytes of the memory that its nodes use, each buffer once. */
uint64_t hrx_gpu_graph_binding_bytes(const hrx_gpu_graph *graph);
void hrx_gpu_graph_release(hrx_gpu_graph *graph);

/* Makes it executable; the graph can go. Errors: INVALID/EMPTY. */
hrx_status hrx_gpu_graph_finish(hrx_gpu_graph *graph, hrx_gpu_executable **out_executable);

/* With a mark of the device's clock around each node that is not a join; `labels` has one for each of those, in order. This
 * serialises the nodes. Errors: INVALID/ARGUMENT for another number of labels. */
hrx_status hrx_gpu_graph_finish_profiled(hrx_gpu_graph *graph, const char *const *labels, size_t count,
                                         hrx_gpu_executable **out_executable);
void hrx_gpu_executable_release(hrx_gpu_executable *executable);

typedef struct hrx_node_profile {
  const char *label; /* lives as long as the executable */
  uint64_t started_ns, finished_ns; /* of the device's clock */
} hrx_node_profile;

/* Runs it on the stream and waits. `out_profiles` has room for every label. Errors: INVALID if it was not finished for
 * profiling. */
hrx_status hrx_stream_launch_profiled(hrx_stream *stream, hrx_gpu_executable *executable, hrx_node_profile *out_profiles,
                                      size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
