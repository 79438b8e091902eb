#include "gpu/domain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/config.h"
#include "base/log.h"
#include "gpu/domain_trace.h"
#include "gpu/soft/device.h"

static struct domain *_Atomic shared;
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool forked; /* this process is the child of one that had a domain */

static void fork_prepare(void) {
  pthread_mutex_lock(&creating);
  struct domain *domain = atomic_load(&shared);
  if (domain == NULL) return;
  engine_fork_prepare(domain->engine); /* holds the memory too */
  for (unsigned i = 0; i < domain->device_count; i++)
    if (domain->devices[i]->table->fork_prepare != NULL) domain->devices[i]->table->fork_prepare(domain->devices[i]);
}

static void fork_done(bool child) {
  struct domain *domain = atomic_load(&shared);
  if (domain != NULL) {
    for (unsigned i = domain->device_count; i-- > 0;)
      if (domain->devices[i]->table->fork_done != NULL) domain->devices[i]->table->fork_done(domain->devices[i], child);
    engine_fork_done(domain->engine, child);
    if (child) atomic_store(&forked, true);
  }
  pthread_mutex_unlock(&creating);
}

static void fork_parent(void) { fork_done(false); }
static void fork_child(void) { fork_done(true); }

static void domain_discard(struct domain *domain) {
  if (domain == NULL) return;
  engine_release(domain->engine);
  for (unsigned i = 0; i < domain->device_count; i++) gpu_device_release(domain->devices[i]);
  memory_release(domain->memory);
  free(domain);
}

static hrx_status devices_create(struct domain *domain, const struct config *config) {
  hrx_status status = HRX_OK;
  for (unsigned i = 0; status == HRX_OK && i < config->soft_devices && i < DOMAIN_DEVICE_MAX; i++) {
    status = soft_device_create(domain->memory, config->soft_arch, &domain->devices[i]);
    if (status == HRX_OK) domain->device_count++;
    /* what a device is made from comes from the environment */
    if (status == HRX_UNSUPPORTED || status == HRX_INVALID)
      hrx_fail_reason(status, HRX_REASON_TARGET, "%s: %s", status == HRX_INVALID ? "HRX_SOFT_LEVEL" : "HRX_SOFT_ARCH",
                      hrx_last_message());
  }
  return status;
}

static hrx_status domain_create(struct domain **out_domain) {
  const struct config *config = config_get();
  struct domain *domain = calloc(1, sizeof *domain);
  hrx_status status = domain != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the domain");
  if (status == HRX_OK) status = memory_create(config->soft_memory, &domain->memory);
  if (status == HRX_OK) status = engine_create(&(struct engine_options){.memory = domain->memory}, &domain->engine);
  if (status == HRX_OK) status = devices_create(domain, config);
  if (status != HRX_OK) {
    domain_discard(domain);
    return status;
  }
  domain_trace_start(domain->engine);
  *out_domain = domain;
  return HRX_OK;
}

struct domain *domain_existing(void) {
  /* acquire: who sees the pointer sees what it points to; `forked` is only ever set in a process with one thread */
  struct domain *domain = atomic_load_explicit(&shared, memory_order_acquire);
  return atomic_load_explicit(&forked, memory_order_relaxed) ? NULL : domain;
}

hrx_status domain_shared(struct domain **out_domain) {
  struct domain *domain = domain_existing();
  if (domain != NULL) {
    *out_domain = domain;
    return HRX_OK;
  }
  if (atomic_load_explicit(&forked, memory_order_relaxed))
    return hrx_fail(HRX_DEVICE_LOST, "this process was forked from one that had already used the GPU; start the GPU's work "
                                     "after the fork, or exec a new program");
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&creating);
  domain = atomic_load_explicit(&shared, memory_order_relaxed);
  if (domain == NULL) {
    static bool handlers; /* guarded by `creating`; a retried creation must not register twice */
    if (!handlers) handlers = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
    status = domain_create(&domain);
    if (status == HRX_OK) atomic_store_explicit(&shared, domain, memory_order_release);
  }
  pthread_mutex_unlock(&creating);
  if (status == HRX_OK) *out_domain = domain;
  return status;
}

/* HRX_TRACE and HRX_STATS. Not atexit: that would come before destructors of the program, which still free and wait. */
__attribute__((destructor)) static void trace_write(void) {
  const struct domain *domain = domain_existing();
  if (domain != NULL) domain_trace_write(domain->engine);
}

__attribute__((destructor)) static void summary_write(void) {
  const struct domain *domain = domain_existing();
  if (domain == NULL || !config_get()->statistics) return;
  struct engine_statistics engine;
  struct memory_statistics memory;
  engine_statistics(domain->engine, &engine);
  memory_statistics(domain->memory, &memory);
  /* asked for, so it is written whatever HRX_LOG says */
  log_line(LOG_ERROR,
           "statistics: %llu tasks (%llu failed, %llu skipped) with %llu waits between them; %llu kernels; %llu bytes copied, "
           "%llu filled",
           (unsigned long long)engine.tasks, (unsigned long long)engine.failed, (unsigned long long)engine.skipped,
           (unsigned long long)engine.edges, (unsigned long long)engine.dispatches, (unsigned long long)engine.copied_bytes,
           (unsigned long long)engine.filled_bytes);
  log_line(LOG_ERROR,
           "statistics: %llu allocations, hrx's own among them, %llu still live; at most %llu bytes of device memory at once, the limit is "
           "%llu",
           (unsigned long long)memory.allocations, (unsigned long long)memory.live, (unsigned long long)memory.peak,
           (unsigned long long)memory.limit);
}
