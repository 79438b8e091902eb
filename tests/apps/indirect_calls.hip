/* Calls through a table of function pointers and through virtual functions, beside a template kernel, which the compiler puts
 * into a section of its own: the linker fills the gap before it with zeros. */
#include "app.h"

typedef int (*Operation)(int);

__device__ __noinline__ int plus_one(int x) { return x + 1; }
__device__ __noinline__ int twice(int x) { return x * 2; }
__device__ Operation table[2] = {plus_one, twice};

struct Shape {
  __device__ virtual int area(int side) const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  __device__ __noinline__ int area(int side) const override { return side * side; }
};
struct Line : Shape {
  __device__ __noinline__ int area(int side) const override { return side - side; }
};

__device__ __noinline__ int depth(int n) { return n <= 1 ? n : depth(n - 1) + depth(n - 2); }

__global__ void calls(int *out) {
  int t = threadIdx.x;
  Square square;
  Line line;
  const Shape *shape = t % 3 == 0 ? (const Shape *)&square : (const Shape *)&line;
  out[t] = table[(t >> 1) & 1](t) + shape->area(t) * 1000 + depth(t % 8) * 1000000;
}

template <typename T> __global__ void increment(T *value) { *value += 1; }

int main() {
  int *out = app_device<int>(64);
  int *value = app_upload(std::vector<int>(1, 41));
  increment<int><<<1, 1>>>(value);
  calls<<<1, 64>>>(out);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  const int fibonacci[8] = {0, 1, 1, 2, 3, 5, 8, 13};
  std::vector<int> got = app_download(out, 64);
  for (int t = 0; t < 64; t++) {
    int expected = ((t >> 1) & 1 ? t * 2 : t + 1) + (t % 3 == 0 ? t * t * 1000 : 0) + fibonacci[t % 8] * 1000000;
    EXPECT(got[t] == expected, "element %d: %d, expected %d", t, got[t], expected);
  }
  EXPECT(app_download(value, 1)[0] == 42, "the template kernel did not run");
  return app_end();
}
