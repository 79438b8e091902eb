/* Submissions and what is seen of them (hrx/graph.h) on the software GPU. */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "native_use.h"

/* Allocations of this process: the replay must make none. Sanitizers have an allocator of their own. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { COUNTED = 0 };
static _Atomic unsigned long allocations;
#else
enum { COUNTED = 1 };
static _Atomic unsigned long allocations;
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  allocations++;
  return __libc_realloc(memory, bytes);
}
#endif

START_TEST(what_is_seen_before_and_after_the_end) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime);
  struct gate gate;
  gate_init(&gate);
  hrx_executable *executable = gated(runtime, &gate, a);
  hrx_completion *completion = submitted(executable), *observer = hrx_completion_retain(completion);
  int descriptor;
  OK(hrx_completion_event_fd(completion, &descriptor));
  down(&gate.begun);
  struct pollfd poll_of = {.fd = descriptor, .events = POLLIN};
  ck_assert_int_eq(poll(&poll_of, 1, 0), 0);
  ck_assert(!hrx_completion_is_complete(completion));
  FAILS(hrx_completion_result(completion), HRX_BUSY, HRX_REASON_DEVICE_WORK);
  ck_assert_int_eq(hrx_completion_wait_timeout(completion, 1000000), HRX_TIMEOUT); /* and is not cancelled */
  sem_post(&gate.open);
  OK(hrx_completion_wait(completion));
  ck_assert_uint_eq(gate.passed, 1);
  ck_assert_int_eq(poll(&poll_of, 1, 5000), 1);
  OK(hrx_completion_result(observer));
  OK(hrx_completion_wait_timeout(observer, 0));
  hrx_profile profile = {.size = sizeof profile};
  OK(hrx_completion_profile(observer, &profile));
  ck_assert_uint_ge(profile.run_ns, 1000000); /* it ran while the timeout passed */
  OK(hrx_completion_cancel(completion));      /* too late: no error */
  OK(hrx_completion_result(completion));
  close(descriptor);
  OK(hrx_completion_event_fd(completion, &descriptor)); /* of one that is over: readable at once */
  poll_of.fd = descriptor;
  ck_assert_int_eq(poll(&poll_of, 1, 0), 1);
  close(descriptor);
  hrx_completion_release(completion);
  hrx_completion_release(observer);
  hrx_executable_release(executable);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(one_slot_is_enough_for_submit_and_wait) {
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.max_submissions = 1, .graph_slots = 1});
  hrx_buffer *a = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  hrx_executable *executable = prepared(graph);
  hrx_completion *held = submitted(executable); /* an observer keeps no slot */
  OK(hrx_completion_wait(held));
  for (int i = 0; i < 10000; i++) run_once(executable);
  words_are(a, 10001);
  hrx_completion_release(held);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(a_full_queue_can_be_tried_again) {
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.max_submissions = 2, .graph_slots = 1});
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  struct gate gate;
  gate_init(&gate);
  hrx_executable *gate_executable = gated(runtime, &gate, a), *other = filling(runtime, a, 1), *third = filling(runtime, b, 2);
  hrx_completion *first = submitted(gate_executable), *second, *none = NULL;
  FAILS(hrx_executable_submit(gate_executable, &none), HRX_BUSY, HRX_REASON_SLOTS);
  second = submitted(other);
  FAILS(hrx_executable_submit(third, &none), HRX_BUSY, HRX_REASON_CAPACITY);
  ck_assert_ptr_null(none);
  sem_post(&gate.open);
  finish(first);
  finish(second);
  run_once(third);
  words_are(b, 0x02020202);
  words_are(a, 0x01010101);
  hrx_executable_release(gate_executable);
  hrx_executable_release(other);
  hrx_executable_release(third);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(observing_the_last_retires_all_before_it) {
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.max_submissions = 32, .graph_slots = 32});
  hrx_buffer *a = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  hrx_executable *executable = prepared(graph);
  for (int round = 0; round < 50; round++) {
    hrx_completion *completions[32];
    for (int i = 0; i < 32; i++) completions[i] = submitted(executable);
    OK(hrx_completion_wait(completions[31]));
    for (int i = 0; i < 32; i++) {
      ck_assert(hrx_completion_is_complete(completions[i]));
      hrx_completion_release(completions[i]);
    }
  }
  words_are(a, 50 * 32);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(cancelling_frees_the_slot_and_starts_nothing_early) {
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.max_submissions = 3});
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  struct gate gate;
  gate_init(&gate);
  hrx_executable *first = gated(runtime, &gate, a), *second = filling(runtime, a, 7), *beside = filling(runtime, b, 5);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  hrx_executable *third = prepared(graph);
  hrx_completion *completions[] = {submitted(first), submitted(second), submitted(third)}, *none;
  down(&gate.begun);
  FAILS(hrx_executable_submit(beside, &none), HRX_BUSY, HRX_REASON_CAPACITY);
  OK(hrx_completion_cancel(completions[1]));
  ck_assert(hrx_completion_is_complete(completions[1])); /* at once: nothing of it runs */
  ck_assert_int_eq(hrx_completion_wait(completions[1]), HRX_CANCELLED);
  run_once(beside);                                        /* its capacity is free */
  ck_assert(!hrx_completion_is_complete(completions[2])); /* what came after it still waits for the first */
  words_are(a, 0);
  sem_post(&gate.open);
  finish(completions[0]);
  ck_assert_int_eq(hrx_completion_wait(completions[2]), HRX_CANCELLED); /* it needed what was never written */
  words_are(a, 0);
  run_once(third);
  words_are(a, 1);
  hrx_completion_release(completions[1]);
  hrx_completion_release(completions[2]);
  hrx_executable_release(first);
  hrx_executable_release(second);
  hrx_executable_release(third);
  hrx_executable_release(beside);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

