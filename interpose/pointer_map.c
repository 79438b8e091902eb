#include "interpose/pointer_map.h"

#include <stdint.h>
#include <stdlib.h>

struct slot {
  _Atomic uintptr_t key; /* 0: never used; SLOT_ENDED: taken out */
  void *_Atomic value;
};

struct pointer_table {
  size_t mask;
  struct slot slots[];
};

#define SLOT_ENDED ((uintptr_t)1)

static size_t hash(uintptr_t key) { return (size_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20); }

static struct slot *find(struct pointer_table *table, uintptr_t key) {
  for (size_t at = hash(key); table != NULL; at++) {
    struct slot *slot = &table->slots[at & table->mask];
    uintptr_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
    if (found == key) return slot;
    if (found == 0) return NULL;
  }
  return NULL;
}

/* Ended slots are not used again: a lookup between its two loads must not see another key's value. */
static void insert(struct pointer_table *table, uintptr_t key, void *value) {
  size_t at = hash(key);
  while (atomic_load_explicit(&table->slots[at & table->mask].key, memory_order_relaxed) != 0) at++;
  struct slot *slot = &table->slots[at & table->mask];
  atomic_store_explicit(&slot->value, value, memory_order_relaxed);
  atomic_store_explicit(&slot->key, key, memory_order_release);
}

static hrx_status grow_locked(struct pointer_map *map) {
  struct pointer_table *old = atomic_load_explicit(&map->table, memory_order_relaxed);
  size_t slots = 64;
  while (slots < map->live * 4) slots *= 2;
  struct pointer_table *table = calloc(1, sizeof *table + slots * sizeof(struct slot));
  if (table == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a map of %zu pointers", slots);
  table->mask = slots - 1;
  for (size_t i = 0; old != NULL && i <= old->mask; i++) {
    uintptr_t key = atomic_load_explicit(&old->slots[i].key, memory_order_relaxed);
    if (key > SLOT_ENDED) insert(table, key, atomic_load_explicit(&old->slots[i].value, memory_order_relaxed));
  }
  map->used = map->live;
  atomic_store_explicit(&map->table, table, memory_order_release);
  return HRX_OK;
}

hrx_status pointer_map_set(struct pointer_map *map, const void *key, void *value) {
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&map->lock);
  struct pointer_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
  struct slot *slot = find(table, (uintptr_t)key);
  if (slot != NULL) {
    atomic_store_explicit(&slot->value, value, memory_order_release);
  } else {
    if (table == NULL || map->used * 2 >= table->mask) status = grow_locked(map);
    if (status == HRX_OK) {
      insert(atomic_load_explicit(&map->table, memory_order_relaxed), (uintptr_t)key, value);
      map->used++;
      map->live++;
    }
  }
  pthread_mutex_unlock(&map->lock);
  return status;
}

void *pointer_map_get(struct pointer_map *map, const void *key) {
  if ((uintptr_t)key <= SLOT_ENDED) return NULL;
  struct slot *slot = find(atomic_load_explicit(&map->table, memory_order_acquire), (uintptr_t)key);
  return slot != NULL ? atomic_load_explicit(&slot->value, memory_order_acquire) : NULL;
}

void *pointer_map_take(struct pointer_map *map, const void *key) {
  if ((uintptr_t)key <= SLOT_ENDED) return NULL;
  pthread_mutex_lock(&map->lock);
  struct slot *slot = find(atomic_load_explicit(&map->table, memory_order_relaxed), (uintptr_t)key);
  void *value = NULL;
  if (slot != NULL) {
    value = atomic_load_explicit(&slot->value, memory_order_relaxed);
    atomic_store_explicit(&slot->key, SLOT_ENDED, memory_order_release);
    map->live--;
  }
  pthread_mutex_unlock(&map->lock);
  return value;
}
