/* hipMemsetParams, whose fields HIP 7 put into another order. hrx keeps the order of this header's HIP. */
#ifndef HRX_INTERPOSE_MEMSET_PARAMETERS_H
#define HRX_INTERPOSE_MEMSET_PARAMETERS_H

#include <hip/hip_runtime_api.h>
#include <string.h>

struct memset_parameters_since_7 {
  void *dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};

/* What a program linked to HIP `version` gave. */
static inline hipMemsetParams memset_parameters_read(const hipMemsetParams *given, int version) {
  struct memset_parameters_since_7 newer;
  if (version < 7) return *given;
  memcpy(&newer, given, sizeof newer);
  return (hipMemsetParams){.dst = newer.dst, .elementSize = newer.elementSize, .height = newer.height, .pitch = newer.pitch,
                           .value = newer.value, .width = newer.width};
}

static inline void memset_parameters_write(const hipMemsetParams *own, int version, hipMemsetParams *out_given) {
  struct memset_parameters_since_7 newer = {own->dst, own->pitch, own->value, own->elementSize, own->width, own->height};
  if (version < 7) *out_given = *own;
  else memcpy(out_given, &newer, sizeof newer);
}

_Static_assert(sizeof(struct memset_parameters_since_7) == 40 && sizeof(hipMemsetParams) == 48, "as programs have them");

#endif
