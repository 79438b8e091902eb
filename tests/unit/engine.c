/* The engine: order, overlap, failures, limits, host functions, fork. */
#include "engine/engine.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "base/futex.h"
#include "tests/unit/include/fake_gpu.h"

static struct memory *memory;
static struct engine *engine;
static struct allocation *buffers[4];

static void setup(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  for (int i = 0; i < 4; i++)
    ck_assert_int_eq(memory_allocate(memory, 1 << 20, 256, MEMORY_DEVICE, 0, 0, &buffers[i]), HRX_OK);
  fake_started = fake_released = 0;
}

static void teardown(void) {
  engine_release(engine);
  memory_release(memory);
}

static struct stream *stream_new(void) {
  struct stream *stream = NULL;
  ck_assert_int_eq(stream_create(engine, 0, &stream), HRX_OK);
  return stream;
}

static struct access access_of(int buffer, size_t offset, size_t bytes, enum access_kind kind) {
  return (struct access){buffers[buffer], offset, bytes, kind};
}

static struct point submit(struct stream *stream, const struct task *task) {
  struct point point = {0, 0};
  ck_assert_msg(stream_submit(stream, task, &point) == HRX_OK, "%s", hrx_last_message());
  return point;
}

static struct point dispatch(struct stream *stream, struct fake_dispatch *fake, bool opaque, struct access access) {
  return submit(stream, &(struct task){.kind = TASK_DISPATCH,
                                       .opaque = opaque,
                                       .accesses = &access,
                                       .access_count = access.bytes != 0,
                                       .dispatch = &fake->base});
}

static struct point fill(struct stream *stream, int buffer, size_t offset, size_t bytes, uint32_t value) {
  struct access access = access_of(buffer, offset, bytes, ACCESS_WRITE);
  return submit(stream, &(struct task){.kind = TASK_FILL,
                                       .accesses = &access,
                                       .access_count = 1,
                                       .fill = {.destination = (char *)buffers[buffer]->address + offset,
                                                .width = bytes,
                                                .height = 1,
                                                .depth = 1,
                                                .pattern = value,
                                                .element_bytes = 1}});
}

static struct point copy(struct stream *stream, int to, int from, size_t bytes) {
  struct access accesses[2] = {access_of(to, 0, bytes, ACCESS_WRITE), access_of(from, 0, bytes, ACCESS_READ)};
  return submit(stream, &(struct task){.kind = TASK_COPY,
                                       .accesses = accesses,
                                       .access_count = 2,
                                       .copy = {.destination = (void *)buffers[to]->address,
                                                .source = (void *)buffers[from]->address,
                                                .width = bytes,
                                                .height = 1,
                                                .depth = 1}});
}

static struct point host(struct stream *stream, task_host_function call, void *context, void (*release)(void *),
                         bool run_always) {
  return submit(
      stream,
      &(struct task){.kind = TASK_HOST, .opaque = true, .run_always = run_always, .host = {call, context, release}});
}

static bool over(struct point point) {
  struct clock clock = {0};
  clock_include(&clock, point);
  return engine_clock_over(engine, &clock);
}

static void wait_point(struct point point) {
  struct clock clock = {0};
  clock_include(&clock, point);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
}

static void wait_stream(struct stream *stream) {
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(stream, &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
  clock_finish(&clock);
}

static uint64_t edges(void) {
  struct engine_statistics statistics;
  engine_statistics(engine, &statistics);
  return statistics.edges;
}

static const struct access NOTHING = {0};

START_TEST(what_does_not_conflict_overtakes_and_what_does_waits) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct point first = dispatch(stream, slow, false, access_of(0, 0, 4096, ACCESS_WRITE));
  struct point beside = fill(stream, 0, 4096, 100, 7);
  ck_assert_uint_eq(edges(), 0);
  ck_assert(over(beside));
  ck_assert(!over(first));
  struct point behind = fill(stream, 0, 4095, 2, 8);
  ck_assert_uint_eq(edges(), 1); /* the fill at 4096 is over already */
  ck_assert(!over(behind));
  struct point reader = copy(stream, 1, 0, 4096);
  ck_assert(!over(reader));
  ck_assert(!stream_idle(stream));
  fake_done(slow);
  ck_assert(over(first));
  wait_point(reader);
  ck_assert(stream_idle(stream));
  ck_assert_uint_eq(*(unsigned char *)(buffers[1]->address + 4095), 8);
  stream_release(stream);
}
END_TEST

