/* What profilers and debuggers ask: names of functions and commands, callbacks, logging, and which build this is.
 *
 * Callbacks around calls and activities are refused (entrypoints.def says why): what they hand out is private to AMD's profilers. */
#include "base/log.h"
#include "interpose/call_trace.h"
#include "interpose/entry.h"

/* needs the types of the others */
#include <hip/amd_detail/hip_prof_str.h>

/* HIP numbers its functions anew with each release: only those of 5.2, whose header is here, are known. */
text entry_hipApiName(uint32_t id) {
  CALLER_NOTE();
  return caller_hip_version() == 5 ? hip_api_name(id) : "unknown";
}

/* Commands by OpenCL's numbers, as the real library knows them (cl.h). */
text entry_hipGetCmdName(uint32_t command) {
  switch (command) {
  case 0: return "InternalMarker";
  case 0x11f0: return "KernelExecution";
  case 0x11f3: return "CopyDeviceToHost";
  case 0x11f4: return "CopyHostToDevice";
  case 0x11f5: return "CopyDeviceToDevice";
  case 0x11fe: return "Marker";
  case 0x1201: return "CopyDeviceToHost2D";
  case 0x1202: return "CopyHostToDevice2D";
  case 0x1203: return "CopyDeviceToDevice2D";
  case 0x1207: return "FillBuffer";
  default: return "Unknown command type";
  }
}

/* None can be registered, so there is none afterwards. */
hipError_t entry_hipRemoveApiCallback(uint32_t id) {
  ENTRY_RETURN(hipRemoveApiCallback, id <= HIP_API_ID_LAST ? hipSuccess : hipErrorInvalidValue);
}

hipError_t entry_hipRemoveActivityCallback(uint32_t id) {
  ENTRY_RETURN(hipRemoveActivityCallback, id <= HIP_API_ID_LAST ? hipSuccess : hipErrorInvalidValue);
}

/* Logging while the program runs. HIP's levels: 0 none, 1 errors, 2 warnings, 3 calls, more: details. */
static _Atomic int chosen_level;

static int level_of(size_t level) { return level >= 3 ? LOG_TRACE : level == 2 ? LOG_WARN : LOG_ERROR; }

hipError_t entry_hipExtSetLoggingParams(size_t level, size_t bytes, size_t mask) {
  (void)bytes, (void)mask; /* of AMD's ring of messages and kinds of messages: hrx's log has neither */
  atomic_store_explicit(&chosen_level, level_of(level), memory_order_relaxed);
  ENTRY_RETURN(hipExtSetLoggingParams, hipSuccess);
}

static void level_set(int level) {
  log_level_set(level);
  call_trace_set(log_enabled(LOG_TRACE));
}

hipError_t entry_hipExtEnableLogging(void) {
  level_set(atomic_load_explicit(&chosen_level, memory_order_relaxed));
  ENTRY_RETURN(hipExtEnableLogging, hipSuccess);
}

/* Back to what HRX_LOG says. */
hipError_t entry_hipExtDisableLogging(void) {
  level_set(-1);
  ENTRY_RETURN(hipExtDisableLogging, hipSuccess);
}

/* A debugger shows these to people: they say what this is. There is no AMD build with such a number. */
text entry_amd_dbgapi_get_build_name(void) { return "hrx"; }
text entry_amd_dbgapi_get_git_hash(void) { return ""; }
size_t entry_amd_dbgapi_get_build_id(void) { return 0; }
