/* A kernel that waits for a flag which another kernel, launched later on another stream, sets. */
#include "app.h"

__global__ void waiter(volatile int *flag, int *seen) {
  while (*flag == 0) {
  }
  seen[blockIdx.x * blockDim.x + threadIdx.x] = *flag;
}

__global__ void setter(volatile int *flag) { *flag = 42; }

int main() {
  const int waiting = 8 * 64;
  int *flag = app_device<int>(1), *seen = app_device<int>(waiting);
  CHECK(hipMemset(flag, 0, sizeof(int)));
  hipStream_t first, second;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipDeviceSynchronize());
  waiter<<<8, 64, 0, first>>>(flag, seen);
  setter<<<1, 1, 0, second>>>(flag);
  CHECK(hipStreamSynchronize(second));
  CHECK(hipStreamSynchronize(first));
  std::vector<int> got = app_download(seen, waiting);
  for (int i = 0; i < waiting; i++) EXPECT(got[i] == 42, "item %d saw %d", i, got[i]);
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  return app_end();
}
