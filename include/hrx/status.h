/* Status values: what every function of the library returns.
 *
 * A failing call leaves a sentence for people in the calling thread (hrx_last_message) and, where a
 * program may want to react, a reason code (hrx_last_reason). Both are overwritten by the thread's next
 * failure and never cleared by a success. */
#ifndef HRX_STATUS_H
#define HRX_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum hrx_status {
  HRX_OK = 0,
  HRX_INVALID,       /* a rule of the call was broken */
  HRX_BUSY,          /* a live map, a full queue, no free slot: try again later */
  HRX_UNSUPPORTED,   /* valid, but this device or this version cannot do it */
  HRX_OUT_OF_MEMORY, /* device memory, budget or host memory */
  HRX_DEVICE_LOST,   /* poisoned memory, or the device failed in an unknown state */
  HRX_CANCELLED,     /* cancelled before it started */
  HRX_TIMEOUT,       /* the wait ended, the work did not */
  HRX_BACKEND,       /* a foreign library failed; its own code is in the message */
  HRX_EXECUTION,     /* the work itself failed while it ran */
  HRX_IO,            /* a file could not be read or written */
  HRX_COMPILE        /* source did not compile */
} hrx_status;

/* Why, where the status alone is too coarse to switch on. */
typedef enum hrx_reason {
  HRX_REASON_NONE = 0,
  HRX_REASON_ARGUMENT,        /* an argument is NULL or out of range */
  HRX_REASON_HANDLE,          /* not a live handle of this kind */
  HRX_REASON_POINTER,         /* not an address of this domain */
  HRX_REASON_IMAGE,           /* malformed fat binary, ELF or metadata */
  HRX_REASON_TARGET,          /* no code for this GPU in the binary */
  HRX_REASON_NOT_FOUND,       /* no such kernel, symbol or key */
  HRX_REASON_FILE_NOT_FOUND,  /* no such file */
  HRX_REASON_INSTRUCTION,     /* an instruction that the software GPU does not implement */
  HRX_REASON_ADDRESS,         /* a kernel accessed memory outside every allocation */
  HRX_REASON_TIME_LIMIT,      /* a kernel ran longer than HRX_TIMEOUT */
  HRX_REASON_TRAP,            /* a kernel executed s_trap (assert, __builtin_trap) */
  HRX_REASON_LAUNCH_GEOMETRY, /* grid, block or LDS outside the device's limits */
  HRX_REASON_QUEUE_FULL,      /* too much work queued */
  HRX_REASON_LIVE,            /* still in use (already registered) */
  HRX_REASON_MAPPED,          /* a live host map conflicts */
  HRX_REASON_HANDED_OFF,      /* handed to a native stream for a stage, or that stage re-entered */
  HRX_REASON_DEVICE_WORK,     /* device work that conflicts is not over (try_ forms) */
  HRX_REASON_CAPACITY,        /* as many submissions in flight as the runtime allows */
  HRX_REASON_SLOTS,           /* as many submissions of this graph in flight as it has slots */
  HRX_REASON_BUDGET,          /* the memory budget is full and nothing can be evicted */
  HRX_REASON_TRACING,         /* a trace already runs */
  HRX_REASON_FOREIGN,         /* an object of another runtime, device or stream */
  HRX_REASON_EMPTY,           /* no nodes, or no bytes where some are needed */
  HRX_REASON_RANGE,           /* leaves its parent, wraps, or has another length than it must */
  HRX_REASON_ALIGNMENT,       /* the absolute address is not aligned as the contract says */
  HRX_REASON_ALIASING,        /* bindings overlap and one is written */
  HRX_REASON_CONTRACT,        /* does not fit the contract, or the contract does not fit the code */
  HRX_REASON_PLACEMENT,       /* memory that this device or the host cannot reach */
  HRX_REASON_ORDER,           /* an edge to a node that is not earlier */
  HRX_REASON_POISONED         /* a failed task may have left part of a result there */
} hrx_reason;

/* Short constant name of a status ("INVALID"); never NULL. */
const char *hrx_status_name(hrx_status status);

/* The sentence that belongs to this thread's last failure; "" before the first. Valid until the
 * thread's next failing call. */
const char *hrx_last_message(void);

/* The reason code that belongs to this thread's last failure. */
hrx_reason hrx_last_reason(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
