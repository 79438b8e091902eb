/* What the files of this folder share: a domain's memory and the record of one allocation. Nobody outside includes it.
 *
 * Everything here but `generation` and the map's readers is under the memory's lock. */
#ifndef HRX_MEMORY_RECORD_H
#define HRX_MEMORY_RECORD_H

#include <pthread.h>
#include <stdatomic.h>

#include "memory/address_map.h"
#include "memory/heap.h"
#include "memory/memory.h"
#include "memory/storage.h"

enum { SLAB_RECORDS = 64 };

/* One allocation and what is behind it. While the allocation is free, the record stays with its chunk in the heap's
 * list, or, with no chunk, in `spare`. */
struct record {
  struct allocation allocation;
  struct storage storage;
  struct chunk chunk; /* address 0: registered memory, a view of shared bytes, or none */
  uint64_t charged;
  bool zero;             /* its pages were never handed out before */
  bool reserved;         /* a view inside a reserved range */
  struct shared *shared; /* what it is a view of; with a chunk: what its own bytes were turned into */
  uintptr_t mapping;     /* a view outside reserved ranges: its mapping, guard pages included */
  size_t mapping_bytes;
  struct record *next_spare;
};

struct slab {
  struct slab *next;
  struct record records[SLAB_RECORDS];
};

struct memory {
  pthread_mutex_t lock;
  struct address_map map;
  struct address_map reservations; /* owners: struct reservation, shared.c */
  struct heap heap;
  struct slab *slabs;
  struct record *spare;
  struct shared *shared; /* all of them */
  struct memory_statistics statistics;
  _Atomic uint64_t generation;
};

/* A record with no chunk, or NULL if the system has no memory; back to the spare ones. */
struct record *record_take_locked(struct memory *memory);
void record_spare_locked(struct memory *memory, struct record *record);

/* Makes the record's allocation a new one of its own storage. Publishes nothing. */
void record_fill(struct record *record, uintptr_t address, size_t bytes, enum memory_kind kind, unsigned flags, int device);

/* Puts the allocation into the address map. Errors: those of address_map_insert. */
hrx_status record_publish_locked(struct memory *memory, struct record *record, const struct allocation *allocation);

/* A freed allocation lets go of its shared bytes. False if its own pages, which others may still see, could not be replaced: then the
 * record must not be used again. */
bool shared_leave_locked(struct memory *memory, struct record *record);

/* memory_release: unmaps every view and reservation. */
void shared_finish(struct memory *memory);

#endif
