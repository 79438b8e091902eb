/* HRX_TRACE: what the shared domain ran, as a file at the end of the process. */
#ifndef HRX_GPU_DOMAIN_TRACE_H
#define HRX_GPU_DOMAIN_TRACE_H

#include "engine/engine.h"

/* Starts a trace of the newest HRX_TRACE_EVENTS if HRX_TRACE names a file. A failure is logged, and the work goes on. Once, before
 * the engine is used. */
void domain_trace_start(struct engine *engine);

/* Ends it and writes the file; nothing if none runs, as in a forked child. A failure is logged. */
void domain_trace_write(struct engine *engine);

#endif
