/* hipModule: a code object from a file and from memory, kernels by name, globals, packed and unpacked arguments. */
#include "app.h"

#include <fstream>
#include <iterator>
#include <string>

struct Mixed {
  char small;
  double wide;
  short pair[2];
};

static std::string beside(const char *program, const char *name) {
  std::string path(program);
  size_t slash = path.rfind('/');
  return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + name;
}

static void run(hipModule_t module) {
  hipFunction_t scale, mixed, missing;
  CHECK(hipModuleGetFunction(&scale, module, "scale"));
  CHECK(hipModuleGetFunction(&mixed, module, "mixed"));
  EXPECT(hipModuleGetFunction(&missing, module, "no_such_kernel") == hipErrorNotFound, "a missing kernel was found");

  hipDeviceptr_t counter;
  size_t bytes;
  CHECK(hipModuleGetGlobal(&counter, &bytes, module, "module_counter"));
  EXPECT(bytes == 4, "module_counter has %zu bytes", bytes);

  const int count = 1000;
  std::vector<float> values(count);
  for (int i = 0; i < count; i++) values[i] = (float)i;
  float *device_values = app_upload(values);
  struct {
    float *values;
    int count;
  } packed = {device_values, count};
  size_t packed_bytes = sizeof packed;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                   HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(hipDeviceSynchronize());
  std::vector<float> got = app_download(device_values, count);
  for (int i = 0; i < count; i++) EXPECT(got[i] == 1.5f * i, "element %d: %g", i, got[i]);
  int value = 0;
  CHECK(hipMemcpyDtoH(&value, counter, 4));
  EXPECT(value == 7 + count, "module_counter is %d", value);

  long long *out = app_device<long long>(5);
  char first = -3;
  double second = 2.25;
  Mixed third = {9, -1.125, {-2, 77}};
  void *arguments[] = {&first, &second, &third, &out};
  CHECK(hipModuleLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipDeviceSynchronize());
  std::vector<long long> numbers = app_download(out, 5);
  const long long expected[5] = {-3, 9, 9, -9, -199923};
  for (int i = 0; i < 5; i++) EXPECT(numbers[i] == expected[i], "number %d: %lld, expected %lld", i, numbers[i], expected[i]);
  CHECK(hipFree(device_values));
  CHECK(hipFree(out));
}

int main(int, char **argv) {
  CHECK(hipInit(0));
  std::string path = beside(argv[0], "module_kernels.co");
  hipModule_t module;
  CHECK(hipModuleLoad(&module, path.c_str()));
  run(module);
  CHECK(hipModuleUnload(module));

  std::ifstream file(path, std::ios::binary);
  std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CHECK(hipModuleLoadData(&module, image.data()));
  run(module);
  CHECK(hipModuleUnload(module));

  EXPECT(hipModuleLoad(&module, "no-such-file.co") == hipErrorFileNotFound, "a missing file was loaded");
  image.resize(image.size() / 2);
  std::vector<char> zeros(4096, 0);
  EXPECT(hipModuleLoadData(&module, zeros.data()) != hipSuccess, "zeros were loaded");
  return app_end();
}
