/* The list of entry points as data: for coverage reports and for reading programs' imports. No state, any thread. */
#ifndef HRX_INTERPOSE_ENTRYPOINTS_H
#define HRX_INTERPOSE_ENTRYPOINTS_H

/* Rows of entrypoints.def. */
unsigned entry_count(void);

/* Name of row `index` (below entry_count()): "hipMalloc". */
const char *entry_name(unsigned index);

/* "handled", "hint", "refused" or "forwarded". */
const char *entry_policy_name(unsigned index);

/* "memory", "graph", ... */
const char *entry_group(unsigned index);

/* Version node in HIP `major` (5, 6, 7): "hip_4.2"; "-" if that version does not export the name. */
const char *entry_node(unsigned index, int major);

/* The row that exports `symbol`, C++ aliases included, or -1. Linear. */
int entry_find(const char *symbol);

#endif
