/* The layouts of hipDeviceProp_t that programs were compiled with, and that nothing is written behind them. */
#include "interpose/properties.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"

START_TEST(the_old_layout_has_its_size_and_offsets) {
  ck_assert_uint_eq(sizeof(hipDeviceProp_t), 792);
  ck_assert_uint_eq(offsetof(hipDeviceProp_t, totalGlobalMem), 256);
  ck_assert_uint_eq(offsetof(hipDeviceProp_t, warpSize), 276);
  ck_assert_uint_eq(offsetof(hipDeviceProp_t, gcnArchName), 396);
}
END_TEST

START_TEST(the_layout_of_hip_6_has_its_size_and_offsets) {
  ck_assert_uint_eq(sizeof(hipDeviceProp_tR0600), 1472);
  ck_assert_uint_eq(offsetof(hipDeviceProp_tR0600, totalGlobalMem), 288);
  ck_assert_uint_eq(offsetof(hipDeviceProp_tR0600, warpSize), 308);
  ck_assert_uint_eq(offsetof(hipDeviceProp_tR0600, multiProcessorCount), 388);
  ck_assert_uint_eq(offsetof(hipDeviceProp_tR0600, gcnArchName), 1160);
}
END_TEST

START_TEST(nothing_is_written_behind_either_layout) {
  struct { hipDeviceProp_t properties; unsigned char canary[64]; } old;
  struct { hipDeviceProp_tR0600 properties; unsigned char canary[64]; } new;
  memset(&old, 0xa5, sizeof old);
  memset(&new, 0xa5, sizeof new);
  ck_assert_int_eq(entry_hipGetDeviceProperties(&old.properties, 0), hipSuccess);
  ck_assert_int_eq(entry_hipGetDevicePropertiesR0600(&new.properties, 0), hipSuccess);
  for (int i = 0; i < 64; i++) {
    ck_assert_uint_eq(old.canary[i], 0xa5);
    ck_assert_uint_eq(new.canary[i], 0xa5);
  }
  ck_assert_str_eq(old.properties.gcnArchName, new.properties.gcnArchName);
  ck_assert_int_eq(old.properties.warpSize, 32);
  ck_assert_int_eq(new.properties.warpSize, 32);
  ck_assert_int_eq(new.properties.major, 10);
  ck_assert_int_eq(new.properties.minor, 3);
  ck_assert_int_eq(old.properties.gcnArch, 1030);
}
END_TEST

START_TEST(attributes_say_what_the_structure_says) {
  hipDeviceProp_tR0600 properties;
  int value = -1;
  ck_assert_int_eq(entry_hipGetDevicePropertiesR0600(&properties, 0), hipSuccess);
  ck_assert_int_eq(entry_hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0), hipSuccess);
  ck_assert_int_eq(value, properties.warpSize);
  ck_assert_int_eq(entry_hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0), hipSuccess);
  ck_assert_int_eq(value, properties.multiProcessorCount);
  value = -1;
  ck_assert_int_eq(entry_hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)5555, 0), hipErrorInvalidValue);
  ck_assert_int_eq(value, -1);
  ck_assert_int_eq(entry_hipDeviceGetAttribute(NULL, hipDeviceAttributeWarpSize, 0), hipErrorInvalidValue);
}
END_TEST

START_TEST(a_device_that_is_not_there_is_an_error) {
  hipDeviceProp_t properties;
  ck_assert_int_eq(entry_hipGetDeviceProperties(&properties, 99), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipGetDeviceProperties(NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipSetDevice(-1), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipSetDevice(0), hipSuccess);
}
END_TEST

int main(void) {
  setenv("HRX_SOFT_ARCH", "gfx1030", 1);
  setenv("HRX_SOFT_DEVICES", "1", 1);
  Suite *suite = suite_create("device_properties");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, the_old_layout_has_its_size_and_offsets);
  tcase_add_test(rules, the_layout_of_hip_6_has_its_size_and_offsets);
  tcase_add_test(rules, nothing_is_written_behind_either_layout);
  tcase_add_test(rules, attributes_say_what_the_structure_says);
  tcase_add_test(rules, a_device_that_is_not_there_is_an_error);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
