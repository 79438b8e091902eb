/* No order is lost and none is added: random graphs, submitted one after the other on the device of virtual time, take as long as the
 * critical path of their exact conflicts, byte for byte, and no more than 5 % longer, given enough lanes. Frontiers are exact up to
 * FRONTIER_SEGMENTS pieces of a buffer; where there are more, the schedule may be longer, but never too short.
 *
 * SIM_MAKESPAN_ROUNDS says how many of each (default 1,500), SIM_MAKESPAN_SEED where to begin. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/frontier.h"
#include "engine/graph.h"
#include "gpu/sim/sim.h"

enum { ROUNDS = 1500, BUFFERS = 4, BYTES = 4096, CUTS = FRONTIER_SEGMENTS, GRAPHS = 3, NODES = 64, RUNS = 6, ACCESSES = 3, LANES = 64, PER_MILLE_MOST = 1050 };

struct node {
  struct access accesses[ACCESSES];
  unsigned access_count;
  uint64_t duration_ns;
};

struct program {
  struct node nodes[NODES];
  uint32_t count;
  struct graph *graph;
};

static struct memory *memory;
static struct engine *engine;
static struct gpu_device *device;
static struct gpu_kernel *kernel;
static struct allocation *buffers[BUFFERS];
static struct program programs[GRAPHS];
static size_t cuts[CUTS]; /* where ranges begin and end; sorted */
static uint64_t state;
static unsigned long seed;

static unsigned pick(unsigned below) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static hrx_status payload_make(void *context, uint32_t node, struct task *io_task) {
  const struct program *program = context;
  struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = &program->nodes[node].duration_ns, .argument_bytes = 8};
  return gpu_dispatch_create(kernel, &launch, &io_task->dispatch);
}

/* --- the exact order --- */

static bool kinds_conflict(enum access_kind one, enum access_kind other) {
  return !(one == ACCESS_READ && other == ACCESS_READ) && !(one == ACCESS_ATOMIC && other == ACCESS_ATOMIC);
}

static bool conflict(const struct node *one, const struct node *other) {
  for (unsigned i = 0; i < one->access_count; i++)
    for (unsigned k = 0; k < other->access_count; k++) {
      const struct access *a = &one->accesses[i], *b = &other->accesses[k];
      if (a->bytes != 0 && b->bytes != 0 && a->allocation == b->allocation && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes &&
          kinds_conflict(a->kind, b->kind))
        return true;
    }
  return false;
}

static uint64_t critical_path(const struct node *const *nodes, unsigned count) {
  static uint64_t ends[RUNS * NODES];
  uint64_t longest = 0;
  for (unsigned i = 0; i < count; i++) {
    uint64_t begins = 0;
    for (unsigned k = 0; k < i; k++)
      if (ends[k] > begins && conflict(nodes[k], nodes[i])) begins = ends[k];
    ends[i] = begins + nodes[i]->duration_ns;
    if (ends[i] > longest) longest = ends[i];
  }
  return longest;
}

/* --- random graphs --- */

static int cuts_compare(const void *one, const void *other) {
  size_t a = *(const size_t *)one, b = *(const size_t *)other;
  return (a > b) - (a < b);
}

static void cuts_pick(void) {
  for (int i = 0; i < CUTS; i++) cuts[i] = pick(BYTES + 1);
  qsort(cuts, CUTS, sizeof *cuts, cuts_compare);
}

/* Between cuts, empty where two are the same; or, `anywhere`, at any byte. `narrow`: so many cuts wide at most. */
static struct access access_pick(unsigned narrow, bool anywhere) {
  static const enum access_kind kinds[] = {ACCESS_READ, ACCESS_READ, ACCESS_WRITE, ACCESS_READ_WRITE, ACCESS_ATOMIC};
  unsigned at = pick(CUTS - 1), wide = 1 + pick(narrow), end = at + wide < CUTS ? at + wide : CUTS - 1;
  struct access access = {buffers[pick(BUFFERS)], cuts[at], cuts[end] - cuts[at], kinds[pick(5)]};
  if (!anywhere) return access;
  access.offset = pick(BYTES);
  access.bytes = pick((unsigned)(access.bytes < BYTES - access.offset ? access.bytes : BYTES - access.offset) + 1);
  return access;
}

