/* Kernels of native runtimes: loading, what a contract and a launch must satisfy, arguments, what can be asked. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "code/kernel.h"
#include "tests/unit/include/native.h"

static hrx_runtime *runtime;
static struct fixture code;
static const hrx_dimensions ONE = {1, 1, 1}, BLOCK = {64, 1, 1};

static void setup(void) {
  runtime = runtime_new(NULL);
  code = fixture_read("soft5_O2.co");
}

static void teardown(void) {
  free(code.bytes);
  hrx_runtime_release(runtime);
}

/* add(float *out, const float *a, const float *b, int count) */
static hrx_contract *add_contract(size_t bindings) {
  hrx_contract *contract = NULL;
  hrx_binding all[4] = {{.bytes = 256, .alignment = 4, .access = HRX_WRITE},
                        {.bytes = 256, .alignment = 4, .access = HRX_READ},
                        {.bytes = 256, .alignment = 4, .access = HRX_READ},
                        {.bytes = 256, .access = HRX_READ}};
  OK(hrx_contract_create(all, bindings, &contract));
  return contract;
}

static hrx_status load(const char *symbol, hrx_dimensions block, uint32_t lds, hrx_contract *contract, hrx_gpu_kernel **out_kernel) {
  return hrx_gpu_kernel_load(runtime, code.bytes, code.size, symbol, ONE, block, lds, contract, out_kernel);
}

START_TEST(a_kernel_says_what_it_is) {
  hrx_contract *contract = add_contract(3);
  OK(hrx_contract_push_i32(contract, 64));
  hrx_gpu_kernel *kernel = NULL;
  OK(load("add", BLOCK, 0, contract, &kernel));
  hrx_kernel_info info = {.size = sizeof info};
  OK(hrx_gpu_kernel_info(kernel, &info));
  ck_assert_str_eq(info.name, "add");
  ck_assert_str_eq(info.target, "gfx1030");
  ck_assert_uint_eq(info.constant_bytes, 4);
  ck_assert_uint_eq(info.binding_count, 3);
  ck_assert_uint_eq(info.parameter_count, 4);
  ck_assert_uint_eq(info.max_block, 1024);
  ck_assert_uint_gt(info.vgprs, 0);
  ck_assert_int_eq(info.verdict, HRX_ACCESS_NOT_ANALYSED);
  info = (hrx_kernel_info){.size = offsetof(hrx_kernel_info, binding_count), .binding_count = 77}; /* an older caller */
  OK(hrx_gpu_kernel_info(kernel, &info));
  ck_assert_uint_eq(info.binding_count, 77);
  FAILS(hrx_contract_push_u32(contract, 1), INVALID, LIVE); /* a kernel uses it */
  hrx_contract_release(contract);
  hrx_gpu_kernel_release(hrx_gpu_kernel_retain(kernel));
  hrx_gpu_kernel_release(kernel);
  hrx_gpu_kernel_release(NULL);
}
END_TEST

START_TEST(the_contract_must_fit_the_code) {
  hrx_gpu_kernel *kernel = NULL;
  for (size_t bindings = 2; bindings <= 4; bindings += 2) {
    hrx_contract *contract = add_contract(bindings);
    OK(hrx_contract_push_i32(contract, 64));
    FAILS(load("add", BLOCK, 0, contract, &kernel), INVALID, CONTRACT);
    OK(hrx_contract_push_i32(contract, 1)); /* a failed load does not seal it */
    hrx_contract_release(contract);
  }
  for (size_t bytes = 0; bytes <= 8; bytes++) {
    hrx_contract *contract = add_contract(3);
    OK(hrx_contract_constants(contract, "12345678", bytes));
    if (bytes == 4) {
      OK(load("add", BLOCK, 0, contract, &kernel));
      hrx_gpu_kernel_release(kernel);
      kernel = NULL;
    } else {
      FAILS(load("add", BLOCK, 0, contract, &kernel), INVALID, CONTRACT);
    }
    hrx_contract_release(contract);
  }
  ck_assert_ptr_null(kernel);
}
END_TEST

START_TEST(the_launch_must_fit_the_device) {
  hrx_contract *contract = add_contract(3);
  hrx_gpu_kernel *kernel = NULL;
  OK(hrx_contract_push_i32(contract, 64));
  FAILS(load("add", (hrx_dimensions){1025, 1, 1}, 0, contract, &kernel), INVALID, LAUNCH_GEOMETRY);
  FAILS(load("add", (hrx_dimensions){32, 33, 1}, 0, contract, &kernel), INVALID, LAUNCH_GEOMETRY);
  FAILS(load("add", (hrx_dimensions){UINT_MAX, UINT_MAX, UINT_MAX}, 0, contract, &kernel), INVALID, LAUNCH_GEOMETRY);
  FAILS(load("add", BLOCK, 1 << 20, contract, &kernel), INVALID, LAUNCH_GEOMETRY);
  FAILS(hrx_gpu_kernel_load(runtime, code.bytes, code.size, "add", (hrx_dimensions){1 << 30, 1, 1}, BLOCK, 0, contract, &kernel), INVALID,
        LAUNCH_GEOMETRY);
  OK(load("add", (hrx_dimensions){32, 32, 0}, 1024, contract, &kernel)); /* a zero axis is 1 */
  ck_assert_uint_eq(kernel->launch.grid[1], 32);
  ck_assert_uint_eq(kernel->launch.block[2], 1);
  hrx_gpu_kernel_release(kernel);
  hrx_contract_release(contract);
}
END_TEST

