/* Runtimes, buffers, views, maps, stages, adoption, the budget. */
#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/include/native.h"

static hrx_runtime *runtime;

static void setup(void) { runtime = runtime_new(NULL); }
static void teardown(void) { hrx_runtime_release(runtime); }

/* --- runtimes --- */

START_TEST(a_bad_option_is_named) {
  hrx_runtime *none = NULL;
  hrx_runtime_options options = {.size = sizeof options, .compute_lanes = 65};
  FAILS(hrx_runtime_create(&options, &none), INVALID, ARGUMENT);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "compute_lanes"));
  options = (hrx_runtime_options){.size = sizeof options, .order = (hrx_order)7};
  FAILS(hrx_runtime_create(&options, &none), INVALID, ARGUMENT);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "order"));
  options = (hrx_runtime_options){.size = sizeof options + 8};
  FAILS(hrx_runtime_create(&options, &none), INVALID, ARGUMENT);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "size"));
  ck_assert_ptr_null(none);
  options = (hrx_runtime_options){.size = offsetof(hrx_runtime_options, max_submissions), .memory_budget = 5}; /* an older caller */
  none = runtime_new(&options);
  ck_assert_uint_eq(hrx_runtime_memory_budget(none), 5);
  ck_assert_uint_eq(none->options.max_submissions, 64);
  hrx_runtime_release(none);
}
END_TEST

START_TEST(runtimes_are_domains_of_their_own) {
  hrx_runtime *other = runtime_new(NULL), *same = hrx_runtime_retain(runtime);
  hrx_buffer *buffer = buffer_new(runtime, 64, HRX_HOST_VISIBLE);
  ck_assert(hrx_runtime_same_domain(runtime, same));
  ck_assert(!hrx_runtime_same_domain(runtime, other));
  ck_assert(hrx_runtime_owns(runtime, hrx_buffer_view(buffer)));
  ck_assert(!hrx_runtime_owns(other, hrx_buffer_view(buffer)));
  ck_assert(!hrx_runtime_owns(runtime, (hrx_view){buffer, 60, 8}));
  ck_assert(!hrx_runtime_owns(runtime, (hrx_view){NULL, 0, 0}));
  hrx_runtime_release(same);
  hrx_runtime_release(other);
  hrx_buffer_release(buffer);
}
END_TEST

START_TEST(a_runtime_lives_as_long_as_its_buffers) {
  hrx_runtime *own = runtime_new(NULL);
  hrx_buffer *buffer = buffer_new(own, 4096, HRX_HOST_VISIBLE);
  hrx_runtime_release(own);
  uint32_t value = 7, found = 0;
  OK(hrx_view_write(slice(buffer, 0, 4), &value, 4));
  OK(hrx_view_read(slice(buffer, 0, 4), &found, 4));
  ck_assert_uint_eq(found, 7);
  hrx_buffer_release(buffer);
}
END_TEST

/* Behaviour 14 */
START_TEST(a_device_that_failed_to_open_can_be_tried_again) {
  const char *target = NULL;
  runtime->options.gpu_index = 9; /* there is one */
  FAILS(hrx_runtime_gpu(runtime, &target), UNSUPPORTED, NONE);
  FAILS(hrx_runtime_gpu(runtime, &target), UNSUPPORTED, NONE);
  ck_assert_ptr_null(target);
  runtime->options.gpu_index = 0;
  OK(hrx_runtime_gpu(runtime, &target));
  ck_assert_str_eq(target, "gfx1030");
  hrx_npu *npu = NULL;
  FAILS(hrx_runtime_npu(runtime, RUNTIME_NPUS, &npu), UNSUPPORTED, NONE);
  OK(hrx_runtime_npu(runtime, 0, &npu));
  ck_assert_uint_eq(hrx_npu_columns(npu), 8);
}
END_TEST

static pthread_barrier_t together;