START_TEST(reads_share_and_atomics_commute) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow[4];
  enum access_kind kinds[4] = {ACCESS_READ, ACCESS_READ, ACCESS_ATOMIC, ACCESS_ATOMIC};
  for (int i = 0; i < 4; i++) slow[i] = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  for (int i = 0; i < 4; i++) dispatch(stream, slow[i], false, access_of(i / 2, 0, 64, kinds[i]));
  ck_assert_uint_eq(edges(), 0);
  ck_assert_int_eq(fake_started, 4);
  struct point late = fill(stream, 1, 0, 64, 1);
  ck_assert_uint_eq(edges(), 2);
  fake_done(slow[2]);
  ck_assert(!over(late));
  fake_done(slow[3]);
  wait_point(late);
  fake_done(slow[0]);
  fake_done(slow[1]);
  stream_release(stream);
}
END_TEST

START_TEST(empty_accesses_have_no_effect_and_wrong_ones_are_refused) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(stream, slow, false, access_of(0, 0, 1 << 20, ACCESS_WRITE));
  struct access nothing = access_of(0, 5, 0, ACCESS_WRITE);
  struct point point = submit(stream, &(struct task){.kind = TASK_JOIN, .accesses = &nothing, .access_count = 1});
  ck_assert(over(point));
  struct access beyond = access_of(0, 1 << 20, 1, ACCESS_READ), wraps = access_of(0, 8, SIZE_MAX, ACCESS_READ);
  struct task task = {.kind = TASK_JOIN, .accesses = &beyond, .access_count = 1};
  ck_assert_int_eq(stream_submit(stream, &task, &point), HRX_INVALID);
  task.accesses = &wraps;
  ck_assert_int_eq(stream_submit(stream, &task, &point), HRX_INVALID);
  struct task odd = {
      .kind = TASK_FILL,
      .fill = {.destination = (void *)buffers[0]->address, .width = 3, .height = 1, .depth = 1, .element_bytes = 2}};
  ck_assert_int_eq(stream_submit(stream, &odd, &point), HRX_INVALID);
  fake_done(slow);
  stream_release(stream);
}
END_TEST

START_TEST(an_opaque_task_keeps_the_whole_order) {
  struct stream *stream = stream_new(), *other = stream_new();
  struct fake_dispatch *one = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *opaque = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(stream, one, false, access_of(0, 0, 8, ACCESS_READ));
  dispatch(stream, opaque, true, NOTHING);
  ck_assert_int_eq(fake_started, 1);
  struct point after = fill(stream, 2, 0, 8, 1);
  /* another stream that follows the first by an event knows that there is an opaque task in it */
  struct clock event = {0};
  ck_assert_int_eq(stream_clock(stream, &event), HRX_OK);
  ck_assert_int_eq(stream_wait_clock(other, &event), HRX_OK);
  struct point beyond = fill(other, 3, 0, 8, 1);
  clock_finish(&event);
  fake_done(one);
  ck_assert_int_eq(fake_started, 2);
  ck_assert(!over(after));
  ck_assert(!over(beyond));
  fake_done(opaque);
  wait_point(after);
  wait_point(beyond);
  stream_release(stream);
  stream_release(other);
}
END_TEST

