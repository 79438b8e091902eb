/* Every request of the native runtime for memory, threads and devices fails once: hrx/ from a runtime's creation to its end. */
#include "fault_scenario.h"

#include <hrx/hrx.h>
#include <limits.h>
#include <poll.h>
#include <semaphore.h>

#include "fixture.h"

enum { WORDS = 1024, BYTES = 4 * WORDS, FILLED = 0x01010101 };
static const hrx_dimensions GRID = {WORDS / 64, 1, 1}, BLOCK = {64, 1, 1};

static struct fixture native_code, npu_code;
static char npu_path[PATH_MAX + 32], folder[32], text_path[64];

static struct {
  hrx_runtime *runtime;
  hrx_npu *npu;
  hrx_buffer *shared, *other, *local, *npu_local, *visible, *spare;
  hrx_contract *update, *adds, *copies;
  hrx_gpu_kernel *increment, *sum;
  hrx_npu_kernel *copy, *copy_again;
  hrx_graph *graph;
  hrx_executable *executable;
  hrx_node increments;
  unsigned by; /* what `increments` adds */
  hrx_stream *stream, *second;
  hrx_stream_kernel *stream_increment;
  hrx_gpu_kernel *adopted_kernel;
} scene;

/* A failure has a sentence of its own: not the one that was there before the call. */
static void message_spoil(void) { hrx_fail(HRX_INVALID, "stale"); }

static bool accepts(int status, bool later) {
  const char *message = hrx_last_message();
  bool good = status == HRX_OUT_OF_MEMORY;
  if (fault.kind == FAULT_SYSTEM) good |= status == HRX_IO || status == HRX_BACKEND || status == HRX_UNSUPPORTED;
  if (fault.kind == FAULT_LOST) good = later ? status == HRX_EXECUTION || status == HRX_DEVICE_LOST : status == HRX_DEVICE_LOST;
  if (good && (fault.kind == FAULT_DEVICE || fault.kind == FAULT_LOST)) good = strstr(message, "injected") != NULL;
  if (good && message[0] != '\0' && strcmp(message, "stale") != 0) return true;
  fprintf(stderr, "%s: %s (made to fail: %s at %#zx)\n", hrx_status_name((hrx_status)status), message, fault.name,
          (size_t)fault_site_offset(fault.site));
  return false;
}

static hrx_view whole(hrx_buffer *buffer) { return hrx_buffer_view(buffer); }

static bool words_are(const unsigned *words, unsigned value) {
  for (unsigned i = 0; i < WORDS; i++)
    if (words[i] != value) return false;
  return true;
}

/* --- units --- */

static bool unit_runtime(void) {
  bool done = false;
  const char *target = NULL;
  hrx_runtime_options options = {.size = sizeof options, .gpu = HRX_GPU_SOFT, .npu = HRX_NPU_SOFT, .memory_budget = UINT64_C(1) << 30};
  OUT(scene.runtime, hrx_runtime_create(&options, &scene.runtime));
  OUT(target, hrx_runtime_gpu(scene.runtime, &target));
  OUT(scene.npu, hrx_runtime_npu(scene.runtime, 0, &scene.npu));
  STEP(hrx_runtime_start_trace(scene.runtime, 256));
  done = true;
over:
  return done;
}

static bool unit_buffers(void) {
  bool done = false;
  OUT(scene.shared, hrx_buffer_create(scene.runtime, BYTES, HRX_SHARED, 0, &scene.shared));
  OUT(scene.other, hrx_buffer_create(scene.runtime, BYTES, HRX_SHARED, 0, &scene.other));
  OUT(scene.local, hrx_buffer_create(scene.runtime, BYTES, HRX_GPU_LOCAL, 0, &scene.local));
  OUT(scene.npu_local, hrx_buffer_create(scene.runtime, BYTES, HRX_NPU_LOCAL, 0, &scene.npu_local));
  OUT(scene.visible, hrx_buffer_create(scene.runtime, BYTES, HRX_HOST_VISIBLE, 0, &scene.visible));
  OUT(scene.spare, hrx_buffer_create(scene.runtime, BYTES, HRX_HOST_VISIBLE, 0, &scene.spare));
  done = true;
over:
  return done;
}

