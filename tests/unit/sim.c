/* The device of virtual time, and schedules of the engine on it: makespans are exact. */
#include "gpu/sim/sim.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

enum { BUFFERS = 8, RECORDS = 64 };

static struct memory *memory;
static struct engine *engine;
static struct gpu_device *device;
static struct allocation *buffers[BUFFERS];
static struct gpu_kernel *kernel; /* takes what its arguments say, else 100 ns */

static struct sim_run_record records[RECORDS];
static unsigned recorded;

static void record(const struct sim_run_record *one, void *context) {
  ck_assert_ptr_eq(context, &recorded);
  ck_assert_uint_lt(recorded, RECORDS);
  records[recorded++] = *one;
}

static void setup(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  ck_assert_int_eq(sim_device_create(memory, &device), HRX_OK);
  ck_assert_int_eq(sim_kernel_create(device, "work", 100, &kernel), HRX_OK);
  for (int i = 0; i < BUFFERS; i++)
    ck_assert_int_eq(memory_allocate(memory, 4096, 256, MEMORY_DEVICE, 0, 0, &buffers[i]), HRX_OK);
  recorded = 0;
  sim_watch(device, record, &recorded);
}

static void teardown(void) {
  engine_release(engine);
  gpu_device_release(device);
  memory_release(memory);
}

static struct stream *stream_new(void) {
  struct stream *stream = NULL;
  ck_assert_int_eq(stream_create(engine, 0, &stream), HRX_OK);
  return stream;
}

static struct gpu_dispatch *dispatch_new(struct gpu_kernel *of, uint64_t duration_ns) {
  struct gpu_launch launch = {
      .grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = &duration_ns, .argument_bytes = duration_ns != 0 ? 8 : 0};
  struct gpu_dispatch *dispatch = NULL;
  ck_assert_msg(gpu_dispatch_create(of, &launch, &dispatch) == HRX_OK, "%s", hrx_last_message());
  return dispatch;
}

static struct access reads(int buffer) { return (struct access){buffers[buffer], 0, 4096, ACCESS_READ}; }
static struct access writes(int buffer) { return (struct access){buffers[buffer], 0, 4096, ACCESS_WRITE}; }

/* A duration of 0 is the kernel's own. */
static struct point launch(struct stream *stream, struct gpu_kernel *of, uint64_t duration_ns, unsigned count,
                           const struct access *accesses) {
  struct point point = {0, 0};
  struct task task = {
      .kind = TASK_DISPATCH, .accesses = accesses, .access_count = count, .dispatch = dispatch_new(of, duration_ns)};
  ck_assert_msg(stream_submit(stream, &task, &point) == HRX_OK, "%s", hrx_last_message());
  return point;
}

static struct sim_statistics statistics(void) {
  struct sim_statistics now;
  sim_statistics(device, &now);
  return now;
}

START_TEST(a_chain_takes_the_sum) {
  struct stream *stream = stream_new();
  for (uint64_t i = 1; i <= 10; i++)
    launch(stream, kernel, i * 10, 1, &(struct access){buffers[0], 0, 4096, ACCESS_READ_WRITE});
  ck_assert_uint_eq(statistics().now_ns, 0); /* time stands still by itself */
  ck_assert_uint_eq(statistics().started, 1);
  ck_assert_uint_eq(sim_run(device), 550);
  ck_assert_uint_eq(statistics().most_at_once, 1);
  ck_assert_uint_eq(statistics().busy_ns, 550);
  ck_assert_uint_eq(statistics().finished, 10);
  ck_assert(stream_idle(stream));
  for (unsigned i = 1; i < 10; i++) ck_assert_uint_eq(records[i].began_ns, records[i - 1].finished_ns);
  stream_release(stream);
}
END_TEST

START_TEST(a_fan_takes_root_branch_and_end) {
  struct stream *stream = stream_new();
  launch(stream, kernel, 50, 1, (struct access[]){writes(0)});
  for (int i = 1; i <= 4; i++) launch(stream, kernel, (uint64_t)(100 * i), 2, (struct access[]){reads(0), writes(i)});
  launch(stream, kernel, 7, 1, (struct access[]){writes(0)});
  ck_assert_uint_eq(sim_run(device), 50 + 400 + 7);
  ck_assert_uint_eq(statistics().most_at_once, 4);
  for (unsigned i = 1; i <= 4; i++) ck_assert_uint_eq(records[i].began_ns, 50);
  stream_release(stream);
}
END_TEST

