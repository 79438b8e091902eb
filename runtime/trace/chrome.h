/* A trace as Chrome trace-event JSON, which Perfetto and chrome://tracing open.
 *
 * GPU and NPU are two processes, their lanes threads with names. A task is a complete event ("X") with its kind as category; an
 * edge is a flow from the last nanosecond of one task to the beginning of the other. Times count from the start of the
 * trace, in microseconds with three decimals.
 * Format: "Trace Event Format", Google, 2016. */
#ifndef HRX_TRACE_CHROME_H
#define HRX_TRACE_CHROME_H

#include <stdio.h>

#include "trace/ring.h"

/* O(n log n). Any thread. */
void chrome_write(FILE *file, const struct trace *trace);

#endif
