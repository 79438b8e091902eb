/* Runtimes: their options, their life, and the devices that they open. */
#include "native/objects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/config.h"
#include "gpu/soft/device.h"
#include "npu/soft/device.h"

enum { SUBMISSIONS_DEFAULT = 64, SLOTS_DEFAULT = 2, LANES_DEFAULT = 4, SUBMISSIONS_MOST = 1 << 20, SLOTS_MOST = 1024, LANES_MOST_ASKED = 64 };

static struct hrx_runtime *_Atomic shared;
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;

static hrx_status field_check(const char *field, uint64_t value, uint64_t most) {
  if (value <= most) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime option %s is %llu, at most %llu is possible", field,
                         (unsigned long long)value, (unsigned long long)most);
}

/* Fields that the caller's version of the structure does not have keep their defaults. */
static hrx_status options_read(const struct hrx_runtime_options *given, struct hrx_runtime_options *out_options) {
  struct hrx_runtime_options options = {.size = sizeof options};
  if (given != NULL) {
    if (given->size < sizeof given->size || given->size > sizeof options)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime option size is %zu, this library knows %zu bytes of options",
                             given->size, sizeof options);
    memcpy(&options, given, given->size);
  }
  hrx_status status = field_check("gpu_index", options.gpu_index, DOMAIN_DEVICE_MAX - 1);
  if (status == HRX_OK) status = field_check("max_submissions", options.max_submissions, SUBMISSIONS_MOST);
  if (status == HRX_OK) status = field_check("graph_slots", options.graph_slots, SLOTS_MOST);
  if (status == HRX_OK) status = field_check("compute_lanes", options.compute_lanes, LANES_MOST_ASKED);
  if (status == HRX_OK) status = field_check("order", options.order, HRX_ORDER_SUBMISSION);
  if (status == HRX_OK) status = field_check("gpu", options.gpu, HRX_GPU_SOFT);
  if (status == HRX_OK) status = field_check("npu", options.npu, HRX_NPU_SOFT);
  if (status != HRX_OK) return status;
  options.size = sizeof options;
  if (options.max_submissions == 0) options.max_submissions = SUBMISSIONS_DEFAULT;
  if (options.graph_slots == 0) options.graph_slots = SLOTS_DEFAULT;
  if (options.compute_lanes == 0) options.compute_lanes = LANES_DEFAULT;
  *out_options = options;
  return HRX_OK;
}

/* `domain` NULL: one of its own. */
static hrx_status runtime_make(const struct hrx_runtime_options *options, struct domain *domain, struct hrx_runtime **out_runtime) {
  struct hrx_runtime *runtime = calloc(1, sizeof *runtime);
  hrx_status status = runtime != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a runtime");
  if (status == HRX_OK) status = options_read(options, &runtime->options);
  if (status == HRX_OK && domain == NULL) status = domain_create(&domain);
  if (status != HRX_OK) {
    free(runtime);
    return status;
  }
  runtime->references = 1;
  runtime->domain = domain;
  runtime->capacity.most = runtime->options.max_submissions;
  pthread_mutex_init(&runtime->opening, NULL);
  for (unsigned i = 0; i < RUNTIME_NPUS; i++) runtime->npus[i] = (struct hrx_npu){.runtime = runtime, .index = i};
  retirement_init(runtime);
  *out_runtime = runtime;
  return HRX_OK;
}

hrx_status hrx_runtime_create(const hrx_runtime_options *options, hrx_runtime **out_runtime) {
  if (out_runtime == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "out_runtime is NULL");
  return runtime_make(options, NULL, out_runtime);
}

hrx_status hrx_runtime_shared(hrx_runtime **out_runtime) {
  if (out_runtime == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "out_runtime is NULL");
  struct domain *domain = NULL;
  hrx_status status = domain_shared(&domain); /* first: in a forked child it says so, and takes no lock */
  if (status != HRX_OK) return status;
  pthread_mutex_lock(&sharing);
  struct hrx_runtime *runtime = atomic_load(&shared);
  if (runtime == NULL) {
    status = runtime_make(NULL, domain, &runtime); /* its first reference is the process's */
    if (status == HRX_OK) {
      runtime->shared = true;
      atomic_store(&shared, runtime);
    }
  }
  pthread_mutex_unlock(&sharing);
  if (status == HRX_OK) *out_runtime = hrx_runtime_retain(runtime);
  return status;
}

hrx_runtime *hrx_runtime_retain(hrx_runtime *runtime) {
  /* relaxed: whoever retains has a reference already */
  if (runtime != NULL) atomic_fetch_add_explicit(&runtime->references, 1, memory_order_relaxed);
  return runtime;
}

void hrx_runtime_release(hrx_runtime *runtime) {
  if (runtime == NULL || atomic_fetch_sub(&runtime->references, 1) != 1) return;
  retirement_finish(runtime);
  domain_release(runtime->domain);
  pthread_mutex_destroy(&runtime->opening);
  free(runtime);
}

bool hrx_runtime_owns(const hrx_runtime *runtime, hrx_view view) {
  if (runtime == NULL || view.buffer == NULL) return false;
  const struct backing *backing = view.buffer->backing;
  return backing->runtime->domain == runtime->domain && backing->serial == backing->allocation->serial &&
         view.offset <= backing->allocation->bytes && view.bytes <= backing->allocation->bytes - view.offset;
}

