/* Monotonic time, the only clock that hrx measures and waits with. */
#ifndef HRX_BASE_CLOCKTIME_H
#define HRX_BASE_CLOCKTIME_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. About 25 ns. Any thread, also in signal handlers. */
static inline uint64_t time_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* start + duration, UINT64_MAX ("never") if that overflows. */
static inline uint64_t time_after(uint64_t start_ns, uint64_t duration_ns) {
  return duration_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + duration_ns;
}

#endif
