/* GPU and NPU at the same time: a kernel and a matrix product that have nothing to do with each other, as two submissions one after the
 * other and as one graph. Whether they overlapped is taken from the trace of the runtime, not from the times.
 * usage: gpu_npu_parallel [bench] */
#include "tests/native/native.h"

enum { WORDS = 64, M = 256, K = 512, N = 256, TRIES = 20, ROUNDS = 40, STEPS = 20000 };
enum { GPU_BYTES = 4 * WORDS, A_BYTES = 2 * M * K, B_BYTES = 2 * K * N, C_BYTES = 4 * M * N, EVENTS = 64 };

/* One workgroup, one core. */
static const char source[] =
    "extern \"C\" __global__ void mix(unsigned *out, unsigned steps) {\n"
    "  unsigned value = threadIdx.x + 1;\n"
    "  for (unsigned i = 0; i < steps; i++) value = value * 1664525u + 1013904223u;\n"
    "  out[threadIdx.x] = value;\n"
    "}\n";

static hrx_runtime *runtime;
static hrx_gpu_kernel *mix;
static hrx_npu_kernel *gemm;
static hrx_buffer *words, *a, *b, *c;
static hrx_executable *gpu_alone, *npu_alone, *both;
static uint32_t words_wanted[WORDS];
static float c_wanted[M * N];

static int element(unsigned i, unsigned seed) { return (int)((i * 7 + i / 13 + seed) % 9) - 4; }

