/* Profilers' and tools' functions, markers, conversions that compilers call, and entry points by name. */
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "interpose/entry.h"
#include "interpose/entrypoints.h"
#include "interpose/table.h"

/* HIP defines these two for profilers alone: without one there is nothing to start. */
hipError_t entry_hipProfilerStart(void) { ENTRY_RETURN(hipProfilerStart, hipSuccess); }
hipError_t entry_hipProfilerStop(void) { ENTRY_RETURN(hipProfilerStop, hipSuccess); }

/* Numbers of the real library's own list, which hrx does not have. */
text entry_hipApiName(uint32_t id) {
  (void)id;
  return "unknown";
}

/* HIP's hipDriverProcAddressQueryResult */
enum { QUERY_FOUND = 0, QUERY_NOT_FOUND = 1 };

hipError_t entry_hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  enum { FLAG_PER_THREAD = 2 /* HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */ };
  char name[128];
  if (symbol == NULL || function == NULL) ENTRY_RETURN(hipGetProcAddress, hipErrorInvalidValue);
  size_t length = strlen(symbol);
  int row = -1;
  if (length + sizeof "_spt" <= sizeof name) {
    memcpy(name, symbol, length + 1);
    /* callers of HIP 6 and later mean the layout of HIP 6 by the plain names */
    if (version >= 60000000 && (strcmp(symbol, "hipGetDeviceProperties") == 0 || strcmp(symbol, "hipChooseDevice") == 0))
      memcpy(name + length, "R0600", sizeof "R0600");
    else if ((flags & FLAG_PER_THREAD) != 0)
      memcpy(name + length, "_spt", sizeof "_spt");
    row = entry_find(name);
    if (row < 0) row = entry_find(symbol);
  }
  if (status != NULL) *status = row >= 0 ? QUERY_FOUND : QUERY_NOT_FOUND;
  if (row < 0) ENTRY_RETURN(hipGetProcAddress, hipErrorInvalidValue);
  *function = hrx_hip_entries[row];
  ENTRY_RETURN(hipGetProcAddress, hipSuccess);
}

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

/* Markers: seen in the log at trace level; the depth is what roctx programs are promised. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

void entry_roctxMarkA(const char *message) {
  if (entry_tracing) log_line(LOG_TRACE, "roctx mark: %s", message != NULL ? message : "");
}

int entry_roctxRangePushA(const char *message) {
  if (entry_tracing) log_line(LOG_TRACE, "roctx push: %s", message != NULL ? message : "");
  return depth++;
}

int entry_roctxRangePop(void) {
  if (depth == 0) return -1;
  if (entry_tracing) log_line(LOG_TRACE, "roctx pop");
  return --depth;
}

uint64_t entry_roctxRangeStartA(const char *message) {
  static _Atomic uint64_t ids;
  if (entry_tracing) log_line(LOG_TRACE, "roctx start: %s", message != NULL ? message : "");
  return atomic_fetch_add(&ids, 1) + 1;
}

void entry_roctxRangeStop(uint64_t id) {
  if (entry_tracing) log_line(LOG_TRACE, "roctx stop: %llu", (unsigned long long)id);
}

uint32_t entry_roctx_version_major(void) { return 4; }
uint32_t entry_roctx_version_minor(void) { return 1; }
