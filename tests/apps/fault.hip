/* Kernels that go wrong: the error comes at the next synchronising call, and the process and the device live on. */
#include "app.h"

__global__ void store(int *pointer, long index) { pointer[index] = 1; }
__global__ void good(int *pointer) { pointer[threadIdx.x] = (int)threadIdx.x; }

int main() {
  int *values = app_device<int>(64);
  store<<<1, 1>>>(values, 1l << 36);
  hipError_t error = hipDeviceSynchronize();
  EXPECT(error == hipErrorIllegalAddress, "a wild store gave %d", (int)error);
  store<<<1, 1>>>((int *)nullptr, 0);
  error = hipDeviceSynchronize();
  EXPECT(error == hipErrorIllegalAddress, "a store to NULL gave %d", (int)error);
  (void)hipGetLastError();

  good<<<1, 64>>>(values);
  CHECK(hipDeviceSynchronize());
  std::vector<int> got = app_download(values, 64);
  for (int i = 0; i < 64; i++) EXPECT(got[i] == i, "element %d: %d", i, got[i]);

  good<<<1, 2048>>>(values); /* too large a block: refused at once */
  EXPECT(hipGetLastError() == hipErrorInvalidConfiguration, "a block of 2048 was accepted");
  good<<<0, 64>>>(values);
  EXPECT(hipGetLastError() == hipErrorInvalidConfiguration, "an empty grid was accepted");

  void *large = nullptr;
  error = hipMalloc(&large, (size_t)1 << 46);
  EXPECT(error == hipErrorOutOfMemory && large == nullptr, "64 TiB gave %d", (int)error);
  EXPECT(hipGetLastError() == hipErrorOutOfMemory, "the last error was lost");
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(values));
  return app_end();
}
