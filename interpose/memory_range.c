/* Advice about where memory should live, and what was advised. All of it lives in one place here, so advice changes nothing but
 * what is reported: it is kept for byte ranges until their memory is freed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/stream.h"
#include "interpose/virtual.h"

enum { CPU = hipCpuDeviceId, NOWHERE = -2 /* hipInvalidDeviceId */, CPU_BIT = 31 };
enum { ATTRIBUTE_COHERENCY = 100, COHERENCY_FINE = 0, COHERENCY_COARSE = 1, COHERENCY_MIXED = 2 };

struct advice {
  bool read_mostly, coarse;
  int preferred, prefetched;  /* a device, CPU or NOWHERE */
  uint32_t accessed_by;       /* bit n: device n; CPU_BIT */
};

/* A range with advice; disjoint, in address order. */
struct piece {
  uintptr_t begin, end;
  uint64_t serial; /* of its allocation: advice does not outlive that */
  struct advice advice;
};

static const struct advice none = {.preferred = NOWHERE, .prefetched = NOWHERE};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static size_t piece_count, piece_capacity;

/* The memory around [pointer, pointer + count). */
static hipError_t range_find(const void *pointer, size_t count, const struct allocation **out_allocation) {
  struct hip_state *state = NULL;
  if (pointer == NULL || count == 0) return hipErrorInvalidValue;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  const struct allocation *allocation = memory_find(state->domain->memory, (uintptr_t)pointer);
  if (allocation == NULL || count > allocation->bytes - ((uintptr_t)pointer - allocation->address)) return hipErrorInvalidValue;
  *out_allocation = allocation;
  return hipSuccess;
}

/* The device number that advice is about. Errors: hipErrorInvalidDevice, hipErrorInvalidValue for no location. */
static hipError_t location_number(hipMemLocation location, int *out_number) {
  switch ((int)location.type) {
  case LOCATION_DEVICE: *out_number = location.id; break;
  case LOCATION_HOST:
  case LOCATION_HOST_NODE:
  case LOCATION_HOST_NODE_CURRENT: *out_number = CPU; break;
  default: return hipErrorInvalidValue;
  }
  return location_exists(&location) ? hipSuccess
         : (int)location.type == LOCATION_DEVICE ? hipErrorInvalidDevice
                                                 : hipErrorInvalidValue;
}

static hipMemLocation location_of(int device) {
  return (hipMemLocation){(hipMemLocationType)(device == CPU ? LOCATION_HOST : LOCATION_DEVICE), device};
}

static void piece_remove_locked(size_t index) {
  memmove(&pieces[index], &pieces[index + 1], (piece_count - index - 1) * sizeof *pieces);
  piece_count--;
}

static void piece_insert_locked(size_t index, struct piece piece) {
  memmove(&pieces[index + 1], &pieces[index], (piece_count - index) * sizeof *pieces);
  pieces[index] = piece;
  piece_count++;
}

/* Room for what one piece of advice can add: a split at either end and a gap between any two. */
static bool pieces_reserve_locked(void) {
  size_t needed = 2 * piece_count + 4;
  if (needed <= piece_capacity) return true;
  struct piece *grown = realloc(pieces, 2 * needed * sizeof *grown);
  if (grown == NULL) return false;
  pieces = grown;
  piece_capacity = 2 * needed;
  return true;
}

/* What is left of freed memory in the range goes. */
static void pieces_forget_locked(uintptr_t begin, uintptr_t end, uint64_t serial) {
  for (size_t i = piece_count; i > 0; i--)
    if (pieces[i - 1].begin < end && begin < pieces[i - 1].end && pieces[i - 1].serial != serial) piece_remove_locked(i - 1);
}

static void split_locked(uintptr_t at) {
  for (size_t i = 0; i < piece_count; i++) {
    if (at <= pieces[i].begin || at >= pieces[i].end) continue;
    struct piece behind = pieces[i];
    pieces[i].end = behind.begin = at;
    piece_insert_locked(i + 1, behind);
    return;
  }
}

