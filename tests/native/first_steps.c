/* The program of README.md: two kernels with a step of the NPU between them; what waits for what follows from the buffers.
 * usage: first_steps [copy.so] */
#include <hrx/hrx.h>
#include <stdio.h>

enum { COUNT = 1024, BYTES = 4 * COUNT };
#define TRY(call) \
  if ((call) != HRX_OK) return fprintf(stderr, "%s\n", hrx_last_message()), 1

static const char source[] =
    "extern \"C\" __global__ void numbers(unsigned *out) { unsigned i = blockIdx.x * 64 + threadIdx.x; out[i] = i; }"
    "extern \"C\" __global__ void square(unsigned *words) { unsigned i = blockIdx.x * 64 + threadIdx.x; words[i] *= words[i]; }";

int main(int count, char **arguments) {
  hrx_runtime *runtime;
  hrx_npu *npu;
  hrx_artifact *code;
  hrx_buffer *from, *to;
  hrx_contract *writes, *updates, *copies;
  hrx_gpu_kernel *numbers, *square;
  hrx_npu_kernel *copy;
  hrx_graph *graph;
  hrx_executable *executable;
  hrx_completion *completion;
  unsigned result[COUNT];
  hrx_dimensions grid = {COUNT / 64, 1, 1}, block = {64, 1, 1};
  hrx_binding out = {BYTES, 4, HRX_WRITE, NULL}, both = {BYTES, 4, HRX_READ_WRITE, NULL}, in = {BYTES, 4, HRX_READ, NULL};

  TRY(hrx_runtime_create(NULL, &runtime));
  TRY(hrx_runtime_npu(runtime, 0, &npu));
  TRY(hrx_buffer_create(runtime, BYTES, HRX_SHARED, 0, &from));
  TRY(hrx_buffer_create(runtime, BYTES, HRX_SHARED, 0, &to));
  TRY(hrx_contract_create(&out, 1, &writes));
  TRY(hrx_contract_create(&both, 1, &updates));
  TRY(hrx_contract_create((hrx_binding[]){out, in}, 2, &copies));
  TRY(hrx_compile_hip(runtime, source, sizeof source - 1, "first_steps.hip", NULL, NULL, 0, &code));
  size_t size;
  const void *bytes = hrx_artifact_bytes(code, &size);
  TRY(hrx_gpu_kernel_load(runtime, bytes, size, "numbers", grid, block, 0, writes, &numbers));
  TRY(hrx_gpu_kernel_load(runtime, bytes, size, "square", grid, block, 0, updates, &square));
  TRY(hrx_npu_kernel_load_file(npu, count > 1 ? arguments[1] : "build/lib/npu/copy.so", "copy", 1, copies, &copy));

  TRY(hrx_graph_create(runtime, &graph));
  TRY(hrx_graph_gpu(graph, numbers, (hrx_view[]){hrx_buffer_view(from)}, 1, NULL));
  TRY(hrx_graph_npu(graph, copy, (hrx_view[]){hrx_buffer_view(to), hrx_buffer_view(from)}, 2, NULL));
  TRY(hrx_graph_gpu(graph, square, (hrx_view[]){hrx_buffer_view(to)}, 1, NULL));
  TRY(hrx_graph_prepare(graph, &executable));
  TRY(hrx_executable_submit(executable, &completion));
  TRY(hrx_completion_wait(completion));
  TRY(hrx_view_read(hrx_buffer_view(to), result, sizeof result));

  for (unsigned i = 0; i < COUNT; i++)
    if (result[i] != i * i) return fprintf(stderr, "word %u is %u\n", i, result[i]), 1;
  hrx_completion_release(completion);
  hrx_executable_release(executable);
  hrx_graph_release(graph);
  hrx_npu_kernel_release(copy);
  hrx_gpu_kernel_release(square);
  hrx_gpu_kernel_release(numbers);
  hrx_artifact_release(code);
  hrx_contract_release(copies);
  hrx_contract_release(updates);
  hrx_contract_release(writes);
  hrx_buffer_release(to);
  hrx_buffer_release(from);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
