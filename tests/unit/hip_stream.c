/* Streams beyond order: values that they wait for and write, their attributes, names and masks; layouts of HIP 6 and 7. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/state.h"

#define OK(call) ck_assert_int_eq(call, hipSuccess)
#define FAILS(call, error) ck_assert_int_eq(call, error)

static hipStream_t stream_new(void) {
  hipStream_t stream = NULL;
  OK(entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

static uint64_t *host_new(size_t bytes) {
  void *memory = NULL;
  OK(entry_hipHostMalloc(&memory, bytes, 0));
  memset(memory, 0, bytes);
  return memory;
}

static void poke32(uint64_t *at, uint32_t value) { __atomic_store_n((uint32_t *)at, value, __ATOMIC_RELEASE); }

/* What programs were compiled with. */
START_TEST(structures_of_hip_6_and_7_have_their_layout) {
  ck_assert_uint_eq(sizeof(hipStreamBatchMemOpParams), 48);
  ck_assert_uint_eq(offsetof(hipStreamBatchMemOpParams, value.address), 8);
  ck_assert_uint_eq(offsetof(hipStreamBatchMemOpParams, value.value64), 16);
  ck_assert_uint_eq(offsetof(hipStreamBatchMemOpParams, value.flags), 24);
  ck_assert_uint_eq(offsetof(hipStreamBatchMemOpParams, value.alias), 32);
  ck_assert_uint_eq(sizeof(hipLaunchAttributeValue), 64);
  ck_assert_uint_eq(sizeof(hipLaunchAttribute), 72);
  ck_assert_uint_eq(offsetof(hipLaunchAttribute, value), 8);
  ck_assert_uint_eq(offsetof(hipLaunchConfig_t, dynamicSmemBytes), 24);
  ck_assert_uint_eq(offsetof(hipLaunchConfig_t, stream), 32);
  ck_assert_uint_eq(offsetof(hipLaunchConfig_t, attrs), 40);
  ck_assert_uint_eq(offsetof(hipLaunchConfig_t, numAttrs), 48);
  ck_assert_uint_eq(offsetof(HIP_LAUNCH_CONFIG, sharedMemBytes), 24);
  ck_assert_uint_eq(offsetof(HIP_LAUNCH_CONFIG, hStream), 32);
  ck_assert_uint_eq(offsetof(HIP_LAUNCH_CONFIG, attrs), 40);
  ck_assert_uint_eq(offsetof(HIP_LAUNCH_CONFIG, numAttrs), 48);
  ck_assert_uint_eq(sizeof(hipFunctionLaunchParams), 56);
  ck_assert_uint_eq(offsetof(hipFunctionLaunchParams, sharedMemBytes), 32);
  ck_assert_uint_eq(offsetof(hipFunctionLaunchParams, hStream), 40);
  ck_assert_uint_eq(offsetof(hipFunctionLaunchParams, kernelParams), 48);
}
END_TEST

static const struct condition {
  unsigned flags;
  uint64_t value, mask, before, after; /* `before` does not meet it, `after` does */
} conditions[] = {
  {hipStreamWaitValueGte, 5, 0xffffffff, 4, 5},
  {hipStreamWaitValueGte, 5, 0xf, 0x14, 0x7},
  {hipStreamWaitValueGte, 0x80000000, 0xffffffff, 0x7fffffff, 0x80000000}, /* unsigned */
  {hipStreamWaitValueEq, 7, 0xffffffff, 8, 7},
  {hipStreamWaitValueEq, 7, 0xf, 0x18, 0xf7},
  {hipStreamWaitValueAnd, 6, 0xffffffff, 9, 2},
  {hipStreamWaitValueAnd, 6, 0x4, 2, 4},
  {hipStreamWaitValueNor, 0xffff0000, 0xffffffff, 0x0000ffff, 0x0000fffe},
};

START_TEST(a_wait_ends_when_its_condition_holds) {
  const struct condition *condition = &conditions[_i];
  hipStream_t stream = stream_new();
  uint64_t *word = host_new(8);
  poke32(word, (uint32_t)condition->before);
  OK(entry_hipStreamWaitValue32(stream, word, (uint32_t)condition->value, condition->flags, (uint32_t)condition->mask));
  FAILS(entry_hipStreamQuery(stream), hipErrorNotReady);
  poke32(word, (uint32_t)condition->after);
  OK(entry_hipStreamSynchronize(stream));
  OK(entry_hipStreamDestroy(stream));
  OK(entry_hipHostFree(word));
}
END_TEST

