/* HIP's rules for memory pools: when memory is used again, what is counted, what other processes get. */
#include <check.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/state.h"
#include "tests/unit/two_devices.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static sem_t gate;

static void wait_at_gate(void *unused) {
  (void)unused;
  sem_wait(&gate);
}

static hipStream_t stream_new(void) {
  hipStream_t stream = NULL;
  ck_assert_int_eq(entry_hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
  return stream;
}

/* A stream whose work stands still until the gate opens. */
static hipStream_t stream_stopped(void) {
  hipStream_t stream = stream_new();
  sem_init(&gate, 0, 0);
  ck_assert_int_eq(entry_hipLaunchHostFunc(stream, wait_at_gate, NULL), hipSuccess);
  return stream;
}

static void *take(size_t bytes, hipStream_t stream) {
  void *pointer = NULL;
  ck_assert_int_eq(entry_hipMallocAsync(&pointer, bytes, stream), hipSuccess);
  return pointer;
}

static hipMemPool_t default_pool(void) {
  hipMemPool_t pool = NULL;
  ck_assert_int_eq(entry_hipDeviceGetDefaultMemPool(&pool, 0), hipSuccess);
  return pool;
}

static uint64_t number_of(hipMemPool_t pool, hipMemPoolAttr which) {
  uint64_t number = 0;
  ck_assert_int_eq(entry_hipMemPoolGetAttribute(pool, which, &number), hipSuccess);
  return number;
}

static void switch_set(hipMemPool_t pool, hipMemPoolAttr which, int on) {
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, which, &on), hipSuccess);
}

static void threshold_set(hipMemPool_t pool, uint64_t bytes) {
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &bytes), hipSuccess);
}

static size_t free_now(void) {
  size_t free_bytes = 0, total = 0;
  ck_assert_int_eq(entry_hipMemGetInfo(&free_bytes, &total), hipSuccess);
  return free_bytes;
}

static hipMemPoolProps device_pool(int handle_types) {
  return (hipMemPoolProps){.allocType = hipMemAllocationTypePinned,
                           .handleTypes = (hipMemAllocationHandleType)handle_types,
                           .location = {hipMemLocationTypeDevice, 0}};
}

START_TEST(a_stream_gets_its_own_memory_back_at_once_and_others_when_it_is_free) {
  hipStream_t stopped = stream_stopped(), other = stream_new();
  unsigned char back[4] = {0};
  threshold_set(default_pool(), UINT64_MAX);
  void *memory = take(KIB, stopped);
  ck_assert_int_eq(entry_hipMemsetAsync(memory, 7, KIB, stopped), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stopped), hipSuccess);
  void *elsewhere = take(KIB, other); /* the first is still in use: another piece */
  ck_assert_ptr_ne(elsewhere, memory);
  ck_assert_int_eq(entry_hipMemsetAsync(elsewhere, 8, KIB, other), hipSuccess);
  void *again = take(KIB, stopped); /* its work comes after the free */
  ck_assert_ptr_eq(again, memory);
  ck_assert_int_eq(entry_hipFreeAsync(again, stopped), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(other), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(back, elsewhere, 4, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_uint_eq(back[3], 8);
  sem_post(&gate);
  ck_assert_int_eq(entry_hipStreamSynchronize(stopped), hipSuccess);
  ck_assert_ptr_eq(take(KIB, other), memory); /* free for everybody now */
}
END_TEST

START_TEST(a_stream_that_follows_the_free_may_use_the_memory) {
  hipStream_t stopped = stream_stopped(), other = stream_new();
  hipEvent_t event = NULL;
  hipMemPool_t pool = default_pool();
  threshold_set(pool, UINT64_MAX);
  ck_assert_int_eq(entry_hipEventCreateWithFlags(&event, hipEventDisableTiming), hipSuccess);
  void *memory = take(KIB, stopped);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stopped), hipSuccess);
  ck_assert_int_eq(entry_hipEventRecord(event, stopped), hipSuccess);
  ck_assert_int_eq(entry_hipStreamWaitEvent(other, event, 0), hipSuccess);
  switch_set(pool, hipMemPoolReuseFollowEventDependencies, 0);
  void *elsewhere = take(KIB, other);
  ck_assert_ptr_ne(elsewhere, memory);
  switch_set(pool, hipMemPoolReuseFollowEventDependencies, 1);
  ck_assert_ptr_eq(take(KIB, other), memory);
  sem_post(&gate);
  ck_assert_int_eq(entry_hipStreamSynchronize(other), hipSuccess);
  ck_assert_int_eq(entry_hipEventDestroy(event), hipSuccess);
}
END_TEST

