/* Large graphs: recording and preparing takes a time that is linear in the number of operations, and bounded memory for each. Three
 * kinds: fills of one buffer, each after the one before; copies between 256 buffers; kernels on 256 buffers.
 * usage: graph_large [bench] */
#include "tests/native/native.h"

enum { WORDS = 64, BYTES = 4 * WORDS, BUFFERS = 256, CHECKED = 3000, FEW = 10000, MANY = 100000, ROUNDS = 5, BYTES_MOST = 1024 };

static const char source[] =
    "extern \"C\" __global__ void add(unsigned *to, const unsigned *from) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x;\n"
    "  to[i] += from[i] * 3;\n"
    "}\n";

static hrx_runtime *runtime;
static hrx_gpu_kernel *add;
static hrx_buffer *buffers[BUFFERS];
static uint32_t expected[BUFFERS]; /* in every word of a buffer */

enum kind { CHAIN, COPIES, KERNELS, KINDS };
static const char *const names[KINDS] = {"chain", "copies", "kernels"};

static unsigned target_of(unsigned i) { return i * 7 % BUFFERS; }
static unsigned source_of(unsigned i) { return (i * 5 + i / BUFFERS + 1) % BUFFERS; }

static void record(hrx_graph *graph, enum kind kind, unsigned i) {
  unsigned to = kind == CHAIN ? 0 : target_of(i), from = source_of(i);
  hrx_view target = hrx_buffer_view(buffers[to]), other = hrx_buffer_view(buffers[from == to ? (from + 1) % BUFFERS : from]);
  if (kind == CHAIN) OK(hrx_graph_fill(graph, target, (uint8_t)i, NULL));
  if (kind == COPIES) OK(hrx_graph_copy(graph, target, other, NULL));
  if (kind == KERNELS) OK(hrx_graph_gpu(graph, add, (hrx_view[]){target, other}, 2, NULL));
}

static void expect(enum kind kind, unsigned i) {
  unsigned to = kind == CHAIN ? 0 : target_of(i), from = source_of(i);
  uint32_t other = expected[from == to ? (from + 1) % BUFFERS : from];
  if (kind == CHAIN) expected[to] = (i & 0xff) * 0x01010101u;
  if (kind == COPIES) expected[to] = other;
  if (kind == KERNELS) expected[to] += other * 3;
}

/* Nanoseconds a node. */
static double prepare(enum kind kind, unsigned nodes, hrx_executable **out_executable) {
  double began = now_ns();
  hrx_graph *graph = graph_new(runtime);
  for (unsigned i = 0; i < nodes; i++) record(graph, kind, i);
  OK(hrx_graph_prepare(graph, out_executable));
  double took = now_ns() - began;
  hrx_graph_release(graph);
  return took / nodes;
}

/* Of a node, in the graph and its slots; what the devices keep for a kernel's launch is theirs. */
static double node_bytes(const hrx_executable *executable, unsigned nodes) {
  hrx_executable_statistics statistics = {.size = sizeof statistics};
  OK(hrx_executable_statistics_get(executable, &statistics));
  RIGHT(statistics.nodes == nodes, "%u operations became %llu", nodes, (unsigned long long)statistics.nodes);
  return (double)statistics.bytes / nodes;
}

static void values_write(void) {
  uint32_t words[WORDS];
  for (unsigned i = 0; i < BUFFERS; i++) {
    expected[i] = i * 2654435761u + 17;
    for (unsigned k = 0; k < WORDS; k++) words[k] = expected[i];
    OK(hrx_view_write(hrx_buffer_view(buffers[i]), words, sizeof words));
  }
}

static void values_check(const char *name) {
  uint32_t words[WORDS];
  for (unsigned i = 0; i < BUFFERS; i++) {
    OK(hrx_view_read(hrx_buffer_view(buffers[i]), words, sizeof words));
    for (unsigned k = 0; k < WORDS; k++)
      RIGHT(words[k] == expected[i], "%s: buffer %u: word %u is %u, not %u", name, i, k, words[k], expected[i]);
  }
}

static void check(enum kind kind, unsigned nodes) {
  hrx_executable *executable;
  values_write();
  prepare(kind, nodes, &executable);
  double bytes = node_bytes(executable, nodes);
  RIGHT(bytes < BYTES_MOST, "%s: %u nodes take %g bytes each", names[kind], nodes, bytes);
  run_once(executable);
  for (unsigned i = 0; i < nodes; i++) expect(kind, i);
  values_check(names[kind]);
  hrx_executable_release(executable);
}

/* Small and large in turn, so that neither finds the memory of one like it. */
static void bench(enum kind kind) {
  double few = 1e30, many = 1e30, bytes = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    hrx_executable *executable;
    double took = prepare(kind, FEW, &executable);
    if (took < few) few = took;
    hrx_executable_release(executable);
    took = prepare(kind, MANY, &executable);
    if (took < many) many = took;
    bytes = node_bytes(executable, MANY);
    hrx_executable_release(executable);
  }
  char name[64];
  snprintf(name, sizeof name, "prepare_%s_10000", names[kind]);
  figure(name, few);
  snprintf(name, sizeof name, "prepare_%s_100000", names[kind]);
  figure(name, many);
  snprintf(name, sizeof name, "prepare_%s_node_bytes", names[kind]);
  figure(name, bytes);
}

int main(int count, char **arguments) {
  runtime = soft_runtime();
  hrx_artifact *code = compiled(runtime, "graph_large.hip", source);
  add = gpu_kernel(runtime, code, "add", 1, contract_of((hrx_binding[]){{BYTES, 4, HRX_READ_WRITE, NULL}, {BYTES, 4, HRX_READ, NULL}}, 2));
  hrx_artifact_release(code);
  for (unsigned i = 0; i < BUFFERS; i++) buffers[i] = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  for (unsigned kind = 0; kind < KINDS; kind++) check(kind, CHECKED);
  for (unsigned kind = 0; is_bench(count, arguments) && kind < KINDS; kind++) bench(kind);
  for (unsigned i = 0; i < BUFFERS; i++) hrx_buffer_release(buffers[i]);
  hrx_gpu_kernel_release(add);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
