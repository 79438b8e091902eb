/* The recorder and executables (hrx/graph.h) on the software GPU. */
#include "native_use.h"

#include <pthread.h>
#include <unistd.h>

START_TEST(operations_run_as_if_one_by_one) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime), *c = buffer_of(runtime, BYTES, HRX_GPU_LOCAL);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 5), *sum = sum_kernel(runtime);
  hrx_graph *graph = graph_new(runtime);
  hrx_node node;
  OK(hrx_graph_fill(graph, whole(a), 1, &node));
  ck_assert_uint_eq(node, 0);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, &node));
  OK(hrx_graph_copy(graph, whole(b), whole(a), NULL));
  OK(hrx_graph_gpu(graph, sum, (hrx_view[]){whole(c), whole(a), whole(b)}, 3, NULL));
  OK(hrx_graph_fill(graph, whole(b), 0, &node)); /* after the sum has read it */
  ck_assert_uint_eq(node, 4);
  hrx_executable *executable = prepared(graph);
  for (int i = 0; i < 50; i++) {
    memset(hrx_buffer_address(c), 0, BYTES);
    run_once(executable);
    words_are(a, 0x01010106);
    words_are(b, 0);
    words_are(c, 2 * 0x01010106);
  }
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_gpu_kernel_release(sum);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_buffer_release(c);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(a_refused_record_changes_nothing) {
  hrx_runtime *runtime = runtime_new(), *other = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *foreign = buffer_new(other), *local = buffer_of(runtime, BYTES, HRX_GPU_LOCAL);
  hrx_gpu_kernel *sum = sum_kernel(runtime), *other_sum = sum_kernel(other);
  hrx_graph *graph = graph_new(runtime);
  hrx_executable *none;
  FAILS(hrx_graph_prepare(graph, &none), HRX_INVALID, HRX_REASON_EMPTY);
  OK(hrx_graph_fill(graph, whole(a), 1, NULL));

  FAILS(hrx_graph_fill(graph, whole(foreign), 1, NULL), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_graph_fill(graph, slice(a, 8, 0), 1, NULL), HRX_INVALID, HRX_REASON_EMPTY);
  FAILS(hrx_graph_fill(graph, (hrx_view){a, 8, BYTES}, 1, NULL), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_graph_fill(graph, (hrx_view){a, SIZE_MAX - 4, 8}, 1, NULL), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_graph_copy(graph, slice(a, 0, 8), slice(a, 8, 0), NULL), HRX_INVALID, HRX_REASON_EMPTY);
  FAILS(hrx_graph_copy(graph, slice(a, 0, 8), slice(a, 16, 9), NULL), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_graph_copy(graph, slice(a, 0, 8), slice(a, 7, 8), NULL), HRX_INVALID, HRX_REASON_ALIASING);
  FAILS(hrx_graph_copy(graph, whole(local), whole(foreign), NULL), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_graph_copy_on(graph, (hrx_lane)77, whole(local), whole(a), NULL), HRX_INVALID, HRX_REASON_ARGUMENT);
  hrx_view views[] = {whole(local), whole(a), whole(a)};
  FAILS(hrx_graph_gpu(graph, sum, views, 2, NULL), HRX_INVALID, HRX_REASON_CONTRACT);
  FAILS(hrx_graph_gpu(graph, other_sum, views, 3, NULL), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_graph_gpu(graph, sum, (hrx_view[]){whole(a), whole(a), whole(local)}, 3, NULL), HRX_INVALID, HRX_REASON_ALIASING);
  hrx_view_access access = {whole(local), HRX_READ};
  FAILS(hrx_graph_host(graph, &access, 1, gate_pass, NULL, NULL, NULL), HRX_INVALID, HRX_REASON_PLACEMENT);
  FAILS(hrx_graph_host(graph, NULL, 0, NULL, NULL, NULL, NULL), HRX_INVALID, HRX_REASON_ARGUMENT);
  ck_assert_uint_eq(hrx_graph_node_count(graph), 1);

  OK(hrx_graph_copy(graph, slice(a, 0, 8), slice(a, 8, 8), NULL)); /* neighbours do not overlap */
  OK(hrx_graph_gpu(graph, sum, views, 3, NULL));                   /* two that read may */
  ck_assert_uint_eq(hrx_graph_node_count(graph), 3);
  hrx_executable *executable = prepared(graph);
  run_once(executable);
  words_are(local, 0x02020202);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(sum);
  hrx_gpu_kernel_release(other_sum);
  hrx_buffer_release(a);
  hrx_buffer_release(foreign);
  hrx_buffer_release(local);
  hrx_runtime_release(runtime);
  hrx_runtime_release(other);
}
END_TEST

