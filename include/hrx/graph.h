/* Graphs whose edges are inferred: record operations in the order in which they would run one by one, prepare once, submit often.
 *
 * A graph (recorder) belongs to one thread at a time; executables and completions to any. Recorded buffers and kernels are
 * kept alive. A call that fails leaves the graph exactly as it was. */
#ifndef HRX_GRAPH_H
#define HRX_GRAPH_H

#include <hrx/buffer.h>
#include <hrx/kernel.h>
#include <hrx/npu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_graph hrx_graph;
typedef struct hrx_executable hrx_executable;
typedef struct hrx_completion hrx_completion;

/* Which lane a copy takes. AUTO: to or from NPU-local memory the NPU's, else the copy lane. */
typedef enum hrx_lane { HRX_LANE_AUTO = 0, HRX_LANE_COMPUTE, HRX_LANE_COPY, HRX_LANE_NPU, HRX_LANE_HOST } hrx_lane;

/* Number of the recorded operation, from 0 up: for update_constants, profiles and DOT. */
typedef uint32_t hrx_node;

/* Errors of every recording call: INVALID/FOREIGN for buffers or kernels of another domain; INVALID/EMPTY, /RANGE, /PLACEMENT,
 * /ALIGNMENT, /ALIASING, /CONTRACT. `out_node` may be NULL everywhere. */
hrx_status hrx_graph_create(hrx_runtime *runtime, hrx_graph **out_graph);
void hrx_graph_release(hrx_graph *graph);
size_t hrx_graph_node_count(const hrx_graph *graph);

hrx_status hrx_graph_fill(hrx_graph *graph, hrx_view view, uint8_t byte, hrx_node *out_node);

/* Equal lengths, at least one byte, no overlap. */
hrx_status hrx_graph_copy(hrx_graph *graph, hrx_view destination, hrx_view source, hrx_node *out_node);
hrx_status hrx_graph_copy_on(hrx_graph *graph, hrx_lane lane, hrx_view destination, hrx_view source, hrx_node *out_node);

/* One view a binding, of exactly its length. Two that overlap are refused if either is written, unless the _aliasing form
 * is used (the kernel then sees both; the accesses are merged). */
hrx_status hrx_graph_gpu(hrx_graph *graph, hrx_gpu_kernel *kernel, const hrx_view *views, size_t count, hrx_node *out_node);
hrx_status hrx_graph_gpu_aliasing(hrx_graph *graph, hrx_gpu_kernel *kernel, const hrx_view *views, size_t count,
                                  hrx_node *out_node);
hrx_status hrx_graph_npu(hrx_graph *graph, hrx_npu_kernel *kernel, const hrx_view *views, size_t count, hrx_node *out_node);
hrx_status hrx_graph_npu_aliasing(hrx_graph *graph, hrx_npu_kernel *kernel, const hrx_view *views, size_t count,
                                  hrx_node *out_node);

/* A function on a host thread; a status other than HRX_OK fails what depends on it, no more. The views' addresses may be
 * touched as declared while it runs (not GPU_LOCAL or NPU_LOCAL ones). `release` is called once when nothing needs `context`;
 * may be NULL. It may submit work, but must not wait for work that comes after it. */
typedef hrx_status (*hrx_host_function)(void *context);
hrx_status hrx_graph_host(hrx_graph *graph, const hrx_view_access *accesses, size_t count, hrx_host_function function,
                          void *context, void (*release)(void *context), hrx_node *out_node);

/* Follows everything recorded so far, and everything recorded later follows it. */
hrx_status hrx_graph_join(hrx_graph *graph, hrx_node *out_node);

/* Works out edges and lanes and allocates everything that submitting needs. The graph can be recorded further and prepared
 * again. Linear in the number of operations. Errors: INVALID/EMPTY; OUT_OF_MEMORY. */
hrx_status hrx_graph_prepare(hrx_graph *graph, hrx_executable **out_executable);

