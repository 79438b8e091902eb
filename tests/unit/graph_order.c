/* The inner order of random graphs against a model that compares every pair of nodes, byte by byte. */
#include "engine/graph_order.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/frontier.h"
#include "memory/storage.h"

enum { NODES = 48, STORAGES = 3, BYTES = 24, ACCESSES = 3, ROUNDS = 400 };

static struct storage storages[STORAGES];
static struct allocation allocations[STORAGES];
static struct access accesses[NODES][ACCESSES];
static uint32_t after[NODES][4];
static struct graph_node nodes[NODES];
static uint32_t count;
static uint64_t state;

static bool reach[NODES][NODES], passing[NODES][NODES], want[NODES][NODES], want_passing[NODES][NODES];
static bool ancestor[NODES][NODES];

static unsigned pick(unsigned below) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static void graph_random(enum graph_order order) {
  count = 1 + pick(NODES);
  unsigned widest = 1 + pick(BYTES);
  bool opaques = pick(4) == 0;
  memset(nodes, 0, sizeof nodes);
  for (uint32_t i = 0; i < count; i++) {
    unsigned used = pick(ACCESSES + 1);
    for (unsigned k = 0; k < used; k++) {
      unsigned storage = pick(STORAGES), begin = pick(BYTES), bytes = pick(widest + 1);
      if (bytes > BYTES - begin) bytes = BYTES - begin;
      accesses[i][k] = (struct access){&allocations[storage], begin, bytes, (enum access_kind)(1 + pick(4))};
    }
    nodes[i].task = (struct task){
        .kind = TASK_JOIN, .accesses = accesses[i], .access_count = used, .opaque = opaques && pick(8) == 0};
    nodes[i].lane_class = pick(3);
    if (order == GRAPH_INFERRED || i == 0) continue;
    nodes[i].after = after[i];
    nodes[i].after_count = pick(4);
    for (uint32_t k = 0; k < nodes[i].after_count; k++) after[i][k] = pick(i);
  }
}

static void closure(bool relation[NODES][NODES]) {
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t j = 0; relation[i][k] && j < count; j++) relation[i][j] |= relation[k][j];
}

static bool meet(const struct access *one, const struct access *other) {
  return one->allocation == other->allocation && one->bytes != 0 && other->bytes != 0 &&
         one->offset < other->offset + other->bytes && other->offset < one->offset + one->bytes;
}

/* Whether the later node must wait for the earlier one, and take its failure. */
static bool must_wait(uint32_t i, uint32_t j, bool *out_passes) {
  *out_passes = nodes[i].task.opaque || nodes[j].task.opaque;
  bool wait = *out_passes;
  for (unsigned a = 0; a < nodes[i].task.access_count && !wait; a++)
    for (unsigned b = 0; b < nodes[j].task.access_count; b++) {
      const struct access *one = &accesses[i][a], *other = &accesses[j][b];
      if (!meet(one, other) || !access_conflicts(access_kept(one->kind), access_kept(other->kind))) continue;
      wait = true;
    }
  for (unsigned a = 0; a < nodes[i].task.access_count; a++)
    for (unsigned b = 0; b < nodes[j].task.access_count; b++)
      *out_passes |= !nodes[i].task.opaque && !nodes[j].task.opaque && meet(&accesses[i][a], &accesses[j][b]) &&
                     access_kept(accesses[i][a].kind) != ACCESS_READ &&
                     access_conflicts(access_kept(accesses[i][a].kind), access_kept(accesses[j][b].kind));
  return wait;
}

static void model_make(enum graph_order order, const struct graph_plan *plan) {
  memset(want, 0, sizeof want);
  memset(want_passing, 0, sizeof want_passing);
  memset(ancestor, 0, sizeof ancestor);
  for (uint32_t j = 0; j < count; j++)
    for (uint32_t k = 0; k < nodes[j].after_count; k++) ancestor[nodes[j].after[k]][j] = true;
  closure(ancestor);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = i + 1; j < count; j++) {
      bool passes, wait = must_wait(i, j, &passes);
      if (order == GRAPH_CLOSURE) wait = wait && ancestor[i][j];
      if (order == GRAPH_EXPLICIT) {
        wait = passes = false;
        for (uint32_t k = 0; k < nodes[j].after_count; k++) wait = passes = wait || nodes[j].after[k] == i;
      }
      want[i][j] = wait || (plan->lane[i] == plan->lane[j]);
      want_passing[i][j] = wait && passes;
    }
  closure(want);
  closure(want_passing);
}

static void plan_read(const struct graph_plan *plan) {
  memset(reach, 0, sizeof reach);
  memset(passing, 0, sizeof passing);
  uint32_t pending[NODES] = {0};
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t e = plan->first[i]; e < plan->first[i + 1]; e++) {
      ck_assert_uint_gt(plan->edges[e].to, i);
      reach[i][plan->edges[e].to] = true;
      passing[i][plan->edges[e].to] |= plan->edges[e].passes;
      pending[plan->edges[e].to]++;
    }
    for (uint32_t j = i + 1; j < count; j++)
      if (plan->lane[i] == plan->lane[j]) {
        reach[i][j] = true;
        ck_assert_uint_gt(plan->position[j], plan->position[i]);
        ck_assert_uint_eq(nodes[i].lane_class, nodes[j].lane_class);
      }
  }
  ck_assert_mem_eq(pending, plan->pending, count * sizeof *pending);
  closure(reach);
  closure(passing);
}

