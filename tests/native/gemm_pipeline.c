/* A pipeline over both engines: the GPU rounds numbers to bfloat16, the NPU multiplies matrices, the GPU scales and adds. What passes
 * between them lies in shared memory: nothing is copied, and nothing is allocated or imported again. usage: gemm_pipeline [bench] */
#include "tests/native/native.h"

enum { M = 64, K = 64, N = 64, REQUESTS = 3, ITERATIONS = 30, ROUNDS = 200 };
enum { A_BYTES = 2 * M * K, B_BYTES = 2 * K * N, C_BYTES = 4 * M * N, INPUT_BYTES = 4 * M * K, OUTPUT_BYTES = 4 * M * N };

static const char source[] =
    "extern \"C\" __global__ void prepare(unsigned short *out, const float *in) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x;\n"
    "  unsigned bits = __float_as_uint(in[i]);\n"
    "  out[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n"
    "}\n"
    "extern \"C\" __global__ void epilogue(float *out, const float *in, float scale, float bias) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x;\n"
    "  out[i] = in[i] * scale + bias;\n"
    "}\n";

/* One request in flight: buffers of its own, all the weights' in common. */
struct request {
  hrx_buffer *input, *a, *c, *output;
  hrx_executable *executable;
  hrx_completion *completion;
  unsigned seed;
};

static hrx_runtime *runtime;
static hrx_gpu_kernel *prepare, *epilogue;
static hrx_npu_kernel *gemm;
static hrx_buffer *weights;
static int b_values[K * N];

/* Small whole numbers: products and sums are exact in every format. */
static int a_value(unsigned seed, unsigned i) { return (int)((i * 7 + i / K * 3 + seed * 5) % 9) - 4; }

static void kernels_load(void) {
  hrx_artifact *code = compiled(runtime, "gemm_pipeline.hip", source);
  prepare = gpu_kernel(runtime, code, "prepare", M * K / 64,
                       contract_of((hrx_binding[]){{A_BYTES, 2, HRX_WRITE, "bf16"}, {INPUT_BYTES, 4, HRX_READ, "f32"}}, 2));
  hrx_contract *contract = contract_of((hrx_binding[]){{OUTPUT_BYTES, 4, HRX_WRITE, "f32"}, {C_BYTES, 4, HRX_READ, "f32"}}, 2);
  OK(hrx_contract_push_f32(contract, 0.5f));
  OK(hrx_contract_push_f32(contract, 3));
  epilogue = gpu_kernel(runtime, code, "epilogue", M * N / 64, contract);
  hrx_artifact_release(code);
  hrx_binding bindings[] = {{A_BYTES, 2, HRX_READ, "bf16"}, {B_BYTES, 2, HRX_READ, "bf16"}, {C_BYTES, 4, HRX_WRITE, "f32"}};
  contract = contract_of(bindings, 3);
  OK(hrx_contract_push_u32(contract, M));
  OK(hrx_contract_push_u32(contract, K));
  OK(hrx_contract_push_u32(contract, N));
  gemm = npu_kernel(runtime, "gemm_bf16", "gemm_f32", contract);
}

static void weights_make(void) {
  static uint16_t bits[K * N];
  weights = buffer_new(runtime, B_BYTES, HRX_SHARED);
  for (unsigned i = 0; i < K * N; i++) {
    b_values[i] = (int)((i * 5 + i / N) % 7) - 3;
    float value = (float)b_values[i];
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    bits[i] = (uint16_t)(wide >> 16);
  }
  OK(hrx_view_write(hrx_buffer_view(weights), bits, sizeof bits));
}

static void request_make(struct request *request) {
  request->input = buffer_new(runtime, INPUT_BYTES, HRX_HOST_VISIBLE);
  request->a = buffer_new(runtime, A_BYTES, HRX_SHARED);
  request->c = buffer_new(runtime, C_BYTES, HRX_SHARED);
  request->output = buffer_new(runtime, OUTPUT_BYTES, HRX_HOST_VISIBLE);
  hrx_view input = hrx_buffer_view(request->input), a = hrx_buffer_view(request->a), b = hrx_buffer_view(weights),
           c = hrx_buffer_view(request->c), output = hrx_buffer_view(request->output);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, prepare, (hrx_view[]){a, input}, 2, NULL));
  OK(hrx_graph_npu(graph, gemm, (hrx_view[]){a, b, c}, 3, NULL));
  OK(hrx_graph_gpu(graph, epilogue, (hrx_view[]){output, c}, 2, NULL));
  request->executable = prepared(graph);
}