static bool unit_kernels(void) {
  static const char json[] = "{\"bindings\":[{\"bytes\":4096,\"access\":\"write\"},{\"bytes\":4096,\"access\":\"read\",\"layout\":\"rows\"},"
                             "{\"bytes\":4096,\"access\":\"read\"}],\"constants\":[{\"index\":1024}]}";
  const hrx_binding update = {BYTES, 4, HRX_READ_WRITE, "rows"}, copies[] = {{BYTES, 0, HRX_WRITE, NULL}, {BYTES, 0, HRX_READ, NULL}};
  bool done = false;
  hrx_kernel_info info = {.size = sizeof info};
  OUT(scene.update, hrx_contract_create(&update, 1, &scene.update));
  STEP(hrx_contract_push_u32(scene.update, WORDS));
  STEP(hrx_contract_push_u32(scene.update, 5));
  OUT(scene.adds, hrx_contract_parse(json, sizeof json - 1, &scene.adds));
  OUT(scene.copies, hrx_contract_create(copies, 2, &scene.copies));
  OUT(scene.increment, hrx_gpu_kernel_load(scene.runtime, native_code.bytes, native_code.size, "increment", GRID, BLOCK, 0, scene.update,
                                           &scene.increment));
  OUT(scene.sum, hrx_gpu_kernel_load(scene.runtime, native_code.bytes, native_code.size, "sum", GRID, BLOCK, 0, scene.adds, &scene.sum));
  OUT(scene.copy, hrx_npu_kernel_load_file(scene.npu, npu_path, "copy", 2, scene.copies, &scene.copy));
  OUT(scene.copy_again, hrx_npu_kernel_load(scene.npu, npu_code.bytes, npu_code.size, "copy", 1, scene.copies, &scene.copy_again));
  STEP(hrx_gpu_kernel_info(scene.increment, &info));
  scene.by = 5;
  done = true;
over:
  return done;
}

static _Atomic unsigned looked;

static hrx_status look(void *context) {
  (void)context;
  looked++;
  return HRX_OK;
}

static bool unit_record(void) {
  bool done = false;
  hrx_node node;
  OUT(scene.graph, hrx_graph_create(scene.runtime, &scene.graph));
  hrx_view_access seen = {whole(scene.visible), HRX_READ};
  VALUE(node, 77, 77, hrx_graph_fill(scene.graph, whole(scene.shared), 1, &node));
  VALUE(scene.increments, 77, 77, hrx_graph_gpu(scene.graph, scene.increment, (hrx_view[]){whole(scene.shared)}, 1, &scene.increments));
  MUST(scene.increments == 1);
  VALUE(node, 77, 77, hrx_graph_npu(scene.graph, scene.copy, (hrx_view[]){whole(scene.other), whole(scene.shared)}, 2, &node));
  VALUE(node, 77, 77, hrx_graph_copy(scene.graph, whole(scene.npu_local), whole(scene.other), &node));
  VALUE(node, 77, 77, hrx_graph_npu_aliasing(scene.graph, scene.copy_again, (hrx_view[]){whole(scene.other), whole(scene.npu_local)}, 2, &node));
  VALUE(node, 77, 77, hrx_graph_join(scene.graph, &node));
  VALUE(node, 77, 77, hrx_graph_copy_on(scene.graph, HRX_LANE_COPY, whole(scene.visible), whole(scene.other), &node));
  VALUE(node, 77, 77, hrx_graph_gpu(scene.graph, scene.sum, (hrx_view[]){whole(scene.local), whole(scene.shared), whole(scene.visible)}, 3, &node));
  VALUE(node, 77, 77, hrx_graph_copy(scene.graph, whole(scene.visible), whole(scene.local), &node));
  VALUE(node, 77, 77, hrx_graph_host(scene.graph, &seen, 1, look, NULL, NULL, &node));
  MUST(node == 9 && hrx_graph_node_count(scene.graph) == 10);
  done = true;
over:
  return done;
}

