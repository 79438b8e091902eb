/* One memory for both engines: the GPU fills, the NPU copies, the GPU copies on, 10 times, each time something else, with nothing
 * but the order in which it was recorded. usage: shared_roundtrip [bench] */
#include "tests/native/native.h"

enum { BYTES = 1 << 20, TIMES = 10, ROUNDS = 200 };

int main(int count, char **arguments) {
  hrx_runtime *runtime = soft_runtime();
  hrx_buffer *filled = buffer_new(runtime, BYTES, HRX_SHARED), *copied = buffer_new(runtime, BYTES, HRX_SHARED),
             *result = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  hrx_binding bindings[] = {{BYTES, 64, HRX_WRITE, NULL}, {BYTES, 64, HRX_READ, NULL}};
  hrx_npu_kernel *copy = npu_kernel(runtime, "copy", "copy", contract_of(bindings, 2));
  hrx_executable *executables[TIMES];
  for (unsigned i = 0; i < TIMES; i++) {
    hrx_graph *graph = graph_new(runtime);
    OK(hrx_graph_fill(graph, hrx_buffer_view(filled), (uint8_t)(37 * i + 5), NULL));
    OK(hrx_graph_npu(graph, copy, (hrx_view[]){hrx_buffer_view(copied), hrx_buffer_view(filled)}, 2, NULL));
    OK(hrx_graph_copy(graph, hrx_buffer_view(result), hrx_buffer_view(copied), NULL));
    executables[i] = prepared(graph);
  }

  for (unsigned i = 0; i < TIMES; i++) {
    run_once(executables[i]);
    hrx_map *map;
    OK(hrx_map_read(hrx_buffer_view(result), &map));
    const uint8_t *bytes = hrx_map_pointer(map);
    for (size_t at = 0; at < BYTES; at++)
      RIGHT(bytes[at] == (uint8_t)(37 * i + 5), "roundtrip %u: byte %zu is %u", i, at, bytes[at]);
    hrx_map_release(map);
  }
  /* All ten at once: the last one's bytes stay, whatever the engines did meanwhile. */
  hrx_completion *last[2] = {NULL, NULL};
  for (unsigned i = 0; i < TIMES; i++) {
    hrx_completion_release(last[0]);
    last[0] = last[1];
    OK(hrx_executable_submit(executables[i], &last[1]));
  }
  finish(last[1]);
  finish(last[0]);
  const uint8_t *bytes = hrx_buffer_address(result);
  for (size_t at = 0; at < BYTES; at++)
    RIGHT(bytes[at] == (uint8_t)(37 * (TIMES - 1) + 5), "all at once: byte %zu is %u", at, bytes[at]);
  hrx_statistics statistics = statistics_of(runtime);
  RIGHT(statistics.imports == 2, "%llu imports for two shared buffers", (unsigned long long)statistics.imports);

  if (is_bench(count, arguments)) {
    static double times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
      double began = now_ns();
      run_once(executables[i % TIMES]);
      times[i] = now_ns() - began;
    }
    figure("shared_roundtrip_1MiB_p50", percentile(times, ROUNDS, 50));
    figure("shared_roundtrip_1MiB_p95", percentile(times, ROUNDS, 95));
  }
  for (unsigned i = 0; i < TIMES; i++) hrx_executable_release(executables[i]);
  hrx_npu_kernel_release(copy);
  hrx_buffer_release(result);
  hrx_buffer_release(copied);
  hrx_buffer_release(filled);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