static void *open_all(void *context) {
  const char *target = NULL;
  hrx_npu *npu = NULL;
  hrx_runtime *shared = NULL;
  pthread_barrier_wait(&together);
  bool opened = hrx_runtime_gpu(runtime, &target) == HRX_OK && hrx_runtime_npu(runtime, 1, &npu) == HRX_OK &&
                hrx_runtime_shared(&shared) == HRX_OK;
  void **out = context;
  out[0] = opened ? (void *)target : NULL;
  out[1] = opened ? npu->device : NULL;
  out[2] = shared;
  return NULL;
}

START_TEST(threads_that_open_at_once_open_once) {
  enum { THREADS = 32 };
  pthread_t threads[THREADS];
  void *found[THREADS][3];
  pthread_barrier_init(&together, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, open_all, found[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    ck_assert_ptr_nonnull(found[i][0]);
    for (int j = 0; j < 3; j++) ck_assert_ptr_eq(found[i][j], found[0][j]);
    hrx_runtime_release(found[i][2]);
  }
  ck_assert_uint_eq(runtime->domain->device_count, 1);
  pthread_barrier_destroy(&together);
}
END_TEST

START_TEST(a_forked_child_has_runtimes_of_its_own) {
  hrx_stream *stream = NULL;
  OK(hrx_stream_open(runtime, &stream));
  hrx_buffer *buffer = buffer_new(runtime, 4096, HRX_HOST_VISIBLE);
  OK(hrx_stream_fill(stream, hrx_buffer_view(buffer), 1));
  OK(hrx_stream_synchronize(stream));
  pid_t child = fork();
  if (child == 0) {
    hrx_runtime *own = NULL;
    hrx_buffer *fresh = NULL;
    uint8_t byte = 9;
    bool good = hrx_stream_fill(stream, hrx_buffer_view(buffer), 1) == HRX_DEVICE_LOST;
    good = good && hrx_runtime_create(NULL, &own) == HRX_OK && hrx_buffer_create(own, 64, HRX_HOST_VISIBLE, 0, &fresh) == HRX_OK;
    good = good && hrx_view_read(slice(fresh, 0, 1), &byte, 1) == HRX_OK && byte == 0;
    hrx_buffer_release(fresh);
    hrx_runtime_release(own);
    hrx_runtime_release(hrx_runtime_retain(runtime));
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  OK(hrx_stream_fill(stream, hrx_buffer_view(buffer), 2)); /* the parent goes on */
  OK(hrx_stream_synchronize(stream));
  hrx_buffer_release(buffer);
  hrx_stream_close(stream);
}
END_TEST

/* --- buffers --- */

START_TEST(buffers_have_1_to_SSIZE_MAX_bytes) {
  hrx_buffer *buffer = NULL;
  FAILS(hrx_buffer_create(runtime, 0, HRX_GPU_LOCAL, 0, &buffer), INVALID, ARGUMENT);
  FAILS(hrx_buffer_create(runtime, (size_t)SSIZE_MAX + 1, HRX_GPU_LOCAL, 0, &buffer), INVALID, ARGUMENT);
  FAILS(hrx_buffer_create(runtime, 64, (hrx_placement)4, 0, &buffer), INVALID, ARGUMENT);
  FAILS(hrx_buffer_create(runtime, 64, HRX_NPU_LOCAL, 99, &buffer), UNSUPPORTED, NONE);
  FAILS(hrx_buffer_create(runtime, SSIZE_MAX, HRX_HOST_VISIBLE, 0, &buffer), OUT_OF_MEMORY, NONE);
  ck_assert_ptr_null(buffer);
  hrx_buffer_release(NULL);
  ck_assert_uint_eq(hrx_buffer_view(NULL).bytes, 0);
}
END_TEST

START_TEST(buffers_are_zero_also_where_memory_is_used_again) {
  for (int placement = HRX_GPU_LOCAL; placement <= HRX_SHARED; placement++)
    for (int round = 0; round < 3; round++) {
      hrx_buffer *buffer = buffer_new(runtime, 10000, (hrx_placement)placement);
      const uint8_t *bytes = hrx_buffer_address(buffer);
      ck_assert_uint_eq((uintptr_t)bytes % 256, 0);
      ck_assert_uint_eq(hrx_buffer_bytes(buffer), 10000);
      ck_assert_int_eq(hrx_buffer_placement(buffer), placement);
      for (int i = 0; i < 10000; i++) ck_assert_uint_eq(bytes[i], 0);
      memset(hrx_buffer_address(buffer), 0xff, 10000);
      hrx_buffer_release(buffer);
    }
}
END_TEST

START_TEST(shared_memory_is_imported_once) {
  hrx_buffer *buffer = buffer_new(runtime, 4096, HRX_SHARED);
  hrx_statistics statistics = {.size = sizeof statistics};
  OK(hrx_runtime_statistics(runtime, &statistics));
  ck_assert_uint_eq(statistics.imports, 1);
  ck_assert_uint_eq(statistics.allocations, 1);
  ck_assert_uint_eq(statistics.live_bytes, 4096);
  hrx_buffer_release(buffer);
  OK(hrx_runtime_statistics(runtime, &statistics));
  ck_assert_uint_eq(statistics.live_bytes, 0);
  ck_assert_uint_eq(statistics.peak_bytes, 4096);
  char *text = NULL;
  OK(hrx_runtime_statistics_json(runtime, &text));
  ck_assert_ptr_nonnull(strstr(text, "\"peak_bytes\""));
  free(text);
}
END_TEST

/* Behaviour 11 */
START_TEST(ten_thousand_buffers_at_once) {
  enum { BUFFERS = 10000 };
  static hrx_buffer *buffers[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) buffers[i] = buffer_new(runtime, 256, HRX_HOST_VISIBLE);
  for (uint32_t i = 0; i < BUFFERS; i++) OK(hrx_view_write(slice(buffers[i], 0, 4), &i, 4));
  for (uint32_t i = 0; i < BUFFERS; i++) {
    uint32_t found = 0;
    OK(hrx_view_read(slice(buffers[i], 0, 4), &found, 4));
    ck_assert_uint_eq(found, i);
  }
  for (int i = 0; i < BUFFERS; i++) hrx_buffer_release(buffers[i]);
}
END_TEST

/* Behaviour 16 */
START_TEST(a_slice_cannot_leave_its_parent_or_wrap) {
  hrx_buffer *buffer = buffer_new(runtime, 100, HRX_HOST_VISIBLE);
  hrx_view parent = slice(buffer, 10, 50), view = {0};
  FAILS(hrx_view_slice(parent, 40, 20, &view), INVALID, RANGE); /* inside the buffer still */
  FAILS(hrx_view_slice(parent, 51, 0, &view), INVALID, RANGE);
  FAILS(hrx_view_slice(parent, SIZE_MAX, 2, &view), INVALID, RANGE);
  FAILS(hrx_view_slice(parent, 1, SIZE_MAX, &view), INVALID, RANGE);
  ck_assert_ptr_null(view.buffer);
  OK(hrx_view_slice(parent, 50, 0, &view));
  ck_assert_uint_eq(view.offset, 60);
  OK(hrx_view_slice(parent, 0, 50, &view));
  FAILS(hrx_map_read((hrx_view){buffer, SIZE_MAX - 3, 8}, &(hrx_map *){NULL}), INVALID, RANGE);
  FAILS(hrx_map_read((hrx_view){buffer, 96, 8}, &(hrx_map *){NULL}), INVALID, RANGE);
  FAILS(hrx_map_read((hrx_view){buffer, 96, 0}, &(hrx_map *){NULL}), INVALID, EMPTY);
  hrx_buffer_release(buffer);
}
END_TEST

/* --- the budget, behaviour 15 --- */

START_TEST(the_budget_is_charged_before_memory_is_there) {
  hrx_runtime *own = runtime_new(&(hrx_runtime_options){.size = sizeof(hrx_runtime_options), .memory_budget = 10000});
  hrx_buffer *first = buffer_new(own, 6000, HRX_GPU_LOCAL), *second = NULL;
  FAILS(hrx_buffer_create(own, 4001, HRX_GPU_LOCAL, 0, &second), BUSY, BUDGET);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "6000"));
  OK(hrx_buffer_create(own, 4000, HRX_SHARED, 0, &second));
  hrx_buffer_release(first);
  first = buffer_new(own, 6000, HRX_HOST_VISIBLE);
  hrx_buffer_release(first);
  hrx_buffer_release(second);
  ck_assert_uint_eq(own->charged, 0);
  hrx_runtime_release(own);
}
END_TEST