static bool unit_prepare(void) {
  bool done = false;
  size_t count = 0;
  hrx_view_access regions[32];
  hrx_executable_statistics statistics = {.size = sizeof statistics};
  OUT(scene.executable, hrx_graph_prepare(scene.graph, &scene.executable));
  STEP(hrx_executable_regions(scene.executable, regions, 32, &count));
  STEP(hrx_executable_statistics_get(scene.executable, &statistics));
  STEP(hrx_executable_write_dot(scene.executable, text_path));
  MUST(count == 5 && statistics.nodes == 10);
  done = true;
over:
  return done;
}

static sem_t called;
static void call(void *context, hrx_completion *completion) {
  (void)context, (void)completion;
  sem_post(&called);
}

static void called_wait(void) {
  while (sem_wait(&called) != 0) {
  }
}

/* A cancelled run gives its slot away at once only if there is memory for another; else when it has drained. */
static hrx_status submit_after(hrx_completion *const *after, size_t count, hrx_completion **out_completion) {
  hrx_status status;
  do
    status = hrx_executable_submit_after(scene.executable, after, count, out_completion);
  while (status == HRX_BUSY && hrx_last_reason() == HRX_REASON_SLOTS && atomic_load(&fault.fired) && sched_yield() == 0);
  return status;
}

static bool unit_submit(void) {
  bool done = false;
  hrx_completion *first = NULL, *then = NULL;
  int descriptor = -1;
  hrx_profile profile = {.size = sizeof profile};
  unsigned found[WORDS];
  unsigned before = looked;
  OUT(first, submit_after(NULL, 0, &first));
  VALUE(descriptor, -1, -1, hrx_completion_event_fd(first, &descriptor));
  OUT(then, submit_after(&first, 1, &then));
  STEP(hrx_completion_on_complete(then, call, NULL));
  called_wait();
  struct pollfd readable = {.fd = descriptor, .events = POLLIN};
  MUST(poll(&readable, 1, -1) == 1);
  LATER(hrx_completion_wait(first));
  LATER(hrx_completion_wait(then));
  LATER(hrx_completion_result(then));
  STEP(hrx_completion_profile(then, &profile));
  LATER(hrx_view_read(whole(scene.visible), found, BYTES));
  MUST(words_are(found, 2 * (FILLED + scene.by)));
  MUST(looked >= before + 2); /* of an earlier runtime that was let go there may be one on the way */
  done = true;
over:
  if (descriptor >= 0) close(descriptor);
  hrx_completion_release(first);
  hrx_completion_release(then);
  return done;
}

static bool unit_maps(void) {
  bool done = false;
  hrx_map *map = NULL;
  hrx_view half = {0};
  STEP(hrx_view_slice(whole(scene.shared), BYTES / 2, BYTES / 2, &half));
  OUT(map, hrx_map_write(half, &map));
  memset(hrx_map_pointer(map), 2, hrx_map_bytes(map));
  hrx_map_release(map);
  map = NULL;
  OUT(map, hrx_map_try_read(whole(scene.shared), &map));
  MUST(((unsigned *)hrx_map_pointer(map))[WORDS - 1] == 2 * FILLED);
  done = true;
over:
  hrx_map_release(map);
  return done;
}

static bool unit_rebind(void) {
  bool done = false;
  hrx_completion *completion = NULL;
  unsigned found[WORDS], constants[] = {WORDS, 9};
  STEP(hrx_executable_update_constants(scene.executable, scene.increments, constants, sizeof constants));
  scene.by = 9;
  STEP(hrx_executable_rebind(scene.executable, (hrx_view[]){whole(scene.visible)}, (hrx_view[]){whole(scene.spare)}, 1));
  OUT(completion, hrx_executable_submit(scene.executable, &completion));
  LATER(hrx_completion_wait(completion));
  LATER(hrx_view_read(whole(scene.spare), found, BYTES));
  MUST(words_are(found, 2 * (FILLED + 9)));
  done = true;
over:
  hrx_completion_release(completion);
  if (done || fault_mode == FAULT_AGAIN) { /* back, for the next try and unit */
    hrx_status status = hrx_executable_rebind(scene.executable, (hrx_view[]){whole(scene.spare)}, (hrx_view[]){whole(scene.visible)}, 1);
    if (status != HRX_OK) status = hrx_executable_rebind(scene.executable, (hrx_view[]){whole(scene.spare)}, (hrx_view[]){whole(scene.visible)}, 1);
    MUST(status == HRX_OK || fault_mode == FAULT_FOREVER);
  }
  return done;
}