static hrx_status give_up(void *context) {
  (void)context;
  return HRX_IO;
}

START_TEST(a_failed_producer_fails_its_consumer_and_poisons_nothing) {
  hrx_runtime *runtime = runtime_new(), *other_runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime), *foreign = buffer_new(other_runtime);
  hrx_graph *graph = graph_new(runtime);
  hrx_view_access access = {whole(a), HRX_WRITE};
  OK(hrx_graph_host(graph, &access, 1, give_up, NULL, NULL, NULL));
  hrx_executable *producer = prepared(graph), *consumer = filling(runtime, b, 5), *elsewhere = filling(other_runtime, foreign, 1);
  hrx_completion *failed = submitted(producer), *dependent, *apart = submitted(elsewhere), *none;
  OK(hrx_executable_submit_after(consumer, &failed, 1, &dependent));
  ck_assert_int_eq(hrx_completion_wait(dependent), HRX_IO);
  words_are(b, 0);
  FAILS(hrx_executable_submit_after(consumer, &apart, 1, &none), HRX_INVALID, HRX_REASON_FOREIGN);
  run_once(consumer);
  words_are(b, 0x05050505);
  hrx_completion *good = submitted(consumer), *after[] = {good, good}, *last;
  OK(hrx_executable_submit_after(consumer, after, 2, &last));
  finish(last);
  finish(good);
  finish(apart);
  hrx_completion_release(failed);
  hrx_completion_release(dependent);
  hrx_executable_release(producer);
  hrx_executable_release(consumer);
  hrx_executable_release(elsewhere);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_buffer_release(foreign);
  hrx_runtime_release(runtime);
  hrx_runtime_release(other_runtime);
}
END_TEST

START_TEST(an_uncertain_failure_poisons_what_it_could_write) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  hrx_gpu_kernel *trap = trap_kernel(runtime);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, trap, (hrx_view[]){whole(a)}, 1, NULL));
  hrx_executable *executable = prepared(graph), *reader, *beside = filling(runtime, b, 3);
  graph = graph_new(runtime);
  OK(hrx_graph_copy(graph, whole(b), whole(a), NULL));
  reader = prepared(graph);
  hrx_completion *completion = submitted(executable), *none;
  ck_assert_int_eq(hrx_completion_wait(completion), HRX_EXECUTION);
  ck_assert_int_eq(hrx_completion_wait(completion), HRX_EXECUTION); /* everybody sees it, every time */
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "trap"));
  FAILS(hrx_executable_submit(reader, &none), HRX_DEVICE_LOST, HRX_REASON_POISONED);
  run_once(beside);
  words_are(b, 0x03030303);
  hrx_completion_release(completion);
  hrx_executable_release(executable);
  hrx_executable_release(reader);
  hrx_executable_release(beside);
  hrx_gpu_kernel_release(trap);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

struct call {
  sem_t called;
  hrx_status seen;
};

static void call_note(void *context, hrx_completion *completion) {
  struct call *call = context;
  call->seen = hrx_completion_result(completion);
  sem_post(&call->called);
}

START_TEST(callbacks_come_once_whenever_they_were_asked_for) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime);
  struct gate gate;
  gate_init(&gate);
  struct call before, after;
  sem_init(&before.called, 0, 0);
  sem_init(&after.called, 0, 0);
  hrx_executable *executable = gated(runtime, &gate, a);
  hrx_completion *completion = submitted(executable);
  OK(hrx_completion_on_complete(completion, call_note, &before));
  down(&gate.begun);
  ck_assert_int_ne(sem_trywait(&before.called), 0);
  sem_post(&gate.open);
  down(&before.called);
  ck_assert_int_eq(before.seen, HRX_OK);
  OK(hrx_completion_on_complete(completion, call_note, &after));
  hrx_completion_release(completion);
  hrx_executable_release(executable);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
  down(&after.called);
  ck_assert_int_eq(after.seen, HRX_OK);
  ck_assert_int_ne(sem_trywait(&before.called), 0);
}
END_TEST