START_TEST(adopted_memory_is_charged_once_and_as_long_as_it_lives) {
  hrx_runtime *own = runtime_new(&(hrx_runtime_options){.size = sizeof(hrx_runtime_options), .memory_budget = 10000});
  hrx_stream *stream = NULL;
  hrx_buffer *raw = NULL, *adopted = NULL, *again = NULL;
  OK(hrx_stream_open(own, &stream));
  OK(hrx_stream_allocate(stream, 8000, &raw));
  ck_assert_uint_eq(own->charged, 0); /* no budget attached */
  FAILS(hrx_buffer_adopt(own, raw, HRX_HOST_VISIBLE, 0, &adopted), INVALID, PLACEMENT);
  FAILS(hrx_buffer_adopt(runtime, raw, HRX_GPU_LOCAL, 0, &adopted), INVALID, FOREIGN);
  OK(hrx_buffer_adopt(own, raw, HRX_GPU_LOCAL, 0, &adopted));
  OK(hrx_buffer_adopt(own, raw, HRX_SHARED, 0, &again));
  ck_assert_uint_eq(own->charged, 8000);
  ck_assert_ptr_eq(hrx_buffer_address(adopted), hrx_buffer_address(raw));
  hrx_buffer_release(adopted);
  hrx_buffer_release(again);
  ck_assert_uint_eq(own->charged, 8000); /* the stream's handle keeps the memory */
  hrx_buffer_release(raw);
  ck_assert_uint_eq(own->charged, 0);
  OK(hrx_stream_attach_budget(stream));
  OK(hrx_stream_allocate(stream, 8000, &raw));
  OK(hrx_buffer_adopt(own, raw, HRX_GPU_LOCAL, 0, &adopted));
  ck_assert_uint_eq(own->charged, 8000);
  hrx_buffer_release(raw);
  hrx_buffer_release(adopted);
  hrx_stream_close(stream);
  hrx_runtime_release(own);
}
END_TEST