START_TEST(when_memory_is_short_a_stream_waits_for_a_free_and_the_host_does_not) {
  hipStream_t stopped = stream_stopped(), other = stream_new();
  unsigned char back = 0;
  void *memory = take(40 * MIB, stopped), *none = (void *)5;
  ck_assert_int_eq(entry_hipMemsetAsync(memory, 1, 40 * MIB, stopped), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stopped), hipSuccess);
  void *later = take(40 * MIB, other); /* 80 MiB do not fit into 64; the gate is still closed */
  ck_assert_ptr_eq(later, memory);
  ck_assert_int_eq(entry_hipMemsetAsync(later, 2, 40 * MIB, other), hipSuccess);
  sem_post(&gate);
  ck_assert_int_eq(entry_hipMemcpyAsync(&back, (char *)later + 39 * MIB, 1, hipMemcpyDeviceToHost, other), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(other), hipSuccess);
  ck_assert_uint_eq(back, 2);
  /* and what does not fit at all fails, with everything as it was */
  size_t before = free_now();
  ck_assert_int_eq(entry_hipMallocAsync(&none, 40 * MIB, other), hipErrorOutOfMemory);
  ck_assert_int_eq(entry_hipMallocAsync(&none, (size_t)1 << 50, other), hipErrorOutOfMemory);
  ck_assert_ptr_eq(none, (void *)5);
  ck_assert_uint_eq(free_now(), before);
  ck_assert_int_eq(entry_hipFreeAsync(later, other), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(later, other), hipErrorInvalidValue); /* once */
  ck_assert_int_eq(entry_hipStreamSynchronize(other), hipSuccess);
  ck_assert_int_eq(entry_hipFree(later), hipErrorInvalidValue);
}
END_TEST

START_TEST(two_streams_churn_and_every_byte_stays) {
  hipStream_t streams[2] = {stream_new(), stream_new()};
  unsigned char *host = NULL;
  enum { ROUNDS = 300 };
  ck_assert_int_eq(entry_hipHostMalloc((void **)&host, 2 * ROUNDS, 0), hipSuccess);
  threshold_set(default_pool(), 16 * KIB); /* some pieces are kept, some are not */
  for (int i = 0; i < ROUNDS; i++) {
    for (int which = 0; which < 2; which++) {
      size_t bytes = (size_t)(1 + (i * 7 + which) % 5) * 8 * KIB;
      void *memory = take(bytes, streams[which]);
      ck_assert_int_eq(entry_hipMemsetAsync(memory, (i + which * 100) & 0xff, bytes, streams[which]), hipSuccess);
      ck_assert_int_eq(
        entry_hipMemcpyAsync(host + 2 * i + which, (char *)memory + bytes - 1, 1, hipMemcpyDeviceToHost, streams[which]), hipSuccess);
      ck_assert_int_eq(entry_hipFreeAsync(memory, streams[which ^ (i % 3 == 0)]), hipSuccess); /* sometimes on the other stream */
      if (i % 3 == 0) ck_assert_int_eq(entry_hipStreamSynchronize(streams[which]), hipSuccess);
    }
  }
  ck_assert_int_eq(entry_hipDeviceSynchronize(), hipSuccess);
  for (int i = 0; i < ROUNDS; i++) {
    if (i % 3 == 0) continue; /* those were freed without order, as a wrong program would */
    ck_assert_int_eq(host[2 * i], i & 0xff);
    ck_assert_int_eq(host[2 * i + 1], (i + 100) & 0xff);
  }
  ck_assert_uint_eq(number_of(default_pool(), hipMemPoolAttrUsedMemCurrent), 0);
  ck_assert_uint_le(number_of(default_pool(), hipMemPoolAttrReservedMemCurrent), 16 * KIB);
}
END_TEST