static uint16_t bfloat(int value) {
  float wide = (float)value;
  uint32_t bits;
  memcpy(&bits, &wide, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static void kernels_load(void) {
  hrx_artifact *code = compiled(runtime, "gpu_npu_parallel.hip", source);
  hrx_contract *contract = contract_of((hrx_binding[]){{GPU_BYTES, 4, HRX_WRITE, "u32"}}, 1);
  OK(hrx_contract_push_u32(contract, STEPS));
  mix = gpu_kernel(runtime, code, "mix", 1, contract);
  hrx_artifact_release(code);
  hrx_binding bindings[] = {{A_BYTES, 2, HRX_READ, "bf16"}, {B_BYTES, 2, HRX_READ, "bf16"}, {C_BYTES, 4, HRX_WRITE, "f32"}};
  contract = contract_of(bindings, 3);
  OK(hrx_contract_push_u32(contract, M));
  OK(hrx_contract_push_u32(contract, K));
  OK(hrx_contract_push_u32(contract, N));
  gemm = npu_kernel(runtime, "gemm_bf16", "gemm_f32", contract);
}

static void memory_make(void) {
  static uint16_t a_bits[M * K], b_bits[K * N];
  words = buffer_new(runtime, GPU_BYTES, HRX_HOST_VISIBLE);
  a = buffer_new(runtime, A_BYTES, HRX_SHARED);
  b = buffer_new(runtime, B_BYTES, HRX_SHARED);
  c = buffer_new(runtime, C_BYTES, HRX_SHARED);
  for (unsigned i = 0; i < M * K; i++) a_bits[i] = bfloat(element(i, 1));
  for (unsigned i = 0; i < K * N; i++) b_bits[i] = bfloat(element(i, 5));
  OK(hrx_view_write(hrx_buffer_view(a), a_bits, sizeof a_bits));
  OK(hrx_view_write(hrx_buffer_view(b), b_bits, sizeof b_bits));
  for (uint32_t i = 0; i < WORDS; i++) {
    words_wanted[i] = i + 1;
    for (unsigned step = 0; step < STEPS; step++) words_wanted[i] = words_wanted[i] * 1664525u + 1013904223u;
  }
  for (unsigned m = 0; m < M; m++)
    for (unsigned n = 0; n < N; n++) {
      int sum = 0;
      for (unsigned k = 0; k < K; k++) sum += element(m * K + k, 1) * element(k * N + n, 5);
      c_wanted[m * N + n] = (float)sum;
    }
}

static hrx_executable *graph_of(bool gpu, bool npu) {
  hrx_graph *graph = graph_new(runtime);
  hrx_view of_words = hrx_buffer_view(words);
  if (gpu) OK(hrx_graph_gpu(graph, mix, &of_words, 1, NULL));
  if (npu) OK(hrx_graph_npu(graph, gemm, (hrx_view[]){hrx_buffer_view(a), hrx_buffer_view(b), hrx_buffer_view(c)}, 3, NULL));
  return prepared(graph);
}

static void results_clear(void) {
  static const float zeros[M * N];
  OK(hrx_view_write(hrx_buffer_view(words), zeros, GPU_BYTES));
  OK(hrx_view_write(hrx_buffer_view(c), zeros, C_BYTES));
}

static void results_check(const char *way) {
  static uint32_t words_found[WORDS];
  static float c_found[M * N];
  OK(hrx_view_read(hrx_buffer_view(words), words_found, sizeof words_found));
  OK(hrx_view_read(hrx_buffer_view(c), c_found, sizeof c_found));
  for (unsigned i = 0; i < WORDS; i++)
    RIGHT(words_found[i] == words_wanted[i], "%s: word %u is %u, not %u", way, i, words_found[i], words_wanted[i]);
  for (unsigned i = 0; i < M * N; i++)
    RIGHT(c_found[i] == c_wanted[i], "%s: element %u is %g, not %g", way, i, (double)c_found[i], (double)c_wanted[i]);
}

static double run_sequential(void) {
  results_clear();
  double began = now_ns();
  run_once(gpu_alone);
  run_once(npu_alone);
  double took = now_ns() - began;
  results_check("one after the other");
  return took;
}

static double run_parallel(void) {
  results_clear();
  double began = now_ns();
  run_once(both);
  double took = now_ns() - began;
  results_check("side by side");
  return took;
}

/* The part of the shorter one's time in which the other ran as well, in percent. */
static double overlap_traced(double (*run)(void)) {
  hrx_trace *trace;
  hrx_trace_event gpu = {.kind = HRX_EVENT_JOIN}, npu = {.kind = HRX_EVENT_JOIN}, event;
  OK(hrx_runtime_start_trace(runtime, EVENTS));
  run();
  OK(hrx_runtime_finish_trace(runtime, &trace));
  RIGHT(hrx_trace_count(trace) == 2 && hrx_trace_dropped(trace) == 0, "a trace of a kernel and a product has %zu events",
        hrx_trace_count(trace));
  for (size_t i = 0; i < 2; i++) {
    OK(hrx_trace_event_get(trace, i, &event));
    if (event.kind == HRX_EVENT_KERNEL) gpu = event;
    if (event.kind == HRX_EVENT_NPU) npu = event;
  }
  RIGHT(gpu.kind == HRX_EVENT_KERNEL && npu.kind == HRX_EVENT_NPU, "the trace does not show the kernel and the product");
  RIGHT(strcmp(gpu.label, "mix") == 0 && strcmp(gpu.lane, npu.lane) != 0, "%s ran on %s, the product on %s", gpu.label, gpu.lane,
        npu.lane);
  RIGHT(gpu.started_ns < gpu.finished_ns && npu.started_ns < npu.finished_ns, "what ran took no time");
  uint64_t begin = gpu.started_ns > npu.started_ns ? gpu.started_ns : npu.started_ns;
  uint64_t end = gpu.finished_ns < npu.finished_ns ? gpu.finished_ns : npu.finished_ns;
  uint64_t gpu_ns = gpu.finished_ns - gpu.started_ns, npu_ns = npu.finished_ns - npu.started_ns;
  hrx_trace_release(trace);
  return begin >= end ? 0 : 100.0 * (double)(end - begin) / (double)(gpu_ns < npu_ns ? gpu_ns : npu_ns);
}

static void bench(void) {
  static double sequential[ROUNDS], parallel[ROUNDS], ratios[ROUNDS], overlaps[ROUNDS];
  for (unsigned round = 0; round < ROUNDS; round++) {
    if (round % 2 == 0) sequential[round] = run_sequential();
    parallel[round] = run_parallel();
    if (round % 2 != 0) sequential[round] = run_sequential();
    ratios[round] = parallel[round] / sequential[round];
  }
  for (unsigned round = 0; round < ROUNDS; round++) overlaps[round] = overlap_traced(run_parallel);
  figure("gpu_npu_sequential_p50", percentile(sequential, ROUNDS, 50));
  figure("gpu_npu_parallel_p50", percentile(parallel, ROUNDS, 50));
  figure("gpu_npu_ratio_p50", percentile(ratios, ROUNDS, 50));
  figure("gpu_npu_overlap_p50", percentile(overlaps, ROUNDS, 50));
}

/* With a busy machine a thread may come too late to overlap once, but not each time. */
static void check(void) {
  double overlap = 0;
  RIGHT(overlap_traced(run_sequential) <= 0, "what was waited for overlaps what came after it");
  for (unsigned i = 0; i < TRIES && overlap <= 0; i++) overlap = overlap_traced(run_parallel);
  RIGHT(overlap > 0, "GPU and NPU never ran at the same time");
}

int main(int count, char **arguments) {
  runtime = soft_runtime();
  kernels_load();
  memory_make();
  gpu_alone = graph_of(true, false);
  npu_alone = graph_of(false, true);
  both = graph_of(true, true);
  check();
  if (is_bench(count, arguments)) bench();
  hrx_executable_release(both);
  hrx_executable_release(npu_alone);
  hrx_executable_release(gpu_alone);
  hrx_buffer_release(c);
  hrx_buffer_release(b);
  hrx_buffer_release(a);
  hrx_buffer_release(words);
  hrx_npu_kernel_release(gemm);
  hrx_gpu_kernel_release(mix);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
