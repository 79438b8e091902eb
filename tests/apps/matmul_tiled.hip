/* C = A B with 16 x 16 tiles in LDS; sizes that are no multiples of the tile. */
#include "app.h"

enum { TILE = 16 };

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += TILE) {
    int ka = base + threadIdx.x, kb = base + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  const int m = 131, n = 97, k = 150;
  std::vector<float> a(m * k), b(k * n);
  Random random(3);
  for (float &value : a) value = random.unit() - 0.5f;
  for (float &value : b) value = random.unit() - 0.5f;
  float *device_a = app_upload(a), *device_b = app_upload(b), *device_c = app_device<float>(m * n);
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(device_a, device_b, device_c, m, n, k);
  CHECK(hipDeviceSynchronize());
  std::vector<float> c = app_download(device_c, m * n);
  for (int row = 0; row < m; row++)
    for (int column = 0; column < n; column++) {
      float expected = 0; /* same order, fused: the result is exact to the bit */
      for (int i = 0; i < k; i++) expected = fmaf(a[row * k + i], b[i * n + column], expected);
      float got = c[row * n + column];
      EXPECT(got == expected, "element %d, %d: %.9g, expected %.9g", row, column, got, expected);
    }
  return app_end();
}
