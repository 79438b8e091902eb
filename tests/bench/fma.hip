/* The interpreter's arithmetic throughput: fma.h as an ordinary HIP program. */
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "fma.h"
#include "timing.h"

#define CHECK(call)                                                                      \
  do {                                                                                   \
    hipError_t check_error = (call);                                                     \
    if (check_error != hipSuccess) {                                                     \
      fprintf(stderr, "fma: %s: %s\n", #call, hipGetErrorString(check_error));           \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

__global__ void fma_chains(float *out, float scale, float add, int rounds) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  float x[FMA_CHAINS];
  for (int c = 0; c < FMA_CHAINS; c++) x[c] = (float)(item + c);
  for (int round = 0; round < rounds; round++)
    for (int c = 0; c < FMA_CHAINS; c++) x[c] = fmaf(x[c], scale, add);
  float sum = 0;
  for (int c = 0; c < FMA_CHAINS; c++) sum += x[c];
  out[item] = sum;
}

int main() {
  float *out;
  std::vector<float> host(FMA_ITEMS);
  double best = 0;
  CHECK(hipMalloc(&out, FMA_ITEMS * sizeof *out));
  for (int run = 0; run <= FMA_RUNS; run++) { /* the first one loads the code */
    double began = now_ns();
    fma_chains<<<FMA_ITEMS / FMA_BLOCK, FMA_BLOCK>>>(out, FMA_SCALE, FMA_ADD, FMA_ROUNDS);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    double rate = FMA_FLOP / (now_ns() - began);
    if (run > 0 && rate > best) best = rate;
  }
  CHECK(hipMemcpy(host.data(), out, FMA_ITEMS * sizeof *out, hipMemcpyDeviceToHost));
  for (int item = 0; item < FMA_ITEMS; item++) {
    float sum = 0;
    for (int c = 0; c < FMA_CHAINS; c++) {
      float x = (float)(item + c);
      for (int round = 0; item % 61 == 0 && round < FMA_ROUNDS; round++) x = fmaf(x, FMA_SCALE, FMA_ADD);
      sum += x;
    }
    if (item % 61 == 0 && host[item] != sum) {
      fprintf(stderr, "fma: element %d is %g, expected %g\n", item, host[item], sum);
      return 1;
    }
  }
  CHECK(hipFree(out));
  figure("fma_interpreter", best);
  return 0;
}