/* From a chain (wide ranges) to nodes that hardly meet. */
static void program_make(struct program *program, bool anywhere) {
  static const unsigned widths[] = {1, 3, 10, CUTS};
  struct graph_node nodes[NODES] = {0};
  unsigned narrow = widths[pick(4)];
  program->count = 1 + pick(NODES);
  for (uint32_t i = 0; i < program->count; i++) {
    struct node *node = &program->nodes[i];
    node->duration_ns = pick(8) == 0 ? 1 + pick(5000) : 1 + pick(100);
    node->access_count = pick(ACCESSES + 1);
    for (unsigned k = 0; k < node->access_count; k++) node->accesses[k] = access_pick(narrow, anywhere);
    nodes[i].task = (struct task){.kind = TASK_DISPATCH, .accesses = node->accesses, .access_count = node->access_count};
  }
  struct graph_options options = {.slots = RUNS, .lanes = {LANES}, .client = {payload_make, NULL, NULL, program}};
  ck_assert_msg(graph_prepare(engine, &options, nodes, program->count, &program->graph) == HRX_OK, "%s", hrx_last_message());
}

/* Per mille of the critical path that the schedule took. */
static uint64_t round_run(bool anywhere) {
  const struct node *sequence[RUNS * NODES];
  struct run *runs[RUNS];
  unsigned count = 0, run_count = 1 + pick(RUNS);
  cuts_pick();
  for (int i = 0; i < GRAPHS; i++) program_make(&programs[i], anywhere);
  struct sim_statistics before, after;
  sim_statistics(device, &before);
  for (unsigned i = 0; i < run_count; i++) {
    struct program *program = &programs[pick(GRAPHS)];
    ck_assert_msg(graph_submit(program->graph, NULL, &runs[i]) == HRX_OK, "seed %lu: %s", seed, hrx_last_message());
    for (uint32_t k = 0; k < program->count; k++) sequence[count++] = &program->nodes[k];
  }
  sim_run(device);
  sim_statistics(device, &after);
  uint64_t took = after.now_ns - before.now_ns, least = critical_path(sequence, count);
  ck_assert_uint_eq(after.finished - before.finished, count);
  ck_assert_msg(took >= least, "seed %lu: %u nodes took %lu ns: order was lost, the critical path is %lu ns", seed, count,
                (unsigned long)took, (unsigned long)least);
  ck_assert_msg(anywhere || took * 1000 <= least * PER_MILLE_MOST, "seed %lu: %u nodes of %u runs took %lu ns, the critical path is %lu ns", seed,
                count, run_count, (unsigned long)took, (unsigned long)least);
  for (unsigned i = 0; i < run_count; i++) {
    ck_assert(run_over(runs[i]));
    run_release(runs[i]);
  }
  for (int i = 0; i < GRAPHS; i++) graph_release(programs[i].graph);
  return took * 1000 / least;
}

static void rounds(bool anywhere) {
  const char *many = getenv("SIM_MAKESPAN_ROUNDS"), *first = getenv("SIM_MAKESPAN_SEED");
  unsigned long count = many != NULL ? strtoul(many, NULL, 10) : ROUNDS, exact = 0;
  uint64_t worst = 0;
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  ck_assert_int_eq(sim_device_create(memory, &device), HRX_OK);
  ck_assert_int_eq(sim_kernel_create(device, "work", 1, &kernel), HRX_OK);
  for (int i = 0; i < BUFFERS; i++) ck_assert_int_eq(memory_allocate(memory, BYTES, 256, MEMORY_DEVICE, 0, 0, &buffers[i]), HRX_OK);
  seed = first != NULL ? strtoul(first, NULL, 10) : 1;
  for (unsigned long i = 0; i < count; i++, seed++) {
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    uint64_t ratio = round_run(anywhere);
    if (ratio > worst) worst = ratio;
    exact += ratio == 1000;
  }
  printf("%lu of %lu schedules took exactly the critical path, the worst %lu per mille of it\n", exact, count, (unsigned long)worst);
  engine_release(engine);
  gpu_device_release(device);
  memory_release(memory);
}

START_TEST(an_edge_that_no_byte_needs_is_not_there) { rounds(false); }
END_TEST

START_TEST(no_order_is_lost_however_small_the_pieces) { rounds(true); }
END_TEST

int main(void) {
  Suite *suite = suite_create("sim_makespan");
  TCase *tests = tcase_create("sim_makespan");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, an_edge_that_no_byte_needs_is_not_there);
  tcase_add_test(tests, no_order_is_lost_however_small_the_pieces);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
