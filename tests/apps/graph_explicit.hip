/* A graph made node by node: copies, fills, kernels, a host function, an empty node; launched several times, then changed. */
#include "app.h"

__global__ void combine(const int *a, const int *b, int *out, int count, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] * factor + b[i];
}

struct Host {
  const int *values;
  long long sum;
  int calls;
};

static void summed(void *data) {
  Host *host = (Host *)data;
  host->sum = 0;
  for (int i = 0; i < 1000; i++) host->sum += host->values[i];
  host->calls++;
}

int main() {
  const int count = 1000;
  size_t bytes = count * sizeof(int);
  std::vector<int> in(count), result(count, -1);
  int *a = app_device<int>(count), *b = app_device<int>(count), *out = app_device<int>(count);
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t upload, fill, join, kernel, download, host_node;
  CHECK(hipGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, a, in.data(), bytes, hipMemcpyHostToDevice));
  hipMemsetParams memset_parameters = {};
  memset_parameters.dst = b;
  memset_parameters.elementSize = 4;
  memset_parameters.value = 1000;
  memset_parameters.width = count;
  memset_parameters.height = 1;
  CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset_parameters));
  hipGraphNode_t both[] = {upload, fill};
  CHECK(hipGraphAddEmptyNode(&join, graph, both, 2));
  int number = count, factor = 7;
  void *arguments[] = {&a, &b, &out, &number, &factor};
  hipKernelNodeParams kernel_parameters = {};
  kernel_parameters.func = (void *)combine;
  kernel_parameters.gridDim = dim3((count + 63) / 64);
  kernel_parameters.blockDim = dim3(64);
  kernel_parameters.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&kernel, graph, &join, 1, &kernel_parameters));
  CHECK(hipGraphAddMemcpyNode1D(&download, graph, nullptr, 0, result.data(), out, bytes, hipMemcpyDeviceToHost));
  CHECK(hipGraphAddDependencies(graph, &kernel, &download, 1));
  Host host = {result.data(), 0, 0};
  hipHostNodeParams host_parameters = {};
  host_parameters.fn = summed;
  host_parameters.userData = &host;
  CHECK(hipGraphAddHostNode(&host_node, graph, &download, 1, &host_parameters));

  size_t nodes = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 6, "%zu nodes", nodes);
  hipGraphNode_t listed[8];
  nodes = 8;
  CHECK(hipGraphGetNodes(graph, listed, &nodes));
  EXPECT(nodes == 6 && listed[0] == upload && listed[5] == host_node, "the list of nodes differs");
  size_t roots = 0;
  CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(roots == 2, "%zu roots", roots);
  hipGraphNodeType type;
  CHECK(hipGraphNodeGetType(kernel, &type));
  EXPECT(type == hipGraphNodeTypeKernel, "the kernel node is of type %d", (int)type);
  EXPECT(hipGraphAddDependencies(graph, &kernel, &download, 1) != hipSuccess, "an edge was added twice");

  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  factor = 99; /* the graph has its own copy */
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < count; i++) in[i] = i + round;
    CHECK(hipGraphLaunch(exec, round == 4 ? nullptr : stream));
    CHECK(hipDeviceSynchronize());
    long long sum = 0;
    for (int i = 0; i < count; i++) {
      int expected = (i + round) * 7 + 1000;
      sum += expected;
      EXPECT(result[i] == expected, "round %d, element %d: %d, expected %d", round, i, result[i], expected);
    }
    EXPECT(host.sum == sum && host.calls == round + 1, "round %d: sum %lld after %d calls", round, host.sum, host.calls);
  }

  /* other arguments in the executable graph; the source graph keeps its own */
  factor = -2;
  CHECK(hipGraphExecKernelNodeSetParams(exec, kernel, &kernel_parameters));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < count; i++) EXPECT(result[i] == (i + 4) * -2 + 1000, "changed, element %d: %d", i, result[i]);
  hipKernelNodeParams kept;
  CHECK(hipGraphKernelNodeGetParams(kernel, &kept));
  EXPECT(*(int *)kept.kernelParams[4] == 7, "the source graph's factor is %d", *(int *)kept.kernelParams[4]);

  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  EXPECT(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) != hipSuccess, "a dead graph was instantiated");
  CHECK(hipStreamDestroy(stream));
  return app_end();
}
