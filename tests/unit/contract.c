/* Contracts: what they refuse, constants, JSON, and views held against them. */
#include <limits.h>

#include "tests/unit/include/native.h"

static hrx_runtime *runtime;

static void setup(void) { runtime = runtime_new(NULL); }
static void teardown(void) { hrx_runtime_release(runtime); }

START_TEST(bindings_are_checked_and_copied) {
  hrx_contract *contract = NULL;
  char layout[] = "row-major";
  hrx_binding binding = {.bytes = 0, .access = HRX_READ};
  FAILS(hrx_contract_create(&binding, 1, &contract), INVALID, CONTRACT);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "binding 0: bytes"));
  binding = (hrx_binding){.bytes = (size_t)SSIZE_MAX + 1, .access = HRX_READ};
  FAILS(hrx_contract_create(&binding, 1, &contract), INVALID, CONTRACT);
  binding = (hrx_binding){.bytes = 4, .alignment = 12, .access = HRX_READ};
  FAILS(hrx_contract_create(&binding, 1, &contract), INVALID, CONTRACT);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "alignment"));
  binding = (hrx_binding){.bytes = 4, .access = (hrx_access)5};
  FAILS(hrx_contract_create(&binding, 1, &contract), INVALID, CONTRACT);
  FAILS(hrx_contract_create(NULL, 1, &contract), INVALID, ARGUMENT);
  ck_assert_ptr_null(contract);
  binding = (hrx_binding){.bytes = SSIZE_MAX, .access = HRX_ATOMIC, .layout = layout};
  OK(hrx_contract_create(&binding, 1, &contract));
  layout[0] = 'X';
  ck_assert_str_eq(contract->bindings[0].layout, "row-major");
  ck_assert_uint_eq(contract->bindings[0].alignment, 1);
  hrx_contract_release(hrx_contract_retain(contract));
  hrx_contract_release(contract);
  hrx_contract_release(NULL);
  OK(hrx_contract_create(NULL, 0, &contract));
  hrx_contract_release(contract);
}
END_TEST

START_TEST(constants_are_packed_in_the_order_of_the_pushes) {
  hrx_contract *contract = NULL;
  OK(hrx_contract_create(NULL, 0, &contract));
  OK(hrx_contract_push_u32(contract, 0x01020304));
  OK(hrx_contract_push_i64(contract, -2));
  OK(hrx_contract_push_f32(contract, 1.0f));
  OK(hrx_contract_constants(contract, "ab", 2));
  static const uint8_t expected[] = {4, 3, 2, 1, 0xfe, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0x80, 0x3f, 'a', 'b'};
  ck_assert_uint_eq(contract->constant_bytes, sizeof expected);
  ck_assert_mem_eq(contract->constants, expected, sizeof expected);
  uint64_t index = 3;
  OK(hrx_contract_push_indices(contract, &index, 1));
  FAILS(hrx_contract_push_u32(contract, 1), INVALID, CONTRACT); /* nobody knows yet how wide the index is */
  hrx_contract_release(contract);
}
END_TEST

static void parse_fails(const char *json, const char *place) {
  hrx_contract *contract = NULL;
  FAILS(hrx_contract_parse(json, strlen(json), &contract), INVALID, CONTRACT);
  ck_assert_ptr_null(contract);
  ck_assert_msg(strstr(hrx_last_message(), place) != NULL, "%s: %s", json, hrx_last_message());
}

