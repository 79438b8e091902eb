/* Operations on values in memory that a stream waits for or writes (hipStreamWaitValue32 and its family).
 *
 * A wait occupies no thread that other work needs: one thread of its own watches the values of all streams that wait. It is started
 * by the first wait that is not over at once. Writes of the family wake it; other writers it finds within half a millisecond. */
#ifndef HRX_INTERPOSE_VALUE_H
#define HRX_INTERPOSE_VALUE_H

#include "engine/engine.h"
#include "interpose/abi.h"
#include "interpose/stream.h"

enum { VALUE_OPERATIONS_MOST = 256 };

/* How a wait compares the value, masked, with its operand: HIP's numbers. */
enum value_condition { VALUE_AT_LEAST = 0, VALUE_EQUAL = 1, VALUE_AND = 2, VALUE_NOR = 3 };

struct value_operation {
  bool wait; /* else: write */
  enum value_condition condition;
  unsigned bytes; /* 4 or 8; the address is a multiple of it */
  void *address;
  uint64_t value, mask;
};

/* Checks one operation: the address must be inside memory that HIP knows, and aligned. Errors: hipErrorInvalidValue. */
hipError_t value_check(const struct value_operation *operation);

/* From hipStreamBatchMemOp's array, checked. Barriers and flushes need nothing here, as operations of a stream are in order and
 * visible to all: they are left out. Errors: hipErrorInvalidValue; nothing is written then. */
hipError_t value_operations(const hipStreamBatchMemOpParams *parameters, unsigned count,
                            struct value_operation out_operations[VALUE_OPERATIONS_MOST], unsigned *out_count);

/* A task that does the operations (copied) one after the other, each write a release, each wait an acquire. It may run again and
 * again, once at a time. Whoever holds the task calls task.device.release(task.device.payload) unless the engine took it.
 * Errors: hipErrorOutOfMemory. */
hipError_t value_task(const struct value_operation *operations, unsigned count, struct task *out_task);

/* value_task behind the stream's order. The stream is not capturing. */
hipError_t value_submit(struct ihipStream_t *stream, const struct value_operation *operations, unsigned count);

#endif
