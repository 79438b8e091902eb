/* Libraries and their kernels; counting the functions of a module. Both code object versions. */
#include "tests/unit/hip_use.h"

#include <fcntl.h>
#include <unistd.h>

static const char *const names[] = {"store", "mixed", "with_lds", "read_variables", "grids_meet"};
enum { KERNELS = 5 };

static hipLibrary_t library_new(int which) {
  struct fixture object = fixture_read(hip_objects[which]);
  hipLibrary_t library = NULL;
  OK(entry_hipLibraryLoadData(&library, object.bytes, NULL, NULL, 0, NULL, NULL, 0));
  memset(object.bytes, 0xcc, object.size); /* the library has its own copy */
  free(object.bytes);
  return library;
}

START_TEST(kernels_are_counted_listed_and_named) {
  hipLibrary_t library = library_new(_i), owner = NULL;
  hipKernel_t kernels[KERNELS + 1] = {NULL}, found = NULL;
  unsigned count = 0, seen = 0;
  OK(entry_hipLibraryGetKernelCount(&count, library));
  ck_assert_uint_eq(count, KERNELS);
  OK(entry_hipLibraryEnumerateKernels(kernels, 0, library));
  ck_assert_ptr_null(kernels[0]);
  OK(entry_hipLibraryEnumerateKernels(kernels, 2, library));
  ck_assert_ptr_null(kernels[2]);
  OK(entry_hipLibraryEnumerateKernels(kernels, KERNELS + 1, library));
  ck_assert_ptr_null(kernels[KERNELS]);
  for (int i = 0; i < KERNELS; i++) {
    const char *name = NULL;
    OK(entry_hipKernelGetName(&name, kernels[i]));
    for (unsigned n = 0; n < KERNELS; n++)
      if (strcmp(name, names[n]) == 0) seen |= 1u << n;
    OK(entry_hipKernelGetLibrary(&owner, kernels[i]));
    ck_assert_ptr_eq(owner, library);
    OK(entry_hipLibraryGetKernel(&found, library, name));
    ck_assert_ptr_eq(found, kernels[i]);
  }
  ck_assert_uint_eq(seen, (1u << KERNELS) - 1);
  OK(entry_hipLibraryUnload(library));
  const char *name = NULL;
  FAILS(entry_hipKernelGetName(&name, found), hipErrorInvalidHandle);
  FAILS(entry_hipLibraryGetKernelCount(&count, library), hipErrorInvalidHandle);
}
END_TEST

START_TEST(a_kernel_runs_on_each_device) {
  hipLibrary_t library = library_new(_i);
  hipKernel_t kernel = NULL;
  hipFunction_t function = NULL, first = NULL;
  int *out = host_new(64 * sizeof *out), value = 3;
  void *arguments[] = {&out, &value};
  OK(entry_hipLibraryGetKernel(&kernel, library, "store"));
  for (int device = 0; device < HIP_DEVICES; device++, value += 10) {
    OK(entry_hipSetDevice(device));
    OK(entry_hipKernelGetFunction(&function, kernel));
    if (device == 0) first = function;
    else ck_assert_ptr_ne(function, first);
    OK(entry_hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    OK(entry_hipDeviceSynchronize());
    for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], value + i);
  }
  OK(entry_hipSetDevice(0));
  /* a kernel is a function too */
  OK(entry_hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
  OK(entry_hipDeviceSynchronize());
  ck_assert_int_eq(out[0], value);
  OK(entry_hipLibraryUnload(library));
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(arguments_are_where_the_code_object_says) {
  static const size_t offsets[] = {0, 8, 16, 24}, sizes[] = {8, 1, 8, 2};
  hipLibrary_t library = library_new(_i);
  hipKernel_t kernel = NULL;
  OK(entry_hipLibraryGetKernel(&kernel, library, "mixed"));
  size_t offset = 0, bytes = 0;
  for (size_t i = 0; i < 4; i++) {
    OK(entry_hipKernelGetParamInfo(kernel, i, &offset, &bytes));
    ck_assert_uint_eq(offset, offsets[i]);
    ck_assert_uint_eq(bytes, sizes[i]);
    OK(entry_hipKernelGetParamInfo(kernel, i, &offset, NULL));
  }
  offset = 77;
  FAILS(entry_hipKernelGetParamInfo(kernel, 4, &offset, &bytes), hipErrorInvalidValue); /* hidden ones are not the program's */
  FAILS(entry_hipKernelGetParamInfo(kernel, SIZE_MAX, &offset, &bytes), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetParamInfo(kernel, 0, NULL, &bytes), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetParamInfo(NULL, 0, &offset, &bytes), hipErrorInvalidValue);
  ck_assert_uint_eq(offset, 77);
  OK(entry_hipLibraryUnload(library));
}
END_TEST

START_TEST(attributes_are_those_of_the_function_on_the_device) {
  hipLibrary_t library = library_new(_i);
  hipKernel_t kernel = NULL;
  hipFunction_t function = NULL;
  int value = 0, same = 0;
  OK(entry_hipLibraryGetKernel(&kernel, library, "with_lds"));
  OK(entry_hipKernelGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 0));
  ck_assert_int_eq(value, 1024);
  OK(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096, kernel, 1));
  OK(entry_hipKernelGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
  ck_assert_int_eq(value, 4096);
  OK(entry_hipKernelGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
  OK(entry_hipKernelGetFunction(&function, kernel));
  OK(entry_hipFuncGetAttribute(&same, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  ck_assert_int_eq(value, same);
  ck_assert_int_eq(value, 65536 - 1024);
  OK(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, kernel, 0));
  OK(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536 - 1024, kernel, 0));
  FAILS(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536 - 1023, kernel, 0), hipErrorInvalidValue);
  FAILS(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_NUM_REGS, 8, kernel, 0), hipErrorInvalidValue);
  FAILS(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, kernel, HIP_DEVICES), hipErrorInvalidDevice);
  FAILS(entry_hipKernelSetAttribute(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, NULL, 0), hipErrorInvalidValue);
  value = 77;
  FAILS(entry_hipKernelGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, kernel, -1), hipErrorInvalidDevice);
  FAILS(entry_hipKernelGetAttribute(&value, (hipFunction_attribute)99, kernel, 0), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, NULL, 0), hipErrorInvalidHandle);
  FAILS(entry_hipKernelGetAttribute(NULL, HIP_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0), hipErrorInvalidValue);
  ck_assert_int_eq(value, 77);
  OK(entry_hipLibraryUnload(library));
}
END_TEST

