#include "memory/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/record.h"

enum { PAGE = 4096, CONVERT_ROUNDS = 8 };

struct shared {
  int descriptor;
  dev_t device;
  ino_t inode;
  size_t bytes;
  uint64_t charged;
  bool charge;
  unsigned references; /* views and owners */
  struct storage *storage;
  struct record *record; /* whose storage it is; NULL: an allocation's, which was converted */
  struct shared *next, *previous;
};

struct reservation {
  uintptr_t address;
  size_t bytes, views;
};

static size_t pages_of(size_t bytes) { return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1); }

static struct record *record_of(const struct allocation *allocation) {
  return (struct record *)(uintptr_t)((const char *)allocation - offsetof(struct record, allocation));
}

static hrx_status charge_locked(struct memory *memory, struct shared *shared, size_t bytes) {
  struct memory_statistics *statistics = &memory->statistics;
  if (!shared->charge) return HRX_OK;
  if (bytes > statistics->limit - statistics->used)
    return hrx_fail(HRX_OUT_OF_MEMORY, "%zu bytes do not fit: %" PRIu64 " of %" PRIu64 " bytes are used", bytes, statistics->used,
                    statistics->limit);
  statistics->used += bytes;
  if (statistics->used > statistics->peak) statistics->peak = statistics->used;
  shared->charged += bytes;
  return HRX_OK;
}

static void uncharge_locked(struct memory *memory, struct shared *shared, size_t bytes) {
  if (bytes > shared->charged) bytes = shared->charged;
  memory->statistics.used -= bytes;
  shared->charged -= bytes;
}

static void list_add_locked(struct memory *memory, struct shared *shared) {
  shared->next = memory->shared;
  if (shared->next != NULL) shared->next->previous = shared;
  memory->shared = shared;
}

static void release_locked(struct memory *memory, struct shared *shared) {
  if (--shared->references != 0) return;
  if (shared->previous != NULL)
    shared->previous->next = shared->next;
  else
    memory->shared = shared->next;
  if (shared->next != NULL) shared->next->previous = shared->previous;
  uncharge_locked(memory, shared, shared->charged);
  if (shared->record != NULL) record_spare_locked(memory, shared->record);
  close(shared->descriptor);
  free(shared);
}

void shared_release(struct memory *memory, struct shared *shared) {
  if (shared == NULL) return;
  pthread_mutex_lock(&memory->lock);
  release_locked(memory, shared);
  pthread_mutex_unlock(&memory->lock);
}

/* A file that can grow but never shrink. */
static hrx_status file_make(size_t bytes, int *out_descriptor) {
  int descriptor = memfd_create("hrx", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor >= 0 && bytes <= INT64_MAX && ftruncate(descriptor, (off_t)bytes) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    *out_descriptor = descriptor;
    return HRX_OK;
  }
  hrx_status status = hrx_fail(HRX_OUT_OF_MEMORY, "%zu bytes that processes can share: %s", bytes, strerror(errno));
  if (descriptor >= 0) close(descriptor);
  return status;
}

/* Takes the descriptor, on an error too. */
static hrx_status object_make(int descriptor, struct shared **out_shared) {
  struct stat file;
  struct shared *shared = fstat(descriptor, &file) == 0 ? calloc(1, sizeof *shared) : NULL;
  if (shared == NULL) {
    close(descriptor);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for shared bytes");
  }
  *shared = (struct shared){
    .descriptor = descriptor, .device = file.st_dev, .inode = file.st_ino, .bytes = (size_t)file.st_size, .references = 1};
  *out_shared = shared;
  return HRX_OK;
}

