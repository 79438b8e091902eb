/* What hrx does with each HIP, hiprtc and roctx function: the rows of interpose/entrypoints.def as data. */
#ifndef HRX_TOOL_POLICY_H
#define HRX_TOOL_POLICY_H

#include <stdbool.h>
#include <stddef.h>

enum policy { POLICY_HANDLE, POLICY_HINT, POLICY_REFUSE, POLICY_FORWARD, POLICY_UNKNOWN, POLICY_COUNT };

struct policy_row {
  const char *name;    /* of the symbol */
  const char *node[3]; /* version node in ROCm 5, 6 and 7; "-" if it is not exported there */
  enum policy policy;
  const char *group;
};

/* All rows. */
const struct policy_row *policy_rows(size_t *out_count);

/* The row of a symbol, or NULL. Linear in the table. */
const struct policy_row *policy_find(const char *symbol);

/* "handled", "hint", "refused", "forwarded", "unknown". */
const char *policy_name(enum policy policy);

/* Whether an undefined symbol of this name that is in no row looks like one of the HIP runtime's ("hipNewThing", but
 * not "hipblasCreate", which is another library's). */
bool policy_looks_hip(const char *symbol);

#endif