/* Makes [begin, end) whole pieces; the first is `*out_first`. */
static bool pieces_cover_locked(uintptr_t begin, uintptr_t end, uint64_t serial, size_t *out_first) {
  pieces_forget_locked(begin, end, serial);
  if (!pieces_reserve_locked()) return false;
  split_locked(begin);
  split_locked(end);
  size_t at = 0;
  while (at < piece_count && pieces[at].end <= begin) at++;
  *out_first = at;
  for (uintptr_t next = begin; next < end; at++) {
    uintptr_t until = at < piece_count && pieces[at].begin < end ? pieces[at].begin : end;
    if (until > next) piece_insert_locked(at, (struct piece){next, until, serial, none});
    next = pieces[at].end;
  }
  return true;
}

static uint32_t bit_of(int device) { return UINT32_C(1) << (device == CPU ? (int)CPU_BIT : device); }

static void advise(struct advice *advice, hipMemoryAdvise what, int device) {
  switch (what) {
  case hipMemAdviseSetReadMostly: advice->read_mostly = true; break;
  case hipMemAdviseUnsetReadMostly: advice->read_mostly = false; break;
  case hipMemAdviseSetPreferredLocation: advice->preferred = device; break;
  case hipMemAdviseUnsetPreferredLocation: advice->preferred = NOWHERE; break;
  case hipMemAdviseSetAccessedBy: advice->accessed_by |= bit_of(device); break;
  case hipMemAdviseUnsetAccessedBy: advice->accessed_by &= ~bit_of(device); break;
  case hipMemAdviseSetCoarseGrain: advice->coarse = true; break;
  case hipMemAdviseUnsetCoarseGrain: advice->coarse = false; break;
  }
}

static bool advice_known(hipMemoryAdvise what) {
  return (what >= hipMemAdviseSetReadMostly && what <= hipMemAdviseUnsetAccessedBy) || what == hipMemAdviseSetCoarseGrain ||
         what == hipMemAdviseUnsetCoarseGrain;
}

