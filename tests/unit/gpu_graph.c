/* Explicit graphs (hrx/gpu_graph.h) on the software GPU. */
#include "native_use.h"

static const hrx_dimensions ONE = {1, 1, 1}, GRID = {WORDS / 64, 1, 1}, BLOCK = {64, 1, 1};

struct scene {
  hrx_runtime *runtime;
  hrx_stream *stream;
  hrx_stream_kernel *increment;
  hrx_buffer *a, *b;
  hrx_gpu_graph *graph;
};

static hrx_buffer *allocated(hrx_stream *stream, size_t bytes) {
  hrx_buffer *buffer;
  OK(hrx_stream_allocate_zeroed(stream, bytes, &buffer));
  return buffer;
}

static void open_scene(struct scene *scene) {
  scene->runtime = runtime_new();
  OK(hrx_stream_open(scene->runtime, &scene->stream));
  scene->increment = stream_kernel_load(scene->stream, "increment");
  scene->a = allocated(scene->stream, BYTES);
  scene->b = allocated(scene->stream, BYTES);
  OK(hrx_stream_graph(scene->stream, &scene->graph));
}

static void close_scene(struct scene *scene) {
  hrx_gpu_graph_release(scene->graph);
  hrx_stream_kernel_release(scene->increment);
  hrx_buffer_release(scene->a);
  hrx_buffer_release(scene->b);
  hrx_stream_close(scene->stream);
  hrx_runtime_release(scene->runtime);
}

static hrx_node incremented(struct scene *scene, hrx_buffer *buffer, unsigned by, const hrx_node *after, size_t count) {
  hrx_node node;
  hrx_view view = whole(buffer);
  OK(hrx_gpu_graph_dispatch(scene->graph, scene->increment, GRID, BLOCK, 0, &view, 1, (unsigned[]){WORDS, by}, 8, after, count, &node));
  return node;
}

START_TEST(edges_are_what_orders_the_nodes) {
  struct scene scene;
  open_scene(&scene);
  hrx_node fill, last, join;
  OK(hrx_gpu_graph_fill(scene.graph, whole(scene.a), 1, NULL, 0, &fill));
  last = incremented(&scene, scene.a, 2, &fill, 1);
  last = incremented(&scene, scene.a, 3, (hrx_node[]){fill, last, last}, 3); /* duplicates are harmless */
  OK(hrx_gpu_graph_join(scene.graph, &last, 1, &join));
  OK(hrx_gpu_graph_copy(scene.graph, whole(scene.b), whole(scene.a), &join, 1, &last));
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  for (int i = 0; i < 20; i++) {
    OK(hrx_stream_fill(scene.stream, whole(scene.b), 0)); /* before the graph */
    OK(hrx_stream_launch(scene.stream, executable));
    unsigned out[WORDS]; /* behind it */
    OK(hrx_stream_read(scene.stream, whole(scene.b), out, BYTES));
    for (unsigned j = 0; j < WORDS; j++) ck_assert_uint_eq(out[j], 0x01010101 + 5);
  }
  hrx_gpu_executable_release(executable);
  close_scene(&scene);
}
END_TEST

