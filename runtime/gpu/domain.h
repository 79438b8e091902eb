/* Domains: a memory, an engine and the devices that work for them.
 *
 * The shared domain is the process's: HIP calls and native code meet in it. It is made at the first question and never
 * destroyed, because calls arrive before main and after exit handlers have begun. Its GPUs are there from the start. With HRX_STATS=1 the log
 * gets a summary of it when the process ends. Private domains are made and released by native runtimes; their devices are
 * opened when they are needed.
 *
 * All live domains are prepared for fork(2). A child can use none of those that existed: their threads did not survive. */
#ifndef HRX_GPU_DOMAIN_H
#define HRX_GPU_DOMAIN_H

#include "base/status.h"
#include "engine/engine.h"
#include "gpu/gpu.h"
#include "memory/memory.h"

enum { DOMAIN_DEVICE_MAX = 16 };

/* A device of a kind that this file does not know (an NPU), as part of a domain. Allocated by who adds it; `release` frees it too. */
struct domain_member {
  void (*fork_prepare)(struct domain_member *);
  void (*fork_done)(struct domain_member *, bool child);
  void (*release)(struct domain_member *); /* nothing runs any more, the memory is still there */
  struct domain_member *next;
};

struct domain {
  struct memory *memory;
  struct engine *engine;
  struct gpu_device *devices[DOMAIN_DEVICE_MAX];
  unsigned device_count; /* of the shared domain: HRX_SOFT_DEVICES; may be 0 */
  struct domain_member *members;
  struct domain *next, *next_ending; /* of all that live; of those among them that end */
};

/* The shared domain, created by whoever asks first; the others wait for it. Two loads once it exists. A failed creation is
 * tried again by the next call. In a child forked after the creation: DEVICE_LOST, because threads and
 * running work do not survive a fork. Errors: OUT_OF_MEMORY; UNSUPPORTED/TARGET for an
 * unknown HRX_SOFT_ARCH, INVALID/TARGET for a HRX_SOFT_LEVEL that this CPU cannot run. */
hrx_status domain_shared(struct domain **out_domain);

/* The shared domain if it exists and belongs to this process, else NULL. Never creates it. */
struct domain *domain_existing(void);

/* A domain of its own without devices, with as much memory as the shared one may use. Starts one thread for the process, which
 * ends domains. Errors: OUT_OF_MEMORY. */
hrx_status domain_create(struct domain **out_domain);

/* Ends a private domain on that thread once nothing of it runs any more: this may be called from anywhere, threads of
 * the domain's engine and devices included. In a child that forked from its process nothing happens. NULL is accepted. */
void domain_release(struct domain *domain);

/* Gives the domain a GPU, which is released with it. Errors: OUT_OF_MEMORY for one too many; the device is the caller's then. */
hrx_status domain_device_add(struct domain *domain, struct gpu_device *device);

/* Gives it another device. Cannot fail. */
void domain_member_add(struct domain *domain, struct domain_member *member);

#endif
