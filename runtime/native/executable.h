/* What is behind executables and completions; for the files of this folder and for tests. */
#ifndef HRX_NATIVE_EXECUTABLE_H
#define HRX_NATIVE_EXECUTABLE_H

#include "native/record.h"

/* Lives until its last handle, its last run and its last completion are gone: it is the client of its graph. */
struct hrx_executable {
  _Atomic uint32_t references; /* handles */
  struct hrx_runtime *runtime; /* counted */
  struct graph *graph;
  pthread_mutex_t lock; /* what later runs are made of: views and constants in `list` */
  struct record_list list;
  _Atomic uint32_t pool_lock; /* held for a few instructions */
  struct hrx_completion *pool;
};

struct hrx_completion {
  _Atomic uint32_t references;
  struct hrx_executable *executable; /* held by `run` */
  struct run *run;                   /* a reference */
  struct hrx_completion *next;       /* in the pool */
};

/* Copies a structure to a caller that may know an older version of it. Both begin with their size. */
hrx_status structure_copy(const void *structure, size_t size, void *io_structure, const char *name);

#endif