START_TEST(aliasing_form_lets_bindings_overlap) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime);
  hrx_gpu_kernel *sum = sum_kernel(runtime);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_fill(graph, whole(a), 1, NULL));
  for (int i = 0; i < 3; i++) OK(hrx_graph_gpu_aliasing(graph, sum, (hrx_view[]){whole(a), whole(a), whole(a)}, 3, NULL));
  hrx_executable *executable = prepared(graph);
  run_once(executable);
  words_are(a, 0x08080808);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(sum);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(alignment_is_of_the_absolute_address) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_of(runtime, 2 * BYTES, HRX_HOST_VISIBLE);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
  hrx_graph *graph = graph_new(runtime);
  FAILS(hrx_graph_gpu(graph, increment, (hrx_view[]){slice(a, 2, BYTES)}, 1, NULL), HRX_INVALID, HRX_REASON_ALIGNMENT);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){slice(a, 4, BYTES)}, 1, NULL));
  hrx_graph_release(graph);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

static void mark(void *context) { ++*(_Atomic unsigned *)context; }

START_TEST(everything_can_be_released_while_it_runs) {
  for (int round = 0; round < 20; round++) {
    hrx_runtime *runtime = runtime_new();
    struct gate gate;
    gate_init(&gate);
    _Atomic unsigned released = 0;
    hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
    hrx_gpu_kernel *increment = increment_kernel(runtime, 1);
    hrx_graph *graph = graph_new(runtime);
    hrx_view_access access = {whole(a), HRX_READ_WRITE}, last = {whole(b), HRX_READ};
    OK(hrx_graph_host(graph, NULL, 0, gate_pass, &released, mark, NULL));
    hrx_graph_release(graph);
    ck_assert_uint_eq(released, 1); /* nobody prepared it */

    graph = graph_new(runtime);
    OK(hrx_graph_host(graph, &access, 1, gate_pass, &gate, NULL, NULL));
    OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
    OK(hrx_graph_copy(graph, whole(b), whole(a), NULL));
    OK(hrx_graph_host(graph, &last, 1, gate_pass, &gate, NULL, NULL));
    hrx_executable *executable = prepared(graph);
    hrx_completion *completion = submitted(executable);
    down(&gate.begun);
    const unsigned *words = hrx_buffer_address(b);
    hrx_executable_release(executable);
    hrx_gpu_kernel_release(increment);
    hrx_buffer_release(a);
    hrx_buffer_release(b);
    hrx_runtime_release(runtime);
    if (round % 2 == 0) hrx_completion_release(completion);
    sem_post(&gate.open);
    down(&gate.begun); /* the second function: the copy is there, and so is its memory */
    for (size_t i = 0; i < WORDS; i++) ck_assert_uint_eq(words[i], 1);
    sem_post(&gate.open);
    if (round % 2 != 0) finish(completion);
    while (gate.passed != 2) sched_yield();
  }
}
END_TEST

START_TEST(graphs_that_share_a_buffer_run_in_the_order_of_their_submission) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 3);
  struct gate gate;
  gate_init(&gate);
  hrx_executable *first = gated(runtime, &gate, a), *second = filling(runtime, a, 2);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  hrx_executable *third = prepared(graph), *unrelated = filling(runtime, b, 9);
  hrx_completion *completions[] = {submitted(first), submitted(second), submitted(third)};
  down(&gate.begun);
  run_once(unrelated); /* conflicts with nothing: does not wait */
  ck_assert(!hrx_completion_is_complete(completions[1]));
  words_are(a, 0);
  words_are(b, 0x09090909);
  sem_post(&gate.open);
  for (int i = 0; i < 3; i++) finish(completions[i]);
  words_are(a, 0x02020202 + 3);
  hrx_executable_release(first);
  hrx_executable_release(second);
  hrx_executable_release(third);
  hrx_executable_release(unrelated);
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

