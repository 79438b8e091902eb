#include "gpu/soft/access.h"

#include "memory/memory.h"

static bool span_holds(const struct span *span, uint64_t address, uint64_t bytes, bool write) {
  return address >= span->low && address < span->high && bytes <= span->high - address && (span->writable || !write);
}

void access_refresh(struct wave *wave) {
  if (wave->memory == NULL) return;
  uint64_t generation = memory_generation(wave->memory);
  if (generation == wave->span_generation) return;
  wave->span_generation = generation;
  for (unsigned i = 0; i < SPAN_CACHE; i++) wave->spans[i] = (struct span){0, 0, false};
  wave->scalar_span = (struct span){0, 0, false};
}

/* The allocation around an address as a span; false if there is none that fits the access. */
static bool span_find(const struct wave *wave, uint64_t address, uint64_t bytes, bool write, struct span *out_span) {
  if (wave->memory == NULL || address > UINTPTR_MAX) return false;
  const struct allocation *allocation = memory_find(wave->memory, (uintptr_t)address);
  if (allocation == NULL || (allocation->access & MEMORY_READ) == 0) return false;
  struct span span = {allocation->address, allocation->address + allocation->bytes,
                      (allocation->access & MEMORY_WRITE) != 0};
  /* to a kernel, mapped views that lie next to each other are one range */
  while (address < span.high && bytes > span.high - address) {
    allocation = memory_next(wave->memory, allocation);
    if (allocation == NULL || (allocation->access & MEMORY_READ) == 0) break;
    span.high = allocation->address + allocation->bytes;
    span.writable = span.writable && (allocation->access & MEMORY_WRITE) != 0;
  }
  if (!span_holds(&span, address, bytes, write)) return false;
  *out_span = span;
  return true;
}

bool access_refill(struct wave *wave, uint64_t address, uint64_t bytes, bool write) {
  if (bytes == 0) return true;
  access_refresh(wave);
  for (unsigned i = 0; i < SPAN_CACHE; i++) {
    if (!span_holds(&wave->spans[i], address, bytes, write)) continue;
    struct span first = wave->spans[i];
    wave->spans[i] = wave->spans[0];
    wave->spans[0] = first;
    return true;
  }
  struct span found;
  if (!span_find(wave, address, bytes, write, &found)) return false;
  /* the one that was first stays in the cache; the others are replaced in turn */
  wave->span_next = wave->span_next % (SPAN_CACHE - 1) + 1;
  wave->spans[wave->span_next] = wave->spans[0];
  wave->spans[0] = found;
  return true;
}

bool access_scalar_refill(struct wave *wave, uint64_t address, uint64_t bytes) {
  if (bytes == 0) return true;
  access_refresh(wave);
  for (unsigned i = 0; i < SPAN_CACHE; i++)
    if (span_holds(&wave->spans[i], address, bytes, false)) return true;
  return span_find(wave, address, bytes, false, &wave->scalar_span);
}
