/* What it costs to infer the order of one task and to submit it, in the engine. starpu_insert.c is the same for StarPU. */
#include <stdlib.h>

#include "engine/engine.h"
#include "gpu/sim/sim.h"
#include "tests/bench/insert.h"

static struct memory *memory;
static struct engine *engine;
static struct gpu_device *device;
static struct gpu_kernel *kernel;
static struct stream *stream;
static struct allocation *buffers[INSERT_BUFFERS];

static void must(hrx_status status) {
  if (status == HRX_OK) return;
  fprintf(stderr, "insert: %s\n", hrx_last_message());
  exit(1);
}

static void submit(const struct task *task) {
  struct point point;
  must(stream_submit(stream, task, &point));
}

/* What all tasks of a queued round follow; the device's clock stands still until the round is timed. */
static void gate(void) {
  struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  struct task task = {.kind = TASK_DISPATCH, .opaque = true};
  must(gpu_dispatch_create(kernel, &launch, &task.dispatch));
  submit(&task);
}

static void chain(unsigned i) {
  (void)i;
  struct access access = {buffers[0], 0, INSERT_BYTES, ACCESS_READ_WRITE};
  submit(&(struct task){.kind = TASK_JOIN, .accesses = &access, .access_count = 1});
}

static void spread(unsigned i) {
  unsigned of[3];
  insert_spread(i, of);
  struct access accesses[3] = {{buffers[of[0]], 0, INSERT_BYTES, ACCESS_READ},
                               {buffers[of[1]], 0, INSERT_BYTES, ACCESS_READ},
                               {buffers[of[2]], 0, INSERT_BYTES, ACCESS_WRITE}};
  submit(&(struct task){.kind = TASK_JOIN, .accesses = accesses, .access_count = 3});
}

static void measure(const char *name, void (*insert)(unsigned), bool queued) {
  double best = 1e30;
  for (unsigned round = 0; round < INSERT_ROUNDS; round++) {
    if (queued) gate();
    double began = now_ns();
    for (unsigned i = 0; i < INSERT_TASKS; i++) insert(i);
    double each = (now_ns() - began) / INSERT_TASKS;
    if (each < best) best = each;
    sim_run(device);
    if (!stream_idle(stream)) must(HRX_EXECUTION);
  }
  figure(name, best);
}

int main(void) {
  must(memory_create((uint64_t)1 << 30, &memory));
  must(engine_create(&(struct engine_options){.memory = memory}, &engine));
  must(sim_device_create(memory, &device));
  must(sim_kernel_create(device, "gate", 1, &kernel));
  must(stream_create(engine, 0, &stream));
  for (unsigned i = 0; i < INSERT_BUFFERS; i++)
    must(memory_allocate(memory, INSERT_BYTES, 256, MEMORY_DEVICE, 0, 0, &buffers[i]));
  measure("insert_chain", chain, false);
  measure("insert_spread", spread, false);
  measure("insert_chain_queued", chain, true);
  measure("insert_spread_queued", spread, true);
  stream_release(stream);
  engine_release(engine);
  gpu_device_release(device);
  memory_release(memory);
  return 0;
}
