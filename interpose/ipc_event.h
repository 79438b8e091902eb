/* Events that several processes record and wait for: two counters in a page that they share.
 *
 * A record takes the next number; a task behind it on its stream says that this number is reached. The event stands for its last record,
 * in whichever process that was. If the process that recorded it ends before, whoever waits gets an error. */
#ifndef HRX_INTERPOSE_IPC_EVENT_H
#define HRX_INTERPOSE_IPC_EVENT_H

#include <hip/hip_runtime_api.h>

#include "interpose/stream.h"

struct ipc_event;

/* Makes one, or opens another process's. Errors: hipErrorOutOfMemory; those of ipc_handle_open. */
hipError_t ipc_event_create(struct ipc_event **out_event);
hipError_t ipc_event_open(const hipIpcEventHandle_t *handle, struct ipc_event **out_event);

/* Lets go of it; queued records still run. NULL is accepted. */
void ipc_event_release(struct ipc_event *event);

/* The bytes to give to another process. */
hipError_t ipc_event_handle(const struct ipc_event *event, hipIpcEventHandle_t *out_handle);

/* Records it behind the stream; `out_number` is the record's, `io_clock` gets its point. */
hrx_status ipc_event_record(struct ipc_event *event, struct ihipStream_t *stream, uint32_t *out_number, struct clock *io_clock);

/* The number of the last record of any process; 0: none yet. */
uint32_t ipc_event_last(const struct ipc_event *event);

/* Whether the last record is reached (or there is none), waiting for that, and letting a stream wait for it. Errors of the latter two, of
 * the stream when it gets there: hipErrorLaunchFailure if the process that recorded it is gone. */
bool ipc_event_over(const struct ipc_event *event);
hipError_t ipc_event_wait(struct ipc_event *event);
hipError_t ipc_event_follow(struct ipc_event *event, struct ihipStream_t *stream);

#endif
