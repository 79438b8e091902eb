/* Driver contexts: a context is a device here; each thread has a stack of them. */
#ifndef HRX_INTERPOSE_CONTEXT_H
#define HRX_INTERPOSE_CONTEXT_H

struct thread_contexts;

/* Frees a thread's stack (thread_at_exit calls it). NULL is accepted. */
void thread_contexts_release(struct thread_contexts *contexts);

#endif