START_TEST(scratch_is_given_up_for_a_budget_that_is_full) {
  hrx_runtime *own = runtime_new(&(hrx_runtime_options){.size = sizeof(hrx_runtime_options), .memory_budget = 100000});
  hrx_stream *stream = NULL;
  hrx_buffer *scratch = NULL, *buffer = NULL;
  OK(hrx_stream_open(own, &stream));
  OK(hrx_stream_attach_budget(stream));
  OK(hrx_stream_scratch(stream, 70000, &scratch));
  FAILS(hrx_buffer_create(own, 50000, HRX_GPU_LOCAL, 0, &buffer), BUSY, BUDGET); /* in use */
  hrx_stream_recycle(stream, scratch);
  OK(hrx_buffer_create(own, 50000, HRX_GPU_LOCAL, 0, &buffer));
  ck_assert_uint_eq(own->charged, 50000);
  hrx_buffer_release(buffer);
  hrx_stream_close(stream);
  hrx_runtime_release(own);
}
END_TEST

/* --- maps --- */

START_TEST(many_readers_or_one_writer_of_a_byte) {
  hrx_buffer *buffer = buffer_new(runtime, 100, HRX_HOST_VISIBLE);
  hrx_map *first = NULL, *second = NULL, *writer = NULL;
  OK(hrx_map_read(slice(buffer, 0, 60), &first));
  OK(hrx_map_read(slice(buffer, 20, 60), &second));
  FAILS(hrx_map_write(slice(buffer, 79, 1), &writer), BUSY, MAPPED); /* also the form that waits */
  OK(hrx_map_write(slice(buffer, 80, 20), &writer));
  ck_assert_ptr_eq(hrx_map_pointer(writer), (char *)hrx_buffer_address(buffer) + 80);
  ck_assert_uint_eq(hrx_map_bytes(writer), 20);
  FAILS(hrx_map_try_read(slice(buffer, 70, 11), &(hrx_map *){NULL}), BUSY, MAPPED);
  hrx_map_release(first);
  hrx_map_release(second);
  hrx_map_release(writer);
  hrx_map_release(NULL);
  OK(hrx_map_write(hrx_buffer_view(buffer), &writer));
  hrx_map_release(writer);
  hrx_buffer_release(buffer);
}
END_TEST

