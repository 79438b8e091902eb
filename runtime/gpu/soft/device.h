/* The software GPU behind gpu/gpu.h: executes AMDGCN machine code on the host's cores. */
#ifndef HRX_GPU_SOFT_DEVICE_H
#define HRX_GPU_SOFT_DEVICE_H

#include "code/instruction.h"
#include "gpu/gpu.h"

struct memory;

/* A device for one target ("gfx1030"), whose kernels see the allocations of `memory` (not owned; it outlives the device).
 * Threads start at the first dispatch. Errors: UNSUPPORTED/TARGET for a target that is not executed; INVALID for a vector
 * level that this CPU cannot run; OUT_OF_MEMORY. */
hrx_status soft_device_create(struct memory *memory, const char *target, struct gpu_device **out_device);

/* Whether the software GPU executes code for a target ("gfx1030", without features). */
bool soft_target_known(const char *target);

/* An instruction that a kernel can reach and the software GPU lacks. */
struct soft_missing {
  uint32_t offset; /* from the start of the kernel's program */
  enum opcode opcode;
  uint32_t encoding[2];
  char text[128]; /* LLVM's */
};

/* Calls `visit` for each instruction of `kernel` (without ".kd") in an ELF code object that would make its launch fail. Loads
 * nothing into a device. Errors: INVALID/IMAGE, INVALID/NOT_FOUND, UNSUPPORTED (no libLLVM), OUT_OF_MEMORY. */
hrx_status soft_unimplemented(const char *target, const void *bytes, size_t size, const char *kernel,
                              void (*visit)(const struct soft_missing *missing, void *context), void *context);

#endif
