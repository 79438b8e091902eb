/* A kernel compiled at run time from a string, with an option and a header, found by its lowered name; and a compile error. */
#include "app.h"

#include <hip/hiprtc.h>

#include <string>

static const char source[] = R"(
#include "factor.h"
template <typename T> __global__ void scale(T *values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * (T)FACTOR + (T)OFFSET;
}
)";

#define RTC(call)                                                                      \
  do {                                                                                 \
    hiprtcResult rtc_result = (call);                                                  \
    if (rtc_result != HIPRTC_SUCCESS) {                                                \
      printf("%s: %s\nFAIL\n", #call, hiprtcGetErrorString(rtc_result));               \
      return 1;                                                                        \
    }                                                                                  \
  } while (0)

int main() {
  const char *headers[] = {"#define FACTOR 3\n"}, *names[] = {"factor.h"};
  hiprtcProgram program;
  RTC(hiprtcCreateProgram(&program, source, "scale.hip", 1, headers, names));
  RTC(hiprtcAddNameExpression(program, "scale<float>"));
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char *options[] = {arch.c_str(), "-DOFFSET=2"};
  hiprtcResult compiled = hiprtcCompileProgram(program, 2, options);
  size_t log_size = 0;
  RTC(hiprtcGetProgramLogSize(program, &log_size));
  if (compiled != HIPRTC_SUCCESS) {
    std::vector<char> log(log_size + 1);
    RTC(hiprtcGetProgramLog(program, log.data()));
    printf("%s\nFAIL\n", log.data());
    return 1;
  }
  const char *lowered = nullptr;
  RTC(hiprtcGetLoweredName(program, "scale<float>", &lowered));
  std::string name = lowered;
  size_t size = 0;
  RTC(hiprtcGetCodeSize(program, &size));
  std::vector<char> code(size);
  RTC(hiprtcGetCode(program, code.data()));
  RTC(hiprtcDestroyProgram(&program));

  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&function, module, name.c_str()));
  const int count = 777;
  std::vector<float> values(count);
  for (int i = 0; i < count; i++) values[i] = (float)i;
  float *device = app_upload(values);
  int number = count;
  void *arguments[] = {&device, &number};
  CHECK(hipModuleLaunchKernel(function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipDeviceSynchronize());
  std::vector<float> got = app_download(device, count);
  for (int i = 0; i < count; i++) EXPECT(got[i] == i * 3.0f + 2.0f, "element %d: %g", i, got[i]);
  CHECK(hipModuleUnload(module));

  RTC(hiprtcCreateProgram(&program, "__global__ void broken() { undeclared(); }", "broken.hip", 0, nullptr, nullptr));
  EXPECT(hiprtcCompileProgram(program, 1, options) == HIPRTC_ERROR_COMPILATION, "nonsense compiled");
  RTC(hiprtcGetProgramLogSize(program, &log_size));
  std::vector<char> log(log_size + 1);
  RTC(hiprtcGetProgramLog(program, log.data()));
  EXPECT(strstr(log.data(), "undeclared") != nullptr, "the log does not name the error: %s", log.data());
  RTC(hiprtcDestroyProgram(&program));
  return app_end();
}
