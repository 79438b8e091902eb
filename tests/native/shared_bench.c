/* How long a round trip through shared memory takes: a kernel of the GPU writes, the NPU copies, a kernel of the GPU reads what the
 * NPU wrote; from the submission until the host sees the end. Every element of every round is checked.
 * usage: shared_bench [bench] */
#include "tests/native/native.h"

enum { CHECKED = 5, ROUNDS = 100 };

/* The kernels' numbers follow from the round, which changes, so that nothing of the round before can pass for this one's. */
static const char source[] =
    "extern \"C\" __global__ void produce(unsigned *out, const unsigned *round) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x;\n"
    "  out[i] = i * 2654435761u + round[0];\n"
    "}\n"
    "extern \"C\" __global__ void consume(unsigned *out, const unsigned *in) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x;\n"
    "  out[i] = in[i] ^ 0x5bd1e995u;\n"
    "}\n";

static const struct {
  const char *name;
  size_t bytes;
} sizes[] = {{"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static hrx_runtime *runtime;
static hrx_artifact *code;

struct trip {
  size_t bytes;
  hrx_buffer *round, *produced, *copied, *result;
  hrx_executable *executable;
};

static void trip_make(struct trip *trip, size_t bytes) {
  unsigned groups = (unsigned)(bytes / 4 / 64);
  hrx_binding out = {bytes, 64, HRX_WRITE, "u32"}, in = {bytes, 64, HRX_READ, "u32"}, one = {4, 4, HRX_READ, "u32"};
  hrx_gpu_kernel *produce = gpu_kernel(runtime, code, "produce", groups, contract_of((hrx_binding[]){out, one}, 2));
  hrx_gpu_kernel *consume = gpu_kernel(runtime, code, "consume", groups, contract_of((hrx_binding[]){out, in}, 2));
  hrx_npu_kernel *copy = npu_kernel(runtime, "copy", "copy", contract_of((hrx_binding[]){out, in}, 2));
  trip->bytes = bytes;
  trip->round = buffer_new(runtime, 4, HRX_HOST_VISIBLE);
  trip->produced = buffer_new(runtime, bytes, HRX_SHARED);
  trip->copied = buffer_new(runtime, bytes, HRX_SHARED);
  trip->result = buffer_new(runtime, bytes, HRX_HOST_VISIBLE);
  hrx_view round = hrx_buffer_view(trip->round), produced = hrx_buffer_view(trip->produced), copied = hrx_buffer_view(trip->copied),
           result = hrx_buffer_view(trip->result);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, produce, (hrx_view[]){produced, round}, 2, NULL));
  OK(hrx_graph_npu(graph, copy, (hrx_view[]){copied, produced}, 2, NULL));
  OK(hrx_graph_gpu(graph, consume, (hrx_view[]){result, copied}, 2, NULL));
  trip->executable = prepared(graph);
  hrx_npu_kernel_release(copy);
  hrx_gpu_kernel_release(consume);
  hrx_gpu_kernel_release(produce);
}

static void trip_free(struct trip *trip) {
  hrx_executable_release(trip->executable);
  hrx_buffer_release(trip->result);
  hrx_buffer_release(trip->copied);
  hrx_buffer_release(trip->produced);
  hrx_buffer_release(trip->round);
}

static void words_check(hrx_buffer *buffer, size_t bytes, uint32_t round, uint32_t mask) {
  hrx_map *map;
  OK(hrx_map_read(hrx_buffer_view(buffer), &map));
  const uint32_t *words = hrx_map_pointer(map);
  for (uint32_t i = 0; i < bytes / 4; i++)
    RIGHT(words[i] == ((i * 2654435761u + round) ^ mask), "round %u of %zu bytes: word %u is %u", round, bytes, i, words[i]);
  hrx_map_release(map);
}

/* How long it took. All three buffers are looked at. */
static double trip_run(struct trip *trip, uint32_t round) {
  OK(hrx_view_write(hrx_buffer_view(trip->round), &round, sizeof round));
  double began = now_ns();
  run_once(trip->executable);
  double took = now_ns() - began;
  words_check(trip->produced, trip->bytes, round, 0);
  words_check(trip->copied, trip->bytes, round, 0);
  words_check(trip->result, trip->bytes, round, 0x5bd1e995u);
  return took;
}

static void bench(struct trip *trip, const char *name) {
  static double times[ROUNDS];
  char line[64];
  for (uint32_t i = 0; i < ROUNDS; i++) times[i] = trip_run(trip, 1000 + i);
  snprintf(line, sizeof line, "shared_trip_%s_p50", name);
  figure(line, percentile(times, ROUNDS, 50));
  snprintf(line, sizeof line, "shared_trip_%s_p95", name);
  figure(line, percentile(times, ROUNDS, 95));
}

int main(int count, char **arguments) {
  struct trip trips[SIZES];
  runtime = soft_runtime();
  code = compiled(runtime, "shared_bench.hip", source);
  for (unsigned i = 0; i < SIZES; i++) trip_make(&trips[i], sizes[i].bytes);
  hrx_statistics first = statistics_of(runtime);
  RIGHT(first.imports == 2 * SIZES, "%llu imports for %d shared buffers", (unsigned long long)first.imports, 2 * SIZES);
  for (uint32_t round = 0; round < CHECKED; round++)
    for (unsigned i = 0; i < SIZES; i++) trip_run(&trips[i], round);
  for (unsigned i = 0; is_bench(count, arguments) && i < SIZES; i++) bench(&trips[i], sizes[i].name);
  hrx_statistics last = statistics_of(runtime);
  RIGHT(last.imports == first.imports, "%llu imports became %llu", (unsigned long long)first.imports, (unsigned long long)last.imports);
  RIGHT(last.device_copied_bytes == first.device_copied_bytes, "%llu bytes were copied besides",
        (unsigned long long)(last.device_copied_bytes - first.device_copied_bytes));
  for (unsigned i = 0; i < SIZES; i++) trip_free(&trips[i]);
  hrx_artifact_release(code);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