START_TEST(unordered_streams_do_not_wait_even_if_they_conflict) {
  struct stream *one = stream_new(), *two = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(one, slow, false, access_of(0, 0, 64, ACCESS_WRITE));
  ck_assert(over(fill(two, 0, 0, 64, 3)));
  struct clock event = {0};
  ck_assert_int_eq(stream_clock(one, &event), HRX_OK);
  ck_assert_int_eq(stream_wait_clock(two, &event), HRX_OK);
  ck_assert(over(fill(two, 0, 64, 64, 3))); /* ordered, but no conflict */
  struct point behind = fill(two, 0, 0, 64, 3);
  ck_assert(!over(behind));
  fake_done(slow);
  wait_point(behind);
  clock_finish(&event);
  stream_release(one);
  stream_release(two);
}
END_TEST

START_TEST(a_waiter_runs_what_it_waits_for) {
  struct stream *stream = stream_new();
  for (int i = 0; i < 3; i++) dispatch(stream, fake_dispatch_new(FAKE_BY_HELP, HRX_OK, NULL, NULL), true, NOTHING);
  fill(stream, 0, 0, 1 << 20, 5);
  wait_stream(stream);
  ck_assert_uint_eq(*(unsigned char *)(buffers[0]->address + (1 << 20) - 1), 5);
  ck_assert_int_eq(fake_released, 3);
  stream_release(stream);
}
END_TEST

START_TEST(a_wait_ends_at_its_deadline) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct clock clock = {0};
  clock_include(&clock, dispatch(stream, slow, true, NOTHING));
  ck_assert_int_eq(engine_clock_wait(engine, &clock, time_now_ns() + 1000000), HRX_TIMEOUT);
  fake_done(slow);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, 0), HRX_OK); /* over is over, whatever the deadline */
  stream_release(stream);
}
END_TEST

static _Atomic int releases, calls;
static void count_release(void *context) {
  (void)context;
  releases++;
}
static hrx_status count_call(void *context) {
  (void)context;
  calls++;
  return HRX_OK;
}

START_TEST(a_failure_skips_what_follows_until_it_is_taken) {
  struct stream *stream = stream_new(), *unrelated = stream_new();
  calls = releases = 0;
  struct fake_dispatch *bad = fake_dispatch_new(FAKE_BY_TEST, HRX_EXECUTION, NULL, NULL);
  dispatch(stream, bad, false, access_of(0, 0, 64, ACCESS_WRITE));
  struct point independent = fill(stream, 1, 0, 64, 9);
  copy(stream, 2, 0, 64);                                                               /* reads what failed: skipped */
  host(stream, count_call, NULL, count_release, false);                                 /* opaque: skipped, released */
  host(stream, count_call, NULL, count_release, true);                                  /* runs always */
  dispatch(stream, fake_dispatch_new(FAKE_AT_ONCE, HRX_OK, NULL, NULL), true, NOTHING); /* skipped */
  ck_assert(over(independent));
  fake_done(bad);
  wait_stream(stream);
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(releases, 2);
  ck_assert_int_eq(fake_started, 1);
  ck_assert_int_eq(fake_released, 2);
  struct point later = fill(stream, 0, 0, 64, 3); /* submitted after the failure, before anybody took it */
  ck_assert(over(later));
  ck_assert_uint_eq(*(unsigned char *)buffers[0]->address, 0);
  ck_assert(over(fill(unrelated, 0, 64, 64, 3)));
  ck_assert_uint_eq(*(unsigned char *)(buffers[0]->address + 64), 3);
  struct engine_statistics statistics;
  engine_statistics(engine, &statistics);
  ck_assert_uint_eq(statistics.failed, 1);
  ck_assert_uint_eq(statistics.skipped, 4);
  struct failure failure;
  ck_assert(!stream_failure_take(unrelated, &failure));
  ck_assert(stream_failure_take(stream, &failure));
  ck_assert_int_eq(failure.status, HRX_EXECUTION);
  ck_assert_int_eq(failure.reason, HRX_REASON_ADDRESS);
  ck_assert_str_eq(failure.message, "the fake kernel failed");
  ck_assert(!stream_failure_take(stream, &failure));
  ck_assert(!engine_failure_take(engine, &failure));
  fill(stream, 0, 0, 64, 4);
  ck_assert_uint_eq(*(unsigned char *)buffers[0]->address, 4);
  stream_release(stream);
  stream_release(unrelated);
}
END_TEST