START_TEST(a_refused_node_changes_nothing) {
  struct scene scene;
  open_scene(&scene);
  hrx_runtime *other = runtime_new();
  hrx_buffer *foreign = buffer_new(other);
  hrx_gpu_executable *none;
  hrx_view view = whole(scene.a), foreign_view = whole(foreign);
  unsigned constants[] = {WORDS, 1};
  FAILS(hrx_gpu_graph_finish(scene.graph, &none), HRX_INVALID, HRX_REASON_EMPTY);
  hrx_node node = incremented(&scene, scene.a, 1, NULL, 0), future = node + 1;
  uint64_t bytes = hrx_gpu_graph_binding_bytes(scene.graph);
  FAILS(hrx_gpu_graph_fill(scene.graph, whole(scene.b), 1, &future, 1, NULL), HRX_INVALID, HRX_REASON_ORDER);
  FAILS(hrx_gpu_graph_join(scene.graph, (hrx_node[]){node, 77}, 2, NULL), HRX_INVALID, HRX_REASON_ORDER);
  FAILS(hrx_gpu_graph_fill(scene.graph, foreign_view, 1, NULL, 0, NULL), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_gpu_graph_fill(scene.graph, slice(scene.b, 0, 0), 1, NULL, 0, NULL), HRX_INVALID, HRX_REASON_EMPTY);
  FAILS(hrx_gpu_graph_copy(scene.graph, slice(scene.b, 0, 8), slice(scene.b, 4, 8), NULL, 0, NULL), HRX_INVALID, HRX_REASON_ALIASING);
  FAILS(hrx_gpu_graph_copy(scene.graph, slice(scene.b, 0, 8), slice(scene.a, 4, 9), NULL, 0, NULL), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_gpu_graph_dispatch(scene.graph, scene.increment, GRID, (hrx_dimensions){1025, 1, 1}, 0, &view, 1, constants, 8, NULL, 0, NULL),
        HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY);
  FAILS(hrx_gpu_graph_dispatch(scene.graph, scene.increment, GRID, BLOCK, 1 << 30, &view, 1, constants, 8, NULL, 0, NULL), HRX_INVALID,
        HRX_REASON_LAUNCH_GEOMETRY);
  FAILS(hrx_gpu_graph_dispatch(scene.graph, scene.increment, GRID, BLOCK, 0, &view, 1, constants, 7, NULL, 0, NULL), HRX_INVALID,
        HRX_REASON_CONTRACT);
  FAILS(hrx_gpu_graph_dispatch(scene.graph, scene.increment, GRID, BLOCK, 0, &foreign_view, 1, constants, 8, NULL, 0, NULL), HRX_INVALID,
        HRX_REASON_FOREIGN);
  ck_assert_uint_eq(hrx_gpu_graph_binding_bytes(scene.graph), bytes);
  hrx_node next;
  OK(hrx_gpu_graph_join(scene.graph, &node, 1, &next));
  ck_assert_uint_eq(next, node + 1);
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  OK(hrx_stream_launch(scene.stream, executable));
  OK(hrx_stream_synchronize(scene.stream));
  words_are(scene.a, 1);
  words_are(scene.b, 0);
  hrx_gpu_executable_release(executable);
  hrx_buffer_release(foreign);
  hrx_runtime_release(other);
  close_scene(&scene);
}
END_TEST

START_TEST(binding_bytes_count_each_buffer_once) {
  struct scene scene;
  open_scene(&scene);
  ck_assert_uint_eq(hrx_gpu_graph_binding_bytes(scene.graph), 0);
  OK(hrx_gpu_graph_fill(scene.graph, slice(scene.a, 0, 16), 1, NULL, 0, NULL));
  ck_assert_uint_eq(hrx_gpu_graph_binding_bytes(scene.graph), BYTES);
  OK(hrx_gpu_graph_copy(scene.graph, slice(scene.a, 0, 16), slice(scene.b, 0, 16), NULL, 0, NULL));
  incremented(&scene, scene.b, 1, NULL, 0);
  ck_assert_uint_eq(hrx_gpu_graph_binding_bytes(scene.graph), 2 * BYTES);
  hrx_buffer *many[200];
  for (int i = 0; i < 200; i++) {
    many[i] = allocated(scene.stream, 256);
    for (int twice = 0; twice < 2; twice++) OK(hrx_gpu_graph_fill(scene.graph, whole(many[i]), 1, NULL, 0, NULL));
  }
  ck_assert_uint_eq(hrx_gpu_graph_binding_bytes(scene.graph), 2 * BYTES + 200 * 256);
  for (int i = 0; i < 200; i++) hrx_buffer_release(many[i]);
  close_scene(&scene);
}
END_TEST

START_TEST(chains_recorded_one_after_the_other_overlap) {
  struct scene scene;
  open_scene(&scene);
  hrx_stream_kernel *wait = stream_kernel_load(scene.stream, "wait_flag"), *set = stream_kernel_load(scene.stream, "set_flag");
  hrx_buffer *flag = allocated(scene.stream, 64);
  hrx_node first, second;
  hrx_view views[] = {whole(flag), whole(scene.a)};
  OK(hrx_gpu_graph_fill(scene.graph, whole(scene.a), 0, NULL, 0, &first));
  OK(hrx_gpu_graph_dispatch(scene.graph, wait, ONE, ONE, 0, views, 2, NULL, 0, &first, 1, &first)); /* ends only beside the second chain */
  OK(hrx_gpu_graph_fill(scene.graph, whole(scene.b), 1, NULL, 0, &second));
  OK(hrx_gpu_graph_dispatch(scene.graph, set, ONE, ONE, 0, views, 1, &(unsigned){5}, 4, &second, 1, &second));
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  OK(hrx_stream_launch(scene.stream, executable));
  OK(hrx_stream_synchronize(scene.stream));
  ck_assert_uint_eq(word_at(scene.a, 0), 5);
  hrx_gpu_executable_release(executable);
  hrx_stream_kernel_release(wait);
  hrx_stream_kernel_release(set);
  hrx_buffer_release(flag);
  close_scene(&scene);
}
END_TEST

