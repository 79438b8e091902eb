/* Native streams: life, views, fills, copies and launches. */
#include "native/stream.h"

#include <stdlib.h>
#include <string.h>

#include "code/kernel.h"

enum { SEGMENT_STACK = 1024, CODES_DROPPED = 16 };

/* --- life --- */

hrx_status stream_wrap(struct hrx_runtime *runtime, struct stream *engine_stream, bool borrowed, hrx_stream **out_stream) {
  struct hrx_stream *stream = calloc(1, sizeof *stream);
  if (stream == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a stream");
  atomic_init(&stream->references, 1);
  stream->runtime = hrx_runtime_retain(runtime);
  stream->stream = engine_stream;
  stream->borrowed = borrowed;
  pthread_mutex_init(&stream->staging_lock, NULL);
  pthread_mutex_init(&stream->code_lock, NULL);
  scratch_init(stream);
  pthread_mutex_lock(&runtime->streams.lock);
  stream->next = runtime->streams.first;
  if (stream->next != NULL) stream->next->previous = stream;
  runtime->streams.first = stream;
  pthread_mutex_unlock(&runtime->streams.lock);
  *out_stream = stream;
  return HRX_OK;
}

hrx_status hrx_stream_open(hrx_runtime *runtime, hrx_stream **out_stream) {
  if (runtime == NULL || out_stream == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_stream_open: NULL %s", runtime == NULL ? "runtime" : "result");
  struct gpu_device *device;
  struct stream *engine_stream = NULL;
  hrx_status status = runtime_gpu(runtime, &device);
  if (status == HRX_OK) status = stream_create(runtime->domain->engine, 0, &engine_stream);
  if (status == HRX_OK) status = stream_wrap(runtime, engine_stream, false, out_stream);
  if (status != HRX_OK) stream_release(engine_stream);
  return status;
}

static void stream_free(void *context) {
  struct hrx_stream *stream = context;
  struct hrx_runtime *runtime = stream->runtime;
  staging_finish(stream);
  stream_codes_drop(stream, true);
  pthread_mutex_destroy(&stream->staging_lock);
  pthread_mutex_destroy(&stream->code_lock);
  free(stream);
  hrx_runtime_release(runtime);
}

static hrx_status nothing(void *context) {
  (void)context;
  return HRX_OK;
}

struct hrx_stream *stream_hold(struct hrx_stream *stream) {
  atomic_fetch_add_explicit(&stream->references, 1, memory_order_relaxed); /* the caller has one */
  return stream;
}

void stream_let_go(struct hrx_stream *stream) {
  /* acq_rel: what others did with it comes before its end */
  if (stream == NULL || atomic_fetch_sub_explicit(&stream->references, 1, memory_order_acq_rel) != 1) return;
  struct hrx_runtime *runtime = stream->runtime;
  struct engine *engine = runtime->domain->engine;
  pthread_mutex_lock(&runtime->streams.lock);
  if (stream->previous != NULL)
    stream->previous->next = stream->next;
  else
    runtime->streams.first = stream->next;
  if (stream->next != NULL) stream->next->previous = stream->previous;
  pthread_mutex_unlock(&runtime->streams.lock);
  struct stream *queue = stream->stream;
  bool borrowed = stream->borrowed;
  hrx_runtime_retain(runtime); /* the engine is there until stream_release has returned */
  if (engine_forked(engine) || stream_idle(queue)) {
    stream_free(stream);
  } else { /* behind all that it queued */
    struct task task = {.kind = TASK_HOST, .opaque = true, .run_always = true, .label = "end of a stream",
                        .host = {.call = nothing, .context = stream, .release = stream_free}};
    struct point point;
    if (stream_submit(queue, &task, &point) != HRX_OK) { /* no memory for a task: waiting is what is left */
      struct clock clock = {0};
      if (stream_clock(queue, &clock) == HRX_OK) engine_clock_wait(engine, &clock, UINT64_MAX);
      clock_finish(&clock);
      stream_free(stream);
    }
  }
  if (!borrowed) stream_release(queue);
  hrx_runtime_release(runtime);
}

void hrx_stream_close(hrx_stream *stream) {
  if (stream == NULL) return;
  scratch_close(stream);
  stream_let_go(stream);
}

/* --- memory --- */

static hrx_status allocate(struct hrx_stream *stream, size_t bytes, bool zeroed, hrx_buffer **out_buffer) {
  struct backing *backing;
  bool charge = atomic_load_explicit(&stream->charged, memory_order_relaxed);
  hrx_status status = backing_create(stream->runtime, bytes, HRX_GPU_LOCAL, 0, zeroed, charge, &backing);
  if (status != HRX_OK) return status;
  hrx_buffer *buffer;
  status = buffer_wrap(backing, HRX_GPU_LOCAL, 0, &buffer);
  if (status != HRX_OK) {
    backing_release(backing);
    return status;
  }
  buffer->stream = stream_hold(stream);
  *out_buffer = buffer;
  return HRX_OK;
}

hrx_status hrx_stream_allocate(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer) {
  return allocate(stream, bytes, false, out_buffer);
}

hrx_status hrx_stream_allocate_zeroed(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer) {
  return allocate(stream, bytes, true, out_buffer);
}

hrx_status hrx_stream_attach_budget(hrx_stream *stream) {
  atomic_store_explicit(&stream->charged, true, memory_order_relaxed);
  return HRX_OK;
}

hrx_status stream_view_check(const struct hrx_stream *stream, hrx_view view, const char *what) {
  hrx_status status = view_check(stream->runtime, view, what);
  if (status == HRX_OK && view.buffer->placement == HRX_NPU_LOCAL)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "%s: memory of NPU %u, which the GPU cannot reach", what,
                             view.buffer->npu);
  return status;
}

/* --- work --- */

hrx_status hrx_stream_fill(hrx_stream *stream, hrx_view view, uint8_t byte) {
  hrx_status status = stream_view_check(stream, view, "fill");
  if (status != HRX_OK) return status;
  struct access access = view_access(view, HRX_WRITE);
  struct task task = {.kind = TASK_FILL, .accesses = &access, .access_count = 1,
                      .fill = {.destination = (void *)view_address(view), .pitch = view.bytes, .slice_pitch = view.bytes,
                               .width = view.bytes, .height = 1, .depth = 1, .pattern = byte, .element_bytes = 1}};
  struct point point;
  return queue_submit(stream, &task, &point);
}

hrx_status hrx_stream_copy(hrx_stream *stream, hrx_view destination, hrx_view source) {
  hrx_status status = stream_view_check(stream, destination, "copy destination");
  if (status == HRX_OK) status = stream_view_check(stream, source, "copy source");
  if (status == HRX_OK) status = copy_views_check(destination, source);
  if (status != HRX_OK) return status;
  struct access accesses[] = {view_access(source, HRX_READ), view_access(destination, HRX_WRITE)};
  size_t bytes = source.bytes;
  struct task task = {.kind = TASK_COPY, .accesses = accesses, .access_count = 2,
                      .copy = {.destination = (void *)view_address(destination), .destination_pitch = bytes,
                               .destination_slice_pitch = bytes, .source = (const void *)view_address(source),
                               .source_pitch = bytes, .source_slice_pitch = bytes, .width = bytes, .height = 1, .depth = 1}};
  struct point point;
  return queue_submit(stream, &task, &point);
}

/* The whole buffer, once, however many views of it there are. */
static void access_include(struct access *accesses, unsigned *io_count, hrx_view view) {
  const struct allocation *allocation = view.buffer->backing->allocation;
  for (unsigned i = 0; i < *io_count; i++)
    if (accesses[i].allocation == allocation) return;
  accesses[(*io_count)++] = (struct access){allocation, 0, allocation->bytes, ACCESS_READ_WRITE};
}

hrx_status stream_launch_write(const struct hrx_stream *stream, const hrx_stream_kernel *kernel, hrx_dimensions grid,
                               hrx_dimensions block, uint32_t dynamic_lds, const hrx_view *views, size_t count,
                               const void *constants, size_t constant_bytes, void *segment, struct gpu_launch *out_launch,
                               struct access *out_accesses, unsigned *out_access_count) {
  const struct kernel_code *code = gpu_kernel_code(kernel->kernel);
  if (count > BINDINGS_MOST)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: %zu views, the limit is %d", code->name, count,
                           (int)BINDINGS_MOST);
  hrx_status status = HRX_OK;
  if (kernel->code->runtime->domain != stream->runtime->domain || kernel->code->module->device != stream->runtime->gpu)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "kernel %s was loaded for another runtime's GPU", code->name);
  if (status == HRX_OK) status = kernel_launch_make(code, grid, block, dynamic_lds, false, out_launch);
  out_launch->arguments = segment;
  out_launch->argument_bytes = code->explicit_bytes;
  uintptr_t addresses[BINDINGS_MOST];
  *out_access_count = 0;
  for (size_t i = 0; status == HRX_OK && i < count; i++) {
    status = stream_view_check(stream, views[i], code->name);
    if (status != HRX_OK) break;
    addresses[i] = view_address(views[i]);
    access_include(out_accesses, out_access_count, views[i]);
  }
  if (status == HRX_OK) status = kernel_arguments_write(code, addresses, count, constants, constant_bytes, segment);
  return status;
}

