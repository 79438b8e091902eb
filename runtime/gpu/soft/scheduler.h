/* The scheduler: worker threads that run the workgroups of all started dispatches.
 *
 * A workgroup that used up its quantum is parked, and its thread goes on with other resident ones in turn. When every resident one
 * has had its turn, one more workgroup becomes resident (dispatches take turns too), up to a bound. So a kernel that waits for
 * another makes progress on any number of threads. HRX_TIMEOUT is checked where workgroups park. */
#ifndef HRX_GPU_SOFT_SCHEDULER_H
#define HRX_GPU_SOFT_SCHEDULER_H

#include "gpu/soft/parts.h"

/* `cores`: the most worker threads; they start when there is work for them. Errors: OUT_OF_MEMORY. */
hrx_status scheduler_create(unsigned cores, struct soft_scheduler **out_scheduler);

/* Stops and joins the threads. Nothing runs any more. NULL is accepted. */
void scheduler_release(struct soft_scheduler *scheduler);

/* The most workgroups of a cooperative launch, each of `wave_count` waves. */
uint64_t scheduler_cooperative_limit(const struct soft_scheduler *scheduler, uint32_t wave_count);

/* Makes sure of memory for a workgroup of `wave_count` waves on each core and in a thread that waits, so that starting needs none; with
 * too little memory nothing happens, and the start looks again. One load, but for the first launches of a size. */
void scheduler_reserve(struct soft_scheduler *scheduler, uint32_t wave_count);

/* The gpu.h calls. */
void scheduler_start(struct gpu_dispatch *dispatch, gpu_done done, void *context);
bool scheduler_help(struct gpu_dispatch *dispatch, uint64_t slice_ns);
void scheduler_cancel(struct gpu_dispatch *dispatch);

/* Holds the lock across fork. In the child no thread and no dispatch is left. */
void scheduler_fork_prepare(struct soft_scheduler *scheduler);
void scheduler_fork_done(struct soft_scheduler *scheduler, bool child);

#endif
