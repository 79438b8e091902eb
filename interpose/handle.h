/* The registry of live handles: tells a stream, an event or a module that a program hands in from garbage.
 *
 * Handles are pointers; none is dereferenced before it was found here. Lookups take no lock; a program that uses a handle
 * while another thread destroys it gets what it gets from the real runtime. */
#ifndef HRX_INTERPOSE_HANDLE_H
#define HRX_INTERPOSE_HANDLE_H

#include <stdbool.h>

#include "base/status.h"

enum handle_kind {
  HANDLE_STREAM = 1,
  HANDLE_EVENT,
  HANDLE_GRAPH,
  HANDLE_GRAPH_NODE,
  HANDLE_GRAPH_EXEC,
  HANDLE_MODULE,
  HANDLE_FUNCTION,
  HANDLE_ARRAY,
  HANDLE_TEXTURE,
  HANDLE_CONTEXT,
  HANDLE_POOL,
  HANDLE_PHYSICAL, /* hipMemCreate */
  HANDLE_MIPMAP,
  HANDLE_MIPMAP_LEVEL, /* an array too, but not one to free */
  HANDLE_PROGRAM, /* hiprtc */
  HANDLE_LIBRARY,
  HANDLE_LINK,
  HANDLE_BINARY   /* what __hipRegisterFatBinary returned */
};

/* Makes `object` a live handle. Takes the registry's lock. Errors: OUT_OF_MEMORY. */
hrx_status handle_add(const void *object, enum handle_kind kind);

/* Ends it. True for exactly one caller: that one destroys the object. */
bool handle_remove(const void *object, enum handle_kind kind);

/* Whether `object` is a live handle of that kind; NULL is none. O(1), lock-free. */
bool handle_live(const void *object, enum handle_kind kind);

#endif
