#include "interpose/error.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/log.h"
#include "interpose/entry.h"

static hipError_t error_of_reason(hrx_reason reason) {
  switch (reason) {
  case HRX_REASON_ARGUMENT: return hipErrorInvalidValue;
  case HRX_REASON_HANDLE: return hipErrorInvalidHandle;
  case HRX_REASON_POINTER: return hipErrorInvalidValue;
  case HRX_REASON_IMAGE: return hipErrorInvalidImage;
  case HRX_REASON_TARGET: return hipErrorNoBinaryForGpu;
  case HRX_REASON_NOT_FOUND: return hipErrorNotFound;
  case HRX_REASON_FILE_NOT_FOUND: return hipErrorFileNotFound;
  case HRX_REASON_INSTRUCTION: return hipErrorNotSupported;
  case HRX_REASON_ADDRESS: return hipErrorIllegalAddress;
  case HRX_REASON_TIME_LIMIT: return hipErrorLaunchTimeOut;
  case HRX_REASON_TRAP: return hipErrorLaunchFailure;
  case HRX_REASON_LAUNCH_GEOMETRY: return hipErrorInvalidConfiguration;
  case HRX_REASON_QUEUE_FULL: return hipErrorNotReady;
  case HRX_REASON_LIVE: return hipErrorInvalidValue;
  default: break; /* HIP has no code of its own for the others: the status decides */
  }
  return hipSuccess;
}

static hipError_t error_of_both(hrx_status status, hrx_reason reason) {
  if (status == HRX_OK) return hipSuccess;
  if (status == HRX_OUT_OF_MEMORY) return hipErrorOutOfMemory;
  hipError_t error = error_of_reason(reason);
  if (error != hipSuccess) return error;
  switch (status) {
  case HRX_OK: return hipSuccess;
  case HRX_INVALID: return hipErrorInvalidValue;
  case HRX_BUSY: return hipErrorNotReady;
  case HRX_UNSUPPORTED: return hipErrorNotSupported;
  case HRX_OUT_OF_MEMORY: return hipErrorOutOfMemory;
  case HRX_DEVICE_LOST: return hipErrorNotInitialized;
  case HRX_CANCELLED: return hipErrorLaunchFailure;
  case HRX_TIMEOUT: return hipErrorNotReady;
  case HRX_BACKEND: return hipErrorUnknown;
  case HRX_EXECUTION: return hipErrorLaunchFailure;
  case HRX_IO: return hipErrorFileNotFound;
  case HRX_COMPILE: return hipErrorInvalidSource;
  }
  return hipErrorUnknown;
}

hipError_t error_of(hrx_status status) { return error_of_both(status, hrx_last_reason()); }

hipError_t error_of_failure(const struct failure *failure) { return error_of_both(failure->status, failure->reason); }

hipError_t error_report(const struct failure *failure) {
  hipError_t error = error_of_failure(failure);
  if (error != hipSuccess) log_line(LOG_INFO, "%s: %s", error_name(error), failure->message);
  return error;
}

/* A forked child meets it in each call: said once a process. */
static bool lost_said(hrx_status status) {
  static _Atomic pid_t said;
  pid_t self = getpid();
  return status == HRX_DEVICE_LOST && atomic_exchange(&said, self) == self;
}

hipError_t error_logged(hrx_status status) {
  hipError_t error = error_of(status);
  if (lost_said(status)) return error;
  if (error != hipSuccess) log_line(LOG_ERROR, "%s: %s", error_name(error), hrx_last_message());
  return error;
}

struct error_text {
  hipError_t error;
  const char *name, *sentence;
};