START_TEST(code_that_is_not_there_is_named) {
  hrx_contract *contract = add_contract(3);
  hrx_gpu_kernel *kernel = NULL;
  FAILS(load("subtract", BLOCK, 0, contract, &kernel), INVALID, NOT_FOUND);
  FAILS(hrx_gpu_kernel_load(runtime, "nothing", 7, "add", ONE, BLOCK, 0, contract, &kernel), INVALID, IMAGE);
  FAILS(hrx_gpu_kernel_load(runtime, NULL, 0, "add", ONE, BLOCK, 0, contract, &kernel), INVALID, ARGUMENT);
  FAILS(hrx_gpu_kernel_load_file(runtime, "/nonexistent/x.co", "add", ONE, BLOCK, 0, contract, &kernel), IO, FILE_NOT_FOUND);
  FAILS(hrx_gpu_kernel_load_file(runtime, "/", "add", ONE, BLOCK, 0, contract, &kernel), IO, NONE);
  struct fixture bundle = fixture_read("bundle.hipfb"), lacking = fixture_read("lacking.co");
  hrx_contract *one = add_contract(1);
  FAILS(hrx_gpu_kernel_load(runtime, lacking.bytes, lacking.size, "lacking_branch", ONE, BLOCK, 0, one, &kernel), UNSUPPORTED, INSTRUCTION);
  OK(hrx_gpu_kernel_load(runtime, bundle.bytes, bundle.size, "second", ONE, BLOCK, 0, one, &kernel)); /* of two targets */
  hrx_gpu_kernel_release(kernel);
  free(bundle.bytes);
  free(lacking.bytes);
  hrx_contract_release(one);
  hrx_contract_release(contract);
}
END_TEST

/* write_at(int *out, long index): 8 bytes; call_pointer(int *out, int which): 4. */
START_TEST(indices_take_the_width_of_their_argument) {
  hrx_contract *wide = add_contract(1), *narrow = add_contract(1), *large = add_contract(1);
  hrx_gpu_kernel *kernel = NULL;
  uint64_t five = 5, beyond = (uint64_t)1 << 32;
  OK(hrx_contract_push_indices(wide, &five, 1));
  OK(hrx_contract_push_indices(narrow, &five, 1));
  OK(hrx_contract_push_indices(large, &beyond, 1));
  OK(load("write_at", BLOCK, 0, wide, &kernel));
  ck_assert_uint_eq(kernel->constant_bytes, 8);
  ck_assert_mem_eq(kernel->constants, "\5\0\0\0\0\0\0\0", 8);
  hrx_gpu_kernel_release(kernel);
  OK(load("call_pointer", BLOCK, 0, narrow, &kernel));
  ck_assert_uint_eq(kernel->constant_bytes, 4);
  ck_assert_mem_eq(kernel->constants, "\5\0\0\0", 4);
  hrx_gpu_kernel_release(kernel);
  FAILS(load("call_pointer", BLOCK, 0, large, &kernel), INVALID, CONTRACT);
  OK(load("write_at", BLOCK, 0, large, &kernel));
  hrx_gpu_kernel_release(kernel);
  hrx_contract_release(wide);
  hrx_contract_release(narrow);
  hrx_contract_release(large);
}
END_TEST

START_TEST(arguments_lie_where_the_code_looks) {
  struct kernel_argument arguments[] = {{.offset = 0, .bytes = 2, .kind = ARGUMENT_BY_VALUE},
                                        {.offset = 8, .bytes = 8, .kind = ARGUMENT_GLOBAL_BUFFER},
                                        {.offset = 16, .bytes = 4, .kind = ARGUMENT_BY_VALUE}};
  struct kernel_code of = {.name = (char *)"kernel", .arguments = arguments, .argument_count = 3, .explicit_count = 3, .explicit_bytes = 20};
  uintptr_t address = 0x1122334455667788;
  uint8_t segment[20];
  memset(segment, 0xff, sizeof segment);
  OK(kernel_arguments_write(&of, &address, 1, "abcdef", 6, segment));
  ck_assert_mem_eq(segment, "ab\0\0\0\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11" "cdef", 20);
  FAILS(kernel_arguments_write(&of, &address, 0, "abcdef", 6, segment), INVALID, CONTRACT);
  FAILS(kernel_arguments_write(&of, &address, 1, "abcdef", 5, segment), INVALID, CONTRACT);
  FAILS(kernel_arguments_write(&of, &address, 1, NULL, 6, segment), INVALID, CONTRACT);
}
END_TEST