START_TEST(more_launches_than_slots_queue_up) {
  struct scene scene;
  open_scene(&scene);
  hrx_stream *other;
  OK(hrx_stream_open(scene.runtime, &other));
  hrx_node node = incremented(&scene, scene.a, 1, NULL, 0);
  incremented(&scene, scene.a, 1, &node, 1);
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  for (int i = 0; i < 500; i++) OK(hrx_stream_launch(scene.stream, executable));
  hrx_event *event;
  OK(hrx_stream_record_event(scene.stream, &event));
  OK(hrx_stream_wait_event(other, event));
  for (int i = 0; i < 100; i++) OK(hrx_stream_launch(other, executable)); /* a graph may run on any stream of its GPU */
  hrx_gpu_executable_release(executable);                                /* while it runs */
  OK(hrx_stream_synchronize(other));
  words_are(scene.a, 1200);
  hrx_event_release(event);
  hrx_stream_close(other);
  close_scene(&scene);
}
END_TEST

START_TEST(everything_can_be_released_while_it_runs) {
  struct scene scene;
  open_scene(&scene);
  hrx_stream_kernel *wait = stream_kernel_load(scene.stream, "wait_flag"), *set = stream_kernel_load(scene.stream, "set_flag");
  hrx_buffer *flag = buffer_new(scene.runtime), *result = buffer_new(scene.runtime), *middle = allocated(scene.stream, BYTES);
  hrx_stream *opener;
  OK(hrx_stream_open(scene.runtime, &opener));
  hrx_node node;
  OK(hrx_gpu_graph_dispatch(scene.graph, wait, ONE, ONE, 0, (hrx_view[]){whole(flag), whole(middle)}, 2, NULL, 0, NULL, 0, &node));
  OK(hrx_gpu_graph_copy(scene.graph, whole(result), whole(middle), &node, 1, &node));
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  OK(hrx_stream_launch(scene.stream, executable));
  hrx_event *event;
  OK(hrx_stream_record_event(scene.stream, &event));
  hrx_gpu_executable_release(executable);
  hrx_buffer_release(middle);
  hrx_stream_kernel_release(wait);
  OK(hrx_stream_dispatch(opener, set, ONE, ONE, 0, (hrx_view[]){whole(flag)}, 1, &(unsigned){5}, 4));
  OK(hrx_event_wait(event));
  ck_assert_uint_eq(word_at(result, 0), 5);
  OK(hrx_stream_synchronize(opener));
  hrx_event_release(event);
  hrx_stream_kernel_release(set);
  hrx_buffer_release(flag);
  hrx_buffer_release(result);
  hrx_stream_close(opener);
  close_scene(&scene);
}
END_TEST

START_TEST(profiled_nodes_run_one_after_the_other) {
  struct scene scene;
  open_scene(&scene);
  hrx_node node, join;
  OK(hrx_gpu_graph_fill(scene.graph, whole(scene.a), 1, NULL, 0, &node));
  OK(hrx_gpu_graph_join(scene.graph, &node, 1, &join));
  incremented(&scene, scene.a, 2, &join, 1);
  OK(hrx_gpu_graph_fill(scene.graph, whole(scene.b), 1, NULL, 0, NULL)); /* follows nothing, but is put in line */
  const char *labels[] = {"fill a", "add", "fill b"};
  hrx_gpu_executable *executable, *plain;
  FAILS(hrx_gpu_graph_finish_profiled(scene.graph, labels, 2, &executable), HRX_INVALID, HRX_REASON_ARGUMENT);
  OK(hrx_gpu_graph_finish_profiled(scene.graph, labels, 3, &executable));
  OK(hrx_gpu_graph_finish(scene.graph, &plain));
  hrx_node_profile profiles[3];
  FAILS(hrx_stream_launch_profiled(scene.stream, plain, profiles, 3), HRX_INVALID, HRX_REASON_ARGUMENT);
  FAILS(hrx_stream_launch_profiled(scene.stream, executable, profiles, 2), HRX_INVALID, HRX_REASON_ARGUMENT);
  uint64_t before = 0;
  for (int round = 0; round < 20; round++) {
    OK(hrx_stream_launch_profiled(scene.stream, executable, profiles, 3));
    for (int i = 0; i < 3; i++) {
      ck_assert_str_eq(profiles[i].label, labels[i]);
      ck_assert_uint_ge(profiles[i].started_ns, before);
      ck_assert_uint_ge(profiles[i].finished_ns, profiles[i].started_ns);
      before = profiles[i].finished_ns;
    }
    words_are(scene.a, 0x01010103);
    words_are(scene.b, 0x01010101);
  }
  hrx_gpu_executable_release(executable);
  hrx_gpu_executable_release(plain);
  close_scene(&scene);
}
END_TEST