START_TEST(json_says_the_same) {
  static const char json[] = "{\"bindings\":[{\"bytes\":4096,\"alignment\":16,\"access\":\"read\",\"layout\":\"row-major\"},"
                             "{\"bytes\":8,\"access\":\"read-write\"}],\"constants\":[{\"u32\":7},{\"f32\":0.5},{\"index\":9}]}";
  hrx_contract *contract = NULL;
  OK(hrx_contract_parse(json, sizeof json - 1, &contract));
  ck_assert_uint_eq(contract->binding_count, 2);
  ck_assert_uint_eq(contract->bindings[0].bytes, 4096);
  ck_assert_uint_eq(contract->bindings[0].alignment, 16);
  ck_assert_str_eq(contract->bindings[0].layout, "row-major");
  ck_assert_int_eq(contract->bindings[1].access, HRX_READ_WRITE);
  ck_assert_mem_eq(contract->constants, "\7\0\0\0\0\0\0\x3f", 8);
  ck_assert_uint_eq(contract->indices[0], 9);
  hrx_contract_release(contract);
  static const char raw[] = "{\"bindings\":[],\"constants\":{\"hex\":\"0aFf\"}}";
  OK(hrx_contract_parse(raw, sizeof raw - 1, &contract));
  ck_assert_mem_eq(contract->constants, "\x0a\xff", 2);
  hrx_contract_release(contract);
}
END_TEST

START_TEST(json_that_is_wrong_is_refused_with_the_place) {
  parse_fails("{\"bindings\":[],\"constant\":[]}", "\"constant\"");
  parse_fails("{\"bindings\":[{\"bytes\":4,\"access\":\"read\",\"size\":4}]}", "bindings[0]");
  parse_fails("{\"bindings\":[{\"bytes\":4,\"access\":\"read\"},{\"bytes\":4}]}", "bindings[1].access");
  parse_fails("{\"bindings\":[{\"bytes\":-4,\"access\":\"read\"}]}", "bindings[0].bytes");
  parse_fails("{\"bindings\":[{\"bytes\":4.5,\"access\":\"read\"}]}", "bindings[0].bytes");
  parse_fails("{\"bindings\":[],\"constants\":[{\"u32\":4294967296}]}", "constants[0]");
  parse_fails("{\"bindings\":[],\"constants\":[{\"u32\":1,\"f32\":1}]}", "constants[0]");
  parse_fails("{\"bindings\":[],\"constants\":[{\"u16\":1}]}", "constants[0]");
  parse_fails("{\"bindings\":[],\"constants\":{\"hex\":\"0a0\"}}", "constants.hex");
  parse_fails("{\"bindings\":[],\"constants\":{\"hex\":\"zz\"}}", "constants.hex");
  parse_fails("{}", "bindings");
  parse_fails("[]", "the whole");
  parse_fails("{\"bindings\":[],\n \"bindings\":[]}", "line 2");
  parse_fails("{\"bindings\":[", "line 1");
}
END_TEST

static hrx_contract *two(hrx_access first, hrx_access second) {
  hrx_contract *contract = NULL;
  hrx_binding bindings[2] = {{.bytes = 64, .alignment = 512, .access = first}, {.bytes = 32, .access = second}};
  OK(hrx_contract_create(bindings, 2, &contract));
  return contract;
}

static hrx_status check(const hrx_contract *contract, hrx_view first, hrx_view second, bool aliasing) {
  hrx_view views[2] = {first, second};
  return contract_check(contract, runtime, NULL, views, 2, aliasing, "kernel");
}

/* Behaviour 17 */
START_TEST(alignment_is_of_the_absolute_address) {
  hrx_contract *contract = two(HRX_READ, HRX_READ);
  hrx_buffer *buffer = buffer_new(runtime, 1 << 16, HRX_GPU_LOCAL);
  uintptr_t address = (uintptr_t)hrx_buffer_address(buffer);
  size_t aligned = (512 - address % 512) % 512;
  OK(check(contract, slice(buffer, aligned, 64), slice(buffer, 3, 32), false));
  OK(check(contract, slice(buffer, aligned + 1024, 64), slice(buffer, 3, 32), false));
  FAILS(check(contract, slice(buffer, aligned + 256, 64), slice(buffer, 3, 32), false), INVALID, ALIGNMENT);
  hrx_buffer *small = buffer_new(runtime, 4096, HRX_HOST_VISIBLE);
  hrx_view view = slice(small, 0, 64); /* offset 0 says nothing: an address that is not a multiple of 512 */
  small->backing->allocation->address += 256;
  FAILS(check(contract, view, slice(buffer, 3, 32), false), INVALID, ALIGNMENT);
  small->backing->allocation->address -= 256;
  hrx_buffer_release(small);
  hrx_buffer_release(buffer);
  hrx_contract_release(contract);
}
END_TEST