static hrx_status fail_call(void *context) {
  return hrx_fail(HRX_IO, "host function %s failed", (const char *)context);
}

START_TEST(the_engine_reports_the_oldest_failure_once_also_of_released_streams) {
  struct stream *one = stream_new(), *two = stream_new();
  wait_point(host(one, fail_call, "A", NULL, false));
  wait_point(host(two, fail_call, "B", NULL, false));
  struct clock event = {0};
  stream_clock(one, &event);
  stream_wait_clock(two, &event);
  wait_point(host(two, count_call, NULL, NULL, false)); /* skipped because of A or B */
  stream_release(one);
  struct failure failure;
  ck_assert(engine_failure_take(engine, &failure));
  ck_assert_str_eq(failure.message, "host function A failed");
  ck_assert(engine_failure_take(engine, &failure));
  ck_assert_str_eq(failure.message, "host function B failed");
  ck_assert(!engine_failure_take(engine, &failure));
  clock_finish(&event);
  stream_release(two);
}
END_TEST

static _Atomic uint32_t gate;
static hrx_status wait_gate(void *context) {
  (void)context;
  while (gate == 0) futex_wait(&gate, 0, UINT64_MAX);
  return HRX_OK;
}
static hrx_status open_gate(void *context) {
  (void)context;
  gate = 1;
  futex_wake(&gate, INT32_MAX);
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  return sigismember(&now, SIGINT) == 1 ? HRX_OK : HRX_INVALID;
}

START_TEST(host_functions_that_wait_for_each_other_get_threads) {
  struct stream *streams[20];
  gate = 0;
  for (int i = 0; i < 20; i++) streams[i] = stream_new();
  for (int i = 0; i < 19; i++) host(streams[i], wait_gate, NULL, NULL, false);
  host(streams[19], open_gate, NULL, NULL, false);
  struct failure failure;
  for (int i = 0; i < 20; i++) {
    wait_stream(streams[i]);
    ck_assert(!stream_failure_take(streams[i], &failure));
    stream_release(streams[i]);
  }
}
END_TEST

static hrx_status meet(void *context) {
  (void)context;
  gate++;
  futex_wake(&gate, INT32_MAX);
  for (uint32_t met = gate; met < 8; met = gate) futex_wait(&gate, met, UINT64_MAX);
  return HRX_OK;
}

/* One step makes all of them ready; that some threads are idle at that moment must not cost the others theirs. */
START_TEST(host_functions_that_become_ready_at_once_all_get_threads) {
  struct stream *first = stream_new(), *streams[8];
  for (int i = 0; i < 8; i++) streams[i] = stream_new();
  for (int i = 0; i < 2; i++) host(streams[i], count_call, NULL, NULL, false);
  for (int i = 0; i < 2; i++) wait_stream(streams[i]);
  gate = 0;
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(first, slow, true, NOTHING);
  struct clock event = {0};
  stream_clock(first, &event);
  for (int i = 0; i < 8; i++) {
    stream_wait_clock(streams[i], &event);
    host(streams[i], meet, NULL, NULL, false);
  }
  fake_done(slow);
  for (int i = 0; i < 8; i++) {
    wait_stream(streams[i]);
    stream_release(streams[i]);
  }
  clock_finish(&event);
  stream_release(first);
}
END_TEST

static struct {
  struct stream *stream;
  _Atomic int done;
} flood;

static void *flood_main(void *context) {
  (void)context;
  for (int i = 0; i < 20000; i++) fill(flood.stream, 0, 0, 16, (uint32_t)i);
  flood.done = 1;
  return NULL;
}

