/* The two patterns of tasks that insert.c gives to the engine and starpu_insert.c to StarPU, each in two ways. As programs do it: tasks
 * run as they come (StarPU's on its worker, an empty one of the engine within the insertion). Queued: nothing runs until all are
 * inserted, so that every task finds the ones before it unfinished, and nothing disturbs the insertion. Only the loop that
 * inserts is timed; the best of the rounds counts. */
#ifndef BENCH_INSERT_H
#define BENCH_INSERT_H

#include "timing.h"

enum { INSERT_TASKS = 8192, INSERT_ROUNDS = 12, INSERT_BUFFERS = 256, INSERT_BYTES = 4096 };

/* The buffers of task `i`: reads two, writes the third; all different. */
static inline void insert_spread(unsigned i, unsigned buffers[3]) {
  uint32_t random = (i + 1) * UINT32_C(2654435761);
  buffers[0] = (random >> 8) % INSERT_BUFFERS;
  buffers[1] = (buffers[0] + 1 + (random >> 16) % 100) % INSERT_BUFFERS;
  buffers[2] = (buffers[1] + 1 + (random >> 24) % 100) % INSERT_BUFFERS;
}

#endif