START_TEST(free_memory_is_counted_at_the_frees_point_and_trimmed_on_demand) {
  hipStream_t stream = stream_new();
  hipMemPool_t pool = default_pool();
  size_t before = free_now();
  void *memory = take(4 * MIB, stream);
  ck_assert_uint_eq(before - free_now(), 4 * MIB);
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrUsedMemCurrent), 4 * MIB);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_uint_eq(free_now(), before); /* the threshold is 0 */
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrReservedMemCurrent), 0);
  threshold_set(pool, 8 * MIB);
  void *one = take(4 * MIB, stream), *two = take(2 * MIB, stream);
  ck_assert_int_eq(entry_hipFreeAsync(one, stream), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(two, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_uint_eq(before - free_now(), 6 * MIB); /* the pool holds it */
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrUsedMemCurrent), 0);
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrReservedMemCurrent), 6 * MIB);
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrReservedMemHigh), 6 * MIB);
  ck_assert_int_eq(entry_hipMemPoolTrimTo(pool, 5 * MIB), hipSuccess);
  ck_assert_uint_le(number_of(pool, hipMemPoolAttrReservedMemCurrent), 5 * MIB);
  ck_assert_int_eq(entry_hipMemPoolTrimTo(pool, 0), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
  uint64_t zero = 0, one_number = 1;
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, hipMemPoolAttrReservedMemHigh, &one_number), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, hipMemPoolAttrReservedMemHigh, &zero), hipSuccess);
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrReservedMemHigh), 0);
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &zero), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, (hipMemPoolAttr)99, &zero), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolGetAttribute(pool, (hipMemPoolAttr)99, &zero), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemHigh, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolTrimTo(NULL, 0), hipErrorInvalidValue);
}
END_TEST

