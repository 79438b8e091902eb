/* Whether a patch of a kernel pays: two variants of one kernel, with one contract, compared on shared buffers that both of them get.
 * Each must give exactly what the host computes; their times are taken in turn, which goes first changing every round.
 * usage: patch_bench [bench] */
#include "tests/native/native.h"

enum { COUNT = 16 << 10, WINDOW = 16, PADDED = COUNT + WINDOW, BLOCK = 64, CHECKED = 2, ROUNDS = 40 };
enum { IN_BYTES = 4 * PADDED, OUT_BYTES = 4 * COUNT };

/* Sums of a window that moves along. The patched variant reads each word once for its workgroup, and adds in LDS. */
static const char source[] =
    "#define WINDOW 16\n"
    "extern \"C\" __global__ void window_sum(unsigned *out, const unsigned *in) {\n"
    "  unsigned i = blockIdx.x * 64 + threadIdx.x, sum = 0;\n"
    "#if PATCHED\n"
    "  __shared__ unsigned tile[64 + WINDOW];\n"
    "  tile[threadIdx.x] = in[i];\n"
    "  if (threadIdx.x < WINDOW) tile[64 + threadIdx.x] = in[i + 64];\n"
    "  __syncthreads();\n"
    "  for (unsigned k = 0; k < WINDOW; k++) sum += tile[threadIdx.x + k] * (k + 1);\n"
    "#else\n"
    "  for (unsigned k = 0; k < WINDOW; k++) sum += in[i + k] * (k + 1);\n"
    "#endif\n"
    "  out[i] = sum;\n"
    "}\n";

static hrx_runtime *runtime;
static hrx_buffer *in, *out;
static uint32_t wanted[COUNT];

struct variant {
  const char *name;
  hrx_executable *executable;
  double times[ROUNDS];
};

static void variant_make(struct variant *variant, const char *name, const char *patched) {
  hrx_artifact *code;
  hrx_configuration configuration = {"PATCHED", patched};
  hrx_status status = hrx_compile_hip(runtime, source, strlen(source), "patch_bench.hip", NULL, &configuration, 1, &code);
  if (status == HRX_UNSUPPORTED) {
    puts(hrx_last_message());
    exit(77);
  }
  OK(status);
  hrx_binding bindings[] = {{OUT_BYTES, 4, HRX_WRITE, "u32"}, {IN_BYTES, 4, HRX_READ, "u32"}};
  hrx_gpu_kernel *kernel = gpu_kernel(runtime, code, "window_sum", COUNT / BLOCK, contract_of(bindings, 2));
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, kernel, (hrx_view[]){hrx_buffer_view(out), hrx_buffer_view(in)}, 2, NULL));
  variant->name = name;
  variant->executable = prepared(graph);
  hrx_gpu_kernel_release(kernel);
  hrx_artifact_release(code);
}

/* New input each round, and what each variant has to make of it. */
static void input_write(uint32_t round) {
  hrx_map *map;
  OK(hrx_map_write(hrx_buffer_view(in), &map));
  uint32_t *words = hrx_map_pointer(map);
  for (uint32_t i = 0; i < PADDED; i++) words[i] = (i + round * 977) * 2654435761u;
  for (uint32_t i = 0; i < COUNT; i++) {
    wanted[i] = 0;
    for (uint32_t k = 0; k < WINDOW; k++) wanted[i] += words[i + k] * (k + 1);
  }
  hrx_map_release(map);
}

/* How long it took. What the other variant left is gone before. */
static double variant_run(const struct variant *variant) {
  hrx_map *map;
  OK(hrx_map_write(hrx_buffer_view(out), &map));
  memset(hrx_map_pointer(map), 0xa5, OUT_BYTES);
  hrx_map_release(map);
  double began = now_ns();
  run_once(variant->executable);
  double took = now_ns() - began;
  OK(hrx_map_read(hrx_buffer_view(out), &map));
  const uint32_t *words = hrx_map_pointer(map);
  for (uint32_t i = 0; i < COUNT; i++)
    RIGHT(words[i] == wanted[i], "%s: word %u is %u, not %u", variant->name, i, words[i], wanted[i]);
  hrx_map_release(map);
  return took;
}

static void round_run(struct variant variants[2], uint32_t round, uint32_t slot) {
  input_write(round);
  for (unsigned i = 0; i < 2; i++) {
    struct variant *variant = &variants[(i + round) % 2];
    variant->times[slot] = variant_run(variant);
  }
}

static void bench(struct variant variants[2]) {
  static double ratios[ROUNDS];
  for (uint32_t round = 0; round < ROUNDS; round++) {
    round_run(variants, round, round);
    ratios[round] = variants[1].times[round] / variants[0].times[round];
  }
  figure("patch_original_p50", percentile(variants[0].times, ROUNDS, 50));
  figure("patch_patched_p50", percentile(variants[1].times, ROUNDS, 50));
  figure("patch_ratio_p50", percentile(ratios, ROUNDS, 50)); /* of pairs: what slows the machine down slows both */
}

int main(int count, char **arguments) {
  static struct variant variants[2];
  runtime = soft_runtime();
  in = buffer_new(runtime, IN_BYTES, HRX_SHARED);
  out = buffer_new(runtime, OUT_BYTES, HRX_SHARED);
  variant_make(&variants[0], "original", "0");
  variant_make(&variants[1], "patched", "1");
  for (uint32_t round = 0; round < CHECKED; round++) round_run(variants, round, round);
  if (is_bench(count, arguments)) bench(variants);
  for (unsigned i = 0; i < 2; i++) hrx_executable_release(variants[i].executable);
  hrx_buffer_release(out);
  hrx_buffer_release(in);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