START_TEST(a_function_that_fails_fails_what_depends_on_it) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  hrx_graph *graph = graph_new(runtime);
  hrx_view_access access = {whole(a), HRX_WRITE};
  OK(hrx_graph_host(graph, &access, 1, give_up, NULL, NULL, NULL));
  OK(hrx_graph_copy(graph, slice(a, 0, 8), slice(a, 8, 8), NULL));
  OK(hrx_graph_fill(graph, whole(b), 7, NULL));
  hrx_executable *executable = prepared(graph), *after = filling(runtime, a, 5);
  for (int i = 0; i < 100; i++) { /* more often than there are threads: none is lost */
    hrx_completion *completion = submitted(executable);
    ck_assert_int_eq(hrx_completion_wait(completion), HRX_IO);
    ck_assert_int_eq(hrx_completion_result(completion), HRX_IO);
    hrx_completion_release(completion);
  }
  words_are(a, 0);
  words_are(b, 0x07070707);
  run_once(after); /* clean: nothing is poisoned */
  words_are(a, 0x05050505);
  hrx_executable_release(executable);
  hrx_executable_release(after);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(a_join_orders_its_graph_and_nothing_else) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime), *c = buffer_new(runtime);
  struct gate gate, other;
  gate_init(&gate);
  gate_init(&other);
  hrx_graph *graph = graph_new(runtime);
  hrx_view_access access = {whole(a), HRX_WRITE};
  OK(hrx_graph_host(graph, &access, 1, gate_pass, &gate, NULL, NULL));
  OK(hrx_graph_join(graph, NULL));
  OK(hrx_graph_fill(graph, whole(b), 3, NULL));
  hrx_executable *executable = prepared(graph), *beside = gated(runtime, &other, c);
  hrx_completion *blocked = submitted(beside);
  down(&other.begun);
  hrx_completion *completion = submitted(executable);
  down(&gate.begun); /* it began although other work is in flight */
  words_are(b, 0);
  sem_post(&gate.open);
  finish(completion);
  words_are(b, 0x03030303);
  sem_post(&other.open);
  finish(blocked);
  hrx_executable_release(executable);
  hrx_executable_release(beside);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_buffer_release(c);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(rebinding_moves_later_submissions) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime), *c = buffer_new(runtime), *small = buffer_of(runtime, 64, HRX_HOST_VISIBLE);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 4);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_fill(graph, whole(a), 1, NULL));
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, NULL));
  OK(hrx_graph_copy(graph, whole(b), whole(a), NULL));
  hrx_executable *executable = prepared(graph);
  run_once(executable);
  words_are(a, 0x01010105);

  hrx_view from = whole(a), to = whole(b), part = slice(a, 4, 8), part_to = slice(c, 4, 8);
  FAILS(hrx_executable_rebind(executable, &from, &to, 1), HRX_INVALID, HRX_REASON_ALIASING);
  FAILS(hrx_executable_rebind(executable, &part, &part_to, 1), HRX_INVALID, HRX_REASON_RANGE);
  to = whole(small);
  FAILS(hrx_executable_rebind(executable, &from, &to, 1), HRX_INVALID, HRX_REASON_RANGE);
  to = whole(c);
  memset(hrx_buffer_address(a), 0, BYTES);
  run_once(executable); /* as it was */
  words_are(a, 0x01010105);
  words_are(c, 0);

  OK(hrx_executable_rebind(executable, &from, &to, 1));
  memset(hrx_buffer_address(a), 0, BYTES);
  memset(hrx_buffer_address(b), 0, BYTES);
  hrx_buffer_release(a); /* nothing of the executable needs it any more */
  for (int i = 0; i < 5; i++) run_once(executable);
  words_are(c, 0x01010105);
  words_are(b, 0x01010105);
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(b);
  hrx_buffer_release(c);
  hrx_buffer_release(small);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(constants_change_for_later_submissions) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 4);
  hrx_graph *graph = graph_new(runtime);
  hrx_node fill, node;
  OK(hrx_graph_fill(graph, whole(a), 0, &fill));
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(a)}, 1, &node));
  hrx_executable *executable = prepared(graph);
  run_once(executable);
  words_are(a, 4);
  unsigned constants[] = {WORDS, 9};
  FAILS(hrx_executable_update_constants(executable, node, constants, 4), HRX_INVALID, HRX_REASON_CONTRACT);
  FAILS(hrx_executable_update_constants(executable, fill, constants, 8), HRX_INVALID, HRX_REASON_ARGUMENT);
  FAILS(hrx_executable_update_constants(executable, 2, constants, 8), HRX_INVALID, HRX_REASON_ARGUMENT);
  OK(hrx_executable_update_constants(executable, node, constants, sizeof constants));
  for (int i = 0; i < 4; i++) {
    run_once(executable);
    words_are(a, 9);
  }
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(a);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(regions_statistics_and_dot_say_what_it_is) {
  hrx_runtime *runtime = runtime_new();
  hrx_buffer *a = buffer_new(runtime), *b = buffer_new(runtime);
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_fill(graph, slice(a, 0, 64), 1, NULL));
  OK(hrx_graph_fill(graph, slice(a, 64, 64), 1, NULL));
  OK(hrx_graph_copy(graph, slice(b, 0, 32), slice(a, 96, 32), NULL));
  OK(hrx_graph_copy(graph, slice(b, 32, 32), slice(a, 256, 32), NULL));
  hrx_executable *executable = prepared(graph);
  hrx_view_access regions[8];
  size_t count;
  OK(hrx_executable_regions(executable, NULL, 0, &count));
  ck_assert_uint_eq(count, 4); /* a: written; written and read; read. b: written */
  OK(hrx_executable_regions(executable, regions, 8, &count));
  unsigned seen = 0;
  for (size_t i = 0; i < count; i++) {
    const hrx_view_access *region = &regions[i];
    if (region->view.buffer == b) seen |= region->view.offset == 0 && region->view.bytes == 64 && region->access == HRX_WRITE;
    if (region->view.buffer != a) continue;
    seen |= (unsigned)(region->view.offset == 0 && region->view.bytes == 96 && region->access == HRX_WRITE) << 1;
    seen |= (unsigned)(region->view.offset == 96 && region->view.bytes == 32 && region->access == HRX_READ_WRITE) << 2;
    seen |= (unsigned)(region->view.offset == 256 && region->view.bytes == 32 && region->access == HRX_READ) << 3;
  }
  ck_assert_uint_eq(seen, 15);
  hrx_executable_statistics statistics = {.size = sizeof statistics};
  OK(hrx_executable_statistics_get(executable, &statistics));
  ck_assert_uint_eq(statistics.nodes, 4);
  ck_assert_uint_eq(statistics.edges_inferred - statistics.edges_reduced, 1);
  char path[] = "/tmp/hrx-native-graph-XXXXXX";
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  OK(hrx_executable_write_dot(executable, path));
  char text[4096];
  ssize_t length = read(descriptor, text, sizeof text - 1);
  ck_assert_int_gt(length, 0);
  text[length] = '\0';
  ck_assert_ptr_nonnull(strstr(text, "digraph"));
  ck_assert_ptr_nonnull(strstr(text, "->"));
  close(descriptor);
  unlink(path);
  hrx_executable_release(executable);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_runtime_release(runtime);
}
END_TEST

