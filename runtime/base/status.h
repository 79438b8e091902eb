/* Failing with a message, and carrying a failure from the thread where it happened to the one that asks. */
#ifndef HRX_BASE_STATUS_H
#define HRX_BASE_STATUS_H

#include <hrx/status.h>

/* A failure as data: what an asynchronous task leaves behind. Plain data, copy freely. */
struct failure {
  hrx_status status; /* HRX_OK: none */
  hrx_reason reason;
  char message[512];
};

/* Records message and HRX_REASON_NONE for this thread and returns `status`, so that a caller can write
 * `return hrx_fail(...)`. Never allocates; messages longer than the buffer end in "...". Any thread. */
hrx_status hrx_fail(hrx_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a reason code. */
hrx_status hrx_fail_reason(hrx_status status, hrx_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies this thread's last failure, as `status`, into `out_failure`. */
void failure_capture(hrx_status status, struct failure *out_failure);

/* Makes `failure` this thread's last failure again and returns its status. HRX_OK changes nothing. */
hrx_status failure_restore(const struct failure *failure);

#endif
