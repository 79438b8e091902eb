/* Which HIP version the object that calls hrx was linked to: some rules and numbers changed with HIP 6 and 7.
 *
 * A handler whose answer depends on it begins with CALLER_NOTE() and asks caller_hip_version(). Objects are told apart by the
 * library that their dynamic section needs (libamdhip64.so.5, .6, .7). One that needs none, because it found its functions
 * with dlsym, counts as the process does: as the first object that needs one, else as HIP 5. */
#ifndef HRX_INTERPOSE_CALLER_H
#define HRX_INTERPOSE_CALLER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "interpose/thread.h"

/* Whether calls come through call_trace.c, which then notes the caller. Set before main or by hipExtEnableLogging. */
extern _Atomic bool caller_is_traced __attribute__((visibility("hidden")));

/* In a handler itself, not in what it calls. */
#define CALLER_NOTE() ((void)(caller_is_traced || (thread_state.caller = __builtin_return_address(0))))

/* 5, 6 or 7, for the noted caller. Takes no lock; a few ns if the last question came from the same object. */
int caller_hip_version(void);

/* The same for the code at `address`. */
int caller_hip_version_of(const void *address);

/* An object with kernels comes or goes: what is known about address ranges is asked for again. `address` is its code. */
void caller_objects_changed(const void *address);

/* How the thread's last error is kept (error.h): one rule for all callers, or each caller's own. */
enum error_rule { ERROR_OVERWRITES, ERROR_STAYS, ERROR_BY_CALLER };
extern _Atomic int caller_error_rule __attribute__((visibility("hidden")));

/* Finds out which objects are there. Before main. */
void caller_start(void);

#endif
