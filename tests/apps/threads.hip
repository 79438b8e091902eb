/* 16 threads at once, each with its own stream, buffers and kernels; the first HIP calls race. */
#include "app.h"

#include <atomic>
#include <thread>

__global__ void step(unsigned *values, int count, unsigned salt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * 1664525u + 1013904223u + salt;
}

static std::atomic<int> ready{0}, wrong{0};

static void work(int number) {
  const int count = 5000 + number * 13, rounds = 20;
  ready++;
  while (ready < 16) std::this_thread::yield();
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  unsigned *device;
  CHECK(hipMalloc(&device, count * sizeof(unsigned)));
  std::vector<unsigned> host(count), got(count, 0xdeadbeef);
  for (int i = 0; i < count; i++) host[i] = (unsigned)(i * 31 + number);
  CHECK(hipMemcpyAsync(device, host.data(), count * sizeof(unsigned), hipMemcpyHostToDevice, stream));
  for (int r = 0; r < rounds; r++) step<<<(count + 127) / 128, 128, 0, stream>>>(device, count, (unsigned)(r * number));
  CHECK(hipGetLastError());
  CHECK(hipMemcpyAsync(got.data(), device, count * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < count; i++) {
    unsigned expected = host[i];
    for (int r = 0; r < rounds; r++) expected = expected * 1664525u + 1013904223u + (unsigned)(r * number);
    if (got[i] != expected) wrong++;
  }
  CHECK(hipFree(device));
  CHECK(hipStreamDestroy(stream));
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; i++) threads.emplace_back(work, i);
  for (std::thread &thread : threads) thread.join();
  EXPECT(wrong == 0, "%d elements differ", wrong.load());
  return app_end();
}
