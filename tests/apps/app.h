/* What the test programs share. They are ordinary HIP programs: nothing here knows of hrx.
 * Each poisons its output first, checks every element against a reference of its own, and ends with PASS or FAIL. */
#ifndef APP_H
#define APP_H

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    hipError_t check_error = (call);                                                                         \
    if (check_error != hipSuccess) {                                                                         \
      printf("%s:%d: %s: %s\nFAIL\n", __FILE__, __LINE__, #call, hipGetErrorString(check_error));            \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* Says where something differs and counts it. */
static int app_errors = 0;

#define EXPECT(condition, ...)                                     \
  do {                                                             \
    if (!(condition) && app_errors++ < 10) {                       \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);       \
      printf(__VA_ARGS__);                                         \
      printf("\n");                                                \
    }                                                              \
  } while (0)

/* The last line and the exit status. */
static inline int app_end() {
  if (app_errors != 0) printf("%d errors\n", app_errors);
  printf(app_errors == 0 ? "PASS\n" : "FAIL\n");
  return app_errors == 0 ? 0 : 1;
}

/* A small generator, the same everywhere: inputs must not depend on libc. */
struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 2654435761u + 88172645463325252u) {}
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
  }
  float unit() { return (float)(next() >> 8) / 16777216.0f; } /* [0, 1) */
};

/* Device memory with poisoned contents. */
template <typename T> T *app_device(size_t count) {
  T *pointer = nullptr;
  CHECK(hipMalloc(&pointer, count * sizeof(T)));
  CHECK(hipMemset(pointer, 0xA5, count * sizeof(T)));
  return pointer;
}

template <typename T> T *app_upload(const std::vector<T> &values) {
  T *pointer = app_device<T>(values.size());
  CHECK(hipMemcpy(pointer, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return pointer;
}

template <typename T> std::vector<T> app_download(const T *pointer, size_t count) {
  std::vector<T> values(count);
  CHECK(hipMemcpy(values.data(), pointer, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

#endif