START_TEST(pointers_of_other_kinds_are_told_apart) {
  hipStream_t stream = stream_new();
  int local = 0;
  void *plain = NULL, *pinned = NULL;
  size_t before = free_now();
  ck_assert_int_eq(entry_hipMalloc(&plain, 100), hipSuccess);
  ck_assert_int_eq(entry_hipHostMalloc(&pinned, 100, 0), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(plain, stream), hipSuccess); /* memory of hipMalloc is freed in order too */
  ck_assert_int_eq(entry_hipFreeAsync(plain, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
  ck_assert_int_eq(entry_hipFreeAsync(pinned, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeAsync(&local, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeAsync(NULL, stream), hipSuccess);
  char *memory = take(4 * KIB, stream);
  ck_assert_int_eq(entry_hipFreeAsync(memory + 1, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeAsync(memory, (hipStream_t)&local), hipErrorContextIsDestroyed);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess); /* the plain free takes a pool's memory */
  ck_assert_int_eq(entry_hipFree(memory), hipErrorInvalidValue);
  ck_assert_uint_eq(free_now(), before);
  void *untouched = (void *)5;
  ck_assert_int_eq(entry_hipMallocAsync(NULL, 4, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync(&untouched, 4, NULL, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync(&untouched, 4, (hipMemPool_t)&local, stream), hipErrorInvalidValue);
  ck_assert_ptr_eq(untouched, (void *)5);
  ck_assert_int_eq(entry_hipMallocAsync(&untouched, 0, stream), hipSuccess);
  ck_assert_ptr_null(untouched);
}
END_TEST

START_TEST(a_created_pool_lives_as_long_as_its_memory) {
  hipStream_t stream = stream_new();
  size_t before = free_now();
  hipMemPoolProps properties = device_pool(0);
  hipMemPool_t pool = NULL, now = NULL;
  void *memory = NULL, *more = (void *)5;
  ck_assert_int_eq(entry_hipMemPoolCreate(&pool, &properties), hipSuccess);
  ck_assert_int_eq(entry_hipDeviceSetMemPool(0, pool), hipSuccess);
  ck_assert_int_eq(entry_hipDeviceGetMemPool(&now, 0), hipSuccess);
  ck_assert_ptr_eq(now, pool);
  memory = take(MIB, stream);
  ck_assert_uint_eq(number_of(pool, hipMemPoolAttrUsedMemCurrent), MIB);
  ck_assert_int_eq(entry_hipMemPoolDestroy(pool), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolDestroy(pool), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync(&more, 16, pool, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipDeviceGetMemPool(&now, 0), hipSuccess);
  ck_assert_ptr_eq(now, default_pool()); /* it took the place again */
  ck_assert_int_eq(entry_hipMemsetAsync(memory, 3, MIB, stream), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
  ck_assert_int_eq(entry_hipMemPoolDestroy(default_pool()), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolDestroy(NULL), hipErrorInvalidValue);

  struct pool_properties limited = {.type = hipMemAllocationTypePinned, .location = {hipMemLocationTypeDevice, 0}, .max_bytes = MIB};
  ck_assert_int_eq(entry_hipMemPoolCreate(&pool, (const hipMemPoolProps *)&limited), hipSuccess);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync(&more, MIB + 1, pool, stream), hipErrorOutOfMemory);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync(&memory, MIB, pool, stream), hipSuccess);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolDestroy(pool), hipSuccess);

  hipMemPool_t none = (void *)5;
  ck_assert_int_eq(entry_hipMemPoolCreate(NULL, &properties), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolCreate(&none, NULL), hipErrorInvalidValue);
  properties.location.id = 7;
  ck_assert_int_eq(entry_hipMemPoolCreate(&none, &properties), hipErrorInvalidValue);
  properties = device_pool(hipMemHandleTypeWin32);
  ck_assert_int_eq(entry_hipMemPoolCreate(&none, &properties), hipErrorInvalidValue);
  properties = device_pool(0);
  properties.allocType = hipMemAllocationTypeInvalid;
  ck_assert_int_eq(entry_hipMemPoolCreate(&none, &properties), hipErrorInvalidValue);
  ck_assert_ptr_eq(none, (void *)5);
  ck_assert_uint_eq(free_now(), before);
}
END_TEST

START_TEST(locations_and_kinds_have_their_pools) {
  hipMemLocation here = {hipMemLocationTypeDevice, 0}, there = {hipMemLocationTypeDevice, 1}, host = {(hipMemLocationType)2, 0};
  hipMemPool_t pool = NULL, managed = NULL, now = NULL;
  hipMemPoolProps properties = device_pool(0);
  properties.allocType = (hipMemAllocationType)ALLOCATION_MANAGED;
  ck_assert_int_eq(entry_hipMemGetMemPool(&pool, &here, hipMemAllocationTypePinned), hipSuccess);
  ck_assert_ptr_eq(pool, default_pool());
  ck_assert_int_eq(entry_hipMemPoolCreate(&managed, &properties), hipSuccess);
  ck_assert_int_eq(entry_hipMemSetMemPool(&here, hipMemAllocationTypePinned, managed), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetMemPool(&there, (hipMemAllocationType)ALLOCATION_MANAGED, managed), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetMemPool(&here, (hipMemAllocationType)ALLOCATION_MANAGED, managed), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetMemPool(&now, &here, (hipMemAllocationType)ALLOCATION_MANAGED), hipSuccess);
  ck_assert_ptr_eq(now, managed);
  ck_assert_int_eq(entry_hipDeviceSetMemPool(1, managed), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipDeviceSetMemPool(9, managed), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipDeviceSetMemPool(0, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipDeviceGetMemPool(NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipDeviceGetDefaultMemPool(NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipDeviceGetDefaultMemPool(&now, 9), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipMemGetMemPool(&now, &host, hipMemAllocationTypePinned), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetMemPool(&now, NULL, hipMemAllocationTypePinned), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetMemPool(NULL, &here, hipMemAllocationTypePinned), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetMemPool(&now, &here, hipMemAllocationTypeInvalid), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetMemPool(NULL, hipMemAllocationTypePinned, pool), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetMemPool(&here, hipMemAllocationTypePinned, NULL), hipErrorInvalidValue);

  hipMemAccessFlags flags = (hipMemAccessFlags)77;
  hipMemAccessDesc peer = {there, hipMemAccessFlagsProtRead}, own = {here, hipMemAccessFlagsProtNone};
  ck_assert_int_eq(entry_hipMemPoolGetAccess(&flags, pool, &there), hipSuccess);
  ck_assert_int_eq(flags, hipMemAccessFlagsProtNone);
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &peer, 1), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolGetAccess(&flags, pool, &there), hipSuccess);
  ck_assert_int_eq(flags, hipMemAccessFlagsProtRead);
  ck_assert_int_eq(entry_hipMemPoolGetAccess(&flags, pool, &here), hipSuccess);
  ck_assert_int_eq(flags, hipMemAccessFlagsProtReadWrite);
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &own, 1), hipErrorInvalidDevice);
  own.flags = hipMemAccessFlagsProtRead;
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &own, 1), hipErrorNotSupported);
  own.flags = hipMemAccessFlagsProtReadWrite;
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &own, 1), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &own, 3), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, NULL, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolSetAccess(NULL, &own, 1), hipErrorInvalidValue);
  peer.location = host;
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &peer, 1), hipErrorInvalidValue);
  peer.location = (hipMemLocation){hipMemLocationTypeDevice, 9};
  ck_assert_int_eq(entry_hipMemPoolSetAccess(pool, &peer, 1), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipMemPoolGetAccess(NULL, pool, &here), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolGetAccess(&flags, pool, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolGetAccess(&flags, NULL, &here), hipErrorInvalidValue);
}
END_TEST

