/* HIP's rules for virtual memory: reserve, create, map, access, share. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/state.h"
#include "memory/memory.h"
#include "tests/unit/two_devices.h"

enum { PAGE = 4096, CHUNK = 2 << 20 };

static hipMemAllocationProp device_property(int device, int handle_type) {
  return (hipMemAllocationProp){.location = {hipMemLocationTypeDevice, device},
                                .type = hipMemAllocationTypePinned,
                                .requestedHandleType = (hipMemAllocationHandleType)handle_type};
}

static const hipMemAccessDesc write_access = {{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};

static size_t free_now(void) {
  size_t free_bytes = 0, total = 0;
  ck_assert_int_eq(entry_hipMemGetInfo(&free_bytes, &total), hipSuccess);
  return free_bytes;
}

static char *reserve(size_t bytes) {
  void *address = NULL;
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, bytes, 0, NULL, 0), hipSuccess);
  return address;
}

static hipMemGenericAllocationHandle_t create(size_t bytes, int handle_type) {
  hipMemGenericAllocationHandle_t handle = NULL;
  hipMemAllocationProp property = device_property(0, handle_type);
  ck_assert_int_eq(entry_hipMemCreate(&handle, bytes, &property, 0), hipSuccess);
  return handle;
}

static void map(char *address, size_t bytes, hipMemGenericAllocationHandle_t handle) {
  ck_assert_int_eq(entry_hipMemMap(address, bytes, 0, handle, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemSetAccess(address, bytes, &write_access, 1), hipSuccess);
}

START_TEST(a_range_grows_chunk_by_chunk_and_copies_cross_them) {
  static unsigned char out[3 * CHUNK], in[3 * CHUNK];
  size_t before = free_now();
  char *base = reserve(16 * CHUNK);
  for (size_t i = 0; i < sizeof out; i++) out[i] = (unsigned char)(i * 31 + i / CHUNK);
  for (int i = 0; i < 3; i++) {
    hipMemGenericAllocationHandle_t handle = create(CHUNK, 0);
    map(base + (size_t)i * CHUNK, CHUNK, handle);
    ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess); /* the mapping keeps the memory */
  }
  ck_assert_uint_eq(before - free_now(), 3 * CHUNK);
  ck_assert_int_eq(entry_hipMemcpy(base, out, sizeof out, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(in + 5, base + 5, sizeof in - 5, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(memcmp(in + 5, out + 5, sizeof in - 5), 0);
  ck_assert_int_eq(entry_hipMemset(base + CHUNK - 8, 0x5a, 16), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(in, base + CHUNK - 9, 18, hipMemcpyDefault), hipSuccess);
  ck_assert(in[0] == out[CHUNK - 9] && in[1] == 0x5a && in[16] == 0x5a && in[17] == out[CHUNK + 8]);
  /* one byte too many */
  ck_assert_int_eq(entry_hipMemcpy(in, base + 1, sizeof in, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemset(base, 0, 3 * CHUNK + 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemUnmap(base, 3 * CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 16 * CHUNK), hipSuccess);
  ck_assert_uint_eq(free_now(), before);
}
END_TEST

START_TEST(two_mappings_of_one_handle_are_one_memory) {
  char *base = reserve(2 * CHUNK), *other = base + CHUNK;
  hipMemGenericAllocationHandle_t handle = create(CHUNK, 0);
  void *target = NULL;
  map(base, CHUNK, handle);
  map(other, CHUNK, handle);
  const struct memory *memory = state_existing()->domain->memory;
  const struct allocation *one = memory_find(memory, (uintptr_t)base), *two = memory_find(memory, (uintptr_t)other);
  ck_assert_ptr_ne(one, two);
  ck_assert_ptr_eq(one->storage, two->storage);
  ck_assert_uint_eq(one->storage_offset, two->storage_offset);
  ck_assert_int_eq(entry_hipMalloc(&target, CHUNK), hipSuccess);
  for (int round = 0; round < 20; round++) { /* a fill through one, a copy out of the other: no order but the data's */
    unsigned char back[2];
    ck_assert_int_eq(entry_hipMemsetAsync(base, round, CHUNK, NULL), hipSuccess);
    ck_assert_int_eq(entry_hipMemcpyAsync(target, other, CHUNK, hipMemcpyDeviceToDevice, NULL), hipSuccess);
    ck_assert_int_eq(entry_hipMemcpy(back, (char *)target + CHUNK - 1, 1, hipMemcpyDeviceToHost), hipSuccess);
    ck_assert_int_eq(back[0], round);
  }
  ck_assert_int_eq(entry_hipFree(target), hipSuccess);
  ck_assert_int_eq(entry_hipMemUnmap(base, 2 * CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 2 * CHUNK), hipSuccess);
}
END_TEST

START_TEST(nothing_reaches_memory_before_access_is_set) {
  char *base = reserve(CHUNK), host[16] = {0};
  hipMemGenericAllocationHandle_t handle = create(CHUNK, 0);
  hipMemLocation here = {hipMemLocationTypeDevice, 0}, second = {hipMemLocationTypeDevice, 1};
  hipMemAccessDesc access = {here, hipMemAccessFlagsProtRead};
  unsigned long long flags = 77;
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, handle, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, &here, base + 5), hipSuccess);
  ck_assert_uint_eq(flags, hipMemAccessFlagsProtNone);
  ck_assert_int_eq(entry_hipMemcpy(base, host, 16, hipMemcpyHostToDevice), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, &access, 1), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(host, base, 16, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(base, host, 16, hipMemcpyHostToDevice), hipErrorInvalidValue);
  ck_assert_uint_eq(memory_find(state_existing()->domain->memory, (uintptr_t)base)->access, MEMORY_READ);
  hipMemAccessDesc both[2] = {write_access, {second, hipMemAccessFlagsProtRead}};
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, both, 2), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, &second, base), hipSuccess);
  ck_assert_uint_eq(flags, hipMemAccessFlagsProtRead);
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, &here, base), hipSuccess);
  ck_assert_uint_eq(flags, hipMemAccessFlagsProtReadWrite);
  ck_assert_int_eq(entry_hipMemcpy(base, host, 16, hipMemcpyHostToDevice), hipSuccess);
  /* a bad description changes nothing, also not by the good one before it */
  hipMemAccessDesc bad[2] = {{here, hipMemAccessFlagsProtNone}, {{hipMemLocationTypeDevice, 9}, hipMemAccessFlagsProtRead}};
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, bad, 2), hipErrorInvalidValue);
  bad[1] = (hipMemAccessDesc){second, (hipMemAccessFlags)2};
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, bad, 2), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, &here, base), hipSuccess);
  ck_assert_uint_eq(flags, hipMemAccessFlagsProtReadWrite);
  flags = 77;
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, &here, host), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAccess(NULL, &here, base), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAccess(&flags, NULL, base), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK - PAGE, &write_access, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetAccess(base + PAGE, CHUNK - PAGE, &write_access, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, NULL, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemSetAccess(base, CHUNK, &write_access, 0), hipErrorInvalidValue);
  ck_assert_uint_eq(flags, 77);
}
END_TEST

