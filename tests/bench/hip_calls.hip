/* What single HIP calls cost, in nanoseconds: the best of several batches, so that other work on the machine shows least. */
#include <hip/hip_runtime.h>

#include <cstdlib>

#include "timing.h"

extern "C" int direct_call(void);

#define CHECK(call)                                                                      \
  do {                                                                                   \
    hipError_t check_error = (call);                                                     \
    if (check_error != hipSuccess) {                                                     \
      fprintf(stderr, "hip_calls: %s: %s\n", #call, hipGetErrorString(check_error));     \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

enum { BATCHES = 40, BATCH_CALLS = 200, BATCH_EMPTY = 200000, GRAPH_KERNELS = 32 };

__global__ void empty() {}

/* The best batch's time of one call of `body`. */
template <typename Body> double best_ns(int calls, Body body) {
  double best = 1e30;
  for (int i = 0; i < 3; i++) body();
  for (int batch = 0; batch < BATCHES; batch++) {
    double began = now_ns();
    for (int i = 0; i < calls; i++) body();
    double each = (now_ns() - began) / calls;
    if (each < best) best = each;
  }
  return best;
}

/* A captured chain of kernels: what a kernel of it costs when it is launched, and until all of it is over. */
static void graph_bench() {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int i = 0; i < GRAPH_KERNELS; i++) empty<<<1, 64, 0, stream>>>();
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  double launch = 1e30, sync = 1e30;
  for (int batch = 0; batch < BATCHES; batch++) {
    double launched = 0, over = 0;
    for (int i = 0; i < BATCH_CALLS; i++) {
      double began = now_ns();
      CHECK(hipGraphLaunch(exec, stream));
      launched += now_ns() - began;
      CHECK(hipStreamSynchronize(stream));
      over += now_ns() - began;
    }
    if (launched < launch) launch = launched;
    if (over < sync) sync = over;
  }
  figure("hip_graph_launch_kernel", launch / BATCH_CALLS / GRAPH_KERNELS);
  figure("hip_graph_sync_kernel", sync / BATCH_CALLS / GRAPH_KERNELS);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
}

int main() {
  enum { COPY = 4096 };
  void *from, *to, *pinned;
  CHECK(hipMalloc(&from, COPY));
  CHECK(hipMalloc(&to, COPY));
  CHECK(hipHostMalloc(&pinned, COPY));

  figure("malloc_free_1MiB", best_ns(BATCH_CALLS, [] {
           void *memory;
           CHECK(hipMalloc(&memory, 1 << 20));
           CHECK(hipFree(memory));
         }));
  figure("launch_empty_sync", best_ns(BATCH_CALLS, [] {
           empty<<<1, 64>>>();
           CHECK(hipDeviceSynchronize());
         }));
  figure("memcpy_async_4KiB_device", best_ns(BATCH_CALLS, [&] {
           CHECK(hipMemcpyAsync(to, from, COPY, hipMemcpyDeviceToDevice, nullptr));
           CHECK(hipDeviceSynchronize());
         }));
  figure("memcpy_async_4KiB_pinned", best_ns(BATCH_CALLS, [&] {
           CHECK(hipMemcpyAsync(to, pinned, COPY, hipMemcpyHostToDevice, nullptr));
           CHECK(hipDeviceSynchronize());
         }));

  graph_bench();

  double hooked = best_ns(BATCH_EMPTY, [] { (void)hipGetLastError(); });
  double direct = best_ns(BATCH_EMPTY, [] { (void)direct_call(); });
  figure("call_hooked", hooked);
  figure("call_direct", direct);

  CHECK(hipFree(from));
  CHECK(hipFree(to));
  CHECK(hipHostFree(pinned));
  return 0;
}