/* Behaviour 17 */
START_TEST(bindings_overlap_only_if_none_is_written) {
  hrx_buffer *buffer = buffer_new(runtime, 4096, HRX_GPU_LOCAL);
  for (int first = HRX_READ; first <= HRX_ATOMIC; first++)
    for (int second = HRX_READ; second <= HRX_ATOMIC; second++) {
      hrx_contract *contract = two((hrx_access)first, (hrx_access)second);
      contract->bindings[0].alignment = 1;
      OK(check(contract, slice(buffer, 0, 64), slice(buffer, 64, 32), false));
      if (first == HRX_READ && second == HRX_READ) {
        OK(check(contract, slice(buffer, 0, 64), slice(buffer, 63, 32), false));
      } else {
        FAILS(check(contract, slice(buffer, 0, 64), slice(buffer, 63, 32), false), INVALID, ALIASING);
        OK(check(contract, slice(buffer, 0, 64), slice(buffer, 63, 32), true));
      }
      hrx_contract_release(contract);
    }
  hrx_buffer_release(buffer);
}
END_TEST

START_TEST(views_must_fit_and_belong_here) {
  hrx_contract *contract = two(HRX_READ, HRX_READ);
  contract->bindings[0].alignment = 1;
  hrx_runtime *other = runtime_new(NULL);
  hrx_buffer *here = buffer_new(runtime, 4096, HRX_GPU_LOCAL), *there = buffer_new(other, 4096, HRX_GPU_LOCAL),
             *npu = buffer_new(runtime, 4096, HRX_NPU_LOCAL), *shared = buffer_new(runtime, 4096, HRX_SHARED);
  hrx_view fits = slice(here, 0, 64), second = slice(here, 128, 32);
  FAILS(check(contract, slice(here, 0, 63), second, false), INVALID, RANGE);
  FAILS(check(contract, slice(here, 0, 0), second, false), INVALID, EMPTY);
  FAILS(check(contract, slice(there, 0, 64), second, false), INVALID, FOREIGN);
  FAILS(check(contract, (hrx_view){here, 4090, 64}, second, false), INVALID, RANGE);
  FAILS(check(contract, (hrx_view){NULL, 0, 64}, second, false), INVALID, ARGUMENT);
  FAILS(check(contract, slice(npu, 0, 64), second, false), INVALID, PLACEMENT);
  FAILS(contract_check(contract, runtime, NULL, &fits, 1, false, "kernel"), INVALID, CONTRACT);
  hrx_view views[2] = {slice(npu, 0, 64), slice(shared, 0, 32)};
  OK(contract_check(contract, runtime, runtime->npus[0].device, views, 2, false, "kernel"));
  views[1] = second;
  FAILS(contract_check(contract, runtime, runtime->npus[0].device, views, 2, false, "kernel"), INVALID, PLACEMENT);
  hrx_buffer_release(here);
  hrx_buffer_release(there);
  hrx_buffer_release(npu);
  hrx_buffer_release(shared);
  hrx_contract_release(contract);
  hrx_runtime_release(other);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("contract");
  TCase *tests = tcase_create("contract");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, bindings_are_checked_and_copied);
  tcase_add_test(tests, constants_are_packed_in_the_order_of_the_pushes);
  tcase_add_test(tests, json_says_the_same);
  tcase_add_test(tests, json_that_is_wrong_is_refused_with_the_place);
  tcase_add_test(tests, alignment_is_of_the_absolute_address);
  tcase_add_test(tests, bindings_overlap_only_if_none_is_written);
  tcase_add_test(tests, views_must_fit_and_belong_here);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