hrx_executable *hrx_executable_retain(hrx_executable *executable);
void hrx_executable_release(hrx_executable *executable); /* submitted work goes on */

/* Submits; what it must wait for in the domain is inferred. Allocates nothing as long as completions are released.
 * Errors: BUSY/CAPACITY, /SLOTS, /MAPPED, /HANDED_OFF; DEVICE_LOST/POISONED naming the buffer. Nothing is submitted then. */
hrx_status hrx_executable_submit(hrx_executable *executable, hrx_completion **out_completion);

/* And after the completions, whatever they touch. If one of them failed or is cancelled, this one fails with its cause and
 * nothing of it runs. */
hrx_status hrx_executable_submit_after(hrx_executable *executable, hrx_completion *const *after, size_t count,
                                       hrx_completion **out_completion);

/* Every byte range that it touches, merged, with its accesses. Call with capacity 0 to learn the count. */
hrx_status hrx_executable_regions(const hrx_executable *executable, hrx_view_access *out_regions, size_t capacity,
                                  size_t *out_count);

/* For later submissions, whatever lies inside from[i] (as recorded, or where the last rebind put it) lies at the same place
 * inside to[i]. No new prepare. Errors:
 * INVALID/RANGE for other lengths or an access that is only partly inside; /ALIASING if targets overlap each other or
 * something that stays; /ALIGNMENT, /PLACEMENT, /FOREIGN. Nothing is changed then. */
hrx_status hrx_executable_rebind(hrx_executable *executable, const hrx_view *from, const hrx_view *to, size_t count);

/* New constants, as long as the old ones, of a recorded GPU or NPU kernel, for later submissions. */
hrx_status hrx_executable_update_constants(hrx_executable *executable, hrx_node node, const void *bytes, size_t count);

typedef struct hrx_executable_statistics {
  size_t size;
  uint64_t nodes, edges_inferred, edges_reduced, edges_explicit, lanes, bytes;
} hrx_executable_statistics;
hrx_status hrx_executable_statistics_get(const hrx_executable *executable, hrx_executable_statistics *io_statistics);

/* The graph as Graphviz DOT: inferred edges solid, those that others imply dotted, explicit ones bold. */
hrx_status hrx_executable_write_dot(const hrx_executable *executable, const char *path);

/* --- completions: one submission, seen by any number of observers --- */

hrx_completion *hrx_completion_retain(hrx_completion *completion);
void hrx_completion_release(hrx_completion *completion);

bool hrx_completion_is_complete(const hrx_completion *completion);

/* Wait, and return what became of it: OK, EXECUTION or another failure's status with its message (every observer sees it),
 * CANCELLED. TIMEOUT means that only the waiting ended. */
hrx_status hrx_completion_wait(hrx_completion *completion);
hrx_status hrx_completion_wait_timeout(hrx_completion *completion, uint64_t nanoseconds);

/* The same without waiting. Errors: BUSY/DEVICE_WORK while it is not complete. */
hrx_status hrx_completion_result(const hrx_completion *completion);

/* What has not started will not; what runs is finished. Later submissions that need what it would have written are CANCELLED
 * too. No error if it is complete already. */
hrx_status hrx_completion_cancel(hrx_completion *completion);

typedef struct hrx_profile {
  size_t size;
  uint64_t queued_ns; /* from submission to the first start */
  uint64_t run_ns;    /* from then to the end */
} hrx_profile;
hrx_status hrx_completion_profile(const hrx_completion *completion, hrx_profile *io_profile);

/* A descriptor that poll and epoll report readable when it is complete; the caller's to close. */
hrx_status hrx_completion_event_fd(hrx_completion *completion, int *out_descriptor);

/* Calls `function` once on a thread of the runtime when it is complete, or soon if it already is. What it returns or fails at
 * concerns nobody else. */
typedef void (*hrx_completion_function)(void *context, hrx_completion *completion);
hrx_status hrx_completion_on_complete(hrx_completion *completion, hrx_completion_function function, void *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
