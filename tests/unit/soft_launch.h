/* A software GPU with the kernels of tests/fixtures/soft.hip, and launches of them. */
#ifndef HRX_TESTS_UNIT_SOFT_LAUNCH_H
#define HRX_TESTS_UNIT_SOFT_LAUNCH_H

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "fixture.h"
#include "gpu/soft/device.h"
#include "memory/memory.h"

static const char *const soft_objects[] = {"soft4_O0.co", "soft4_O2.co", "soft5_O0.co", "soft5_O2.co"};
enum { SOFT_OBJECTS = 4, SOFT_OBJECT_FAST = 3 };

static struct memory *memory;
static struct gpu_device *device;
static struct gpu_module *module;

static inline void device_setup(void) {
  ck_assert_int_eq(memory_create(UINT64_C(1) << 30, &memory), HRX_OK);
  ck_assert_msg(soft_device_create(memory, "gfx1030", &device) == HRX_OK, "%s", hrx_last_message());
  module = NULL;
}

static inline void device_teardown(void) {
  gpu_module_release(module);
  gpu_device_release(device);
  memory_release(memory);
}

static inline void object_load(unsigned which) {
  struct fixture fixture = fixture_read(soft_objects[which]);
  ck_assert_msg(gpu_module_load(device, fixture.bytes, fixture.size, &module) == HRX_OK, "%s", hrx_last_message());
  free(fixture.bytes);
}

/* Zeroed device memory. */
static inline void *device_memory(size_t bytes) {
  struct allocation *allocation = NULL;
  ck_assert_int_eq(memory_allocate(memory, bytes, 256, MEMORY_DEVICE, 0, 0, &allocation), HRX_OK);
  memset((void *)allocation->address, 0, bytes);
  return (void *)allocation->address;
}

struct outcome {
  _Atomic uint32_t calls;
  struct failure failure;
};

static inline void outcome_note(void *context, const struct failure *failure) {
  struct outcome *outcome = context;
  outcome->failure.status = HRX_OK;
  if (failure != NULL) outcome->failure = *failure;
  outcome->calls++;
  futex_wake(&outcome->calls, 1);
}

struct shape {
  uint32_t grid[3], block[3], dynamic_lds;
};

static inline struct shape linear(uint32_t groups, uint32_t block) {
  return (struct shape){{groups * block, 1, 1}, {block, 1, 1}, 0};
}

static inline struct gpu_dispatch *launch_create(const char *name, struct shape shape, const void *arguments, size_t bytes) {
  struct gpu_kernel *kernel = NULL;
  struct gpu_dispatch *dispatch = NULL;
  ck_assert_msg(gpu_module_kernel(module, name, &kernel) == HRX_OK, "%s", hrx_last_message());
  struct gpu_launch launch = {.dynamic_lds = shape.dynamic_lds, .arguments = arguments, .argument_bytes = bytes};
  memcpy(launch.grid, shape.grid, sizeof launch.grid);
  memcpy(launch.block, shape.block, sizeof launch.block);
  ck_assert_msg(gpu_dispatch_create(kernel, &launch, &dispatch) == HRX_OK, "%s", hrx_last_message());
  return dispatch;
}

/* Waits until a dispatch is done, 20 s at most. */
static inline void outcome_wait(struct outcome *outcome) {
  uint64_t deadline = time_now_ns() + UINT64_C(20000000000);
  while (outcome->calls == 0) {
    futex_wait(&outcome->calls, 0, deadline);
    ck_assert_msg(time_now_ns() < deadline, "a dispatch does not end");
  }
  ck_assert_uint_eq(outcome->calls, 1);
}

/* Launches and waits. `help`: lends this thread. */
static inline struct failure launch_run(const char *name, struct shape shape, const void *arguments, size_t bytes, bool help) {
  struct outcome outcome = {0};
  struct gpu_dispatch *dispatch = launch_create(name, shape, arguments, bytes);
  gpu_dispatch_start(dispatch, outcome_note, &outcome);
  while (help && outcome.calls == 0) gpu_dispatch_help(dispatch, 100000);
  outcome_wait(&outcome);
  gpu_dispatch_release(dispatch);
  return outcome.failure;
}

#define RUN(name, shape, help, ...)                                                                   \
  do {                                                                                                \
    struct failure failure_ = launch_run(name, shape, &(__VA_ARGS__), sizeof(__VA_ARGS__), help);     \
    ck_assert_msg(failure_.status == HRX_OK, "%s: %s", name, failure_.message);                       \
  } while (0)

static inline int suite_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}

#endif