static sem_t begun, opened;
static hrx_status gate_pass(void *context) {
  (void)context;
  sem_post(&begun);
  while (sem_wait(&opened) != 0) {
  }
  return HRX_OK;
}

static hrx_status is_cancelled(hrx_status status) { return status == HRX_CANCELLED ? HRX_OK : status; }

static bool unit_cancel(void) {
  bool done = false, closed = false;
  hrx_graph *graph = NULL;
  hrx_executable *gate = NULL;
  hrx_completion *held = NULL, *cancelled = NULL;
  hrx_view_access access = {whole(scene.other), HRX_READ_WRITE};
  OUT(graph, hrx_graph_create(scene.runtime, &graph));
  STEP(hrx_graph_host(graph, &access, 1, gate_pass, NULL, NULL, NULL));
  OUT(gate, hrx_graph_prepare(graph, &gate));
  OUT(held, hrx_executable_submit(gate, &held));
  closed = true;
  while (sem_wait(&begun) != 0) {
  }
  OUT(cancelled, hrx_executable_submit(scene.executable, &cancelled));
  STEP(hrx_completion_cancel(cancelled));
  sem_post(&opened);
  closed = false;
  LATER(hrx_completion_wait(held));
  LATER(is_cancelled(hrx_completion_wait(cancelled)));
  done = true;
over:
  if (closed) sem_post(&opened);
  hrx_completion_release(held);
  hrx_completion_release(cancelled);
  hrx_executable_release(gate);
  hrx_graph_release(graph);
  return done;
}

static bool unit_stream_open(void) {
  bool done = false;
  OUT(scene.stream, hrx_stream_open(scene.runtime, &scene.stream));
  OUT(scene.second, hrx_stream_open(scene.runtime, &scene.second));
  STEP(hrx_stream_attach_budget(scene.second));
  OUT(scene.stream_increment, hrx_stream_kernel_load(scene.stream, native_code.bytes, native_code.size, "increment", &scene.stream_increment));
  OUT(scene.adopted_kernel, hrx_gpu_kernel_adopt(scene.runtime, scene.stream_increment, GRID, BLOCK, 0, scene.update, &scene.adopted_kernel));
  done = true;
over:
  return done;
}

static hrx_status stage(void *context, hrx_stream *stream) { return hrx_stream_fill(stream, *(hrx_view *)context, 4); }