static void request_free(struct request *request) {
  hrx_executable_release(request->executable);
  hrx_buffer_release(request->output);
  hrx_buffer_release(request->c);
  hrx_buffer_release(request->a);
  hrx_buffer_release(request->input);
}

/* Its input through a map: what was there before is waited for. */
static void request_submit(struct request *request, unsigned seed) {
  hrx_map *map;
  request->seed = seed;
  OK(hrx_map_write(hrx_buffer_view(request->input), &map));
  float *values = hrx_map_pointer(map);
  for (unsigned i = 0; i < M * K; i++) values[i] = (float)a_value(seed, i);
  hrx_map_release(map);
  OK(hrx_executable_submit(request->executable, &request->completion));
}

static void request_check(struct request *request) {
  hrx_map *map;
  finish(request->completion);
  OK(hrx_map_read(hrx_buffer_view(request->output), &map));
  const float *values = hrx_map_pointer(map);
  for (unsigned m = 0; m < M; m++)
    for (unsigned n = 0; n < N; n++) {
      int sum = 0;
      for (unsigned k = 0; k < K; k++) sum += a_value(request->seed, m * K + k) * b_values[k * N + n];
      float wanted = (float)sum * 0.5f + 3;
      RIGHT(values[m * N + n] == wanted, "request %u: element %u, %u is %g, not %g", request->seed, m, n, (double)values[m * N + n],
            (double)wanted);
    }
  hrx_map_release(map);
}

static void check(struct request *requests) {
  for (unsigned i = 0; i < REQUESTS; i++) request_submit(&requests[i], i);
  for (unsigned i = 0; i < REQUESTS; i++) request_check(&requests[i]);
  hrx_statistics first = statistics_of(runtime);
  for (unsigned i = 0; i < ITERATIONS; i++) {
    struct request *request = &requests[i % REQUESTS];
    if (i >= REQUESTS) request_check(request);
    request_submit(request, 100 + i);
  }
  for (unsigned i = 0; i < REQUESTS; i++) request_check(&requests[(ITERATIONS + i) % REQUESTS]);
  hrx_statistics last = statistics_of(runtime);
  RIGHT(last.allocations == first.allocations, "%llu allocations became %llu", (unsigned long long)first.allocations,
        (unsigned long long)last.allocations);
  RIGHT(last.imports == first.imports, "%llu imports became %llu", (unsigned long long)first.imports, (unsigned long long)last.imports);
  RIGHT(last.imports == 1 + 2 * REQUESTS, "%llu imports for %d shared buffers", (unsigned long long)last.imports, 1 + 2 * REQUESTS);
  RIGHT(last.copied_bytes == first.copied_bytes, "%llu bytes were copied", (unsigned long long)(last.copied_bytes - first.copied_bytes));
  RIGHT(last.submissions == first.submissions + ITERATIONS, "%llu submissions, not %d",
        (unsigned long long)(last.submissions - first.submissions), ITERATIONS);
}

static void bench(struct request *requests) {
  static double times[ROUNDS];
  for (unsigned i = 0; i < ROUNDS; i++) {
    double began = now_ns();
    run_once(requests[0].executable);
    times[i] = now_ns() - began;
  }
  figure("gemm_pipeline_p50", percentile(times, ROUNDS, 50));
  figure("gemm_pipeline_p95", percentile(times, ROUNDS, 95));
  double began = now_ns();
  for (unsigned i = 0; i < ROUNDS; i++) {
    struct request *request = &requests[i % REQUESTS];
    if (i >= REQUESTS) finish(request->completion);
    OK(hrx_executable_submit(request->executable, &request->completion));
  }
  for (unsigned i = 0; i < REQUESTS; i++) finish(requests[i].completion);
  figure("gemm_pipeline_requests", ROUNDS / (now_ns() - began) * 1e9);
}

int main(int count, char **arguments) {
  struct request requests[REQUESTS];
  runtime = soft_runtime();
  kernels_load();
  weights_make();
  for (unsigned i = 0; i < REQUESTS; i++) request_make(&requests[i]);
  check(requests);
  if (is_bench(count, arguments)) bench(requests);
  for (unsigned i = 0; i < REQUESTS; i++) request_free(&requests[i]);
  hrx_buffer_release(weights);
  hrx_npu_kernel_release(gemm);
  hrx_gpu_kernel_release(epilogue);
  hrx_gpu_kernel_release(prepare);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
