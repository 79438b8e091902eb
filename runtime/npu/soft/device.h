/* The software NPU: programs are shared objects with the entry of hrx/npu_program.h, run by one thread for each device. */
#ifndef HRX_NPU_SOFT_DEVICE_H
#define HRX_NPU_SOFT_DEVICE_H

#include "memory/memory.h"
#include "npu/npu.h"

/* A device whose local memory comes out of `memory` (not owned, outlives the device) and is not charged there; its limit is the
 * same number. Shared memory is imported from it too. The thread starts with the first invocation. Errors:
 * OUT_OF_MEMORY. */
hrx_status npu_soft_create(struct memory *memory, struct npu_device **out_device);

#endif