static bool unit_stream(void) {
  static unsigned in[WORDS];
  bool done = false;
  hrx_buffer *a = NULL, *b = NULL, *scratch = NULL, *again = NULL, *adopted = NULL;
  hrx_event *event = NULL;
  unsigned found[WORDS], constants[] = {WORDS, 3};
  for (unsigned i = 0; i < WORDS; i++) in[i] = 100;
  OUT(a, hrx_stream_allocate_zeroed(scene.stream, BYTES, &a));
  OUT(b, hrx_stream_allocate(scene.second, BYTES, &b));
  STEP(hrx_stream_upload(scene.stream, a, in, BYTES));
  hrx_view view = whole(a);
  STEP(hrx_stream_dispatch(scene.stream, scene.stream_increment, GRID, BLOCK, 0, &view, 1, constants, sizeof constants));
  OUT(scratch, hrx_stream_scratch(scene.stream, BYTES, &scratch));
  STEP(hrx_stream_copy(scene.stream, whole(scratch), whole(a)));
  OUT(event, hrx_stream_record_event(scene.stream, &event));
  STEP(hrx_stream_wait_event(scene.second, event));
  STEP(hrx_stream_copy(scene.second, whole(b), whole(scratch)));
  hrx_stream_recycle(scene.stream, scratch);
  scratch = NULL;
  OUT(again, hrx_stream_scratch(scene.stream, BYTES, &again));
  STEP(hrx_stream_fill(scene.stream, (hrx_view){a, 0, 64}, 7));
  STEP(hrx_stream_upload_at(scene.stream, (hrx_view){a, 64, 64}, in, 64));
  LATER(hrx_event_wait(event));
  STEP(hrx_stream_submit(scene.stream));
  LATER(hrx_stream_upload_blocking(scene.second, (hrx_view){again, 0, 64}, in, 64));
  LATER(hrx_stream_read(scene.second, whole(b), found, BYTES));
  MUST(words_are(found, 103));
  LATER(hrx_stream_read(scene.stream, whole(a), found, BYTES));
  MUST(found[0] == 0x07070707 && found[16] == 100 && found[32] == 103);
  LATER(hrx_stream_synchronize(scene.stream));
  STEP(hrx_stream_set_scratch_limit(scene.stream, 4 * BYTES));
  OUT(adopted, hrx_buffer_adopt(scene.runtime, a, HRX_SHARED, 0, &adopted));
  view = whole(adopted);
  hrx_view_access access = {view, HRX_READ_WRITE};
  LATER(hrx_runtime_with_gpu_access(scene.runtime, scene.stream, &access, 1, stage, &view));
  LATER(hrx_view_read(view, found, BYTES));
  MUST(words_are(found, 0x04040404));
  done = true;
over:
  if (!done) { /* each stream reports a failure that it waited for */
    hrx_stream_synchronize(scene.stream);
    hrx_stream_synchronize(scene.second);
  }
  hrx_event_release(event);
  hrx_stream_recycle(scene.stream, again);
  hrx_buffer_release(scratch);
  hrx_buffer_release(adopted);
  hrx_buffer_release(b);
  hrx_buffer_release(a);
  return done;
}

static bool unit_explicit(void) {
  static const char *const labels[] = {"fill", "dispatch", "copy"};
  bool done = false;
  hrx_buffer *a = NULL, *b = NULL;
  hrx_gpu_graph *graph = NULL;
  hrx_gpu_executable *executable = NULL, *profiled = NULL;
  hrx_node fill, join, last;
  hrx_node_profile profiles[3];
  unsigned found[WORDS], constants[] = {WORDS, 2};
  OUT(a, hrx_stream_allocate_zeroed(scene.stream, BYTES, &a));
  OUT(b, hrx_stream_allocate_zeroed(scene.stream, BYTES, &b));
  hrx_view view = whole(a);
  OUT(graph, hrx_stream_graph(scene.stream, &graph));
  VALUE(fill, 77, 77, hrx_gpu_graph_fill(graph, whole(a), 1, NULL, 0, &fill));
  VALUE(last, 77, 77, hrx_gpu_graph_dispatch(graph, scene.stream_increment, GRID, BLOCK, 0, &view, 1, constants, sizeof constants, &fill, 1, &last));
  VALUE(join, 77, 77, hrx_gpu_graph_join(graph, (hrx_node[]){fill, 1}, 2, &join));
  VALUE(last, 77, 77, hrx_gpu_graph_copy(graph, whole(b), whole(a), &join, 1, &last));
  OUT(executable, hrx_gpu_graph_finish(graph, &executable));
  OUT(profiled, hrx_gpu_graph_finish_profiled(graph, labels, 3, &profiled));
  STEP(hrx_stream_launch(scene.stream, executable));
  LATER(hrx_stream_read(scene.stream, whole(b), found, BYTES));
  MUST(words_are(found, FILLED + 2));
  LATER(hrx_stream_launch_profiled(scene.stream, profiled, profiles, 3));
  LATER(hrx_stream_synchronize(scene.stream));
  done = true;
over:
  hrx_gpu_executable_release(executable);
  hrx_gpu_executable_release(profiled);
  hrx_gpu_graph_release(graph);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  return done;
}