/* No edge that only orders is there if another edge to the same node says it. */
static void no_edge_too_many(const struct graph_plan *plan) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t e = plan->first[i]; e < plan->first[i + 1]; e++) {
      uint32_t j = plan->edges[e].to;
      for (uint32_t k = i + 1; k < j && !plan->edges[e].passes; k++)
        for (uint32_t f = plan->first[k]; f < plan->first[k + 1]; f++)
          if (plan->edges[f].to == j) ck_assert_msg(!reach[i][k], "%u -> %u is implied by %u", i, j, k);
    }
}

/* Whether the range list names a node for this byte; `node` UINT32_MAX: one that follows `before`, or is it. */
static bool listed(const struct order_ranges *ranges, unsigned storage, size_t byte, uint32_t before, bool follow,
                   bool (*fits)(enum access_kind)) {
  for (size_t r = 0; r < ranges->count; r++) {
    const struct order_range *range = &ranges->items[r];
    if (range->storage != &storages[storage] || range->begin > byte || range->end <= byte) continue;
    for (uint32_t at = range->list; at != 0; at = ranges->cells.items[at].next) {
      const struct cell *cell = &ranges->cells.items[at];
      if (fits((enum access_kind)cell->kind) && (cell->node == before || (follow && reach[before][cell->node]))) return true;
    }
  }
  return false;
}

static bool any(enum access_kind kind) { return kind != 0; }
static bool not_read(enum access_kind kind) { return kind != ACCESS_READ; }
static bool not_atomic(enum access_kind kind) { return kind != ACCESS_ATOMIC; }

static bool written_before(uint32_t j, unsigned storage, size_t byte) {
  for (uint32_t i = 0; i <= j; i++)
    for (unsigned a = 0; a < nodes[i].task.access_count && !nodes[i].task.opaque && (i == j || reach[i][j]); a++)
      if (accesses[i][a].allocation == &allocations[storage] && access_kept(accesses[i][a].kind) == ACCESS_WRITE &&
          byte >= accesses[i][a].offset && byte - accesses[i][a].offset < accesses[i][a].bytes)
        return true;
  return false;
}

static void footprint_is_whole(const struct graph_plan *plan) {
  for (uint32_t j = 0; j < count; j++)
    for (unsigned a = 0; a < nodes[j].task.access_count && !nodes[j].task.opaque; a++) {
      unsigned storage = (unsigned)(accesses[j][a].allocation - allocations);
      enum access_kind kind = access_kept(accesses[j][a].kind);
      for (size_t byte = accesses[j][a].offset; byte < accesses[j][a].offset + accesses[j][a].bytes; byte++) {
        ck_assert(listed(&plan->entries, storage, byte, j, false, any) || written_before(j, storage, byte));
        ck_assert(listed(&plan->exits, storage, byte, j, true, any));
        if (kind != ACCESS_READ) ck_assert(listed(&plan->exits, storage, byte, j, true, not_read));
        if (kind != ACCESS_ATOMIC) ck_assert(listed(&plan->exits, storage, byte, j, true, not_atomic));
      }
    }
}

static void exits_are_disjoint(const struct graph_plan *plan) {
  for (size_t i = 0; i < plan->exits.count; i++)
    for (size_t k = 0; k < i; k++)
      ck_assert(plan->exits.items[i].storage != plan->exits.items[k].storage ||
                plan->exits.items[i].begin >= plan->exits.items[k].end || plan->exits.items[k].begin >= plan->exits.items[i].end);
}

static void rounds(enum graph_order order) {
  for (int s = 0; s < STORAGES; s++) allocations[s] = (struct allocation){.bytes = BYTES, .storage = &storages[s]};
  for (unsigned round = 0; round < ROUNDS; round++) {
    state = round + 1;
    graph_random(order);
    struct graph_options options = {.order = order, .lanes = {1 + pick(6), 1 + pick(2), 0}, .keep_edges = true};
    struct graph_plan plan;
    ck_assert_int_eq(graph_plan_make(&options, nodes, count, &plan), HRX_OK);
    plan_read(&plan);
    model_make(order, &plan);
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t j = i + 1; j < count; j++) {
        ck_assert_msg(!want[i][j] || reach[i][j], "round %u: %u must come before %u", round, i, j);
        if (order != GRAPH_CLOSURE) {
          ck_assert_msg(want[i][j] || !reach[i][j], "round %u: %u need not come before %u", round, i, j);
          ck_assert_msg(!want_passing[i][j] || passing[i][j], "round %u: a failure of %u must reach %u", round, i, j);
          ck_assert_msg(want_passing[i][j] || !passing[i][j], "round %u: a failure of %u must not reach %u", round, i, j);
        }
      }
    no_edge_too_many(&plan);
    footprint_is_whole(&plan);
    exits_are_disjoint(&plan);
    ck_assert_uint_ge(plan.kept_count, plan.inferred);
    graph_plan_finish(&plan);
  }
}

