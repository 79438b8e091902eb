/* Counts bytes: LDS atomics per workgroup, global atomics at the end; also min, max, xor, 64-bit add and compare-and-swap. */
#include "app.h"

__global__ void histogram(const unsigned char *bytes, int count, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&local[bytes[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

__global__ void extremes(const int *values, int count, int *low, int *high, unsigned *parity, unsigned long long *sum,
                         float *product) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  atomicMin(low, values[i]);
  atomicMax(high, values[i]);
  atomicXor(parity, (unsigned)values[i]);
  atomicAdd(sum, (unsigned long long)(long long)values[i]);
  if (i < 20) { /* a float product: no such atomic, so compare and swap */
    unsigned *word = (unsigned *)product, seen = *word, assumed;
    do {
      assumed = seen;
      seen = atomicCAS(word, assumed, __float_as_uint(__uint_as_float(assumed) * 2.0f));
    } while (seen != assumed);
  }
}

int main() {
  const int count = 300007;
  std::vector<unsigned char> bytes(count);
  std::vector<int> values(count);
  Random random(4);
  for (int i = 0; i < count; i++) {
    bytes[i] = (unsigned char)(random.next() % 256 * (random.next() % 256) / 256);
    values[i] = (int)random.next();
  }
  unsigned char *device_bytes = app_upload(bytes);
  unsigned *bins = app_device<unsigned>(256);
  CHECK(hipMemset(bins, 0, 1024));
  histogram<<<31, 192>>>(device_bytes, count, bins);
  CHECK(hipDeviceSynchronize());
  std::vector<unsigned> got = app_download(bins, 256), expected(256, 0);
  for (unsigned char byte : bytes) expected[byte]++;
  for (int i = 0; i < 256; i++) EXPECT(got[i] == expected[i], "bin %d: %u, expected %u", i, got[i], expected[i]);

  int *device_values = app_upload(values);
  std::vector<int> start = {0x7fffffff, (int)0x80000000};
  int *ends = app_upload(start);
  std::vector<unsigned> zero(1, 0);
  unsigned *parity = app_upload(zero);
  std::vector<unsigned long long> zero64(1, 0);
  unsigned long long *sum = app_upload(zero64);
  std::vector<float> one(1, 1.0f);
  float *product = app_upload(one);
  extremes<<<(count + 255) / 256, 256>>>(device_values, count, ends, ends + 1, parity, sum, product);
  CHECK(hipDeviceSynchronize());
  int low = values[0], high = values[0];
  unsigned all = 0;
  unsigned long long total = 0;
  for (int value : values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
    all ^= (unsigned)value;
    total += (unsigned long long)(long long)value;
  }
  std::vector<int> both = app_download(ends, 2);
  EXPECT(both[0] == low && both[1] == high, "%d to %d, expected %d to %d", both[0], both[1], low, high);
  EXPECT(app_download(parity, 1)[0] == all, "xor differs");
  EXPECT(app_download(sum, 1)[0] == total, "64-bit sum differs");
  EXPECT(app_download(product, 1)[0] == 1048576.0f, "product is %g", app_download(product, 1)[0]);
  return app_end();
}
