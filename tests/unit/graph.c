/* Prepared graphs: order inside and outside, streams, slots, rebinding, limits of memory. */
#include <unistd.h>

#include "tests/unit/graph_use.h"

/* Counts allocations of this process, where no sanitizer has taken the place of malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static _Atomic unsigned long allocations;
static _Atomic unsigned long refused_from = -1ul; /* allocations from this one on fail */
static bool refused(void) { return atomic_fetch_add(&allocations, 1) >= atomic_load(&refused_from); }
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *malloc(size_t bytes) {
  return refused() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  return refused() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *pointer, size_t bytes) {
  return refused() ? NULL : __libc_realloc(pointer, bytes);
}
#else
static const unsigned long allocations;
static unsigned long refused_from;
#endif

START_TEST(nodes_follow_what_they_conflict_with_and_nothing_else) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(0, 64, 64, ACCESS_WRITE), NOTHING);
  uint32_t c = kernel(FAKE_BY_TEST, HRX_OK, on(0, 63, 2, ACCESS_READ), NOTHING);
  struct graph *graph = prepare(1);
  struct run *run = submit(graph);
  ck_assert(running(a) != NULL && running(b) != NULL && running(c) == NULL);
  end(b);
  ck_assert_ptr_null(running(c));
  end(a);
  ck_assert_ptr_nonnull(running(c));
  ck_assert(!run_over(run));
  ck_assert_int_eq(run_wait(run, time_now_ns()), HRX_TIMEOUT);
  end(c);
  ck_assert_int_eq(finish(run), HRX_OK);
  struct graph_statistics statistics;
  graph_statistics(graph, &statistics);
  ck_assert_uint_eq(statistics.inferred, 2);
  ck_assert_uint_eq(statistics.reduced, 0);
  graph_release(graph);
  ck_assert_uint_eq(program.released, 1);
  ck_assert_int_eq(fake_released, 3);
}
END_TEST

START_TEST(replays_overlap_up_to_the_first_conflict) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(1, 0, 64, ACCESS_WRITE), on(0, 0, 64, ACCESS_READ));
  struct graph *graph = prepare(2);
  struct run *one = submit(graph), *two = submit(graph), *three = NULL;
  ck_assert_int_eq(graph_submit(graph, NULL, &three), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_SLOTS);
  ck_assert_int_eq(fake_started, 1);
  end(a); /* now b of the first; a of the second overwrites what b reads */
  ck_assert_int_eq(fake_started, 2);
  ck_assert_ptr_nonnull(running(b));
  end(b);
  ck_assert(run_over(one));
  ck_assert_int_eq(fake_started, 3);
  three = submit(graph); /* a slot is free again, though its run is still held */
  end(a);
  end(b);
  end(a);
  end(b);
  ck_assert_int_eq(finish(one), HRX_OK);
  ck_assert_int_eq(finish(two), HRX_OK);
  ck_assert_int_eq(finish(three), HRX_OK);
  graph_release(graph);
}
END_TEST

START_TEST(submit_and_wait_with_one_slot_is_never_busy) {
  program_reset();
  program.capacity.most = 1;
  fill(0, 0, 256, 1);
  copy(1, 0, 256);
  kernel(FAKE_AT_ONCE, HRX_OK, on(1, 0, 256, ACCESS_READ_WRITE), NOTHING);
  struct graph *graph = prepare_as(GRAPH_INFERRED, 1, &program.capacity);
  program.made[2][0]->state = 0;
  for (int i = 0; i < 10000; i++) ck_assert_int_eq(finish(submit(graph)), HRX_OK);
  ck_assert_uint_eq(program.capacity.inflight, 0);
  graph_release(graph);
}
END_TEST

START_TEST(released_in_flight) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  fill(0, 0, 64, 9);
  struct graph *graph = prepare(2);
  run_release(submit(graph));
  struct run *second = submit(graph);
  graph_release(graph);
  end(a);
  ck_assert_int_eq(byte_at(0, 63), 9);
  end(a);
  ck_assert_int_eq(result(second), HRX_OK);
  ck_assert_uint_eq(program.released, 0);
  run_release(second);
  ck_assert_uint_eq(program.released, 1);
}
END_TEST

