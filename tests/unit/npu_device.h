/* A software NPU, its programs, and runs that are waited for. */
#ifndef HRX_TESTS_UNIT_NPU_DEVICE_H
#define HRX_TESTS_UNIT_NPU_DEVICE_H

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "fixture.h"
#include "npu/soft/device.h"

static struct memory *memory;
static struct npu_device *device;

static inline void device_setup(void) {
  ck_assert_int_eq(memory_create(UINT64_C(64) << 20, &memory), HRX_OK);
  ck_assert_int_eq(npu_soft_create(memory, &device), HRX_OK);
}

/* What a test leaves behind is a mistake of the test or a leak of the device. */
static inline void device_teardown(void) {
  struct npu_statistics statistics;
  npu_statistics(device, &statistics);
  ck_assert_uint_eq(statistics.programs_live, 0);
  ck_assert_uint_eq(statistics.invocations_live, 0);
  ck_assert_uint_eq(statistics.imports_live, 0);
  npu_device_release(device);
  memory_release(memory);
}

#define OK(call) ck_assert_msg((call) == HRX_OK, "%s", hrx_last_message())
/* The status, the reason, and a word of the message. */
#define FAILS(call, status, reason, word)                                                                   \
  do {                                                                                                      \
    ck_assert_int_eq((call), (status));                                                                     \
    ck_assert_int_eq(hrx_last_reason(), (reason));                                                          \
    ck_assert_msg(strstr(hrx_last_message(), (word)) != NULL, "no '%s' in: %s", (word), hrx_last_message()); \
  } while (0)

/* Where the build put it, beside the tests: "tests/fixtures/X" or "lib/npu/X". */
static inline const char *built(const char *name) {
  static char path[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  ck_assert_int_gt(length, 0);
  path[length] = '\0';
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = '\0';
  snprintf(path + strlen(path), 64, "/%s", name);
  return path;
}

static inline hrx_status load_file(const char *name, const char *kernel, unsigned columns, struct npu_program **out_program) {
  struct npu_source source = {.path = built(name)};
  return npu_program_load(device, &source, kernel, columns, out_program);
}

static inline struct npu_program *load(const char *name, const char *kernel) {
  struct npu_program *program = NULL;
  OK(load_file(name, kernel, 4, &program));
  return program;
}

/* Zeroed local memory, freed with the device. */
static inline void *local(size_t bytes) {
  struct allocation *allocation = NULL;
  OK(npu_allocate(device, bytes, 0, &allocation));
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
  atomic_fetch_add(&outcome->calls, 1);
  futex_wake(&outcome->calls, 1);
}

/* Until `done` was called `calls` times in all. */
static inline void outcome_wait(struct outcome *outcome, uint32_t calls) {
  for (uint32_t seen; (seen = atomic_load(&outcome->calls)) < calls;) futex_wait(&outcome->calls, seen, UINT64_MAX);
}

static inline struct failure invocation_run(struct npu_invocation *invocation) {
  struct outcome outcome = {0};
  npu_invocation_start(invocation, outcome_note, &outcome);
  outcome_wait(&outcome, 1);
  return outcome.failure;
}

static inline struct npu_invocation *invocation_of_one(struct npu_program *program, void *address, size_t bytes) {
  struct npu_invocation *invocation = NULL;
  struct npu_binding binding = {address, bytes};
  OK(npu_invocation_create(program, &binding, 1, NULL, 0, &invocation));
  return invocation;
}

#endif
