/* For tests that call HIP's handlers: several devices, code from the fixtures, kernels registered as a compiler does it. */
#ifndef HRX_TESTS_UNIT_HIP_USE_H
#define HRX_TESTS_UNIT_HIP_USE_H

#include <check.h>
#include <stdlib.h>

#include "interpose/entry.h"
#include "interpose/state.h"
#include "tests/unit/fixture.h"

#define OK(call) ck_assert_int_eq(call, hipSuccess)
#define FAILS(call, error) ck_assert_int_eq(call, error)

static const char *const hip_objects[] = {"hip4.co", "hip5.co"};
enum { HIP_OBJECTS = 2, HIP_DEVICES = 3 };

/* Before the library's own constructors, which read the environment. */
__attribute__((constructor(101))) static void hip_devices(void) {
  setenv("HRX_SOFT_DEVICES", "3", 1);
  setenv("HRX_GPU", "soft", 1);
}

/* clang's wrapper of a fat binary */
struct hip_wrapper {
  unsigned magic, version;
  const void *binary;
  const void *unused;
};

static inline void *host_new(size_t bytes) {
  void *memory = NULL;
  OK(entry_hipHostMalloc(&memory, bytes, 0));
  memset(memory, 0, bytes);
  return memory;
}

#endif
