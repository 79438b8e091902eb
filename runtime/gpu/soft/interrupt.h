/* Ctrl-C while a kernel runs: says where it was before the signal ends the process.
 *
 * The handler is installed with the first worker thread, and only over SIG_DFL: a program's own way with SIGINT stays untouched,
 * and one that it installs later replaces this. The first SIGINT while a workgroup is resident asks for the report; a thread of its
 * own waits for that, three seconds at most, and sends the signal again, which by then has its default action. Without a resident
 * workgroup, and in a forked child, the handler does so at once. A second SIGINT ends the process in any case. */
#ifndef HRX_GPU_SOFT_INTERRUPT_H
#define HRX_GPU_SOFT_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic bool interrupt_flag;
extern _Atomic uint32_t interrupt_resident;

/* Once a process; later calls cost a system call. Any thread. If there is no thread to be had, Ctrl-C just ends the process. */
void interrupt_watch(void);

/* A workgroup became resident (1) or has gone (-1). */
static inline void interrupt_resident_change(int change) { interrupt_resident += (uint32_t)change; }

/* True from the signal on: who runs a workgroup tells where it is, goes on with it, and calls interrupt_told. */
static inline bool interrupt_wanted(void) { return atomic_load_explicit(&interrupt_flag, memory_order_relaxed); }

/* A resident workgroup has told. */
void interrupt_told(void);

/* In the child of a fork: nothing is resident and nobody watches. */
void interrupt_fork_child(void);

#endif
