/* Random fills, copies, dispatches and host functions on several streams, ordered by random events, against the same
 * operations done one after the other.
 *
 * The generator keeps its own happened-before relation and only lets an operation touch bytes whose earlier accesses
 * are ordered before it, so the sequential result is the only right one. Declared ranges are sometimes wider than what
 * an operation touches, and opaque ones declare nothing, as with real kernels. */
#include <check.h>
#include <sched.h>

#include "engine/engine.h"
#include "tests/unit/include/fake_gpu.h"

enum { STREAMS = 5, BUFFERS = 3, GRANULES = 48, GRANULE = 4096, EVENTS = 8, STEPS = 4000 };

struct moment {
  uint32_t done[STREAMS]; /* operations of each stream that are ordered before */
};

struct range {
  int buffer;
  size_t begin, count; /* granules */
};

static struct memory *memory;
static struct engine *engine;
static struct allocation *buffers[BUFFERS];
static unsigned char *model[BUFFERS];
static struct stream *streams[STREAMS];
static struct moment now[STREAMS];
static struct clock events[EVENTS];
static struct moment event_moments[EVENTS];
static uint32_t last_write[BUFFERS][GRANULES][STREAMS], last_read[BUFFERS][GRANULES][STREAMS];
static uint64_t state;

static unsigned pick(unsigned below) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static void moment_join(struct moment *moment, const struct moment *other) {
  for (int i = 0; i < STREAMS; i++)
    if (moment->done[i] < other->done[i]) moment->done[i] = other->done[i];
}

static bool allowed(unsigned stream, struct range range, bool write) {
  for (size_t g = range.begin; g < range.begin + range.count; g++)
    for (int other = 0; other < STREAMS; other++) {
      if (last_write[range.buffer][g][other] > now[stream].done[other]) return false;
      if (write && last_read[range.buffer][g][other] > now[stream].done[other]) return false;
    }
  return true;
}

static void touched(unsigned stream, struct range range, bool write) {
  for (size_t g = range.begin; g < range.begin + range.count; g++)
    (write ? last_write : last_read)[range.buffer][g][stream] = now[stream].done[stream];
}

static struct range range_pick(void) {
  struct range range = {.buffer = (int)pick(BUFFERS), .begin = pick(GRANULES)};
  size_t most = GRANULES - range.begin;
  size_t limit = pick(8) == 0 ? 24 : 4;
  if (most > limit) most = limit;
  range.count = 1 + pick((unsigned)most);
  return range;
}

static struct access declared(struct range range, enum access_kind kind, bool wide) {
  if (wide) return (struct access){buffers[range.buffer], 0, (size_t)GRANULES * GRANULE, kind};
  return (struct access){buffers[range.buffer], range.begin * GRANULE, range.count * GRANULE, kind};
}

static unsigned char *place(struct range range) {
  return (unsigned char *)buffers[range.buffer]->address + range.begin * GRANULE;
}

/* What a fake kernel or a host function does: adds to every byte, so that a lost or doubled run shows. */
struct job {
  unsigned char *bytes;
  size_t count;
  unsigned char add;
};

static void job_run(void *context) {
  struct job *job = context;
  for (unsigned yields = job->add & 3; yields > 0; yields--) sched_yield();
  for (size_t i = 0; i < job->count; i++) job->bytes[i] = (unsigned char)(job->bytes[i] + job->add);
}

static hrx_status job_host(void *context) {
  job_run(context);
  return HRX_OK;
}

/* While a gate is held, nothing is over, so how many lanes each task waits for is known: the gate's, and those of all
 * earlier accesses in conflict with its own (granules are fewer than segments of a frontier, so none coarsens). Bit n of a mask is
 * lane n. */
static struct {
  bool held;
  uint64_t gate_lane, wrote[BUFFERS][GRANULES], read[BUFFERS][GRANULES];
} gate;

static uint64_t edges_so_far(void) {
  struct engine_statistics statistics;
  engine_statistics(engine, &statistics);
  return statistics.edges;
}

static uint64_t lanes_in_conflict(const struct access *access) {
  int buffer = 0;
  while (buffers[buffer] != access->allocation) buffer++;
  size_t begin = access->offset / GRANULE, end = begin + access->bytes / GRANULE;
  uint64_t lanes = 0;
  for (size_t g = begin; g < end; g++)
    lanes |= gate.wrote[buffer][g] | (access->kind == ACCESS_READ ? 0 : gate.read[buffer][g]);
  return lanes;
}

