/* Contexts: everything that one resident workgroup needs (waves, LDS, scratch), reused from one workgroup to the next.
 *
 * A context belongs to one thread at a time; nothing here locks. */
#ifndef HRX_GPU_SOFT_CONTEXT_H
#define HRX_GPU_SOFT_CONTEXT_H

#include "gpu/soft/parts.h"

struct soft_context {
  struct soft_context *next; /* in a list of parked or idle ones */
  struct soft_dispatch *dispatch;
  struct workgroup group;
  uint32_t wave_capacity;
  uint8_t *lds_memory; /* SOFT_LDS_BYTES and slack */
  uint8_t *scratch;
  size_t scratch_capacity;
  struct wave *waves;
  bool told; /* where it is, after Ctrl-C */
};

enum context_outcome { CONTEXT_DONE, CONTEXT_PARKED, CONTEXT_FAULTED };

/* Size classes for pooling: contexts of class c have room for 1 << c waves. */
enum { CONTEXT_CLASSES = 6 };
unsigned context_class(uint32_t wave_count);

/* A context for up to 1 << class waves; its pages are untouched until used. Errors: OUT_OF_MEMORY. */
hrx_status context_create(unsigned class, struct soft_context **out_context);

/* NULL is accepted. */
void context_release(struct soft_context *context);

/* Makes sure of scratch for `dispatch`. Allocates only when a kernel needs more than any before. Errors: OUT_OF_MEMORY. */
hrx_status context_fit(struct soft_context *context, struct soft_dispatch *dispatch);

/* Sets the context up as workgroup number `number` of its dispatch: registers as the descriptor asks (LLVM AMDGPU usage, "Initial
 * Kernel Execution State"). */
void context_begin(struct soft_context *context, uint64_t number);

/* Runs each wave for up to one quantum, barriers included. FAULTED leaves the wave in *out_wave. The thread's MXCSR is the default
 * one before and after. */
enum context_outcome context_run(struct soft_context *context, struct wave **out_wave);

#endif
