/* What the tests of the native runtime have in common: a runtime with kernels, and gates that hold work up. */
#ifndef HRX_TESTS_UNIT_NATIVE_USE_H
#define HRX_TESTS_UNIT_NATIVE_USE_H

#include <check.h>
#include <hrx/hrx.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "fixture.h"

enum { WORDS = 1024, BYTES = 4 * WORDS };

#define OK(call) ck_assert_msg((call) == HRX_OK, "%s: %s", #call, hrx_last_message())
#define FAILS(call, status, reason)                                                                         \
  do {                                                                                                      \
    ck_assert_int_eq((call), (status));                                                                     \
    ck_assert_msg(hrx_last_reason() == (reason), "%s: reason %d: %s", #call, hrx_last_reason(), hrx_last_message()); \
  } while (0)

static inline hrx_runtime *runtime_with(hrx_runtime_options options) {
  options.size = sizeof options;
  options.gpu = HRX_GPU_SOFT;
  hrx_runtime *runtime;
  OK(hrx_runtime_create(&options, &runtime));
  return runtime;
}

static inline hrx_runtime *runtime_new(void) { return runtime_with((hrx_runtime_options){0}); }

static inline hrx_buffer *buffer_of(hrx_runtime *runtime, size_t bytes, hrx_placement placement) {
  hrx_buffer *buffer;
  OK(hrx_buffer_create(runtime, bytes, placement, 0, &buffer));
  return buffer;
}

static inline hrx_buffer *buffer_new(hrx_runtime *runtime) { return buffer_of(runtime, BYTES, HRX_HOST_VISIBLE); }

/* The software GPU's memory is the host's: what is there once work is over. */
static inline unsigned word_at(const hrx_buffer *buffer, size_t index) { return ((unsigned *)hrx_buffer_address(buffer))[index]; }

static inline void words_are(const hrx_buffer *buffer, unsigned value) {
  for (size_t i = 0; i < hrx_buffer_bytes(buffer) / 4; i++) ck_assert_uint_eq(word_at(buffer, i), value);
}

static inline hrx_view whole(hrx_buffer *buffer) { return hrx_buffer_view(buffer); }

static inline hrx_view slice(hrx_buffer *buffer, size_t offset, size_t bytes) {
  hrx_view view;
  OK(hrx_view_slice(whole(buffer), offset, bytes, &view));
  return view;
}

static inline hrx_contract *contract_of(const hrx_access *accesses, size_t count) {
  hrx_binding bindings[8] = {{0}};
  for (size_t i = 0; i < count; i++) bindings[i] = (hrx_binding){.bytes = BYTES, .alignment = 4, .access = accesses[i]};
  hrx_contract *contract;
  OK(hrx_contract_create(bindings, count, &contract));
  return contract;
}

static inline hrx_gpu_kernel *kernel_load(hrx_runtime *runtime, const char *name, hrx_contract *contract) {
  struct fixture fixture = fixture_read("native.co");
  hrx_gpu_kernel *kernel;
  OK(hrx_gpu_kernel_load(runtime, fixture.bytes, fixture.size, name, (hrx_dimensions){WORDS / 64, 1, 1}, (hrx_dimensions){64, 1, 1}, 0,
                         contract, &kernel));
  free(fixture.bytes);
  hrx_contract_release(contract);
  return kernel;
}

/* words[i] += by */
static inline hrx_gpu_kernel *increment_kernel(hrx_runtime *runtime, unsigned by) {
  hrx_contract *contract = contract_of((hrx_access[]){HRX_READ_WRITE}, 1);
  OK(hrx_contract_push_u32(contract, WORDS));
  OK(hrx_contract_push_u32(contract, by));
  return kernel_load(runtime, "increment", contract);
}

/* out = a + b */
static inline hrx_gpu_kernel *sum_kernel(hrx_runtime *runtime) {
  hrx_contract *contract = contract_of((hrx_access[]){HRX_WRITE, HRX_READ, HRX_READ}, 3);
  OK(hrx_contract_push_u32(contract, WORDS));
  return kernel_load(runtime, "sum", contract);
}

static inline hrx_gpu_kernel *trap_kernel(hrx_runtime *runtime) {
  return kernel_load(runtime, "trap", contract_of((hrx_access[]){HRX_WRITE}, 1));
}

static inline hrx_stream_kernel *stream_kernel_load(hrx_stream *stream, const char *name) {
  struct fixture fixture = fixture_read("native.co");
  hrx_stream_kernel *kernel;
  OK(hrx_stream_kernel_load(stream, fixture.bytes, fixture.size, name, &kernel));
  free(fixture.bytes);
  return kernel;
}

static inline hrx_executable *prepared(hrx_graph *graph) {
  hrx_executable *executable;
  OK(hrx_graph_prepare(graph, &executable));
  hrx_graph_release(graph);
  return executable;
}

static inline hrx_graph *graph_new(hrx_runtime *runtime) {
  hrx_graph *graph;
  OK(hrx_graph_create(runtime, &graph));
  return graph;
}

static inline hrx_completion *submitted(hrx_executable *executable) {
  hrx_completion *completion;
  OK(hrx_executable_submit(executable, &completion));
  return completion;
}

static inline void finish(hrx_completion *completion) {
  OK(hrx_completion_wait(completion));
  hrx_completion_release(completion);
}

static inline void run_once(hrx_executable *executable) { finish(submitted(executable)); }

/* A host function that begins, then stands until it is opened. */
struct gate {
  sem_t begun, open;
  _Atomic unsigned passed;
};

static inline void gate_init(struct gate *gate) {
  sem_init(&gate->begun, 0, 0);
  sem_init(&gate->open, 0, 0);
  gate->passed = 0;
}

static inline void down(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {
  }
}

static inline hrx_status gate_pass(void *context) {
  struct gate *gate = context;
  sem_post(&gate->begun);
  down(&gate->open);
  gate->passed++;
  return HRX_OK;
}

/* An executable that writes `buffer` (a host function) and holds it until the gate is opened. */
static inline hrx_executable *gated(hrx_runtime *runtime, struct gate *gate, hrx_buffer *buffer) {
  hrx_graph *graph = graph_new(runtime);
  hrx_view_access access = {whole(buffer), HRX_READ_WRITE};
  OK(hrx_graph_host(graph, &access, 1, gate_pass, gate, NULL, NULL));
  return prepared(graph);
}

static inline hrx_executable *filling(hrx_runtime *runtime, hrx_buffer *buffer, uint8_t byte) {
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_fill(graph, whole(buffer), byte, NULL));
  return prepared(graph);
}

static inline int suite_run(const char *name, const TTest *const *tests) {
  Suite *suite = suite_create(name);
  TCase *cases = tcase_create("all");
  tcase_set_timeout(cases, 120);
  for (; *tests != NULL; tests++) tcase_add_test(cases, *tests);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

#endif
