/* Bitcode from hiprtc and linking it, under both names. */
#include "tests/unit/hip_use.h"

static const char user[] = "extern \"C\" __device__ int scaled(int);\n"
                           "extern \"C\" __global__ void fill(int *out) { out[threadIdx.x] = scaled((int)threadIdx.x); }\n";
static const char library[] = "#include \"factor.h\"\nextern \"C\" __device__ int scaled(int x) { return x * FACTOR; }\n";

struct bitcode {
  char *bytes;
  size_t size;
};

static struct bitcode compile(const char *source, hiprtcResult wanted) {
  const char *headers[] = {"#define FACTOR 3\n"}, *names[] = {"factor.h"}, *options[] = {"-fgpu-rdc", "--offload-arch=gfx1030"};
  hiprtcProgram program = NULL;
  struct bitcode made = {NULL, 0};
  size_t size = 77;
  ck_assert_int_eq(entry_hiprtcCreateProgram(&program, source, "some.hip", 1, headers, names), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcGetBitcodeSize(program, &size), HIPRTC_ERROR_INVALID_PROGRAM);
  ck_assert_uint_eq(size, 77);
  hiprtcResult result = entry_hiprtcCompileProgram(program, 2, options);
  ck_assert_int_eq(result, wanted);
  ck_assert_int_eq(entry_hiprtcGetProgramLogSize(program, &size), HIPRTC_SUCCESS);
  char *log = calloc(size + 1, 1);
  ck_assert_int_eq(entry_hiprtcGetProgramLog(program, log), HIPRTC_SUCCESS);
  if (wanted == HIPRTC_SUCCESS) {
    ck_assert_int_eq(entry_hiprtcGetBitcodeSize(program, &made.size), HIPRTC_SUCCESS);
    ck_assert_int_eq(entry_hiprtcGetBitcodeSize(program, NULL), HIPRTC_ERROR_INVALID_INPUT);
    ck_assert_int_eq(entry_hiprtcGetBitcode(program, NULL), HIPRTC_ERROR_INVALID_INPUT);
    made.bytes = malloc(made.size);
    ck_assert_int_eq(entry_hiprtcGetBitcode(program, made.bytes), HIPRTC_SUCCESS);
    ck_assert_int_eq(memcmp(made.bytes, "BC", 2), 0);
    ck_assert_int_eq(entry_hiprtcGetCodeSize(program, &size), HIPRTC_ERROR_INVALID_PROGRAM);
  } else {
    ck_assert_ptr_nonnull(strstr(log, "error"));
    ck_assert_int_eq(entry_hiprtcGetBitcodeSize(program, &size), HIPRTC_ERROR_INVALID_PROGRAM);
  }
  free(log);
  ck_assert_int_eq(entry_hiprtcDestroyProgram(&program), HIPRTC_SUCCESS);
  return made;
}

static void run_linked(const void *code) {
  hipModule_t module = NULL;
  hipFunction_t function = NULL;
  int *out = host_new(64 * sizeof *out);
  void *arguments[] = {&out};
  OK(entry_hipModuleLoadData(&module, code));
  OK(entry_hipModuleGetFunction(&function, module, "fill"));
  OK(entry_hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
  OK(entry_hipDeviceSynchronize());
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], 3 * i);
  OK(entry_hipModuleUnload(module));
  OK(entry_hipHostFree(out));
}

