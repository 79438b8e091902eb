/* Rules of HIP that other runtimes were reported to break: tests/README.md has the list. */
#include "tests/unit/hip_use.h"

#include <pthread.h>
#include <stdatomic.h>

static char store_stub, lds_stub, number_variable;
static struct fixture object;
static struct hip_wrapper wrapper;
static void **binary;

static void binary_register(void) {
  wrapper = (struct hip_wrapper){0x48495046, 1, object.bytes, NULL};
  binary = entry___hipRegisterFatBinary(&wrapper);
  static char store[] = "store", lds[] = "with_lds", number[] = "number";
  entry___hipRegisterFunction(binary, &store_stub, store, store, 0, NULL, NULL, NULL, NULL, NULL);
  entry___hipRegisterFunction(binary, &lds_stub, lds, lds, 0, NULL, NULL, NULL, NULL, NULL);
  entry___hipRegisterVar(binary, &number_variable, number, number, 0, 4, 0, 0);
}

static void setup(void) {
  object = fixture_read(hip_objects[1]);
  binary_register();
}

static void teardown(void) {
  entry___hipUnregisterFatBinary(binary);
  free(object.bytes);
}

START_TEST(empty_and_endless_grids_are_errors) {
  int *out = host_new(4), value = 1;
  void *arguments[] = {&out, &value};
  FAILS(entry_hipLaunchKernel(&store_stub, (dim3){0, 1, 1}, (dim3){64, 1, 1}, arguments, 0, NULL), hipErrorInvalidConfiguration);
  FAILS(entry_hipLaunchKernel(&store_stub, (dim3){1, 1, 1}, (dim3){0, 1, 1}, arguments, 0, NULL), hipErrorInvalidConfiguration);
  FAILS(entry_hipLaunchKernel(&store_stub, (dim3){1u << 30, 1, 1}, (dim3){1024, 1, 1}, arguments, 0, NULL), hipErrorInvalidConfiguration);
  OK(entry_hipDeviceSynchronize());
  ck_assert_int_eq(*out, 0);
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(lds_is_accepted_to_the_limit_and_not_beyond) {
  enum { FIXED = 1024, LIMIT = 65536 };
  int *out = host_new(64 * sizeof *out);
  void *arguments[] = {&out};
  OK(entry_hipFuncSetAttribute(&lds_stub, hipFuncAttributeMaxDynamicSharedMemorySize, 0));
  OK(entry_hipFuncSetAttribute(&lds_stub, hipFuncAttributeMaxDynamicSharedMemorySize, LIMIT - FIXED));
  FAILS(entry_hipFuncSetAttribute(&lds_stub, hipFuncAttributeMaxDynamicSharedMemorySize, LIMIT - FIXED + 1), hipErrorInvalidValue);
  OK(entry_hipLaunchKernel(&lds_stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, LIMIT - FIXED, NULL));
  OK(entry_hipDeviceSynchronize());
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], (i + 1) % 64 + 1);
  ck_assert_int_ne(entry_hipLaunchKernel(&lds_stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, LIMIT - FIXED + 1, NULL), hipSuccess);
  OK(entry_hipDeviceSynchronize());
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(a_cooperative_launch_fits_as_occupancy_says) {
  struct hip_device *device = NULL;
  OK(state_device(0, &device));
  int each = 0, value = 3;
  OK(entry_hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, &store_stub, 64, 0));
  unsigned most = (unsigned)each * device->gpu->properties.compute_units;
  int *out = host_new((most + 1) * 64 * sizeof *out);
  void *arguments[] = {&out, &value};
  FAILS(entry_hipLaunchCooperativeKernel(&store_stub, (dim3){most + 1, 1, 1}, (dim3){64, 1, 1}, arguments, 0, NULL),
        hipErrorCooperativeLaunchTooLarge);
  OK(entry_hipLaunchCooperativeKernel(&store_stub, (dim3){most, 1, 1}, (dim3){64, 1, 1}, arguments, 0, NULL));
  OK(entry_hipDeviceSynchronize());
  ck_assert_int_eq(out[most * 64 - 1], 3 + (int)most * 64 - 1);
  OK(entry_hipHostFree(out));
}
END_TEST

static void *other_thread(void *stream) {
  int device = -1, value = 9, *out = host_new(64 * sizeof *out);
  hipDevice_t owner = -1;
  void *arguments[] = {&out, &value};
  OK(entry_hipGetDevice(&device));
  ck_assert_int_eq(device, 0); /* whatever the thread that made it chose */
  OK(entry_hipStreamGetDevice(stream, &owner));
  ck_assert_int_eq(owner, 1); /* the stream's device, not the thread's, runs what is in it */
  OK(entry_hipLaunchKernel(&store_stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, 0, stream));
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_int_eq(out[63], 72);
  OK(entry_hipHostFree(out));
  return NULL;
}

