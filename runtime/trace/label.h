/* Copies of names, one of each: whoever gave the name may take it back before the trace is written.
 *
 * Bounded: beyond LABELS_MOST different names or LABEL_BYTES_MOST bytes of them, a name becomes one common substitute. A name
 * that is known costs a hash and a comparison; a new one may allocate. Not thread-safe by itself. */
#ifndef HRX_TRACE_LABEL_H
#define HRX_TRACE_LABEL_H

#include <stddef.h>
#include <stdint.h>

enum {
  LABELS_MOST = 8192,
  LABEL_SLOTS = 2 * LABELS_MOST, /* a power of two; at most half full, so that a search ends soon */
  LABEL_LENGTH_MOST = 16384,     /* of one name; the rest is cut off */
  LABEL_BYTES_MOST = 16 << 20
};

struct label_chunk;

/* Zero-initialised is empty. */
struct label_table {
  struct {
    uint64_t hash;
    const char *text;
  } slots[LABEL_SLOTS];
  size_t count, bytes; /* names, and what their chunks take */
  struct label_chunk *chunks;
};

/* The table's copy of `label`, valid until label_table_finish. NULL is taken as "". Never NULL. */
const char *label_intern(struct label_table *table, const char *label);

void label_table_finish(struct label_table *table);

#endif
