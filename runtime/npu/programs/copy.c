/* NPU program "copy": kernel copy(dst, src). As many bytes as both have; each column takes an equal part.
 * Fails with code 1 if the lengths differ, 2 if the ranges overlap. */
#include <stdio.h>
#include <string.h>

#include <hrx/npu_program.h>

enum { LENGTHS_DIFFER = 1, RANGES_OVERLAP = 2, PART = 64 };

static int run_copy(const hrx_npu_call *call) {
  unsigned char *dst = call->bindings[0].pointer;
  const unsigned char *src = call->bindings[1].pointer;
  uint64_t bytes = call->bindings[0].bytes;
  if (bytes != call->bindings[1].bytes) {
    snprintf(call->message, call->message_bytes, "dst has %llu bytes, src has %llu", (unsigned long long)bytes,
             (unsigned long long)call->bindings[1].bytes);
    return LENGTHS_DIFFER;
  }
  if ((uintptr_t)dst < (uintptr_t)src + bytes && (uintptr_t)src < (uintptr_t)dst + bytes) {
    snprintf(call->message, call->message_bytes, "dst and src overlap");
    return RANGES_OVERLAP;
  }
  uint64_t share = (bytes / call->columns + PART) & ~(uint64_t)(PART - 1); /* rounded up: the last column has less */
  for (uint64_t at = 0; at < bytes; at += share) memcpy(dst + at, src + at, bytes - at < share ? bytes - at : share);
  return 0;
}

static const hrx_npu_binding bindings[] = {{"dst", HRX_NPU_WRITE, 1, 0}, {"src", HRX_NPU_READ, 1, 0}};
static const hrx_npu_entry kernels[] = {{"copy", run_copy, bindings, 2, 0}};
const struct hrx_npu_table hrx_npu_program = HRX_NPU_PROGRAM(kernels, 1);