static hrx_status storage_give_locked(struct memory *memory, struct shared *shared) {
  shared->record = record_take_locked(memory);
  if (shared->record == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for shared bytes");
  shared->storage = &shared->record->storage;
  return HRX_OK;
}

hrx_status shared_create(struct memory *memory, size_t bytes, bool charge, struct shared **out_shared) {
  int descriptor = -1;
  struct shared *shared = NULL;
  if (bytes % PAGE != 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%zu bytes are no whole pages", bytes);
  hrx_status status = file_make(bytes, &descriptor);
  if (status == HRX_OK) status = object_make(descriptor, &shared);
  if (status != HRX_OK) return status;
  shared->charge = charge;
  pthread_mutex_lock(&memory->lock);
  status = charge_locked(memory, shared, bytes);
  if (status == HRX_OK) status = storage_give_locked(memory, shared);
  if (status == HRX_OK)
    list_add_locked(memory, shared);
  else
    uncharge_locked(memory, shared, shared->charged);
  pthread_mutex_unlock(&memory->lock);
  if (status != HRX_OK) {
    close(shared->descriptor);
    free(shared);
    return status;
  }
  *out_shared = shared;
  return HRX_OK;
}

static struct shared *find_locked(struct memory *memory, const struct stat *file) {
  struct shared *shared = memory->shared;
  while (shared != NULL && (shared->device != file->st_dev || shared->inode != file->st_ino)) shared = shared->next;
  return shared;
}

hrx_status shared_open(struct memory *memory, int descriptor, struct shared **out_shared) {
  struct stat file;
  int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &file) != 0 || file.st_size % PAGE != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "descriptor %d is not of memory that hrx shares", descriptor);
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&memory->lock);
  struct shared *shared = find_locked(memory, &file);
  if (shared != NULL) {
    shared->references++;
    if ((size_t)file.st_size > shared->bytes) shared->bytes = (size_t)file.st_size;
    /* a converted allocation may be freed under a second view of it */
    if (shared->record == NULL) {
      release_locked(memory, shared);
      status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "descriptor %d is of this process's own allocation", descriptor);
    }
  } else {
    int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    status = own >= 0 ? object_make(own, &shared) : hrx_fail(HRX_OUT_OF_MEMORY, "no descriptor for shared bytes");
    if (status == HRX_OK) status = storage_give_locked(memory, shared);
    if (status == HRX_OK) {
      list_add_locked(memory, shared);
    } else if (shared != NULL) {
      close(shared->descriptor);
      free(shared);
    }
  }
  pthread_mutex_unlock(&memory->lock);
  if (status == HRX_OK) *out_shared = shared;
  return status;
}

static bool file_write(int descriptor, const char *bytes, size_t count) {
  for (size_t at = 0; at < count;) {
    ssize_t written = pwrite(descriptor, bytes + at, count - at, (off_t)at);
    if (written <= 0 && errno != EINTR) return false;
    if (written > 0) at += (size_t)written;
  }
  return true;
}

