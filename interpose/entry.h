/* Entry points by number, and how a handler ends.
 *
 * entrypoints.def is the one list. A handled row NAME is implemented by `entry_NAME`, declared here with the row's signature; a
 * refused row gets its function from refusal.c. All are reached through `hrx_hip_entries`, one slot a row. */
#ifndef HRX_INTERPOSE_ENTRY_H
#define HRX_INTERPOSE_ENTRY_H

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <stdbool.h>

#include "interpose/abi.h"
#include "interpose/error.h"
#include "interpose/thread.h"

enum entry_policy { ENTRY_HANDLE, ENTRY_HINT, ENTRY_REFUSE, ENTRY_FORWARD };

enum entry_index {
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters) ENTRY_##name,
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
  ENTRY_COUNT
};

#define ENTRY_DECLARE_HANDLE(name, type, parameters) type entry_##name parameters;
#define ENTRY_DECLARE_HINT(name, type, parameters) type entry_##name parameters;
#define ENTRY_DECLARE_REFUSE(name, type, parameters)
#define ENTRY_DECLARE_FORWARD(name, type, parameters)
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters) ENTRY_DECLARE_##policy(name, type, parameters)
#include "interpose/entrypoints.def"
#undef HIP_ENTRY

/* HRX_LOG=trace: set before the first handler runs. */
extern bool entry_tracing __attribute__((visibility("hidden")));

/* Whether HIP's older rule for the last error holds (error.h). */
extern bool entry_error_overwrites __attribute__((visibility("hidden")));

/* Writes the trace line of a finished call. */
void entry_trace(enum entry_index index, hipError_t error);

/* Records `error` as the thread's last error by the rule in error.h, traces the call, and returns `error`. */
static inline hipError_t entry_done(enum entry_index index, hipError_t error) {
  if (entry_error_overwrites || (error != hipSuccess && error != hipErrorNotReady)) thread_state.last_error = error;
  if (__builtin_expect(entry_tracing, 0)) entry_trace(index, error);
  return error;
}

/* How every handler that returns a hipError_t ends: ENTRY_RETURN(hipMalloc, error). */
#define ENTRY_RETURN(name, error) return entry_done(ENTRY_##name, (error))

#endif