START_TEST(an_adopted_kernel_shares_its_code) {
  hrx_runtime *other = runtime_new(NULL);
  hrx_stream *stream = NULL;
  hrx_stream_kernel *raw = NULL;
  hrx_gpu_kernel *kernel = NULL;
  hrx_contract *contract = add_contract(3);
  OK(hrx_contract_push_i32(contract, 64));
  OK(hrx_stream_open(runtime, &stream));
  OK(hrx_stream_kernel_load(stream, code.bytes, code.size, "add", &raw));
  FAILS(hrx_gpu_kernel_adopt(other, raw, ONE, BLOCK, 0, contract, &kernel), INVALID, FOREIGN);
  struct memory_statistics before, after;
  memory_statistics(runtime->domain->memory, &before);
  OK(hrx_gpu_kernel_adopt(runtime, raw, ONE, BLOCK, 0, contract, &kernel));
  memory_statistics(runtime->domain->memory, &after);
  ck_assert_ptr_eq(kernel->code, raw->code);
  ck_assert_uint_eq(after.used, before.used); /* no second image */
  hrx_kernel_info info = {.size = sizeof info};
  OK(hrx_stream_kernel_info(raw, &info));
  ck_assert_uint_eq(info.binding_count, 3);
  hrx_stream_kernel_release(raw);
  hrx_stream_close(stream);
  OK(hrx_gpu_kernel_info(kernel, &info));
  hrx_gpu_kernel_release(kernel);
  hrx_contract_release(contract);
  hrx_runtime_release(other);
}
END_TEST

/* --- NPU kernels --- */

static void npu_path(const char *name, char *out_path, size_t capacity) {
  ssize_t length = readlink("/proc/self/exe", out_path, capacity - 1);
  ck_assert_int_gt(length, 0);
  out_path[length] = '\0';
  for (int i = 0; i < 3; i++) *strrchr(out_path, '/') = '\0';
  size_t used = strlen(out_path);
  snprintf(out_path + used, capacity - used, "/lib/npu/%s", name);
}

START_TEST(npu_kernels_must_fit_their_contract) {
  char path[PATH_MAX];
  hrx_npu *npu = NULL;
  hrx_npu_kernel *kernel = NULL;
  hrx_contract *contract = NULL, *wrong = NULL;
  npu_path("copy.so", path, sizeof path);
  hrx_binding bindings[2] = {{.bytes = 4096, .alignment = 64, .access = HRX_WRITE}, {.bytes = 4096, .alignment = 64, .access = HRX_READ}};
  OK(hrx_runtime_npu(runtime, 0, &npu));
  ck_assert_str_ne(hrx_npu_name(npu), "");
  OK(hrx_contract_create(bindings, 2, &contract));
  OK(hrx_npu_kernel_load_file(npu, path, "copy", 4, contract, &kernel));
  hrx_npu_kernel_release(hrx_npu_kernel_retain(kernel));
  hrx_npu_kernel_release(kernel);
  FAILS(hrx_npu_kernel_load_file(npu, path, "copy", 9, contract, &kernel), INVALID, ARGUMENT);
  FAILS(hrx_npu_kernel_load_file(npu, path, "move", 4, contract, &kernel), INVALID, NOT_FOUND);
  FAILS(hrx_npu_kernel_load_file(npu, "/nonexistent.so", "copy", 4, contract, &kernel), IO, FILE_NOT_FOUND);
  FAILS(hrx_npu_kernel_load(npu, "nothing", 7, "copy", 4, contract, &kernel), INVALID, IMAGE);
  bindings[0].access = HRX_READ; /* the program writes it */
  OK(hrx_contract_create(bindings, 2, &wrong));
  FAILS(hrx_npu_kernel_load_file(npu, path, "copy", 4, wrong, &kernel), INVALID, CONTRACT);
  hrx_contract_release(wrong);
  OK(hrx_contract_create(bindings, 1, &wrong));
  FAILS(hrx_npu_kernel_load_file(npu, path, "copy", 4, wrong, &kernel), INVALID, CONTRACT);
  hrx_contract_release(wrong);
  bindings[0].access = HRX_WRITE;
  OK(hrx_contract_create(bindings, 2, &wrong));
  OK(hrx_contract_push_u32(wrong, 1)); /* it takes no constants */
  FAILS(hrx_npu_kernel_load_file(npu, path, "copy", 4, wrong, &kernel), INVALID, CONTRACT);
  hrx_contract_release(wrong);
  hrx_contract_release(contract);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native_kernel");
  TCase *tests = tcase_create("native_kernel");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_kernel_says_what_it_is);
  tcase_add_test(tests, the_contract_must_fit_the_code);
  tcase_add_test(tests, the_launch_must_fit_the_device);
  tcase_add_test(tests, code_that_is_not_there_is_named);
  tcase_add_test(tests, indices_take_the_width_of_their_argument);
  tcase_add_test(tests, arguments_lie_where_the_code_looks);
  tcase_add_test(tests, an_adopted_kernel_shares_its_code);
  tcase_add_test(tests, npu_kernels_must_fit_their_contract);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