START_TEST(variables_are_found_and_managed_ones_usable) {
  hipLibrary_t library = library_new(_i);
  hipKernel_t kernel = NULL;
  void *number = NULL;
  int *managed = NULL, *out = host_new(8), value = 0;
  size_t bytes = 0;
  void *arguments[] = {&out};
  OK(entry_hipLibraryGetGlobal(&number, &bytes, library, "number"));
  ck_assert_uint_eq(bytes, 4);
  OK(entry_hipLibraryGetManaged((void **)&managed, &bytes, library, "shared_number"));
  ck_assert_uint_eq(bytes, 4);
  ck_assert_int_eq(*managed, 5);
  *managed = 40;
  OK(entry_hipLibraryGetKernel(&kernel, library, "read_variables"));
  OK(entry_hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
  OK(entry_hipDeviceSynchronize());
  ck_assert_int_eq(out[0], 7);
  ck_assert_int_eq(out[1], 40);
  ck_assert_int_eq(*managed, 41);
  OK(entry_hipMemcpyDtoH(&value, number, 4));
  ck_assert_int_eq(value, 8);
  OK(entry_hipLibraryGetGlobal(NULL, &bytes, library, "number"));
  void *untouched = library;
  FAILS(entry_hipLibraryGetGlobal(&untouched, &bytes, library, "absent"), hipErrorNotFound);
  FAILS(entry_hipLibraryGetGlobal(&untouched, &bytes, library, ""), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetGlobal(&untouched, &bytes, library, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetGlobal(NULL, NULL, library, "number"), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetGlobal(&untouched, &bytes, NULL, "number"), hipErrorInvalidHandle);
  FAILS(entry_hipLibraryGetManaged(&untouched, &bytes, library, "number"), hipErrorNotFound); /* is not managed */
  FAILS(entry_hipLibraryGetManaged(&untouched, &bytes, NULL, "shared_number"), hipErrorInvalidHandle);
  ck_assert_ptr_eq(untouched, library);
  OK(entry_hipLibraryUnload(library));
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(wrong_libraries_and_kernels_are_told_apart) {
  hipLibrary_t library = library_new(0), untouched = library;
  hipKernel_t kernel = NULL, missing = NULL;
  hipFunction_t function = NULL;
  hipModule_t module = NULL;
  unsigned count = 77;
  const char *name = NULL;
  struct fixture object = fixture_read(hip_objects[0]);
  OK(entry_hipLibraryGetKernel(&kernel, library, "store"));
  FAILS(entry_hipLibraryLoadData(NULL, object.bytes, NULL, NULL, 0, NULL, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipLibraryLoadData(&untouched, NULL, NULL, NULL, 0, NULL, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipLibraryLoadData(&untouched, object.bytes, NULL, NULL, 1, NULL, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipLibraryLoadData(&untouched, "this is no code object, nor a bundle of them, as far as anybody can see", NULL, NULL, 0,
                                 NULL, NULL, 0), hipErrorInvalidImage);
  FAILS(entry_hipLibraryLoadFromFile(&untouched, "/nowhere/at.all", NULL, NULL, 0, NULL, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipLibraryLoadFromFile(&untouched, NULL, NULL, NULL, 0, NULL, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipLibraryLoadFromFile(NULL, "/dev/null", NULL, NULL, 0, NULL, NULL, 0), hipErrorInvalidValue);
  ck_assert_ptr_eq(untouched, library);
  FAILS(entry_hipLibraryUnload(NULL), hipErrorInvalidHandle);
  FAILS(entry_hipLibraryUnload((hipLibrary_t)object.bytes), hipErrorInvalidHandle);
  FAILS(entry_hipLibraryGetKernelCount(NULL, library), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetKernelCount(&count, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetKernel(&missing, library, "absent"), hipErrorNotFound);
  FAILS(entry_hipLibraryGetKernel(NULL, library, "store"), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetKernel(&missing, NULL, "store"), hipErrorInvalidValue);
  FAILS(entry_hipLibraryGetKernel(&missing, library, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLibraryEnumerateKernels(NULL, 1, library), hipErrorInvalidValue);
  FAILS(entry_hipLibraryEnumerateKernels(&missing, 1, NULL), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetName(NULL, kernel), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetName(&name, NULL), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetLibrary(NULL, kernel), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetLibrary(&untouched, NULL), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetFunction(NULL, kernel), hipErrorInvalidValue);
  FAILS(entry_hipKernelGetFunction(&function, NULL), hipErrorInvalidValue);
  /* a module's function is no library's kernel */
  OK(entry_hipModuleLoadData(&module, object.bytes));
  OK(entry_hipModuleGetFunction(&function, module, "store"));
  FAILS(entry_hipKernelGetLibrary(&untouched, function), hipErrorInvalidHandle);
  FAILS(entry_hipKernelGetName(&name, function), hipErrorInvalidHandle);
  ck_assert_ptr_null(missing);
  ck_assert_ptr_null(name);
  ck_assert_uint_eq(count, 77);
  FAILS(entry_hipModuleGetFunctionCount(NULL, module), hipErrorInvalidValue);
  FAILS(entry_hipModuleGetFunctionCount(&count, NULL), hipErrorInvalidHandle);
  OK(entry_hipModuleGetFunctionCount(&count, module));
  ck_assert_uint_eq(count, KERNELS);
  OK(entry_hipModuleUnload(module));
  FAILS(entry_hipModuleGetFunctionCount(&count, module), hipErrorInvalidHandle);
  OK(entry_hipLibraryUnload(library));
  free(object.bytes);
}
END_TEST

/* From a file; and loading and unloading leaves nothing behind. */
START_TEST(a_library_comes_from_a_file_and_goes_without_trace) {
  struct fixture object = fixture_read(hip_objects[1]);
  char path[] = "/tmp/hip_library.XXXXXX";
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  ck_assert_int_eq(write(descriptor, object.bytes, object.size), (ssize_t)object.size);
  close(descriptor);
  size_t before = 0, after = 0, total = 0;
  for (int round = 0; round < 20; round++) {
    hipLibrary_t library = NULL;
    hipKernel_t kernel = NULL;
    if (round == 1) OK(entry_hipMemGetInfo(&before, &total));
    OK(entry_hipLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(entry_hipLibraryGetKernel(&kernel, library, "mixed"));
    OK(entry_hipLibraryUnload(library));
  }
  OK(entry_hipMemGetInfo(&after, &total));
  ck_assert_uint_eq(before, after);
  unlink(path);
  free(object.bytes);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_library");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_loop_test(rules, kernels_are_counted_listed_and_named, 0, HIP_OBJECTS);
  tcase_add_loop_test(rules, a_kernel_runs_on_each_device, 0, HIP_OBJECTS);
  tcase_add_loop_test(rules, arguments_are_where_the_code_object_says, 0, HIP_OBJECTS);
  tcase_add_loop_test(rules, attributes_are_those_of_the_function_on_the_device, 0, HIP_OBJECTS);
  tcase_add_loop_test(rules, variables_are_found_and_managed_ones_usable, 0, HIP_OBJECTS);
  tcase_add_test(rules, wrong_libraries_and_kernels_are_told_apart);
  tcase_add_test(rules, a_library_comes_from_a_file_and_goes_without_trace);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
