// A buffer that grows: address space once, memory in pieces, kernels that cross from one piece into the next; the same memory mapped twice.
#include "app.h"

__global__ void fill(unsigned *to, unsigned count, unsigned salt) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = i * 2654435761u + salt;
}

struct __attribute__((packed, aligned(4))) Wide {
  unsigned part[4];
};

// 16 bytes a thread, not aligned to 16: some lie in two pieces of memory
__global__ void sum(const unsigned *from, unsigned *to, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Wide wide = *reinterpret_cast<const Wide *>(from + 4 * i);
  to[i] = wide.part[0] + wide.part[1] + wide.part[2] + wide.part[3];
}

int main() {
  hipMemAllocationProp property;
  std::memset(&property, 0, sizeof property);
  property.type = hipMemAllocationTypePinned;
  property.location.type = hipMemLocationTypeDevice;
  size_t piece = 0;
  CHECK(hipMemGetAllocationGranularity(&piece, &property, hipMemAllocationGranularityMinimum));
  const size_t pieces = 5, words = pieces * piece / 4;
  void *range = nullptr;
  CHECK(hipMemAddressReserve(&range, 2 * pieces * piece, 0, nullptr, 0));
  hipMemAccessDesc access;
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = 0;
  access.flags = hipMemAccessFlagsProtReadWrite;
  hipMemGenericAllocationHandle_t first = nullptr;
  for (size_t i = 0; i < pieces; i++) {
    hipMemGenericAllocationHandle_t handle;
    char *place = static_cast<char *>(range) + i * piece;
    CHECK(hipMemCreate(&handle, piece, &property, 0));
    CHECK(hipMemMap(place, piece, 0, handle, 0));
    CHECK(hipMemSetAccess(place, piece, &access, 1));
    if (i == 0) first = handle;
    else CHECK(hipMemRelease(handle));
  }
  auto *buffer = static_cast<unsigned *>(range);
  const unsigned sums = static_cast<unsigned>(words / 4 - 1);
  std::vector<unsigned> back(words), totals(sums);
  unsigned *result = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void **>(&result), sums * 4));
  CHECK(hipMemset(buffer, 0xee, words * 4));
  fill<<<static_cast<unsigned>((words + 255) / 256), 256>>>(buffer, static_cast<unsigned>(words), 7);
  sum<<<(sums + 255) / 256, 256>>>(buffer + 1, result, sums);
  CHECK(hipMemcpy(back.data(), buffer, words * 4, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(totals.data(), result, sums * 4, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < words; i++) EXPECT(back[i] == static_cast<unsigned>(i) * 2654435761u + 7, "word %zu", i);
  for (unsigned i = 0; i < sums; i++) EXPECT(totals[i] == back[4 * i + 1] + back[4 * i + 2] + back[4 * i + 3] + back[4 * i + 4], "sum %u", i);

  // the first piece once more, behind the others: what a kernel writes there shows at the front
  char *again = static_cast<char *>(range) + pieces * piece;
  CHECK(hipMemMap(again, piece, 0, first, 0));
  CHECK(hipMemSetAccess(again, piece, &access, 1));
  fill<<<static_cast<unsigned>((piece / 4 + 255) / 256), 256>>>(reinterpret_cast<unsigned *>(again), static_cast<unsigned>(piece / 4), 99);
  CHECK(hipMemcpy(back.data(), buffer, piece, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < piece / 4; i++) EXPECT(back[i] == static_cast<unsigned>(i) * 2654435761u + 99, "word %zu", i);

  CHECK(hipMemUnmap(range, (pieces + 1) * piece));
  CHECK(hipMemRelease(first));
  CHECK(hipMemAddressFree(range, 2 * pieces * piece));
  CHECK(hipFree(result));
  return app_end();
}
