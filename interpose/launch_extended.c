/* Launches described by a structure with attributes. */
#include "interpose/entry.h"
#include "interpose/launch.h"
#include "interpose/stream.h"

/* An attribute that asks for what this GPU does not do fails the launch, as in HIP: the kernel would not run as it was meant to. */
static hipError_t attributes_read(const hipLaunchAttribute *attributes, unsigned count, bool *out_cooperative) {
  if (count != 0 && attributes == NULL) return hipErrorInvalidValue;
  for (unsigned i = 0; i < count; i++) {
    if (attributes[i].id != LAUNCH_ATTRIBUTE_COOPERATIVE) return hipErrorInvalidConfiguration;
    *out_cooperative = attributes[i].value.cooperative != 0;
  }
  return hipSuccess;
}

hipError_t entry_hipLaunchKernelExC(const hipLaunchConfig_t *config, const void *stub, void **arguments) {
  CALLER_NOTE();
  struct ihipStream_t *stream = NULL;
  bool cooperative = false;
  if (stub == NULL) ENTRY_RETURN(hipLaunchKernelExC, hipErrorInvalidDeviceFunction);
  if (config == NULL) ENTRY_RETURN(hipLaunchKernelExC, hipErrorInvalidValue);
  hipError_t error = attributes_read(config->attrs, config->numAttrs, &cooperative);
  if (error == hipSuccess) error = hip_stream_find(config->stream, &stream);
  ENTRY_RETURN(hipLaunchKernelExC, launch_stub(error, stream, stub, config->gridDim, config->blockDim, arguments,
                                               config->dynamicSmemBytes, cooperative));
}

hipError_t entry_hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *config, hipFunction_t function, void **arguments, void **extra) {
  CALLER_NOTE();
  bool cooperative = false;
  if (function == NULL) ENTRY_RETURN(hipDrvLaunchKernelEx, hipErrorInvalidHandle);
  if (config == NULL) ENTRY_RETURN(hipDrvLaunchKernelEx, hipErrorInvalidValue);
  hipError_t error = attributes_read(config->attrs, config->numAttrs, &cooperative);
  if (error == hipSuccess)
    error = launch_blocks(function, (dim3){config->gridDimX, config->gridDimY, config->gridDimZ},
                          (dim3){config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                          config->hStream, arguments, extra, cooperative);
  ENTRY_RETURN(hipDrvLaunchKernelEx, error);
}
