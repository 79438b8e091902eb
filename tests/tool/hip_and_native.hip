// One program, HIP and the native library on one buffer: a HIP kernel, a native graph, a HIP copy. Preloaded, both are one runtime.
#include <hip/hip_runtime.h>
#include <hrx/hrx.h>

#include <cstdio>
#include <vector>

#define HIP(call) do { hipError_t e = (call); if (e != hipSuccess) { printf("FAILED: line %d: %s\n", __LINE__, hipGetErrorString(e)); return 1; } } while (0)
#define HRX(call) do { if ((call) != HRX_OK) { printf("FAILED: line %d: %s\n", __LINE__, hrx_last_message()); return 1; } } while (0)

__global__ void number(unsigned *out, unsigned from) { out[blockIdx.x * blockDim.x + threadIdx.x] = from + blockIdx.x * blockDim.x + threadIdx.x; }

int main() {
  enum { COUNT = 1 << 16 };
  unsigned *memory = nullptr;
  hipStream_t stream;
  HIP(hipMalloc((void **)&memory, COUNT * 4));
  HIP(hipStreamCreate(&stream));

  hrx_runtime *runtime = nullptr;
  hrx_stream *queue = nullptr;
  hrx_view view{}, half{};
  hrx_buffer *backup = nullptr;
  HRX(hrx_runtime_shared(&runtime));
  HRX(hrx_runtime_view(runtime, memory, COUNT * 4, &view));
  HRX(hrx_runtime_stream(runtime, stream, &queue));
  HRX(hrx_view_slice(view, COUNT * 2, COUNT * 2, &half));
  HRX(hrx_buffer_create(runtime, COUNT * 4, HRX_HOST_VISIBLE, 0, &backup));

  std::vector<unsigned> found(COUNT);
  for (unsigned round = 1; round <= 20; round++) {
    number<<<COUNT / 256, 256, 0, stream>>>(memory, round);
    HRX(hrx_stream_copy(queue, hrx_buffer_view(backup), view)); // behind the kernel: the same queue
    HRX(hrx_stream_fill(queue, half, 0xee));
    HIP(hipMemcpyAsync(found.data(), memory, COUNT * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    const unsigned *kept = (const unsigned *)hrx_buffer_address(backup);
    for (unsigned i = 0; i < COUNT; i++)
      if (found[i] != (i < COUNT / 2 ? round + i : 0xeeeeeeee) || kept[i] != round + i) {
        printf("FAILED: round %u, element %u: %#x and %#x\n", round, i, found[i], kept[i]);
        return 1;
      }
  }

  // a graph of the runtime finds by itself what HIP's work left
  hrx_graph *graph = nullptr;
  hrx_executable *executable = nullptr;
  hrx_completion *completion = nullptr;
  HRX(hrx_graph_create(runtime, &graph));
  HRX(hrx_graph_fill(graph, half, 0x11, nullptr));
  HRX(hrx_graph_copy(graph, hrx_buffer_view(backup), view, nullptr));
  HRX(hrx_graph_prepare(graph, &executable));
  number<<<COUNT / 256, 256, 0, stream>>>(memory, 7);
  HRX(hrx_executable_submit(executable, &completion));
  HRX(hrx_completion_wait(completion));
  for (unsigned i = 0; i < COUNT; i++) {
    unsigned value = ((const unsigned *)hrx_buffer_address(backup))[i];
    if (value != (i < COUNT / 2 ? 7 + i : 0x11111111)) {
      printf("FAILED: graph, element %u: %#x\n", i, value);
      return 1;
    }
  }
  hrx_completion_release(completion);
  hrx_executable_release(executable);
  hrx_graph_release(graph);
  hrx_stream_close(queue);
  hrx_buffer_release(view.buffer);
  hrx_buffer_release(backup);
  hrx_runtime_release(runtime);
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(memory));
  puts("PASS");
  return 0;
}
