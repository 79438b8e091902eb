/* Entry points by number, and how a handler ends.
 *
 * entrypoints.def is the one list. A handled row NAME is implemented by `entry_NAME`, declared here with the row's signature; a
 * refused row gets its function from refusal.c. All are reached through `hrx_hip_entries`, one slot a row. */
#ifndef HRX_INTERPOSE_ENTRY_H
#define HRX_INTERPOSE_ENTRY_H

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "interpose/abi.h"
#include "interpose/caller.h"
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

/* Whether a success overwrites an error that the thread has not asked for yet. `caller` is where the call came from. */
static inline bool entry_overwrites(const void *caller) {
  int rule = atomic_load_explicit(&caller_error_rule, memory_order_relaxed);
  if (__builtin_expect(rule != ERROR_BY_CALLER, 1)) return rule == ERROR_OVERWRITES;
  return caller_hip_version_of(caller_is_traced ? thread_state.caller : caller) < 7;
}

/* Records `error` as the thread's last error by the rule in error.h and returns it. Inlined, so that it sees who called the handler. */
__attribute__((always_inline)) static inline hipError_t entry_done(enum entry_index index, hipError_t error) {
  (void)index;
  thread_state.last_result = error;
  if ((error != hipSuccess && error != hipErrorNotReady) || entry_overwrites(__builtin_return_address(0)))
    thread_state.last_error = error;
  return error;
}

/* How every handler that returns a hipError_t ends: ENTRY_RETURN(hipMalloc, error). */
#define ENTRY_RETURN(name, error) return entry_done(ENTRY_##name, (error))

#endif