START_TEST(streams_and_runs_follow_each_other_where_they_conflict) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(1, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare(2);
  struct stream *stream = stream_new();
  struct fake_dispatch *before = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *behind = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *beside = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *opaque = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  stream_kernel(stream, before, false, on(0, 32, 1, ACCESS_READ));
  struct run *run = submit(graph);
  ck_assert(running(a) == NULL && running(b) != NULL);
  stream_kernel(stream, behind, false, on(1, 63, 4, ACCESS_READ));
  stream_kernel(stream, beside, false, on(1, 64, 4, ACCESS_READ));
  ck_assert(behind->state == 0 && beside->state == 1);
  stream_kernel(stream, opaque, true, NOTHING);
  struct run *second = submit(graph); /* follows the opaque one whole */
  fake_done(beside);
  fake_done(before);
  ck_assert_ptr_nonnull(running(a));
  end(b);
  ck_assert_int_eq(behind->state, 1);
  fake_done(behind);
  ck_assert_int_eq(opaque->state, 0);
  end(a);
  ck_assert_int_eq(opaque->state, 1);
  ck_assert_int_eq(finish(run), HRX_OK);
  ck_assert(running(a) == NULL && running(b) == NULL);
  fake_done(opaque);
  end(a);
  end(b);
  ck_assert_int_eq(finish(second), HRX_OK);
  stream_release(stream);
  graph_release(graph);
}
END_TEST

START_TEST(a_run_in_a_stream_is_one_opaque_task) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(1, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare_as(GRAPH_CLOSURE, 2, NULL);
  struct stream *stream = stream_new(), *other = stream_new();
  struct fake_dispatch *before = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *behind = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct fake_dispatch *elsewhere = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  stream_kernel(stream, before, false, on(3, 0, 64, ACCESS_READ));
  struct run *run = submit_as(graph, &(struct run_options){.stream = stream});
  stream_kernel(stream, behind, false, on(3, 0, 64, ACCESS_READ));
  stream_kernel(other, elsewhere, true, NOTHING);
  ck_assert(running(a) == NULL && behind->state == 0 && elsewhere->state == 1);
  fake_done(before);
  ck_assert(running(a) != NULL && running(b) != NULL && behind->state == 0);
  end(a);
  ck_assert_int_eq(behind->state, 0);
  end(b);
  ck_assert_int_eq(behind->state, 1);
  ck_assert_int_eq(finish(run), HRX_OK);
  fake_done(behind);
  fake_done(elsewhere);
  stream_release(stream);
  stream_release(other);
  graph_release(graph);
}
END_TEST