START_TEST(two_streams_run_beside_each_other_until_one_waits) {
  struct stream *one = stream_new(), *other = stream_new();
  for (int i = 0; i < 5; i++) launch(one, kernel, 100, 1, (struct access[]){writes(0)});
  for (int i = 0; i < 3; i++) launch(other, kernel, 90, 1, (struct access[]){writes(1)});
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(one, &clock), HRX_OK);
  ck_assert_int_eq(stream_wait_clock(other, &clock), HRX_OK);
  launch(other, kernel, 11, 2, (struct access[]){reads(0), writes(1)});
  ck_assert_uint_eq(sim_run(device), 511);
  ck_assert_uint_eq(statistics().most_at_once, 2);
  clock_finish(&clock);
  stream_release(one);
  stream_release(other);
}
END_TEST

START_TEST(units_are_given_in_the_order_of_starting) {
  sim_units(device, 2);
  struct stream *streams[5];
  for (int i = 0; i < 5; i++) {
    streams[i] = stream_new();
    launch(streams[i], kernel, (uint64_t)(10 * (5 - i)), 1, (struct access[]){writes(i)}); /* 50 40 30 20 10 */
  }
  ck_assert_uint_eq(sim_run(device), 80); /* 0-50 0-40, 40-70, 50-70, 70-80 */
  ck_assert_uint_eq(statistics().most_at_once, 2);
  static const uint64_t began[5] = {0, 0, 40, 50, 70}, finished[5] = {40, 50, 70, 70, 80};
  for (unsigned i = 0; i < 5; i++) {
    ck_assert_uint_eq(records[i].started_ns, 0);
    ck_assert_uint_eq(records[i].began_ns, began[i]);
    ck_assert_uint_eq(records[i].finished_ns, finished[i]);
  }
  for (int i = 0; i < 5; i++) stream_release(streams[i]);
}
END_TEST

START_TEST(many_finish_in_the_order_of_time_and_then_of_starting) {
  enum { MANY = 60 };
  struct stream *streams[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    streams[i] = stream_new();
    launch(streams[i], kernel, 1 + i * 7919u % 13, 0, NULL);
  }
  ck_assert_uint_eq(sim_run(device), 13);
  ck_assert_uint_eq(recorded, MANY);
  for (unsigned i = 1; i < MANY; i++) ck_assert_uint_ge(records[i].finished_ns, records[i - 1].finished_ns);
  ck_assert_uint_eq(statistics().most_at_once, MANY);
  for (unsigned i = 0; i < MANY; i++) stream_release(streams[i]);
}
END_TEST

START_TEST(the_clock_stops_where_it_is_told_to) {
  struct stream *stream = stream_new();
  for (int i = 0; i < 3; i++) launch(stream, kernel, 0, 1, (struct access[]){writes(0)});
  sim_run_until(device, 99);
  ck_assert_uint_eq(recorded, 0);
  ck_assert_uint_eq(statistics().now_ns, 99);
  sim_run_until(device, 100);
  ck_assert_uint_eq(recorded, 1);
  sim_run_until(device, 250);
  ck_assert_uint_eq(recorded, 2);
  launch(stream, kernel, 10, 1, (struct access[]){writes(1)}); /* begins at 250 */
  ck_assert_uint_eq(sim_run(device), 300);
  ck_assert_uint_eq(records[2].began_ns, 250);
  ck_assert_uint_eq(records[2].finished_ns, 260);
  stream_release(stream);
}
END_TEST

static struct failure failure_of(hrx_status status) {
  struct failure failure = {.status = status, .reason = HRX_REASON_ADDRESS};
  snprintf(failure.message, sizeof failure.message, "the kernel failed as it was told to");
  return failure;
}