START_TEST(wide_values_are_compared_and_written_whole) {
  hipStream_t stream = stream_new();
  uint64_t *word = host_new(16);
  uint64_t value = UINT64_C(0x100000002);
  word[0] = 2; /* its low half agrees already */
  OK(entry_hipStreamWaitValue64(stream, word, value, hipStreamWaitValueEq, UINT64_MAX));
  OK(entry_hipStreamWriteValue64(stream, word + 1, ~value, 0));
  FAILS(entry_hipStreamQuery(stream), hipErrorNotReady);
  ck_assert_uint_eq(word[1], 0);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_uint_eq(word[1], ~value);
  word[1] = UINT64_MAX;
  OK(entry_hipStreamWriteValue32(stream, word + 1, 7, 0)); /* and narrow ones leave their neighbour */
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_uint_eq(word[1], UINT64_C(0xffffffff00000007));
  OK(entry_hipStreamDestroy(stream));
  OK(entry_hipHostFree(word));
}
END_TEST

static void count(void *counter) { atomic_fetch_add((_Atomic unsigned *)counter, 1); }

/* More waiting streams than there are threads for anything, and all other work goes on. */
START_TEST(waiting_streams_stall_nobody) {
  enum { STREAMS = 200, ROUNDS = 50 };
  static hipStream_t streams[STREAMS];
  static _Atomic unsigned over, ran;
  uint64_t *words = host_new(8 * STREAMS);
  for (int i = 0; i < STREAMS; i++) {
    streams[i] = stream_new();
    OK(entry_hipStreamWaitValue32(streams[i], &words[i], 1, hipStreamWaitValueEq, UINT32_MAX));
    OK(entry_hipLaunchHostFunc(streams[i], count, (void *)&over));
  }
  hipStream_t other = stream_new();
  void *memory = NULL;
  OK(entry_hipMalloc(&memory, 65536));
  for (int i = 0; i < ROUNDS; i++) {
    OK(entry_hipMemsetAsync(memory, i, 65536, other));
    OK(entry_hipMemcpyAsync(memory, (char *)memory + 32768, 100, hipMemcpyDeviceToDevice, other));
    OK(entry_hipLaunchHostFunc(other, count, (void *)&ran));
  }
  OK(entry_hipStreamSynchronize(other));
  ck_assert_uint_eq(atomic_load(&ran), ROUNDS);
  ck_assert_uint_eq(atomic_load(&over), 0);
  for (int i = STREAMS; i-- > 0;) poke32(&words[i], 1);
  for (int i = 0; i < STREAMS; i++) {
    OK(entry_hipStreamSynchronize(streams[i]));
    OK(entry_hipStreamDestroy(streams[i]));
  }
  ck_assert_uint_eq(atomic_load(&over), STREAMS);
  OK(entry_hipStreamDestroy(other));
  OK(entry_hipFree(memory));
  OK(entry_hipHostFree(words));
}
END_TEST

/* A ring of streams hands a token around: each waits for its own word and writes the next one's. */
START_TEST(streams_signal_each_other) {
  enum { STREAMS = 8, ROUNDS = 100 };
  hipStream_t streams[STREAMS];
  uint64_t *words = host_new(8 * (STREAMS + 1));
  for (int i = 0; i < STREAMS; i++) streams[i] = stream_new();
  for (unsigned round = 1; round <= ROUNDS; round++)
    for (int i = STREAMS; i-- > 0;) {
      OK(entry_hipStreamWaitValue64(streams[i], &words[i], round, hipStreamWaitValueGte, UINT64_MAX));
      OK(entry_hipStreamWriteValue64(streams[i], &words[(i + 1) % STREAMS], i + 1 < STREAMS ? round : round + 1, 0));
    }
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  OK(entry_hipDeviceSynchronize());
  ck_assert_uint_eq(words[0], ROUNDS + 1);
  for (int i = 0; i < STREAMS; i++) {
    if (i > 0) ck_assert_uint_eq(words[i], ROUNDS);
    OK(entry_hipStreamDestroy(streams[i]));
  }
  OK(entry_hipHostFree(words));
}
END_TEST

