/* Launches of executable graphs: many, ahead of the GPU, from several streams and threads, changed and destroyed while they run. */
#include <thread>

#include "app.h"

__global__ void increment(int *value) { *value += 1; }

__global__ void wait_for(volatile int *flag, int wanted) {
  while (*flag < wanted) {
  }
}

__global__ void store(int *out, int index, int value) { out[index] = value; }

__global__ void store_all(int *out, int first, int value) {
  out[first + (int)(blockIdx.x * blockDim.x + threadIdx.x)] = value;
}

/* Counts in overlaps[0] each time that another launch is inside as well. */
__global__ void enter(int *inside, int *overlaps) {
  if (atomicAdd(inside, 1) != 0) atomicAdd(overlaps, 1);
}

__global__ void leave(int *inside, int *count) {
  *count += 1; /* not atomic: launches come one after the other */
  atomicSub(inside, 1);
}

__global__ void begin_and_wait(int *begun, volatile int *flag) {
  atomicAdd_system(begun, 1);
  while (*flag == 0) {
  }
}

static hipGraphNode_t add(hipGraph_t graph, void *kernel, void **arguments, const std::vector<hipGraphNode_t> &after,
                          int blocks = 1, int threads = 1) {
  hipKernelNodeParams parameters = {};
  parameters.func = kernel;
  parameters.gridDim = dim3(blocks);
  parameters.blockDim = dim3(threads);
  parameters.kernelParams = arguments;
  hipGraphNode_t node;
  CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
  return node;
}

static hipGraphExec_t made(hipGraph_t graph) {
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  return exec;
}

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

/* Ten thousand launches, and nobody waits in between. */
static void many_launches() {
  int *value = app_device<int>(1);
  CHECK(hipMemset(value, 0, sizeof(int)));
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  void *arguments[] = {&value};
  hipGraphNode_t first = add(graph, (void *)increment, arguments, {});
  add(graph, (void *)increment, arguments, {first});
  hipGraphExec_t exec = made(graph);
  hipStream_t stream = new_stream();
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 10000; i++) CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  int got = app_download(value, 1)[0];
  EXPECT(got == 20000, "%d increments", got);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(value));
}

/* The program runs far ahead of a kernel that waits for it; each launch keeps the parameters that it was launched with. */
static void changes_in_flight(int *flag) {
  const int launches = 100, slots = 64 * launches;
  int *out = app_device<int>(slots);
  *flag = 0;
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  int wanted = 1, index = 0, value = 0;
  void *waiting[] = {&flag, &wanted}, *storing[] = {&out, &index, &value};
  hipGraphNode_t wait = add(graph, (void *)wait_for, waiting, {});
  hipGraphNode_t node = add(graph, (void *)store, storing, {wait});
  hipGraphExec_t exec = made(graph);
  hipStream_t stream = new_stream();
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < launches; i++) {
    index = i * 64;
    value = 1000 + i;
    hipKernelNodeParams parameters = {};
    /* every third launch with another kernel and grid */
    parameters.func = i % 3 == 2 ? (void *)store_all : (void *)store;
    parameters.gridDim = dim3(i % 3 == 2 ? 2 : 1);
    parameters.blockDim = dim3(i % 3 == 2 ? 32 : 1);
    parameters.kernelParams = storing;
    CHECK(hipGraphExecKernelNodeSetParams(exec, node, &parameters));
    CHECK(hipGraphLaunch(exec, stream));
  }
  EXPECT(hipStreamQuery(stream) == hipErrorNotReady, "the launches did not wait for the flag");
  *(volatile int *)flag = 1;
  CHECK(hipStreamSynchronize(stream));
  std::vector<int> got = app_download(out, slots);
  for (int i = 0; i < slots; i++) {
    int expected = i % 64 == 0 || i / 64 % 3 == 2 ? 1000 + i / 64 : (int)0xA5A5A5A5;
    EXPECT(got[i] == expected, "element %d is %d, expected %d", i, got[i], expected);
  }
  /* what cannot be launched is refused, and changes nothing */
  hipKernelNodeParams bad = {};
  bad.func = (void *)store;
  bad.gridDim = dim3(1);
  bad.blockDim = dim3(1 << 20);
  bad.kernelParams = storing;
  EXPECT(hipGraphExecKernelNodeSetParams(exec, node, &bad) != hipSuccess, "a block of a million was accepted");
  (void)hipGetLastError();
  CHECK(hipMemset(out, 0, slots * sizeof(int)));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(app_download(out, slots)[index] == value, "the last good parameters are gone");
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(out));
}

