/* Iteration counts of the Mandelbrot set: a loop that every lane leaves at another time. */
#include "app.h"

__host__ __device__ static int escape(float cx, float cy, int limit) {
#pragma clang fp contract(off)
  float x = 0, y = 0;
  int i = 0;
  while (i < limit) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    i++;
  }
  return i;
}

__global__ void mandelbrot(int *counts, int width, int height, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  counts[py * width + px] = escape(px * 0.01171875f - 2.0f, py * 0.015625f - 1.25f, limit);
}

int main() {
  const int width = 250, height = 160, limit = 200;
  int *counts = app_device<int>(width * height);
  mandelbrot<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(counts, width, height, limit);
  CHECK(hipDeviceSynchronize());
  std::vector<int> got = app_download(counts, width * height);
  long inside = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      int expected = escape(x * 0.01171875f - 2.0f, y * 0.015625f - 1.25f, limit);
      inside += expected == limit;
      EXPECT(got[y * width + x] == expected, "pixel %d, %d: %d, expected %d", x, y, got[y * width + x], expected);
    }
  EXPECT(inside > 1000, "only %ld points inside: the picture is wrong", inside);
  return app_end();
}