START_TEST(a_write_follows_what_its_stream_did_before) {
  enum { BYTES = 1 << 20 };
  hipStream_t first = stream_new(), second = stream_new();
  uint64_t *flag = host_new(8);
  unsigned char *from = NULL, *to = NULL;
  OK(entry_hipMalloc((void **)&from, BYTES));
  OK(entry_hipMalloc((void **)&to, BYTES));
  for (unsigned round = 1; round <= 20; round++) {
    OK(entry_hipStreamWaitValue32(second, flag, round, hipStreamWaitValueEq, UINT32_MAX));
    OK(entry_hipMemcpyAsync(to, from, BYTES, hipMemcpyDeviceToDevice, second));
    OK(entry_hipMemsetAsync(from, (int)round, BYTES, first));
    OK(entry_hipStreamWriteValue32(first, flag, round, 0));
    OK(entry_hipStreamSynchronize(second));
    OK(entry_hipStreamSynchronize(first));
    for (int i = 0; i < BYTES; i += 4096) ck_assert_uint_eq(to[i], round);
    ck_assert_uint_eq(to[BYTES - 1], round);
  }
  OK(entry_hipFree(from));
  OK(entry_hipFree(to));
  OK(entry_hipHostFree(flag));
  OK(entry_hipStreamDestroy(first));
  OK(entry_hipStreamDestroy(second));
}
END_TEST

static hipStreamBatchMemOpParams operation(int which, void *address, uint64_t value, unsigned flags) {
  hipStreamBatchMemOpParams made = {.value = {.operation = which, .address = address, .value64 = value, .flags = flags}};
  return made;
}

START_TEST(a_batch_is_done_in_order) {
  hipStream_t stream = stream_new();
  uint64_t *words = host_new(32);
  hipStreamBatchMemOpParams batch[] = {
    operation(STREAM_WRITE_VALUE_32, &words[0], 1, 0),
    operation(STREAM_WAIT_VALUE_32, &words[1], 2, hipStreamWaitValueEq),
    operation(STREAM_FLUSH_REMOTE_WRITES, NULL, 0, 0),
    operation(STREAM_BARRIER, NULL, 0, 0),
    operation(STREAM_WRITE_VALUE_64, &words[2], UINT64_C(3) << 32, 0),
    operation(STREAM_WAIT_VALUE_64, &words[3], UINT64_C(1) << 40, hipStreamWaitValueGte),
    operation(STREAM_WRITE_VALUE_32, &words[0], 9, 0),
  };
  OK(entry_hipStreamBatchMemOp(stream, 7, batch, 0));
  memset(batch, 0xff, sizeof batch); /* it was read */
  while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) != 1) sched_yield();
  ck_assert_uint_eq(words[2], 0);
  poke32(&words[1], 2);
  while (__atomic_load_n(&words[2], __ATOMIC_ACQUIRE) != UINT64_C(3) << 32) sched_yield();
  ck_assert_uint_eq(words[0], 1);
  FAILS(entry_hipStreamQuery(stream), hipErrorNotReady);
  __atomic_store_n(&words[3], UINT64_C(1) << 41, __ATOMIC_RELEASE);
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_uint_eq(words[0], 9);
  hipStreamBatchMemOpParams flush = operation(STREAM_FLUSH_REMOTE_WRITES, NULL, 0, 0);
  OK(entry_hipStreamBatchMemOp(stream, 1, &flush, 0));
  OK(entry_hipHostFree(words));
  OK(entry_hipStreamDestroy(stream));
}
END_TEST