static hipError_t advise_range(const void *pointer, size_t count, hipMemoryAdvise what, hipMemLocation location) {
  const struct allocation *allocation = NULL;
  int device = CPU;
  size_t first = 0;
  if (pointer == NULL || count == 0 || !advice_known(what)) return hipErrorInvalidValue;
  bool anywhere = what == hipMemAdviseSetReadMostly || what == hipMemAdviseUnsetReadMostly;
  hipError_t error = location_number(location, &device);
  if (error == hipErrorInvalidDevice && anywhere) error = hipSuccess;
  if (error == hipSuccess) error = range_find(pointer, count, &allocation);
  if (error != hipSuccess) return error;
  uintptr_t begin = (uintptr_t)pointer, end = begin + count;
  pthread_mutex_lock(&lock);
  bool covered = pieces_cover_locked(begin, end, allocation->serial, &first);
  for (size_t i = first; covered && i < piece_count && pieces[i].begin < end; i++) advise(&pieces[i].advice, what, device);
  pthread_mutex_unlock(&lock);
  return covered ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t entry_hipMemAdvise(const void *pointer, size_t count, hipMemoryAdvise advice, int device) {
  ENTRY_RETURN(hipMemAdvise, advise_range(pointer, count, advice, location_of(device)));
}

hipError_t entry_hipMemAdvise_v2(const void *pointer, size_t count, hipMemoryAdvise advice, hipMemLocation location) {
  ENTRY_RETURN(hipMemAdvise_v2, advise_range(pointer, count, advice, location));
}

static hipError_t prefetched_note(const void *pointer, size_t count, const struct allocation *allocation, int device) {
  uintptr_t begin = (uintptr_t)pointer, end = begin + count;
  size_t first = 0;
  pthread_mutex_lock(&lock);
  bool covered = pieces_cover_locked(begin, end, allocation->serial, &first);
  for (size_t i = first; covered && i < piece_count && pieces[i].begin < end; i++) pieces[i].advice.prefetched = device;
  pthread_mutex_unlock(&lock);
  return covered ? hipSuccess : hipErrorOutOfMemory;
}

static hipError_t prefetch(const void *pointer, size_t count, hipMemLocation location, hipStream_t handle) {
  const struct allocation *allocation = NULL;
  struct ihipStream_t *stream = NULL;
  int device = CPU;
  if (pointer == NULL || count == 0) return hipErrorInvalidValue;
  hipError_t error = location_number(location, &device);
  if (error == hipSuccess) error = range_find(pointer, count, &allocation);
  if (error == hipSuccess) error = hip_stream_find(handle, &stream);
  return error == hipSuccess ? prefetched_note(pointer, count, allocation, device) : error;
}

hipError_t entry_hipMemPrefetchAsync(const void *pointer, size_t count, int device, hipStream_t stream) {
  ENTRY_RETURN(hipMemPrefetchAsync, prefetch(pointer, count, location_of(device), stream));
}

hipError_t entry_hipMemPrefetchAsync_v2(const void *pointer, size_t count, hipMemLocation location, unsigned flags, hipStream_t stream) {
  ENTRY_RETURN(hipMemPrefetchAsync_v2, flags == 0 ? prefetch(pointer, count, location, stream) : hipErrorInvalidValue);
}

/* Location i is for the ranges from `starts[i]` up to the next start. */
static bool starts_valid(const size_t *starts, size_t locations, size_t count) {
  if (locations == 0 || locations > count || starts[0] != 0) return false;
  for (size_t i = 1; i < locations; i++)
    if (starts[i] >= count || starts[i] <= starts[i - 1]) return false;
  return true;
}

static hipError_t prefetch_batch(void **pointers, const size_t *sizes, size_t count, const hipMemLocation *locations,
                                 const size_t *starts, size_t location_count, hipStream_t handle) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(handle, &stream);
  for (int round = 0; error == hipSuccess && round < 2; round++) { /* all are checked before any is noted */
    size_t which = 0;
    for (size_t i = 0; error == hipSuccess && i < count; i++) {
      const struct allocation *allocation = NULL;
      int device = CPU;
      while (which + 1 < location_count && i >= starts[which + 1]) which++;
      if (location_number(locations[which], &device) != hipSuccess) return hipErrorInvalidValue;
      error = range_find(pointers[i], sizes[i], &allocation);
      if (error == hipSuccess && round == 1) error = prefetched_note(pointers[i], sizes[i], allocation, device);
    }
  }
  return error;
}

hipError_t entry_hipMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, hipMemLocation *locations, size_t *starts,
                                          size_t location_count, unsigned long long flags, hipStream_t stream) {
  if (pointers == NULL || sizes == NULL || locations == NULL || starts == NULL || count == 0 || flags != 0 || stream == NULL ||
      !starts_valid(starts, location_count, count))
    ENTRY_RETURN(hipMemPrefetchBatchAsync, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemPrefetchBatchAsync, prefetch_batch(pointers, sizes, count, locations, starts, location_count, stream));
}

/* What holds for all of a range. */
struct common {
  struct advice advice;
  bool coarse_everywhere, coarse_anywhere, any;
};

static void common_add(struct common *common, const struct advice *advice) {
  if (!common->any) {
    *common = (struct common){*advice, advice->coarse, advice->coarse, true};
    return;
  }
  common->advice.read_mostly = common->advice.read_mostly && advice->read_mostly;
  if (common->advice.preferred != advice->preferred) common->advice.preferred = NOWHERE;
  if (common->advice.prefetched != advice->prefetched) common->advice.prefetched = NOWHERE;
  common->advice.accessed_by &= advice->accessed_by;
  common->coarse_everywhere = common->coarse_everywhere && advice->coarse;
  common->coarse_anywhere = common->coarse_anywhere || advice->coarse;
}

