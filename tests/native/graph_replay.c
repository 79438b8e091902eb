/* The replay of a prepared graph allocates nothing: counted in the whole process, while a graph of 32 kernels is submitted, waited for
 * and released again and again. usage: graph_replay [bench] */
#include "tests/native/native.h"

#include "tests/native/allocations.h"

enum { WORDS = 64, BYTES = 4 * WORDS, KERNELS = 32, WARM = 20, REPLAYS = 1000 };

static const char source[] =
    "extern \"C\" __global__ void increment(unsigned *words) { words[blockIdx.x * 64 + threadIdx.x] += 1; }\n";

static hrx_runtime *runtime;
static hrx_gpu_kernel *increment;
static hrx_buffer *buffers[KERNELS];
static uint32_t expected[KERNELS]; /* in every word of a buffer */

static hrx_executable *graph_of(bool chained) {
  hrx_graph *graph = graph_new(runtime);
  for (unsigned i = 0; i < KERNELS; i++)
    OK(hrx_graph_gpu(graph, increment, (hrx_view[]){hrx_buffer_view(buffers[chained ? 0 : i])}, 1, NULL));
  return prepared(graph);
}

static void results_check(void) {
  uint32_t words[WORDS];
  for (unsigned i = 0; i < KERNELS; i++) {
    OK(hrx_view_read(hrx_buffer_view(buffers[i]), words, sizeof words));
    for (unsigned k = 0; k < WORDS; k++)
      RIGHT(words[k] == expected[i], "buffer %u: word %u is %u, not %u", i, k, words[k], expected[i]);
  }
}

static void replay(hrx_executable *executable, unsigned times, bool chained) {
  for (unsigned i = 0; i < times; i++) run_once(executable);
  for (unsigned i = 0; i < KERNELS; i++) expected[i] += chained ? i == 0 ? KERNELS * times : 0 : times;
}

/* How many calls of an allocating function the replays made. */
static uint64_t replay_counted(bool chained) {
  hrx_executable *executable = graph_of(chained);
  replay(executable, WARM, chained);
  uint64_t before = allocation_calls_now();
  replay(executable, REPLAYS, chained);
  uint64_t calls = allocation_calls_now() - before;
  results_check();
  hrx_executable_release(executable);
  RIGHT(calls == 0, "%llu allocations in %d replays of a %s graph", (unsigned long long)calls, REPLAYS,
        chained ? "chained" : "wide");
  return calls;
}

int main(int count, char **arguments) {
  runtime = soft_runtime();
  hrx_artifact *code = compiled(runtime, "graph_replay.hip", source);
  increment = gpu_kernel(runtime, code, "increment", 1, contract_of((hrx_binding[]){{BYTES, 4, HRX_READ_WRITE, NULL}}, 1));
  hrx_artifact_release(code);
  RIGHT(!allocations_counted || allocation_calls_now() != 0, "the allocations of the library are not counted");
  for (unsigned i = 0; i < KERNELS; i++) buffers[i] = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  uint64_t calls = replay_counted(true) + replay_counted(false);
  if (is_bench(count, arguments)) figure("graph_replay_allocations", (double)calls);
  for (unsigned i = 0; i < KERNELS; i++) hrx_buffer_release(buffers[i]);
  hrx_gpu_kernel_release(increment);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
