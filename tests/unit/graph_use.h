/* For tests of prepared graphs: an engine, four buffers, and graphs of fake kernels that the test ends itself. */
#ifndef HRX_TESTS_UNIT_GRAPH_USE_H
#define HRX_TESTS_UNIT_GRAPH_USE_H

#include <check.h>
#include <string.h>

#include "base/clocktime.h"
#include "engine/graph.h"
#include "tests/unit/include/fake_gpu.h"

static struct memory *memory;
static struct engine *engine;
static struct allocation *buffers[4];

static inline void setup(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  for (int i = 0; i < 4; i++)
    ck_assert_int_eq(memory_allocate(memory, 1 << 20, 256, MEMORY_DEVICE, 0, 0, &buffers[i]), HRX_OK);
  fake_started = fake_released = 0;
}

static inline void teardown(void) {
  engine_release(engine);
  memory_release(memory);
}

/* --- graphs of fake kernels: each node has one dispatch an instance, kept here so that the test can end it --- */

enum { NODES = 64, INSTANCES = 8 };

struct kernel {
  struct access accesses[3];
  unsigned count;
  enum fake_mode mode;
  hrx_status outcome;
};

struct program {
  struct graph_node nodes[NODES];
  struct kernel kernels[NODES];
  uint32_t count;
  struct fake_dispatch *made[NODES][INSTANCES];
  unsigned made_count[NODES];
  unsigned renewed, released;
  struct graph_capacity capacity;
};

static struct program program;

static inline hrx_status payload_make(void *context, uint32_t node, struct task *io_task) {
  struct program *self = context;
  struct fake_dispatch *fake = fake_dispatch_new(self->kernels[node].mode, self->kernels[node].outcome, NULL, NULL);
  self->made[node][self->made_count[node]++] = fake;
  io_task->dispatch = &fake->base;
  return HRX_OK;
}

static inline hrx_status payload_renew(void *context, uint32_t node, struct task *io_task) {
  struct program *self = context;
  (void)node;
  (void)io_task;
  self->renewed++;
  return HRX_OK;
}

static inline void client_release(void *context) { ((struct program *)context)->released++; }

static inline void program_reset(void) { memset(&program, 0, sizeof program); }

static inline struct access on(int buffer, size_t offset, size_t bytes, enum access_kind kind) {
  return (struct access){buffers[buffer], offset, bytes, kind};
}

static inline uint32_t kernel(enum fake_mode mode, hrx_status outcome, struct access one, struct access two) {
  uint32_t node = program.count++;
  struct kernel *kernel = &program.kernels[node];
  *kernel = (struct kernel){.accesses = {one, two}, .count = 2, .mode = mode, .outcome = outcome};
  program.nodes[node] = (struct graph_node){.task = {.kind = TASK_DISPATCH, .accesses = kernel->accesses, .access_count = 2,
                                                     .label = "kernel"}};
  return node;
}

static inline uint32_t fill(int buffer, size_t offset, size_t bytes, uint32_t value) {
  uint32_t node = program.count++;
  program.kernels[node].accesses[0] = on(buffer, offset, bytes, ACCESS_WRITE);
  program.nodes[node] = (struct graph_node){.task = {.kind = TASK_FILL,
                                                     .accesses = program.kernels[node].accesses,
                                                     .access_count = 1,
                                                     .fill = {.destination = (char *)buffers[buffer]->address + offset,
                                                              .width = bytes,
                                                              .height = 1,
                                                              .depth = 1,
                                                              .pattern = value,
                                                              .element_bytes = 1}},
                                            .lane_class = LANE_COPY};
  return node;
}

static inline uint32_t copy(int to, int from, size_t bytes) {
  uint32_t node = program.count++;
  program.kernels[node].accesses[0] = on(to, 0, bytes, ACCESS_WRITE);
  program.kernels[node].accesses[1] = on(from, 0, bytes, ACCESS_READ);
  program.nodes[node] = (struct graph_node){.task = {.kind = TASK_COPY,
                                                     .accesses = program.kernels[node].accesses,
                                                     .access_count = 2,
                                                     .copy = {.destination = (void *)buffers[to]->address,
                                                              .source = (void *)buffers[from]->address,
                                                              .width = bytes,
                                                              .height = 1,
                                                              .depth = 1}},
                                            .lane_class = LANE_COPY};
  return node;
}

static inline struct graph *prepare_as(enum graph_order order, unsigned slots, struct graph_capacity *capacity) {
  struct graph *graph = NULL;
  struct graph_options options = {.order = order,
                                  .slots = slots,
                                  .capacity = capacity,
                                  .client = {payload_make, payload_renew, client_release, &program},
                                  .keep_edges = true};
  ck_assert_msg(graph_prepare(engine, &options, program.nodes, program.count, &graph) == HRX_OK, "%s", hrx_last_message());
  return graph;
}

static inline struct graph *prepare(unsigned slots) { return prepare_as(GRAPH_INFERRED, slots, NULL); }

static inline struct run *submit_as(struct graph *graph, const struct run_options *options) {
  struct run *run = NULL;
  ck_assert_msg(graph_submit(graph, options, &run) == HRX_OK, "%s", hrx_last_message());
  return run;
}

static inline struct run *submit(struct graph *graph) { return submit_as(graph, NULL); }

static inline hrx_status result(struct run *run) {
  struct failure failure;
  ck_assert(run_over(run));
  run_result(run, &failure);
  return failure.status;
}

static inline hrx_status finish(struct run *run) {
  ck_assert_int_eq(run_wait(run, time_after(time_now_ns(), UINT64_C(20000000000))), HRX_OK);
  hrx_status status = result(run);
  run_release(run);
  return status;
}

/* Which of the node's dispatches runs now. */
static inline struct fake_dispatch *running(uint32_t node) {
  for (unsigned i = 0; i < program.made_count[node]; i++)
    if (atomic_load(&program.made[node][i]->state) == 1) return program.made[node][i];
  return NULL;
}

static inline void end(uint32_t node) {
  struct fake_dispatch *fake = running(node);
  ck_assert_ptr_nonnull(fake);
  fake_done(fake);
}

static const struct access NOTHING = {0};

static inline unsigned char byte_at(int buffer, size_t offset) { return *(unsigned char *)(buffers[buffer]->address + offset); }

static inline struct stream *stream_new(void) {
  struct stream *stream = NULL;
  ck_assert_int_eq(stream_create(engine, 0, &stream), HRX_OK);
  return stream;
}

static inline struct point stream_kernel(struct stream *stream, struct fake_dispatch *fake, bool opaque, struct access access) {
  struct point point = {0, 0};
  ck_assert_int_eq(stream_submit(stream, &(struct task){.kind = TASK_DISPATCH, .opaque = opaque, .accesses = &access,
                                                        .access_count = access.bytes != 0, .dispatch = &fake->base}, &point), HRX_OK);
  return point;
}

#endif