/* The programs lie in lib/npu beside tests/unit. */
static hrx_npu_kernel *copy_program(hrx_runtime *runtime) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  ck_assert_int_gt(length, 0);
  path[length] = '\0';
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = '\0';
  strncat(path, "/lib/npu/copy.so", sizeof path - strlen(path) - 1);
  hrx_npu *npu;
  hrx_npu_kernel *kernel;
  hrx_contract *contract = contract_of((hrx_access[]){HRX_WRITE, HRX_READ}, 2);
  OK(hrx_runtime_npu(runtime, 0, &npu));
  OK(hrx_npu_kernel_load_file(npu, path, "copy", 2, contract, &kernel));
  hrx_contract_release(contract);
  return kernel;
}

START_TEST(gpu_and_npu_work_in_one_graph) {
  hrx_runtime *runtime = runtime_new();
  hrx_npu_kernel *copy = copy_program(runtime);
  hrx_gpu_kernel *increment = increment_kernel(runtime, 2);
  hrx_buffer *shared = buffer_of(runtime, BYTES, HRX_SHARED), *other = buffer_of(runtime, BYTES, HRX_SHARED),
             *third = buffer_of(runtime, BYTES, HRX_SHARED), *local = buffer_of(runtime, BYTES, HRX_NPU_LOCAL), *host = buffer_new(runtime);
  hrx_graph *graph = graph_new(runtime);
  FAILS(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(local)}, 1, NULL), HRX_INVALID, HRX_REASON_PLACEMENT);
  FAILS(hrx_graph_npu(graph, copy, (hrx_view[]){whole(shared), whole(host)}, 2, NULL), HRX_INVALID, HRX_REASON_PLACEMENT);
  ck_assert_uint_eq(hrx_graph_node_count(graph), 0);
  OK(hrx_graph_fill(graph, whole(shared), 1, NULL));
  OK(hrx_graph_gpu(graph, increment, (hrx_view[]){whole(shared)}, 1, NULL));
  OK(hrx_graph_npu(graph, copy, (hrx_view[]){whole(local), whole(shared)}, 2, NULL));
  OK(hrx_graph_fill(graph, whole(shared), 0, NULL));
  OK(hrx_graph_npu(graph, copy, (hrx_view[]){whole(other), whole(local)}, 2, NULL));
  OK(hrx_graph_copy(graph, whole(host), whole(local), NULL));
  hrx_executable *executable = prepared(graph);
  for (int i = 0; i < 20; i++) {
    run_once(executable);
    words_are(other, 0x01010103);
    words_are(host, 0x01010103);
    words_are(shared, 0);
  }
  hrx_view from = whole(other), to = whole(host);
  FAILS(hrx_executable_rebind(executable, &from, &to, 1), HRX_INVALID, HRX_REASON_PLACEMENT); /* the NPU writes there */
  to = whole(third);
  OK(hrx_executable_rebind(executable, &from, &to, 1));
  memset(hrx_buffer_address(other), 0, BYTES);
  hrx_buffer_release(other);
  for (int i = 0; i < 5; i++) run_once(executable);
  words_are(third, 0x01010103);
  hrx_executable_release(executable);
  hrx_npu_kernel_release(copy);
  hrx_gpu_kernel_release(increment);
  hrx_buffer_release(shared);
  hrx_buffer_release(third);
  hrx_buffer_release(local);
  hrx_buffer_release(host);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(beyond_four_gibibytes_the_whole_range_counts) {
  hrx_runtime *runtime = runtime_new();
  size_t bytes = (UINT64_C(4) << 30) + 4099;
  hrx_buffer *large;
  if (hrx_buffer_create(runtime, bytes, HRX_HOST_VISIBLE, 0, &large) != HRX_OK) {
    printf("skipped: beyond_four_gibibytes_the_whole_range_counts: %s\n", hrx_last_message());
    hrx_runtime_release(runtime);
    return;
  }
  hrx_graph *graph = graph_new(runtime);
  FAILS(hrx_graph_fill(graph, (hrx_view){large, 1, bytes}, 1, NULL), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_graph_copy(graph, (hrx_view){large, 0, 4099}, (hrx_view){large, bytes - 4098, 4099}, NULL), HRX_INVALID, HRX_REASON_RANGE);
  OK(hrx_graph_fill(graph, slice(large, bytes - 4099, 4099), 0x5a, NULL)); /* all but the first page lies behind 4 GiB */
  OK(hrx_graph_copy(graph, slice(large, 1, 4099), slice(large, bytes - 4099, 4099), NULL));
  hrx_executable *executable = prepared(graph);
  run_once(executable);
  const uint8_t *at = hrx_buffer_address(large);
  ck_assert_uint_eq(at[bytes - 4100], 0);
  ck_assert_uint_eq(at[0], 0);
  ck_assert_uint_eq(at[4100], 0);
  for (size_t i = 0; i < 4099; i++) {
    ck_assert_uint_eq(at[1 + i], 0x5a);
    ck_assert_uint_eq(at[bytes - 4099 + i], 0x5a);
  }
  hrx_executable_release(executable);
  hrx_buffer_release(large);
  hrx_runtime_release(runtime);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {operations_run_as_if_one_by_one, a_refused_record_changes_nothing, aliasing_form_lets_bindings_overlap,
                                       alignment_is_of_the_absolute_address, everything_can_be_released_while_it_runs,
                                       graphs_that_share_a_buffer_run_in_the_order_of_their_submission,
                                       a_function_that_fails_fails_what_depends_on_it, a_join_orders_its_graph_and_nothing_else,
                                       rebinding_moves_later_submissions, constants_change_for_later_submissions,
                                       regions_statistics_and_dot_say_what_it_is, gpu_and_npu_work_in_one_graph,
                                       beyond_four_gibibytes_the_whole_range_counts, NULL};
  return suite_run("native_graph", tests);
}