bool hrx_runtime_same_domain(const hrx_runtime *one, const hrx_runtime *other) {
  return one != NULL && other != NULL && one->domain == other->domain;
}

uint64_t hrx_runtime_memory_budget(const hrx_runtime *runtime) { return runtime != NULL ? runtime->options.memory_budget : 0; }

/* --- devices --- */

static hrx_status gpu_missing(const struct hrx_runtime *runtime, unsigned count) {
  if (count == 0) return hrx_fail(HRX_UNSUPPORTED, "there is no GPU: HRX_SOFT_DEVICES is 0");
  return hrx_fail(HRX_UNSUPPORTED, "there is no GPU %u: this machine has %u of that kind", runtime->options.gpu_index, count);
}

/* Code for a real GPU cannot run on the software GPU by itself: who asks for one gets no other. */
static hrx_status gpu_kind_check(const struct hrx_runtime *runtime) {
  bool hip = runtime->options.gpu == HRX_GPU_HIP ||
             (runtime->options.gpu == HRX_GPU_AUTO && config_get()->gpu == GPU_CHOICE_HIP);
  return hip ? hrx_fail(HRX_UNSUPPORTED, "native runtimes have no GPU of kind hip: use the software GPU") : HRX_OK;
}

static hrx_status gpu_open_locked(struct hrx_runtime *runtime, struct gpu_device **out_device) {
  const struct config *config = config_get();
  unsigned index = runtime->options.gpu_index;
  hrx_status status = gpu_kind_check(runtime);
  if (status != HRX_OK) return status;
  if (runtime->shared) {
    if (index >= runtime->domain->device_count) return gpu_missing(runtime, runtime->domain->device_count);
    *out_device = runtime->domain->devices[index];
    return HRX_OK;
  }
  if (index >= config->soft_devices) return gpu_missing(runtime, config->soft_devices);
  struct gpu_device *device = NULL;
  status = soft_device_create(runtime->domain->memory, config->soft_arch, &device);
  if (status == HRX_OK) {
    status = domain_device_add(runtime->domain, device);
    if (status != HRX_OK) gpu_device_release(device);
  }
  if (status == HRX_OK) *out_device = device;
  return status;
}

hrx_status runtime_gpu(struct hrx_runtime *runtime, struct gpu_device **out_device) {
  /* acquire: who sees the pointer sees the device */
  struct gpu_device *device = atomic_load_explicit(&runtime->gpu, memory_order_acquire);
  hrx_status status = HRX_OK;
  if (device == NULL) {
    pthread_mutex_lock(&runtime->opening);
    device = atomic_load(&runtime->gpu);
    if (device == NULL) status = gpu_open_locked(runtime, &device);
    if (status == HRX_OK) atomic_store_explicit(&runtime->gpu, device, memory_order_release);
    pthread_mutex_unlock(&runtime->opening);
  }
  if (status == HRX_OK) *out_device = device;
  return status;
}

hrx_status runtime_gpu_use(struct hrx_runtime *runtime, struct gpu_device *device) {
  hrx_status status = domain_device_add(runtime->domain, device);
  if (status == HRX_OK) atomic_store(&runtime->gpu, device);
  return status;
}

hrx_status hrx_runtime_gpu(hrx_runtime *runtime, const char **out_target) {
  if (runtime == NULL || out_target == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or out_target is NULL");
  struct gpu_device *device = NULL;
  hrx_status status = runtime_gpu(runtime, &device);
  if (status == HRX_OK) *out_target = device->properties.target;
  return status;
}

struct npu_member {
  struct domain_member base;
  struct npu_device *device;
};

static struct npu_device *member_device(struct domain_member *member) { return ((struct npu_member *)member)->device; }
static void member_fork_prepare(struct domain_member *member) { npu_fork_prepare(member_device(member)); }
static void member_fork_done(struct domain_member *member, bool child) { npu_fork_done(member_device(member), child); }

static void member_release(struct domain_member *member) {
  npu_device_release(member_device(member));
  free(member);
}

static hrx_status npu_open_locked(struct hrx_runtime *runtime, struct npu_device **out_device) {
  if (runtime->options.npu == HRX_NPU_XRT) return hrx_fail(HRX_UNSUPPORTED, "there is no NPU of kind xrt: use the software NPU");
  struct npu_member *member = calloc(1, sizeof *member);
  if (member == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an NPU");
  hrx_status status = npu_soft_create(runtime->domain->memory, &member->device);
  if (status != HRX_OK) {
    free(member);
    return status;
  }
  member->base = (struct domain_member){.fork_prepare = member_fork_prepare, .fork_done = member_fork_done, .release = member_release};
  domain_member_add(runtime->domain, &member->base);
  *out_device = member->device;
  return HRX_OK;
}

hrx_status hrx_runtime_npu(hrx_runtime *runtime, unsigned index, hrx_npu **out_npu) {
  if (runtime == NULL || out_npu == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or out_npu is NULL");
  if (index >= RUNTIME_NPUS) return hrx_fail(HRX_UNSUPPORTED, "there is no NPU %u: a runtime has at most %d", index, RUNTIME_NPUS);
  struct hrx_npu *npu = &runtime->npus[index];
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&runtime->opening);
  if (npu->device == NULL) status = npu_open_locked(runtime, &npu->device);
  pthread_mutex_unlock(&runtime->opening);
  if (status == HRX_OK) *out_npu = npu;
  return status;
}
