/* Prepared graphs: failures and poison, holds, cancelling, what comes after a run, who is told. */
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "base/futex.h"
#include "engine/hold.h"
#include "tests/unit/graph_use.h"

START_TEST(failures_pass_to_readers_not_to_overwriters) {
  program_reset();
  kernel(FAKE_AT_ONCE, HRX_INVALID, on(0, 0, 64, ACCESS_READ), on(1, 0, 64, ACCESS_WRITE));
  uint32_t reader = kernel(FAKE_AT_ONCE, HRX_OK, on(1, 0, 64, ACCESS_READ), on(2, 0, 64, ACCESS_WRITE));
  uint32_t over = kernel(FAKE_AT_ONCE, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t last = kernel(FAKE_AT_ONCE, HRX_OK, on(2, 0, 64, ACCESS_READ), on(0, 0, 64, ACCESS_READ));
  struct graph *graph = prepare(1);
  ck_assert_int_eq(finish(submit(graph)), HRX_INVALID);
  ck_assert_int_eq(program.made[reader][0]->state, 0);
  ck_assert_int_eq(program.made[over][0]->state, 2);
  ck_assert_int_eq(program.made[last][0]->state, 0);
  ck_assert_int_eq(finish(submit(graph)), HRX_INVALID); /* clean: it can be tried again */
  graph_release(graph);
}
END_TEST

START_TEST(an_uncertain_failure_poisons_what_it_could_write) {
  program_reset();
  kernel(FAKE_AT_ONCE, HRX_EXECUTION, on(0, 0, 64, ACCESS_READ), on(1, 0, 64, ACCESS_WRITE));
  struct graph *graph = prepare(1);
  ck_assert_int_eq(finish(submit(graph)), HRX_EXECUTION);
  struct run *run = NULL;
  ck_assert_int_eq(graph_submit(graph, NULL, &run), HRX_DEVICE_LOST);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_POISONED);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "kernel"));
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "the fake kernel failed"));
  struct access access = on(1, 63, 1, ACCESS_READ), beside = on(1, 64, 1, ACCESS_READ);
  struct hold hold = {.kind = HOLD_READ, .accesses = &access, .access_count = 1};
  ck_assert_int_eq(hold_take(engine, &hold, false, UINT64_MAX), HRX_DEVICE_LOST);
  hold.accesses = &beside;
  ck_assert_int_eq(hold_take(engine, &hold, false, UINT64_MAX), HRX_OK);
  hold_drop(engine, &hold);
  engine_storage_forget(engine, buffers[1]->storage);
  ck_assert_int_eq(finish(submit(graph)), HRX_EXECUTION);
  graph_release(graph);
}
END_TEST

START_TEST(holds_refuse_and_wait) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_READ), NOTHING);
  struct graph *graph = prepare(1);
  struct access whole = on(0, 0, 1024, ACCESS_READ_WRITE), beside = on(0, 64, 64, ACCESS_READ_WRITE);
  struct hold one = {.kind = HOLD_READ, .accesses = &whole, .access_count = 1};
  struct hold two = {.kind = HOLD_READ, .accesses = &beside, .access_count = 1};
  struct run *run = submit(graph), *refused = NULL;
  ck_assert_int_eq(hold_take(engine, &one, true, UINT64_MAX), HRX_OK); /* both only read */
  ck_assert_int_eq(hold_take(engine, &two, true, UINT64_MAX), HRX_OK);
  hold_drop(engine, &two);
  two.kind = HOLD_WRITE;
  ck_assert_int_eq(hold_take(engine, &two, false, UINT64_MAX), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_MAPPED);
  hold_drop(engine, &one);
  one.kind = HOLD_WRITE;
  ck_assert_int_eq(hold_take(engine, &one, true, UINT64_MAX), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_DEVICE_WORK);
  ck_assert_int_eq(hold_take(engine, &one, false, time_now_ns()), HRX_TIMEOUT);
  ck_assert_int_eq(hold_take(engine, &two, false, UINT64_MAX), HRX_OK); /* beside: nothing of the above is held */
  hold_drop(engine, &two);
  end(a);
  ck_assert_int_eq(finish(run), HRX_OK);
  ck_assert_int_eq(hold_take(engine, &one, false, UINT64_MAX), HRX_OK);
  ck_assert_int_eq(graph_submit(graph, NULL, &refused), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_MAPPED);
  hold_drop(engine, &one);
  struct stream *stream = stream_new();
  one.kind = HOLD_HANDOFF;
  one.stream = stream;
  ck_assert_int_eq(hold_take(engine, &one, false, UINT64_MAX), HRX_OK);
  ck_assert_int_eq(hold_check(engine, &beside, 1, stream), HRX_OK);
  ck_assert_int_eq(hold_check(engine, &beside, 1, NULL), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_HANDED_OFF);
  two.kind = HOLD_HANDOFF;
  ck_assert_int_eq(hold_take(engine, &two, false, UINT64_MAX), HRX_BUSY);
  hold_drop(engine, &one);
  ck_assert_int_eq(hold_check(engine, &beside, 1, NULL), HRX_OK);
  run = submit(graph);
  end(a);
  ck_assert_int_eq(finish(run), HRX_OK);
  stream_release(stream);
  graph_release(graph);
}
END_TEST

