/* Status to HIP error, the last error's two rules, and the registries of handles and pointers. */
#include "interpose/error.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/pointer_map.h"

START_TEST(reasons_decide_where_the_status_is_too_coarse) {
  ck_assert_int_eq(error_of(HRX_OK), hipSuccess);
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_INVALID, HRX_REASON_NOT_FOUND, "x")), hipErrorNotFound);
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "x")), hipErrorNoBinaryForGpu);
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "x")), hipErrorNotSupported);
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_EXECUTION, HRX_REASON_ADDRESS, "x")), hipErrorIllegalAddress);
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_EXECUTION, HRX_REASON_TIME_LIMIT, "x")), hipErrorLaunchTimeOut);
  ck_assert_int_eq(error_of(hrx_fail(HRX_EXECUTION, "x")), hipErrorLaunchFailure);
  ck_assert_int_eq(error_of(hrx_fail(HRX_INVALID, "x")), hipErrorInvalidValue);
  /* out of memory is that, whatever the reason says */
  ck_assert_int_eq(error_of(hrx_fail_reason(HRX_OUT_OF_MEMORY, HRX_REASON_ARGUMENT, "x")), hipErrorOutOfMemory);
}
END_TEST

START_TEST(names_and_sentences_exist_for_any_number) {
  ck_assert_str_eq(entry_hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu");
  ck_assert_ptr_nonnull(entry_hipGetErrorString((hipError_t)123456));
  const char *name = NULL;
  ck_assert_int_eq(entry_hipDrvGetErrorName((hipError_t)123456, &name), hipErrorInvalidValue);
  ck_assert_ptr_null(name);
}
END_TEST

START_TEST(before_hip_7_a_success_overwrites_the_last_error) {
  caller_error_rule = ERROR_OVERWRITES;
  entry_done(ENTRY_hipMalloc, hipErrorInvalidValue);
  entry_done(ENTRY_hipMalloc, hipSuccess);
  ck_assert_int_eq(entry_hipPeekAtLastError(), hipSuccess);
}
END_TEST

START_TEST(since_hip_7_an_error_stays_and_not_ready_is_none) {
  caller_error_rule = ERROR_STAYS;
  entry_done(ENTRY_hipMalloc, hipErrorInvalidValue);
  entry_done(ENTRY_hipMalloc, hipSuccess);
  entry_done(ENTRY_hipEventQuery, hipErrorNotReady);
  ck_assert_int_eq(entry_hipPeekAtLastError(), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipExtGetLastError(), hipErrorNotReady); /* how the last call ended */
  ck_assert_int_eq(entry_hipExtGetLastError(), hipSuccess);
  ck_assert_int_eq(entry_hipGetLastError(), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipGetLastError(), hipSuccess);
  caller_error_rule = ERROR_OVERWRITES;
}
END_TEST

static void *other_thread(void *seen) {
  *(hipError_t *)seen = entry_hipPeekAtLastError();
  return NULL;
}

START_TEST(the_last_error_is_the_threads_own) {
  pthread_t thread;
  hipError_t seen = hipErrorUnknown;
  entry_done(ENTRY_hipMalloc, hipErrorInvalidValue);
  pthread_create(&thread, NULL, other_thread, &seen);
  pthread_join(thread, NULL);
  ck_assert_int_eq(seen, hipSuccess);
  ck_assert_int_eq(entry_hipGetLastError(), hipErrorInvalidValue);
}
END_TEST

START_TEST(a_handle_is_live_as_its_kind_until_one_removes_it) {
  static long objects[5000];
  for (int i = 0; i < 5000; i++) ck_assert_int_eq(handle_add(&objects[i], HANDLE_EVENT), HRX_OK);
  for (int i = 0; i < 5000; i++) ck_assert(handle_live(&objects[i], HANDLE_EVENT));
  ck_assert(!handle_live(&objects[0], HANDLE_STREAM));
  ck_assert(!handle_live(NULL, HANDLE_EVENT));
  ck_assert(!handle_live((char *)&objects[0] + 1, HANDLE_EVENT));
  for (int i = 0; i < 5000; i++) ck_assert(handle_remove(&objects[i], HANDLE_EVENT));
  for (int i = 0; i < 5000; i++) ck_assert(!handle_live(&objects[i], HANDLE_EVENT));
  ck_assert(!handle_remove(&objects[0], HANDLE_EVENT));
}
END_TEST

START_TEST(a_pointer_map_survives_churn) {
  static struct pointer_map map = POINTER_MAP_INIT;
  static long keys[300];
  for (int round = 0; round < 1000; round++) {
    long *key = &keys[round % 300];
    ck_assert_int_eq(pointer_map_set(&map, key, &keys[round % 7]), HRX_OK);
    ck_assert_ptr_eq(pointer_map_get(&map, key), &keys[round % 7]);
    if (round % 3 != 0) {
      ck_assert_ptr_eq(pointer_map_take(&map, key), &keys[round % 7]);
      ck_assert_ptr_null(pointer_map_get(&map, key));
    }
  }
  ck_assert_ptr_null(pointer_map_get(&map, NULL));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_error");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, reasons_decide_where_the_status_is_too_coarse);
  tcase_add_test(rules, names_and_sentences_exist_for_any_number);
  tcase_add_test(rules, before_hip_7_a_success_overwrites_the_last_error);
  tcase_add_test(rules, since_hip_7_an_error_stays_and_not_ready_is_none);
  tcase_add_test(rules, the_last_error_is_the_threads_own);
  tcase_add_test(rules, a_handle_is_live_as_its_kind_until_one_removes_it);
  tcase_add_test(rules, a_pointer_map_survives_churn);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
