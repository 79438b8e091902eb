/* Inclusive scan: shuffles inside a wave, LDS between waves, a second kernel between workgroups; also ballot and vote. */
#include "app.h"

__device__ static int wave_scan(int value) {
  int lane = threadIdx.x % warpSize;
  for (int distance = 1; distance < warpSize; distance *= 2) {
    int other = __shfl_up(value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

__global__ void scan_blocks(const int *in, int *out, int *totals, int count) {
  __shared__ int waves[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  int value = wave_scan(i < count ? in[i] : 0);
  if (lane == warpSize - 1) waves[wave] = value;
  __syncthreads();
  if (wave == 0) {
    int wave_count = blockDim.x / warpSize;
    int total = wave_scan(lane < wave_count ? waves[lane] : 0);
    if (lane < wave_count) waves[lane] = total;
  }
  __syncthreads();
  if (wave > 0) value += waves[wave - 1];
  if (i < count) out[i] = value;
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = value;
}

__global__ void add_totals(int *out, const int *totals, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (unsigned b = 0; b < blockIdx.x; b++) sum += totals[b];
  if (i < count) out[i] += sum;
}

__global__ void lanes(unsigned long long *ballots, int *swapped, int *votes) {
  int t = threadIdx.x;
  ballots[t] = __ballot(t % 3 == 0);
  swapped[t] = __shfl_xor(t * 10, 5) + __shfl(t, (t * 7) % warpSize) * 1000 + __shfl_down(t, 3) * 100000;
  votes[t] = (__all(t >= 0) ? 1 : 0) + (__any(t == 70) ? 2 : 0) + (__all(t != 3) ? 4 : 0);
}

int main() {
  const int count = 70001, block = 512, blocks = (count + block - 1) / block;
  std::vector<int> in(count);
  Random random(6);
  for (int &value : in) value = (int)(random.next() % 100);
  int *device_in = app_upload(in), *device_out = app_device<int>(count), *totals = app_device<int>(blocks);
  scan_blocks<<<blocks, block>>>(device_in, device_out, totals, count);
  add_totals<<<blocks, block>>>(device_out, totals, count);
  CHECK(hipDeviceSynchronize());
  std::vector<int> out = app_download(device_out, count);
  int sum = 0;
  for (int i = 0; i < count; i++) {
    sum += in[i];
    EXPECT(out[i] == sum, "element %d: %d, expected %d", i, out[i], sum);
  }

  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const int wave = properties.warpSize, threads = 128;
  unsigned long long *ballots = app_device<unsigned long long>(threads);
  int *swapped = app_device<int>(threads), *votes = app_device<int>(threads);
  lanes<<<1, threads>>>(ballots, swapped, votes);
  CHECK(hipDeviceSynchronize());
  std::vector<unsigned long long> got_ballots = app_download(ballots, threads);
  std::vector<int> got_swapped = app_download(swapped, threads), got_votes = app_download(votes, threads);
  for (int t = 0; t < threads; t++) {
    int first = t / wave * wave, lane = t % wave;
    unsigned long long ballot = 0;
    for (int l = 0; l < wave; l++)
      if ((first + l) % 3 == 0) ballot |= 1ull << l;
    EXPECT(got_ballots[t] == ballot, "thread %d: ballot %llx, expected %llx", t, got_ballots[t], ballot);
    int down = lane + 3 < wave ? t + 3 : t;
    int expected = (first + (lane ^ 5)) * 10 + (first + (t * 7) % wave) * 1000 + down * 100000;
    EXPECT(got_swapped[t] == expected, "thread %d: %d, expected %d", t, got_swapped[t], expected);
    int vote = 1 + (70 >= first && 70 < first + wave ? 2 : 0) + (3 >= first && 3 < first + wave ? 0 : 4);
    EXPECT(got_votes[t] == vote, "thread %d: votes %d, expected %d", t, got_votes[t], vote);
  }
  return app_end();
}
