#include "interpose/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* Open addressing; a slot holds pointer and kind in one word: pointers have 48 bits here and are 8-aligned. */
struct table {
  size_t mask; /* slots - 1 */
  _Atomic uint64_t slots[];
};

#define SLOT_ENDED UINT64_C(1) /* was used: lookups go on past it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *_Atomic current;
static size_t live, ended;

static uint64_t slot_of(const void *object, enum handle_kind kind) {
  return (uint64_t)(uintptr_t)object << 16 >> 8 | (uint64_t)kind;
}

static size_t hash(uint64_t slot) {
  slot ^= slot >> 31;
  slot *= UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(slot >> 20);
}

static _Atomic uint64_t *find(struct table *table, uint64_t slot) {
  for (size_t at = hash(slot);; at++) {
    _Atomic uint64_t *place = &table->slots[at & table->mask];
    uint64_t value = atomic_load_explicit(place, memory_order_acquire);
    if (value == slot) return place;
    if (value == 0) return NULL;
  }
}

static void insert(struct table *table, uint64_t slot) {
  size_t at = hash(slot);
  while (atomic_load_explicit(&table->slots[at & table->mask], memory_order_relaxed) > SLOT_ENDED) at++;
  atomic_store_explicit(&table->slots[at & table->mask], slot, memory_order_release);
}

/* Old tables are kept: a lookup may still walk one. They halve in size going back, so that costs at most one more table. */
static hrx_status grow_locked(void) {
  struct table *old = atomic_load_explicit(&current, memory_order_relaxed);
  size_t slots = old != NULL ? old->mask + 1 : 256;
  if (old != NULL && live * 4 >= slots) slots *= 2;
  struct table *table = calloc(1, sizeof *table + slots * sizeof(uint64_t));
  if (table == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu handles", slots);
  table->mask = slots - 1;
  for (size_t i = 0; old != NULL && i <= old->mask; i++) {
    uint64_t slot = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
    if (slot > SLOT_ENDED) insert(table, slot);
  }
  ended = 0;
  atomic_store_explicit(&current, table, memory_order_release);
  return HRX_OK;
}

hrx_status handle_add(const void *object, enum handle_kind kind) {
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&lock);
  struct table *table = atomic_load_explicit(&current, memory_order_relaxed);
  if (table == NULL || (live + ended + 1) * 2 > table->mask) status = grow_locked();
  if (status == HRX_OK) {
    insert(atomic_load_explicit(&current, memory_order_relaxed), slot_of(object, kind));
    live++;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

bool handle_remove(const void *object, enum handle_kind kind) {
  if (object == NULL) return false;
  pthread_mutex_lock(&lock);
  struct table *table = atomic_load_explicit(&current, memory_order_relaxed);
  _Atomic uint64_t *place = table != NULL ? find(table, slot_of(object, kind)) : NULL;
  if (place != NULL) {
    atomic_store_explicit(place, SLOT_ENDED, memory_order_release);
    live--;
    ended++;
  }
  pthread_mutex_unlock(&lock);
  return place != NULL;
}

bool handle_live(const void *object, enum handle_kind kind) {
  if (object == NULL) return false;
  struct table *table = atomic_load_explicit(&current, memory_order_acquire);
  return table != NULL && find(table, slot_of(object, kind)) != NULL;
}
