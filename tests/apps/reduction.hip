/* Sums 2^20 integers with a tree in dynamic LDS, then the partial sums with atomics. */
#include "app.h"

__global__ void reduce(const int *values, int count, int *partial, int *total) {
  extern __shared__ int shared[];
  unsigned t = threadIdx.x;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < count; i += gridDim.x * blockDim.x) sum += values[i];
  shared[t] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) shared[t] += shared[t + half];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = shared[0];
    atomicAdd(total, shared[0]);
  }
}

int main() {
  const int count = (1 << 20) - 77;
  std::vector<int> values(count);
  Random random(2);
  for (int &value : values) value = (int)(random.next() % 2001) - 1000;
  int *device_values = app_upload(values);
  for (int block = 32; block <= 1024; block *= 2) {
    const int blocks = 37;
    int *partial = app_device<int>(blocks), *total = app_device<int>(1);
    CHECK(hipMemset(total, 0, sizeof(int)));
    reduce<<<blocks, block, block * sizeof(int)>>>(device_values, count, partial, total);
    CHECK(hipDeviceSynchronize());
    std::vector<int> partials = app_download(partial, blocks);
    int expected_total = 0;
    for (int b = 0; b < blocks; b++) {
      int expected = 0;
      for (int base = b * block; base < count; base += blocks * block)
        for (int t = 0; t < block && base + t < count; t++) expected += values[base + t];
      EXPECT(partials[b] == expected, "block size %d, block %d: %d, expected %d", block, b, partials[b], expected);
      expected_total += expected;
    }
    int sum = app_download(total, 1)[0];
    EXPECT(sum == expected_total, "block size %d: total %d, expected %d", block, sum, expected_total);
    CHECK(hipFree(partial));
    CHECK(hipFree(total));
  }
  CHECK(hipFree(device_values));
  return app_end();
}
