/* What the HIP layer offers native runtimes: it registers itself when the library is loaded. */
#ifndef HRX_NATIVE_HIP_INTEROP_H
#define HRX_NATIVE_HIP_INTEROP_H

#include "base/status.h"

struct stream;

/* A queue of HIP's. `join` is called before each submission to it, `submitted` after each: stream 0 and the blocking streams order each
 * other. */
struct foreign_queue {
  struct stream *queue;
  void *owner;
  hrx_status (*join)(void *owner);
  void (*submitted)(void *owner);
};

struct hip_interop {
  /* Errors: INVALID/HANDLE for what is no live stream; those of starting HIP. */
  hrx_status (*queue_find)(void *hip_stream, struct foreign_queue *out_queue);
};

/* `interop` is constant and stays. */
void hip_interop_register(const struct hip_interop *interop);

#endif
