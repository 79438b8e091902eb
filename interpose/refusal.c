/* The functions that hrx does not have, one a row, and the table through which every entry point is reached.
 *
 * A refused function takes whatever it is given, logs its name once, and fails in the way of its return type. */
#include <stdatomic.h>

#include "base/log.h"
#include "interpose/entry.h"
#include "interpose/table.h"

__attribute__((always_inline)) static inline void refuse(enum entry_index index, const char *name) {
  static _Atomic bool said[ENTRY_COUNT];
  if (!atomic_exchange_explicit(&said[index], true, memory_order_relaxed))
    log_line(LOG_ERROR, "%s is not supported by the software GPU", name);
  entry_done(index, hipErrorNotSupported);
}

#define FAILS_hipError_t return hipErrorNotSupported
#define FAILS_hiprtcResult return HIPRTC_ERROR_INTERNAL_ERROR
#define FAILS_text return "not supported"
#define FAILS_void return
#define FAILS_int return -1
#define FAILS_size_t return 0

#define ENTRY_REFUSE_HANDLE(name, type)
#define ENTRY_REFUSE_HINT(name, type)
#define ENTRY_REFUSE_FORWARD(name, type)
#define ENTRY_REFUSE_REFUSE(name, type)                                                                                \
  static type refuse_##name(void) {                                                                                    \
    refuse(ENTRY_##name, #name);                                                                                       \
    FAILS_##type;                                                                                                      \
  }
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters) ENTRY_REFUSE_##policy(name, type)
#include "interpose/entrypoints.def"
#undef HIP_ENTRY

#define ENTRY_SLOT_HANDLE(name) (void *)entry_##name
#define ENTRY_SLOT_HINT(name) (void *)entry_##name
#define ENTRY_SLOT_REFUSE(name) (void *)refuse_##name

/* Filled when the library is linked, not by a constructor: programs call in from constructors that run before ours. */
void *hrx_hip_entries[ENTRY_COUNT] = {
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters) [ENTRY_##name] = ENTRY_SLOT_##policy(name),
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
};