/* --- code in flight --- */

/* Finds or adds the entry and marks it as in use. */
static hrx_status code_enter(struct hrx_stream *stream, struct code_module *code) {
  pthread_mutex_lock(&stream->code_lock);
  size_t at = 0;
  while (at < stream->code_count && stream->codes[at].code != code) at++;
  if (at == stream->code_count && at == stream->code_capacity) {
    size_t capacity = at == 0 ? 4 : 2 * at;
    struct stream_code *codes = realloc(stream->codes, capacity * sizeof *codes);
    if (codes == NULL) {
      pthread_mutex_unlock(&stream->code_lock);
      return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a launch");
    }
    stream->codes = codes;
    stream->code_capacity = capacity;
  }
  if (at == stream->code_count) stream->codes[stream->code_count++] = (struct stream_code){.code = code_module_retain(code)};
  stream->codes[at].users++;
  pthread_mutex_unlock(&stream->code_lock);
  return HRX_OK;
}

/* `point`: of the launch, or "already" if there was none. */
static void code_leave(struct hrx_stream *stream, const struct code_module *code, struct point point) {
  pthread_mutex_lock(&stream->code_lock);
  size_t at = 0;
  while (stream->codes[at].code != code) at++;
  if (point.sequence != 0) clock_include(&stream->codes[at].busy, point); /* a stream has fewer lanes than CLOCK_INLINE */
  stream->codes[at].users--;
  pthread_mutex_unlock(&stream->code_lock);
}