/* The swap itself: the same addresses show the file from now on. */
static hrx_status convert_locked(struct memory *memory, struct record *record, uint64_t serial, struct shared *shared) {
  struct allocation *allocation = &record->allocation;
  if (allocation->serial != serial || record->shared != NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the memory was freed or shared by another thread meanwhile");
  if (mmap((void *)allocation->address, pages_of(allocation->bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, shared->descriptor,
           0) == MAP_FAILED)
    return hrx_fail(HRX_OUT_OF_MEMORY, "cannot map %zu shared bytes: %s", allocation->bytes, strerror(errno));
  shared->storage = &record->storage;
  shared->references++; /* the allocation's own */
  list_add_locked(memory, shared);
  record->shared = shared;
  allocation->shared = true;
  return HRX_OK;
}

hrx_status shared_convert(struct memory *memory, struct allocation *allocation, bool (*quiet)(void *context), void *context,
                          struct shared **out_shared) {
  struct record *record = record_of(allocation);
  uint64_t serial = allocation->serial;
  pthread_mutex_lock(&memory->lock);
  struct shared *shared = record->shared;
  if (shared != NULL) shared->references++;
  pthread_mutex_unlock(&memory->lock);
  if (shared != NULL) {
    *out_shared = shared;
    return HRX_OK;
  }
  if (allocation->kind != MEMORY_DEVICE || record->chunk.address == 0 || allocation->address % PAGE != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the memory at %#zx has no pages for itself", allocation->address);

  int descriptor = -1;
  hrx_status status = file_make(pages_of(allocation->bytes), &descriptor);
  if (status == HRX_OK) status = object_make(descriptor, &shared);
  if (status != HRX_OK) return status;
  bool settled = false;
  quiet(context);
  for (unsigned round = 0; status == HRX_OK && !settled && round < CONVERT_ROUNDS; round++) {
    if (!file_write(descriptor, (const char *)allocation->address, allocation->bytes))
      status = hrx_fail(HRX_OUT_OF_MEMORY, "cannot fill %zu shared bytes: %s", allocation->bytes, strerror(errno));
    settled = status == HRX_OK && quiet(context);
  }
  if (status == HRX_OK) {
    pthread_mutex_lock(&memory->lock);
    status = convert_locked(memory, record, serial, shared);
    pthread_mutex_unlock(&memory->lock);
  }
  if (status != HRX_OK) {
    close(descriptor);
    free(shared);
    return status;
  }
  *out_shared = shared;
  return HRX_OK;
}

bool shared_leave_locked(struct memory *memory, struct record *record) {
  struct shared *shared = record->shared;
  struct allocation *allocation = &record->allocation;
  record->shared = NULL;
  bool left = true;
  if (record->chunk.address != 0) {
    left = mmap((void *)allocation->address, pages_of(allocation->bytes), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  } else if (record->reserved) {
    struct reservation *reservation = address_map_find(&memory->reservations, allocation->address);
    mmap((void *)allocation->address, pages_of(allocation->bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    reservation->views--;
    record->reserved = false;
  } else {
    munmap((void *)record->mapping, record->mapping_bytes);
    record->mapping = 0;
  }
  release_locked(memory, shared);
  return left;
}

static hrx_status place_locked(struct memory *memory, struct record *record, uintptr_t address, size_t bytes, uintptr_t *out_address) {
  if (address != 0) {
    struct reservation *reservation = address_map_find(&memory->reservations, address);
    if (reservation == NULL || address % PAGE != 0 || bytes % PAGE != 0 ||
        bytes > reservation->bytes - (address - reservation->address))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%zu bytes at %#zx are not whole pages of a reserved range", bytes, address);
    record->reserved = true;
    *out_address = address;
    return HRX_OK;
  }
  record->mapping_bytes = pages_of(bytes) + (size_t)2 * PAGE;
  void *place = mmap(NULL, record->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return hrx_fail(HRX_OUT_OF_MEMORY, "no addresses for %zu bytes", bytes);
  record->mapping = (uintptr_t)place;
  *out_address = record->mapping + PAGE;
  return HRX_OK;
}

static void place_undo(struct record *record) {
  if (record->mapping != 0) munmap((void *)record->mapping, record->mapping_bytes);
  record->mapping = 0;
  record->reserved = false;
}

static hrx_status map_locked(struct memory *memory, struct shared *shared, size_t offset, uintptr_t wanted, struct record *record,
                             const struct allocation *template) {
  uintptr_t address = 0;
  hrx_status status = place_locked(memory, record, wanted, template->bytes, &address);
  if (status == HRX_OK) {
    record_fill(record, address, template->bytes, template->kind, 0, template->device);
    record->allocation.access = template->access;
    record->allocation.storage = shared->storage;
    record->allocation.storage_offset = offset;
    record->allocation.shared = template->kind == MEMORY_IMPORTED;
    record->charged = 0;
    /* published first: whoever else is mapped there is found before anything is mapped over it */
    status = record_publish_locked(memory, record, &record->allocation);
  }
  if (status == HRX_OK && mmap((void *)address, pages_of(template->bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                               shared->descriptor, (off_t)offset) == MAP_FAILED) {
    status = hrx_fail(HRX_OUT_OF_MEMORY, "cannot map %zu shared bytes: %s", template->bytes, strerror(errno));
    address_map_remove(&memory->map, address);
    record->allocation.serial = 0;
    memory->statistics.live--;
    memory->statistics.frees++;
  }
  if (status != HRX_OK) {
    place_undo(record);
    return status;
  }
  if (record->reserved) ((struct reservation *)address_map_find(&memory->reservations, address))->views++;
  shared->references++;
  record->shared = shared;
  return HRX_OK;
}

hrx_status shared_map(struct memory *memory, struct shared *shared, size_t offset, size_t bytes, uintptr_t address, enum memory_kind kind,
                      unsigned access, int device, struct allocation **out_allocation) {
  const struct allocation template = {.bytes = bytes, .kind = kind, .access = access, .device = device};
  pthread_mutex_lock(&memory->lock);
  hrx_status status = HRX_OK;
  struct record *record = NULL;
  if (bytes == 0 || offset % PAGE != 0 || offset > shared->bytes || bytes > shared->bytes - offset)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%zu bytes at %zu of %zu shared bytes", bytes, offset, shared->bytes);
  if (status == HRX_OK && (record = record_take_locked(memory)) == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to map %zu bytes", bytes);
  if (status == HRX_OK) {
    status = map_locked(memory, shared, offset, address, record, &template);
    if (status != HRX_OK) record_spare_locked(memory, record);
  }
  pthread_mutex_unlock(&memory->lock);
  if (status == HRX_OK) *out_allocation = &record->allocation;
  return status;
}

struct shared *shared_of(const struct allocation *allocation) { return record_of(allocation)->shared; }
int shared_descriptor(const struct shared *shared) { return shared->descriptor; }
size_t shared_bytes(const struct shared *shared) { return shared->bytes; }
struct storage *shared_storage(const struct shared *shared) { return shared->storage; }

hrx_status shared_grow(struct memory *memory, struct shared *shared, size_t bytes) {
  pthread_mutex_lock(&memory->lock);
  hrx_status status = charge_locked(memory, shared, bytes);
  if (status == HRX_OK && ftruncate(shared->descriptor, (off_t)(shared->bytes + bytes)) != 0) {
    uncharge_locked(memory, shared, bytes);
    status = hrx_fail(HRX_OUT_OF_MEMORY, "%zu more bytes that processes can share: %s", bytes, strerror(errno));
  }
  if (status == HRX_OK) shared->bytes += bytes;
  pthread_mutex_unlock(&memory->lock);
  return status;
}

void shared_discard(struct memory *memory, struct shared *shared, size_t offset, size_t bytes) {
  fallocate(shared->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
  pthread_mutex_lock(&memory->lock);
  uncharge_locked(memory, shared, bytes);
  pthread_mutex_unlock(&memory->lock);
}

/* Addresses that nobody uses, at a multiple of `alignment`. */
static void *range_find(size_t bytes, size_t alignment, uintptr_t wanted) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (wanted != 0 && wanted % alignment == 0) {
    void *place = mmap((void *)wanted, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == (void *)wanted) return place;
    if (place != MAP_FAILED) munmap(place, bytes); /* a kernel that does not know the flag */
  }
  size_t span = alignment > PAGE ? bytes + alignment : bytes;
  char *place = span >= bytes ? mmap(NULL, span, PROT_NONE, flags, -1, 0) : MAP_FAILED;
  if (place == MAP_FAILED) return NULL;
  char *aligned = (char *)(((uintptr_t)place + alignment - 1) & ~(uintptr_t)(alignment - 1));
  if (aligned != place) munmap(place, (size_t)(aligned - place));
  if (aligned + bytes != place + span) munmap(aligned + bytes, (size_t)(place + span - aligned) - bytes);
  return aligned;
}

hrx_status memory_reserve(struct memory *memory, size_t bytes, size_t alignment, uintptr_t wanted, uintptr_t *out_address) {
  if (bytes == 0 || bytes % PAGE != 0 || (alignment & (alignment - 1)) != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "cannot reserve %zu bytes at a multiple of %zu", bytes, alignment);
  struct reservation *reservation = calloc(1, sizeof *reservation);
  void *place = reservation != NULL ? range_find(bytes, alignment > PAGE ? alignment : PAGE, wanted) : NULL;
  hrx_status status =
    place != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no %zu bytes of addresses at a multiple of %zu", bytes, alignment);
  if (status == HRX_OK) {
    *reservation = (struct reservation){(uintptr_t)place, bytes, 0};
    pthread_mutex_lock(&memory->lock);
    status = address_map_insert(&memory->reservations, reservation->address, reservation->address + bytes, reservation);
    pthread_mutex_unlock(&memory->lock);
    if (status != HRX_OK) munmap(place, bytes);
  }
  if (status != HRX_OK) {
    free(reservation);
    return status;
  }
  *out_address = reservation->address;
  return HRX_OK;
}

hrx_status memory_unreserve(struct memory *memory, uintptr_t address) {
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&memory->lock);
  struct reservation *reservation = address_map_find(&memory->reservations, address);
  if (reservation == NULL || reservation->address != address)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "no reserved range begins at %#zx", address);
  else if (reservation->views != 0)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_LIVE, "the reserved range at %#zx still shows memory", address);
  if (status == HRX_OK) {
    address_map_remove(&memory->reservations, address);
    munmap((void *)address, reservation->bytes);
    free(reservation);
  }
  pthread_mutex_unlock(&memory->lock);
  return status;
}

static void view_finish(void *owner, void *context) {
  struct record *record = (struct record *)((char *)owner - offsetof(struct record, allocation));
  if (record->shared != NULL) shared_leave_locked(context, record);
}

static void reservation_finish(void *owner, void *context) {
  (void)context;
  struct reservation *reservation = owner;
  munmap((void *)reservation->address, reservation->bytes);
  free(reservation);
}

void shared_finish(struct memory *memory) {
  address_map_visit(&memory->map, view_finish, memory);
  address_map_visit(&memory->reservations, reservation_finish, NULL);
  address_map_finish(&memory->reservations);
  while (memory->shared != NULL) { /* what somebody still owns */
    memory->shared->references = 1;
    release_locked(memory, memory->shared);
  }
}