START_TEST(local_memory_has_no_host_map) {
  hrx_map *map = NULL;
  hrx_buffer *gpu = buffer_new(runtime, 64, HRX_GPU_LOCAL), *npu = buffer_new(runtime, 64, HRX_NPU_LOCAL);
  FAILS(hrx_map_read(hrx_buffer_view(gpu), &map), INVALID, PLACEMENT);
  FAILS(hrx_map_try_write(hrx_buffer_view(npu), &map), INVALID, PLACEMENT);
  FAILS(hrx_view_write(hrx_buffer_view(npu), "", 64), INVALID, PLACEMENT);
  FAILS(hrx_view_write(hrx_buffer_view(npu), "", 1), INVALID, RANGE);
  ck_assert_ptr_null(map);
  hrx_buffer_release(gpu);
  hrx_buffer_release(npu);
}
END_TEST

/* Behaviour 4 */
START_TEST(the_host_and_the_device_see_what_the_other_wrote) {
  hrx_stream *stream = NULL;
  hrx_buffer *source = buffer_new(runtime, 4096, HRX_HOST_VISIBLE), *target = buffer_new(runtime, 4096, HRX_SHARED);
  OK(hrx_stream_open(runtime, &stream));
  for (unsigned round = 0; round < 50; round++) {
    hrx_map *map = NULL;
    OK(hrx_map_write(hrx_buffer_view(source), &map));
    ((uint8_t *)hrx_map_pointer(map))[round] = (uint8_t)(round + 1); /* one byte of all that is mapped */
    hrx_map_release(map);
    OK(hrx_stream_copy(stream, hrx_buffer_view(target), hrx_buffer_view(source)));
    OK(hrx_map_read(hrx_buffer_view(target), &map)); /* waits for the copy */
    const uint8_t *bytes = hrx_map_pointer(map);
    for (unsigned i = 0; i < 4096; i++) ck_assert_uint_eq(bytes[i], i <= round ? i + 1 : 0);
    hrx_map_release(map);
  }
  hrx_buffer_release(source);
  hrx_buffer_release(target);
  hrx_stream_close(stream);
}
END_TEST

/* A kernel that runs until the host sets its flag, beside a copy of it that writes `out`. */
struct running {
  hrx_stream *stream;
  hrx_stream_kernel *kernel;
  hrx_buffer *flag, *out;
};

static struct running running_start(void) {
  struct running running = {0};
  struct fixture code = fixture_read("soft5_O2.co");
  running.flag = buffer_new(runtime, 4, HRX_HOST_VISIBLE);
  running.out = buffer_new(runtime, 4096, HRX_HOST_VISIBLE);
  OK(hrx_stream_open(runtime, &running.stream));
  OK(hrx_stream_kernel_load(running.stream, code.bytes, code.size, "wait", &running.kernel));
  free(code.bytes);
  hrx_view views[2] = {hrx_buffer_view(running.flag), slice(running.out, 0, 64)};
  OK(hrx_stream_dispatch(running.stream, running.kernel, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){1, 1, 1}, 0, views, 2, NULL, 0));
  return running;
}

static void running_end(struct running *running) {
  *(volatile int *)hrx_buffer_address(running->flag) = 5;
  OK(hrx_stream_synchronize(running->stream));
  hrx_stream_kernel_release(running->kernel);
  hrx_buffer_release(running->flag);
  hrx_buffer_release(running->out);
  hrx_stream_close(running->stream);
}