static void access_note(const struct access *access, uint64_t lane) {
  int buffer = 0;
  while (buffers[buffer] != access->allocation) buffer++;
  size_t begin = access->offset / GRANULE, end = begin + access->bytes / GRANULE;
  for (size_t g = begin; g < end; g++)
    *(access->kind == ACCESS_READ ? &gate.read[buffer][g] : &gate.wrote[buffer][g]) |= lane;
}

static void submit(unsigned stream, const struct task *task) {
  uint64_t before = edges_so_far(), lanes = gate.gate_lane;
  for (unsigned i = 0; gate.held && i < task->access_count; i++) lanes |= lanes_in_conflict(&task->accesses[i]);
  struct point point;
  ck_assert_msg(stream_submit(streams[stream], task, &point) == HRX_OK, "%s", hrx_last_message());
  if (!gate.held) return;
  ck_assert_uint_lt(point.lane, 64);
  ck_assert_uint_eq(edges_so_far() - before, (unsigned)__builtin_popcountll(lanes));
  for (unsigned i = 0; i < task->access_count; i++) access_note(&task->accesses[i], UINT64_C(1) << point.lane);
}

static void step_copy(unsigned stream, struct range to, bool wide) {
  struct range from = range_pick();
  if (from.buffer == to.buffer) from.buffer = (to.buffer + 1) % BUFFERS;
  if (from.count > to.count) from.count = to.count;
  to.count = from.count;
  if (!allowed(stream, to, true) || !allowed(stream, from, false)) return;
  now[stream].done[stream]++;
  touched(stream, to, true);
  touched(stream, from, false);
  struct access accesses[2] = {declared(to, ACCESS_WRITE, wide), declared(from, ACCESS_READ, wide)};
  submit(stream, &(struct task){.kind = TASK_COPY,
                                .accesses = accesses,
                                .access_count = 2,
                                .copy = {.destination = place(to),
                                         .destination_pitch = GRANULE,
                                         .source = place(from),
                                         .source_pitch = GRANULE,
                                         .width = GRANULE,
                                         .height = to.count,
                                         .depth = 1}});
  memcpy(model[to.buffer] + to.begin * GRANULE, model[from.buffer] + from.begin * GRANULE, to.count * GRANULE);
}

static void step_fill(unsigned stream, struct range to, bool wide) {
  if (!allowed(stream, to, true)) return;
  now[stream].done[stream]++;
  touched(stream, to, true);
  unsigned value = pick(256);
  struct access access = declared(to, ACCESS_WRITE, wide);
  submit(stream, &(struct task){.kind = TASK_FILL,
                                .accesses = &access,
                                .access_count = 1,
                                .fill = {.destination = place(to),
                                         .width = to.count * GRANULE,
                                         .height = 1,
                                         .depth = 1,
                                         .pattern = value,
                                         .element_bytes = 1}});
  memset(model[to.buffer] + to.begin * GRANULE, (int)value, to.count * GRANULE);
}

static void step_job(unsigned stream, struct range to, bool wide, bool host) {
  if (!allowed(stream, to, true)) return;
  now[stream].done[stream]++;
  touched(stream, to, true);
  struct job *job = malloc(sizeof *job);
  *job = (struct job){place(to), to.count * GRANULE, (unsigned char)pick(256)};
  unsigned char add = job->add;
  bool opaque = host || (!gate.held && pick(4) == 0);
  struct access access = declared(to, ACCESS_READ_WRITE, wide);
  struct task task = {
      .kind = host ? TASK_HOST : TASK_DISPATCH, .opaque = opaque, .accesses = &access, .access_count = opaque ? 0 : 1};
  if (host) {
    task.host.call = job_host;
    task.host.context = job;
    task.host.release = free;
  } else {
    enum fake_mode mode = (enum fake_mode)pick(2);
    struct fake_dispatch *fake = fake_dispatch_new(mode, HRX_OK, job_run, job);
    fake->owned = job;
    task.dispatch = &fake->base;
  }
  submit(stream, &task);
  for (size_t i = 0; i < to.count * GRANULE; i++) model[to.buffer][to.begin * GRANULE + i] += add;
}

static void step_event(unsigned stream) {
  unsigned event = pick(EVENTS);
  if (pick(2) == 0) {
    clock_reset(&events[event]);
    ck_assert_int_eq(stream_clock(streams[stream], &events[event]), HRX_OK);
    event_moments[event] = now[stream];
  } else {
    ck_assert_int_eq(stream_wait_clock(streams[stream], &events[event]), HRX_OK);
    moment_join(&now[stream], &event_moments[event]);
  }
}

