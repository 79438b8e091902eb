/* Kernel descriptors: the 64 bytes that the hardware's command processor reads. */
#ifndef HRX_CODE_DESCRIPTOR_H
#define HRX_CODE_DESCRIPTOR_H

#include "code/kernel.h"

enum {
  DESCRIPTOR_BYTES = 64,
  DESCRIPTOR_ALIGNMENT = 64,
  DESCRIPTOR_WAVE32 = 1 << 10,
  DESCRIPTOR_DYNAMIC_STACK = 1 << 11
};

/* Takes the fields out of DESCRIPTOR_BYTES bytes. Any bytes are some descriptor: the caller checks the entry. */
struct kernel_descriptor descriptor_read(const uint8_t *bytes);

#endif
