#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns, int operation) {
  struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
                              .tv_nsec = (long)(deadline_ns % UINT64_C(1000000000))};
  /* the BITSET form takes an absolute CLOCK_MONOTONIC time: futex(2) */
  syscall(SYS_futex, word, operation, expected, deadline_ns == UINT64_MAX ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns) {
  wait(word, expected, deadline_ns, FUTEX_WAIT_BITSET_PRIVATE);
}

void futex_wake(_Atomic uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); }

void futex_wait_shared(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns) {
  wait(word, expected, deadline_ns, FUTEX_WAIT_BITSET);
}

void futex_wake_shared(_Atomic uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0); }
