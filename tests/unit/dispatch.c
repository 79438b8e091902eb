/* Launches: what a kernel sees of its arguments, its place, its memory, and what a bad launch gets. */
#include "soft_launch.h"

START_TEST(arguments_and_bounds_reach_the_kernel) {
  object_load((unsigned)_i);
  enum { COUNT = 1000 };
  float *out = device_memory((COUNT + 24) * 4), *a = device_memory(COUNT * 4), *b = device_memory(COUNT * 4);
  for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = (float)(3 * i + 1);
  for (int i = 0; i < COUNT + 24; i++) out[i] = -1;
  struct { float *out, *a, *b; int count; } arguments = {out, a, b, COUNT};
  RUN("add", linear(8, 128), false, arguments);
  for (int i = 0; i < COUNT; i++) ck_assert_float_eq(out[i], (float)(4 * i + 1));
  for (int i = COUNT; i < COUNT + 24; i++) ck_assert_float_eq(out[i], -1);
}
END_TEST

START_TEST(every_work_item_knows_its_place) {
  object_load((unsigned)_i);
  static const struct shape shapes[] = {
      {{64, 1, 1}, {64, 1, 1}, 0}, {{12, 10, 6}, {4, 5, 3}, 0}, {{3, 2, 2}, {1, 1, 1}, 0}, {{33, 4, 2}, {33, 2, 2}, 0}};
  for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const uint32_t *grid = shapes[s].grid, *block = shapes[s].block;
    size_t bytes = (size_t)grid[0] * grid[1] * grid[2] * 48;
    uint32_t *out = device_memory(bytes);
    memset(out, 0xee, bytes);
    RUN("identify", shapes[s], s % 2 == 1, out);
    for (uint32_t z = 0; z < grid[2]; z++)
      for (uint32_t y = 0; y < grid[1]; y++)
        for (uint32_t x = 0; x < grid[0]; x++) {
          const uint32_t place[3] = {x, y, z}, *mine = out + 12 * (((size_t)z * grid[1] + y) * grid[0] + x);
          for (unsigned i = 0; i < 3; i++) {
            ck_assert_uint_eq(mine[i], place[i] / block[i]);
            ck_assert_uint_eq(mine[3 + i], place[i] % block[i]);
            ck_assert_uint_eq(mine[6 + i], block[i]);
            ck_assert_uint_eq(mine[9 + i], grid[i] / block[i]);
          }
        }
  }
}
END_TEST

START_TEST(partial_workgroups_have_only_their_work_items) {
  object_load((unsigned)_i);
  uint32_t *total = device_memory(4);
  RUN("count", ((struct shape){{101, 7, 3}, {32, 4, 2}, 0}), false, total);
  ck_assert_uint_eq(*total, 101 * 7 * 3);
}
END_TEST

START_TEST(barriers_and_dynamic_lds) {
  object_load((unsigned)_i);
  int *out = device_memory(5 * 4), *in = device_memory(5 * 1024 * 4);
  for (int i = 0; i < 5 * 1024; i++) in[i] = i;
  struct { int *out, *in; } arguments = {out, in};
  struct shape shape = linear(5, 1024);
  shape.dynamic_lds = 4096;
  RUN("sum", shape, true, arguments);
  for (int g = 0; g < 5; g++) ck_assert_int_eq(out[g], 1024 * 1024 * g + 1024 * 1023 / 2);
}
END_TEST

START_TEST(private_arrays_are_private) {
  object_load((unsigned)_i);
  int *out = device_memory(200 * 4), *order = device_memory(64 * 4);
  for (int i = 0; i < 64; i++) order[i] = (i * 29 + 5) % 64;
  struct { int *out, *order; } arguments = {out, order};
  RUN("scramble", linear(2, 100), false, arguments);
  for (int item = 0; item < 200; item++) {
    unsigned own[64], total = 0;
    for (unsigned i = 0; i < 64; i++) own[(i * 7 + (unsigned)(item % 100)) & 63] = i * 2;
    for (int i = 0; i < 64; i++) total = total * 3 + own[order[i]];
    ck_assert_int_eq(out[item], (int)total);
  }
}
END_TEST

START_TEST(functions_are_called) {
  object_load((unsigned)_i);
  int *out = device_memory(64 * 4);
  RUN("call", linear(1, 64), false, out);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], 2 * (i + 1) + 2 * (i + 2));
  for (int which = 0; which < 2; which++) {
    struct { int *out, which; } arguments = {out, which};
    RUN("call_pointer", linear(1, 64), false, arguments);
    for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], i * (2 + which));
  }
}
END_TEST