START_TEST(wrong_arguments_leave_nothing_behind) {
  size_t before = free_now(), granularity = 0;
  void *address = (void *)5;
  hipMemGenericAllocationHandle_t handle = (void *)5;
  hipMemAllocationProp property = device_property(0, 0);
  ck_assert_int_eq(entry_hipMemAddressReserve(NULL, CHUNK, 0, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, 0, 0, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, CHUNK + 1, 0, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, CHUNK, 3, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, CHUNK, 0, NULL, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressReserve(&address, (size_t)1 << 60, 0, NULL, 0), hipErrorOutOfMemory);
  ck_assert_ptr_eq(address, (void *)5);
  ck_assert_int_eq(entry_hipMemCreate(NULL, CHUNK, &property, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemCreate(&handle, 0, &property, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK + 100, &property, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &property, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemCreate(&handle, (size_t)1 << 40, &property, 0), hipErrorOutOfMemory);
  property.type = hipMemAllocationTypeInvalid;
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &property, 0), hipErrorInvalidValue);
  property = device_property(2, 0);
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &property, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAllocationGranularity(&granularity, &property, 0), hipErrorInvalidValue);
  property = device_property(0, hipMemHandleTypeWin32);
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &property, 0), hipErrorNotSupported);
  ck_assert_ptr_eq(handle, (void *)5);
  property = device_property(0, 0);
  ck_assert_int_eq(entry_hipMemGetAllocationGranularity(NULL, &property, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAllocationGranularity(&granularity, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAllocationGranularity(&granularity, &property, 2), hipErrorInvalidValue);
  ck_assert_uint_eq(granularity, 0);
  ck_assert_int_eq(entry_hipMemGetAllocationGranularity(&granularity, &property, hipMemAllocationGranularityMinimum), hipSuccess);
  ck_assert_uint_eq(granularity, PAGE);

  char *base = reserve(2 * CHUNK), host[8];
  handle = create(CHUNK, 0);
  ck_assert_int_eq(entry_hipMemMap(NULL, CHUNK, 0, handle, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, 0, 0, handle, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, PAGE, handle, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, handle, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, NULL, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, (void *)host, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, 2 * CHUNK, 0, handle, 0), hipErrorInvalidValue);          /* more than there is */
  ck_assert_int_eq(entry_hipMemMap(base + CHUNK + PAGE, CHUNK, 0, handle, 0), hipErrorInvalidValue); /* leaves the range */
  ck_assert_int_eq(entry_hipMemMap(host, PAGE, 0, handle, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, handle, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemMap(base + PAGE, CHUNK, 0, handle, 0), hipErrorInvalidValue); /* something is there */
  ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK - PAGE), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemUnmap(base, 2 * CHUNK), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemUnmap(base + PAGE, CHUNK - PAGE), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemUnmap(NULL, CHUNK), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 2 * CHUNK), hipErrorInvalidValue); /* it shows memory */
  ck_assert_int_eq(entry_hipFree(base), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRelease(NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressFree(base + PAGE, CHUNK), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 2 * CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemAddressFree(base, 2 * CHUNK), hipErrorInvalidValue);
  ck_assert_uint_eq(free_now(), before);
}
END_TEST

