#include "gpu/domain.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clocktime.h"
#include "base/config.h"
#include "base/futex.h"
#include "base/log.h"
#include "gpu/domain_trace.h"
#include "gpu/soft/device.h"

static const uint64_t LOOK_AGAIN_NS = 5000000; /* how often the reaper looks at a domain that still works */

static struct domain *_Atomic shared;
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool forked; /* this process is the child of one that had a shared domain */

/* Every live domain, the shared one included, and those that wait for their end. */
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static struct domain *domains, *ending;
static bool reaper_runs;
static _Atomic uint32_t reaper_beat;

static void domain_fork_prepare(struct domain *domain) {
  engine_fork_prepare(domain->engine); /* holds the memory too */
  for (unsigned i = 0; i < domain->device_count; i++)
    if (domain->devices[i]->table->fork_prepare != NULL) domain->devices[i]->table->fork_prepare(domain->devices[i]);
  for (struct domain_member *member = domain->members; member != NULL; member = member->next) member->fork_prepare(member);
}

/* Members were added at the front: no order among them matters. */
static void domain_fork_done(struct domain *domain, bool child) {
  for (struct domain_member *member = domain->members; member != NULL; member = member->next) member->fork_done(member, child);
  for (unsigned i = domain->device_count; i-- > 0;)
    if (domain->devices[i]->table->fork_done != NULL) domain->devices[i]->table->fork_done(domain->devices[i], child);
  engine_fork_done(domain->engine, child);
}

/* What they hold goes with the process: nobody knows what their threads were at. */
static void lost_forget_locked(void) {
  for (struct domain **link = &domains; *link != NULL;)
    if (engine_forked((*link)->engine))
      *link = (*link)->next;
    else
      link = &(*link)->next;
  for (struct domain **link = &ending; *link != NULL;)
    if (engine_forked((*link)->engine))
      *link = (*link)->next_ending;
    else
      link = &(*link)->next_ending;
}

static void fork_prepare(void) {
  pthread_mutex_lock(&creating);
  pthread_mutex_lock(&listing);
  for (struct domain *domain = domains; domain != NULL; domain = domain->next) domain_fork_prepare(domain);
}

static void fork_done(bool child) {
  for (struct domain *domain = domains; domain != NULL; domain = domain->next) domain_fork_done(domain, child);
  if (child) {
    lost_forget_locked();
    reaper_runs = false;
    if (atomic_load(&shared) != NULL) atomic_store(&forked, true);
  }
  pthread_mutex_unlock(&listing);
  pthread_mutex_unlock(&creating);
}

static void fork_parent(void) { fork_done(false); }
static void fork_child(void) { fork_done(true); }

static hrx_status fork_handlers_register(void) {
  static bool registered; /* guarded by `listing`; a retried creation must not register twice */
  pthread_mutex_lock(&listing);
  if (!registered) registered = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
  bool done = registered;
  pthread_mutex_unlock(&listing);
  return done ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the functions that fork calls");
}

static void domain_discard(struct domain *domain) {
  if (domain == NULL) return;
  engine_release(domain->engine);
  for (struct domain_member *member = domain->members, *next; member != NULL; member = next) {
    next = member->next;
    member->release(member);
  }
  for (unsigned i = 0; i < domain->device_count; i++) gpu_device_release(domain->devices[i]);
  memory_release(domain->memory);
  free(domain);
}

static void domain_list(struct domain *domain) {
  pthread_mutex_lock(&listing);
  domain->next = domains;
  domains = domain;
  pthread_mutex_unlock(&listing);
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

static hrx_status domain_make(bool devices, struct domain **out_domain) {
  const struct config *config = config_get();
  struct domain *domain = calloc(1, sizeof *domain);
  hrx_status status = domain != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the domain");
  if (status == HRX_OK) status = fork_handlers_register();
  if (status == HRX_OK) status = memory_create(config->soft_memory, &domain->memory);
  if (status == HRX_OK) status = engine_create(&(struct engine_options){.memory = domain->memory}, &domain->engine);
  if (status == HRX_OK && devices) status = devices_create(domain, config);
  if (status != HRX_OK) {
    domain_discard(domain);
    return status;
  }
  domain_list(domain);
  *out_domain = domain;
  return HRX_OK;
}

/* Takes one that has nothing left to do out of both lists. It stays listed until then, so that a fork finds it. */
static struct domain *ended_take_locked(void) {
  for (struct domain **link = &ending; *link != NULL; link = &(*link)->next_ending) {
    struct domain *domain = *link;
    if (!engine_idle(domain->engine)) continue;
    *link = domain->next_ending;
    struct domain **listed = &domains;
    while (*listed != domain) listed = &(*listed)->next;
    *listed = domain->next;
    return domain;
  }
  return NULL;
}

/* One thread ends all domains: whoever lets go of the last reference may be a thread that the end would have to wait for. */
static void *reap(void *unused) {
  for (;;) {
    uint32_t beat = atomic_load(&reaper_beat);
    pthread_mutex_lock(&listing);
    struct domain *domain = ended_take_locked();
    bool more = ending != NULL;
    pthread_mutex_unlock(&listing);
    if (domain != NULL)
      domain_discard(domain);
    else
      futex_wait(&reaper_beat, beat, more ? time_after(time_now_ns(), LOOK_AGAIN_NS) : UINT64_MAX);
  }
  return unused;
}

static hrx_status reaper_start(void) {
  pthread_t thread;
  sigset_t all, before;
  pthread_mutex_lock(&listing);
  if (!reaper_runs) {
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reaper_runs = pthread_create(&thread, NULL, reap, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (reaper_runs) pthread_detach(thread);
  }
  bool runs = reaper_runs;
  pthread_mutex_unlock(&listing);
  return runs ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no thread to end domains on");
}

hrx_status domain_create(struct domain **out_domain) {
  hrx_status status = reaper_start();
  return status == HRX_OK ? domain_make(false, out_domain) : status;
}

void domain_release(struct domain *domain) {
  if (domain == NULL || engine_forked(domain->engine)) return;
  reaper_start(); /* there already, but in a child of the process that made the domain */
  pthread_mutex_lock(&listing);
  domain->next_ending = ending;
  ending = domain;
  pthread_mutex_unlock(&listing);
  atomic_fetch_add(&reaper_beat, 1);
  futex_wake(&reaper_beat, 1);
}

hrx_status domain_device_add(struct domain *domain, struct gpu_device *device) {
  pthread_mutex_lock(&listing);
  bool room = domain->device_count < DOMAIN_DEVICE_MAX;
  if (room) domain->devices[domain->device_count++] = device;
  pthread_mutex_unlock(&listing);
  return room ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "a domain has at most %d GPUs", DOMAIN_DEVICE_MAX);
}

void domain_member_add(struct domain *domain, struct domain_member *member) {
  pthread_mutex_lock(&listing);
  member->next = domain->members;
  domain->members = member;
  pthread_mutex_unlock(&listing);
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
    status = domain_make(true, &domain);
    if (status == HRX_OK) domain_trace_start(domain->engine);
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
