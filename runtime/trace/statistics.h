/* Counters as a JSON object. */
#ifndef HRX_TRACE_STATISTICS_H
#define HRX_TRACE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct statistic {
  const char *name;
  uint64_t value;
};

/* {"name": value, ...}, in the order given. Any thread. */
void statistics_write(FILE *file, const struct statistic *values, size_t count);

#endif
