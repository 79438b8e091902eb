/* Gravity between all pairs, positions through LDS tiles; one step, against double precision. */
#include "app.h"

__global__ void accelerations(const float4 *bodies, float4 *out, int count) {
  extern __shared__ float4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = i < count ? bodies[i] : make_float4(0, 0, 0, 0);
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < count; base += blockDim.x) {
    int j = base + threadIdx.x;
    tile[threadIdx.x] = j < count ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (unsigned k = 0; k < blockDim.x; k++) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float inverse = rsqrtf(r2);
      float force = tile[k].w * inverse * inverse * inverse;
      ax += dx * force;
      ay += dy * force;
      az += dz * force;
    }
    __syncthreads();
  }
  if (i < count) out[i] = make_float4(ax, ay, az, 0);
}

int main() {
  const int count = 1000, block = 128;
  std::vector<float4> bodies(count);
  Random random(5);
  for (float4 &body : bodies) {
    body.x = random.unit() * 2 - 1;
    body.y = random.unit() * 2 - 1;
    body.z = random.unit() * 2 - 1;
    body.w = random.unit() + 0.1f;
  }
  float4 *device_bodies = app_upload(bodies), *device_out = app_device<float4>(count);
  accelerations<<<(count + block - 1) / block, block, block * sizeof(float4)>>>(device_bodies, device_out, count);
  CHECK(hipDeviceSynchronize());
  std::vector<float4> got = app_download(device_out, count);
  for (int i = 0; i < count; i++) {
    double a[3] = {0, 0, 0}, size = 0;
    for (int j = 0; j < count; j++) {
      double dx = (double)bodies[j].x - bodies[i].x, dy = (double)bodies[j].y - bodies[i].y,
             dz = (double)bodies[j].z - bodies[i].z;
      double force = bodies[j].w / pow(dx * dx + dy * dy + dz * dz + 0.01, 1.5);
      a[0] += dx * force;
      a[1] += dy * force;
      a[2] += dz * force;
      size += sqrt(dx * dx + dy * dy + dz * dz) * force;
    }
    EXPECT(fabs(got[i].x - a[0]) + fabs(got[i].y - a[1]) + fabs(got[i].z - a[2]) < 1e-5 * size && got[i].w == 0,
           "body %d: %g %g %g, expected %g %g %g", i, got[i].x, got[i].y, got[i].z, a[0], a[1], a[2]);
  }
  return app_end();
}
