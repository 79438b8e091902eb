/* Random graphs of fills, copies, kernels and host functions on overlapping ranges, submitted again and again, in the domain's
 * order and in a stream, beside single tasks of that stream, with maps, cancelled runs and rebinds, against the same operations
 * done one after the other.
 *
 * GRAPH_MODEL_PROGRAMS says how many programs (default 2,000), GRAPH_MODEL_SEED where to begin. */
#include <check.h>
#include <sched.h>

#include "base/clocktime.h"
#include "engine/graph.h"
#include "engine/hold.h"
#include "tests/unit/include/fake_gpu.h"

enum { BUFFERS = 3, GRANULES = 24, GRANULE = 64, BYTES = GRANULES * GRANULE, GRAPHS = 3, NODES = 12, RUNS = 8, STEPS = 40, AN_ENGINE = 50 };

enum what { FILL, COPY, ADD, HOST_ADD };

struct operation {
  enum what what;
  int to, from; /* buffers */
  size_t to_begin, from_begin, bytes;
  unsigned char value;
};

struct job {
  unsigned char *bytes;
  size_t count;
  unsigned char add;
};

struct program {
  struct operation operations[NODES];
  struct access accesses[NODES][2];
  uint32_t after[NODES][NODES];
  struct job jobs[NODES]; /* of host functions */
  uint32_t count;
  bool host;
  struct graph *graph;
};

static struct memory *memory;
static struct engine *engine;
static struct allocation *buffers[BUFFERS];
static unsigned char model[BUFFERS][BYTES];
static struct stream *stream;
static struct program programs[GRAPHS];
static struct run *runs[RUNS];
static struct fake_dispatch *plug;
static uint64_t state;
static unsigned long seed;

static unsigned pick(unsigned below) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static unsigned char *place(int buffer, size_t begin) { return (unsigned char *)buffers[buffer]->address + begin; }

static struct operation operation_pick(bool host) {
  size_t begin = pick(GRANULES), most = GRANULES - begin, limit = pick(6) == 0 ? GRANULES : 4;
  size_t count = 1 + pick((unsigned)(most < limit ? most : limit));
  struct operation operation = {.what = (enum what)pick(host ? 4 : 3), .to = (int)pick(BUFFERS), .to_begin = begin * GRANULE,
                                .bytes = count * GRANULE, .value = (unsigned char)pick(256)};
  operation.from = (operation.to + 1 + (int)pick(BUFFERS - 1)) % BUFFERS;
  operation.from_begin = pick((unsigned)(GRANULES - count) + 1) * GRANULE;
  return operation;
}

static void operation_model(const struct operation *operation) {
  unsigned char *to = model[operation->to] + operation->to_begin;
  if (operation->what == FILL) memset(to, operation->value, operation->bytes);
  if (operation->what == COPY) memcpy(to, model[operation->from] + operation->from_begin, operation->bytes);
  for (size_t i = 0; operation->what >= ADD && i < operation->bytes; i++) to[i] = (unsigned char)(to[i] + operation->value);
}

static unsigned operation_accesses(const struct operation *operation, struct access out_accesses[2]) {
  enum access_kind kind = operation->what >= ADD ? ACCESS_READ_WRITE : ACCESS_WRITE;
  out_accesses[0] = (struct access){buffers[operation->to], operation->to_begin, operation->bytes, kind};
  out_accesses[1] = (struct access){buffers[operation->from], operation->from_begin, operation->bytes, ACCESS_READ};
  return operation->what == COPY ? 2 : 1;
}

static void job_set(struct job *job, const struct operation *operation) {
  *job = (struct job){place(operation->to, operation->to_begin), operation->bytes, operation->value};
}

static void job_run(void *context) {
  struct job *job = context;
  for (unsigned yields = job->add & 3; yields > 0; yields--) sched_yield();
  for (size_t i = 0; i < job->count; i++) job->bytes[i] = (unsigned char)(job->bytes[i] + job->add);
}

static hrx_status job_host(void *context) {
  job_run(context);
  return HRX_OK;
}

/* All but who does the adding. */
static struct task operation_task(const struct operation *operation, struct access accesses[2]) {
  struct task task = {.accesses = accesses, .access_count = operation_accesses(operation, accesses)};
  if (operation->what == FILL) {
    task.kind = TASK_FILL;
    task.fill = (struct task_fill){.destination = place(operation->to, operation->to_begin), .width = operation->bytes,
                                   .height = 1, .depth = 1, .pattern = operation->value, .element_bytes = 1};
  } else if (operation->what == COPY) {
    task.kind = TASK_COPY;
    task.copy = (struct task_copy){.destination = place(operation->to, operation->to_begin),
                                   .source = place(operation->from, operation->from_begin), .width = operation->bytes,
                                   .height = 1, .depth = 1};
  } else {
    task.kind = operation->what == ADD ? TASK_DISPATCH : TASK_HOST;
  }
  return task;
}

