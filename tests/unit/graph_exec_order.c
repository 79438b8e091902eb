/* The order of an executable hipGraph, and that its lanes are enough for any graph. */
#include "interpose/graph_exec.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph_order.h"

enum { NODES_MOST = 60, EDGES_MOST = 6, BUFFERS = 3 };

static struct memory *memory;
static struct allocation *buffers[BUFFERS];
static struct hipGraphNode nodes[NODES_MOST];
static struct ihipGraph graph;

static void setup(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  for (int i = 0; i < BUFFERS; i++)
    ck_assert_int_eq(memory_allocate(memory, 4096, 256, MEMORY_DEVICE, 0, 0, &buffers[i]), HRX_OK);
}

static void teardown(void) { memory_release(memory); }

static void graph_clear(void) {
  for (size_t i = 0; i < graph.nodes.count; i++) {
    node_list_finish(&nodes[i].dependencies);
    node_list_finish(&nodes[i].dependents);
  }
  node_list_finish(&graph.nodes);
  memset(nodes, 0, sizeof nodes);
}

static void node_add(hipGraphNodeType type) {
  nodes[graph.nodes.count].type = type;
  ck_assert(node_list_add(&graph.nodes, &nodes[graph.nodes.count]));
}

static void edge_add(struct hipGraphNode *from, struct hipGraphNode *to) {
  if (node_list_has(&to->dependencies, from)) return;
  ck_assert(node_list_add(&from->dependents, to));
  ck_assert(node_list_add(&to->dependencies, from));
}

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state >> 33) % limit;
}

/* In the order of creation edges go either way. */
static void random_graph(void) {
  unsigned count = 1 + random_below(NODES_MOST), place[NODES_MOST], edges = random_below(EDGES_MOST);
  for (unsigned i = 0; i < count; i++) {
    node_add(random_below(3) != 0 ? hipGraphNodeTypeKernel : hipGraphNodeTypeMemcpy1D);
    unsigned at = random_below(i + 1);
    place[i] = place[at];
    place[at] = i;
  }
  for (unsigned i = 1; i < count; i++)
    for (unsigned k = 0; k < edges; k++) {
      unsigned near = i < 4 || random_below(2) != 0 ? random_below(i) : i - 1 - random_below(4);
      edge_add(&nodes[place[near]], &nodes[place[i]]);
    }
}

/* How many lanes the engine takes if it may have as many as it likes. */
static unsigned lanes_wanted(const struct exec_order *order) {
  struct graph_node plain[NODES_MOST] = {0};
  struct access accesses[NODES_MOST];
  uint32_t after[NODES_MOST * EDGES_MOST], *next = after;
  for (uint32_t i = 0; i < order->count; i++) {
    const struct hipGraphNode *node = order->nodes[i];
    plain[i].after = next;
    plain[i].after_count = (uint32_t)node->dependencies.count;
    for (size_t d = 0; d < node->dependencies.count; d++) {
      ck_assert_uint_lt(node->dependencies.nodes[d]->mark, i);
      *next++ = (uint32_t)node->dependencies.nodes[d]->mark;
    }
    plain[i].task.kind = TASK_JOIN;
    plain[i].task.opaque = node->type == hipGraphNodeTypeKernel;
    if (plain[i].task.opaque) continue;
    accesses[i] = (struct access){buffers[random_below(BUFFERS)], random_below(4) * 512, 1024, ACCESS_WRITE};
    plain[i].task.accesses = &accesses[i];
    plain[i].task.access_count = 1;
  }
  struct graph_options options = {.order = GRAPH_CLOSURE, .lanes = {[LANE_COMPUTE] = 256}};
  struct graph_plan plan;
  ck_assert_int_eq(graph_plan_make(&options, plain, order->count, &plan), HRX_OK);
  unsigned lanes = plan.lane_count;
  graph_plan_finish(&plan);
  return lanes;
}

START_TEST(lanes_are_enough) {
  for (int i = 0; i < 1000; i++) {
    struct exec_order order;
    random_graph();
    ck_assert_int_eq(exec_order_make(&graph, &order), hipSuccess);
    ck_assert_uint_eq(order.count, graph.nodes.count);
    unsigned wanted = lanes_wanted(&order);
    ck_assert_uint_le(wanted < EXEC_LANES_MOST ? wanted : EXEC_LANES_MOST, order.lanes);
    exec_order_finish(&order);
    graph_clear();
  }
}
END_TEST

START_TEST(a_chain_has_one_lane_and_a_fork_one_more) {
  struct exec_order order;
  for (int i = 0; i < 5; i++) node_add(hipGraphNodeTypeKernel);
  for (int i = 4; i > 0; i--) edge_add(&nodes[i], &nodes[i - 1]);
  ck_assert_int_eq(exec_order_make(&graph, &order), hipSuccess);
  ck_assert_uint_eq(order.lanes, 1);
  ck_assert_uint_eq(order.edge_count, 4);
  for (unsigned i = 0; i < 5; i++) ck_assert_ptr_eq(order.nodes[i], &nodes[4 - i]);
  exec_order_finish(&order);
  edge_add(&nodes[4], &nodes[0]);
  ck_assert_int_eq(exec_order_make(&graph, &order), hipSuccess);
  ck_assert_uint_eq(order.lanes, 2);
  exec_order_finish(&order);
  graph_clear();
}
END_TEST

START_TEST(a_cycle_is_refused) {
  struct exec_order order;
  for (int i = 0; i < 3; i++) node_add(hipGraphNodeTypeKernel);
  edge_add(&nodes[0], &nodes[1]);
  edge_add(&nodes[1], &nodes[2]);
  edge_add(&nodes[2], &nodes[1]);
  ck_assert_int_eq(exec_order_make(&graph, &order), hipErrorInvalidValue);
  exec_order_finish(&order);
  graph_clear();
  ck_assert_int_eq(exec_order_make(&graph, &order), hipSuccess);
  ck_assert_uint_eq(order.count, 0);
  exec_order_finish(&order);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graph_exec_order");
  TCase *tests = tcase_create("order");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, lanes_are_enough);
  tcase_add_test(tests, a_chain_has_one_lane_and_a_fork_one_more);
  tcase_add_test(tests, a_cycle_is_refused);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
