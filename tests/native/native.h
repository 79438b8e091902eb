/* What the programs here have in common: every call must succeed, every element must be right, and kernels are compiled from HIP. */
#ifndef HRX_TESTS_NATIVE_H
#define HRX_TESTS_NATIVE_H

#include <hrx/hrx.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/timing.h"

#define OK(call) must((call), #call, __LINE__)

/* A caller compares here, so that the place is in the message. */
#define RIGHT(condition, ...)                  \
  do {                                         \
    if (!(condition)) {                        \
      fprintf(stderr, "line %d: ", __LINE__);  \
      fprintf(stderr, __VA_ARGS__);            \
      fputc('\n', stderr);                     \
      exit(1);                                 \
    }                                          \
  } while (0)

static inline void must(hrx_status status, const char *call, int line) {
  if (status == HRX_OK) return;
  fprintf(stderr, "line %d: %s: %s: %s\n", line, call, hrx_status_name(status), hrx_last_message());
  exit(1);
}

static inline bool is_bench(int count, char **arguments) { return count > 1 && strcmp(arguments[1], "bench") == 0; }

static inline hrx_runtime *soft_runtime(void) {
  hrx_runtime_options options = {.size = sizeof options, .gpu = HRX_GPU_SOFT, .npu = HRX_NPU_SOFT};
  hrx_runtime *runtime;
  OK(hrx_runtime_create(&options, &runtime));
  return runtime;
}

static inline hrx_buffer *buffer_new(hrx_runtime *runtime, size_t bytes, hrx_placement placement) {
  hrx_buffer *buffer;
  OK(hrx_buffer_create(runtime, bytes, placement, 0, &buffer));
  return buffer;
}

/* Without a compiler there is nothing to test: 77 is a skip. */
static inline hrx_artifact *compiled(hrx_runtime *runtime, const char *name, const char *source) {
  hrx_artifact *artifact;
  hrx_status status = hrx_compile_hip(runtime, source, strlen(source), name, NULL, NULL, 0, &artifact);
  if (status == HRX_UNSUPPORTED) {
    puts(hrx_last_message());
    exit(77);
  }
  OK(status);
  return artifact;
}

/* Workgroups of 64. The contract is taken. */
static inline hrx_gpu_kernel *gpu_kernel(hrx_runtime *runtime, hrx_artifact *artifact, const char *name, unsigned groups,
                                         hrx_contract *contract) {
  size_t size;
  const void *bytes = hrx_artifact_bytes(artifact, &size);
  hrx_gpu_kernel *kernel;
  OK(hrx_gpu_kernel_load(runtime, bytes, size, name, (hrx_dimensions){groups, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, contract, &kernel));
  hrx_contract_release(contract);
  return kernel;
}

static inline hrx_npu_kernel *npu_kernel(hrx_runtime *runtime, const char *program, const char *name, hrx_contract *contract) {
  hrx_npu *npu;
  hrx_npu_kernel *kernel;
  char path[512];
  snprintf(path, sizeof path, "%s%s.so", NPU_PROGRAMS, program);
  OK(hrx_runtime_npu(runtime, 0, &npu));
  OK(hrx_npu_kernel_load_file(npu, path, name, 1, contract, &kernel));
  hrx_contract_release(contract);
  return kernel;
}

static inline hrx_contract *contract_of(const hrx_binding *bindings, size_t count) {
  hrx_contract *contract;
  OK(hrx_contract_create(bindings, count, &contract));
  return contract;
}

static inline hrx_graph *graph_new(hrx_runtime *runtime) {
  hrx_graph *graph;
  OK(hrx_graph_create(runtime, &graph));
  return graph;
}

/* Takes the graph. */
static inline hrx_executable *prepared(hrx_graph *graph) {
  hrx_executable *executable;
  OK(hrx_graph_prepare(graph, &executable));
  hrx_graph_release(graph);
  return executable;
}

static inline void finish(hrx_completion *completion) {
  OK(hrx_completion_wait(completion));
  hrx_completion_release(completion);
}

static inline void run_once(hrx_executable *executable) {
  hrx_completion *completion;
  OK(hrx_executable_submit(executable, &completion));
  finish(completion);
}

static inline hrx_statistics statistics_of(hrx_runtime *runtime) {
  hrx_statistics statistics = {.size = sizeof statistics};
  OK(hrx_runtime_statistics(runtime, &statistics));
  return statistics;
}

static inline int doubles_compare(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

/* The value that `per_cent` of them do not exceed; sorts them. */
static inline double percentile(double *values, size_t count, unsigned per_cent) {
  qsort(values, count, sizeof *values, doubles_compare);
  return values[(count - 1) * per_cent / 100];
}

#endif
