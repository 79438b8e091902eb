/* Functions by name, version and kind of stream; what profilers ask; valid devices. */
#include "tests/unit/hip_use.h"

#include <pthread.h>

#include "interpose/call_trace.h"
#include "interpose/table.h"

enum { FOUND = 0, NOT_FOUND = 1, TOO_NEW = 2, V5 = 50221153, V6 = 60342134, V7 = 70226015 };

static void *const untouched = (void *)-1;

static void finds(const char *name, int version, uint64_t flags, enum entry_index row) {
  void *function = untouched;
  int status = -1;
  OK(entry_hipGetProcAddress(name, &function, version, flags, &status));
  ck_assert_int_eq(status, FOUND);
  ck_assert_msg(function == hrx_hip_entries[row], "%s of version %d", name, version);
}

static void lacks(const char *name, int version, int why) {
  void *function = untouched;
  int status = -1;
  FAILS(entry_hipGetProcAddress(name, &function, version, 0, &status), hipErrorInvalidValue);
  ck_assert_msg(status == why, "%s of version %d: %d", name, version, status);
  ck_assert_ptr_null(function);
}

START_TEST(a_name_means_the_function_of_the_version) {
  finds("hipMalloc", V5, 0, ENTRY_hipMalloc);
  finds("hipMalloc", 502, 0, ENTRY_hipMalloc);
  finds("hipGetDeviceProperties", V5, 0, ENTRY_hipGetDeviceProperties);
  finds("hipGetDeviceProperties", V6, 0, ENTRY_hipGetDevicePropertiesR0600);
  finds("hipGetDeviceProperties", 600, 0, ENTRY_hipGetDevicePropertiesR0600);
  finds("hipGetDeviceProperties", V7, 0, ENTRY_hipGetDevicePropertiesR0600);
  finds("hipGetDevicePropertiesR0000", V7, 0, ENTRY_hipGetDevicePropertiesR0000);
  finds("hipChooseDevice", V5, 0, ENTRY_hipChooseDevice);
  finds("hipChooseDevice", V6, 0, ENTRY_hipChooseDeviceR0600);
  finds("hipLibraryLoadData", V7, 0, ENTRY_hipLibraryLoadData);
  lacks("hipLibraryLoadData", V6, TOO_NEW);
  lacks("hipLibraryLoadData", 701, TOO_NEW);
  finds("hipLibraryLoadData", 702, 0, ENTRY_hipLibraryLoadData);
  lacks("hipGetDevicePropertiesR0600", V5, TOO_NEW);
  lacks("hipNoSuchFunction", V7, NOT_FOUND);
}
END_TEST

START_TEST(flags_choose_the_twin_for_the_threads_stream) {
  finds("hipMemcpyAsync", V6, 0, ENTRY_hipMemcpyAsync);
  finds("hipMemcpyAsync", V6, 1, ENTRY_hipMemcpyAsync);
  finds("hipMemcpyAsync", V6, 2, ENTRY_hipMemcpyAsync_spt);
  finds("hipMalloc", V6, 2, ENTRY_hipMalloc); /* which has none */
  void *function = NULL;
  OK(entry_hipGetProcAddress_spt("hipMemcpyAsync", &function, V7, 0, NULL));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipMemcpyAsync_spt]);
  OK(entry_hipGetProcAddress_spt("hipMemcpyAsync", &function, V7, 1, NULL));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipMemcpyAsync]);
  int status = -1;
  OK(entry_hipGetDriverEntryPoint("hipStreamQuery", &function, 0, &status));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipStreamQuery]);
  ck_assert_int_eq(status, FOUND);
  OK(entry_hipGetDriverEntryPoint("hipStreamQuery", &function, 2, NULL));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipStreamQuery_spt]);
  OK(entry_hipGetDriverEntryPoint_spt("hipStreamQuery", &function, 0, NULL));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipStreamQuery_spt]);
  OK(entry_hipGetDriverEntryPoint("hipGetDeviceProperties", &function, 0, NULL));
  ck_assert_ptr_eq(function, hrx_hip_entries[ENTRY_hipGetDevicePropertiesR0600]);
  FAILS(entry_hipGetDriverEntryPoint("hipNoSuchFunction", &function, 0, &status), hipErrorInvalidValue);
  ck_assert_int_eq(status, NOT_FOUND);
}
END_TEST

