/* What it costs to infer the edges of a graph, against being told them: fills of one 4 KiB buffer, each of which follows the one
 * before. Recording and preparing together, a node. usage: graph_prepare [bench] */
#include "tests/native/native.h"

enum { BYTES = 4096, ROUNDS = 60, MOST = 2048 };
static const unsigned sizes[] = {128, 512, 1024, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static hrx_runtime *runtime;
static hrx_stream *stream;
static hrx_buffer *buffer, *stream_buffer;

static uint8_t byte_of(unsigned node, unsigned nodes) { return (uint8_t)(node * 7 + nodes / 128); }

static double inferred(unsigned nodes, hrx_executable **out_executable) {
  hrx_graph *graph;
  double began = now_ns();
  OK(hrx_graph_create(runtime, &graph));
  for (unsigned i = 0; i < nodes; i++) OK(hrx_graph_fill(graph, hrx_buffer_view(buffer), byte_of(i, nodes), NULL));
  OK(hrx_graph_prepare(graph, out_executable));
  double took = now_ns() - began;
  hrx_graph_release(graph);
  return took / nodes;
}

static double explicit_(unsigned nodes, hrx_gpu_executable **out_executable) {
  hrx_gpu_graph *graph;
  hrx_node node = 0;
  double began = now_ns();
  OK(hrx_stream_graph(stream, &graph));
  for (unsigned i = 0; i < nodes; i++)
    OK(hrx_gpu_graph_fill(graph, hrx_buffer_view(stream_buffer), byte_of(i, nodes), &node, i != 0, &node));
  OK(hrx_gpu_graph_finish(graph, out_executable));
  double took = now_ns() - began;
  hrx_gpu_graph_release(graph);
  return took / nodes;
}

static void bytes_are(const uint8_t *bytes, uint8_t wanted) {
  for (unsigned i = 0; i < BYTES; i++) RIGHT(bytes[i] == wanted, "byte %u is %u, not %u", i, bytes[i], wanted);
}

static void check(unsigned nodes) {
  uint8_t bytes[BYTES];
  hrx_executable *executable;
  inferred(nodes, &executable);
  hrx_executable_statistics statistics = {.size = sizeof statistics};
  OK(hrx_executable_statistics_get(executable, &statistics));
  RIGHT(statistics.nodes == nodes, "%u nodes became %llu", nodes, (unsigned long long)statistics.nodes);
  RIGHT(statistics.edges_inferred == nodes - 1, "%llu edges were inferred for a chain of %u",
        (unsigned long long)statistics.edges_inferred, nodes);
  run_once(executable);
  OK(hrx_view_read(hrx_buffer_view(buffer), bytes, sizeof bytes));
  bytes_are(bytes, byte_of(nodes - 1, nodes));
  hrx_executable_release(executable);

  hrx_gpu_executable *told;
  explicit_(nodes, &told);
  OK(hrx_stream_launch(stream, told));
  OK(hrx_stream_read(stream, hrx_buffer_view(stream_buffer), bytes, sizeof bytes));
  bytes_are(bytes, byte_of(nodes - 1, nodes));
  hrx_gpu_executable_release(told);
}

/* In turn, so that what disturbs the machine disturbs both. */
static void bench(unsigned nodes) {
  double best_inferred = 1e30, best_explicit = 1e30;
  for (unsigned round = 0; round < ROUNDS; round++) {
    hrx_executable *executable;
    hrx_gpu_executable *told;
    double took = inferred(nodes, &executable);
    if (took < best_inferred) best_inferred = took;
    hrx_executable_release(executable);
    took = explicit_(nodes, &told);
    if (took < best_explicit) best_explicit = took;
    hrx_gpu_executable_release(told);
  }
  char name[64];
  snprintf(name, sizeof name, "prepare_inferred_%u", nodes);
  figure(name, best_inferred);
  snprintf(name, sizeof name, "prepare_explicit_%u", nodes);
  figure(name, best_explicit);
}

int main(int count, char **arguments) {
  runtime = soft_runtime();
  OK(hrx_stream_open(runtime, &stream));
  OK(hrx_stream_allocate(stream, BYTES, &stream_buffer));
  buffer = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  for (unsigned i = 0; i < SIZES; i++) check(sizes[i]);
  for (unsigned i = 0; is_bench(count, arguments) && i < SIZES; i++) bench(sizes[i]);
  hrx_buffer_release(buffer);
  hrx_buffer_release(stream_buffer);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