START_TEST(a_failed_run_fails_its_stream) {
  program_reset();
  kernel(FAKE_AT_ONCE, HRX_EXECUTION, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare(1);
  struct stream *stream = stream_new();
  ck_assert_int_eq(finish(submit_as(graph, &(struct run_options){.stream = stream})), HRX_EXECUTION);
  struct failure failure;
  ck_assert(stream_failure_take(stream, &failure));
  ck_assert_int_eq(failure.status, HRX_EXECUTION);
  stream_release(stream);
  graph_release(graph);
}
END_TEST

static struct graph *prepare_serial(unsigned slots) {
  struct graph_options options = {.order = GRAPH_CLOSURE, .slots = slots, .serial = true,
                                  .client = {payload_make, payload_renew, client_release, &program}};
  struct graph *graph = NULL;
  ck_assert_int_eq(graph_prepare(engine, &options, program.nodes, program.count, &graph), HRX_OK);
  return graph;
}

START_TEST(runs_of_a_serial_graph_come_one_after_the_other) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_EXECUTION, on(0, 0, 64, ACCESS_READ), NOTHING);
  struct graph *graph = prepare_serial(3);
  struct stream *one = stream_new(), *other = stream_new();
  struct run *first = submit_as(graph, &(struct run_options){.stream = one});
  struct run *second = submit_as(graph, &(struct run_options){.stream = other});
  struct run *third = submit_as(graph, &(struct run_options){.stream = other, .follow = first});
  struct fake_dispatch *running_first = running(a);
  ck_assert_ptr_nonnull(running_first);
  for (unsigned i = 0; i < program.made_count[a]; i++)
    if (program.made[a][i] != running_first) {
      ck_assert_int_eq(program.made[a][i]->state, 0);
      program.made[a][i]->outcome = HRX_OK;
    }
  fake_done(running_first);
  ck_assert(run_over(first) && !run_over(second));
  end(a); /* although the first failed */
  ck_assert(run_over(second) && !run_over(third));
  end(a);
  ck_assert_int_eq(result(first), HRX_EXECUTION);
  ck_assert_int_eq(result(second), HRX_OK);
  ck_assert_int_eq(result(third), HRX_OK);
  run_release(first);
  run_release(second);
  run_release(third);
  struct run *late = submit_as(graph, &(struct run_options){.stream = other}); /* after nobody */
  ck_assert_ptr_nonnull(running(a));
  end(a);
  finish(late);
  stream_release(one);
  stream_release(other);
  graph_release(graph);
}
END_TEST

START_TEST(slots_are_waited_for_and_added) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare(1);
  ck_assert_int_eq(graph_slot_wait(graph, 0), HRX_OK); /* there is one */
  struct run *first = submit(graph), *second = NULL;
  ck_assert_int_eq(graph_submit(graph, NULL, &second), HRX_BUSY);
  ck_assert_int_eq(graph_slot_wait(graph, time_now_ns() + 1000), HRX_TIMEOUT);
  ck_assert_int_eq(graph_slots_add(graph, 2), HRX_OK);
  second = submit(graph);
  struct run *third = submit(graph), *fourth = NULL;
  ck_assert_int_eq(graph_submit(graph, NULL, &fourth), HRX_BUSY);
  end(a);
  ck_assert_int_eq(graph_slot_wait(graph, UINT64_MAX), HRX_OK);
  fourth = submit(graph);
  for (int i = 0; i < 3; i++) end(a);
  ck_assert_int_eq(finish(first), HRX_OK);
  ck_assert_int_eq(finish(second), HRX_OK);
  ck_assert_int_eq(finish(third), HRX_OK);
  ck_assert_int_eq(finish(fourth), HRX_OK);
  graph_release(graph);
}
END_TEST

START_TEST(who_waits_for_a_stream_helps_the_run_in_it) {
  program_reset();
  for (int i = 0; i < 3; i++) kernel(FAKE_BY_HELP, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  struct graph *graph = prepare(2);
  struct stream *stream = stream_new();
  run_release(submit_as(graph, &(struct run_options){.stream = stream}));
  run_release(submit_as(graph, &(struct run_options){.stream = stream}));
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(stream, &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, time_now_ns() + 20000000000), HRX_OK);
  clock_finish(&clock);
  ck_assert_int_eq(fake_started, 6);
  stream_release(stream);
  graph_release(graph);
}
END_TEST

