/* The software GPU behind gpu/gpu.h: executes AMDGCN machine code on the host's cores. */
#ifndef HRX_GPU_SOFT_DEVICE_H
#define HRX_GPU_SOFT_DEVICE_H

#include "code/instruction.h"
#include "gpu/gpu.h"

struct code_object;
struct memory;

/* A device for one target ("gfx1030"), whose kernels see the allocations of `memory` (not owned; it outlives the device).
 * Threads start at the first dispatch. Errors: UNSUPPORTED/TARGET for a target that is not executed; INVALID for a vector
 * level that this CPU cannot run; OUT_OF_MEMORY. */
hrx_status soft_device_create(struct memory *memory, const char *target, struct gpu_device **out_device);

/* Whether the software GPU executes code for a target ("gfx1030", without features): OK, or UNSUPPORTED/TARGET with a message
 * that names the ones it does. O(1). */
hrx_status soft_target_check(const char *target);

/* Why the launch of a kernel is refused. */
struct soft_missing {
  const struct instruction *instruction; /* which the kernel can reach and the software GPU lacks; NULL: the kernel as a whole */
  const char *text;                      /* LLVM's text of the instruction, or a sentence that names the kernel */
};
typedef void soft_missing_visit(uint32_t kernel, const struct soft_missing *missing, void *context);

/* Calls `visit` for everything that would make the launch of a kernel (its index in `object`) fail, in the order of the
 * addresses: it asks what a launch asks, but loads nothing into a device. `bytes` are what `object` was read from. Linear in
 * the code. Errors, which are those of loading the module: UNSUPPORTED/TARGET, UNSUPPORTED (no libLLVM), INVALID/IMAGE,
 * OUT_OF_MEMORY. */
hrx_status soft_object_missing(const struct code_object *object, const char *target, const void *bytes, size_t size,
                               soft_missing_visit *visit, void *context);

#endif
