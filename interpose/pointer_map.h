/* A map from pointers to pointers that is read on every launch and written while binaries register.
 *
 * Lookups take no lock. Tables that were outgrown are kept, because a lookup may still be in one. */
#ifndef HRX_INTERPOSE_POINTER_MAP_H
#define HRX_INTERPOSE_POINTER_MAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/status.h"

struct pointer_table;

struct pointer_map {
  pthread_mutex_t lock;
  struct pointer_table *_Atomic table;
  size_t used; /* slots taken, ended ones included */
  size_t live;
};

#define POINTER_MAP_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

/* Maps `key` (not NULL) to `value`; a key that is there already gets the new value. Errors: OUT_OF_MEMORY. */
hrx_status pointer_map_set(struct pointer_map *map, const void *key, void *value);

/* The value, or NULL. O(1). */
void *pointer_map_get(struct pointer_map *map, const void *key);

/* Takes the key out and returns its value, or NULL. */
void *pointer_map_take(struct pointer_map *map, const void *key);

#endif