START_TEST(rebinding_moves_ranges_and_pointers) {
  program_reset();
  fill(0, 0, 64, 5);
  copy(1, 0, 64);
  struct graph *graph = prepare(2);
  ck_assert_int_eq(graph_rebind(graph, &(struct graph_move){buffers[0], buffers[2], 0, 4096, 64}, 1), HRX_OK);
  ck_assert_int_eq(finish(submit(graph)), HRX_OK);
  ck_assert_int_eq(byte_at(0, 0), 0);
  ck_assert_int_eq(byte_at(2, 4096), 5);
  ck_assert_int_eq(byte_at(1, 63), 5);
  ck_assert_uint_eq(program.renewed, 2);
  struct graph_move part = {buffers[2], buffers[3], 4096, 0, 32}, onto = {buffers[2], buffers[1], 4096, 32, 64};
  ck_assert_int_eq(graph_rebind(graph, &part, 1), HRX_INVALID);
  ck_assert_int_eq(graph_rebind(graph, &onto, 1), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_ALIASING);
  struct graph_move swap[2] = {{buffers[2], buffers[1], 4096, 0, 64}, {buffers[1], buffers[2], 0, 4096, 64}};
  ck_assert_int_eq(graph_rebind(graph, swap, 2), HRX_OK);
  memset((void *)(buffers[2]->address + 4096), 0, 64);
  ck_assert_int_eq(finish(submit(graph)), HRX_OK);
  ck_assert_int_eq(byte_at(2, 4096), 5);
  graph_changed(graph);
  unsigned before = program.renewed;
  ck_assert_int_eq(finish(submit(graph)), HRX_OK);
  ck_assert_uint_gt(program.renewed, before);
  graph_release(graph);
}
END_TEST

START_TEST(closure_keeps_to_the_callers_order) {
  program_reset();
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING);
  uint32_t b = kernel(FAKE_BY_TEST, HRX_OK, on(0, 0, 64, ACCESS_WRITE), NOTHING); /* no path from a */
  uint32_t c = kernel(FAKE_BY_TEST, HRX_OK, on(1, 0, 64, ACCESS_WRITE), NOTHING); /* a path, no conflict */
  uint32_t d = kernel(FAKE_BY_TEST, HRX_OK, NOTHING, NOTHING);                    /* opaque: all ancestors */
  program.nodes[c].after = &a;
  program.nodes[c].after_count = 1;
  program.nodes[d].after = (uint32_t[]){c, c};
  program.nodes[d].after_count = 2;
  program.nodes[d].task.opaque = true;
  struct graph *graph = prepare_as(GRAPH_CLOSURE, 1, NULL);
  struct run *run = submit(graph);
  ck_assert(running(a) != NULL && running(b) != NULL && running(c) != NULL);
  end(c);
  ck_assert_ptr_null(running(d));
  end(a);
  ck_assert_ptr_nonnull(running(d));
  end(b);
  end(d);
  ck_assert_int_eq(finish(run), HRX_OK);
  struct graph_statistics statistics;
  graph_statistics(graph, &statistics);
  ck_assert_uint_eq(statistics.explicit_edges, 2);
  graph_release(graph);
}
END_TEST

static hrx_status host_count(void *context) {
  atomic_fetch_add((_Atomic int *)context, 1);
  return HRX_OK;
}

static void host_release(void *context) { atomic_fetch_add((_Atomic int *)context, 1000); }

START_TEST(host_functions_are_shared_and_released_once) {
  program_reset();
  _Atomic int count = 0;
  struct graph_node nodes[3] = {0};
  uint32_t first = 0;
  for (int i = 0; i < 3; i++)
    nodes[i] = (struct graph_node){.task = {.kind = TASK_HOST, .host = {host_count, (void *)&count, i == 0 ? host_release : NULL}},
                                   .lane_class = LANE_HOST, .after = &first, .after_count = i == 2};
  struct graph *graph = NULL;
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){.order = GRAPH_EXPLICIT}, nodes, 3, &graph), HRX_OK);
  for (int i = 0; i < 10; i++) ck_assert_int_eq(finish(submit(graph)), HRX_OK);
  graph_release(graph);
  while (atomic_load(&count) == 30) sched_yield(); /* the thread that ended the last run may still hold the graph */
  ck_assert_int_eq(count, 1030);
}
END_TEST

START_TEST(bad_graphs_are_refused) {
  struct graph *graph = NULL;
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){0}, NULL, 0, &graph), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_EMPTY);
  uint32_t self = 0;
  struct graph_node node = {.task = {.kind = TASK_JOIN}, .after = &self, .after_count = 1};
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){.order = GRAPH_EXPLICIT}, &node, 1, &graph), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_ORDER);
  node = (struct graph_node){.task = {.kind = TASK_JOIN}, .lane_class = LANE_CLASSES};
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){0}, &node, 1, &graph), HRX_INVALID);
  node = (struct graph_node){.task = {.kind = TASK_DISPATCH}};
  ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){0}, &node, 1, &graph), HRX_INVALID);
}
END_TEST

