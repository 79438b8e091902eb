/* Memory and events of one process in another, and what their handles must not do. */
#include <check.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/state.h"
#include "memory/memory.h"

enum { BYTES = 10000, VIEWS = 4, LAZY = 0 };

/* A second process, forked before either used the GPU, and a pipe each way. It answers with its exit status. */
struct second {
  pid_t process;
  int to, from;
};

static struct second second_start(int (*run)(int from, int to)) {
  int down[2], up[2];
  ck_assert(pipe(down) == 0 && pipe(up) == 0);
  struct second second = {fork(), down[1], up[0]};
  if (second.process == 0) {
    close(down[1]);
    close(up[0]);
    _exit(run(down[0], up[1]));
  }
  close(down[0]);
  close(up[1]);
  return second;
}

static void tell(int to, const void *bytes, size_t count) { ck_assert_int_eq(write(to, bytes, count), (int)count); }

static bool hear(int from, void *bytes, size_t count) { return read(from, bytes, count) == (ssize_t)count; }

static void second_passes(struct second *second) {
  int status = 0;
  waitpid(second->process, &status, 0);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the second process ended with %d at step %d", status,
                WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int opens_memory(int from, int to) {
  hipIpcMemHandle_t handles[VIEWS];
  unsigned char *views[VIEWS], bytes[BYTES], *same = NULL;
  hipDeviceptr_t base = NULL;
  size_t size = 0;
  void *none = NULL;
  if (!hear(from, handles, sizeof handles)) return 1;
  if (entry_hipIpcOpenMemHandle(NULL, handles[0], LAZY) != hipErrorInvalidValue) return 2;
  if (entry_hipIpcOpenMemHandle(&none, handles[0], 8) != hipErrorInvalidValue) return 3;
  for (int i = 0; i < VIEWS; i++) {
    if (entry_hipIpcOpenMemHandle((void **)&views[i], handles[i], LAZY) != hipSuccess) return 4;
    if (views[i] != views[0]) return 5; /* the whole allocation, whichever byte the handle was made of */
  }
  if (entry_hipMemGetAddressRange(&base, &size, views[0] + 77) != hipSuccess || base != views[0] || size != BYTES) return 6;
  if (entry_hipMemcpy(bytes, views[0], BYTES, hipMemcpyDeviceToHost) != hipSuccess) return 7;
  for (int i = 0; i < BYTES; i++)
    if (bytes[i] != (unsigned char)(i * 7)) return 8;
  if (entry_hipMemset(views[0] + 5000, 0xee, 100) != hipSuccess) return 9;
  if (entry_hipMemcpy(bytes, views[0] + BYTES - 1, 2, hipMemcpyDeviceToHost) != hipErrorInvalidValue) return 10;
  if (entry_hipFree(views[0]) != hipErrorInvalidValue) return 11;
  hipIpcMemHandle_t again;
  if (entry_hipIpcGetMemHandle(&again, views[0]) != hipErrorInvalidDevicePointer) return 12;
  for (int i = 0; i < VIEWS; i++) {
    if (entry_hipIpcCloseMemHandle(views[0] + 1) != hipErrorInvalidHandle) return 13;
    if (entry_hipIpcCloseMemHandle(views[0]) != hipSuccess) return 14; /* as often as it was opened */
  }
  if (entry_hipIpcCloseMemHandle(views[0]) != hipErrorInvalidHandle) return 15;
  if (entry_hipIpcCloseMemHandle(NULL) != hipErrorInvalidValue) return 16;
  if (entry_hipMemcpy(bytes, views[0], 1, hipMemcpyDeviceToHost) == hipSuccess) return 17;
  if (entry_hipIpcOpenMemHandle((void **)&same, handles[1], LAZY) != hipSuccess) return 18;
  handles[0].reserved[9] ^= 1;
  if (entry_hipIpcOpenMemHandle(&none, handles[0], LAZY) != hipErrorInvalidValue) return 19;
  memset(&handles[0], 0, sizeof handles[0]);
  if (entry_hipIpcOpenMemHandle(&none, handles[0], LAZY) != hipErrorInvalidValue) return 20;
  if (write(to, "o", 1) != 1 || !hear(from, bytes, 1)) return 21; /* the other frees it now */
  if (entry_hipMemcpy(bytes, same, 1, hipMemcpyDeviceToHost) != hipSuccess || bytes[0] != 0) return 22; /* this view lives on */
  if (entry_hipIpcOpenMemHandle(&none, handles[2], LAZY) != hipErrorInvalidDevicePointer || none != NULL) return 23;
  if (entry_hipIpcCloseMemHandle(same) != hipSuccess) return 24;
  return 0;
}

START_TEST(four_views_of_one_allocation_are_its_base) {
  struct second second = second_start(opens_memory);
  hipIpcMemHandle_t handles[VIEWS];
  unsigned char *memory = NULL, *neighbour = NULL, bytes[BYTES], byte = 0;
  ck_assert_int_eq(entry_hipMalloc((void **)&memory, BYTES), hipSuccess);
  ck_assert_int_eq(entry_hipMalloc((void **)&neighbour, 16), hipSuccess);
  ck_assert_int_eq(entry_hipMemset(neighbour, 3, 16), hipSuccess);
  for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i * 7);
  ck_assert_int_eq(entry_hipMemcpy(memory, bytes, BYTES, hipMemcpyHostToDevice), hipSuccess);
  const size_t at[VIEWS] = {0, 1, BYTES / 2, BYTES - 1};
  for (int i = 0; i < VIEWS; i++) ck_assert_int_eq(entry_hipIpcGetMemHandle(&handles[i], memory + at[i]), hipSuccess);
  /* the same address, the same bytes, after they became shared ones */
  memset(bytes, 0, sizeof bytes);
  ck_assert_int_eq(entry_hipMemcpy(bytes, memory, BYTES, hipMemcpyDeviceToHost), hipSuccess);
  for (int i = 0; i < BYTES; i++) ck_assert_uint_eq(bytes[i], (unsigned char)(i * 7));
  void *own = NULL;
  ck_assert_int_eq(entry_hipIpcOpenMemHandle(&own, handles[0], LAZY), hipErrorInvalidContext); /* in the process that made it */
  tell(second.to, handles, sizeof handles);
  ck_assert(hear(second.from, &byte, 1));
  ck_assert_int_eq(entry_hipMemcpy(bytes, memory, BYTES, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_uint_eq(bytes[4999], (unsigned char)(4999 * 7));
  for (int i = 5000; i < 5100; i++) ck_assert_uint_eq(bytes[i], 0xee);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
  void *reused = NULL; /* the same place, but not what the other still sees */
  ck_assert_int_eq(entry_hipMalloc(&reused, BYTES), hipSuccess);
  ck_assert_ptr_eq(reused, memory);
  ck_assert_int_eq(entry_hipMemset(reused, 0x55, BYTES), hipSuccess);
  tell(second.to, "f", 1);
  second_passes(&second);
  ck_assert_int_eq(entry_hipMemcpy(&byte, neighbour, 1, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_uint_eq(byte, 3);
}
END_TEST

START_TEST(only_memory_of_hipmalloc_has_handles) {
  hipIpcMemHandle_t handle, untouched;
  int local = 0;
  void *pinned = NULL, *managed = NULL, *pooled = NULL, *range = NULL, *plain = NULL;
  hipMemGenericAllocationHandle_t physical = NULL;
  hipMemAllocationProp property = {.location = {hipMemLocationTypeDevice, 0}, .type = hipMemAllocationTypePinned};
  memset(&untouched, 0xa5, sizeof untouched);
  handle = untouched;
  ck_assert_int_eq(entry_hipMalloc(&plain, 16), hipSuccess);
  ck_assert_int_eq(entry_hipHostMalloc(&pinned, 16, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMallocManaged(&managed, 16, hipMemAttachGlobal), hipSuccess);
  ck_assert_int_eq(entry_hipMallocAsync(&pooled, 16, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipMemAddressReserve(&range, 4096, 0, NULL, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemCreate(&physical, 4096, &property, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemMap(range, 4096, 0, physical, 0), hipSuccess);
  ck_assert_int_eq(entry_hipIpcGetMemHandle(NULL, plain), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipIpcGetMemHandle(&handle, NULL), hipErrorInvalidValue);
  void *wrong[] = {&local, pinned, managed, pooled, range, (char *)plain + 16};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_int_eq(entry_hipIpcGetMemHandle(&handle, wrong[i]), hipErrorInvalidDevicePointer);
  ck_assert_int_eq(memcmp(&handle, &untouched, sizeof handle), 0);
}
END_TEST

/* Work of both processes on the same bytes, ordered by their events alone. */
static int answers_events(int from, int to) {
  hipIpcMemHandle_t memory_handle;
  hipIpcEventHandle_t event_handles[2];
  hipEvent_t question = NULL, answer = NULL, none = NULL;
  hipStream_t stream = NULL;
  int *numbers = NULL, seen[2] = {0, 0};
  float ms = 0;
  if (!hear(from, &memory_handle, sizeof memory_handle) || !hear(from, event_handles, sizeof event_handles)) return 1;
  if (entry_hipIpcOpenMemHandle((void **)&numbers, memory_handle, LAZY) != hipSuccess) return 2;
  if (entry_hipIpcOpenEventHandle(&question, event_handles[0]) != hipSuccess) return 3;
  if (entry_hipIpcOpenEventHandle(&answer, event_handles[1]) != hipSuccess) return 4;
  if (entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess) return 5;
  for (int round = 1; round <= 20; round++) {
    char byte;
    if (!hear(from, &byte, 1)) return 6; /* the question is recorded, not reached */
    if (entry_hipStreamWaitEvent(stream, question, 0) != hipSuccess) return 7;
    if (entry_hipMemcpyAsync(seen, numbers, sizeof *seen, hipMemcpyDeviceToHost, stream) != hipSuccess) return 8;
    if (entry_hipStreamSynchronize(stream) != hipSuccess || seen[0] != round) return 9;
    if (entry_hipMemsetD32Async(numbers + 1, round * 3, 1, stream) != hipSuccess) return 10;
    if (entry_hipEventRecord(answer, stream) != hipSuccess) return 11;
    if (write(to, "a", 1) != 1) return 12;
  }
  if (entry_hipEventSynchronize(question) != hipSuccess || entry_hipEventQuery(question) != hipSuccess) return 13;
  if (entry_hipEventElapsedTime(&ms, question, question) != hipErrorInvalidHandle) return 14;
  event_handles[0].reserved[20] ^= 4;
  if (entry_hipIpcOpenEventHandle(&none, event_handles[0]) != hipErrorInvalidValue) return 15;
  if (entry_hipIpcOpenEventHandle(&none, *(hipIpcEventHandle_t *)&memory_handle) != hipErrorInvalidValue || none != NULL) return 16;
  if (entry_hipEventDestroy(question) != hipSuccess || entry_hipEventDestroy(answer) != hipSuccess) return 17;
  return entry_hipIpcCloseMemHandle(numbers) == hipSuccess ? 0 : 18;
}

static sem_t gate;

static void wait_at_gate(void *unused) {
  (void)unused;
  sem_wait(&gate);
}

START_TEST(events_order_the_work_of_two_processes) {
  struct second second = second_start(answers_events);
  hipIpcMemHandle_t memory_handle;
  hipIpcEventHandle_t event_handles[2];
  hipEvent_t question = NULL, answer = NULL, own = NULL;
  hipStream_t stream = NULL;
  int *numbers = NULL, back = 0;
  sem_init(&gate, 0, 0);
  ck_assert_int_eq(entry_hipMalloc((void **)&numbers, 8), hipSuccess);
  ck_assert_int_eq(entry_hipMemset(numbers, 0, 8), hipSuccess);
  ck_assert_int_eq(entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&question, hipEventInterprocess | hipEventDisableTiming), hipSuccess);
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&answer, hipEventInterprocess | hipEventDisableTiming), hipSuccess);
  ck_assert_int_eq(entry_hipEventQuery(answer), hipSuccess); /* nothing was recorded */
  ck_assert_int_eq(entry_hipIpcGetMemHandle(&memory_handle, numbers), hipSuccess);
  ck_assert_int_eq(entry_hipIpcGetEventHandle(&event_handles[0], question), hipSuccess);
  ck_assert_int_eq(entry_hipIpcGetEventHandle(&event_handles[1], answer), hipSuccess);
  ck_assert_int_eq(entry_hipIpcOpenEventHandle(&own, event_handles[0]), hipErrorInvalidContext);
  tell(second.to, &memory_handle, sizeof memory_handle);
  tell(second.to, event_handles, sizeof event_handles);
  for (int round = 1; round <= 20; round++) {
    char byte;
    ck_assert_int_eq(entry_hipLaunchHostFunc(stream, wait_at_gate, NULL), hipSuccess);
    ck_assert_int_eq(entry_hipMemsetD32Async(numbers, round, 1, stream), hipSuccess);
    ck_assert_int_eq(entry_hipEventRecord(question, stream), hipSuccess);
    ck_assert_int_eq(entry_hipEventQuery(question), hipErrorNotReady);
    tell(second.to, "q", 1);
    sem_post(&gate);
    ck_assert(hear(second.from, &byte, 1));
    ck_assert_int_eq(entry_hipStreamWaitEvent(stream, answer, 0), hipSuccess);
    ck_assert_int_eq(entry_hipMemcpyAsync(&back, numbers + 1, 4, hipMemcpyDeviceToHost, stream), hipSuccess);
    ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
    ck_assert_int_eq(back, round * 3);
    ck_assert_int_eq(entry_hipEventSynchronize(answer), hipSuccess);
  }
  second_passes(&second);

  hipEvent_t plain = NULL, none = NULL;
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&plain, hipEventDisableTiming), hipSuccess);
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&none, hipEventInterprocess), hipErrorInvalidValue); /* with timing */
  ck_assert_int_eq(entry_hipIpcGetEventHandle(&event_handles[0], plain), hipErrorInvalidConfiguration);
  ck_assert_int_eq(entry_hipIpcGetEventHandle(NULL, question), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipIpcGetEventHandle(&event_handles[0], NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipIpcOpenEventHandle(NULL, event_handles[1]), hipErrorInvalidValue);
  ck_assert_ptr_null(none);
  ck_assert_int_eq(entry_hipEventDestroy(plain), hipSuccess);
  ck_assert_int_eq(entry_hipEventDestroy(question), hipSuccess);
  ck_assert_int_eq(entry_hipEventDestroy(answer), hipSuccess);
}
END_TEST

static void sleep_for_ever(void *unused) {
  (void)unused;
  for (;;) pause();
}

/* Records the event behind work that never ends, and is then killed. */
static int never_reaches(int from, int to) {
  hipIpcEventHandle_t handle;
  hipEvent_t event = NULL;
  hipStream_t stream = NULL;
  if (!hear(from, &handle, sizeof handle) || entry_hipIpcOpenEventHandle(&event, handle) != hipSuccess) return 1;
  if (entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess) return 2;
  if (entry_hipLaunchHostFunc(stream, sleep_for_ever, NULL) != hipSuccess) return 3;
  if (entry_hipEventRecord(event, stream) != hipSuccess || write(to, "r", 1) != 1) return 4;
  sleep_for_ever(NULL);
  return 5;
}

START_TEST(a_process_that_ends_before_its_event_does_not_stop_the_others) {
  struct second second = second_start(never_reaches);
  hipIpcEventHandle_t handle;
  hipEvent_t event = NULL;
  hipStream_t stream = NULL;
  char byte;
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming), hipSuccess);
  ck_assert_int_eq(entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  ck_assert_int_eq(entry_hipIpcGetEventHandle(&handle, event), hipSuccess);
  tell(second.to, &handle, sizeof handle);
  ck_assert(hear(second.from, &byte, 1));
  ck_assert_int_eq(entry_hipEventQuery(event), hipErrorNotReady);
  ck_assert_int_eq(entry_hipStreamWaitEvent(stream, event, 0), hipSuccess);
  kill(second.process, SIGKILL);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipErrorLaunchFailure);
  ck_assert_int_eq(entry_hipEventSynchronize(event), hipErrorLaunchFailure);
  waitpid(second.process, NULL, 0);
  ck_assert_int_eq(entry_hipEventRecord(event, stream), hipSuccess); /* it is good for new records */
  ck_assert_int_eq(entry_hipEventSynchronize(event), hipSuccess);
  ck_assert_int_eq(entry_hipEventDestroy(event), hipSuccess);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_ipc");
  TCase *rules = tcase_create("rules"); /* each in a process of its own: the second one is forked before the GPU is used */
  tcase_add_test(rules, four_views_of_one_allocation_are_its_base);
  tcase_add_test(rules, only_memory_of_hipmalloc_has_handles);
  tcase_add_test(rules, events_order_the_work_of_two_processes);
  tcase_add_test(rules, a_process_that_ends_before_its_event_does_not_stop_the_others);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