START_TEST(a_reservation_is_where_it_was_asked_for_if_it_can_be) {
  void *first = reserve(CHUNK), *again = NULL, *aligned = NULL;
  ck_assert_int_eq(entry_hipMemAddressFree(first, CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemAddressReserve(&again, CHUNK, 0, first, 0), hipSuccess);
  ck_assert_ptr_eq(again, first);
  ck_assert_int_eq(entry_hipMemAddressReserve(&aligned, CHUNK, 64 << 20, first, 0), hipSuccess); /* taken: elsewhere */
  ck_assert_uint_eq((uintptr_t)aligned % (64 << 20), 0);
}
END_TEST

START_TEST(properties_come_back_as_they_were_given_in_either_layout) {
  hipMemGenericAllocationHandle_t handle = NULL;
  hipMemAllocationProp old = device_property(1, hipMemHandleTypePosixFileDescriptor), back;
  struct allocation_properties newer = {
    .type = hipMemAllocationTypePinned, .handle_types = 1, .location = {hipMemLocationTypeDevice, 1}, .usage = 3};
  ck_assert_int_eq(entry_hipMemCreate(&handle, PAGE, &old, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetAllocationPropertiesFromHandle(&back, handle), hipSuccess);
  ck_assert_int_eq(back.location.id, 1);
  ck_assert_int_eq(back.requestedHandleType, hipMemHandleTypePosixFileDescriptor);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
  ck_assert_int_eq(entry_hipMemCreate(&handle, PAGE, (const hipMemAllocationProp *)&newer, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetAllocationPropertiesFromHandle(&back, handle), hipSuccess);
  ck_assert_int_eq(memcmp(&back, &newer, sizeof back), 0);
  ck_assert_int_eq(entry_hipMemGetAllocationPropertiesFromHandle(NULL, handle), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemGetAllocationPropertiesFromHandle(&back, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetAllocationPropertiesFromHandle(&back, handle), hipErrorInvalidValue);
}
END_TEST

/* Host memory has no device: every kind of location works, and none of them is charged to the GPU. */
START_TEST(host_locations_need_no_device) {
  size_t before = free_now();
  for (int place = LOCATION_HOST; place <= LOCATION_HOST_NODE_CURRENT; place++) {
    hipMemGenericAllocationHandle_t handle = NULL;
    hipMemAllocationProp property = device_property(place == LOCATION_HOST_NODE ? 0 : -77, 0);
    property.location.type = (hipMemLocationType)place;
    size_t granularity = 0;
    ck_assert_int_eq(entry_hipMemGetAllocationGranularity(&granularity, &property, 1), hipSuccess);
    ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &property, 0), hipSuccess);
    ck_assert_uint_eq(free_now(), before);
    char *base = reserve(CHUNK), byte = 0;
    map(base, CHUNK, handle);
    ck_assert_int_eq(entry_hipMemset(base, 9, CHUNK), hipSuccess);
    ck_assert_int_eq(entry_hipMemcpy(&byte, base + 100, 1, hipMemcpyDeviceToHost), hipSuccess);
    ck_assert_int_eq(byte, 9);
    ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK), hipSuccess);
    ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
    ck_assert_int_eq(entry_hipMemAddressFree(base, CHUNK), hipSuccess);
  }
  hipMemAllocationProp nowhere = device_property(5, 0);
  nowhere.location.type = (hipMemLocationType)LOCATION_HOST_NODE;
  hipMemGenericAllocationHandle_t handle = NULL;
  ck_assert_int_eq(entry_hipMemCreate(&handle, CHUNK, &nowhere, 0), hipErrorInvalidValue);
}
END_TEST

