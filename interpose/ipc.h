/* Handles that one process gives another: what memory and event handles share.
 *
 * A handle names a descriptor of the process that made it. Opening one goes through /proc, so both must run as the same user (or the
 * opener may trace the other) and see each other's process numbers. A handle is good while what it names lives. */
#ifndef HRX_INTERPOSE_IPC_H
#define HRX_INTERPOSE_IPC_H

#include <hip/hip_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/shared.h"

enum { IPC_MEMORY = 0x4d58, IPC_EVENT = 0x4558 };

/* The bytes of hipIpcMemHandle_t and hipIpcEventHandle_t. */
struct ipc_handle {
  uint32_t magic, kind;
  int32_t process, descriptor;
  uint64_t device, inode; /* of the file, so that another one under the same number is not taken for it */
  uint64_t bytes;
  uint32_t ordinal, check; /* the GPU; over all before it */
};

/* Fills in a handle of `bytes` in the file. */
hipError_t ipc_handle_make(int descriptor, uint32_t kind, uint64_t bytes, int ordinal, void *out_handle);

/* Opens the file that a handle of that kind names; the descriptor is the caller's. Errors: hipErrorInvalidValue for bytes that are no
 * handle, hipErrorInvalidContext for one of this process, `gone` if what it names is not there any more or out of reach. */
hipError_t ipc_handle_open(const void *handle, uint32_t kind, hipError_t gone, struct ipc_handle *out_handle, int *out_descriptor);

#endif