START_TEST(wrong_requests_for_a_function_write_nothing) {
  void *function = untouched;
  int status = 77;
  char longest[600];
  memset(longest, 'h', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  hipError_t (*const calls[])(const char *, void **, int, uint64_t, int *) = {entry_hipGetProcAddress, entry_hipGetProcAddress_spt};
  for (int i = 0; i < 2; i++) {
    FAILS(calls[i](NULL, &function, V6, 0, &status), hipErrorInvalidValue);
    FAILS(calls[i]("", &function, V6, 0, &status), hipErrorInvalidValue);
    FAILS(calls[i]("hipMalloc", NULL, V6, 0, &status), hipErrorInvalidValue);
    FAILS(calls[i]("hipMalloc", &function, -1, 0, &status), hipErrorInvalidValue);
    FAILS(calls[i]("hipMalloc", &function, V6, 3, &status), hipErrorInvalidValue);
  }
  FAILS(entry_hipGetDriverEntryPoint(NULL, &function, 0, &status), hipErrorInvalidValue);
  FAILS(entry_hipGetDriverEntryPoint("hipMalloc", NULL, 0, &status), hipErrorInvalidValue);
  FAILS(entry_hipGetDriverEntryPoint("hipMalloc", &function, 9, &status), hipErrorInvalidValue);
  FAILS(entry_hipGetDriverEntryPoint_spt(NULL, &function, 0, &status), hipErrorInvalidValue);
  ck_assert_ptr_eq(function, untouched);
  ck_assert_int_eq(status, 77);
  lacks(longest, V7, NOT_FOUND);
}
END_TEST

START_TEST(names_of_calls_and_commands_are_those_of_hip_5) {
  ck_assert_str_eq(entry_hipApiName(3), "hipArray3DCreate");
  ck_assert_str_eq(entry_hipApiName(123456), "unknown");
  ck_assert_str_eq(entry_hipGetCmdName(0x11f0), "KernelExecution");
  ck_assert_str_eq(entry_hipGetCmdName(0x11f4), "CopyHostToDevice");
  ck_assert_ptr_nonnull(entry_hipGetCmdName(UINT32_MAX));
  ck_assert_str_eq(entry_amd_dbgapi_get_build_name(), "hrx");
  ck_assert_ptr_nonnull(entry_amd_dbgapi_get_git_hash());
  ck_assert_uint_eq(entry_amd_dbgapi_get_build_id(), 0);
  OK(entry_hipRemoveApiCallback(3));
  OK(entry_hipRemoveActivityCallback(3));
  FAILS(entry_hipRemoveApiCallback(UINT32_MAX), hipErrorInvalidValue);
  FAILS(entry_hipRemoveActivityCallback(UINT32_MAX), hipErrorInvalidValue);
}
END_TEST

static void *device_of_thread(void *device) {
  OK(entry_hipGetDevice(device));
  return NULL;
}

static int thread_device_seen(void) {
  pthread_t thread;
  int device = -1;
  pthread_create(&thread, NULL, device_of_thread, &device);
  pthread_join(thread, NULL);
  return device;
}

START_TEST(the_first_valid_device_is_that_of_threads_without_one) {
  int list[] = {2, 1}, wrong[] = {0, HIP_DEVICES}, many[HIP_DEVICES + 1] = {0}, device = -1;
  ck_assert_int_eq(thread_device_seen(), 0);
  OK(entry_hipSetValidDevices(list, 2));
  OK(entry_hipGetDevice(&device)); /* this one never chose either */
  ck_assert_int_eq(device, 2);
  ck_assert_int_eq(thread_device_seen(), 2);
  OK(entry_hipSetDevice(0));
  OK(entry_hipSetValidDevices(&list[1], 1));
  OK(entry_hipGetDevice(&device));
  ck_assert_int_eq(device, 0);
  ck_assert_int_eq(thread_device_seen(), 1);
  FAILS(entry_hipSetValidDevices(wrong, 2), hipErrorInvalidDevice);
  wrong[0] = -1;
  FAILS(entry_hipSetValidDevices(wrong, 1), hipErrorInvalidDevice);
  FAILS(entry_hipSetValidDevices(NULL, 1), hipErrorInvalidValue);
  FAILS(entry_hipSetValidDevices(list, -1), hipErrorInvalidValue);
  FAILS(entry_hipSetValidDevices(many, HIP_DEVICES + 1), hipErrorInvalidValue);
  ck_assert_int_eq(thread_device_seen(), 1);
  OK(entry_hipSetValidDevices(NULL, 0));
  ck_assert_int_eq(thread_device_seen(), 0);
}
END_TEST

START_TEST(logging_turns_on_and_off_while_the_program_runs) {
  void *before = hrx_hip_entries[ENTRY_hipFree];
  OK(entry_hipExtSetLoggingParams(4, 0, SIZE_MAX));
  ck_assert_ptr_eq(hrx_hip_entries[ENTRY_hipFree], before); /* not yet */
  OK(entry_hipExtEnableLogging());
  ck_assert_ptr_ne(hrx_hip_entries[ENTRY_hipFree], before);
  /* calls go through, whatever they return */
  OK(((hipError_t(*)(void *))hrx_hip_entries[ENTRY_hipFree])(NULL));
  FAILS(((hipError_t(*)(void *))hrx_hip_entries[ENTRY_hipFree])(&before), hipErrorInvalidValue);
  hipChannelFormatDesc made = ((hipChannelFormatDesc(*)(int, int, int, int, enum hipChannelFormatKind))
                                 hrx_hip_entries[ENTRY_hipCreateChannelDesc])(8, 16, 0, 0, hipChannelFormatKindFloat);
  ck_assert_int_eq(made.y, 16);
  ck_assert_str_eq(((text(*)(hipError_t))hrx_hip_entries[ENTRY_hipGetErrorName])(hipErrorNotFound), "hipErrorNotFound");
  OK(entry_hipExtDisableLogging());
  ck_assert_ptr_eq(hrx_hip_entries[ENTRY_hipFree], before);
  OK(entry_hipExtDisableLogging());
  OK(entry_hipExtSetLoggingParams(1, 0, 0));
  OK(entry_hipExtEnableLogging());
  ck_assert_ptr_eq(hrx_hip_entries[ENTRY_hipFree], before); /* errors alone are no calls */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_tool");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_test(rules, a_name_means_the_function_of_the_version);
  tcase_add_test(rules, flags_choose_the_twin_for_the_threads_stream);
  tcase_add_test(rules, wrong_requests_for_a_function_write_nothing);
  tcase_add_test(rules, names_of_calls_and_commands_are_those_of_hip_5);
  tcase_add_test(rules, the_first_valid_device_is_that_of_threads_without_one);
  tcase_add_test(rules, logging_turns_on_and_off_while_the_program_runs);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