static int second_process(int from, int to) {
  struct {
    int parent, descriptor;
    hipMemPoolPtrExportData data;
  } message;
  char path[64], byte = 0;
  hipMemPool_t pool = NULL;
  char *memory = NULL;
  hipStream_t stream = NULL;
  if (read(from, &message, sizeof message) != (ssize_t)sizeof message) return 1;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", message.parent, message.descriptor);
  FILE *file = fopen(path, "r+"); /* stands for a socket */
  if (file == NULL) return 2;
  if (entry_hipMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)fileno(file), hipMemHandleTypePosixFileDescriptor, 0) != hipSuccess)
    return 3;
  if (entry_hipMemPoolImportPointer((void **)&memory, pool, &message.data) != hipSuccess) return 4;
  if (entry_hipMemcpy(&byte, memory + 100, 1, hipMemcpyDeviceToHost) != hipSuccess || byte != 42) return 5;
  if (entry_hipMemset(memory, 43, 50) != hipSuccess) return 6;
  if (entry_hipStreamCreate(&stream) != hipSuccess || entry_hipFreeAsync(memory, stream) != hipSuccess) return 7;
  if (entry_hipStreamSynchronize(stream) != hipSuccess) return 8;
  if (entry_hipMemcpy(&byte, memory, 1, hipMemcpyDeviceToHost) == hipSuccess) return 9; /* it is not mapped any more */
  void *own = NULL;
  if (entry_hipMallocFromPoolAsync(&own, 16, pool, stream) != hipErrorInvalidValue) return 10;
  message.data.reserved[0] ^= 1;
  if (entry_hipMemPoolImportPointer(&own, pool, &message.data) != hipErrorInvalidValue) return 11;
  message.data.reserved[0] ^= 1;
  memset(message.data.reserved + 8, 0xff, 16); /* beyond the pool's end */
  if (entry_hipMemPoolImportPointer(&own, pool, &message.data) != hipErrorInvalidValue) return 12;
  if (entry_hipMemPoolDestroy(pool) != hipSuccess) return 13;
  return write(to, "x", 1) == 1 ? 0 : 14;
}