static struct fake_dispatch *fake_of(const struct operation *operation) {
  struct job *job = malloc(sizeof *job);
  job_set(job, operation);
  struct fake_dispatch *fake = fake_dispatch_new(pick(8) == 0 ? FAKE_THREAD : FAKE_AT_ONCE, HRX_OK, job_run, job);
  fake->owned = job;
  return fake;
}

static hrx_status payload_make(void *context, uint32_t node, struct task *io_task) {
  struct program *program = context;
  io_task->dispatch = &fake_of(&program->operations[node])->base;
  return HRX_OK;
}

static hrx_status payload_renew(void *context, uint32_t node, struct task *io_task) {
  struct program *program = context;
  if (io_task->kind == TASK_DISPATCH) job_set(((struct fake_dispatch *)io_task->dispatch)->owned, &program->operations[node]);
  return HRX_OK;
}

static bool overlap(const struct access *one, const struct access *other) {
  return one->allocation == other->allocation && one->offset < other->offset + other->bytes &&
         other->offset < one->offset + one->bytes && (one->kind != ACCESS_READ || other->kind != ACCESS_READ);
}

static bool conflict(const struct graph_node *one, const struct graph_node *other) {
  for (unsigned a = 0; a < one->task.access_count; a++)
    for (unsigned b = 0; b < other->task.access_count; b++)
      if (overlap(&one->task.accesses[a], &other->task.accesses[b])) return true;
  return false;
}

static void program_make(struct program *program) {
  struct graph_node nodes[NODES] = {0};
  enum graph_order order = (enum graph_order)pick(3);
  program->count = 1 + pick(NODES);
  program->host = pick(3) == 0;
  for (uint32_t i = 0; i < program->count; i++) {
    program->operations[i] = operation_pick(program->host);
    nodes[i].task = operation_task(&program->operations[i], program->accesses[i]);
    job_set(&program->jobs[i], &program->operations[i]);
    if (nodes[i].task.kind == TASK_HOST) {
      nodes[i].task.host.call = job_host;
      nodes[i].task.host.context = &program->jobs[i];
    }
    nodes[i].lane_class = nodes[i].task.kind == TASK_HOST ? LANE_HOST : pick(2);
    nodes[i].after = program->after[i];
    for (uint32_t k = 0; k < i; k++) /* the caller's edges leave no conflict unordered */
      if (conflict(&nodes[k], &nodes[i]) || pick(10) == 0) program->after[i][nodes[i].after_count++] = k;
    nodes[i].task.opaque = pick(60) == 0 && order == GRAPH_INFERRED;
  }
  struct graph_options options = {.order = order, .slots = 1 + pick(3), .lanes = {1 + pick(4)},
                                  .client = {payload_make, payload_renew, NULL, program}};
  ck_assert_msg(graph_prepare(engine, &options, nodes, program->count, &program->graph) == HRX_OK, "%s", hrx_last_message());
}

static void run_finish(struct run *run) {
  struct failure failure;
  ck_assert_msg(run_wait(run, time_after(time_now_ns(), UINT64_C(30000000000))) == HRX_OK, "seed %lu hangs", seed);
  run_result(run, &failure);
  ck_assert_msg(failure.status == HRX_OK, "seed %lu: %s", seed, failure.message);
  run_release(run);
}

static void runs_finish(void) {
  for (int i = 0; i < RUNS; i++) {
    if (runs[i] != NULL) run_finish(runs[i]);
    runs[i] = NULL;
  }
}

static struct run *submit(struct program *program, struct stream *where) {
  struct run *run = NULL, *after = runs[pick(RUNS)];
  struct run_options options = {.stream = where, .after = &after, .after_count = after != NULL && pick(4) == 0};
  hrx_status status = graph_submit(program->graph, &options, &run);
  if (status == HRX_BUSY) {
    ck_assert_int_eq(hrx_last_reason(), HRX_REASON_SLOTS);
    runs_finish();
    options.after_count = 0;
    status = graph_submit(program->graph, &options, &run);
  }
  ck_assert_msg(status == HRX_OK, "seed %lu: %s", seed, hrx_last_message());
  return run;
}

static void step_run(void) {
  struct program *program = &programs[pick(GRAPHS)];
  struct run *run = submit(program, pick(5) == 0 ? stream : NULL);
  for (uint32_t i = 0; i < program->count; i++) operation_model(&program->operations[i]);
  unsigned at = pick(RUNS);
  if (runs[at] != NULL) run_finish(runs[at]);
  runs[at] = run;
}

static void step_task(void) {
  struct operation operation = operation_pick(true);
  struct access accesses[2];
  struct task task = operation_task(&operation, accesses);
  if (task.kind == TASK_DISPATCH) task.dispatch = &fake_of(&operation)->base;
  if (task.kind == TASK_HOST) {
    struct job *job = malloc(sizeof *job);
    job_set(job, &operation);
    task.host.call = job_host;
    task.host.context = job;
    task.host.release = free;
  }
  task.opaque = pick(6) == 0;
  struct point point;
  ck_assert_int_eq(stream_submit(stream, &task, &point), HRX_OK);
  operation_model(&operation);
}

