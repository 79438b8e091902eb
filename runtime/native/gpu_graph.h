/* What is behind explicit graphs; for the files of this folder and for tests. */
#ifndef HRX_NATIVE_GPU_GRAPH_H
#define HRX_NATIVE_GPU_GRAPH_H

#include "native/stream.h"

/* One node. Variable parts lie in the graph's lists. */
struct gpu_node {
  uint8_t kind; /* enum task_kind: FILL, COPY, DISPATCH, JOIN */
  uint8_t byte;
  uint32_t first_after, after_count;
  uint32_t first_access, access_count;
  size_t bytes; /* FILL, COPY */
  uintptr_t destination, source;
  struct hrx_stream_kernel *kernel; /* DISPATCH; a reference */
  struct gpu_launch launch;         /* its arguments: `arguments_at` of the graph's bytes */
  size_t arguments_at;
};

struct gpu_graph_list {
  struct gpu_node *nodes;
  size_t count, capacity;
  uint32_t *after;
  size_t after_count, after_capacity;
  struct access *accesses;
  size_t access_count, access_capacity;
  uint8_t *bytes;
  size_t byte_count, byte_capacity;
  struct backing **backings; /* each once, a reference; an open hash table */
  size_t backing_count, backing_capacity;
};

struct hrx_gpu_graph {
  struct hrx_stream *stream; /* counted */
  struct gpu_graph_list list;
  uint64_t binding_bytes;
};

enum { GPU_EXECUTABLE_SLOTS = 4 };

/* Client of its engine graph: lives until the last run is over. */
struct hrx_gpu_executable {
  struct hrx_runtime *runtime; /* counted */
  struct graph *graph;
  struct gpu_graph_list list;
  pthread_mutex_t lock;
  struct run *runs[GPU_EXECUTABLE_SLOTS]; /* the newest ones, a reference each */
  unsigned run_at;
  /* profiled */
  size_t label_count;
  char **labels;
  uint64_t *times; /* started, finished for each label */
};

/* Launches and gives the run, the caller's to release. Waits for a slot. */
hrx_status gpu_executable_launch(struct hrx_stream *stream, struct hrx_gpu_executable *executable, struct run **out_run);

/* `labels` NULL: not profiled. */
hrx_status gpu_graph_finish(struct hrx_gpu_graph *graph, const char *const *labels, size_t count,
                            hrx_gpu_executable **out_executable);

#endif