START_TEST(a_handle_can_be_had_from_an_address) {
  char *base = reserve(CHUNK);
  hipMemGenericAllocationHandle_t handle = create(CHUNK, 0), found = NULL;
  map(base, CHUNK, handle);
  ck_assert_int_eq(entry_hipMemRelease(handle), hipSuccess);
  ck_assert_int_eq(entry_hipMemRetainAllocationHandle(&found, base + 77), hipSuccess);
  ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemMap(base, CHUNK, 0, found, 0), hipSuccess); /* it kept the memory */
  ck_assert_int_eq(entry_hipMemUnmap(base, CHUNK), hipSuccess);
  ck_assert_int_eq(entry_hipMemRelease(found), hipSuccess);
  ck_assert_int_eq(entry_hipMemRetainAllocationHandle(&found, base), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRetainAllocationHandle(NULL, base), hipErrorInvalidValue);
  void *plain = NULL;
  ck_assert_int_eq(entry_hipMalloc(&plain, 64), hipSuccess);
  ck_assert_int_eq(entry_hipMemRetainAllocationHandle(&found, plain), hipErrorInvalidValue);
}
END_TEST

START_TEST(a_descriptor_gives_the_same_memory) {
  char *base = reserve(2 * CHUNK), words[8] = "";
  int descriptor = -1;
  hipMemGenericAllocationHandle_t handle = create(CHUNK, 1), again = NULL, closed = create(CHUNK, 0);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&descriptor, handle, hipMemHandleTypePosixFileDescriptor, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&again, (void *)(uintptr_t)descriptor, 1), hipSuccess);
  ck_assert_ptr_eq(again, handle); /* of this process's own memory */
  ck_assert_int_eq(entry_hipMemRelease(again), hipSuccess);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&again, &descriptor, 1), hipSuccess); /* the older way to pass it */
  map(base, CHUNK, handle);
  map(base + CHUNK, CHUNK, again);
  ck_assert_int_eq(entry_hipMemcpy(base, "shared", 7, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(words, base + CHUNK, 7, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(words, "shared");

  int other = open("/dev/zero", O_RDWR), none = -1;
  hipMemGenericAllocationHandle_t nothing = NULL;
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&none, closed, hipMemHandleTypePosixFileDescriptor, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&none, handle, hipMemHandleTypeWin32, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&none, handle, hipMemHandleTypePosixFileDescriptor, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(NULL, handle, hipMemHandleTypePosixFileDescriptor, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&none, NULL, hipMemHandleTypePosixFileDescriptor, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&nothing, (void *)(uintptr_t)other, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&nothing, (void *)(uintptr_t)9999, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&nothing, NULL, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(NULL, &descriptor, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemImportFromShareableHandle(&nothing, &descriptor, 0), hipErrorInvalidValue);
  ck_assert_int_eq(none, -1);
  ck_assert_ptr_null(nothing);
}
END_TEST

static void descriptor_send(int to, int descriptor) {
  char byte = 1, room[CMSG_SPACE(sizeof descriptor)] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *control = CMSG_FIRSTHDR(&message);
  *control = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptor)};
  memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  ck_assert_int_eq(sendmsg(to, &message, 0), 1);
}

static int descriptor_receive(int from) {
  int descriptor = -1;
  char byte, room[CMSG_SPACE(sizeof descriptor)];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(from, &message, 0) == 1) memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

/* Forked before either process used the GPU. Answers with an exit status, because a failed check would end the wrong process. */
static int second_process(int from) {
  void *base = NULL;
  char words[16] = "";
  hipMemGenericAllocationHandle_t handle = NULL;
  int descriptor = descriptor_receive(from);
  if (entry_hipMemImportFromShareableHandle(&handle, (void *)(uintptr_t)descriptor, 1) != hipSuccess) return 1;
  close(descriptor);
  if (entry_hipMemAddressReserve(&base, CHUNK, 0, NULL, 0) != hipSuccess) return 2;
  if (entry_hipMemMap(base, CHUNK, 0, handle, 0) != hipSuccess) return 3;
  if (entry_hipMemSetAccess(base, CHUNK, &write_access, 1) != hipSuccess) return 4;
  if (entry_hipMemcpy(words, base, 6, hipMemcpyDeviceToHost) != hipSuccess || strcmp(words, "first") != 0) return 5;
  if (entry_hipMemcpy((char *)base + 100, "second", 7, hipMemcpyHostToDevice) != hipSuccess) return 6;
  return write(from, "x", 1) == 1 ? 0 : 7;
}

START_TEST(another_process_sees_the_same_bytes) {
  int ends[2], descriptor = -1, status = 0;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  pid_t child = fork();
  if (child == 0) _exit(second_process(ends[1]));
  char *base = reserve(CHUNK), words[16] = "", done = 0;
  hipMemGenericAllocationHandle_t handle = create(CHUNK, 1);
  map(base, CHUNK, handle);
  ck_assert_int_eq(entry_hipMemcpy(base, "first", 6, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemExportToShareableHandle(&descriptor, handle, 1, 0), hipSuccess);
  descriptor_send(ends[0], descriptor);
  close(ends[1]);
  ssize_t got = read(ends[0], &done, 1);
  waitpid(child, &status, 0);
  ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  ck_assert_int_eq(got, 1);
  ck_assert_int_eq(entry_hipMemcpy(words, base + 100, 7, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(words, "second");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_virtual");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, a_range_grows_chunk_by_chunk_and_copies_cross_them);
  tcase_add_test(rules, two_mappings_of_one_handle_are_one_memory);
  tcase_add_test(rules, nothing_reaches_memory_before_access_is_set);
  tcase_add_test(rules, wrong_arguments_leave_nothing_behind);
  tcase_add_test(rules, a_reservation_is_where_it_was_asked_for_if_it_can_be);
  tcase_add_test(rules, properties_come_back_as_they_were_given_in_either_layout);
  tcase_add_test(rules, host_locations_need_no_device);
  tcase_add_test(rules, a_handle_can_be_had_from_an_address);
  tcase_add_test(rules, a_descriptor_gives_the_same_memory);
  tcase_add_test(rules, another_process_sees_the_same_bytes);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
