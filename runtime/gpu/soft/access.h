/* Checked access of kernels to memory: every address is proven to lie in an allocation before it is touched.
 *
 * A wave caches the last few ranges; a miss asks memory_find. */
#ifndef HRX_GPU_SOFT_ACCESS_H
#define HRX_GPU_SOFT_ACCESS_H

#include "gpu/soft/machine.h"

/* Slow path of access_ok: finds the allocation and fills a cache entry. In access.c. */
bool access_refill(struct wave *wave, uint64_t address, uint64_t bytes, bool write);
bool access_scalar_refill(struct wave *wave, uint64_t address, uint64_t bytes);

/* Whether [address, address + bytes) lies inside one allocation that may be read (written). Few instructions when it lies in
 * the range that was used last. */
static inline bool access_ok(struct wave *wave, uint64_t address, uint64_t bytes, bool write) {
  const struct span *span = &wave->spans[0];
  if (__builtin_expect(address >= span->low && address < span->high && bytes <= span->high - address &&
                         (span->writable || !write), 1))
    return true;
  return access_refill(wave, address, bytes, write);
}

/* The same for a scalar load: reads only, with a cache entry of its own, so that constants and vectors do not evict
 * each other. */
static inline bool access_scalar_ok(struct wave *wave, uint64_t address, uint64_t bytes) {
  const struct span *span = &wave->scalar_span;
  if (__builtin_expect(address >= span->low && address < span->high && bytes <= span->high - address, 1)) return true;
  return access_scalar_refill(wave, address, bytes);
}

/* Forgets what the wave cached if an allocation was made or freed since. For whenever a wave starts or goes on. */
void access_refresh(struct wave *wave);

#endif
