/* Runs of explicit graphs, plain and profiled. */
#include <sched.h>
#include <stdlib.h>

#include "native/gpu_graph.h"

void hrx_gpu_executable_release(hrx_gpu_executable *executable) {
  if (executable == NULL) return;
  struct run *runs[GPU_EXECUTABLE_SLOTS];
  struct graph *graph = executable->graph;
  for (unsigned i = 0; i < GPU_EXECUTABLE_SLOTS; i++) runs[i] = executable->runs[i];
  for (unsigned i = 0; i < GPU_EXECUTABLE_SLOTS; i++) run_release(runs[i]);
  graph_release(graph); /* frees the executable when its runs are gone */
}

/* The oldest run that is known: a slot is free when it is over. */
static hrx_status slot_wait(struct hrx_gpu_executable *executable) {
  pthread_mutex_lock(&executable->lock);
  struct run *oldest = NULL;
  for (unsigned i = 0; i < GPU_EXECUTABLE_SLOTS && oldest == NULL; i++) {
    struct run *run = executable->runs[(executable->run_at + i) % GPU_EXECUTABLE_SLOTS];
    if (run != NULL && !run_over(run)) oldest = run;
  }
  if (oldest != NULL) run_retain(oldest);
  pthread_mutex_unlock(&executable->lock);
  if (oldest == NULL) { /* another thread is between its launch and remembering it, or a run is on its way out */
    sched_yield();
    return HRX_OK;
  }
  hrx_status status = run_wait(oldest, UINT64_MAX);
  run_release(oldest);
  return status;
}

static void run_remember(struct hrx_gpu_executable *executable, struct run *run) {
  run_retain(run);
  pthread_mutex_lock(&executable->lock);
  struct run *before = executable->runs[executable->run_at];
  executable->runs[executable->run_at] = run;
  executable->run_at = (executable->run_at + 1) % GPU_EXECUTABLE_SLOTS;
  pthread_mutex_unlock(&executable->lock);
  run_release(before);
}

hrx_status gpu_executable_launch(struct hrx_stream *stream, struct hrx_gpu_executable *executable, struct run **out_run) {
  if (executable == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "launch: NULL executable");
  if (executable->runtime->domain != stream->runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "launch: a graph of another runtime");
  struct run_options options = {.stream = stream->stream};
  for (;;) {
    hrx_status status = queue_join(stream);
    if (status == HRX_OK) status = graph_submit(executable->graph, &options, out_run);
    if (status == HRX_OK) {
      queue_submitted(stream);
      run_remember(executable, *out_run);
    }
    if (status != HRX_BUSY || hrx_last_reason() != HRX_REASON_SLOTS) return status;
    status = slot_wait(executable);
    if (status != HRX_OK) return status;
  }
}

hrx_status hrx_stream_launch(hrx_stream *stream, hrx_gpu_executable *executable) {
  struct run *run;
  hrx_status status = gpu_executable_launch(stream, executable, &run);
  if (status == HRX_OK) run_release(run); /* it goes on */
  return status;
}

/* --- profiled --- */

static size_t label_count(const struct hrx_gpu_graph *graph) {
  size_t count = 0;
  for (size_t i = 0; i < graph->list.count; i++) count += graph->list.nodes[i].kind != TASK_JOIN;
  return count;
}

hrx_status hrx_gpu_graph_finish_profiled(hrx_gpu_graph *graph, const char *const *labels, size_t count,
                                         hrx_gpu_executable **out_executable) {
  size_t wanted = label_count(graph);
  if (count != wanted || labels == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "finish_profiled: %zu labels for %zu nodes that are not joins",
                           labels != NULL ? count : 0, wanted);
  return gpu_graph_finish(graph, labels, count, out_executable);
}

hrx_status hrx_stream_launch_profiled(hrx_stream *stream, hrx_gpu_executable *executable, hrx_node_profile *out_profiles,
                                      size_t capacity) {
  if (executable == NULL || executable->labels == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "launch_profiled: the graph was not finished for profiling");
  if (capacity < executable->label_count || out_profiles == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "launch_profiled: room for %zu profiles, %zu are needed", capacity,
                           executable->label_count);
  struct run *run;
  hrx_status status = gpu_executable_launch(stream, executable, &run);
  if (status != HRX_OK) return status;
  status = run_wait(run, UINT64_MAX);
  if (status == HRX_OK) status = hrx_stream_synchronize(stream); /* the stream has its failure only when it goes on */
  for (size_t i = 0; status == HRX_OK && i < executable->label_count; i++)
    out_profiles[i] = (hrx_node_profile){executable->labels[i],
                                         __atomic_load_n(&executable->times[2 * i], __ATOMIC_ACQUIRE),
                                         __atomic_load_n(&executable->times[2 * i + 1], __ATOMIC_ACQUIRE)};
  run_release(run);
  return status;
}
