/* The table that the exported names jump through: one slot a row of entrypoints.def.
 *
 * The soft handlers are in it from the start. With HRX_GPU=hip, or auto and a device found, real.c overwrites every slot
 * with the real library's function before main. Exported by libhrx.so (node HRX_PRIVATE) for libhrx_interpose.so alone. */
#ifndef HRX_INTERPOSE_TABLE_H
#define HRX_INTERPOSE_TABLE_H

#include "interpose/entry.h"

extern void *hrx_hip_entries[ENTRY_COUNT] __attribute__((visibility("default")));

#endif