static void fails(enum sim_outcome outcome, uint64_t makespan_ns, uint64_t busy_ns) {
  struct stream *stream = stream_new();
  struct gpu_kernel *bad = NULL;
  ck_assert_int_eq(sim_kernel_create(device, "bad", 30, &bad), HRX_OK);
  struct failure told = failure_of(HRX_EXECUTION), got;
  sim_kernel_outcome(bad, outcome, &told);
  launch(stream, kernel, 10, 1, (struct access[]){writes(0)});
  launch(stream, bad, 0, 1, (struct access[]){writes(0)});
  launch(stream, kernel, 5, 1, (struct access[]){reads(0)});
  ck_assert_uint_eq(sim_run(device), makespan_ns);
  ck_assert_uint_eq(statistics().busy_ns, busy_ns);
  ck_assert_uint_eq(statistics().started, 2); /* the reader was skipped */
  ck_assert_uint_eq(statistics().failed, 1);
  ck_assert_int_eq(records[1].status, HRX_EXECUTION);
  ck_assert(stream_failure_take(stream, &got));
  ck_assert_int_eq(got.status, HRX_EXECUTION);
  ck_assert_int_eq(got.reason, HRX_REASON_ADDRESS);
  ck_assert_str_eq(got.message, told.message);
  sim_kernel_outcome(bad, SIM_SUCCEEDS, NULL);
  launch(stream, bad, 0, 1, (struct access[]){writes(0)});
  ck_assert_uint_eq(sim_run(device), makespan_ns + 30);
  ck_assert(!stream_failure_take(stream, &got));
  stream_release(stream);
}

START_TEST(a_clean_failure_takes_no_time) { fails(SIM_FAILS_CLEAN, 10, 10); }
END_TEST

START_TEST(an_uncertain_failure_comes_at_the_end) { fails(SIM_FAILS_UNCERTAIN, 40, 40); }
END_TEST

static unsigned done_count;
static struct failure done_failure;

static void done(void *context, const struct failure *failure) {
  (void)context;
  done_count++;
  done_failure = failure != NULL ? *failure : (struct failure){.status = HRX_OK};
}

START_TEST(cancel_ends_what_runs_and_what_waits_for_a_unit) {
  sim_units(device, 1);
  struct gpu_dispatch *runs = dispatch_new(kernel, 100), *waits = dispatch_new(kernel, 20), *last = dispatch_new(kernel, 20);
  gpu_dispatch_cancel(runs); /* not started: nothing to stop */
  gpu_dispatch_start(runs, done, NULL);
  gpu_dispatch_start(waits, done, NULL);
  gpu_dispatch_start(last, done, NULL);
  sim_run_until(device, 30);
  gpu_dispatch_cancel(waits);
  sim_run_until(device, 30);
  ck_assert_uint_eq(recorded, 1);
  ck_assert_int_eq(done_failure.status, HRX_CANCELLED);
  gpu_dispatch_cancel(runs);
  ck_assert_uint_eq(sim_run(device), 50);
  ck_assert_int_eq(records[1].status, HRX_CANCELLED);
  ck_assert_uint_eq(records[1].finished_ns, 30);
  ck_assert_int_eq(done_failure.status, HRX_OK);
  ck_assert_uint_eq(done_count, 3);
  ck_assert_uint_eq(statistics().cancelled, 2);
  ck_assert_uint_eq(statistics().busy_ns, 50);
  gpu_dispatch_start(runs, done, NULL); /* reusable, and cancelled no more */
  ck_assert_uint_eq(sim_run(device), 150);
  ck_assert_int_eq(done_failure.status, HRX_OK);
  gpu_dispatch_release(runs);
  gpu_dispatch_release(waits);
  gpu_dispatch_release(last);
}
END_TEST

START_TEST(who_waits_runs_time_if_told_to) {
  struct stream *stream = stream_new();
  struct clock clock = {0};
  launch(stream, kernel, 10, 1, (struct access[]){writes(0)});
  launch(stream, kernel, 10, 1, (struct access[]){writes(0)});
  ck_assert_int_eq(stream_clock(stream, &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, 1), HRX_TIMEOUT);
  ck_assert_uint_eq(statistics().now_ns, 0);
  sim_waits_run(device, true);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
  ck_assert_uint_eq(statistics().now_ns, 20);
  clock_finish(&clock);
  stream_release(stream);
}
END_TEST