START_TEST(threads_start_at_the_first_device_and_streams_keep_theirs) {
  hipStream_t stream = NULL;
  pthread_t thread;
  OK(entry_hipSetDevice(1));
  OK(entry_hipStreamCreate(&stream));
  pthread_create(&thread, NULL, other_thread, stream);
  pthread_join(thread, NULL);
  OK(entry_hipStreamDestroy(stream));
}
END_TEST

START_TEST(variables_are_each_devices_own) {
  int one = 11, two = 22, got = 0;
  OK(entry_hipSetDevice(1));
  OK(entry_hipMemcpyFromSymbol(&got, &number_variable, 4, 0, hipMemcpyDeviceToHost));
  ck_assert_int_eq(got, 7);
  OK(entry_hipMemcpyToSymbol(&number_variable, &two, 4, 0, hipMemcpyHostToDevice));
  OK(entry_hipSetDevice(0));
  OK(entry_hipMemcpyFromSymbol(&got, &number_variable, 4, 0, hipMemcpyDeviceToHost));
  ck_assert_int_eq(got, 7);
  OK(entry_hipMemcpyToSymbol(&number_variable, &one, 4, 0, hipMemcpyHostToDevice));
  OK(entry_hipSetDevice(1));
  OK(entry_hipMemcpyFromSymbol(&got, &number_variable, 4, 0, hipMemcpyDeviceToHost));
  ck_assert_int_eq(got, 22);
}
END_TEST

START_TEST(peer_access_enabled_twice_is_an_error_that_clears) {
  OK(entry_hipDeviceEnablePeerAccess(1, 0));
  FAILS(entry_hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  FAILS(entry_hipGetLastError(), hipErrorPeerAccessAlreadyEnabled);
  OK(entry_hipGetLastError());
  OK(entry_hipDeviceDisablePeerAccess(1));
  FAILS(entry_hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
}
END_TEST

/* Code for another GPU fails where it is launched; everything else goes on. */
START_TEST(foreign_code_fails_at_the_launch) {
  entry___hipUnregisterFatBinary(binary);
  object.bytes[48] = 0x2f; /* e_flags: EF_AMDGPU_MACH_AMDGCN_GFX906 */
  binary_register();
  int *out = host_new(256), value = 1;
  void *arguments[] = {&out, &value};
  OK(entry_hipDeviceSynchronize());
  for (int i = 0; i < 2; i++)
    FAILS(entry_hipLaunchKernel(&store_stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, arguments, 0, NULL), hipErrorNoBinaryForGpu);
  OK(entry_hipDeviceSynchronize());
  OK(entry_hipHostFree(out));
}
END_TEST

struct sequence {
  _Atomic int next, wrong;
};

static void in_order(hipStream_t stream, hipError_t error, void *data) {
  (void)stream;
  struct sequence *sequence = ((void **)data)[0];
  int expected = (int)(intptr_t)((void **)data)[1];
  if (error != hipSuccess || atomic_fetch_add(&sequence->next, 1) != expected) atomic_fetch_add(&sequence->wrong, 1);
}

START_TEST(callbacks_run_in_the_order_of_their_streams) {
  enum { STREAMS = 4, EACH = 250 };
  static struct sequence sequences[STREAMS];
  static void *data[STREAMS][EACH][2];
  hipStream_t streams[STREAMS];
  for (int s = 0; s < STREAMS; s++) OK(entry_hipStreamCreateWithFlags(&streams[s], hipStreamNonBlocking));
  for (int i = 0; i < EACH; i++)
    for (int s = 0; s < STREAMS; s++) {
      data[s][i][0] = &sequences[s];
      data[s][i][1] = (void *)(intptr_t)i;
      OK(entry_hipStreamAddCallback(streams[s], in_order, data[s][i], 0));
    }
  for (int s = 0; s < STREAMS; s++) {
    OK(entry_hipStreamSynchronize(streams[s]));
    ck_assert_int_eq(atomic_load(&sequences[s].next), EACH);
    ck_assert_int_eq(atomic_load(&sequences[s].wrong), 0);
    OK(entry_hipStreamDestroy(streams[s]));
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_rules");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_checked_fixture(rules, setup, teardown);
  tcase_add_test(rules, empty_and_endless_grids_are_errors);
  tcase_add_test(rules, lds_is_accepted_to_the_limit_and_not_beyond);
  tcase_add_test(rules, a_cooperative_launch_fits_as_occupancy_says);
  tcase_add_test(rules, threads_start_at_the_first_device_and_streams_keep_theirs);
  tcase_add_test(rules, variables_are_each_devices_own);
  tcase_add_test(rules, peer_access_enabled_twice_is_an_error_that_clears);
  tcase_add_test(rules, foreign_code_fails_at_the_launch);
  tcase_add_test(rules, callbacks_run_in_the_order_of_their_streams);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
