/* The HIP view of the shared domain: its devices and their streams.
 *
 * Made at the first call that needs it (once, whichever thread), never destroyed. Every handler asks for it first, so
 * a process forked after use, or one without devices, gets an error here and nothing hangs. */
#ifndef HRX_INTERPOSE_STATE_H
#define HRX_INTERPOSE_STATE_H

#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/domain.h"
#include "interpose/caller.h"

struct hip_device {
  int ordinal;
  struct gpu_device *gpu;
  struct ihipStream_t *legacy; /* stream 0 */
  pthread_mutex_t lock;        /* of the list */
  struct ihipStream_t *streams; /* all but the legacy one; through `next` */
  _Atomic unsigned blocking_count; /* live streams that order with stream 0 */
  _Atomic uint64_t legacy_serial;   /* submissions to stream 0 */
  _Atomic uint64_t blocking_serial; /* submissions to streams that order with stream 0 */
  _Atomic unsigned peers;          /* bit n: this device may access device n (hipDeviceEnablePeerAccess) */
  _Atomic unsigned flags;          /* hipSetDeviceFlags */
  _Atomic unsigned captures;       /* captures in progress that a synchronising call would break */
};

struct hip_state {
  struct domain *domain;
  unsigned device_count;
  struct hip_device devices[DOMAIN_DEVICE_MAX];
};

/* The state, started if need be. Errors: hipErrorNoDevice if there are no devices; hipErrorNotInitialized in a child
 * forked after use; hipErrorOutOfMemory. */
hipError_t state_get(struct hip_state **out_state);

/* The same, but a state without devices is no error (hipGetDeviceCount, hipHostMalloc's flags). */
hipError_t state_start(struct hip_state **out_state);

/* Device `ordinal`. Errors: as above; hipErrorInvalidDevice. */
hipError_t state_device(int ordinal, struct hip_device **out_device);

/* The calling thread's current device. */
hipError_t state_current(struct hip_device **out_device);

/* The state if it exists already, else NULL: never starts anything. */
struct hip_state *state_existing(void);

/* The major version of HIP (5, 6, 7) that the calling object was linked to: caller.h. */
static inline int state_hip_version(void) { return caller_hip_version(); }

/* Waits for all work of all devices (HIP's device synchronisation; one engine serves them all) and reports the oldest
 * failure. */
hipError_t state_synchronize(struct hip_state *state);

#endif
