/* __device__, __constant__ and __managed__ variables: initial values, copies both ways with offsets, addresses, pointers between
 * them, host and device looking at one. */
#include "app.h"

__device__ int counters[4] = {10, 20, 30, 40};
__constant__ float table[64];
__device__ double zeroed;
__managed__ int shared[4] = {1, 2, 3, 4};
__device__ int *pointer_to = &counters[2];

__global__ void use(float *out) {
  int t = threadIdx.x;
  out[t] = table[t] + counters[t % 4];
  if (t == 0) {
    *pointer_to += 1000;
    zeroed += 2.5;
    shared[1] += shared[3];
  }
}

int main() {
  EXPECT(shared[3] == 4, "shared[3] starts as %d", shared[3]);
  shared[3] = 40;
  int start[4];
  CHECK(hipMemcpyFromSymbol(start, HIP_SYMBOL(counters), sizeof start));
  for (int i = 0; i < 4; i++) EXPECT(start[i] == 10 * (i + 1), "counters[%d] starts as %d", i, start[i]);
  float values[64];
  for (int i = 0; i < 64; i++) values[i] = i * 0.25f;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values));
  int second = 77;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(counters), &second, sizeof second, sizeof(int)));
  size_t bytes = 0;
  CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
  EXPECT(bytes == sizeof values, "table has %zu bytes", bytes);
  void *address = nullptr;
  CHECK(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));

  float *out = app_device<float>(64);
  use<<<1, 64>>>(out);
  CHECK(hipDeviceSynchronize());
  std::vector<float> got = app_download(out, 64);
  const int now[4] = {10, 77, 30, 40};
  for (int i = 0; i < 64; i++) {
    /* element 2 of counters changes while lanes read it: both values are right */
    float expected = values[i] + now[i % 4];
    EXPECT(got[i] == expected || (i % 4 == 2 && got[i] == expected + 1000), "element %d: %g, expected %g", i, got[i], expected);
  }
  std::vector<int> after = app_download((int *)address, 4);
  EXPECT(after[1] == 77 && after[2] == 1030 && after[3] == 40, "counters are %d %d %d", after[1], after[2], after[3]);
  double sum = 0;
  CHECK(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(zeroed), sizeof sum));
  EXPECT(sum == 2.5, "zeroed is %g", sum);
  EXPECT(shared[1] == 42, "shared[1] is %d", shared[1]);
  return app_end();
}
