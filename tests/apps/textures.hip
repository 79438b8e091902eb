/* Texture objects over an array, pitched memory and linear memory: point and linear filters, borders, integer texels, and copies
 * into and out of arrays. */
#include "app.h"

static const int width = 37, height = 21;

__global__ void sample(hipTextureObject_t texture, float *out, int w, int h, float shift) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(texture, x + 0.5f + shift, y + 0.5f);
}

__global__ void fetch(hipTextureObject_t texture, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<int>(texture, i);
}

static hipTextureObject_t object(const hipResourceDesc &resource, hipTextureAddressMode mode, hipTextureFilterMode filter) {
  hipTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = mode;
  description.filterMode = filter;
  description.readMode = hipReadModeElementType;
  hipTextureObject_t made = nullptr;
  CHECK(hipCreateTextureObject(&made, &resource, &description, nullptr));
  return made;
}

static std::vector<float> sampled(hipTextureObject_t texture, float shift) {
  float *out = app_device<float>(width * height);
  sample<<<dim3(3, 2), dim3(16, 16)>>>(texture, out, width, height, shift);
  CHECK(hipGetLastError());
  std::vector<float> got = app_download(out, width * height);
  CHECK(hipFree(out));
  CHECK(hipDestroyTextureObject(texture));
  return got;
}

int main() {
  std::vector<float> values(width * height), back(width * height, -1.0f);
  for (int i = 0; i < width * height; i++) values[i] = (float)(i % 64);
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray *array = nullptr;
  CHECK(hipMallocArray(&array, &format, width, height));
  CHECK(hipMemcpy2DToArray(array, 0, 0, values.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DFromArray(back.data(), width * 4, array, 0, 0, width * 4, height, hipMemcpyDeviceToHost));
  EXPECT(memcmp(values.data(), back.data(), values.size() * 4) == 0, "an array gives back other bytes");

  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  std::vector<float> got = sampled(object(resource, hipAddressModeClamp, hipFilterModePoint), 1.0f);
  for (int i = 0; i < width * height; i++) {
    int x = i % width + 1 < width ? i % width + 1 : width - 1;
    EXPECT(got[i] == values[i / width * width + x], "clamped (%d,%d) is %g", i % width, i / width, got[i]);
  }
  got = sampled(object(resource, hipAddressModeBorder, hipFilterModePoint), 1.0f);
  for (int y = 0; y < height; y++) EXPECT(got[y * width + width - 1] == 0.0f, "border %d is %g", y, got[y * width + width - 1]);
  got = sampled(object(resource, hipAddressModeClamp, hipFilterModeLinear), 0.5f);
  for (int i = 0; i < width * height; i++) {
    int x = i % width + 1 < width ? i % width + 1 : width - 1;
    float expected = 0.5f * (values[i] + values[i / width * width + x]);
    EXPECT(std::fabs(got[i] - expected) < 1e-3f, "filtered (%d,%d) is %g, not %g", i % width, i / width, got[i], expected);
  }

  float *pitched = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch((void **)&pitched, &pitch, width * 4, height));
  CHECK(hipMemcpy2D(pitched, pitch, values.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
  hipResourceDesc rows = {};
  rows.resType = hipResourceTypePitch2D;
  rows.res.pitch2D.devPtr = pitched;
  rows.res.pitch2D.desc = format;
  rows.res.pitch2D.width = width;
  rows.res.pitch2D.height = height;
  rows.res.pitch2D.pitchInBytes = pitch;
  got = sampled(object(rows, hipAddressModeClamp, hipFilterModePoint), 0.0f);
  for (int i = 0; i < width * height; i++) EXPECT(got[i] == values[i], "pitched %d is %g", i, got[i]);

  std::vector<int> integers(1000);
  for (int i = 0; i < 1000; i++) integers[i] = i * i - 500;
  int *linear = app_upload(integers), *out = app_device<int>(1000);
  hipResourceDesc line = {};
  line.resType = hipResourceTypeLinear;
  line.res.linear.devPtr = linear;
  line.res.linear.desc = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindSigned);
  line.res.linear.sizeInBytes = integers.size() * 4;
  hipTextureObject_t texels = object(line, hipAddressModeClamp, hipFilterModePoint);
  fetch<<<4, 256>>>(texels, out, 1000);
  std::vector<int> fetched = app_download(out, 1000);
  for (int i = 0; i < 1000; i++) EXPECT(fetched[i] == integers[i], "texel %d is %d", i, fetched[i]);
  CHECK(hipDestroyTextureObject(texels));
  CHECK(hipFreeArray(array));
  return app_end();
}
