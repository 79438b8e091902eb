/* What HIP keeps for each thread: last error, current device, pending launch configurations, capture mode.
 *
 * Small and initial-exec: a first access from a fresh thread calls no allocator, and hipGetLastError costs one load. */
#ifndef HRX_INTERPOSE_THREAD_H
#define HRX_INTERPOSE_THREAD_H

#include <hip/hip_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ihipStream_t;

struct call_configuration {
  dim3 grid, block;
  size_t shared_bytes;
  hipStream_t stream;
};

struct call_overflow; /* configurations pushed deeper than the inline ones */

enum { CALL_DEPTH_INLINE = 2 };

struct thread_state {
  hipError_t last_error;
  hipError_t last_result; /* of the last call, success too: hipExtGetLastError */
  int device;             /* current ordinal; see thread_device */
  bool device_chosen;
  int capture_mode;       /* hipStreamCaptureMode that this thread set; 0 is Global */
  unsigned call_depth;    /* configurations pushed and not yet popped */
  struct call_configuration calls[CALL_DEPTH_INLINE];
  struct call_overflow *overflow;
  const void *caller;        /* where the call came from, as far as noted: caller.h */
  uintptr_t object_begin, object_bytes; /* the object of the last question about a caller... */
  unsigned object_changes;   /* ...when that many had come and gone; 0: none yet */
  int object_version;
  struct thread_streams *streams; /* per-thread default streams, made at first use: stream.c */
  struct thread_contexts *contexts; /* hipCtxPushCurrent's stack: context.c */
  struct thread_setup *setup;     /* hipSetupArgument's bytes: launch_legacy.c */
};

extern _Thread_local struct thread_state thread_state __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What threads use that did not choose a device: the first of hipSetValidDevices, else 0. */
extern _Atomic int thread_first_device __attribute__((visibility("hidden")));

/* The thread's current device. */
static inline int thread_device(void) {
  return thread_state.device_chosen ? thread_state.device : atomic_load_explicit(&thread_first_device, memory_order_relaxed);
}

static inline void thread_device_choose(int ordinal) {
  thread_state.device = ordinal;
  thread_state.device_chosen = true;
}

/* Frees what the thread's state owns when the thread ends. Call before the first of those pointers is set; O(1)
 * afterwards. */
void thread_at_exit(void);

#endif