static void destroyed_while_running(int *flag) {
  int *value = app_device<int>(1);
  CHECK(hipMemset(value, 0, sizeof(int)));
  *flag = 0;
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  int wanted = 1;
  void *waiting[] = {&flag, &wanted}, *counting[] = {&value};
  hipGraphNode_t wait = add(graph, (void *)wait_for, waiting, {});
  add(graph, (void *)increment, counting, {wait});
  hipGraphExec_t exec = made(graph);
  hipStream_t stream = new_stream();
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 3; i++) CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  EXPECT(hipGraphLaunch(exec, stream) != hipSuccess, "a dead graph was launched");
  (void)hipGetLastError();
  *(volatile int *)flag = 1;
  CHECK(hipStreamSynchronize(stream));
  int got = app_download(value, 1)[0];
  EXPECT(got == 3, "%d of 3 launches ran", got);
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(value));
}

/* A launch waits for the one before it in another stream, although there is room for other work. */
static void one_after_the_other(int *flag) {
  int *begun = nullptr, *value = app_device<int>(1);
  CHECK(hipHostMalloc((void **)&begun, sizeof(int), 0));
  *begun = *flag = 0;
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  void *arguments[] = {&begun, &flag};
  add(graph, (void *)begin_and_wait, arguments, {});
  hipGraphExec_t exec = made(graph);
  hipStream_t first = new_stream(), second = new_stream(), third = new_stream();
  CHECK(hipDeviceSynchronize());
  CHECK(hipGraphLaunch(exec, first));
  CHECK(hipGraphLaunch(exec, second));
  while (*(volatile int *)begun == 0) std::this_thread::yield();
  for (int i = 0; i < 50; i++) {
    increment<<<1, 1, 0, third>>>(value);
    CHECK(hipStreamSynchronize(third));
  }
  int together = *(volatile int *)begun;
  EXPECT(together == 1, "%d launches run at once", together);
  *(volatile int *)flag = 1;
  CHECK(hipStreamSynchronize(second));
  CHECK(hipStreamSynchronize(first));
  EXPECT(*begun == 2, "%d launches ran", *begun);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  for (hipStream_t stream : {first, second, third}) CHECK(hipStreamDestroy(stream));
  CHECK(hipHostFree(begun));
  CHECK(hipFree(value));
}

/* The same for many launches from several threads. */
static void one_at_a_time() {
  const int threads = 3, launches = 60;
  int *state = app_device<int>(3);
  CHECK(hipMemset(state, 0, 3 * sizeof(int)));
  int *inside = state, *overlaps = state + 1, *count = state + 2;
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  void *entering[] = {&inside, &overlaps}, *leaving[] = {&inside, &count};
  hipGraphNode_t first = add(graph, (void *)enter, entering, {});
  add(graph, (void *)leave, leaving, {first});
  hipGraphExec_t exec = made(graph);
  CHECK(hipDeviceSynchronize());
  std::vector<std::thread> running;
  for (int t = 0; t < threads; t++)
    running.emplace_back([=] {
      hipStream_t streams[] = {new_stream(), new_stream()};
      for (int i = 0; i < launches; i++) CHECK(hipGraphLaunch(exec, streams[i % 2]));
      for (hipStream_t stream : streams) {
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipStreamDestroy(stream));
      }
    });
  for (std::thread &thread : running) thread.join();
  std::vector<int> got = app_download(state, 3);
  EXPECT(got[0] == 0 && got[1] == 0, "%d inside, %d overlaps", got[0], got[1]);
  EXPECT(got[2] == threads * launches, "%d launches", got[2]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipFree(state));
}

/* 100 chains of 50 kernels, from one node and back into one. */
static void many_nodes() {
  const int chains = 100, length = 50, rounds = 3;
  int *values = app_device<int>(chains + 1), *total = values + chains;
  CHECK(hipMemset(values, 0, (chains + 1) * sizeof(int)));
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  void *counting[] = {&total};
  hipGraphNode_t root = add(graph, (void *)increment, counting, {});
  std::vector<hipGraphNode_t> ends;
  for (int c = 0; c < chains; c++) {
    int *value = values + c;
    void *arguments[] = {&value};
    hipGraphNode_t node = root;
    for (int i = 0; i < length; i++) node = add(graph, (void *)increment, arguments, {node});
    ends.push_back(node);
  }
  add(graph, (void *)increment, counting, ends);
  hipGraphExec_t exec = made(graph);
  CHECK(hipDeviceSynchronize());
  for (int round = 0; round < rounds; round++) CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipDeviceSynchronize());
  std::vector<int> got = app_download(values, chains + 1);
  for (int c = 0; c < chains; c++) EXPECT(got[c] == length * rounds, "chain %d: %d", c, got[c]);
  EXPECT(got[chains] == 2 * rounds, "both ends: %d", got[chains]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipFree(values));
}

int main() {
  int *flag = nullptr;
  CHECK(hipHostMalloc((void **)&flag, sizeof(int), 0));
  many_launches();
  changes_in_flight(flag);
  destroyed_while_running(flag);
  one_after_the_other(flag);
  one_at_a_time();
  many_nodes();
  CHECK(hipHostFree(flag));
  return app_end();
}
