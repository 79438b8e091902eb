/* What the edges of a graph order and what they leave free; its place among other work; kinds of copies; failures. */
#include "app.h"

__device__ int symbol[64];

__global__ void wait_for(volatile int *flag, int *seen) {
  while (*flag == 0) {
  }
  *seen = *flag;
}

__global__ void set(volatile int *flag, int value) { *flag = value; }

__global__ void add_to(int *values, int count, int number) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += number;
}

__global__ void wild(int *values) { values[(size_t)threadIdx.x * 0x10000000] = 1; }

static hipGraphNode_t add_kernel(hipGraph_t graph, void *kernel, void **arguments, const std::vector<hipGraphNode_t> &after,
                                 int threads = 1) {
  hipKernelNodeParams parameters = {};
  parameters.func = kernel;
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(threads);
  parameters.kernelParams = arguments;
  hipGraphNode_t node;
  CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

static hipGraphNode_t add_copy(hipGraph_t graph, void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                               const std::vector<hipGraphNode_t> &after) {
  hipGraphNode_t node;
  CHECK(hipGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), to, from, bytes, kind));
  return node;
}

static hipGraphExec_t made(hipGraph_t graph) {
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  return exec;
}

static void ended(hipGraphExec_t exec, hipGraph_t graph) {
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
}

/* Branches without a path between them run at once: in each, a kernel waits for a flag that another branch sets, and copies stand
 * before and behind them. */
static void branches_overlap() {
  enum { BRANCHES = 4 };
  int *flags = app_device<int>(BRANCHES), *seen = app_device<int>(BRANCHES), *copies = app_device<int>(2 * BRANCHES);
  std::vector<int> zeros(BRANCHES, 0);
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t clear = add_copy(graph, flags, zeros.data(), sizeof(int) * BRANCHES, hipMemcpyHostToDevice, {});
  std::vector<hipGraphNode_t> ends;
  for (int b = 0; b < BRANCHES; b++) {
    int *flag = flags + b, *result = seen + b;
    void *waiting[] = {&flag, &result};
    hipGraphNode_t node = add_kernel(graph, (void *)wait_for, waiting, {clear});
    ends.push_back(add_copy(graph, copies + b, result, sizeof(int), hipMemcpyDeviceToDevice, {node}));
  }
  for (int b = 0; b < BRANCHES; b++) {
    int *flag = flags + b, value = 100 + b;
    void *setting[] = {&flag, &value};
    hipGraphNode_t node = add_copy(graph, copies + BRANCHES + b, flag, sizeof(int), hipMemcpyDeviceToDevice, {clear});
    ends.push_back(add_kernel(graph, (void *)set, setting, {node}));
  }
  std::vector<int> result(2 * BRANCHES, -1);
  add_copy(graph, result.data(), copies, sizeof(int) * 2 * BRANCHES, hipMemcpyDeviceToHost, ends);
  hipGraphExec_t exec = made(graph);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  for (int round = 0; round < 20; round++) {
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int b = 0; b < BRANCHES; b++) {
      EXPECT(result[b] == 100 + b, "round %d, branch %d saw %d", round, b, result[b]);
      EXPECT(result[BRANCHES + b] == 0, "round %d: flag %d was %d before it was set", round, b, result[BRANCHES + b]);
    }
    result.assign(2 * BRANCHES, -1);
  }
  ended(exec, graph);
  CHECK(hipStreamDestroy(stream));
}

/* A launch into stream 0 follows the blocking streams and is followed by them, and the other way round. */
static void among_other_work() {
  const int count = 64;
  int *values = app_device<int>(count);
  CHECK(hipMemset(values, 0, count * sizeof(int)));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  int number = 1, n = count;
  void *arguments[] = {&values, &n, &number};
  hipGraphNode_t first = add_kernel(graph, (void *)add_to, arguments, {}, count);
  add_kernel(graph, (void *)add_to, arguments, {first}, count);
  hipGraphExec_t exec = made(graph);
  for (int round = 0; round < 50; round++) {
    add_to<<<1, count, 0, stream>>>(values, count, 1);
    CHECK(hipGraphLaunch(exec, nullptr));
    add_to<<<1, count, 0, stream>>>(values, count, 1);
    add_to<<<1, count>>>(values, count, 1);
    CHECK(hipGraphLaunch(exec, stream));
    add_to<<<1, count>>>(values, count, 1);
  }
  std::vector<int> got = app_download(values, count);
  for (int i = 0; i < count; i++) EXPECT(got[i] == 50 * 8, "element %d is %d", i, got[i]);
  ended(exec, graph);
  CHECK(hipStreamDestroy(stream));
}

