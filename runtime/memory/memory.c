#include "memory/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory/record.h"
#include "memory/shared.h"

enum { NATURAL_ALIGNMENT = 256, PAGE = 4096 };
static const size_t LARGEST = (size_t)1 << 47;

/* Over the whole process, so that a serial never means two allocations, whatever the domain. */
static _Atomic uint64_t serials;

static struct record *record_of_chunk(struct chunk *chunk) {
  return (struct record *)((char *)chunk - offsetof(struct record, chunk));
}

hrx_status memory_create(uint64_t limit, struct memory **out_memory) {
  struct memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a domain's storage");
  pthread_mutex_init(&memory->lock, NULL);
  memory->statistics.limit = limit;
  *out_memory = memory;
  return HRX_OK;
}

void memory_release(struct memory *memory) {
  if (memory == NULL) return;
  shared_finish(memory);
  address_map_finish(&memory->map);
  heap_finish(&memory->heap);
  while (memory->slabs != NULL) {
    struct slab *slab = memory->slabs;
    memory->slabs = slab->next;
    free(slab);
  }
  pthread_mutex_destroy(&memory->lock);
  free(memory);
}

void record_spare_locked(struct memory *memory, struct record *record) {
  record->next_spare = memory->spare;
  memory->spare = record;
}

struct record *record_take_locked(struct memory *memory) {
  if (memory->spare == NULL) {
    struct slab *slab = calloc(1, sizeof *slab);
    if (slab == NULL) return NULL;
    slab->next = memory->slabs;
    memory->slabs = slab;
    for (unsigned i = SLAB_RECORDS; i > 0; i--) record_spare_locked(memory, &slab->records[i - 1]);
  }
  struct record *record = memory->spare;
  memory->spare = record->next_spare;
  return record;
}

static void chunk_lost(struct chunk *chunk, void *context) {
  struct record *record = record_of_chunk(chunk);
  record->chunk = (struct chunk){0};
  record_spare_locked(context, record);
}

/* A record with a chunk of `bytes`: from the cache, or new; the cache is emptied before giving up. */
static struct record *record_with_chunk_locked(struct memory *memory, size_t bytes, bool charge) {
  struct chunk *chunk = heap_reuse(&memory->heap, bytes);
  if (chunk != NULL) {
    record_of_chunk(chunk)->zero = false;
    return record_of_chunk(chunk);
  }
  const struct memory_statistics *statistics = &memory->statistics;
  if (charge && memory->heap.cached > statistics->limit - statistics->used - bytes)
    heap_trim(&memory->heap, chunk_lost, memory);
  struct record *record = record_take_locked(memory);
  if (record == NULL) return NULL;
  record->zero = true;
  if (heap_cut(&memory->heap, bytes, &record->chunk)) return record;
  heap_trim(&memory->heap, chunk_lost, memory);
  if (heap_cut(&memory->heap, bytes, &record->chunk)) return record;
  record_spare_locked(memory, record);
  return NULL;
}

hrx_status record_publish_locked(struct memory *memory, struct record *record, const struct allocation *allocation) {
  hrx_status status = address_map_insert(&memory->map, allocation->address, allocation->address + allocation->bytes,
                                         &record->allocation);
  if (status != HRX_OK) return status;
  memory->statistics.live++;
  memory->statistics.allocations++;
  atomic_fetch_add_explicit(&memory->generation, 1, memory_order_relaxed); /* a hint for caches: no data behind it */
  return HRX_OK;
}

void record_fill(struct record *record, uintptr_t address, size_t bytes, enum memory_kind kind, unsigned flags, int device) {
  record->allocation = (struct allocation){
      .address = address,
      .bytes = bytes,
      .kind = kind,
      .flags = flags,
      .access = MEMORY_READ | MEMORY_WRITE,
      .device = device,
      .serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1, /* only uniqueness matters */
      .storage = &record->storage,
  };
}

hrx_status memory_allocate(struct memory *memory, size_t bytes, size_t alignment, enum memory_kind kind, unsigned flags,
                           int device, struct allocation **out_allocation) {
  if (bytes == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "an allocation of 0 bytes");
  if (alignment < NATURAL_ALIGNMENT) alignment = NATURAL_ALIGNMENT;
  if ((alignment & (alignment - 1)) != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "alignment %zu is not a power of two", alignment);

  bool charge = kind == MEMORY_DEVICE || kind == MEMORY_MANAGED || kind == MEMORY_CODE;
  struct record *record = NULL;
  pthread_mutex_lock(&memory->lock);
  struct memory_statistics *statistics = &memory->statistics;
  uint64_t limit = statistics->limit, used = statistics->used;
  bool fits = bytes <= LARGEST && alignment <= LARGEST && (!charge || bytes <= limit - used);
  if (fits) {
    /* chunks of a page and more begin at a page; what asks for more is placed inside a larger chunk */
    size_t padding = alignment > (bytes >= 4096 ? 4096 : NATURAL_ALIGNMENT) ? alignment : 0;
    /* device memory has its pages for itself, so that they can be shared with another process */
    size_t room = kind == MEMORY_DEVICE && bytes < PAGE ? PAGE : bytes;
    record = record_with_chunk_locked(memory, room + padding, charge);
  }
  hrx_status status = HRX_OK;
  if (record != NULL) {
    uintptr_t address = (record->chunk.address + alignment - 1) & ~(uintptr_t)(alignment - 1);
    record_fill(record, address, bytes, kind, flags, device);
    status = record_publish_locked(memory, record, &record->allocation);
    if (status != HRX_OK) {
      heap_return(&memory->heap, &record->chunk);
    } else {
      record->charged = charge ? bytes : 0;
      statistics->used += record->charged;
      if (statistics->used > statistics->peak) statistics->peak = statistics->used;
    }
  }
  pthread_mutex_unlock(&memory->lock);

  if (!fits || record == NULL)
    return hrx_fail(HRX_OUT_OF_MEMORY, "%zu bytes do not fit: %" PRIu64 " of %" PRIu64 " bytes are used%s", bytes, used,
                    limit, fits ? ", and the system has no memory left" : "");
  if (status == HRX_OK) *out_allocation = &record->allocation;
  return status;
}

