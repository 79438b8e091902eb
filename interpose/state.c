#include "interpose/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/log.h"
#include "interpose/error.h"
#include "interpose/real.h"
#include "interpose/stream.h"
#include "interpose/thread.h"

static struct hip_state *_Atomic current;
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

static hrx_status device_start(struct hip_state *state, int ordinal) {
  struct hip_device *device = &state->devices[ordinal];
  device->ordinal = ordinal;
  device->gpu = state->domain->devices[ordinal];
  pthread_mutex_init(&device->lock, NULL);
  return hip_stream_legacy_create(state->domain, device);
}

static hrx_status state_create(struct hip_state **out_state) {
  struct domain *domain = NULL;
  struct hip_state *state = NULL;
  hrx_status status = domain_shared(&domain);
  if (status == HRX_OK) {
    state = calloc(1, sizeof *state);
    if (state == NULL) status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the HIP state");
  }
  if (status == HRX_OK) {
    state->domain = domain;
    state->device_count = domain->device_count;
  }
  for (unsigned i = 0; status == HRX_OK && i < state->device_count; i++) status = device_start(state, (int)i);
  if (status != HRX_OK) {
    free(state); /* streams of the first devices stay: a retry after running out of memory makes new ones */
    return status;
  }
  *out_state = state;
  return HRX_OK;
}

struct hip_state *state_existing(void) {
  return domain_existing() != NULL ? atomic_load_explicit(&current, memory_order_acquire) : NULL;
}

/* A GPU that HRX_SOFT_ARCH or HRX_SOFT_LEVEL names and that does not exist is none. That stays so: it is said once. */
static hipError_t start_failed(hrx_status status) {
  static _Atomic bool said;
  if (hrx_last_reason() != HRX_REASON_TARGET) return error_logged(status);
  if (!atomic_exchange(&said, true)) log_line(LOG_ERROR, "%s: %s", error_name(hipErrorNoDevice), hrx_last_message());
  return hipErrorNoDevice;
}

hipError_t state_start(struct hip_state **out_state) {
  struct hip_state *state = state_existing();
  if (__builtin_expect(state != NULL, 1)) {
    *out_state = state;
    return hipSuccess;
  }
  /* asked for the real library, a program must not get results from another GPU */
  if (config_get()->gpu == GPU_CHOICE_HIP && !real_library_used()) return hipErrorNoDevice;
  /* in a forked child the lock may be another thread's: the domain says so without one */
  struct domain *domain = NULL;
  hrx_status status = domain_shared(&domain);
  if (status != HRX_OK) return start_failed(status);
  pthread_mutex_lock(&creating);
  state = atomic_load_explicit(&current, memory_order_relaxed);
  if (state == NULL) {
    status = state_create(&state);
    if (status == HRX_OK) atomic_store_explicit(&current, state, memory_order_release);
  }
  pthread_mutex_unlock(&creating);
  if (status != HRX_OK) return start_failed(status);
  *out_state = state;
  return hipSuccess;
}

hipError_t state_get(struct hip_state **out_state) {
  hipError_t error = state_start(out_state);
  if (error == hipSuccess && (*out_state)->device_count == 0) error = hipErrorNoDevice;
  return error;
}

hipError_t state_device(int ordinal, struct hip_device **out_device) {
  struct hip_state *state = NULL;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  if (ordinal < 0 || (unsigned)ordinal >= state->device_count) return hipErrorInvalidDevice;
  *out_device = &state->devices[ordinal];
  return hipSuccess;
}

hipError_t state_current(struct hip_device **out_device) { return state_device(thread_device(), out_device); }

hipError_t state_synchronize(struct hip_state *state) {
  struct clock clock = {0};
  struct failure failure;
  hrx_status status = engine_clock(state->domain->engine, &clock);
  if (status == HRX_OK) status = engine_clock_wait(state->domain->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  if (status != HRX_OK) return error_of(status);
  return engine_failure_take(state->domain->engine, &failure) ? error_report(&failure) : hipSuccess;
}