START_TEST(cancelling_what_is_blocked_frees_it_at_once_and_starts_nothing_early) {
  program_reset();
  program.capacity.most = 2;
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_READ_WRITE), NOTHING);
  struct graph *graph = prepare_as(GRAPH_INFERRED, 2, &program.capacity);
  struct run *one = submit(graph), *two = submit(graph), *three = NULL;
  ck_assert_int_eq(graph_submit(graph, NULL, &three), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_CAPACITY);
  run_cancel(two);
  ck_assert_int_eq(result(two), HRX_CANCELLED);
  three = submit(graph); /* both limits have room again */
  ck_assert_int_eq(fake_started, 1);
  ck_assert(!run_over(three));
  run_cancel(one); /* runs: drains */
  ck_assert(!run_over(one));
  end(a);
  ck_assert_int_eq(finish(one), HRX_OK);
  ck_assert_int_eq(fake_started, 2);
  end(a);
  ck_assert_int_eq(finish(three), HRX_OK);
  run_release(two);
  for (int i = 0; i < 8; i++) { /* zombies and their replacements go round */
    one = submit(graph);
    two = submit(graph);
    run_cancel(two);
    run_release(two);
    two = submit(graph);
    end(a);
    end(a);
    ck_assert_int_eq(finish(one), HRX_OK);
    ck_assert_int_eq(finish(two), HRX_OK);
  }
  ck_assert_uint_le(program.made_count[a], 3);
  ck_assert_uint_eq(program.capacity.inflight, 0);
  graph_release(graph);
}
END_TEST

START_TEST(nodes_behind_the_running_one_are_cancelled) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_READ), NOTHING);
  struct graph *graph = prepare(1);
  struct run *run = submit(graph);
  run_cancel(run);
  end(a);
  ck_assert_int_eq(finish(run), HRX_CANCELLED);
  ck_assert_int_eq(program.made[b][0]->state, 0);
  graph_release(graph);
}
END_TEST

START_TEST(after_a_run) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_INVALID, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *first = prepare(1);
  struct graph_node node = {.task = {.kind = TASK_FILL,
                                     .accesses = (struct access[]){on(1, 0, 64, ACCESS_WRITE)},
                                     .access_count = 1,
                                     .fill = {.destination = (void *)buffers[1]->address, .width = 64, .height = 1, .depth = 1,
                                              .pattern = 3, .element_bytes = 1}}};
  struct graph *second = NULL;
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){.slots = 2}, &node, 1, &second), HRX_OK);
  struct run *producer = submit(first);
  struct run *consumer = submit_as(second, &(struct run_options){.after = &producer, .after_count = 1});
  ck_assert(!run_over(consumer));
  end(a);
  ck_assert_int_eq(result(producer), HRX_INVALID);
  ck_assert_int_eq(finish(consumer), HRX_INVALID);
  consumer = submit_as(second, &(struct run_options){.after = &producer, .after_count = 1}); /* also afterwards */
  ck_assert_int_eq(finish(consumer), HRX_INVALID);
  ck_assert_int_eq(byte_at(1, 0), 0);
  ck_assert_int_eq(finish(submit(second)), HRX_OK);
  ck_assert_int_eq(byte_at(1, 0), 3);
  run_release(producer);
  graph_release(first);
  graph_release(second);
}
END_TEST

static void called(void *context, struct run *run) {
  ck_assert(run_over(run));
  _Atomic uint32_t *word = context;
  atomic_fetch_add(word, 1);
  futex_wake(word, 1);
}

START_TEST(callback_and_descriptor) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare(1);
  _Atomic uint32_t calls = 0;
  struct run *run = submit_as(graph, &(struct run_options){.done = called, .context = (void *)&calls});
  int before = -1, again = -1, after = -1;
  ck_assert_int_eq(run_event_fd(run, &before), HRX_OK);
  ck_assert_int_eq(run_event_fd(run, &again), HRX_OK);
  struct pollfd poll_before = {.fd = before, .events = POLLIN};
  ck_assert_int_eq(poll(&poll_before, 1, 0), 0);
  close(again);
  end(a);
  ck_assert_int_eq(poll(&poll_before, 1, 10000), 1);
  ck_assert_int_eq(run_event_fd(run, &after), HRX_OK);
  struct pollfd poll_after = {.fd = after, .events = POLLIN};
  ck_assert_int_eq(poll(&poll_after, 1, 0), 1);
  while (atomic_load(&calls) == 0) futex_wait(&calls, 0, UINT64_MAX);
  close(before);
  close(after);
  uint64_t submitted, started, finished;
  run_times(run, &submitted, &started, &finished);
  ck_assert(submitted != 0 && started >= submitted && finished >= started);
  ck_assert_int_eq(finish(run), HRX_OK);
  graph_release(graph);
  ck_assert_uint_eq(calls, 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph_failure");
  TCase *tests = tcase_create("all");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, failures_pass_to_readers_not_to_overwriters);
  tcase_add_test(tests, an_uncertain_failure_poisons_what_it_could_write);
  tcase_add_test(tests, holds_refuse_and_wait);
  tcase_add_test(tests, cancelling_what_is_blocked_frees_it_at_once_and_starts_nothing_early);
  tcase_add_test(tests, nodes_behind_the_running_one_are_cancelled);
  tcase_add_test(tests, after_a_run);
  tcase_add_test(tests, callback_and_descriptor);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
