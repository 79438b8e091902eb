/* Sleeping on a word: the one blocking primitive beside pthread mutexes. */
#ifndef HRX_BASE_FUTEX_H
#define HRX_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word == expected, until woken or `deadline_ns` (time_now_ns scale; UINT64_MAX: none).
 * May return early for no reason: the caller looks again. Any thread. */
void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* Wakes up to `count` sleepers of `word`. Any thread. */
void futex_wake(_Atomic uint32_t *word, int count);

/* The same for a word in memory that processes share: sleepers of any of them. */
void futex_wait_shared(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);
void futex_wake_shared(_Atomic uint32_t *word, int count);

#endif
