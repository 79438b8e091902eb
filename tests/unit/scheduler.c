/* The scheduler: kernels that wait for each other, quanta, cooperation, cancelling, limits. Each test runs with one core, where
 * nothing progresses unless somebody gives way, and with more. */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "base/config.h"
#include "gpu/soft/parts.h"
#include "gpu/soft/scheduler.h"
#include "soft_launch.h"

START_TEST(waiting_kernel_lets_the_other_one_run) {
  object_load(SOFT_OBJECT_FAST);
  int *flag = device_memory(4), *out = device_memory(4);
  struct outcome waited = {0};
  struct { int *flag, *out; } arguments = {flag, out};
  struct gpu_dispatch *waiting = launch_create("wait", linear(1, 32), &arguments, sizeof arguments);
  gpu_dispatch_start(waiting, outcome_note, &waited);
  struct { int *flag, value; } value = {flag, 7};
  RUN("set", linear(1, 1), false, value);
  outcome_wait(&waited);
  gpu_dispatch_release(waiting);
  ck_assert_int_eq(out[0], 7);
}
END_TEST

START_TEST(workgroups_that_wait_for_all_others_become_resident) {
  object_load((unsigned)_i);
  enum { GROUPS = 100 };
  unsigned *arrived = device_memory(4), *out = device_memory(GROUPS * 4);
  struct { unsigned *arrived, *out; } arguments = {arrived, out};
  RUN("meet", linear(GROUPS, 64), false, arguments);
  for (int i = 0; i < GROUPS; i++) ck_assert_uint_eq(out[i], 1);
}
END_TEST

START_TEST(whole_grid_meets_at_each_sync) {
  object_load((unsigned)_i);
  enum { ITEMS = 40 * 128, ROUNDS = 9 };
  int *out = device_memory(2 * ITEMS * sizeof *out);
  for (int i = 0; i < ITEMS; i++) out[i] = i;
  struct { int *out, rounds; } arguments = {out, ROUNDS};
  RUN("grid_sync", linear(40, 128), false, arguments);
  for (int i = 0; i < ITEMS; i++) ck_assert_int_eq(out[(ROUNDS & 1) * ITEMS + i], (i + ROUNDS) % ITEMS + ROUNDS);
}
END_TEST

START_TEST(waves_of_a_workgroup_wait_for_each_other_without_a_barrier) {
  object_load((unsigned)_i);
  int *out = device_memory(8 * 4);
  RUN("relay", linear(1, 256), false, out);
  static const int expected[8] = {7, 6, 5, 4, 3, 2, 0, 7};
  for (int i = 0; i < 8; i++) ck_assert_int_eq(out[i], expected[i]);
}
END_TEST

START_TEST(cancelled_kernel_ends) {
  object_load(SOFT_OBJECT_FAST);
  int *flag = device_memory(4), *out = device_memory(4);
  struct outcome waited = {0};
  struct { int *flag, *out; } arguments = {flag, out};
  struct gpu_dispatch *waiting = launch_create("wait", linear(50, 256), &arguments, sizeof arguments);
  gpu_dispatch_start(waiting, outcome_note, &waited);
  for (int i = 0; i < 10; i++) gpu_dispatch_help(waiting, 10000);
  ck_assert_uint_eq(waited.calls, 0);
  gpu_dispatch_cancel(waiting);
  outcome_wait(&waited);
  gpu_dispatch_release(waiting);
  ck_assert_int_eq(waited.failure.status, HRX_CANCELLED);
  RUN("nothing", linear(1, 1), false, arguments); /* and the device goes on */
}
END_TEST

START_TEST(many_dispatches_at_once_all_end) {
  object_load(SOFT_OBJECT_FAST);
  enum { COUNT = 200 };
  static struct outcome outcomes[COUNT];
  static struct gpu_dispatch *dispatches[COUNT];
  memset(outcomes, 0, sizeof outcomes);
  unsigned *total = device_memory(4);
  for (int i = 0; i < COUNT; i++) {
    dispatches[i] = launch_create("count", linear(20, 64), &total, sizeof total);
    gpu_dispatch_start(dispatches[i], outcome_note, &outcomes[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    outcome_wait(&outcomes[i]);
    gpu_dispatch_release(dispatches[i]);
    ck_assert_int_eq(outcomes[i].failure.status, HRX_OK);
  }
  ck_assert_uint_eq(*total, COUNT * 20 * 64);
}
END_TEST

/* After many launches that their waiters ran, workers are not woken any more; they must still look. */
START_TEST(launch_that_nobody_helps_runs_after_many_that_were_helped) {
  object_load(SOFT_OBJECT_FAST);
  unsigned *total = device_memory(4);
  for (int i = 0; i < 50; i++) RUN("count", linear(1, 32), true, total);
  RUN("count", linear(1, 32), false, total);
  for (int i = 0; i < 50; i++) RUN("count", linear(1, 32), true, total);
  RUN("count", linear(10, 32), false, total);
  ck_assert_uint_eq(*total, (50 + 1 + 50 + 10) * 32);
}
END_TEST

START_TEST(cooperative_launch_must_fit) {
  object_load(SOFT_OBJECT_FAST);
  struct gpu_kernel *kernel = NULL;
  struct gpu_dispatch *dispatch = NULL;
  ck_assert_int_eq(gpu_module_kernel(module, "meet", &kernel), HRX_OK);
  struct gpu_launch launch = {.grid = {UINT32_C(1) << 20, 1, 1}, .block = {1, 1, 1}, .cooperative = true};
  ck_assert_int_eq(gpu_dispatch_create(kernel, &launch, &dispatch), HRX_INVALID);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "resident"));
}
END_TEST

