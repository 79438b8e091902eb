/* A 27-point stencil with a private array that is indexed by a variable: scratch memory. */
#include "app.h"

__host__ __device__ static float point(const float *grid, const int *order, int nx, int ny, int nz, int x, int y, int z) {
  float window[27];
  for (int k = 0; k < 27; k++) {
    int sx = x + k % 3 - 1, sy = y + k / 3 % 3 - 1, sz = z + k / 9 - 1;
    bool inside = sx >= 0 && sx < nx && sy >= 0 && sy < ny && sz >= 0 && sz < nz;
    window[order[k]] = inside ? grid[(sz * ny + sy) * nx + sx] : -1.0f;
  }
  for (int i = 1; i < 27; i++) { /* insertion sort: the median of the neighbourhood */
    float value = window[i];
    int j = i;
    for (; j > 0 && window[j - 1] > value; j--) window[j] = window[j - 1];
    window[j] = value;
  }
  return window[13] + 0.5f * window[order[5]];
}

__global__ void stencil(const float *grid, const int *order, float *out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = point(grid, order, nx, ny, nz, x, y, z);
}

int main() {
  const int nx = 19, ny = 13, nz = 11;
  std::vector<float> grid(nx * ny * nz);
  std::vector<int> order(27);
  Random random(8);
  for (float &value : grid) value = random.unit();
  for (int i = 0; i < 27; i++) order[i] = (i * 10 + 4) % 27;
  float *device_grid = app_upload(grid), *device_out = app_device<float>(grid.size());
  int *device_order = app_upload(order);
  stencil<<<dim3((nx + 7) / 8, (ny + 3) / 4, (nz + 1) / 2), dim3(8, 4, 2)>>>(device_grid, device_order, device_out, nx, ny, nz);
  CHECK(hipDeviceSynchronize());
  std::vector<float> got = app_download(device_out, grid.size());
  for (int z = 0; z < nz; z++)
    for (int y = 0; y < ny; y++)
      for (int x = 0; x < nx; x++) {
        float expected = point(grid.data(), order.data(), nx, ny, nz, x, y, z);
        float value = got[(z * ny + y) * nx + x];
        EXPECT(value == expected, "%d, %d, %d: %g, expected %g", x, y, z, value, expected);
      }
  return app_end();
}