static struct common common_of(uintptr_t begin, uintptr_t end, uint64_t serial) {
  struct common common = {0};
  uintptr_t next = begin;
  pthread_mutex_lock(&lock);
  pieces_forget_locked(begin, end, serial);
  for (size_t i = 0; i < piece_count && pieces[i].begin < end; i++) {
    if (pieces[i].end <= begin) continue;
    if (pieces[i].begin > next) common_add(&common, &none);
    common_add(&common, &pieces[i].advice);
    next = pieces[i].end;
  }
  pthread_mutex_unlock(&lock);
  if (next < end) common_add(&common, &none);
  return common;
}

static bool attribute_fits(int which, size_t bytes) {
  if (which == hipMemRangeAttributeAccessedBy) return bytes != 0 && bytes % sizeof(int) == 0;
  return bytes == sizeof(int) && ((which >= hipMemRangeAttributeReadMostly && which <= hipMemRangeAttributeLastPrefetchLocation) ||
                                  which == ATTRIBUTE_COHERENCY);
}

static void attribute_write(const struct common *common, int which, void *data, size_t bytes) {
  int value = 0, *devices = data;
  switch (which) {
  case hipMemRangeAttributeReadMostly: value = common->advice.read_mostly; break;
  case hipMemRangeAttributePreferredLocation: value = common->advice.preferred; break;
  case hipMemRangeAttributeLastPrefetchLocation: value = common->advice.prefetched; break;
  case ATTRIBUTE_COHERENCY:
    value = common->coarse_everywhere ? COHERENCY_COARSE : common->coarse_anywhere ? COHERENCY_MIXED : COHERENCY_FINE;
    break;
  case hipMemRangeAttributeAccessedBy: {
    size_t room = bytes / sizeof(int), used = 0;
    for (int device = 0; device <= CPU_BIT && used < room; device++)
      if ((common->advice.accessed_by >> device & 1) != 0) devices[used++] = device == CPU_BIT ? CPU : device;
    while (used < room) devices[used++] = NOWHERE;
    return;
  }
  }
  memcpy(data, &value, sizeof value);
}

static hipError_t attributes_of(void **data, const size_t *sizes, const hipMemRangeAttribute *which, size_t attributes, const void *pointer,
                                size_t count) {
  const struct allocation *allocation = NULL;
  for (size_t i = 0; i < attributes; i++)
    if (data[i] == NULL || !attribute_fits((int)which[i], sizes[i])) return hipErrorInvalidValue;
  hipError_t error = range_find(pointer, count, &allocation);
  if (error == hipSuccess && allocation->kind != MEMORY_MANAGED && allocation->kind != MEMORY_HOST) error = hipErrorInvalidValue;
  if (error != hipSuccess) return error;
  struct common common = common_of((uintptr_t)pointer, (uintptr_t)pointer + count, allocation->serial);
  for (size_t i = 0; i < attributes; i++) attribute_write(&common, (int)which[i], data[i], sizes[i]);
  return hipSuccess;
}

hipError_t entry_hipMemRangeGetAttribute(void *data, size_t size, hipMemRangeAttribute which, const void *pointer, size_t count) {
  ENTRY_RETURN(hipMemRangeGetAttribute, attributes_of(&data, &size, &which, 1, pointer, count));
}

hipError_t entry_hipMemRangeGetAttributes(void **data, size_t *sizes, hipMemRangeAttribute *which, size_t attributes, const void *pointer,
                                          size_t count) {
  if (data == NULL || sizes == NULL || which == NULL || attributes == 0) ENTRY_RETURN(hipMemRangeGetAttributes, hipErrorInvalidValue);
  ENTRY_RETURN(hipMemRangeGetAttributes, attributes_of(data, sizes, which, attributes, pointer, count));
}