START_TEST(a_replay_allocates_nothing) {
  program_reset();
  for (int i = 0; i < 8; i++) kernel(FAKE_AT_ONCE, HRX_OK, on(i % 2, 0, 64, ACCESS_READ_WRITE), on(2, 0, 64, ACCESS_READ));
  uint32_t a = kernel(FAKE_BY_TEST, HRX_OK, on(1, 0, 64, ACCESS_READ), on(3, 0, 64, ACCESS_WRITE));
  struct graph *graph = prepare(3);
  struct stream *stream = stream_new();
  unsigned long before = 0;
  bool done = true; /* Check's assertions allocate */
  for (int i = 0; i < 200; i++) {
    if (i == 100) before = allocations;
    struct run *replays[3];
    struct failure failure;
    done &= graph_submit(graph, NULL, &replays[0]) == HRX_OK;
    done &= graph_submit(graph, &(struct run_options){.after = replays, .after_count = 1}, &replays[1]) == HRX_OK;
    done &= graph_submit(graph, &(struct run_options){.stream = stream}, &replays[2]) == HRX_OK;
    for (int k = 0; k < 3; k++) fake_done(running(a));
    for (int k = 0; k < 3; k++) {
      done &= run_wait(replays[k], UINT64_MAX) == HRX_OK;
      run_result(replays[k], &failure);
      done &= failure.status == HRX_OK;
      run_release(replays[k]);
    }
  }
  before = allocations - before;
  ck_assert(done);
  ck_assert_uint_eq(before, 0);
  stream_release(stream);
  graph_release(graph);
}
END_TEST

/* Every allocation in turn is the first that fails; what was refused can be tried again. */
START_TEST(no_memory_is_an_error_and_no_more) {
  program_reset();
  fill(0, 0, 64, 1);
  copy(1, 0, 64);
  fill(1, 32, 64, 2);
  program.nodes[2].after = (uint32_t[]){0, 1};
  program.nodes[2].after_count = 2;
  struct stream *stream = stream_new();
  for (int order = GRAPH_INFERRED; order <= GRAPH_EXPLICIT; order++)
    for (unsigned long left = 0;; left++) {
      struct graph_options options = {.order = (enum graph_order)order, .keep_edges = true,
                                      .client = {NULL, NULL, client_release, &program}};
      struct graph *graph = NULL;
      struct run *one = NULL, *two = NULL;
      unsigned before = program.released;
      refused_from = allocations + left;
      hrx_status prepared = graph_prepare(engine, &options, program.nodes, program.count, &graph);
      hrx_status first = prepared == HRX_OK ? graph_submit(graph, NULL, &one) : prepared;
      hrx_status second = prepared == HRX_OK ? graph_submit(graph, &(struct run_options){.stream = stream}, &two) : prepared;
      hrx_status moved = prepared == HRX_OK ? graph_rebind(graph, &(struct graph_move){buffers[0], buffers[2], 0, 0, 64}, 1) : prepared;
      refused_from = -1ul;
      ck_assert(first == HRX_OK || first == HRX_OUT_OF_MEMORY);
      ck_assert(second == HRX_OK || second == HRX_OUT_OF_MEMORY);
      ck_assert(moved == HRX_OK || moved == HRX_OUT_OF_MEMORY);
      if (one != NULL) ck_assert_int_eq(finish(one), HRX_OK);
      if (two != NULL) ck_assert_int_eq(finish(two), HRX_OK);
      if (graph != NULL) ck_assert_int_eq(finish(submit(graph)), HRX_OK);
      graph_release(graph);
      ck_assert_uint_eq(program.released, before + (graph != NULL));
      if (prepared == HRX_OK && first == HRX_OK && second == HRX_OK && moved == HRX_OK) break;
    }
  stream_release(stream);
}
END_TEST