/* The host waits for a stream: all streams' later work follows it, because the host submits it afterwards. */
static void step_synchronize(unsigned stream) {
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(streams[stream], &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
  clock_finish(&clock);
  for (int other = 0; other < STREAMS; other++) moment_join(&now[other], &now[stream]);
}

static void everything_is_equal(void) {
  struct clock all = {0};
  ck_assert_int_eq(engine_clock(engine, &all), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &all, UINT64_MAX), HRX_OK);
  clock_finish(&all);
  for (int b = 0; b < BUFFERS; b++)
    ck_assert_int_eq(memcmp((void *)buffers[b]->address, model[b], (size_t)GRANULES * GRANULE), 0);
}

static void begin(uint64_t seed) {
  state = seed;
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  for (int b = 0; b < BUFFERS; b++) {
    ck_assert_int_eq(memory_allocate(memory, (size_t)GRANULES * GRANULE, 256, MEMORY_DEVICE, 0, 0, &buffers[b]),
                     HRX_OK);
    model[b] = calloc(GRANULES, GRANULE);
  }
  for (int s = 0; s < STREAMS; s++) ck_assert_int_eq(stream_create(engine, s % 2, &streams[s]), HRX_OK);
}

static void end(void) {
  for (int s = 0; s < STREAMS; s++) stream_release(streams[s]);
  for (int e = 0; e < EVENTS; e++) clock_finish(&events[e]);
  engine_release(engine);
  memory_release(memory);
  for (int b = 0; b < BUFFERS; b++) free(model[b]);
}

START_TEST(the_result_is_the_sequential_one) {
  begin((uint64_t)_i + 1);
  for (int step = 0; step < STEPS; step++) {
    unsigned stream = pick(STREAMS);
    struct range to = range_pick();
    bool wide = pick(3) == 0;
    switch (pick(10)) {
    case 0:
    case 1:
    case 2: step_copy(stream, to, wide); break;
    case 3:
    case 4: step_fill(stream, to, wide); break;
    case 5:
    case 6: step_job(stream, to, wide, false); break;
    case 7:
      if (pick(4) == 0) step_job(stream, to, wide, true);
      break;
    case 8: step_event(stream); break;
    default:
      step_event(stream);
      if (pick(20) == 0) step_synchronize(stream);
    }
  }
  everything_is_equal();
  struct engine_statistics statistics;
  engine_statistics(engine, &statistics);
  ck_assert_uint_gt(statistics.tasks, STEPS / 16);
  ck_assert_uint_gt(statistics.edges, 0);
  end();
}
END_TEST

START_TEST(a_task_waits_for_exactly_the_lanes_in_conflict) {
  begin((uint64_t)_i + 1);
  struct fake_dispatch *slow = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct point point;
  struct clock clock = {0};
  struct task first = {.kind = TASK_DISPATCH, .opaque = true, .dispatch = &slow->base};
  ck_assert_int_eq(stream_submit(streams[0], &first, &point), HRX_OK);
  ck_assert_int_eq(stream_clock(streams[0], &clock), HRX_OK);
  for (int s = 1; s < STREAMS; s++) ck_assert_int_eq(stream_wait_clock(streams[s], &clock), HRX_OK);
  clock_finish(&clock);
  gate.held = true;
  gate.gate_lane = UINT64_C(1) << point.lane;
  for (int step = 0; step < STEPS / 2; step++) {
    unsigned stream = pick(STREAMS);
    struct range to = range_pick();
    switch (pick(4)) {
    case 0: step_copy(stream, to, false); break;
    case 1: step_fill(stream, to, false); break;
    case 2: step_job(stream, to, false, false); break;
    default: step_event(stream);
    }
  }
  struct engine_statistics statistics;
  engine_statistics(engine, &statistics);
  ck_assert_uint_gt(statistics.edges, statistics.tasks + statistics.tasks / 2); /* the gate's is not the only one */
  gate.held = false;
  fake_done(slow);
  everything_is_equal();
  end();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("engine_model");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 100);
  tcase_add_loop_test(tests, the_result_is_the_sequential_one, 0, 12);
  tcase_add_loop_test(tests, a_task_waits_for_exactly_the_lanes_in_conflict, 0, 4);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