START_TEST(time_limit_ends_a_kernel_that_hangs) {
  object_load(SOFT_OBJECT_FAST);
  int *flag = device_memory(4), *out = device_memory(4);
  struct { int *flag, *out; } arguments = {flag, out};
  struct failure failure = launch_run("wait", linear(3, 64), &arguments, sizeof arguments, false);
  ck_assert_int_eq(failure.status, HRX_EXECUTION);
  ck_assert_int_eq(failure.reason, HRX_REASON_TIME_LIMIT);
  ck_assert_ptr_nonnull(strstr(failure.message, "wait"));
  RUN("nothing", linear(1, 1), false, arguments);
}
END_TEST

START_TEST(child_of_fork_has_a_device_that_works) {
  object_load(SOFT_OBJECT_FAST);
  unsigned *total = device_memory(4);
  RUN("count", linear(7, 64), false, total);
  for (int i = 0; i < 32; i++) RUN("count", linear(1, 2), true, total);
  device->table->fork_prepare(device);
  memory_fork_prepare(memory);
  pid_t child = fork();
  memory_fork_done(memory);
  device->table->fork_done(device, child == 0);
  if (child == 0) {
    struct failure failure = launch_run("count", linear(1, 64), &total, sizeof total, false);
    _exit(failure.status == HRX_OK && *total == 576 ? 0 : 1);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  RUN("count", linear(8, 64), false, total);
}
END_TEST

/* A worker that has just finished something must not sleep through the end. The pauses sweep the moment of the release over its way
 * from the last workgroup to its bed; the window was two instructions wide, and wider under a sanitizer. */
START_TEST(release_is_noticed_at_any_moment) {
  object_load(SOFT_OBJECT_FAST);
  struct soft_device *soft = (struct soft_device *)(void *)device;
  unsigned *total = device_memory(4);
  enum { ROUNDS = 2000 };
  for (unsigned i = 0; i < ROUNDS; i++) {
    struct outcome outcome = {0};
    scheduler_release(soft->scheduler);
    soft->scheduler = NULL;
    ck_assert_int_eq(scheduler_create(config_get()->soft_cores, &soft->scheduler), HRX_OK);
    struct gpu_dispatch *dispatch = launch_create("count", linear(1, 32), &total, sizeof total);
    gpu_dispatch_start(dispatch, outcome_note, &outcome);
    for (unsigned spins = 0; outcome.calls == 0; spins++) spins < 1000 ? _mm_pause() : (void)sched_yield();
    gpu_dispatch_release(dispatch);
    for (unsigned pauses = i % 64; pauses > 0; pauses--) _mm_pause();
  }
  ck_assert_uint_eq(*total, ROUNDS * 32);
}
END_TEST

/* The configuration is read once a process: each way to run is a process of its own. */
static int run_with(const char *variable, const char *value, bool limited) {
  pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    Suite *suite = suite_create(variable);
    TCase *rules = tcase_create(value);
    tcase_add_checked_fixture(rules, device_setup, device_teardown);
    tcase_set_timeout(rules, 60);
    if (limited) {
      tcase_add_test(rules, time_limit_ends_a_kernel_that_hangs);
    } else {
      tcase_add_test(rules, waiting_kernel_lets_the_other_one_run);
      tcase_add_loop_test(rules, workgroups_that_wait_for_all_others_become_resident, 0, SOFT_OBJECTS);
      tcase_add_loop_test(rules, whole_grid_meets_at_each_sync, 0, SOFT_OBJECTS);
      tcase_add_loop_test(rules, waves_of_a_workgroup_wait_for_each_other_without_a_barrier, 0, SOFT_OBJECTS);
      tcase_add_test(rules, cancelled_kernel_ends);
      tcase_add_test(rules, many_dispatches_at_once_all_end);
      tcase_add_test(rules, launch_that_nobody_helps_runs_after_many_that_were_helped);
      tcase_add_test(rules, cooperative_launch_must_fit);
      tcase_add_test(rules, child_of_fork_has_a_device_that_works);
      if (strcmp(variable, "HRX_SOFT_CORES") == 0) tcase_add_test(rules, release_is_noticed_at_any_moment);
    }
    suite_add_tcase(suite, rules);
    int failed = suite_run(suite);
    fflush(NULL);
    _exit(failed);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(void) {
  int failed = run_with("HRX_SOFT_CORES", "1", false);
  failed |= run_with("HRX_SOFT_CORES", "4", false);
  failed |= run_with("HRX_DETERMINISTIC", "7", false);
  failed |= run_with("HRX_TIMEOUT", "0.2", true);
  return failed;
}