START_TEST(a_layout_is_what_the_kernel_shows_and_names_the_duration) {
  struct gpu_kernel *of = NULL, *found = NULL;
  struct gpu_module *module = NULL;
  ck_assert_int_eq(sim_kernel_create(device, "laid_out", 40, &of), HRX_OK);
  ck_assert_int_eq(sim_kernel_create(device, "laid_out", 40, &found), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LIVE);
  struct kernel_argument arguments[] = {
      {.offset = 0, .bytes = 8, .kind = ARGUMENT_GLOBAL_BUFFER, .name = "out"},
      {.offset = 8, .bytes = 4, .kind = ARGUMENT_BY_VALUE, .name = "count"},
      {.offset = 16, .bytes = 8, .kind = ARGUMENT_BY_VALUE, .name = "duration_ns"},
  };
  ck_assert_int_eq(sim_kernel_layout(of, arguments, 2), HRX_OK);
  ck_assert_int_eq(gpu_module_load(device, "", 0, &module), HRX_OK);
  ck_assert_int_eq(gpu_module_kernel(module, "laid", &found), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_NOT_FOUND);
  ck_assert_int_eq(gpu_module_kernel(module, "laid_out", &found), HRX_OK);
  ck_assert_ptr_eq(found, of);
  const struct kernel_code *code = gpu_kernel_code(of);
  ck_assert_str_eq(code->name, "laid_out");
  ck_assert_uint_eq(code->explicit_count, 2);
  ck_assert_uint_eq(code->explicit_bytes, 12);
  ck_assert_uint_eq(code->kernarg_bytes, 16);
  ck_assert_int_eq(code->arguments[0].kind, ARGUMENT_GLOBAL_BUFFER);
  gpu_module_release(module);

  struct stream *stream = stream_new();
  launch(stream, of, 999, 0, NULL); /* not a duration, but `out` */
  ck_assert_uint_eq(sim_run(device), 40);
  ck_assert_int_eq(sim_kernel_layout(of, arguments, 3), HRX_OK);
  uint64_t values[3] = {999, 1, 60};
  struct gpu_dispatch *dispatch = NULL;
  struct gpu_launch timed = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = values, .argument_bytes = sizeof values};
  ck_assert_int_eq(gpu_dispatch_create(of, &timed, &dispatch), HRX_OK);
  gpu_dispatch_start(dispatch, done, NULL);
  ck_assert_uint_eq(sim_run(device), 100);
  gpu_dispatch_release(dispatch);
  arguments[1].offset = 7;
  ck_assert_int_eq(sim_kernel_layout(of, arguments, 3), HRX_INVALID);
  stream_release(stream);
}
END_TEST

START_TEST(a_launch_is_refused_as_elsewhere) {
  struct gpu_dispatch *dispatch = NULL;
  struct gpu_launch wide = {.grid = {2048, 1, 1}, .block = {1024, 1, 1}};
  ck_assert_int_eq(gpu_dispatch_create(kernel, &wide, &dispatch), HRX_OK);
  gpu_dispatch_release(dispatch);
  wide.block[1] = 2;
  ck_assert_int_eq(gpu_dispatch_create(kernel, &wide, &dispatch), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LAUNCH_GEOMETRY);
  wide.block[0] = 0;
  ck_assert_int_eq(gpu_dispatch_create(kernel, &wide, &dispatch), HRX_INVALID);

  struct failure failure = {.status = HRX_OUT_OF_MEMORY, .message = "none left"};
  sim_create_fails(device, 1, &failure);
  gpu_dispatch_release(dispatch_new(kernel, 0));
  wide.block[0] = wide.block[1] = 1;
  ck_assert_int_eq(gpu_dispatch_create(kernel, &wide, &dispatch), HRX_OUT_OF_MEMORY);
  ck_assert_str_eq(hrx_last_message(), "none left");
  gpu_dispatch_release(dispatch_new(kernel, 0)); /* once */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sim");
  TCase *tests = tcase_create("sim");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_chain_takes_the_sum);
  tcase_add_test(tests, a_fan_takes_root_branch_and_end);
  tcase_add_test(tests, two_streams_run_beside_each_other_until_one_waits);
  tcase_add_test(tests, units_are_given_in_the_order_of_starting);
  tcase_add_test(tests, many_finish_in_the_order_of_time_and_then_of_starting);
  tcase_add_test(tests, the_clock_stops_where_it_is_told_to);
  tcase_add_test(tests, a_clean_failure_takes_no_time);
  tcase_add_test(tests, an_uncertain_failure_comes_at_the_end);
  tcase_add_test(tests, cancel_ends_what_runs_and_what_waits_for_a_unit);
  tcase_add_test(tests, who_waits_runs_time_if_told_to);
  tcase_add_test(tests, a_layout_is_what_the_kernel_shows_and_names_the_duration);
  tcase_add_test(tests, a_launch_is_refused_as_elsewhere);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