START_TEST(variables_can_be_changed) {
  object_load((unsigned)_i);
  void *address = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(gpu_module_global(module, "scale", &address, &bytes), HRX_OK);
  ck_assert_uint_eq(bytes, 4);
  ck_assert_int_eq(*(int *)address, 2);
  *(int *)address = 5;
  int *out = device_memory(64 * 4);
  RUN("call", linear(1, 64), false, out);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], 5 * (i + 1) + 5 * (i + 2));
  ck_assert_int_eq(gpu_module_global(module, "absent", &address, &bytes), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_NOT_FOUND);
}
END_TEST

START_TEST(access_outside_of_memory_ends_the_dispatch_only) {
  object_load((unsigned)_i);
  int *out = device_memory(1024);
  struct { int *out; int64_t index; } arguments = {out, 256};
  struct failure failure = launch_run("write_at", linear(1, 1), &arguments, sizeof arguments, false);
  ck_assert_int_eq(failure.status, HRX_EXECUTION);
  ck_assert_int_eq(failure.reason, HRX_REASON_ADDRESS);
  ck_assert_ptr_nonnull(strstr(failure.message, "write_at"));
  ck_assert_ptr_nonnull(strstr(failure.message, "writes 4 bytes"));
  ck_assert_ptr_nonnull(strstr(failure.message, "0 bytes behind the end of the nearest allocation"));
  arguments.index = -1;
  failure = launch_run("write_at", linear(1, 1), &arguments, sizeof arguments, true);
  ck_assert_ptr_nonnull(strstr(failure.message, "4 bytes before the nearest allocation"));
  arguments.index = 255;
  RUN("write_at", linear(1, 1), false, arguments);
  ck_assert_int_eq(out[255], 1);
}
END_TEST

START_TEST(trap_ends_the_dispatch) {
  object_load((unsigned)_i);
  int *out = device_memory(4);
  struct failure failure = launch_run("trap", linear(4, 64), &out, sizeof out, false);
  ck_assert_int_eq(failure.status, HRX_EXECUTION);
  ck_assert_int_eq(failure.reason, HRX_REASON_TRAP);
}
END_TEST

static void refused(const char *name, struct shape shape, const char *message) {
  struct gpu_kernel *kernel = NULL;
  struct gpu_dispatch *dispatch = NULL;
  ck_assert_int_eq(gpu_module_kernel(module, name, &kernel), HRX_OK);
  struct gpu_launch launch = {.dynamic_lds = shape.dynamic_lds};
  memcpy(launch.grid, shape.grid, sizeof launch.grid);
  memcpy(launch.block, shape.block, sizeof launch.block);
  ck_assert_int_eq(gpu_dispatch_create(kernel, &launch, &dispatch), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LAUNCH_GEOMETRY);
  ck_assert_msg(strstr(hrx_last_message(), message) != NULL, "%s", hrx_last_message());
}

START_TEST(impossible_launches_are_refused) {
  object_load(SOFT_OBJECT_FAST);
  refused("nothing", (struct shape){{0, 1, 1}, {1, 1, 1}, 0}, "no work-items");
  refused("nothing", (struct shape){{1, 1, 1}, {1, 1, 0}, 0}, "no work-items");
  refused("nothing", linear(1, 1025), "1025");
  refused("nothing", (struct shape){{64, 64, 1}, {64, 64, 1}, 0}, "4096 work-items, the limit is 1024");
  struct shape shape = linear(1, 64);
  shape.dynamic_lds = 65536;
  RUN("nothing", shape, false, shape); /* the limit itself, and arguments that the kernel does not have */
  shape.dynamic_lds++;
  refused("nothing", shape, "65537 bytes of LDS");
  struct gpu_kernel *kernel = NULL;
  ck_assert_int_eq(gpu_module_kernel(module, "absent", &kernel), HRX_INVALID);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dispatch");
  TCase *rules = tcase_create("dispatch");
  tcase_add_checked_fixture(rules, device_setup, device_teardown);
  tcase_add_loop_test(rules, arguments_and_bounds_reach_the_kernel, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, every_work_item_knows_its_place, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, partial_workgroups_have_only_their_work_items, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, barriers_and_dynamic_lds, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, private_arrays_are_private, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, functions_are_called, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, variables_can_be_changed, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, access_outside_of_memory_ends_the_dispatch_only, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, trap_ends_the_dispatch, 0, SOFT_OBJECTS);
  tcase_add_test(rules, impossible_launches_are_refused);
  suite_add_tcase(suite, rules);
  return suite_run(suite);
}
