/* Profilers' switches, markers, and conversions that compilers call. */
#include <stdatomic.h>
#include <string.h>

#include "interpose/entry.h"

/* HIP defines these two for profilers alone: without one there is nothing to start. */
hipError_t entry_hipProfilerStart(void) { ENTRY_RETURN(hipProfilerStart, hipSuccess); }
hipError_t entry_hipProfilerStop(void) { ENTRY_RETURN(hipProfilerStop, hipSuccess); }

/* IEEE half and single precision: what compiler-rt's functions of the same names do. */
uint16_t entry___gnu_f2h_ieee(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff)); /* NaN, made quiet */
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                            /* rounds to infinity */
  if (magnitude >= 0x38800000) {                                                            /* normal */
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
  }
  if (magnitude < 0x33000000) return sign; /* less than half of the smallest */
  uint32_t shift = 126 - (magnitude >> 23), mantissa = (magnitude & 0x7fffff) | 0x800000;
  uint32_t half = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
  if (rest > middle || (rest == middle && (half & 1) != 0)) half++;
  return (uint16_t)(sign | half);
}

float entry___gnu_h2f_ieee(uint16_t value) {
  uint32_t sign = (uint32_t)(value & 0x8000) << 16, exponent = value >> 10 & 0x1f, mantissa = value & 0x3ff, bits;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else if (mantissa == 0) {
    bits = sign;
  } else {
    uint32_t shift = (uint32_t)__builtin_clz(mantissa) - 21;
    bits = sign | (113 - shift) << 23 | (mantissa << (shift + 13) & 0x7fffff);
  }
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* Markers: HRX_LOG=trace shows them, as it shows all calls; the depth is what roctx programs are promised. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

void entry_roctxMarkA(const char *message) { (void)message; }

int entry_roctxRangePushA(const char *message) {
  (void)message;
  return depth++;
}

int entry_roctxRangePop(void) { return depth == 0 ? -1 : --depth; }

uint64_t entry_roctxRangeStartA(const char *message) {
  static _Atomic uint64_t ids;
  (void)message;
  return atomic_fetch_add(&ids, 1) + 1;
}

void entry_roctxRangeStop(uint64_t id) { (void)id; }

uint32_t entry_roctx_version_major(void) { return 4; }
uint32_t entry_roctx_version_minor(void) { return 1; }
