/* Streams, events and what orders them: chains over two streams, event times, queries, callbacks, stream 0. */
#include "app.h"

#include <atomic>

__global__ void add(int *values, int count, int number) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * 3 + number;
}

__global__ void busy(float *out, int rounds) {
  float x = threadIdx.x;
  for (int i = 0; i < rounds; i++) x = x * 0.999f + 1.0f;
  out[threadIdx.x] = x;
}

static std::atomic<int> calls{0};
static int order_wrong = 0;

static void callback(hipStream_t, hipError_t status, void *data) {
  if (status != hipSuccess || calls != (int)(intptr_t)data) order_wrong++;
  calls++;
}

int main() {
  const int count = 4096, blocks = count / 256;
  hipStream_t first, second;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  hipEvent_t ready, start, stop, plain;
  CHECK(hipEventCreateWithFlags(&ready, hipEventDisableTiming));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipEventCreateWithFlags(&plain, hipEventDisableTiming));

  /* a chain that alternates between the streams */
  std::vector<int> host(count);
  for (int i = 0; i < count; i++) host[i] = i;
  int *pinned = nullptr;
  CHECK(hipHostMalloc((void **)&pinned, count * sizeof(int), 0));
  memset(pinned, 0xEE, count * sizeof(int));
  int *device = app_device<int>(count);
  CHECK(hipMemcpyAsync(device, host.data(), count * sizeof(int), hipMemcpyHostToDevice, first));
  for (int round = 0; round < 50; round++) {
    hipStream_t from = round % 2 == 0 ? first : second, to = round % 2 == 0 ? second : first;
    add<<<blocks, 256, 0, from>>>(device, count, round);
    CHECK(hipEventRecord(ready, from));
    CHECK(hipStreamWaitEvent(to, ready, 0));
  }
  CHECK(hipMemcpyAsync(pinned, device, count * sizeof(int), hipMemcpyDeviceToHost, first));
  CHECK(hipStreamSynchronize(first));
  for (int i = 0; i < count; i++) {
    int expected = i;
    for (int round = 0; round < 50; round++) expected = (int)((unsigned)expected * 3u + (unsigned)round);
    EXPECT(pinned[i] == expected, "element %d: %d, expected %d", i, pinned[i], expected);
  }

  /* times and queries */
  float *out = app_device<float>(64);
  EXPECT(hipEventQuery(start) == hipSuccess, "an event that was never recorded is not over");
  CHECK(hipEventRecord(start, first));
  busy<<<1, 64, 0, first>>>(out, 300000);
  CHECK(hipEventRecord(stop, first));
  CHECK(hipEventSynchronize(stop));
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, start, stop));
  EXPECT(ms > 0.01f && ms < 60000, "300,000 rounds took %g ms", ms);
  CHECK(hipEventRecord(plain, first));
  EXPECT(hipEventElapsedTime(&ms, start, plain) == hipErrorInvalidHandle, "an untimed event has a time");
  CHECK(hipStreamSynchronize(first));
  EXPECT(hipStreamQuery(first) == hipSuccess, "an idle stream is not ready");
  (void)hipGetLastError();

  /* stream 0 follows a blocking stream, and is followed by it */
  CHECK(hipMemset(device, 0, count * sizeof(int)));
  busy<<<1, 64, 0, first>>>(out, 300000);
  add<<<blocks, 256, 0, first>>>(device, count, 5);
  add<<<blocks, 256>>>(device, count, 7);
  add<<<blocks, 256, 0, first>>>(device, count, 11);
  std::vector<int> got = app_download(device, count);
  for (int i = 0; i < count; i++) EXPECT(got[i] == (5 * 3 + 7) * 3 + 11, "element %d: %d", i, got[i]);

  /* callbacks come in order and hold up what follows */
  for (int i = 0; i < 100; i++) CHECK(hipStreamAddCallback(first, callback, (void *)(intptr_t)i, 0));
  CHECK(hipStreamSynchronize(first));
  EXPECT(calls == 100 && order_wrong == 0, "%d calls, %d out of order", calls.load(), order_wrong);

  CHECK(hipHostFree(pinned));
  CHECK(hipEventDestroy(ready));
  CHECK(hipEventDestroy(start));
  CHECK(hipEventDestroy(stop));
  CHECK(hipEventDestroy(plain));
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  EXPECT(hipStreamDestroy(nullptr) != hipSuccess, "stream 0 was destroyed");
  return app_end();
}
