/* HIP's rules for memory calls: allocation, registration, copies and fills of every shape. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/state.h"

static void *device_bytes(size_t bytes) {
  void *pointer = NULL;
  ck_assert_int_eq(entry_hipMalloc(&pointer, bytes), hipSuccess);
  ck_assert_ptr_nonnull(pointer);
  return pointer;
}

START_TEST(malloc_and_free_keep_their_edges) {
  void *pointer = (void *)1;
  ck_assert_int_eq(entry_hipMalloc(&pointer, 0), hipSuccess);
  ck_assert_ptr_null(pointer);
  ck_assert_int_eq(entry_hipMalloc(NULL, 16), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFree(NULL), hipSuccess);
  ck_assert_int_eq(entry_hipFree(&pointer), hipErrorInvalidValue);
  char *memory = device_bytes(64);
  ck_assert_int_eq(entry_hipFree(memory + 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
  ck_assert_int_eq(entry_hipFree(memory), hipErrorInvalidValue);
}
END_TEST

START_TEST(out_of_memory_loses_nothing) {
  size_t before = 0, after = 0, total = 0;
  void *pointer = NULL;
  ck_assert_int_eq(entry_hipMemGetInfo(&before, &total), hipSuccess);
  ck_assert_int_eq(entry_hipMalloc(&pointer, total + 1), hipErrorOutOfMemory);
  ck_assert_ptr_null(pointer);
  ck_assert_int_eq(entry_hipMemGetInfo(&after, &total), hipSuccess);
  ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(bytes_go_there_and_back) {
  char out[1000], in[1000];
  for (int i = 0; i < 1000; i++) out[i] = (char)(i * 7);
  memset(in, 0, sizeof in);
  char *memory = device_bytes(1000);
  ck_assert_int_eq(entry_hipMemcpy(memory, out, 1000, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(in + 3, memory + 3, 990, hipMemcpyDefault), hipSuccess);
  ck_assert_int_eq(memcmp(in + 3, out + 3, 990), 0);
  ck_assert_int_eq(in[0], 0);
  ck_assert_int_eq(in[995], 0);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

START_TEST(copies_outside_are_refused) {
  char host[64];
  char *memory = device_bytes(64);
  ck_assert_int_eq(entry_hipMemcpy(memory + 1, host, 64, hipMemcpyHostToDevice), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy(host, host, 64, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy(host, host, 8, hipMemcpyHostToHost), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(memory, NULL, 8, hipMemcpyHostToDevice), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy(memory, host, 8, (hipMemcpyKind)9), hipErrorInvalidMemcpyDirection);
  ck_assert_int_eq(entry_hipMemcpy(NULL, NULL, 0, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemset(host, 0, 8), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(host, memory, 8, hipMemcpyDeviceToHost), hipErrorInvalidValue);
}
END_TEST

START_TEST(an_async_copy_takes_the_source_as_it_is_now) {
  char host[256], back[256];
  memset(host, 1, sizeof host);
  char *memory = device_bytes(sizeof host);
  ck_assert_int_eq(entry_hipMemcpyAsync(memory, host, sizeof host, hipMemcpyHostToDevice, NULL), hipSuccess);
  memset(host, 2, sizeof host);
  ck_assert_int_eq(entry_hipMemcpy(back, memory, sizeof back, hipMemcpyDeviceToHost), hipSuccess);
  for (size_t i = 0; i < sizeof back; i++) ck_assert_int_eq(back[i], 1);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

START_TEST(fills_write_elements_and_nothing_else) {
  unsigned char back[64];
  unsigned char *memory = device_bytes(64);
  ck_assert_int_eq(entry_hipMemset(memory, 0, 64), hipSuccess);
  ck_assert_int_eq(entry_hipMemsetD16(memory + 2, 0xbeef, 3), hipSuccess);
  ck_assert_int_eq(entry_hipMemsetD32(memory + 16, 0x01020304, 2), hipSuccess);
  ck_assert_int_eq(entry_hipMemset2D(memory + 32, 8, 0xff, 3, 2), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(back, memory, 64, hipMemcpyDeviceToHost), hipSuccess);
  const unsigned char expected[64] = {[2] = 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, [16] = 4, 3, 2, 1, 4, 3, 2, 1,
                                      [32] = 0xff, 0xff, 0xff, [40] = 0xff, 0xff, 0xff};
  ck_assert_int_eq(memcmp(back, expected, 64), 0);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

/* Random boxes against a loop that moves one byte at a time. */
START_TEST(boxes_match_a_byte_loop) {
  enum { X = 17, Y = 9, Z = 5, BYTES = X * Y * Z };
  static unsigned char source[BYTES], expected[BYTES], back[BYTES];
  unsigned seed = 12345;
  unsigned char *memory = device_bytes(BYTES);
  for (int round = 0; round < 200; round++) {
    size_t at[3], to[3], box[3];
    const size_t size[3] = {X, Y, Z};
    for (int axis = 0; axis < 3; axis++) {
      at[axis] = (size_t)rand_r(&seed) % size[axis];
      to[axis] = (size_t)rand_r(&seed) % size[axis];
      size_t most = size[axis] - (at[axis] > to[axis] ? at[axis] : to[axis]);
      box[axis] = (size_t)rand_r(&seed) % (most + 1);
    }
    for (int i = 0; i < BYTES; i++) source[i] = (unsigned char)rand_r(&seed);
    memset(expected, 0xee, BYTES);
    ck_assert_int_eq(entry_hipMemset(memory, 0xee, BYTES), hipSuccess);
    for (size_t z = 0; z < box[2]; z++)
      for (size_t y = 0; y < box[1]; y++)
        for (size_t x = 0; x < box[0]; x++)
          expected[((to[2] + z) * Y + to[1] + y) * X + to[0] + x] = source[((at[2] + z) * Y + at[1] + y) * X + at[0] + x];
    hipMemcpy3DParms parameters = {.srcPos = {at[0], at[1], at[2]},
                                   .srcPtr = {source, X, X, Y},
                                   .dstPos = {to[0], to[1], to[2]},
                                   .dstPtr = {memory, X, X, Y},
                                   .extent = {box[0], box[1], box[2]},
                                   .kind = hipMemcpyHostToDevice};
    ck_assert_int_eq(entry_hipMemcpy3D(&parameters), hipSuccess);
    ck_assert_int_eq(entry_hipMemcpy(back, memory, BYTES, hipMemcpyDeviceToHost), hipSuccess);
    ck_assert_int_eq(memcmp(back, expected, BYTES), 0);
  }
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

START_TEST(registered_memory_overlaps_nothing) {
  static char host[4096];
  void *device = NULL;
  ck_assert_int_eq(entry_hipHostRegister(host, sizeof host, 0), hipSuccess);
  ck_assert_int_eq(entry_hipHostRegister(host + 100, 10, 0), hipErrorHostMemoryAlreadyRegistered);
  ck_assert_int_eq(entry_hipHostGetDevicePointer(&device, host + 8, 0), hipSuccess);
  ck_assert_ptr_eq(device, host + 8);
  ck_assert_int_eq(entry_hipHostUnregister(host + 8), hipErrorHostMemoryNotRegistered);
  ck_assert_int_eq(entry_hipHostUnregister(host), hipSuccess);
  ck_assert_int_eq(entry_hipHostUnregister(host), hipErrorHostMemoryNotRegistered);
  ck_assert_int_eq(entry_hipHostGetDevicePointer(&device, host, 0), hipErrorInvalidValue);
}
END_TEST

START_TEST(pinned_memory_is_host_memory_with_its_flags) {
  void *pinned = NULL;
  unsigned flags = 0;
  hipPointerAttribute_t attributes;
  ck_assert_int_eq(entry_hipHostMalloc(&pinned, 100, hipHostMallocMapped), hipSuccess);
  memset(pinned, 7, 100);
  ck_assert_int_eq(entry_hipHostGetFlags(&flags, pinned), hipSuccess);
  ck_assert_uint_eq(flags, hipHostMallocMapped);
  ck_assert_int_eq(entry_hipPointerGetAttributes(&attributes, (char *)pinned + 5), hipSuccess);
  ck_assert_ptr_eq(attributes.hostPointer, (char *)pinned + 5);
  ck_assert_int_eq(entry_hipPointerGetAttributes(&attributes, &flags), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipHostFree(pinned), hipSuccess);
  ck_assert_int_eq(entry_hipHostMalloc(&pinned, 100, 0x123450), hipErrorInvalidValue);
}
END_TEST

START_TEST(arrays_keep_rows) {
  hipChannelFormatDesc desc = entry_hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray *array = NULL;
  float in[6 * 4], out[6 * 4];
  for (int i = 0; i < 24; i++) in[i] = (float)i;
  ck_assert_int_eq(entry_hipMallocArray(&array, &desc, 6, 4, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpyToArray(array, 0, 0, in, sizeof in, hipMemcpyHostToDevice), hipSuccess);
  memset(out, 0, sizeof out);
  ck_assert_int_eq(entry_hipMemcpy2DFromArray(out, 24, array, 0, 0, 24, 4, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(memcmp(in, out, sizeof in), 0);
  float part[3] = {0, 0, 0};
  ck_assert_int_eq(entry_hipMemcpyFromArray(part, array, 20, 1, 12, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert(part[0] == 11.0f && part[1] == 12.0f && part[2] == 13.0f);
  ck_assert_int_eq(entry_hipMemcpy2DToArray(array, 0, 1, in, 24, 24, 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeArray(array), hipSuccess);
}
END_TEST

static atomic_int waiting;

static void *first_call(void *result) {
  void *pointer = NULL;
  atomic_fetch_add(&waiting, 1);
  while (atomic_load(&waiting) < 32) sched_yield();
  hipError_t error = entry_hipMalloc(&pointer, 128);
  if (error == hipSuccess) error = entry_hipFree(pointer);
  *(hipError_t *)result = error;
  return NULL;
}

START_TEST(thirty_two_first_calls_make_one_state) {
  pthread_t threads[32];
  hipError_t results[32];
  ck_assert_ptr_null(state_existing());
  for (int i = 0; i < 32; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, first_call, &results[i]), 0);
  for (int i = 0; i < 32; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_int_eq(results[i], hipSuccess);
  }
}
END_TEST

static int child_result(void) {
  void *pointer = NULL;
  pid_t child = fork();
  if (child == 0) _exit(entry_hipMalloc(&pointer, 16) == hipSuccess ? 1 : 2);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_child_may_start_but_not_continue) {
  ck_assert_int_eq(child_result(), 1); /* nothing was used yet */
  void *memory = device_bytes(16);
  ck_assert_int_eq(entry_hipMemset(memory, 0, 16), hipSuccess);
  ck_assert_int_eq(child_result(), 2);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

int main(void) {
  setenv("HRX_SOFT_MEMORY", "64M", 1);
  setenv("HRX_LOG", "error", 1);
  Suite *suite = suite_create("hip_memory");
  TCase *rules = tcase_create("rules"); /* each in a process of its own, so that first calls are first */
  tcase_add_test(rules, malloc_and_free_keep_their_edges);
  tcase_add_test(rules, out_of_memory_loses_nothing);
  tcase_add_test(rules, bytes_go_there_and_back);
  tcase_add_test(rules, copies_outside_are_refused);
  tcase_add_test(rules, an_async_copy_takes_the_source_as_it_is_now);
  tcase_add_test(rules, fills_write_elements_and_nothing_else);
  tcase_add_test(rules, boxes_match_a_byte_loop);
  tcase_add_test(rules, registered_memory_overlaps_nothing);
  tcase_add_test(rules, pinned_memory_is_host_memory_with_its_flags);
  tcase_add_test(rules, arrays_keep_rows);
  tcase_add_test(rules, thirty_two_first_calls_make_one_state);
  tcase_add_test(rules, a_child_may_start_but_not_continue);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