void stream_codes_drop(struct hrx_stream *stream, bool all) {
  const struct engine *engine = stream->runtime->domain->engine;
  struct code_module *unused[CODES_DROPPED];
  size_t count;
  do { /* released outside the lock: that unloads modules */
    count = 0;
    pthread_mutex_lock(&stream->code_lock);
    for (size_t i = stream->code_count; i-- > 0 && count < CODES_DROPPED;) {
      struct stream_code *entry = &stream->codes[i];
      bool wanted = atomic_load_explicit(&entry->code->references, memory_order_relaxed) > 1; /* a hint */
      if (!all && (wanted || entry->users != 0 || !engine_clock_over(engine, &entry->busy))) continue;
      unused[count++] = entry->code;
      clock_finish(&entry->busy);
      *entry = stream->codes[--stream->code_count];
    }
    pthread_mutex_unlock(&stream->code_lock);
    for (size_t i = 0; i < count; i++) code_module_release(unused[i]);
  } while (count == CODES_DROPPED);
  if (!all) return;
  free(stream->codes);
  stream->codes = NULL;
}

hrx_status hrx_stream_dispatch(hrx_stream *stream, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                               uint32_t dynamic_lds, const hrx_view *views, size_t count, const void *constants,
                               size_t constant_bytes) {
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_stream_dispatch: NULL kernel");
  const struct kernel_code *code = gpu_kernel_code(kernel->kernel);
  uint8_t few[SEGMENT_STACK], *segment = code->explicit_bytes <= sizeof few ? few : malloc(code->explicit_bytes);
  if (segment == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "kernel %s: no memory for its arguments", code->name);
  struct access accesses[BINDINGS_MOST];
  unsigned access_count;
  struct gpu_launch launch;
  struct task task = {.kind = TASK_DISPATCH, .accesses = accesses, .label = code->name};
  hrx_status status = stream_launch_write(stream, kernel, grid, block, dynamic_lds, views, count, constants, constant_bytes, segment,
                                          &launch, accesses, &access_count);
  task.access_count = access_count;
  if (status == HRX_OK) status = gpu_dispatch_create(kernel->kernel, &launch, &task.dispatch);
  if (segment != few) free(segment);
  if (status != HRX_OK) return status;
  struct point point = {0, 0};
  status = code_enter(stream, kernel->code);
  if (status == HRX_OK) {
    status = queue_submit(stream, &task, &point);
    code_leave(stream, kernel->code, point);
  }
  if (status != HRX_OK) gpu_dispatch_release(task.dispatch);
  return status;
}

/* --- waiting --- */

hrx_status stream_finish(struct hrx_stream *stream, const struct clock *clock) {
  hrx_status status = engine_clock_wait(stream->runtime->domain->engine, clock, UINT64_MAX);
  struct failure failure;
  if (status == HRX_OK && stream_failure_take(stream->stream, &failure)) status = failure_restore(&failure);
  return status;
}

hrx_status hrx_stream_submit(hrx_stream *stream) {
  (void)stream; /* the engine starts work as soon as it may */
  return HRX_OK;
}

hrx_status hrx_stream_synchronize(hrx_stream *stream) {
  struct clock clock = {0};
  hrx_status status = queue_clock(stream, &clock);
  if (status == HRX_OK) status = stream_finish(stream, &clock);
  clock_finish(&clock);
  stream_codes_drop(stream, false);
  return status;
}