hrx_status memory_register(struct memory *memory, void *pointer, size_t bytes, unsigned flags, int device,
                           struct allocation **out_allocation) {
  uintptr_t address = (uintptr_t)pointer;
  if (pointer == NULL || bytes == 0 || bytes > UINTPTR_MAX - address)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "cannot register %zu bytes at %p", bytes, pointer);
  pthread_mutex_lock(&memory->lock);
  struct record *record = record_take_locked(memory);
  hrx_status status = HRX_OK;
  if (record == NULL) {
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to register %zu bytes at %p", bytes, pointer);
  } else {
    record_fill(record, address, bytes, MEMORY_REGISTERED, flags, device);
    record->charged = 0;
    status = record_publish_locked(memory, record, &record->allocation);
    if (status != HRX_OK) record_spare_locked(memory, record);
  }
  pthread_mutex_unlock(&memory->lock);
  if (status == HRX_OK) *out_allocation = &record->allocation;
  return status;
}

hrx_status memory_allocate_zeroed(struct memory *memory, size_t bytes, size_t alignment, enum memory_kind kind, unsigned flags,
                                  int device, struct allocation **out_allocation) {
  hrx_status status = memory_allocate(memory, bytes, alignment, kind, flags, device, out_allocation);
  if (status != HRX_OK) return status;
  const struct record *record = (const struct record *)((const char *)*out_allocation - offsetof(struct record, allocation));
  if (!record->zero) memset((void *)(*out_allocation)->address, 0, bytes);
  return HRX_OK;
}

void memory_free(struct memory *memory, struct allocation *allocation) {
  if (allocation == NULL) return;
  struct record *record = (struct record *)((char *)allocation - offsetof(struct record, allocation));
  pthread_mutex_lock(&memory->lock);
  if (address_map_remove(&memory->map, allocation->address)) {
    memory->statistics.used -= record->charged;
    memory->statistics.live--;
    memory->statistics.frees++;
    record->charged = 0;
    record->allocation.serial = 0; /* who kept the old one sees that it is gone */
    /* pages that could not be taken back from other processes stay out of use, and their record with them */
    bool usable = record->shared == NULL || shared_leave_locked(memory, record);
    if (usable && record->chunk.address != 0)
      heap_return(&memory->heap, &record->chunk);
    else if (usable)
      record_spare_locked(memory, record);
    atomic_fetch_add_explicit(&memory->generation, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&memory->lock);
}

void memory_access_set(struct memory *memory, struct allocation *allocation, unsigned access) {
  pthread_mutex_lock(&memory->lock);
  allocation->access = access;
  atomic_fetch_add_explicit(&memory->generation, 1, memory_order_relaxed);
  pthread_mutex_unlock(&memory->lock);
}

struct allocation *memory_find(const struct memory *memory, uintptr_t address) {
  return address_map_find(&memory->map, address);
}

struct allocation *memory_next(const struct memory *memory, const struct allocation *allocation) {
  if (allocation->kind != MEMORY_VIRTUAL) return NULL;
  struct allocation *next = memory_find(memory, allocation->address + allocation->bytes);
  return next != NULL && next->kind == MEMORY_VIRTUAL ? next : NULL;
}

struct allocation *memory_nearest(struct memory *memory, uintptr_t address) {
  pthread_mutex_lock(&memory->lock);
  struct allocation *allocation = address_map_nearest(&memory->map, address);
  pthread_mutex_unlock(&memory->lock);
  return allocation;
}

uint64_t memory_generation(const struct memory *memory) {
  return atomic_load_explicit(&memory->generation, memory_order_relaxed);
}

struct visitor {
  void (*visit)(const struct allocation *, void *context);
  void *context;
};

static void visit_one(void *owner, void *context) {
  const struct visitor *visitor = context;
  visitor->visit(owner, visitor->context);
}

void memory_visit(struct memory *memory, void (*visit)(const struct allocation *, void *context), void *context) {
  struct visitor visitor = {visit, context};
  pthread_mutex_lock(&memory->lock);
  address_map_visit(&memory->map, visit_one, &visitor);
  pthread_mutex_unlock(&memory->lock);
}

void memory_statistics(struct memory *memory, struct memory_statistics *out_statistics) {
  pthread_mutex_lock(&memory->lock);
  *out_statistics = memory->statistics;
  pthread_mutex_unlock(&memory->lock);
}

void memory_fork_prepare(struct memory *memory) { pthread_mutex_lock(&memory->lock); }
void memory_fork_done(struct memory *memory) { pthread_mutex_unlock(&memory->lock); }
