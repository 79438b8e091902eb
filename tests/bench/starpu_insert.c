/* What starpu_task_insert costs for an empty codelet, with one CPU worker. Queued: the worker is paused meanwhile, and takes neither
 * locks nor CPU from the insertion. insert.c is the same for the engine. */
#include <starpu.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/bench/insert.h"

static void nothing(void *buffers[], void *argument) { (void)buffers, (void)argument; }

static struct starpu_codelet change = {
    .cpu_funcs = {nothing}, .cpu_funcs_name = {"nothing"}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet combine = {.cpu_funcs = {nothing},
                                        .cpu_funcs_name = {"nothing"},
                                        .nbuffers = 3,
                                        .modes = {STARPU_R, STARPU_R, STARPU_W}};
static starpu_data_handle_t handles[INSERT_BUFFERS];

static void must(int result) {
  if (result == 0) return;
  fprintf(stderr, "starpu_insert: error %d\n", result);
  exit(1);
}

static void chain(unsigned i) {
  (void)i;
  must(starpu_task_insert(&change, STARPU_RW, handles[0], 0));
}

static void spread(unsigned i) {
  unsigned of[3];
  insert_spread(i, of);
  must(starpu_task_insert(&combine, STARPU_R, handles[of[0]], STARPU_R, handles[of[1]], STARPU_W, handles[of[2]], 0));
}

static void measure(const char *name, void (*insert)(unsigned), bool queued) {
  double best = 1e30;
  for (unsigned round = 0; round < INSERT_ROUNDS; round++) {
    if (queued) starpu_pause();
    double began = now_ns();
    for (unsigned i = 0; i < INSERT_TASKS; i++) insert(i);
    double each = (now_ns() - began) / INSERT_TASKS;
    if (each < best) best = each;
    if (queued) starpu_resume();
    must(starpu_task_wait_for_all());
  }
  figure(name, best);
}

int main(void) {
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 1;
  conf.ncuda = conf.nopencl = 0;
  must(starpu_init(&conf));
  for (unsigned i = 0; i < INSERT_BUFFERS; i++) {
    void *bytes = calloc(1, INSERT_BYTES);
    if (bytes == NULL) must(1);
    starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)bytes, INSERT_BYTES, 1);
  }
  measure("starpu_insert_chain", chain, false);
  measure("starpu_insert_spread", spread, false);
  measure("starpu_insert_chain_queued", chain, true);
  measure("starpu_insert_spread_queued", spread, true);
  for (unsigned i = 0; i < INSERT_BUFFERS; i++) starpu_data_unregister(handles[i]);
  starpu_shutdown();
  return 0;
}
