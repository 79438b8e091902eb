/* Bytes that more than one address range shows, here or in another process: memfds and the views of them.
 *
 * A file of hrx cannot shrink (it is sealed), so a view never faults, whatever the other process does. Two views of the same bytes
 * have one storage: the engine orders work on either. Views are allocations, freed by memory_free. */
#ifndef HRX_MEMORY_SHARED_H
#define HRX_MEMORY_SHARED_H

#include "memory/memory.h"

struct shared;

/* Makes `bytes` (a multiple of the page size) zero bytes, charged against the limit if `charge`. The caller owns one reference.
 * Errors: OUT_OF_MEMORY, INVALID/ARGUMENT. */
hrx_status shared_create(struct memory *memory, size_t bytes, bool charge, struct shared **out_shared);

/* The bytes behind a descriptor that hrx made, in this process or another. The descriptor stays the caller's. A file that is already open
 * here gives the same object, so that its views share one storage. Not charged: who made it has paid. Errors: INVALID/ARGUMENT
 * for a descriptor of anything else. */
hrx_status shared_open(struct memory *memory, int descriptor, struct shared **out_shared);

/* Turns an allocation's own bytes into shared ones; its address and contents stay. MEMORY_DEVICE only. `quiet` is asked before the bytes
 * are copied and again after it: it waits for all work and returns whether none was submitted since it was last asked; if some was, they
 * are copied again, a few times. The caller owns one reference. A second call gives the same object. Errors: OUT_OF_MEMORY. */
hrx_status shared_convert(struct memory *memory, struct allocation *allocation, bool (*quiet)(void *context), void *context,
                          struct shared **out_shared);

/* Gives a reference back. The bytes live for as long as a view, here or elsewhere, shows them. NULL is accepted. */
void shared_release(struct memory *memory, struct shared *shared);

/* Shows [offset, offset + bytes) at `address`, which lies in a reserved range, or anywhere if 0. Whole pages, but for the end of
 * `bytes` with address 0. Kernels may do what `access` says. Errors: OUT_OF_MEMORY; INVALID/RANGE for bytes beyond the end or an address
 * that is not reserved; INVALID/LIVE for one that shows something already. */
hrx_status shared_map(struct memory *memory, struct shared *shared, size_t offset, size_t bytes, uintptr_t address, enum memory_kind kind,
                      unsigned access, int device, struct allocation **out_allocation);

/* What a view shows, or what an allocation was converted to; NULL for other allocations. Valid while the allocation lives. */
struct shared *shared_of(const struct allocation *allocation);

/* Plain facts. The descriptor stays the object's. */
int shared_descriptor(const struct shared *shared);
size_t shared_bytes(const struct shared *shared);
struct storage *shared_storage(const struct shared *shared);

/* Adds `bytes` at the end, and gives the pages of a range back, which then reads as zeros: for files that are carved into pieces.
 * Growing is charged if creating was. Errors: OUT_OF_MEMORY. */
hrx_status shared_grow(struct memory *memory, struct shared *shared, size_t bytes);
void shared_discard(struct memory *memory, struct shared *shared, size_t offset, size_t bytes);

/* Reserves `bytes` of addresses that show nothing, at a multiple of `alignment`, at `wanted` if that is free (0: anywhere).
 * Errors: OUT_OF_MEMORY. */
hrx_status memory_reserve(struct memory *memory, size_t bytes, size_t alignment, uintptr_t wanted, uintptr_t *out_address);

/* Gives a reservation back, by its first address. Errors: INVALID/ARGUMENT if none begins there; INVALID/LIVE while a view is in it. */
hrx_status memory_unreserve(struct memory *memory, uintptr_t address);

#endif
