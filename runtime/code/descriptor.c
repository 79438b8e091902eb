#include "code/descriptor.h"

#include <string.h>

/* LLVM AMDGPU usage, "Kernel Descriptor": byte offsets */
enum {
  AT_GROUP = 0,
  AT_PRIVATE = 4,
  AT_KERNARG = 8,
  AT_ENTRY = 16,
  AT_RSRC3 = 44,
  AT_RSRC1 = 48,
  AT_RSRC2 = 52,
  AT_PROPERTIES = 56
};

static uint32_t word(const uint8_t *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

struct kernel_descriptor descriptor_read(const uint8_t *bytes) {
  struct kernel_descriptor descriptor = {
      .group_segment_bytes = word(bytes + AT_GROUP),
      .private_segment_bytes = word(bytes + AT_PRIVATE),
      .kernarg_bytes = word(bytes + AT_KERNARG),
      .rsrc1 = word(bytes + AT_RSRC1),
      .rsrc2 = word(bytes + AT_RSRC2),
      .rsrc3 = word(bytes + AT_RSRC3),
      .properties = (uint16_t)word(bytes + AT_PROPERTIES),
  };
  memcpy(&descriptor.entry_offset, bytes + AT_ENTRY, sizeof descriptor.entry_offset);
  return descriptor;
}
