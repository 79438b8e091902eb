/* What HIP keeps for each thread: last error, current device, pending launch configurations, capture mode.
 *
 * Small and initial-exec: a first access from a fresh thread calls no allocator, and hipGetLastError costs one load. */
#ifndef HRX_INTERPOSE_THREAD_H
#define HRX_INTERPOSE_THREAD_H

#include <hip/hip_runtime_api.h>
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
  int device;             /* current ordinal; a thread starts at 0 */
  int capture_mode;       /* hipStreamCaptureMode that this thread set; 0 is Global */
  unsigned call_depth;    /* configurations pushed and not yet popped */
  struct call_configuration calls[CALL_DEPTH_INLINE];
  struct call_overflow *overflow;
  struct thread_streams *streams; /* per-thread default streams, made at first use: stream.c */
  struct thread_contexts *contexts; /* hipCtxPushCurrent's stack: context.c */
  struct thread_setup *setup;     /* hipSetupArgument's bytes: launch_legacy.c */
};

extern _Thread_local struct thread_state thread_state __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Frees what the thread's state owns when the thread ends. Call before the first of those pointers is set; O(1)
 * afterwards. */
void thread_at_exit(void);

#endif