START_TEST(a_stream_queues_16384_tasks_and_then_blocks) {
  flood.stream = stream_new();
  flood.done = 0;
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(flood.stream, slow, true, NOTHING);
  pthread_t thread;
  pthread_create(&thread, NULL, flood_main, NULL);
  struct engine_statistics statistics;
  do engine_statistics(engine, &statistics);
  while (statistics.tasks < 16384);
  /* the queue is full, and still other streams go on: no lock is held */
  struct stream *other = stream_new();
  ck_assert(over(fill(other, 1, 0, 16, 1)));
  engine_statistics(engine, &statistics);
  ck_assert_uint_eq(statistics.tasks, 16385);
  ck_assert_int_eq(flood.done, 0);
  fake_done(slow);
  pthread_join(thread, NULL);
  wait_stream(flood.stream);
  ck_assert_uint_eq(*(unsigned char *)buffers[0]->address, 19999 & 255);
  stream_release(flood.stream);
  stream_release(other);
}
END_TEST

START_TEST(a_thousand_streams_live_and_a_hundred_thousand_pass) {
  static struct stream *streams[1000];
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct stream *first = stream_new();
  dispatch(first, slow, false, access_of(0, 0, 64, ACCESS_READ));
  struct clock event = {0}, all = {0};
  stream_clock(first, &event);
  for (int i = 0; i < 1000; i++) {
    streams[i] = stream_new();
    stream_wait_clock(streams[i], &event);
    fill(streams[i], 0, 0, 64, (uint32_t)i);
  }
  struct point gathered = {0, 0};
  for (int i = 0; i < 1000; i++) {
    ck_assert(!stream_idle(streams[i]));
    stream_clock(streams[i], &all);
  }
  ck_assert_uint_eq(all.count, 1001);
  stream_wait_clock(first, &all);
  gathered = submit(first, &(struct task){.kind = TASK_JOIN, .opaque = true});
  ck_assert(!over(gathered));
  for (int i = 0; i < 1000; i++) stream_release(streams[i]); /* their work still runs */
  struct clock device = {0};
  ck_assert_int_eq(engine_clock(engine, &device), HRX_OK);
  ck_assert_uint_eq(device.count, 1001);
  fake_done(slow);
  wait_point(gathered);
  ck_assert(engine_clock_over(engine, &all));
  ck_assert(engine_clock_over(engine, &device));
  clock_finish(&all);
  clock_finish(&event);
  clock_finish(&device);
  struct point before = fill(first, 1, 0, 8, 0);
  for (int i = 0; i < 100000; i++) {
    struct stream *stream = stream_new();
    if (i % 100 == 0) fill(stream, 1, 0, 8, (uint32_t)i);
    stream_release(stream);
  }
  ck_assert(over(before));
  stream_release(first);
}
END_TEST

/* A chain of dispatches that are done inside start must not nest. */
START_TEST(a_long_chain_needs_no_deep_stack) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  dispatch(stream, slow, true, NOTHING);
  for (int i = 0; i < 16000; i++) dispatch(stream, fake_dispatch_new(FAKE_AT_ONCE, HRX_OK, NULL, NULL), true, NOTHING);
  fake_done(slow);
  ck_assert(stream_idle(stream));
  ck_assert_int_eq(fake_released, 16001);
  stream_release(stream);
}
END_TEST

START_TEST(times_are_stamped_before_the_point_is_over) {
  struct stream *stream = stream_new();
  uint64_t started = 0, finished = 0, before = time_now_ns();
  struct fake_dispatch *fake = fake_dispatch_new(FAKE_THREAD, HRX_OK, NULL, NULL);
  struct point point = submit(stream, &(struct task){.kind = TASK_DISPATCH,
                                                     .opaque = true,
                                                     .dispatch = &fake->base,
                                                     .out_started_ns = &started,
                                                     .out_finished_ns = &finished});
  wait_point(point);
  ck_assert_uint_ge(started, before);
  ck_assert_uint_ge(finished, started);
  stream_release(stream);
}
END_TEST

