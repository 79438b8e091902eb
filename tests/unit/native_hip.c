/* HIP and native work on the same memory and streams of one process. */
#include <hip/hip_runtime_api.h>

#include "interpose/entry.h"
#include "tests/unit/include/native.h"

hipError_t entry_hipMalloc(void **pointer, size_t size);
hipError_t entry_hipFree(void *pointer);
hipError_t entry_hipHostMalloc(void **pointer, size_t size, unsigned flags);
hipError_t entry_hipHostFree(void *pointer);
hipError_t entry_hipStreamCreate(hipStream_t *stream);
hipError_t entry_hipStreamDestroy(hipStream_t stream);
hipError_t entry_hipStreamSynchronize(hipStream_t stream);
hipError_t entry_hipMemsetAsync(void *pointer, int value, size_t size, hipStream_t stream);
hipError_t entry_hipMemcpy(void *destination, const void *source, size_t size, hipMemcpyKind kind);
hipError_t entry_hipMemcpyAsync(void *destination, const void *source, size_t size, hipMemcpyKind kind, hipStream_t stream);

static hrx_runtime *shared;

static void setup(void) { OK(hrx_runtime_shared(&shared)); }
static void teardown(void) { hrx_runtime_release(shared); }

START_TEST(hip_pointers_are_views_of_the_shared_runtime) {
  char *device = NULL, *host = NULL;
  hrx_view view = {0}, inner = {0};
  ck_assert_int_eq(entry_hipMalloc((void **)&device, 4096), hipSuccess);
  ck_assert_int_eq(entry_hipHostMalloc((void **)&host, 4096, 0), hipSuccess);
  OK(hrx_runtime_view(shared, device + 100, 200, &view));
  ck_assert_uint_eq(view.offset, 100);
  ck_assert_uint_eq(hrx_buffer_bytes(view.buffer), 4096);
  ck_assert_int_eq(hrx_buffer_placement(view.buffer), HRX_GPU_LOCAL);
  ck_assert(hrx_runtime_owns(shared, view));
  OK(hrx_runtime_view(shared, host, 4096, &inner));
  ck_assert_int_eq(hrx_buffer_placement(inner.buffer), HRX_HOST_VISIBLE);
  FAILS(hrx_runtime_view(shared, device + 100, 4000, &view), INVALID, RANGE);
  FAILS(hrx_runtime_view(shared, &view, 1, &view), INVALID, POINTER);
  hrx_runtime *own = runtime_new(NULL);
  FAILS(hrx_runtime_view(own, device, 1, &view), INVALID, FOREIGN);
  ck_assert_int_eq(entry_hipFree(device), hipSuccess);
  ck_assert(!hrx_runtime_owns(shared, view)); /* the memory was the program's to free */
  hrx_buffer_release(view.buffer);
  hrx_buffer_release(inner.buffer);
  ck_assert_int_eq(entry_hipHostFree(host), hipSuccess);
  hrx_runtime_release(own);
}
END_TEST

START_TEST(a_native_buffer_is_found_by_its_address) {
  hrx_buffer *buffer = buffer_new(shared, 4096, HRX_HOST_VISIBLE);
  hrx_view view = {0};
  OK(hrx_runtime_view(shared, (char *)hrx_buffer_address(buffer) + 8, 8, &view));
  ck_assert_ptr_eq(view.buffer->backing, buffer->backing);
  hrx_buffer_release(buffer);
  uint8_t byte = 1;
  OK(hrx_view_read((hrx_view){view.buffer, 8, 1}, &byte, 1)); /* the view keeps it */
  ck_assert_uint_eq(byte, 0);
  hrx_buffer_release(view.buffer);
}
END_TEST

/* Behaviour 3, through HIP: work in one stream is ordered whoever submits it. */
START_TEST(hip_and_native_work_of_a_stream_is_ordered) {
  enum { BYTES = 1 << 20 };
  hipStream_t hip = NULL;
  hrx_stream *stream = NULL;
  char *device = NULL;
  uint8_t *found = malloc(BYTES);
  hrx_view view = {0};
  ck_assert_int_eq(entry_hipStreamCreate(&hip), hipSuccess);
  ck_assert_int_eq(entry_hipMalloc((void **)&device, BYTES), hipSuccess);
  OK(hrx_runtime_stream(shared, hip, &stream));
  OK(hrx_runtime_view(shared, device, BYTES, &view));
  for (int round = 0; round < 20; round++) {
    ck_assert_int_eq(entry_hipMemsetAsync(device, round, BYTES, hip), hipSuccess);
    hrx_view half = {view.buffer, BYTES / 2, BYTES / 2};
    OK(hrx_stream_fill(stream, half, (uint8_t)(100 + round)));
    ck_assert_int_eq(entry_hipMemcpyAsync(found, device, BYTES, hipMemcpyDeviceToHost, hip), hipSuccess);
    ck_assert_int_eq(entry_hipStreamSynchronize(hip), hipSuccess);
    int wrong = 0; /* an assertion a byte would take seconds */
    for (int i = 0; i < BYTES; i++) wrong += found[i] != (i < BYTES / 2 ? round : 100 + round);
    ck_assert_int_eq(wrong, 0);
  }
  hrx_stream_close(stream); /* the queue stays HIP's */
  ck_assert_int_eq(entry_hipMemsetAsync(device, 1, BYTES, hip), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(hip), hipSuccess);
  hrx_buffer_release(view.buffer);
  ck_assert_int_eq(entry_hipStreamDestroy(hip), hipSuccess);
  ck_assert_int_eq(entry_hipFree(device), hipSuccess);
  FAILS(hrx_runtime_stream(shared, hip, &stream), INVALID, HANDLE);
  free(found);
}
END_TEST

/* A blocking copy of stream 0 follows native work in a blocking stream, as it would follow HIP's. */
START_TEST(stream_0_follows_native_work_of_blocking_streams) {
  enum { BYTES = 4 << 20 };
  hipStream_t hip = NULL;
  hrx_stream *stream = NULL, *zero = NULL;
  char *device = NULL;
  uint8_t *found = malloc(BYTES);
  hrx_view view = {0};
  ck_assert_int_eq(entry_hipStreamCreate(&hip), hipSuccess);
  ck_assert_int_eq(entry_hipMalloc((void **)&device, BYTES), hipSuccess);
  OK(hrx_runtime_stream(shared, hip, &stream));
  OK(hrx_runtime_stream(shared, NULL, &zero));
  OK(hrx_runtime_view(shared, device, BYTES, &view));
  for (unsigned round = 1; round < 20; round++) {
    OK(hrx_stream_fill(zero, view, 0));
    OK(hrx_stream_fill(stream, view, (uint8_t)round));
    ck_assert_int_eq(entry_hipMemcpy(found, device, BYTES, hipMemcpyDeviceToHost), hipSuccess);
    int wrong = 0;
    for (int i = 0; i < BYTES; i++) wrong += found[i] != round;
    ck_assert_int_eq(wrong, 0);
  }
  hrx_stream_close(stream);
  hrx_stream_close(zero);
  hrx_buffer_release(view.buffer);
  ck_assert_int_eq(entry_hipStreamDestroy(hip), hipSuccess);
  ck_assert_int_eq(entry_hipFree(device), hipSuccess);
  free(found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native_hip");
  TCase *tests = tcase_create("native_hip");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, hip_pointers_are_views_of_the_shared_runtime);
  tcase_add_test(tests, a_native_buffer_is_found_by_its_address);
  tcase_add_test(tests, hip_and_native_work_of_a_stream_is_ordered);
  tcase_add_test(tests, stream_0_follows_native_work_of_blocking_streams);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
