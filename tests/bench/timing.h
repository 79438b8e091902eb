/* How the programs here measure and what they print: one line "name<TAB>value" a figure, which scripts/bench reads. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

static inline double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline void figure(const char *name, double value) { printf("%s\t%.6g\n", name, value); }

/* For what this machine cannot measure. */
static inline void figure_absent(const char *name, const char *reason) { printf("%s\t-\t%s\n", name, reason); }

#endif