static void everything_is_over(void) {
  struct clock all = {0};
  runs_finish();
  ck_assert_int_eq(engine_clock(engine, &all), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &all, UINT64_MAX), HRX_OK);
  clock_finish(&all);
}

/* Nothing of the cancelled run may happen, and what comes after it must still wait for what it waited for. */
static void step_cancel(void) {
  struct program *program = &programs[pick(GRAPHS)];
  everything_is_over(); /* so that the plug starts at once */
  struct access whole[BUFFERS];
  for (int b = 0; b < BUFFERS; b++) whole[b] = (struct access){buffers[b], 0, BYTES, ACCESS_WRITE};
  plug = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct task task = {.kind = TASK_DISPATCH, .accesses = whole, .access_count = BUFFERS, .dispatch = &plug->base};
  struct point point;
  ck_assert_int_eq(stream_submit(stream, &task, &point), HRX_OK);
  struct stream *where = pick(3) == 0 ? stream : NULL;
  struct run *run = submit(program, where);
  run_cancel(run);
  ck_assert(run_over(run));
  struct failure failure;
  run_result(run, &failure);
  ck_assert_int_eq(failure.status, HRX_CANCELLED);
  run_release(run);
  if (where == NULL && pick(2) == 0) step_run(); /* in the stream, the failure would be found */
  fake_done(plug);
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(stream, &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
  clock_finish(&clock);
  stream_failure_take(stream, &failure);
}

static void step_map(void) {
  int buffer = (int)pick(BUFFERS);
  size_t begin = pick(BYTES), bytes = 1 + pick((unsigned)(BYTES - begin));
  struct access access = {buffers[buffer], begin, bytes, ACCESS_READ};
  struct hold hold = {.kind = (enum hold_kind)pick(2), .accesses = &access, .access_count = 1};
  ck_assert_int_eq(hold_take(engine, &hold, false, time_after(time_now_ns(), UINT64_C(30000000000))), HRX_OK);
  ck_assert_msg(memcmp(place(buffer, begin), model[buffer] + begin, bytes) == 0, "seed %lu: a map shows other bytes", seed);
  if (hold.kind == HOLD_WRITE) {
    unsigned char value = (unsigned char)pick(256);
    memset(place(buffer, begin), value, bytes);
    memset(model[buffer] + begin, value, bytes);
  }
  hold_drop(engine, &hold);
}

static void step_rebind(void) {
  struct program *program = &programs[pick(GRAPHS)];
  if (program->host) return;
  struct graph_move moves[2] = {{buffers[0], buffers[1], 0, 0, BYTES}, {buffers[1], buffers[0], 0, 0, BYTES}};
  ck_assert_msg(graph_rebind(program->graph, moves, 2) == HRX_OK, "%s", hrx_last_message());
  for (uint32_t i = 0; i < program->count; i++) {
    struct operation *operation = &program->operations[i];
    if (operation->to < 2) operation->to = 1 - operation->to;
    if (operation->from < 2) operation->from = 1 - operation->from;
  }
}

static void everything_is_equal(void) {
  everything_is_over();
  for (int b = 0; b < BUFFERS; b++)
    ck_assert_msg(memcmp(place(b, 0), model[b], BYTES) == 0, "seed %lu: buffer %d is not the sequential one", seed, b);
}

static void program_run(void) {
  state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int g = 0; g < GRAPHS; g++) program_make(&programs[g]);
  for (int step = 0; step < STEPS; step++) {
    unsigned what = pick(20);
    if (what < 9) step_run();
    if (what >= 9 && what < 15) step_task();
    if (what >= 15 && what < 18) step_map();
    if (what == 18) step_rebind();
    if (what == 19 && pick(2) == 0) step_cancel();
  }
  if (pick(2) == 0) everything_is_equal();
  for (int g = 0; g < GRAPHS; g++) graph_release(programs[g].graph);
  everything_is_equal();
}

static void engine_new(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  for (int b = 0; b < BUFFERS; b++) {
    ck_assert_int_eq(memory_allocate(memory, BYTES, 256, MEMORY_DEVICE, 0, 0, &buffers[b]), HRX_OK);
    memset(place(b, 0), 0, BYTES);
    memset(model[b], 0, BYTES);
  }
  ck_assert_int_eq(stream_create(engine, 0, &stream), HRX_OK);
}

static void engine_end(void) {
  stream_release(stream);
  engine_release(engine);
  memory_release(memory);
}

START_TEST(the_result_is_the_sequential_one) {
  const char *many = getenv("GRAPH_MODEL_PROGRAMS"), *first = getenv("GRAPH_MODEL_SEED");
  unsigned long count = many != NULL ? strtoul(many, NULL, 10) : 2000;
  seed = first != NULL ? strtoul(first, NULL, 10) : 1;
  for (unsigned long i = 0; i < count; i++, seed++) {
    if (i % AN_ENGINE == 0) engine_new();
    program_run();
    if (i % AN_ENGINE == AN_ENGINE - 1 || i == count - 1) engine_end();
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph_model");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, the_result_is_the_sequential_one);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
