/* Memory for large arrays that come and go together: kept when it is returned, for whoever asks next.
 *
 * malloc gives the pages of large arrays back to the system when they are freed, and gets them zeroed when they are needed again,
 * which costs more than preparing a graph in them does. Up to 32 MiB are kept for the process, in sizes a quarter of a power of
 * two apart; blocks from 2 MiB on have huge pages where the system has some. Small ones (up to 4 KiB) are malloc's. Any thread; takes no
 * lock, so that a child of fork can go on using it. */
#ifndef HRX_BASE_BLOCK_H
#define HRX_BASE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* `count` items, all zero. NULL: out of memory. A count of 0 is a block too. */
void *block_take(size_t count, size_t item_bytes);

/* The same, with anything in it. */
void *block_take_unset(size_t count, size_t item_bytes);

/* Room for at least `wanted` items, `count` of which are there; what is new may hold anything. Starts with NULL and capacity 0; grows
 * to twice as much at least. False: out of memory, nothing changed. */
bool block_grow(void **io_items, size_t count, size_t *io_capacity, size_t wanted, size_t item_bytes);

void block_return(void *payload); /* NULL is accepted */

#endif
