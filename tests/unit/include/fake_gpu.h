/* A GPU device for tests of the engine: dispatches are C functions that run when and where the test says. */
#ifndef HRX_TESTS_FAKE_GPU_H
#define HRX_TESTS_FAKE_GPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"

enum fake_mode {
  FAKE_AT_ONCE, /* done inside start */
  FAKE_THREAD,  /* done by a thread of its own */
  FAKE_BY_HELP, /* done by the first who helps */
  FAKE_BY_TEST  /* done by fake_done */
};

struct fake_dispatch {
  struct gpu_dispatch base;
  enum fake_mode mode;
  void (*call)(void *context);
  void *context;
  void *owned; /* freed with it */
  hrx_status outcome;
  gpu_done done;
  void *done_context;
  _Atomic int state; /* 0 created, 1 started, 2 done */
};

static _Atomic int fake_started, fake_released;

static void fake_done(struct fake_dispatch *dispatch) {
  int started = 1;
  if (!atomic_compare_exchange_strong(&dispatch->state, &started, 2)) return;
  if (dispatch->call != NULL) dispatch->call(dispatch->context);
  struct failure failure = {.status = dispatch->outcome, .reason = HRX_REASON_ADDRESS};
  strcpy(failure.message, "the fake kernel failed");
  dispatch->done(dispatch->done_context, dispatch->outcome == HRX_OK ? NULL : &failure);
}

static void *fake_thread(void *context) {
  fake_done(context);
  return NULL;
}

static void fake_start(struct gpu_dispatch *base, gpu_done done, void *context) {
  struct fake_dispatch *dispatch = (struct fake_dispatch *)base;
  dispatch->done = done;
  dispatch->done_context = context;
  enum fake_mode mode = dispatch->mode;
  atomic_fetch_add(&fake_started, 1);
  atomic_store(&dispatch->state, 1);
  if (mode == FAKE_AT_ONCE) fake_done(dispatch);
  if (mode == FAKE_THREAD) {
    pthread_t thread;
    pthread_create(&thread, NULL, fake_thread, dispatch);
    pthread_detach(thread);
  }
}

static bool fake_help(struct gpu_dispatch *base, uint64_t slice_ns) {
  (void)slice_ns;
  struct fake_dispatch *dispatch = (struct fake_dispatch *)base;
  if (dispatch->mode != FAKE_BY_HELP || atomic_load(&dispatch->state) != 1) return false;
  fake_done(dispatch);
  return true;
}

static void fake_release(struct gpu_dispatch *base) {
  atomic_fetch_add(&fake_released, 1);
  free(((struct fake_dispatch *)base)->owned);
  free(base);
}

static const struct gpu_device_table fake_table = {
    .dispatch_start = fake_start, .dispatch_help = fake_help, .dispatch_release = fake_release};
static struct gpu_device fake_device = {.table = &fake_table};

static struct fake_dispatch *fake_dispatch_new(enum fake_mode mode, hrx_status outcome, void (*call)(void *),
                                               void *context) {
  struct fake_dispatch *dispatch = calloc(1, sizeof *dispatch);
  dispatch->base.device = &fake_device;
  dispatch->mode = mode;
  dispatch->outcome = outcome;
  dispatch->call = call;
  dispatch->context = context;
  return dispatch;
}

#endif
