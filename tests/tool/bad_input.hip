/* What goes wrong on purpose, one way a run: argv[1] says which. Prints the HIP error's number and whether it goes on. */
#include <hip/hip_runtime.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <vector>

__global__ void set(int *pointer, int value) { *pointer = value; }

__global__ void endless(volatile int *pointer, volatile int *out_runs) {
  *out_runs = 1;
  while (*pointer == 0) {
  }
}

/* The same as a node of a graph, launched more than once. */
static hipError_t endless_graph(int *pointer, int *runs) {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  hipError_t error = hipStreamCreate(&stream);
  if (error == hipSuccess) error = hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
  if (error != hipSuccess) return error;
  endless<<<4, 64, 0, stream>>>(pointer, runs);
  set<<<1, 1, 0, stream>>>(runs, 2);
  error = hipStreamEndCapture(stream, &graph);
  if (error == hipSuccess) error = hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  for (int i = 0; i < 3 && error == hipSuccess; i++) error = hipGraphLaunch(exec, stream);
  return error;
}

/* Launches it and returns once it runs. */
static hipError_t endless_start(bool graph = false) {
  int *pointer = nullptr, *runs = nullptr;
  if (hipMalloc(&pointer, 4) != hipSuccess || hipMemset(pointer, 0, 4) != hipSuccess) return hipErrorOutOfMemory;
  if (hipHostMalloc(&runs, 4) != hipSuccess) return hipErrorOutOfMemory;
  *runs = 0;
  if (graph) {
    hipError_t error = endless_graph(pointer, runs);
    if (error != hipSuccess) return error;
  } else {
    endless<<<4, 64>>>(pointer, runs);
  }
  while (*(volatile int *)runs == 0) sched_yield();
  return hipGetLastError();
}

static void own_handler(int) { _exit(7); }

static int launch_works() {
  int *pointer = nullptr, value = 0;
  if (hipMalloc(&pointer, sizeof(int)) != hipSuccess) return 0;
  set<<<1, 1>>>(pointer, 42);
  int good = hipMemcpy(&value, pointer, sizeof value, hipMemcpyDeviceToHost) == hipSuccess && value == 42;
  return good && hipFree(pointer) == hipSuccess;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  hipError_t error = hipSuccess;
  if (strcmp(what, "target") == 0) {
    int *pointer = nullptr;
    printf("malloc %d\n", (int)hipMalloc(&pointer, 4));
    set<<<1, 1>>>(pointer, 1);
    error = hipGetLastError();
    printf("error %d\n", (int)error);
    return 0;
  }
  if (strcmp(what, "unsupported") == 0) {
    hipExternalMemory_t memory;
    hipExternalMemoryHandleDesc wanted = {};
    for (int i = 0; i < 2; i++) error = hipImportExternalMemory(&memory, &wanted);
  } else if (strcmp(what, "unregistered") == 0) {
    void *arguments[] = {nullptr};
    static int one, two;
    for (int i = 0; i < 3; i++)
      for (int *stub : {&one, &two}) error = hipLaunchKernel(stub, dim3(1), dim3(1), arguments, 0, nullptr);
  } else if (strcmp(what, "child") == 0) {
    if (!launch_works()) return 1;
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
      int *pointer = nullptr;
      for (int i = 0; i < 3; i++) error = hipMalloc(&pointer, 8);
      error = hipDeviceSynchronize();
      _exit(error == hipSuccess);
    }
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  } else if (strcmp(what, "memory") == 0) {
    std::vector<void *> blocks;
    void *block = nullptr;
    while ((error = hipMalloc(&block, 8 << 20)) == hipSuccess && blocks.size() < 1000) blocks.push_back(block);
    size_t free_bytes = 0, total = 0;
    hipError_t asked = hipMemGetInfo(&free_bytes, &total);
    printf("blocks %zu, total %zu, %s\n", blocks.size(), total, asked == hipSuccess && free_bytes < 8 << 20 ? "full" : "not full");
    for (void *at : blocks)
      if (hipFree(at) != hipSuccess) printf("a block could not be freed\n");
  } else if (strcmp(what, "endless") == 0 || strcmp(what, "graph") == 0 || strcmp(what, "early") == 0 || strcmp(what, "late") == 0) {
    if (strcmp(what, "early") == 0) signal(SIGINT, own_handler);
    error = endless_start(strcmp(what, "graph") == 0);
    if (strcmp(what, "late") == 0) signal(SIGINT, own_handler);
    printf("started\n");
    fflush(stdout);
    error = hipDeviceSynchronize();
  } else if (strcmp(what, "idle") == 0 || strcmp(what, "forked") == 0) {
    /* Ctrl-C while no kernel runs, in a process that had some, and in a child of such a one */
    if (!launch_works()) return 1;
    if (strcmp(what, "forked") == 0) {
      error = endless_start();
      pid_t child = fork();
      if (child == 0)
        for (;;) pause();
      int status = 0;
      kill(child, SIGINT);
      if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGINT) return 1;
    }
    printf("started\n");
    fflush(stdout);
    for (;;) pause();
  } else if (strcmp(what, "launch") == 0) {
    int *pointer = nullptr;
    error = hipMalloc(&pointer, 4);
    set<<<1, 1>>>(pointer, 1);
    error = hipGetLastError();
    if (error == hipSuccess) error = hipDeviceSynchronize();
    printf("error %d\n", (int)error);
    return 0;
  }
  printf("error %d\n", (int)error);
  (void)hipGetLastError();
  printf("goes on: %s\n", launch_works() ? "yes" : "no");
  return 0;
}