START_TEST(bitcode_of_two_sources_is_linked_and_runs) {
  struct bitcode one = compile(user, HIPRTC_SUCCESS), two = compile(library, HIPRTC_SUCCESS);
  hipLinkState_t state = NULL, other = NULL;
  void *code = NULL, *same = NULL;
  size_t size = 0;
  ck_assert_int_eq(entry_hiprtcLinkCreate(0, NULL, NULL, &state), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcLinkAddData(state, JIT_INPUT_LLVM_BITCODE, one.bytes, one.size, "one", 0, NULL, NULL), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcLinkAddData(state, JIT_INPUT_LLVM_BITCODE, two.bytes, two.size, NULL, 0, NULL, NULL), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcLinkComplete(state, &code, &size), HIPRTC_SUCCESS);
  ck_assert_uint_gt(size, 0);
  run_linked(code);
  ck_assert_int_eq(entry_hiprtcLinkComplete(state, &same, NULL), HIPRTC_SUCCESS);
  ck_assert_ptr_eq(same, code);
  ck_assert_int_eq(entry_hiprtcLinkDestroy(state), HIPRTC_SUCCESS);
  OK(entry_hipLinkCreate(0, NULL, NULL, &other));
  OK(entry_hipLinkAddData(other, JIT_INPUT_LLVM_BITCODE, two.bytes, two.size, "two", 0, NULL, NULL));
  OK(entry_hipLinkAddData(other, JIT_INPUT_LLVM_BITCODE, one.bytes, one.size, "one", 0, NULL, NULL));
  OK(entry_hipLinkComplete(other, &code, &size));
  run_linked(code);
  OK(entry_hipLinkDestroy(other));
  /* something is missing */
  ck_assert_int_eq(entry_hiprtcLinkCreate(0, NULL, NULL, &state), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcLinkAddData(state, JIT_INPUT_LLVM_BITCODE, one.bytes, one.size, "one", 0, NULL, NULL), HIPRTC_SUCCESS);
  ck_assert_int_eq(entry_hiprtcLinkComplete(state, &code, &size), 100);
  ck_assert_int_eq(entry_hiprtcLinkDestroy(state), HIPRTC_SUCCESS);
  free(one.bytes);
  free(two.bytes);
}
END_TEST

START_TEST(a_wrong_source_leaves_a_log) { compile("this is no HIP", HIPRTC_ERROR_COMPILATION); }
END_TEST

START_TEST(wrong_requests_to_link_do_nothing) {
  hipLinkState_t state = NULL;
  char byte = 'B';
  void *code = &byte;
  FAILS(entry_hipLinkCreate(0, NULL, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkCreate(1, NULL, NULL, &state), hipErrorInvalidValue);
  ck_assert_ptr_null(state);
  OK(entry_hipLinkCreate(0, NULL, NULL, &state));
  FAILS(entry_hipLinkAddData(state, JIT_INPUT_LLVM_BITCODE, NULL, 1, NULL, 0, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkAddData(state, JIT_INPUT_LLVM_BITCODE, &byte, 0, NULL, 0, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkAddData(state, 1, &byte, 1, NULL, 0, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkAddData(state, JIT_INPUT_LLVM_ARCHIVE_OF_BUNDLED_BITCODE, &byte, 1, NULL, 0, NULL, NULL), hipErrorNotSupported);
  FAILS(entry_hipLinkAddData(state, JIT_INPUT_LLVM_BUNDLED_BITCODE, &byte, 1, NULL, 0, NULL, NULL), hipErrorInvalidImage);
  FAILS(entry_hipLinkAddFile(state, JIT_INPUT_LLVM_BITCODE, NULL, 0, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkAddFile(state, JIT_INPUT_LLVM_BITCODE, "/nowhere/at.bc", 0, NULL, NULL), hipErrorFileNotFound);
  FAILS(entry_hipLinkComplete(state, NULL, NULL), hipErrorInvalidValue);
  FAILS(entry_hipLinkComplete(state, &code, NULL), hipErrorInvalidValue); /* nothing was added */
  OK(entry_hipLinkDestroy(state));
  FAILS(entry_hipLinkDestroy(state), hipErrorInvalidHandle);
  FAILS(entry_hipLinkComplete(state, &code, NULL), hipErrorInvalidHandle);
  FAILS(entry_hipLinkAddData(state, JIT_INPUT_LLVM_BITCODE, &byte, 1, NULL, 0, NULL, NULL), hipErrorInvalidHandle);
  ck_assert_int_eq(entry_hiprtcLinkCreate(0, NULL, NULL, NULL), HIPRTC_ERROR_INVALID_INPUT);
  ck_assert_int_eq(entry_hiprtcLinkDestroy(NULL), HIPRTC_ERROR_INVALID_INPUT);
  ck_assert_int_eq(entry_hiprtcLinkComplete(NULL, &code, NULL), HIPRTC_ERROR_INVALID_INPUT);
  ck_assert_int_eq(entry_hiprtcLinkAddFile(state, JIT_INPUT_LLVM_BITCODE, "/nowhere/at.bc", 0, NULL, NULL), HIPRTC_ERROR_INVALID_INPUT);
  ck_assert_ptr_eq(code, &byte);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_link");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_test(rules, bitcode_of_two_sources_is_linked_and_runs);
  tcase_add_test(rules, a_wrong_source_leaves_a_log);
  tcase_add_test(rules, wrong_requests_to_link_do_nothing);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