START_TEST(wrong_value_operations_do_nothing) {
  hipStream_t stream = stream_new(), dead = stream_new();
  OK(entry_hipStreamDestroy(dead));
  uint64_t *words = host_new(16), mine = 5;
  FAILS(entry_hipStreamWaitValue32(stream, NULL, 0, 0, UINT32_MAX), hipErrorInvalidValue);
  FAILS(entry_hipStreamWaitValue32(stream, &mine, 5, 0, UINT32_MAX), hipErrorInvalidValue); /* HIP does not know it */
  FAILS(entry_hipStreamWaitValue32(stream, words, 0, 4, UINT32_MAX), hipErrorInvalidValue); /* no such comparison */
  FAILS(entry_hipStreamWaitValue32(stream, (char *)words + 2, 0, 0, UINT32_MAX), hipErrorInvalidValue);
  FAILS(entry_hipStreamWaitValue64(stream, (char *)words + 4, 0, 0, UINT64_MAX), hipErrorInvalidValue);
  FAILS(entry_hipStreamWaitValue64(stream, words + 2, 0, 0, UINT64_MAX), hipErrorInvalidValue); /* behind the end */
  FAILS(entry_hipStreamWaitValue64(dead, words, 0, 0, UINT64_MAX), hipErrorContextIsDestroyed);
  FAILS(entry_hipStreamWriteValue32(stream, NULL, 1, 0), hipErrorInvalidValue);
  FAILS(entry_hipStreamWriteValue64(stream, &mine, 1, 0), hipErrorInvalidValue);
  FAILS(entry_hipStreamWriteValue32(dead, words, 1, 0), hipErrorContextIsDestroyed);
  hipStreamBatchMemOpParams batch[2] = {operation(STREAM_WRITE_VALUE_32, words, 1, 0), operation(7, words, 1, 0)};
  FAILS(entry_hipStreamBatchMemOp(stream, 2, batch, 0), hipErrorInvalidValue); /* nothing of it is done */
  FAILS(entry_hipStreamBatchMemOp(stream, 0, batch, 0), hipErrorInvalidValue);
  FAILS(entry_hipStreamBatchMemOp(stream, 1, NULL, 0), hipErrorInvalidValue);
  FAILS(entry_hipStreamBatchMemOp(stream, 1, batch, 1), hipErrorInvalidValue);
  FAILS(entry_hipStreamBatchMemOp(stream, 257, batch, 0), hipErrorInvalidValue);
  FAILS(entry_hipStreamBatchMemOp(dead, 1, batch, 0), hipErrorContextIsDestroyed);
  OK(entry_hipStreamQuery(stream));
  ck_assert_uint_eq(words[0], 0);
  ck_assert_uint_eq(mine, 5);
  /* a capture cannot hold them */
  OK(entry_hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  FAILS(entry_hipStreamWriteValue32(stream, words, 1, 0), hipErrorStreamCaptureUnsupported);
  hipGraph_t graph = NULL;
  FAILS(entry_hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
  OK(entry_hipStreamDestroy(stream));
  OK(entry_hipHostFree(words));
}
END_TEST

START_TEST(the_wait_policy_of_a_stream_is_kept) {
  hipStream_t stream = stream_new(), other = NULL, dead = stream_new();
  OK(entry_hipStreamDestroy(dead));
  OK(entry_hipStreamCreateWithPriority(&other, hipStreamDefault, -1));
  hipLaunchAttributeValue value = {.synchronization_policy = 77};
  OK(entry_hipStreamGetAttribute(stream, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  ck_assert_int_eq(value.synchronization_policy, SYNCHRONIZATION_AUTO);
  value.synchronization_policy = SYNCHRONIZATION_BLOCKING;
  OK(entry_hipStreamSetAttribute(stream, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  OK(entry_hipStreamCopyAttributes(other, stream));
  value.synchronization_policy = 0;
  OK(entry_hipStreamGetAttribute(other, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  ck_assert_int_eq(value.synchronization_policy, SYNCHRONIZATION_BLOCKING);
  OK(entry_hipStreamGetAttribute(other, LAUNCH_ATTRIBUTE_PRIORITY, &value));
  ck_assert_int_eq(value.priority, -1);
  OK(entry_hipStreamGetAttribute(NULL, LAUNCH_ATTRIBUTE_PRIORITY, &value));
  ck_assert_int_eq(value.priority, 0);

  value.synchronization_policy = 5;
  FAILS(entry_hipStreamSetAttribute(stream, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), hipErrorInvalidValue);
  FAILS(entry_hipStreamSetAttribute(stream, LAUNCH_ATTRIBUTE_PRIORITY, &value), hipErrorInvalidValue);
  FAILS(entry_hipStreamSetAttribute(stream, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL), hipErrorInvalidValue);
  FAILS(entry_hipStreamSetAttribute(dead, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), hipErrorInvalidHandle);
  FAILS(entry_hipStreamGetAttribute(stream, LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL), hipErrorInvalidValue);
  FAILS(entry_hipStreamGetAttribute(stream, 99, &value), hipErrorInvalidValue);
  FAILS(entry_hipStreamGetAttribute(dead, LAUNCH_ATTRIBUTE_PRIORITY, &value), hipErrorInvalidHandle);
  FAILS(entry_hipStreamCopyAttributes(dead, stream), hipErrorInvalidHandle);
  FAILS(entry_hipStreamCopyAttributes(stream, dead), hipErrorInvalidHandle);
  ck_assert_int_eq(value.synchronization_policy, 5);
  OK(entry_hipStreamDestroy(stream));
  OK(entry_hipStreamDestroy(other));
}
END_TEST

START_TEST(streams_are_told_apart_by_number_and_device) {
  hipStream_t first = stream_new(), second = stream_new();
  unsigned long long one = 0, two = 0, again = 0, zero = 0;
  OK(entry_hipStreamGetId(first, &one));
  OK(entry_hipStreamGetId(second, &two));
  OK(entry_hipStreamGetId(first, &again));
  OK(entry_hipStreamGetId(NULL, &zero));
  ck_assert_uint_ne(one, two);
  ck_assert_uint_ne(one, zero);
  ck_assert_uint_eq(one, again);
  ck_assert_int_eq(entry_hipGetStreamDeviceId(first), 0);
  ck_assert_int_eq(entry_hipGetStreamDeviceId(NULL), 0);
  OK(entry_hipStreamDestroy(first));
  FAILS(entry_hipStreamGetId(first, &one), hipErrorContextIsDestroyed);
  FAILS(entry_hipStreamGetId(second, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipGetStreamDeviceId(first), -1);
  OK(entry_hipStreamDestroy(second));
}
END_TEST

START_TEST(a_unit_mask_is_returned_as_far_as_there_are_units) {
  struct hip_device *device = NULL;
  OK(state_device(0, &device));
  unsigned units = device->gpu->properties.compute_units, words = (units + 31) / 32;
  uint32_t mask[16] = {0}, got[17], all = units >= 32 ? UINT32_MAX : (1u << units) - 1;
  ck_assert_uint_le(words, 16);
  hipStream_t stream = NULL, plain = stream_new();
  memset(mask, 0xff, sizeof mask);
  mask[0] = 0xfffffffd;
  OK(entry_hipExtStreamCreateWithCUMask(&stream, 16, mask));
  memset(got, 0x55, sizeof got);
  OK(entry_hipExtStreamGetCUMask(stream, 16, got));
  ck_assert_uint_eq(got[0], all & 0xfffffffd ? all & 0xfffffffd : all);
  ck_assert_uint_eq(got[words], 0x55555555); /* no more than there is */
  OK(entry_hipExtStreamGetCUMask(plain, words, got));
  ck_assert_uint_eq(got[0], all);
  OK(entry_hipExtStreamGetCUMask(NULL, words, got));
  ck_assert_uint_eq(got[0], all);
  OK(entry_hipStreamDestroy(stream));
  memset(mask, 0, sizeof mask);
  OK(entry_hipExtStreamCreateWithCUMask(&stream, 1, mask));
  OK(entry_hipExtStreamGetCUMask(stream, words, got));
  ck_assert_uint_eq(got[0], all);
  OK(entry_hipStreamDestroy(stream));
  hipStream_t untouched = plain;
  FAILS(entry_hipExtStreamCreateWithCUMask(NULL, 1, mask), hipErrorInvalidValue);
  FAILS(entry_hipExtStreamCreateWithCUMask(&untouched, 0, mask), hipErrorInvalidValue);
  FAILS(entry_hipExtStreamCreateWithCUMask(&untouched, 1, NULL), hipErrorInvalidValue);
  FAILS(entry_hipExtStreamGetCUMask(plain, words - 1, got), hipErrorInvalidValue);
  FAILS(entry_hipExtStreamGetCUMask(plain, words, NULL), hipErrorInvalidValue);
  FAILS(entry_hipExtStreamGetCUMask(stream, words, got), hipErrorContextIsDestroyed);
  ck_assert_ptr_eq(untouched, plain);
  OK(entry_hipStreamDestroy(plain));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_stream");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_test(rules, structures_of_hip_6_and_7_have_their_layout);
  tcase_add_loop_test(rules, a_wait_ends_when_its_condition_holds, 0, (int)(sizeof conditions / sizeof *conditions));
  tcase_add_test(rules, wide_values_are_compared_and_written_whole);
  tcase_add_test(rules, waiting_streams_stall_nobody);
  tcase_add_test(rules, streams_signal_each_other);
  tcase_add_test(rules, a_write_follows_what_its_stream_did_before);
  tcase_add_test(rules, a_batch_is_done_in_order);
  tcase_add_test(rules, wrong_value_operations_do_nothing);
  tcase_add_test(rules, the_wait_policy_of_a_stream_is_kept);
  tcase_add_test(rules, streams_are_told_apart_by_number_and_device);
  tcase_add_test(rules, a_unit_mask_is_returned_as_far_as_there_are_units);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
