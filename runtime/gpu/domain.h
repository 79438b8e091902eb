/* The shared domain of the process: one memory, one engine, the GPU devices. HIP calls and native code meet in it.
 *
 * Made at the first question, never destroyed: calls arrive before main and after exit handlers have begun. With HRX_STATS=1
 * the log gets a summary of it when the process ends, with HRX_TRACE a file gets what ran. */
#ifndef HRX_GPU_DOMAIN_H
#define HRX_GPU_DOMAIN_H

#include "base/status.h"
#include "engine/engine.h"
#include "gpu/gpu.h"
#include "memory/memory.h"

enum { DOMAIN_DEVICE_MAX = 16 };

struct domain {
  struct memory *memory;
  struct engine *engine;
  struct gpu_device *devices[DOMAIN_DEVICE_MAX];
  unsigned device_count; /* HRX_SOFT_DEVICES; may be 0 */
};

/* The shared domain, created by whoever asks first; the others wait for it. Two loads once it exists. A failed creation is
 * tried again by the next call. In a child forked after the creation: DEVICE_LOST, because threads and
 * running work do not survive a fork. Errors: OUT_OF_MEMORY; UNSUPPORTED/TARGET for an
 * unknown HRX_SOFT_ARCH, INVALID/TARGET for a HRX_SOFT_LEVEL that this CPU cannot run. */
hrx_status domain_shared(struct domain **out_domain);

/* The shared domain if it exists and belongs to this process, else NULL. Never creates it. */
struct domain *domain_existing(void);

#endif