static bool unit_statistics(void) {
  bool done = false;
  char *text = NULL;
  size_t bytes = 0;
  hrx_trace *trace = NULL;
  hrx_statistics statistics = {.size = sizeof statistics};
  STEP(hrx_runtime_statistics(scene.runtime, &statistics));
  MUST(statistics.allocations >= 6);
  OUT(text, hrx_runtime_statistics_json(scene.runtime, &text));
  free(text);
  text = NULL;
  OUT(trace, hrx_runtime_finish_trace(scene.runtime, &trace));
  MUST(trace != NULL && hrx_trace_count(trace) > 10);
  STEP(hrx_trace_write(trace, text_path));
  OUT(text, hrx_trace_json(trace, &text, &bytes));
  done = true;
over:
  free(text);
  hrx_trace_release(trace);
  return done;
}

static void scene_release(void) {
  hrx_gpu_kernel_release(scene.adopted_kernel);
  hrx_stream_kernel_release(scene.stream_increment);
  hrx_stream_close(scene.second);
  hrx_stream_close(scene.stream);
  hrx_executable_release(scene.executable);
  hrx_graph_release(scene.graph);
  hrx_npu_kernel_release(scene.copy_again);
  hrx_npu_kernel_release(scene.copy);
  hrx_gpu_kernel_release(scene.sum);
  hrx_gpu_kernel_release(scene.increment);
  hrx_contract_release(scene.update);
  hrx_contract_release(scene.adds);
  hrx_contract_release(scene.copies);
  hrx_buffer *const buffers[] = {scene.shared, scene.other, scene.local, scene.npu_local, scene.visible, scene.spare};
  for (unsigned i = 0; i < sizeof buffers / sizeof *buffers; i++) hrx_buffer_release(buffers[i]);
  hrx_runtime_release(scene.runtime);
}

static bool (*const units[])(void) = {unit_runtime, unit_buffers, unit_kernels, unit_record,   unit_prepare,    unit_submit, unit_maps,
                                      unit_rebind,  unit_cancel,  unit_submit,  unit_stream_open, unit_stream, unit_explicit, unit_statistics,
                                      NULL};
static const struct scenario whole_runtime = {.name = "runtime", .scene = &scene, .scene_bytes = sizeof scene, .units = units,
                                              .release = scene_release, .accepts = accepts, .before = message_spoil};

START_TEST(memory_may_be_missing_anywhere) { faults_try(FAULT_MEMORY, 41); }
END_TEST
START_TEST(files_and_libraries_may_fail_anywhere) { faults_try(FAULT_SYSTEM, 7); }
END_TEST
START_TEST(threads_may_be_missing_anywhere) { faults_try(FAULT_THREAD, 1); }
END_TEST
START_TEST(devices_may_refuse_anywhere) { faults_try(FAULT_DEVICE, 11); }
END_TEST
START_TEST(work_may_be_lost_anywhere) { faults_try(FAULT_LOST, 3); }
END_TEST

/* The file lies beside the tests' folder. */
static void npu_path_find(void) {
  ssize_t length = readlink("/proc/self/exe", npu_path, PATH_MAX - 1);
  ck_assert_int_gt(length, 0);
  npu_path[length] = '\0';
  for (int i = 0; i < 3; i++) *strrchr(npu_path, '/') = '\0';
  strcat(npu_path, "/lib/npu/copy.so");
}

static void setup(void) {
  scenario = &whole_runtime;
  sem_init(&called, 0, 0);
  sem_init(&begun, 0, 0);
  sem_init(&opened, 0, 0);
  native_code = fixture_read("native.co");
  npu_path_find();
  npu_code = fixture_read("../../lib/npu/copy.so");
  strcpy(folder, "/tmp/hrx-faults-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(text_path, sizeof text_path, "%s/text", folder);
}

static void teardown(void) {
  unlink(text_path);
  rmdir(folder);
  free(native_code.bytes);
  free(npu_code.bytes);
}

START_TEST(the_one_that_was_asked_for) { fault_only(); }
END_TEST

int main(void) {
  return faults_run("faults_native", setup, teardown, the_one_that_was_asked_for,
                    (const TTest *const[]){memory_may_be_missing_anywhere, files_and_libraries_may_fail_anywhere,
                                           threads_may_be_missing_anywhere, devices_may_refuse_anywhere, work_may_be_lost_anywhere, NULL});
}