/* Rows into a pitched block and back, a variable, pageable and pinned memory. */
static void copies() {
  const int rows = 5, width = 7;
  char *pitched = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch((void **)&pitched, &pitch, width * sizeof(int), rows));
  CHECK(hipMemset(pitched, 0x5A, pitch * rows));
  std::vector<int> in(rows * width), out(rows * width, -1);
  int *pinned = nullptr;
  CHECK(hipHostMalloc((void **)&pinned, 64 * sizeof(int), 0));
  for (int i = 0; i < 64; i++) pinned[i] = i * i;
  std::vector<int> from_symbol(64, -1);
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipMemcpy3DParms box = {};
  box.srcPtr = make_hipPitchedPtr(in.data(), width * sizeof(int), width * sizeof(int), rows);
  box.dstPtr = make_hipPitchedPtr(pitched, pitch, width * sizeof(int), rows);
  box.extent = make_hipExtent(width * sizeof(int), rows, 1);
  box.kind = hipMemcpyHostToDevice;
  hipGraphNode_t into, back, to_symbol, symbol_back;
  CHECK(hipGraphAddMemcpyNode(&into, graph, nullptr, 0, &box));
  std::swap(box.srcPtr, box.dstPtr);
  box.dstPtr.ptr = out.data();
  box.kind = hipMemcpyDeviceToHost;
  CHECK(hipGraphAddMemcpyNode(&back, graph, &into, 1, &box));
  CHECK(hipGraphAddMemcpyNodeToSymbol(&to_symbol, graph, nullptr, 0, HIP_SYMBOL(symbol), pinned, 64 * sizeof(int), 0,
                                      hipMemcpyHostToDevice));
  CHECK(hipGraphAddMemcpyNodeFromSymbol(&symbol_back, graph, &to_symbol, 1, from_symbol.data(), HIP_SYMBOL(symbol),
                                        60 * sizeof(int), 4 * sizeof(int), hipMemcpyDeviceToHost));
  hipGraphExec_t exec = made(graph);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < rows * width; i++) in[i] = 1000 * round + i;
    CHECK(hipGraphLaunch(exec, nullptr));
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < rows * width; i++) EXPECT(out[i] == in[i], "round %d, element %d is %d", round, i, out[i]);
  }
  for (int i = 0; i < 60; i++) EXPECT(from_symbol[i] == (i + 4) * (i + 4), "element %d of the variable: %d", i, from_symbol[i]);
  for (int i = 60; i < 64; i++) EXPECT(from_symbol[i] == -1, "element %d was written", i);
  ended(exec, graph);
  CHECK(hipHostFree(pinned));
}

static void called(void *data) { ++*(int *)data; }

/* Graphs without nodes, or with nothing but empty ones, and one whose edges have a cycle. */
static void odd_graphs() {
  hipGraph_t graph;
  hipGraphNode_t a, b, c;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphExec_t exec = made(graph);
  CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipDeviceSynchronize());
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphAddEmptyNode(&a, graph, nullptr, 0));
  CHECK(hipGraphAddEmptyNode(&b, graph, &a, 1));
  exec = made(graph);
  CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipDeviceSynchronize());
  int calls = 0;
  hipHostNodeParams host = {called, &calls};
  CHECK(hipGraphAddHostNode(&c, graph, &b, 1, &host));
  CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipDeviceSynchronize());
  EXPECT(calls == 0, "a node that was added later ran");
  CHECK(hipGraphExecDestroy(exec));
  exec = made(graph);
  for (int i = 0; i < 10; i++) CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipDeviceSynchronize());
  EXPECT(calls == 10, "%d calls", calls);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphAddDependencies(graph, &c, &a, 1));
  EXPECT(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) == hipErrorInvalidValue, "a cycle was accepted");
  (void)hipGetLastError();
  CHECK(hipGraphDestroy(graph));
}

/* A kernel that leaves its memory fails the launch where somebody waits for it; the graph can be launched again. */
static void failures() {
  int *values = app_device<int>(64), *other = app_device<int>(64);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  int n = 64, number = 1;
  void *wild_arguments[] = {&values}, *arguments[] = {&other, &n, &number};
  hipGraphNode_t bad = add_kernel(graph, (void *)wild, wild_arguments, {}, 64);
  add_kernel(graph, (void *)add_to, arguments, {bad}, 64);
  hipGraphExec_t exec = made(graph);
  CHECK(hipMemset(other, 0, 64 * sizeof(int)));
  CHECK(hipGraphLaunch(exec, stream));
  EXPECT(hipStreamSynchronize(stream) == hipErrorIllegalAddress, "nobody says that the kernel failed");
  (void)hipGetLastError();
  EXPECT(app_download(other, 64)[0] == 0, "what follows the failed kernel ran");
  hipKernelNodeParams good = {};
  good.func = (void *)add_to;
  good.gridDim = dim3(1);
  good.blockDim = dim3(64);
  good.kernelParams = arguments;
  CHECK(hipGraphExecKernelNodeSetParams(exec, bad, &good));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(app_download(other, 64)[63] == 2, "the graph does not work after its failure");
  ended(exec, graph);
  CHECK(hipStreamDestroy(stream));
}

int main() {
  branches_overlap();
  among_other_work();
  copies();
  odd_graphs();
  failures();
  return app_end();
}