START_TEST(three_dimensions_touch_only_their_bytes) {
  struct stream *stream = stream_new();
  unsigned char *bytes = (unsigned char *)buffers[0]->address;
  struct task task = {.kind = TASK_FILL,
                      .fill = {.destination = bytes,
                               .pitch = 16,
                               .slice_pitch = 64,
                               .width = 6,
                               .height = 3,
                               .depth = 2,
                               .pattern = 0x1234,
                               .element_bytes = 2}};
  submit(stream, &task);
  for (size_t i = 0; i < 128; i++) {
    bool inside = i % 16 < 6 && i % 64 / 16 < 3;
    ck_assert_uint_eq(bytes[i], !inside ? 0 : i % 2 == 0 ? 0x34 : 0x12);
  }
  unsigned char *other = (unsigned char *)buffers[1]->address;
  struct task back = {.kind = TASK_COPY,
                      .copy = {.destination = other,
                               .destination_pitch = 6,
                               .destination_slice_pitch = 18,
                               .source = bytes,
                               .source_pitch = 16,
                               .source_slice_pitch = 64,
                               .width = 6,
                               .height = 3,
                               .depth = 2}};
  submit(stream, &back);
  for (size_t i = 0; i < 40; i++) ck_assert_uint_eq(other[i], i >= 36 ? 0 : i % 2 == 0 ? 0x34 : 0x12);
  stream_release(stream);
}
END_TEST

START_TEST(a_forked_child_is_told_and_does_not_hang) {
  struct stream *stream = stream_new();
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct clock clock = {0};
  clock_include(&clock, dispatch(stream, slow, true, NOTHING));
  engine_fork_prepare(engine);
  pid_t child = fork();
  engine_fork_done(engine, child == 0);
  if (child == 0) {
    struct point point;
    int wrong = 0;
    wrong |= !engine_forked(engine);
    wrong |= stream_submit(stream, &(struct task){.kind = TASK_JOIN}, &point) != HRX_DEVICE_LOST;
    wrong |= engine_clock_wait(engine, &clock, UINT64_MAX) != HRX_DEVICE_LOST;
    stream_release(stream);
    engine_release(engine);
    _exit(wrong);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert(!engine_forked(engine));
  fake_done(slow);
  wait_stream(stream);
  stream_release(stream);
}
END_TEST

START_TEST(a_child_of_an_unused_engine_goes_on) {
  engine_fork_prepare(engine);
  pid_t child = fork();
  engine_fork_done(engine, child == 0);
  if (child == 0) {
    struct stream *stream = NULL;
    struct point point;
    int wrong = engine_forked(engine);
    wrong |= stream_create(engine, 0, &stream) != HRX_OK;
    wrong |= wrong || stream_submit(stream, &(struct task){.kind = TASK_JOIN}, &point) != HRX_OK;
    _exit(wrong);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("engine");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 60);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, what_does_not_conflict_overtakes_and_what_does_waits);
  tcase_add_test(tests, reads_share_and_atomics_commute);
  tcase_add_test(tests, empty_accesses_have_no_effect_and_wrong_ones_are_refused);
  tcase_add_test(tests, an_opaque_task_keeps_the_whole_order);
  tcase_add_test(tests, unordered_streams_do_not_wait_even_if_they_conflict);
  tcase_add_test(tests, a_waiter_runs_what_it_waits_for);
  tcase_add_test(tests, a_wait_ends_at_its_deadline);
  tcase_add_test(tests, a_failure_skips_what_follows_until_it_is_taken);
  tcase_add_test(tests, the_engine_reports_the_oldest_failure_once_also_of_released_streams);
  tcase_add_test(tests, host_functions_that_wait_for_each_other_get_threads);
  tcase_add_test(tests, host_functions_that_become_ready_at_once_all_get_threads);
  tcase_add_test(tests, a_stream_queues_16384_tasks_and_then_blocks);
  tcase_add_test(tests, a_thousand_streams_live_and_a_hundred_thousand_pass);
  tcase_add_test(tests, a_long_chain_needs_no_deep_stack);
  tcase_add_test(tests, times_are_stamped_before_the_point_is_over);
  tcase_add_test(tests, three_dimensions_touch_only_their_bytes);
  tcase_add_test(tests, a_forked_child_is_told_and_does_not_hang);
  tcase_add_test(tests, a_child_of_an_unused_engine_goes_on);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
