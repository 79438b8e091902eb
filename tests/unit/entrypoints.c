/* The list of entry points against the names that the real libraries export. */
#include "interpose/entrypoints.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/table.h"

struct export {
  const char *name, *node[3];
};

static const struct export exports[] = {
#define HIP_EXPORT(name, node5, node6, node7) {#name, {node5, node6, node7}},
#include "hip_exports.def"
#undef HIP_EXPORT
};

enum { EXPORTS = sizeof exports / sizeof *exports };

static unsigned rows_named(const char *name) {
  unsigned found = 0;
  for (unsigned i = 0; i < entry_count(); i++) found += strcmp(entry_name(i), name) == 0;
  return found;
}

START_TEST(every_export_has_one_row_with_its_nodes) {
  for (unsigned e = 0; e < EXPORTS; e++) {
    ck_assert_msg(rows_named(exports[e].name) == 1, "%s has %u rows", exports[e].name, rows_named(exports[e].name));
    unsigned row = (unsigned)entry_find(exports[e].name);
    for (int major = 5; major <= 7; major++)
      ck_assert_msg(strcmp(entry_node(row, major), exports[e].node[major - 5]) == 0, "%s has node %s in HIP %d, not %s",
                    exports[e].name, entry_node(row, major), major, exports[e].node[major - 5]);
  }
}
END_TEST

START_TEST(every_row_is_reachable_and_described) {
  for (unsigned i = 0; i < entry_count(); i++) {
    ck_assert_ptr_nonnull(hrx_hip_entries[i]);
    ck_assert_int_eq(entry_find(entry_name(i)), (int)i);
    ck_assert_uint_gt(strlen(entry_group(i)), 0);
    ck_assert_uint_gt(strlen(entry_policy_name(i)), 0);
  }
}
END_TEST

START_TEST(mangled_names_lead_to_their_rows) {
  int row = entry_find("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
  ck_assert_int_eq(row, ENTRY_hipExtModuleLaunchKernel);
  ck_assert_int_eq(entry_find("hipNoSuchFunction"), -1);
}
END_TEST

START_TEST(a_refused_function_fails_and_sets_the_last_error) {
  unsigned row = (unsigned)entry_find("hipGLGetDevices");
  ck_assert_str_eq(entry_policy_name(row), "refused");
  hipError_t (*call)(void) = (hipError_t(*)(void))hrx_hip_entries[row];
  ck_assert_int_eq(call(), hipErrorNotSupported);
  ck_assert_int_eq(entry_hipGetLastError(), hipErrorNotSupported);
  ck_assert_int_eq(entry_hipGetLastError(), hipSuccess);
}
END_TEST

/* Every function that two or more public programs import is handled. */
START_TEST(what_programs_use_is_not_refused) {
  static const char *const used[] = {
    "hipFree", "__hipPopCallConfiguration", "__hipRegisterFatBinary", "__hipUnregisterFatBinary", "__hipRegisterFunction",
    "hipLaunchKernel", "__hipPushCallConfiguration", "hipMalloc", "hipMemcpy", "hipDeviceSynchronize", "hipGetErrorString",
    "hipGetDeviceProperties", "hipMemset", "hipGetLastError", "hipHostMalloc", "hipMemcpyAsync", "hipHostFree",
    "hipSetDevice", "hipDeviceGetAttribute", "hipHostGetDevicePointer", "hipModuleGetFunction", "hipGetDeviceCount",
    "hipModuleLaunchKernel", "__hipRegisterVar", "hipModuleLoad", "hipMemcpyToSymbol", "hipDeviceGet", "hipInit",
    "hipMemcpyDtoH", "hipMemsetAsync", "hipCtxCreate", "hipCtxDestroy", "hipPeekAtLastError", "hipMemcpyHtoD",
    "hipModuleUnload", "hipGetDevice", "hipDeviceReset", "hipCreateChannelDesc", "hipMallocManaged",
    "hipDeviceCanAccessPeer", "hipCreateTextureObject", "hipDestroyTextureObject", "hipModuleLoadData", "hipMemGetInfo",
    "hipFreeArray", "hipMallocArray", "hipDeviceEnablePeerAccess", "hipDeviceDisablePeerAccess", "hipMemcpy2DToArray",
    "hipOccupancyMaxActiveBlocksPerMultiprocessor", "hipOccupancyMaxPotentialBlockSize", "__hipRegisterManagedVar",
    "hipMallocHost"};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++)
    ck_assert_msg(strcmp(entry_policy_name((unsigned)entry_find(used[i])), "handled") == 0, "%s is not handled", used[i]);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("entrypoints");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, every_export_has_one_row_with_its_nodes);
  tcase_add_test(rules, every_row_is_reachable_and_described);
  tcase_add_test(rules, mangled_names_lead_to_their_rows);
  tcase_add_test(rules, a_refused_function_fails_and_sets_the_last_error);
  tcase_add_test(rules, what_programs_use_is_not_refused);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
