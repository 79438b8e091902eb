/* Driver contexts: a context is a device here; each thread has a stack of them. */
#ifndef HRX_INTERPOSE_CONTEXT_H
#define HRX_INTERPOSE_CONTEXT_H

#include <hip/hip_runtime_api.h>

struct thread_contexts;

/* The ordinal of a live context's device, or -1. */
int context_device(hipCtx_t context);

/* Frees a thread's stack (thread_at_exit calls it). NULL is accepted. */
void thread_contexts_release(struct thread_contexts *contexts);

#endif
