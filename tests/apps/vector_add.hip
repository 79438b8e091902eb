/* c = a + b, one work-item an element, with a ragged last workgroup. */
#include "app.h"

__global__ void vector_add(const float *a, const float *b, float *c, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

int main() {
  const int count = 1000003;
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  printf("device: %s\n", properties.name);

  std::vector<float> a(count), b(count);
  Random random(1);
  for (int i = 0; i < count; i++) {
    a[i] = random.unit() * 1000 - 500;
    b[i] = random.unit();
  }
  float *device_a = app_upload(a), *device_b = app_upload(b), *device_c = app_device<float>(count + 64);
  vector_add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_c, count);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  std::vector<float> c = app_download(device_c, count + 64);
  for (int i = 0; i < count; i++) EXPECT(c[i] == a[i] + b[i], "element %d is %g, expected %g", i, c[i], a[i] + b[i]);
  for (int i = count; i < count + 64; i++) {
    uint32_t bits;
    memcpy(&bits, &c[i], 4);
    EXPECT(bits == 0xA5A5A5A5u, "element %d behind the end was written: %08x", i, bits);
  }
  CHECK(hipFree(device_a));
  CHECK(hipFree(device_b));
  CHECK(hipFree(device_c));
  printf("%d elements\n", count);
  return app_end();
}