START_TEST(a_map_that_only_tries_does_not_wait_for_the_device) {
  struct running running = running_start();
  hrx_map *map = NULL;
  FAILS(hrx_map_try_read(slice(running.out, 0, 4), &map), BUSY, DEVICE_WORK);
  ck_assert_ptr_null(map);
  hrx_buffer *other = buffer_new(runtime, 64, HRX_HOST_VISIBLE);
  OK(hrx_map_write(hrx_buffer_view(other), &map)); /* what the kernel does not touch is free */
  hrx_map_release(map);
  hrx_buffer_release(other);
  running_end(&running);
}
END_TEST

/* Behaviour 1, for memory: released while a kernel uses it. */
START_TEST(memory_lives_until_the_work_on_it_is_over) {
  struct running running = running_start();
  hrx_buffer *flag = hrx_buffer_retain(running.flag), *out = running.out;
  uint32_t *result = hrx_buffer_address(out);
  uint64_t live = atomic_load(&runtime->statistics.live);
  hrx_buffer_release(out);
  running.out = NULL;
  ck_assert_uint_eq(atomic_load(&runtime->statistics.live), live);
  ck_assert_uint_eq(*(volatile uint32_t *)result, 0);
  running_end(&running);
  hrx_buffer_release(flag);
}
END_TEST

/* --- stages --- */

struct stage {
  hrx_buffer *buffer;
  hrx_status nested, mapped, outcome;
  hrx_reason nested_reason, mapped_reason;
  hrx_stream *other;
};

static hrx_status empty_stage(void *context, hrx_stream *stream) {
  (void)context;
  (void)stream;
  return HRX_OK;
}

static hrx_status stage_run(void *context, hrx_stream *stream) {
  struct stage *stage = context;
  hrx_view_access access = {hrx_buffer_view(stage->buffer), HRX_WRITE};
  stage->nested = hrx_runtime_with_gpu_access(runtime, stream, &access, 1, empty_stage, NULL);
  stage->nested_reason = hrx_last_reason();
  stage->mapped = hrx_map_read(hrx_buffer_view(stage->buffer), &(hrx_map *){NULL});
  stage->mapped_reason = hrx_last_reason();
  if (hrx_stream_fill(stream, hrx_buffer_view(stage->buffer), 0x5a) != HRX_OK) return HRX_BACKEND;
  if (stage->outcome != HRX_OK) return hrx_fail(stage->outcome, "the stage failed");
  return HRX_OK;
}

/* Behaviour 10 */
START_TEST(a_stage_excludes_others_and_ends_with_its_work) {
  hrx_stream *stream = NULL;
  struct stage stage = {.buffer = buffer_new(runtime, 1 << 20, HRX_HOST_VISIBLE)};
  OK(hrx_stream_open(runtime, &stream));
  for (int round = 0; round < 2; round++) {
    stage.outcome = round == 0 ? HRX_OK : HRX_EXECUTION;
    hrx_view_access accesses[2] = {{slice(stage.buffer, 0, 4), HRX_READ}, {slice(stage.buffer, 8, 4), HRX_WRITE}};
    hrx_status status = hrx_runtime_with_gpu_access(runtime, stream, accesses, 2, stage_run, &stage);
    ck_assert_int_eq(status, stage.outcome);
    if (round == 1) ck_assert_str_eq(hrx_last_message(), "the stage failed");
    ck_assert_int_eq(stage.nested, HRX_BUSY);
    ck_assert_int_eq(stage.nested_reason, HRX_REASON_HANDED_OFF);
    ck_assert_int_eq(stage.mapped, HRX_BUSY);
    ck_assert_int_eq(stage.mapped_reason, HRX_REASON_HANDED_OFF);
    hrx_map *map = NULL;
    OK(hrx_map_try_read(hrx_buffer_view(stage.buffer), &map)); /* its work is over, also after a failure */
    ck_assert_uint_eq(((uint8_t *)hrx_map_pointer(map))[(1 << 20) - 1], 0x5a);
    hrx_view_access whole = {hrx_buffer_view(stage.buffer), HRX_WRITE};
    FAILS(hrx_runtime_with_gpu_access(runtime, stream, &whole, 1, empty_stage, NULL), BUSY, MAPPED);
    hrx_map_release(map);
  }
  FAILS(hrx_runtime_with_gpu_access(runtime, stream, NULL, 0, empty_stage, NULL), INVALID, EMPTY);
  hrx_buffer_release(stage.buffer);
  hrx_stream_close(stream);
}
END_TEST