START_TEST(inferred) { rounds(GRAPH_INFERRED); }
END_TEST

START_TEST(closure_of_edges) { rounds(GRAPH_CLOSURE); }
END_TEST

START_TEST(given) { rounds(GRAPH_EXPLICIT); }
END_TEST

/* Shapes that tempt to be quadratic: steps must grow like the nodes. */
enum shape { CHAIN, PIECES_THEN_WHOLE_WRITES, READERS, ATOMICS, WINDOWS, ALTERNATING, SHAPES };

static uint64_t steps_of(enum shape shape, uint32_t many, enum graph_order order) {
  struct graph_node *large = calloc(many, sizeof *large);
  struct access *uses = calloc(many, sizeof *uses);
  uint32_t *previous = calloc(many, sizeof *previous);
  struct allocation allocation = {.bytes = (size_t)1 << 30, .storage = &storages[0]};
  for (uint32_t i = 0; i < many; i++) {
    uses[i] = (struct access){&allocation, 0, 4096, ACCESS_WRITE};
    if (shape == PIECES_THEN_WHOLE_WRITES) uses[i] = (struct access){&allocation, i % 2 * (size_t)i * 64, i % 2 ? 64 : (size_t)1 << 28, ACCESS_WRITE};
    if (shape == READERS) uses[i].kind = i == many - 1 ? ACCESS_WRITE : ACCESS_READ;
    if (shape == ATOMICS) uses[i].kind = i == many - 1 ? ACCESS_READ : ACCESS_ATOMIC;
    if (shape == WINDOWS) uses[i] = (struct access){&allocation, (size_t)i * 8, 64, i % 2 ? ACCESS_READ : ACCESS_WRITE};
    if (shape == ALTERNATING) uses[i].kind = i % 2 ? ACCESS_READ : ACCESS_WRITE;
    large[i].task = (struct task){.kind = TASK_JOIN, .accesses = &uses[i], .access_count = 1};
    previous[i] = i - 1;
    if (order != GRAPH_INFERRED && i != 0) {
      large[i].after = &previous[i];
      large[i].after_count = 1;
    }
  }
  struct graph_options options = {.order = order};
  struct graph_plan plan;
  ck_assert_int_eq(graph_plan_make(&options, large, many, &plan), HRX_OK);
  uint64_t steps = plan.steps;
  ck_assert_uint_lt(graph_plan_bytes(&plan), (uint64_t)many * 256);
  graph_plan_finish(&plan);
  free(previous);
  free(large);
  free(uses);
  return steps;
}

START_TEST(the_work_is_linear) {
  for (enum shape shape = 0; shape < SHAPES; shape++) {
    uint64_t small = steps_of(shape, 10000, GRAPH_INFERRED), large = steps_of(shape, 100000, GRAPH_INFERRED);
    ck_assert_msg(large < small * 11, "shape %d: %lu steps for 10,000 nodes, %lu for 100,000", (int)shape, small, large);
    if (shape == CHAIN) ck_assert_uint_lt(steps_of(shape, 100000, GRAPH_CLOSURE), 12 * steps_of(shape, 10000, GRAPH_CLOSURE));
    if (shape == CHAIN) ck_assert_uint_lt(steps_of(shape, 100000, GRAPH_EXPLICIT), 12 * steps_of(shape, 10000, GRAPH_EXPLICIT));
  }
}
END_TEST

START_TEST(independent_chains_get_lanes_of_their_own) {
  enum { EACH = 16 };
  struct access uses[2 * EACH];
  struct graph_node chains[2 * EACH] = {0};
  for (int s = 0; s < STORAGES; s++) allocations[s] = (struct allocation){.bytes = BYTES, .storage = &storages[s]};
  for (int i = 0; i < 2 * EACH; i++) {
    uses[i] = (struct access){&allocations[i / EACH], 0, 8, ACCESS_READ_WRITE};
    chains[i].task = (struct task){.kind = TASK_JOIN, .accesses = &uses[i], .access_count = 1};
  }
  struct graph_plan plan;
  ck_assert_int_eq(graph_plan_make(&(struct graph_options){0}, chains, 2 * EACH, &plan), HRX_OK);
  ck_assert_uint_eq(plan.lane_count, 2);
  ck_assert_uint_eq(plan.inferred, 2 * EACH - 2);
  ck_assert_uint_eq(plan.reduced, 0);
  for (int i = 0; i < 2 * EACH; i++) ck_assert_uint_eq(plan.lane[i], (unsigned)i / EACH);
  graph_plan_finish(&plan);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph_order");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, inferred);
  tcase_add_test(tests, closure_of_edges);
  tcase_add_test(tests, given);
  tcase_add_test(tests, the_work_is_linear);
  tcase_add_test(tests, independent_chains_get_lanes_of_their_own);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
