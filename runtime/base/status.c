#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* initial-exec: a first access must not call malloc, because the host's allocator may be what called us */
static _Thread_local struct failure last __attribute__((tls_model("initial-exec")));

static void last_write(hrx_status status, hrx_reason reason, const char *format, va_list arguments) {
  /* the arguments may point into last.message, so format beside it first */
  char message[sizeof last.message];
  int length = vsnprintf(message, sizeof message, format, arguments);
  if (length < 0) {
    message[0] = '\0';
    length = 0;
  }
  if ((size_t)length >= sizeof message) {
    memcpy(message + sizeof message - 4, "...", 4);
    length = (int)sizeof message - 1;
  }
  memcpy(last.message, message, (size_t)length + 1);
  last.status = status;
  last.reason = reason;
}

hrx_status hrx_fail(hrx_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  last_write(status, HRX_REASON_NONE, format, arguments);
  va_end(arguments);
  return status;
}

hrx_status hrx_fail_reason(hrx_status status, hrx_reason reason, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  last_write(status, reason, format, arguments);
  va_end(arguments);
  return status;
}

void failure_capture(hrx_status status, struct failure *out_failure) {
  *out_failure = last;
  out_failure->status = status;
}

hrx_status failure_restore(const struct failure *failure) {
  if (failure->status != HRX_OK) last = *failure;
  return failure->status;
}

const char *hrx_last_message(void) { return last.message; }
hrx_reason hrx_last_reason(void) { return last.reason; }

const char *hrx_status_name(hrx_status status) {
  switch (status) {
  case HRX_OK: return "OK";
  case HRX_INVALID: return "INVALID";
  case HRX_BUSY: return "BUSY";
  case HRX_UNSUPPORTED: return "UNSUPPORTED";
  case HRX_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
  case HRX_DEVICE_LOST: return "DEVICE_LOST";
  case HRX_CANCELLED: return "CANCELLED";
  case HRX_TIMEOUT: return "TIMEOUT";
  case HRX_BACKEND: return "BACKEND";
  case HRX_EXECUTION: return "EXECUTION";
  case HRX_IO: return "IO";
  case HRX_COMPILE: return "COMPILE";
  }
  return "unknown status";
}
