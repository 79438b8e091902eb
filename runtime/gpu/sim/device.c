/* Virtual time: which dispatches run, and the next one to finish. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clocktime.h"
#include "gpu/sim/parts.h"
#include "memory/memory.h"

/* --- the running dispatches: a binary heap by time, then order --- */

static bool earlier(const struct sim_dispatch *one, const struct sim_dispatch *other) {
  return one->finish_ns != other->finish_ns ? one->finish_ns < other->finish_ns : one->order < other->order;
}

static void heap_put(struct sim_device *device, size_t place, struct sim_dispatch *dispatch) {
  device->heap[place] = dispatch;
  dispatch->place = place;
}

/* Moves the dispatch, whose time changed or whose place is free, to where it belongs. */
static void heap_settle(struct sim_device *device, size_t place, struct sim_dispatch *dispatch) {
  while (place > 0 && earlier(dispatch, device->heap[(place - 1) / 2])) {
    heap_put(device, place, device->heap[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (size_t child; (child = 2 * place + 1) < device->running; place = child) {
    if (child + 1 < device->running && earlier(device->heap[child + 1], device->heap[child])) child++;
    if (!earlier(device->heap[child], dispatch)) break;
    heap_put(device, place, device->heap[child]);
  }
  heap_put(device, place, dispatch);
}

static void heap_remove(struct sim_device *device, size_t place) {
  struct sim_dispatch *last = device->heap[--device->running];
  if (place < device->running) heap_settle(device, place, last);
}

/* Starting must not fail, so the room for a dispatch is made when it is. */
bool sim_heap_reserve_locked(struct sim_device *device) {
  if (device->dispatches < device->capacity) return true;
  size_t capacity = device->capacity > 0 ? 2 * device->capacity : 64;
  struct sim_dispatch **heap = realloc(device->heap, capacity * sizeof(*heap));
  if (heap == NULL) return false;
  device->heap = heap;
  device->capacity = capacity;
  return true;
}

/* --- from started to finished --- */

static void begin_locked(struct sim_device *device, struct sim_dispatch *dispatch) {
  uint64_t now = device->statistics.now_ns;
  dispatch->state = SIM_RUNNING;
  dispatch->began_ns = now;
  dispatch->finish_ns = dispatch->outcome == SIM_FAILS_CLEAN ? now : time_after(now, dispatch->duration_ns);
  device->running++;
  heap_settle(device, device->running - 1, dispatch);
  if (dispatch->outcome != SIM_FAILS_CLEAN && device->running > device->statistics.most_at_once)
    device->statistics.most_at_once = (unsigned)device->running;
}

static bool unit_free(const struct sim_device *device) { return device->units == 0 || device->running < device->units; }

static void dispatch_start(struct gpu_dispatch *base, gpu_done done, void *context) {
  struct sim_dispatch *dispatch = (struct sim_dispatch *)(void *)base;
  struct sim_device *device = sim_device_of(base->device);
  pthread_mutex_lock(&device->lock);
  dispatch->done = done;
  dispatch->context = context;
  dispatch->outcome = dispatch->kernel->outcome;
  if (dispatch->outcome != SIM_SUCCEEDS) dispatch->failure = dispatch->kernel->failure;
  dispatch->started_ns = device->statistics.now_ns;
  dispatch->order = device->order++;
  device->statistics.started++;
  /* what is refused needs no unit */
  if (dispatch->outcome == SIM_FAILS_CLEAN || (unit_free(device) && device->first_waiting == NULL)) {
    begin_locked(device, dispatch);
  } else {
    dispatch->state = SIM_WAITING;
    dispatch->next = NULL;
    *device->last_waiting = dispatch;
    device->last_waiting = &dispatch->next;
  }
  pthread_mutex_unlock(&device->lock);
}

static void waiting_remove_locked(struct sim_device *device, struct sim_dispatch *dispatch) {
  struct sim_dispatch **link = &device->first_waiting;
  while (*link != dispatch) link = &(*link)->next;
  *link = dispatch->next;
  if (device->last_waiting == &dispatch->next) device->last_waiting = link;
}

/* Stops now: what it has not done takes no more time. Its `done` is called when it is its turn. */
static void dispatch_cancel(struct gpu_dispatch *base) {
  struct sim_dispatch *dispatch = (struct sim_dispatch *)(void *)base;
  struct sim_device *device = sim_device_of(base->device);
  pthread_mutex_lock(&device->lock);
  if (dispatch->state != SIM_IDLE) {
    bool waiting = dispatch->state == SIM_WAITING;
    dispatch->outcome = waiting ? SIM_FAILS_CLEAN : SIM_FAILS_UNCERTAIN;
    dispatch->failure = (struct failure){.status = HRX_CANCELLED};
    snprintf(dispatch->failure.message, sizeof dispatch->failure.message, "kernel %s was cancelled", dispatch->kernel->code.name);
    if (waiting) {
      waiting_remove_locked(device, dispatch);
      begin_locked(device, dispatch);
    } else if (dispatch->finish_ns > device->statistics.now_ns) {
      dispatch->finish_ns = device->statistics.now_ns;
      heap_settle(device, dispatch->place, dispatch);
    }
  }
  pthread_mutex_unlock(&device->lock);
}

/* Takes the earliest dispatch off the device if it is finished by `time_ns`. */
static struct sim_dispatch *finish_next_locked(struct sim_device *device, uint64_t time_ns) {
  if (device->running == 0 || device->heap[0]->finish_ns > time_ns) return NULL;
  struct sim_dispatch *dispatch = device->heap[0];
  struct sim_statistics *statistics = &device->statistics;
  statistics->now_ns = dispatch->finish_ns;
  statistics->busy_ns += dispatch->finish_ns - dispatch->began_ns;
  statistics->finished++;
  if (dispatch->outcome != SIM_SUCCEEDS)
    *(dispatch->failure.status == HRX_CANCELLED ? &statistics->cancelled : &statistics->failed) += 1;
  heap_remove(device, 0);
  dispatch->state = SIM_IDLE;
  while (device->first_waiting != NULL && unit_free(device)) {
    struct sim_dispatch *next = device->first_waiting;
    waiting_remove_locked(device, next);
    begin_locked(device, next);
  }
  return dispatch;
}

/* One step of virtual time. `done` comes last: the dispatch, and with it the device, may be gone afterwards. */
static bool step(struct sim_device *device, uint64_t time_ns) {
  pthread_mutex_lock(&device->lock);
  struct sim_dispatch *dispatch = finish_next_locked(device, time_ns);
  void (*watch)(const struct sim_run_record *, void *) = device->watch;
  void *context = device->watch_context;
  pthread_mutex_unlock(&device->lock);
  if (dispatch == NULL) return false;
  bool failed = dispatch->outcome != SIM_SUCCEEDS;
  if (watch != NULL)
    watch(&(struct sim_run_record){.kernel = &dispatch->kernel->base,
                                   .arguments = dispatch->arguments,
                                   .argument_bytes = dispatch->argument_bytes,
                                   .started_ns = dispatch->started_ns,
                                   .began_ns = dispatch->began_ns,
                                   .finished_ns = dispatch->finish_ns,
                                   .status = failed ? dispatch->failure.status : HRX_OK},
          context);
  struct failure failure;
  if (failed) failure = dispatch->failure;
  dispatch->done(dispatch->context, failed ? &failure : NULL);
  return true;
}

static bool dispatch_help(struct gpu_dispatch *base, uint64_t slice_ns) {
  (void)slice_ns;
  struct sim_device *device = sim_device_of(base->device);
  pthread_mutex_lock(&device->lock);
  bool run = device->waits_run;
  pthread_mutex_unlock(&device->lock);
  return run && step(device, UINT64_MAX);
}

uint64_t sim_run(struct gpu_device *base) {
  struct sim_device *device = sim_device_of(base);
  while (step(device, UINT64_MAX)) {
  }
  struct sim_statistics statistics;
  sim_statistics(base, &statistics);
  return statistics.now_ns;
}

void sim_run_until(struct gpu_device *base, uint64_t time_ns) {
  struct sim_device *device = sim_device_of(base);
  while (step(device, time_ns)) {
  }
  pthread_mutex_lock(&device->lock);
  if (device->statistics.now_ns < time_ns) device->statistics.now_ns = time_ns;
  pthread_mutex_unlock(&device->lock);
}

/* --- the device --- */

void sim_units(struct gpu_device *base, unsigned units) {
  struct sim_device *device = sim_device_of(base);
  pthread_mutex_lock(&device->lock);
  device->units = units;
  pthread_mutex_unlock(&device->lock);
}

void sim_waits_run(struct gpu_device *base, bool run) {
  struct sim_device *device = sim_device_of(base);
  pthread_mutex_lock(&device->lock);
  device->waits_run = run;
  pthread_mutex_unlock(&device->lock);
}

void sim_create_fails(struct gpu_device *base, uint64_t calls, const struct failure *failure) {
  struct sim_device *device = sim_device_of(base);
  pthread_mutex_lock(&device->lock);
  device->create_fails = true;
  device->create_calls = calls;
  device->create_failure = *failure;
  pthread_mutex_unlock(&device->lock);
}

void sim_watch(struct gpu_device *base, void (*call)(const struct sim_run_record *record, void *context), void *context) {
  struct sim_device *device = sim_device_of(base);
  pthread_mutex_lock(&device->lock);
  device->watch = call;
  device->watch_context = context;
  pthread_mutex_unlock(&device->lock);
}

void sim_statistics(struct gpu_device *base, struct sim_statistics *out_statistics) {
  struct sim_device *device = sim_device_of(base);
  pthread_mutex_lock(&device->lock);
  *out_statistics = device->statistics;
  pthread_mutex_unlock(&device->lock);
}

static void device_release(struct gpu_device *base) {
  struct sim_device *device = sim_device_of(base);
  sim_dispatches_finish(device);
  sim_kernels_finish(device);
  pthread_mutex_destroy(&device->lock);
  free(device->heap);
  free(device);
}

static void fork_prepare(struct gpu_device *base) { pthread_mutex_lock(&sim_device_of(base)->lock); }

static void fork_done(struct gpu_device *base, bool child) {
  (void)child;
  pthread_mutex_unlock(&sim_device_of(base)->lock);
}

static const struct gpu_device_table table = {
    .release = device_release,
    .module_load = sim_module_load,
    .module_release = sim_module_release,
    .module_kernel = sim_module_kernel,
    .module_global = sim_module_global,
    .kernel_code = sim_kernel_code,
    .kernel_ready = sim_kernel_ready,
    .dispatch_create = sim_dispatch_create,
    .dispatch_update = sim_dispatch_update,
    .dispatch_release = sim_dispatch_release,
    .dispatch_start = dispatch_start,
    .dispatch_help = dispatch_help,
    .dispatch_cancel = dispatch_cancel,
    .fork_prepare = fork_prepare,
    .fork_done = fork_done,
};

hrx_status sim_device_create(struct memory *memory, struct gpu_device **out_device) {
  struct sim_device *device = calloc(1, sizeof *device);
  if (device == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a device");
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  device->base.table = &table;
  device->base.properties = (struct gpu_properties){
      .name = "hrx device of virtual time",
      .target = "sim",
      .wave_lanes = 32,
      .compute_units = 1,
      .max_block = 1024,
      .max_grid = {INT32_MAX, 65535, 65535},
      .max_block_axis = {1024, 1024, 1024},
      .lds_bytes = 64 << 10,
      .vgprs = 256,
      .sgprs = 106,
      .waves_per_unit = 32,
      .memory_bytes = statistics.limit,
      .clock_hz = UINT64_C(1000000000),
      .memory_clock_hz = UINT64_C(1000000000),
  };
  device->last_waiting = &device->first_waiting;
  pthread_mutex_init(&device->lock, NULL);
  *out_device = &device->base;
  return HRX_OK;
}
