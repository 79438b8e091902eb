/* A GPU device for tests of the schedule: dispatches take a stated time and no CPU.
 *
 * Time is virtual. A started dispatch stands in a queue under the time when it will be finished; sim_run takes the earliest
 * one, sets the clock to that time and calls its `done`, in which the engine starts what follows. So the makespan of a
 * schedule is exact and the same on every machine. What the engine does besides (small fills and copies, joins) takes no
 * virtual time at all.
 *
 * Kernels need no code object. A kernel without a layout takes the first 8 bytes of its arguments, if there are that many, as
 * the duration of the dispatch in nanoseconds; one with a layout takes its argument "duration_ns" (8 bytes), if it has one.
 * Otherwise the duration is the kernel's own.
 *
 * Any thread may call anything; with more than one in sim_run the result is right, but not the same each time. */
#ifndef HRX_GPU_SIM_SIM_H
#define HRX_GPU_SIM_SIM_H

#include "code/kernel.h"
#include "gpu/gpu.h"

struct memory;

/* A device with unlimited parallelism whose clock stands at 0; `memory` (not owned) only says how much there is. Loading any
 * bytes as a module succeeds: its kernels are those of sim_kernel_create. Errors: OUT_OF_MEMORY. */
hrx_status sim_device_create(struct memory *memory, struct gpu_device **out_device);

/* At most `units` dispatches run at once, the others in the order in which they were started; 0: unlimited. Only while
 * nothing is started. */
void sim_units(struct gpu_device *device, unsigned units);

/* Whether a thread that waits for a dispatch in the engine finishes the earliest one of the device, as sim_run would, so that programs
 * which wait need nobody to call sim_run. Off at first: time stands still except in sim_run. */
void sim_waits_run(struct gpu_device *device, bool run);

/* A kernel that takes `duration_ns`. Belongs to the device; the name is copied. Errors: INVALID/LIVE if there is one of that
 * name; OUT_OF_MEMORY. */
hrx_status sim_kernel_create(struct gpu_device *device, const char *name, uint64_t duration_ns, struct gpu_kernel **out_kernel);

/* Gives the kernel explicit arguments, as gpu_kernel_code will show them; copied. Before its first dispatch. Errors: INVALID/
 * ARGUMENT if they are not in order of their offsets or overlap; OUT_OF_MEMORY. */
hrx_status sim_kernel_layout(struct gpu_kernel *kernel, const struct kernel_argument *arguments, uint32_t count);

enum sim_outcome {
  SIM_SUCCEEDS,
  SIM_FAILS_CLEAN,    /* refused when it is started: takes no time, never counts as run */
  SIM_FAILS_UNCERTAIN /* runs for its duration, then fails: it may have written */
};

/* How dispatches of the kernel that begin from now on end. `failure` (copied; NULL with SIM_SUCCEEDS) is what `done` gets. */
void sim_kernel_outcome(struct gpu_kernel *kernel, enum sim_outcome outcome, const struct failure *failure);

/* Makes gpu_dispatch_create fail once with `failure` (copied), after `calls` more calls have succeeded. */
void sim_create_fails(struct gpu_device *device, uint64_t calls, const struct failure *failure);

/* What a dispatch did, when it is finished. */
struct sim_run_record {
  const struct gpu_kernel *kernel;
  const void *arguments; /* the copy; valid during the call */
  size_t argument_bytes;
  uint64_t started_ns; /* when it was given to the device */
  uint64_t began_ns;   /* when a unit was free for it */
  uint64_t finished_ns;
  hrx_status status;
};

/* `call` gets each dispatch before its `done`, without a lock held. NULL: nobody. */
void sim_watch(struct gpu_device *device, void (*call)(const struct sim_run_record *record, void *context), void *context);

/* Finishes dispatches in the order of virtual time, those that they make ready too, until none is started; returns the virtual
 * time. Tasks that the engine has on threads of its own may start more later: wait for them and call it again. */
uint64_t sim_run(struct gpu_device *device);

/* The same up to and including `time_ns`, where the clock then stands. */
void sim_run_until(struct gpu_device *device, uint64_t time_ns);

struct sim_statistics {
  uint64_t now_ns;
  uint64_t busy_ns; /* sum of the times that units worked */
  uint64_t started, finished, failed, cancelled; /* failed and cancelled ones are finished too */
  unsigned most_at_once;                         /* dispatches that had a unit at one time */
};
void sim_statistics(struct gpu_device *device, struct sim_statistics *out_statistics);

#endif