#define ERROR(name, sentence) {name, #name, sentence}
static const struct error_text texts[] = {
  ERROR(hipSuccess, "no error"),
  ERROR(hipErrorInvalidValue, "invalid argument"),
  ERROR(hipErrorOutOfMemory, "out of memory"),
  ERROR(hipErrorNotInitialized, "initialization error"),
  ERROR(hipErrorDeinitialized, "driver shutting down"),
  ERROR(hipErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
  ERROR(hipErrorProfilerNotInitialized, "profiler is not initialized"),
  ERROR(hipErrorProfilerAlreadyStarted, "profiler already started"),
  ERROR(hipErrorProfilerAlreadyStopped, "profiler already stopped"),
  ERROR(hipErrorInvalidConfiguration, "invalid configuration argument"),
  ERROR(hipErrorInvalidPitchValue, "invalid pitch argument"),
  ERROR(hipErrorInvalidSymbol, "invalid device symbol"),
  ERROR(hipErrorInvalidDevicePointer, "invalid device pointer"),
  ERROR(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
  ERROR(hipErrorInsufficientDriver, "driver version is insufficient for runtime version"),
  ERROR(hipErrorMissingConfiguration, "__global__ function call is not configured"),
  ERROR(hipErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
  ERROR(hipErrorInvalidDeviceFunction, "invalid device function"),
  ERROR(hipErrorNoDevice, "no ROCm-capable device is detected"),
  ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
  ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
  ERROR(hipErrorInvalidContext, "invalid device context"),
  ERROR(hipErrorContextAlreadyCurrent, "context is already current context"),
  ERROR(hipErrorMapFailed, "mapping of buffer object failed"),
  ERROR(hipErrorUnmapFailed, "unmapping of buffer object failed"),
  ERROR(hipErrorArrayIsMapped, "array is mapped"),
  ERROR(hipErrorAlreadyMapped, "resource already mapped"),
  ERROR(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
  ERROR(hipErrorAlreadyAcquired, "resource already acquired"),
  ERROR(hipErrorNotMapped, "resource not mapped"),
  ERROR(hipErrorNotMappedAsArray, "resource not mapped as array"),
  ERROR(hipErrorNotMappedAsPointer, "resource not mapped as pointer"),
  ERROR(hipErrorECCNotCorrectable, "uncorrectable ECC error encountered"),
  ERROR(hipErrorUnsupportedLimit, "limit is not supported on this architecture"),
  ERROR(hipErrorContextAlreadyInUse, "exclusive-thread device already in use by a different thread"),
  ERROR(hipErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
  ERROR(hipErrorInvalidKernelFile, "invalid kernel file"),
  ERROR(hipErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
  ERROR(hipErrorInvalidSource, "device kernel image is invalid"),
  ERROR(hipErrorFileNotFound, "file not found"),
  ERROR(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
  ERROR(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
  ERROR(hipErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
  ERROR(hipErrorInvalidHandle, "invalid resource handle"),
  ERROR(hipErrorIllegalState, "the operation cannot be performed in the present state"),
  ERROR(hipErrorNotFound, "named symbol not found"),
  ERROR(hipErrorNotReady, "device not ready"),
  ERROR(hipErrorIllegalAddress, "an illegal memory access was encountered"),
  ERROR(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
  ERROR(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
  ERROR(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
  ERROR(hipErrorPeerAccessNotEnabled, "peer access has not been enabled"),
  ERROR(hipErrorSetOnActiveProcess, "cannot set while device is active in this process"),
  ERROR(hipErrorContextIsDestroyed, "context is destroyed"),
  ERROR(hipErrorAssert, "device-side assert triggered"),
  ERROR(hipErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
  ERROR(hipErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
  ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
  ERROR(hipErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
  ERROR(hipErrorNotSupported, "operation not supported"),
  ERROR(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
  ERROR(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
  ERROR(hipErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
  ERROR(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
  ERROR(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
  ERROR(hipErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
  ERROR(hipErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"),
  ERROR(hipErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
  ERROR(hipErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
  ERROR(hipErrorGraphExecUpdateFailure, "the graph update was not performed because it included changes which violated "
                                        "constraints specific to instantiated graph update"),
  {(hipError_t)911, "hipErrorInvalidChannelDescriptor", "invalid channel descriptor"}, /* since HIP 6 */
  {(hipError_t)912, "hipErrorInvalidTexture", "invalid texture"},
  ERROR(hipErrorRuntimeMemory, "runtime memory call returned error"),
  ERROR(hipErrorRuntimeOther, "runtime call other than memory returned error"),
  ERROR(hipErrorUnknown, "unknown error"),
};
#undef ERROR

static const struct error_text *text_of(hipError_t error) {
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].error == error) return &texts[i];
  return NULL;
}

const char *error_name(hipError_t error) {
  const struct error_text *found = text_of(error);
  return found != NULL ? found->name : "hipErrorUnknown";
}

const char *error_sentence(hipError_t error) {
  const struct error_text *found = text_of(error);
  return found != NULL ? found->sentence : "unknown error";
}

hipError_t entry_hipGetLastError(void) {
  hipError_t error = thread_state.last_error;
  thread_state.last_error = hipSuccess;
  return error;
}

/* HIP 6 added it for the meaning that hipGetLastError lost in HIP 7: how the last call ended, well or not. */
hipError_t entry_hipExtGetLastError(void) {
  hipError_t error = thread_state.last_result;
  thread_state.last_result = hipSuccess;
  return error;
}

hipError_t entry_hipPeekAtLastError(void) { return thread_state.last_error; }

text entry_hipGetErrorName(hipError_t error) { return error_name(error); }

text entry_hipGetErrorString(hipError_t error) { return error_sentence(error); }

hipError_t entry_hipDrvGetErrorName(hipError_t error, const char **name) {
  const struct error_text *found = text_of(error);
  if (name == NULL || found == NULL) ENTRY_RETURN(hipDrvGetErrorName, hipErrorInvalidValue);
  *name = found->name;
  ENTRY_RETURN(hipDrvGetErrorName, hipSuccess);
}

hipError_t entry_hipDrvGetErrorString(hipError_t error, const char **sentence) {
  const struct error_text *found = text_of(error);
  if (sentence == NULL || found == NULL) ENTRY_RETURN(hipDrvGetErrorString, hipErrorInvalidValue);
  *sentence = found->sentence;
  ENTRY_RETURN(hipDrvGetErrorString, hipSuccess);
}
