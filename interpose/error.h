/* From what hrx says to what HIP says, and the thread's last error.
 *
 * Before HIP 7 each call overwrote the last error, also with success; since HIP 7 it stays until asked for, and
 * NotReady is not recorded. Which rule holds follows the library version that the program was linked to (state.h). */
#ifndef HRX_INTERPOSE_ERROR_H
#define HRX_INTERPOSE_ERROR_H

#include <hip/hip_runtime_api.h>

#include "base/status.h"

/* The HIP error that belongs to `status` and this thread's last reason. The one place where the two meet. */
hipError_t error_of(hrx_status status);

/* The same for a failure that travelled as data. */
hipError_t error_of_failure(const struct failure *failure);

/* Logs the failure's message at LOG_INFO and returns its HIP error: for failures of asynchronous work where they are asked for.
 * The device already said at LOG_ERROR, when it happened, why a kernel stopped. */
hipError_t error_report(const struct failure *failure);

/* Logs this thread's last message at LOG_ERROR and returns error_of(status): for calls whose error a program is unlikely to
 * look at, such as launches. HRX_OK is hipSuccess and logs nothing; DEVICE_LOST, which stays so, is logged once a process. */
hipError_t error_logged(hrx_status status);

/* "hipErrorInvalidValue" and a sentence; never NULL. */
const char *error_name(hipError_t error);
const char *error_sentence(hipError_t error);

#endif
