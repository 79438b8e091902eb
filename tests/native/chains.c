/* Two chains of kernels that have nothing to do with each other, recorded one after the other, run side by side: with inferred edges and
 * with explicit ones. Each kernel is one workgroup, so that only another chain can use another core. usage: chains [bench] */
#include <sched.h>

#include "tests/native/native.h"

enum { WORDS = 64, BYTES = 4 * WORDS, LENGTH = 12, STEPS = 2000, CHAINS = 2, CHECKED = 4, ROUNDS = 60 };

static const char source[] =
    "extern \"C\" __global__ void mix(unsigned *words, unsigned steps) {\n"
    "  unsigned value = words[threadIdx.x];\n"
    "  for (unsigned i = 0; i < steps; i++) value = value * 1664525u + 1013904223u;\n"
    "  words[threadIdx.x] = value;\n"
    "}\n";

static hrx_runtime *runtime;
static hrx_stream *stream;
static hrx_stream_kernel *code;
static hrx_gpu_kernel *mix;
static hrx_buffer *buffers[CHAINS], *stream_buffers[CHAINS];
static hrx_executable *one[CHAINS], *both;
static hrx_gpu_executable *one_explicit[CHAINS], *both_explicit;
static uint32_t factor = 1, term; /* what a whole chain does to a word */

static hrx_executable *inferred(unsigned first, unsigned end) {
  hrx_graph *graph = graph_new(runtime);
  for (unsigned chain = first; chain < end; chain++) {
    hrx_view view = hrx_buffer_view(buffers[chain]);
    for (unsigned i = 0; i < LENGTH; i++) OK(hrx_graph_gpu(graph, mix, &view, 1, NULL));
  }
  return prepared(graph);
}

static hrx_gpu_executable *explicit_(unsigned first, unsigned end) {
  hrx_gpu_graph *graph;
  hrx_gpu_executable *executable;
  const uint32_t steps = STEPS;
  OK(hrx_stream_graph(stream, &graph));
  for (unsigned chain = first; chain < end; chain++) {
    hrx_view view = hrx_buffer_view(stream_buffers[chain]);
    hrx_node node = 0;
    for (unsigned i = 0; i < LENGTH; i++)
      OK(hrx_gpu_graph_dispatch(graph, code, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){WORDS, 1, 1}, 0, &view, 1, &steps,
                                sizeof steps, &node, i != 0, &node));
  }
  OK(hrx_gpu_graph_finish(graph, &executable));
  hrx_gpu_graph_release(graph);
  return executable;
}

static double run_inferred(bool together) {
  double began = now_ns();
  if (together) run_once(both);
  for (unsigned chain = 0; !together && chain < CHAINS; chain++) run_once(one[chain]);
  return now_ns() - began;
}

static double run_explicit(bool together) {
  double began = now_ns();
  for (unsigned chain = 0; chain < (together ? 1 : CHAINS); chain++) {
    OK(hrx_stream_launch(stream, together ? both_explicit : one_explicit[chain]));
    OK(hrx_stream_synchronize(stream));
  }
  return now_ns() - began;
}

static void words_write(void) {
  uint32_t words[WORDS];
  for (unsigned chain = 0; chain < CHAINS; chain++) {
    for (uint32_t i = 0; i < WORDS; i++) words[i] = chain * 1000 + i;
    OK(hrx_view_write(hrx_buffer_view(buffers[chain]), words, sizeof words));
    OK(hrx_stream_upload(stream, stream_buffers[chain], words, sizeof words));
  }
  OK(hrx_stream_synchronize(stream));
}

static void words_check(unsigned runs) {
  uint32_t words[WORDS];
  for (unsigned chain = 0; chain < CHAINS; chain++)
    for (unsigned kind = 0; kind < 2; kind++) {
      if (kind == 0) OK(hrx_view_read(hrx_buffer_view(buffers[chain]), words, sizeof words));
      if (kind == 1) OK(hrx_stream_read(stream, hrx_buffer_view(stream_buffers[chain]), words, sizeof words));
      for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t wanted = chain * 1000 + i;
        for (unsigned run = 0; run < runs; run++) wanted = wanted * factor + term;
        RIGHT(words[i] == wanted, "%s: chain %u: word %u is %u, not %u", kind == 0 ? "inferred" : "explicit", chain, i, words[i],
              wanted);
      }
    }
}

/* Pairs, whose order changes. */
static void measure(const char *name, double (*run)(bool together)) {
  static double serial[ROUNDS], together[ROUNDS], ratios[ROUNDS];
  char line[64];
  for (unsigned round = 0; round < ROUNDS; round++) {
    if (round % 2 == 0) serial[round] = run(false);
    together[round] = run(true);
    if (round % 2 != 0) serial[round] = run(false);
    ratios[round] = together[round] / serial[round];
  }
  snprintf(line, sizeof line, "%s_serial_p50", name);
  figure(line, percentile(serial, ROUNDS, 50));
  snprintf(line, sizeof line, "%s_to_serial", name);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) >= 2)
    figure(line, percentile(ratios, ROUNDS, 50));
  else
    figure_absent(line, "there is only one core");
}

static void graphs_make(void) {
  for (unsigned chain = 0; chain < CHAINS; chain++) {
    buffers[chain] = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
    OK(hrx_stream_allocate(stream, BYTES, &stream_buffers[chain]));
    one[chain] = inferred(chain, chain + 1);
    one_explicit[chain] = explicit_(chain, chain + 1);
  }
  both = inferred(0, CHAINS);
  both_explicit = explicit_(0, CHAINS);
}

static void graphs_free(void) {
  hrx_gpu_executable_release(both_explicit);
  hrx_executable_release(both);
  for (unsigned chain = 0; chain < CHAINS; chain++) {
    hrx_gpu_executable_release(one_explicit[chain]);
    hrx_executable_release(one[chain]);
    hrx_buffer_release(stream_buffers[chain]);
    hrx_buffer_release(buffers[chain]);
  }
}

int main(int count, char **arguments) {
  runtime = soft_runtime();
  OK(hrx_stream_open(runtime, &stream));
  hrx_artifact *artifact = compiled(runtime, "chains.hip", source);
  size_t size;
  const void *bytes = hrx_artifact_bytes(artifact, &size);
  OK(hrx_stream_kernel_load(stream, bytes, size, "mix", &code));
  hrx_artifact_release(artifact);
  hrx_contract *contract = contract_of((hrx_binding[]){{BYTES, 4, HRX_READ_WRITE, "u32"}}, 1);
  OK(hrx_contract_push_u32(contract, STEPS));
  OK(hrx_gpu_kernel_adopt(runtime, code, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){WORDS, 1, 1}, 0, contract, &mix));
  hrx_contract_release(contract);
  for (unsigned step = 0; step < LENGTH * STEPS; step++) {
    factor *= 1664525u;
    term = term * 1664525u + 1013904223u;
  }
  graphs_make();
  words_write();
  for (unsigned i = 0; i < CHECKED; i++) {
    run_inferred(i % 2 == 0);
    run_explicit(i % 2 == 0);
  }
  words_check(CHECKED);
  if (is_bench(count, arguments)) {
    measure("chains", run_inferred);
    measure("chains_explicit", run_explicit);
    words_check(CHECKED + 2 * ROUNDS);
  }
  graphs_free();
  hrx_gpu_kernel_release(mix);
  hrx_stream_kernel_release(code);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
