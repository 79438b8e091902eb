/* What the launch files share: the stack of pushed configurations. */
#ifndef HRX_INTERPOSE_LAUNCH_H
#define HRX_INTERPOSE_LAUNCH_H

#include <hip/hip_runtime_api.h>

#include "interpose/operation.h"
#include "interpose/thread.h"

/* A launch by host stub, as hipLaunchKernel does it, on the stream that `found` says was found (its error is returned). */
hipError_t launch_stub(hipError_t found, struct ihipStream_t *stream, const void *stub, dim3 blocks, dim3 block,
                       void **parameters, size_t shared_bytes, bool cooperative);

/* A launch by function, as hipModuleLaunchKernel does it. */
hipError_t launch_blocks(hipFunction_t function, dim3 blocks, dim3 block, size_t shared, hipStream_t stream,
                         void **parameters, void **extra, bool cooperative);

/* Pushes a launch configuration of the calling thread; nested ones stack up. Errors: hipErrorOutOfMemory. */
hipError_t call_push(const struct call_configuration *call);

/* Takes the last one. Errors: hipErrorMissingConfiguration. */
hipError_t call_pop(struct call_configuration *out_call);

/* Frees what call_push allocated (thread_at_exit calls it). NULL is accepted. */
void call_overflow_release(struct call_overflow *overflow);

/* The last stack element without taking it, or NULL. */
struct call_configuration *call_top(void);

#endif