/* --- traces --- */

START_TEST(one_trace_at_a_time) {
  hrx_trace *trace = NULL;
  hrx_stream *stream = NULL;
  OK(hrx_runtime_finish_trace(runtime, &trace));
  ck_assert_ptr_null(trace);
  FAILS(hrx_runtime_start_trace(runtime, 0), INVALID, ARGUMENT);
  OK(hrx_runtime_start_trace(runtime, 4));
  FAILS(hrx_runtime_start_trace(runtime, 4), BUSY, TRACING);
  hrx_buffer *buffer = buffer_new(runtime, 4096, HRX_GPU_LOCAL);
  OK(hrx_stream_open(runtime, &stream));
  for (int i = 0; i < 10; i++) OK(hrx_stream_fill(stream, hrx_buffer_view(buffer), 1));
  OK(hrx_stream_synchronize(stream));
  OK(hrx_runtime_finish_trace(runtime, &trace));
  ck_assert_uint_eq(hrx_trace_count(trace), 4);
  ck_assert_uint_eq(hrx_trace_dropped(trace), 6);
  hrx_trace_event event;
  OK(hrx_trace_event_get(trace, 3, &event));
  ck_assert_int_eq(event.kind, HRX_EVENT_FILL);
  ck_assert_uint_eq(event.bytes, 4096);
  ck_assert_uint_ge(event.finished_ns, event.started_ns);
  FAILS(hrx_trace_event_get(trace, 4, &event), INVALID, ARGUMENT);
  char *text = NULL;
  size_t bytes = 0;
  OK(hrx_trace_json(trace, &text, &bytes));
  ck_assert_uint_eq(strlen(text), bytes);
  free(text);
  hrx_trace_release(trace);
  hrx_buffer_release(buffer);
  hrx_stream_close(stream);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native_memory");
  TCase *tests = tcase_create("native_memory");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_bad_option_is_named);
  tcase_add_test(tests, runtimes_are_domains_of_their_own);
  tcase_add_test(tests, a_runtime_lives_as_long_as_its_buffers);
  tcase_add_test(tests, a_device_that_failed_to_open_can_be_tried_again);
  tcase_add_test(tests, threads_that_open_at_once_open_once);
  tcase_add_test(tests, a_forked_child_has_runtimes_of_its_own);
  tcase_add_test(tests, buffers_have_1_to_SSIZE_MAX_bytes);
  tcase_add_test(tests, buffers_are_zero_also_where_memory_is_used_again);
  tcase_add_test(tests, shared_memory_is_imported_once);
  tcase_add_test(tests, ten_thousand_buffers_at_once);
  tcase_add_test(tests, a_slice_cannot_leave_its_parent_or_wrap);
  tcase_add_test(tests, the_budget_is_charged_before_memory_is_there);
  tcase_add_test(tests, adopted_memory_is_charged_once_and_as_long_as_it_lives);
  tcase_add_test(tests, scratch_is_given_up_for_a_budget_that_is_full);
  tcase_add_test(tests, many_readers_or_one_writer_of_a_byte);
  tcase_add_test(tests, local_memory_has_no_host_map);
  tcase_add_test(tests, the_host_and_the_device_see_what_the_other_wrote);
  tcase_add_test(tests, a_map_that_only_tries_does_not_wait_for_the_device);
  tcase_add_test(tests, memory_lives_until_the_work_on_it_is_over);
  tcase_add_test(tests, a_stage_excludes_others_and_ends_with_its_work);
  tcase_add_test(tests, one_trace_at_a_time);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