START_TEST(another_process_sees_what_a_shared_pool_gave) {
  struct {
    int parent, descriptor;
    hipMemPoolPtrExportData data;
  } message = {.parent = getpid()};
  int down[2], up[2], status = 0;
  char byte = 0;
  ck_assert(pipe(down) == 0 && pipe(up) == 0);
  pid_t child = fork();
  if (child == 0) _exit(second_process(down[0], up[1]));
  hipStream_t stream = stream_new();
  hipMemPoolProps properties = device_pool(hipMemHandleTypePosixFileDescriptor);
  hipMemPool_t pool = NULL;
  char *first = NULL, *memory = NULL;
  size_t before = free_now();
  ck_assert_int_eq(entry_hipMemPoolCreate(&pool, &properties), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolExportToShareableHandle(&message.descriptor, pool, hipMemHandleTypePosixFileDescriptor, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync((void **)&first, 5000, pool, stream), hipSuccess);
  ck_assert_int_eq(entry_hipMallocFromPoolAsync((void **)&memory, 5000, pool, stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemsetAsync(memory, 42, 5000, stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemsetAsync(first, 1, 5000, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolExportPointer(&message.data, memory), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolExportPointer(&message.data, memory + 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolExportPointer(NULL, memory), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolExportPointer(&message.data, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(write(down[1], &message, sizeof message), (int)sizeof message);
  close(up[1]);
  ssize_t got = read(up[0], &byte, 1);
  waitpid(child, &status, 0);
  ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  ck_assert_int_eq(got, 1);
  ck_assert_int_eq(entry_hipMemcpy(&byte, memory + 49, 1, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(byte, 43);
  ck_assert_int_eq(entry_hipMemcpy(&byte, memory + 50, 1, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(byte, 42);
  ck_assert_int_eq(entry_hipMemcpy(&byte, first + 4999, 1, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(byte, 1);

  int none = -5;
  hipMemPool_t nothing = NULL;
  ck_assert_int_eq(entry_hipMemPoolExportToShareableHandle(&none, default_pool(), 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolExportToShareableHandle(&none, pool, 0, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolExportToShareableHandle(&none, pool, 1, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolExportToShareableHandle(NULL, pool, 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolImportFromShareableHandle(&nothing, NULL, 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolImportFromShareableHandle(&nothing, (void *)(uintptr_t)down[0], 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPoolImportFromShareableHandle(&nothing, (void *)(uintptr_t)message.descriptor, 0, 0), hipErrorInvalidValue);
  ck_assert_int_eq(none, -5);
  ck_assert_ptr_null(nothing);
  ck_assert_int_eq(entry_hipFreeAsync(memory, stream), hipSuccess);
  ck_assert_int_eq(entry_hipFreeAsync(first, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemPoolDestroy(pool), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
}
END_TEST

START_TEST(a_reset_empties_the_pools) {
  hipStream_t stream = stream_new();
  size_t before = free_now();
  threshold_set(default_pool(), UINT64_MAX);
  void *memory = take(MIB, stream), *kept = take(2 * MIB, stream);
  ck_assert_int_eq(entry_hipFreeAsync(kept, stream), hipSuccess);
  ck_assert_int_eq(entry_hipDeviceReset(), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
  ck_assert_uint_eq(number_of(default_pool(), hipMemPoolAttrReservedMemCurrent), 0);
  ck_assert_uint_eq(number_of(default_pool(), hipMemPoolAttrUsedMemCurrent), 0);
  ck_assert_int_eq(entry_hipFree(memory), hipErrorInvalidValue);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_pool");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, a_stream_gets_its_own_memory_back_at_once_and_others_when_it_is_free);
  tcase_add_test(rules, a_stream_that_follows_the_free_may_use_the_memory);
  tcase_add_test(rules, when_memory_is_short_a_stream_waits_for_a_free_and_the_host_does_not);
  tcase_add_test(rules, two_streams_churn_and_every_byte_stays);
  tcase_add_test(rules, free_memory_is_counted_at_the_frees_point_and_trimmed_on_demand);
  tcase_add_test(rules, pointers_of_other_kinds_are_told_apart);
  tcase_add_test(rules, a_created_pool_lives_as_long_as_its_memory);
  tcase_add_test(rules, locations_and_kinds_have_their_pools);
  tcase_add_test(rules, another_process_sees_what_a_shared_pool_gave);
  tcase_add_test(rules, a_reset_empties_the_pools);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