START_TEST(a_large_graph_is_small) {
  enum { MANY = 100000 };
  struct graph_node *nodes = calloc(MANY, sizeof *nodes);
  struct access *uses = calloc(MANY, sizeof *uses);
  for (int spread = 0; spread < 2; spread++) {
    for (uint32_t i = 0; i < MANY; i++) {
      size_t offset = spread ? i * 8u : 0;
      uses[i] = on(0, offset, 8, ACCESS_WRITE);
      nodes[i].task = (struct task){.kind = TASK_FILL, .accesses = &uses[i], .access_count = 1,
                                    .fill = {.destination = (char *)buffers[0]->address + offset, .width = 8, .height = 1,
                                             .depth = 1, .pattern = i & 0xff, .element_bytes = 1}};
      nodes[i].lane_class = LANE_COPY;
    }
    struct graph *graph = NULL;
    ck_assert_int_eq(graph_prepare(engine, &(struct graph_options){0}, nodes, MANY, &graph), HRX_OK);
    struct graph_statistics statistics;
    graph_statistics(graph, &statistics);
    ck_assert_msg(statistics.bytes < (size_t)MANY * 1024, "%zu bytes a node", statistics.bytes / MANY);
    ck_assert_uint_eq(statistics.inferred, spread ? 0 : MANY - 1);
    ck_assert_int_eq(finish(submit(graph)), HRX_OK);
    ck_assert_int_eq(finish(submit(graph)), HRX_OK);
    ck_assert_int_eq(byte_at(0, spread ? (MANY - 1) * 8 : 0), (MANY - 1) & 0xff);
    graph_release(graph);
  }
  free(nodes);
  free(uses);
}
END_TEST

static void device_start(void *payload, gpu_done done, void *context) {
  atomic_fetch_add((_Atomic int *)payload, 1);
  done(context, NULL);
}

static void device_release(void *payload) { atomic_fetch_add((_Atomic int *)payload, 100); }

START_TEST(other_engines_start_like_dispatches) {
  struct stream *stream = stream_new();
  _Atomic int payload = 0;
  struct point point;
  struct task task = {.kind = TASK_DEVICE, .device = {device_start, NULL, device_release, (void *)&payload}};
  ck_assert_int_eq(stream_submit(stream, &task, &point), HRX_OK);
  ck_assert(stream_idle(stream));
  ck_assert_int_eq(payload, 101);
  stream_release(stream);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph");
  TCase *tests = tcase_create("all");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, nodes_follow_what_they_conflict_with_and_nothing_else);
  tcase_add_test(tests, replays_overlap_up_to_the_first_conflict);
  tcase_add_test(tests, submit_and_wait_with_one_slot_is_never_busy);
  tcase_add_test(tests, released_in_flight);
  tcase_add_test(tests, streams_and_runs_follow_each_other_where_they_conflict);
  tcase_add_test(tests, a_run_in_a_stream_is_one_opaque_task);
  tcase_add_test(tests, a_failed_run_fails_its_stream);
  tcase_add_test(tests, runs_of_a_serial_graph_come_one_after_the_other);
  tcase_add_test(tests, slots_are_waited_for_and_added);
  tcase_add_test(tests, who_waits_for_a_stream_helps_the_run_in_it);
  tcase_add_test(tests, rebinding_moves_ranges_and_pointers);
  tcase_add_test(tests, closure_keeps_to_the_callers_order);
  tcase_add_test(tests, host_functions_are_shared_and_released_once);
  tcase_add_test(tests, bad_graphs_are_refused);
  tcase_add_test(tests, a_replay_allocates_nothing);
  tcase_add_test(tests, no_memory_is_an_error_and_no_more);
  tcase_add_test(tests, a_large_graph_is_small);
  tcase_add_test(tests, other_engines_start_like_dispatches);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