START_TEST(submission_order_follows_failures_too) {
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.order = HRX_ORDER_SUBMISSION});
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  struct gate gate;
  gate_init(&gate);
  hrx_graph *graph = graph_new(runtime);
  hrx_view_access access = {whole(a), HRX_WRITE};
  OK(hrx_graph_host(graph, &access, 1, give_up, NULL, NULL, NULL));
  hrx_executable *first = gated(runtime, &gate, a), *failing = prepared(graph), *unrelated = filling(runtime, b, 4);
  hrx_completion *completions[] = {submitted(first), submitted(failing), submitted(unrelated)};
  down(&gate.begun);
  ck_assert_int_eq(hrx_completion_wait_timeout(completions[2], 2000000), HRX_TIMEOUT); /* conflicts with nothing, but waits */
  words_are(b, 0);
  sem_post(&gate.open);
  finish(completions[2]); /* not failed by what it merely follows */
  words_are(b, 0x04040404);
  ck_assert(hrx_completion_is_complete(completions[1]));
  ck_assert_int_eq(hrx_completion_result(completions[1]), HRX_IO);
  finish(completions[0]);
  hrx_completion_release(completions[1]);
  hrx_executable_release(first);
  hrx_executable_release(failing);
  hrx_executable_release(unrelated);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

/* Without Check's macros, which allocate. */
static bool run_often(hrx_executable *executable, int times) {
  hrx_completion *completion;
  for (int i = 0; i < times; i++) {
    if (hrx_executable_submit(executable, &completion) != HRX_OK || hrx_completion_wait(completion) != HRX_OK) return false;
    hrx_completion_release(completion);
  }
  return true;
}

START_TEST(a_replay_allocates_nothing) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  for (int i = 0; i < 16; i++) {
    OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
    OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(b)}, 1, NULL));
  }
  hrx_executable *executable = prepared(graph);
  ck_assert(run_often(executable, 2000)); /* until pools have seen what runs at once */
  unsigned long before = allocations;
  bool done = run_often(executable, 1000);
  unsigned long after = allocations;
  ck_assert(done);
  if (COUNTED) ck_assert_uint_le(after - before, 2); /* none a run; a pool may still reach its peak */
  words_are(a, 16 * 3000);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(readers_without_end_cost_nothing_more) {
  enum { EARLIER = COUNTED ? 100000 : 5000 };
  hrx_runtime *runtime = runtime_with((hrx_runtime_options){.graph_slots = 4});
  hrx_buffer *shared = buffer_of(runtime, 64, HRX_HOST_VISIBLE), *a = buffer_of(runtime, 64, HRX_HOST_VISIBLE);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_copy(graph, whole(a), whole(shared), NULL));
  hrx_executable *executable = prepared(graph);
  for (int i = 0; i < 100; i++) run_once(executable);
  unsigned long before = allocations;
  bool done = run_often(executable, EARLIER);
  unsigned long after = allocations;
  ck_assert(done);
  if (COUNTED) ck_assert_uint_le(after - before, 2);
  hrx_executable *writer = filling(runtime, shared, 1);
  hrx_statistics first = {.size = sizeof first}, second = {.size = sizeof second};
  OK(hrx_runtime_statistics(runtime, &first));
  run_once(writer);
  OK(hrx_runtime_statistics(runtime, &second));
  ck_assert_uint_le(second.edges_inferred - first.edges_inferred, 8); /* not one for each reader */
  ck_assert_uint_eq(second.submissions, EARLIER + 101);
  ck_assert_uint_eq(second.completions, second.submissions);
  hrx_executable_release(executable);
  hrx_executable_release(writer);
  hrx_buffer_release(shared);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

struct submitter {
  hrx_executable *executable;
  unsigned done;
};

static void *submit_many(void *context) {
  struct submitter *submitter = context;
  while (submitter->done < 500) {
    hrx_completion *completion;
    hrx_status status = hrx_executable_submit(submitter->executable, &completion);
    if (status == HRX_BUSY) continue;
    if (status != HRX_OK || hrx_completion_wait(completion) != HRX_OK) break;
    hrx_completion_release(completion);
    submitter->done++;
  }
  return NULL;
}

START_TEST(threads_may_share_an_executable) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  struct submitter submitters[4];
  pthread_t threads[4];
  hrx_executable *executable = prepared(graph);
  for (int i = 0; i < 4; i++) {
    submitters[i] = (struct submitter){executable, 0};
    pthread_create(&threads[i], NULL, submit_many, &submitters[i]);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_uint_eq(submitters[i].done, 500);
  }
  words_are(a, 2000);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {what_is_seen_before_and_after_the_end, one_slot_is_enough_for_submit_and_wait, a_full_queue_can_be_tried_again,
                                observing_the_last_retires_all_before_it, cancelling_frees_the_slot_and_starts_nothing_early,
                                a_failed_producer_fails_its_consumer_and_poisons_nothing, an_uncertain_failure_poisons_what_it_could_write,
                                callbacks_come_once_whenever_they_were_asked_for, submission_order_follows_failures_too,
                                a_replay_allocates_nothing, readers_without_end_cost_nothing_more, threads_may_share_an_executable, NULL};
  return suite_run("native_completion", tests);
}
