/* Programs: decoded instructions bound to handlers, and how a bare wave runs them.
 *
 * A program covers one stretch of code, [base, base + code_bytes) as the waves see it. Instructions without a handler
 * become operations that stop the wave with FAULT_OPCODE; soft_program_check finds those that a kernel can reach before
 * it is launched. Programs are read-only once bound: any number of threads may run one. */
#ifndef HRX_GPU_SOFT_PROGRAM_H
#define HRX_GPU_SOFT_PROGRAM_H

#include "code/decode.h"
#include "gpu/soft/operation.h"

struct soft_program {
  struct operation *operations; /* `count`, then one that stops with FAULT_BRANCH */
  uint32_t count;
  uint32_t code_bytes;
  uint64_t base;   /* address of the code's first byte: what s_getpc counts from */
  uint32_t *index; /* for each dword of the code: its operation + 1; 0 inside an instruction */
  const struct decoded *decoded;
};

/* Binds every instruction with the handlers of a level (level.h; NULL: the best this CPU has). `decoded` must outlive the
 * program. Linear. Errors: INVALID/ARGUMENT for a level that this CPU cannot run; OUT_OF_MEMORY. */
hrx_status soft_program_bind(const struct decoded *decoded, const char *level, struct soft_program **out_program);

/* NULL is accepted. */
void soft_program_release(struct soft_program *program);

/* The operation at an address, or NULL if no instruction begins there. O(1). */
const struct operation *soft_program_at(const struct soft_program *program, uint64_t address);

/* Whether an operation's instruction has no handler. */
bool soft_operation_missing(const struct operation *operation);

/* Makes a wave start at byte `offset` of a program (FAULT_BRANCH if no instruction begins there) with the longest
 * quantum; leaves registers alone. */
void soft_wave_start(struct wave *wave, const struct soft_program *program, uint32_t offset);

/* Runs a wave from wave->next until it stops: wave->state says why. On a wave without a workgroup s_barrier does nothing. The
 * caller has set MXCSR (soft_wave_mode). */
void soft_wave_run(struct wave *wave);

/* MXCSR for wave->mode's single-precision rounding and denormals, everything masked. */
uint32_t soft_wave_mxcsr(const struct wave *wave);

/* How far a kernel reaches in a program. */
struct soft_reach {
  bool outside;  /* it branches, calls or may call outside of the program's code */
  bool indirect; /* it calls through a pointer that is not computed from the PC */
};

/* Calls `visit` (NULL: nothing) for each missing instruction that a wave which starts at `entry` can reach, in no order, once
 * each. Calls through computed PCs are followed. Errors: OUT_OF_MEMORY. Linear. */
hrx_status soft_program_check(const struct soft_program *program, uint32_t entry,
                              void (*visit)(const struct operation *operation, void *context), void *context,
                              struct soft_reach *out_reach);

#endif