START_TEST(a_failing_node_fails_the_stream_once) {
  struct scene scene;
  open_scene(&scene);
  hrx_stream_kernel *trap = stream_kernel_load(scene.stream, "trap");
  hrx_view view = whole(scene.b);
  hrx_node node;
  OK(hrx_gpu_graph_dispatch(scene.graph, trap, ONE, ONE, 0, &view, 1, NULL, 0, NULL, 0, &node));
  incremented(&scene, scene.a, 1, &node, 1);
  hrx_gpu_executable *executable;
  const char *labels[] = {"trap", "add"};
  hrx_node_profile profiles[2];
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  OK(hrx_stream_launch(scene.stream, executable));
  ck_assert_int_eq(hrx_stream_synchronize(scene.stream), HRX_EXECUTION);
  OK(hrx_stream_synchronize(scene.stream));
  words_are(scene.a, 0);
  hrx_gpu_executable_release(executable);
  OK(hrx_gpu_graph_finish_profiled(scene.graph, labels, 2, &executable));
  ck_assert_int_eq(hrx_stream_launch_profiled(scene.stream, executable, profiles, 2), HRX_EXECUTION);
  OK(hrx_stream_synchronize(scene.stream));
  hrx_gpu_executable_release(executable);
  hrx_stream_kernel_release(trap);
  close_scene(&scene);
}
END_TEST

START_TEST(a_large_graph_is_one_launch) {
  enum { NODES = 20000 };
  struct scene scene;
  open_scene(&scene);
  hrx_node last[2];
  OK(hrx_gpu_graph_fill(scene.graph, slice(scene.a, 0, 4), 0, NULL, 0, &last[0]));
  OK(hrx_gpu_graph_fill(scene.graph, slice(scene.b, 0, 4), 0, NULL, 0, &last[1]));
  for (int i = 0; i < NODES; i++) {
    hrx_buffer *buffer = i % 2 != 0 ? scene.a : scene.b;
    size_t word = (size_t)(i / 2) % (WORDS - 1);
    OK(hrx_gpu_graph_copy(scene.graph, slice(buffer, 4 * (word + 1), 4), slice(buffer, 4 * word, 4), &last[i % 2], 1, &last[i % 2]));
    if (i / 2 == 5) OK(hrx_gpu_graph_fill(scene.graph, slice(buffer, 0, 4), 7, &last[i % 2], 1, &last[i % 2]));
  }
  hrx_gpu_executable *executable;
  OK(hrx_gpu_graph_finish(scene.graph, &executable));
  for (int i = 0; i < 3; i++) OK(hrx_stream_launch(scene.stream, executable));
  OK(hrx_stream_synchronize(scene.stream));
  words_are(scene.a, 0x07070707); /* carried along from word to word in later rounds */
  words_are(scene.b, 0x07070707);
  hrx_gpu_executable_release(executable);
  close_scene(&scene);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {edges_are_what_orders_the_nodes, a_refused_node_changes_nothing, binding_bytes_count_each_buffer_once,
                                chains_recorded_one_after_the_other_overlap, more_launches_than_slots_queue_up,
                                everything_can_be_released_while_it_runs, profiled_nodes_run_one_after_the_other,
                                a_failing_node_fails_the_stream_once, a_large_graph_is_one_launch, NULL};
  return suite_run("gpu_graph", tests);
}
