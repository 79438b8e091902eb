/* HIP's rules for batches, boxes between devices, arrays of arrays, advice, and pointers of every kind. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/state.h"
#include "tests/unit/two_devices.h"

static void *device_bytes(size_t bytes) {
  void *pointer = NULL;
  ck_assert_int_eq(entry_hipMalloc(&pointer, bytes), hipSuccess);
  return pointer;
}

START_TEST(layouts_are_those_that_programs_were_compiled_with) {
  ck_assert_uint_eq(sizeof(hipMemcpyAttributes), 24);
  ck_assert_uint_eq(sizeof(hipMemcpy3DOperand), 40);
  ck_assert_uint_eq(offsetof(hipMemcpy3DOperand, op), 8);
  ck_assert_uint_eq(sizeof(struct hipMemcpy3DBatchOp), 112);
  ck_assert_uint_eq(offsetof(struct hipMemcpy3DBatchOp, extent), 80);
  ck_assert_uint_eq(offsetof(struct hipMemcpy3DBatchOp, flags), 108);
  ck_assert_uint_eq(sizeof(hipMemcpy3DPeerParms), 168);
  ck_assert_uint_eq(offsetof(hipMemcpy3DPeerParms, srcDevice), 64);
  ck_assert_uint_eq(offsetof(hipMemcpy3DPeerParms, dstArray), 72);
  ck_assert_uint_eq(offsetof(struct allocation_properties, location), 8);
  ck_assert_uint_eq(offsetof(struct pool_properties, max_bytes), 24);
}
END_TEST

START_TEST(a_batch_is_made_whole_or_not_at_all) {
  char first[16] = "one", second[16] = "two", back[16] = "";
  char *memory = device_bytes(64);
  hipStream_t stream = NULL;
  size_t failed = 77, index = 0;
  void *dsts[3] = {memory, memory + 16, memory + 32}, *srcs[3] = {first, second, memory};
  size_t sizes[3] = {16, 16, 16};
  hipMemcpyAttributes attribute = {.srcAccessOrder = 1};
  ck_assert_int_eq(entry_hipStreamCreate(&stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemset(memory, 0, 64), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, &attribute, &index, 1, &failed, stream), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(back, memory + 32, 16, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(back, "one"); /* in order: the third copy reads what the first wrote */
  ck_assert_uint_eq(failed, 77);

  ck_assert_int_eq(entry_hipMemset(memory, 0, 64), hipSuccess);
  sizes[2] = 33; /* leaves the memory */
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, NULL, NULL, 0, &failed, stream), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, 2);
  ck_assert_int_eq(entry_hipMemcpy(back, memory, 16, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(back, "");
  sizes[2] = 0;
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, NULL, NULL, 0, &failed, stream), hipErrorInvalidValue);
  sizes[2] = 16;
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(NULL, srcs, sizes, 3, NULL, NULL, 0, &failed, stream), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, SIZE_MAX);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, NULL, sizes, 3, NULL, NULL, 0, NULL, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, NULL, 3, NULL, NULL, 0, NULL, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 0, NULL, NULL, 0, NULL, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, NULL, &index, 1, NULL, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, NULL, NULL, 0, NULL, (hipStream_t)back), hipErrorContextIsDestroyed);
  attribute.srcAccessOrder = 0;
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, &attribute, &index, 1, NULL, stream), hipErrorInvalidValue);
  attribute = (hipMemcpyAttributes){.srcAccessOrder = 1, .flags = 0x200}; /* swap */
  ck_assert_int_eq(entry_hipMemcpyBatchAsync(dsts, srcs, sizes, 3, &attribute, &index, 1, NULL, stream), hipErrorNotSupported);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

START_TEST(boxes_in_batches_have_rows_and_layers) {
  enum { X = 5, Y = 3, Z = 2, ROW = 8, ROWS = 4 };
  unsigned char host[X * Y * Z], spread[ROW * ROWS * Z], back[X * Y * Z] = {0};
  hipChannelFormatDesc desc = entry_hipCreateChannelDesc(8, 0, 0, 0, hipChannelFormatKindUnsigned);
  hipArray *array = NULL;
  size_t failed = 77;
  for (int i = 0; i < X * Y * Z; i++) host[i] = (unsigned char)(i + 1);
  char *memory = device_bytes(sizeof spread);
  ck_assert_int_eq(entry_hipMalloc3DArray(&array, &desc, (hipExtent){X, Y, Z}, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemset(memory, 0, sizeof spread), hipSuccess);
  struct hipMemcpy3DBatchOp ops[2] = {
    {.src = {.type = 1, .op.ptr = {host, 0, 0, {0, 0}}}, .dst = {.type = 1, .op.ptr = {memory, ROW, ROWS, {0, 0}}},
     .extent = {X, Y, Z}, .srcAccessOrder = 2},
    {.src = {.type = 1, .op.ptr = {memory, ROW, ROWS, {0, 0}}}, .dst = {.type = 2, .op.array = {array, {0, 0, 0}}},
     .extent = {X, Y, Z}, .srcAccessOrder = 1}};
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 0, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(spread, memory, sizeof spread, hipMemcpyDeviceToHost), hipSuccess);
  for (int z = 0; z < Z; z++)
    for (int y = 0; y < Y; y++)
      for (int x = 0; x < ROW; x++)
        ck_assert_int_eq(spread[(z * ROWS + y) * ROW + x], x < X ? host[(z * Y + y) * X + x] : 0);
  hipMemcpy3DParms out = {.srcArray = array, .dstPtr = {back, X, X, Y}, .extent = {X, Y, Z}, .kind = hipMemcpyDeviceToHost};
  ck_assert_int_eq(entry_hipMemcpy3D(&out), hipSuccess);
  ck_assert_int_eq(memcmp(back, host, sizeof host), 0);
  out.srcPos.x = 1; /* one element beyond the row is another row's, not the program's */
  ck_assert_int_eq(entry_hipMemcpy3D(&out), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, 77);

  ops[1].extent.depth = 0;
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 0, NULL), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, 1);
  ops[1].extent.depth = Z;
  ops[0].dst.op.ptr.rowLength = X - 1;
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 0, NULL), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, 0);
  ops[0].dst.op.ptr.rowLength = ROW;
  ops[1].dst.op.array.offset.x = 1;
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 0, NULL), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, 1);
  ops[1].srcAccessOrder = 0;
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 0, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(2, ops, &failed, 1, NULL), hipErrorInvalidValue);
  ck_assert_uint_eq(failed, SIZE_MAX);
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(0, ops, NULL, 0, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy3DBatchAsync(1, NULL, NULL, 0, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeArray(array), hipSuccess);
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
}
END_TEST

START_TEST(boxes_go_between_devices) {
  char *one = device_bytes(64), words[8] = "";
  ck_assert_int_eq(entry_hipSetDevice(1), hipSuccess);
  char *two = device_bytes(64);
  ck_assert_int_eq(entry_hipMemset(two, 0, 64), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(one, "peer", 5, hipMemcpyHostToDevice), hipSuccess);
  hipMemcpy3DPeerParms p = {.srcPtr = {one, 8, 8, 2}, .srcDevice = 0, .dstPtr = {two, 16, 16, 2}, .dstDevice = 1, .extent = {8, 2, 2}};
  ck_assert_int_eq(entry_hipMemcpy3DPeer(&p), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(words, two, 5, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(words, "peer");
  ck_assert_int_eq(entry_hipMemcpy3DPeerAsync(&p, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipDeviceSynchronize(), hipSuccess);
  p.dstDevice = 2;
  ck_assert_int_eq(entry_hipMemcpy3DPeer(&p), hipErrorInvalidDevice);
  p.dstDevice = -1;
  ck_assert_int_eq(entry_hipMemcpy3DPeerAsync(&p, NULL), hipErrorInvalidDevice);
  p.dstDevice = 1;
  p.extent.depth = 3;
  ck_assert_int_eq(entry_hipMemcpy3DPeer(&p), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy3DPeer(NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy3DPeerAsync(NULL, NULL), hipErrorInvalidValue);
}
END_TEST

START_TEST(arrays_copy_to_arrays_and_to_the_host_in_order) {
  hipChannelFormatDesc desc = entry_hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray *one = NULL, *two = NULL;
  float in[24], out[24];
  for (int i = 0; i < 24; i++) in[i] = (float)i;
  ck_assert_int_eq(entry_hipMallocArray(&one, &desc, 6, 4, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMallocArray(&two, &desc, 6, 4, 0), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy2DToArray_spt(one, 0, 0, in, 24, 24, 4, hipMemcpyHostToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy2DArrayToArray(two, 0, 0, one, 0, 0, 24, 4, hipMemcpyDeviceToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy2DFromArray_spt(out, 24, two, 0, 0, 24, 4, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_int_eq(memcmp(in, out, sizeof in), 0);
  ck_assert_int_eq(entry_hipMemcpyAtoA(two, 8, one, 0, 12), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpyFromArray_spt(out, two, 8, 0, 12, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert(out[0] == 0.0f && out[2] == 2.0f);
  ck_assert_int_eq(entry_hipMemcpyHtoAAsync(two, 24, in, 16, NULL), hipSuccess); /* the second row */
  ck_assert_int_eq(entry_hipMemcpyAtoHAsync(out, two, 20, 12, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(NULL), hipSuccess);
  ck_assert(out[0] == 5.0f && out[1] == 0.0f && out[2] == 1.0f);
  ck_assert_int_eq(entry_hipMemcpy2DToArrayAsync_spt(two, 0, 0, in, 24, 24, 4, hipMemcpyHostToDevice, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy2DFromArrayAsync_spt(out, 24, two, 0, 0, 24, 4, hipMemcpyDeviceToHost, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipStreamSynchronize(hipStreamPerThread), hipSuccess);
  ck_assert_int_eq(memcmp(in, out, sizeof in), 0);
  ck_assert_int_eq(entry_hipMemcpyAtoA(two, 16, one, 0, 12), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy2DArrayToArray(two, 0, 1, one, 0, 0, 24, 4, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy2DArrayToArray(two, 0, 0, one, 0, 0, 24, 4, hipMemcpyHostToDevice), hipErrorInvalidMemcpyDirection);
  ck_assert_int_eq(entry_hipMemcpy2DArrayToArray(two, 0, 0, NULL, 0, 0, 24, 4, hipMemcpyDeviceToDevice), hipErrorInvalidHandle);
  ck_assert_int_eq(entry_hipMemcpyHtoAAsync(two, 80, in, 20, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyHtoAAsync(NULL, 0, in, 16, NULL), hipErrorInvalidHandle);
  ck_assert_int_eq(entry_hipMemcpyAtoHAsync(NULL, two, 0, 16, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpyFromArray_spt(out, two, 24, 0, 4, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeArray(one), hipSuccess);
  ck_assert_int_eq(entry_hipFreeArray(two), hipSuccess);
}
END_TEST

START_TEST(a_mipmapped_array_has_levels_that_are_its_own) {
  hipChannelFormatDesc desc = entry_hipCreateChannelDesc(8, 0, 0, 0, hipChannelFormatKindUnsigned);
  hipMipmappedArray_t mipmap = NULL, none = NULL;
  hipArray_t levels[3] = {0}, beyond = NULL;
  unsigned char bytes[16 * 8], back[16 * 8];
  size_t before = 0, after = 0, total = 0;
  hipArrayMemoryRequirements needs = {0};
  ck_assert_int_eq(entry_hipMemGetInfo(&before, &total), hipSuccess);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(&mipmap, &desc, (hipExtent){16, 8, 0}, 3, 0), hipSuccess);
  for (unsigned i = 0; i < 3; i++) {
    hipExtent extent;
    ck_assert_int_eq(entry_hipGetMipmappedArrayLevel(&levels[i], mipmap, i), hipSuccess);
    ck_assert_int_eq(entry_hipArrayGetInfo(NULL, &extent, NULL, levels[i]), hipSuccess);
    ck_assert_uint_eq(extent.width, 16u >> i);
    ck_assert_uint_eq(extent.height, 8u >> i);
    memset(bytes, (int)(i + 1), sizeof bytes);
    ck_assert_int_eq(entry_hipMemcpy2DToArray(levels[i], 0, 0, bytes, 16, 16u >> i, 8u >> i, hipMemcpyHostToDevice), hipSuccess);
  }
  for (unsigned i = 0; i < 3; i++) {
    ck_assert_int_eq(entry_hipMemcpy2DFromArray(back, 16, levels[i], 0, 0, 16u >> i, 8u >> i, hipMemcpyDeviceToHost), hipSuccess);
    ck_assert_uint_eq(back[((8u >> i) - 1) * 16 + (16u >> i) - 1], i + 1);
  }
  ck_assert_int_eq(entry_hipMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0), hipSuccess);
  ck_assert_uint_ge(needs.size, 16 * 8 + 8 * 4 + 4 * 2);
  ck_assert_int_eq(entry_hipMipmappedArrayGetMemoryRequirements(NULL, mipmap, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMipmappedArrayGetMemoryRequirements(&needs, NULL, 0), hipErrorInvalidHandle);
  ck_assert_int_eq(entry_hipMipmappedArrayGetMemoryRequirements(&needs, mipmap, 9), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipGetMipmappedArrayLevel(&beyond, mipmap, 3), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipGetMipmappedArrayLevel(NULL, mipmap, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMipmappedArrayGetLevel(&beyond, NULL, 0), hipErrorInvalidHandle);
  ck_assert_int_ne(entry_hipFreeArray(levels[1]), hipSuccess); /* it goes with the whole */
  ck_assert_int_ne(entry_hipFreeArray(levels[0]), hipSuccess);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(&none, &desc, (hipExtent){16, 8, 0}, 6, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(&none, &desc, (hipExtent){16, 8, 0}, 0, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(&none, NULL, (hipExtent){16, 8, 0}, 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(NULL, &desc, (hipExtent){16, 8, 0}, 1, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMallocMipmappedArray(&none, &desc, (hipExtent){16, 8, 0}, 1, hipArrayCubemap), hipErrorNotSupported);
  ck_assert_int_eq(entry_hipMipmappedArrayCreate(&none, NULL, 1), hipErrorInvalidValue);
  ck_assert_ptr_null(none);
  ck_assert_ptr_null(beyond);
  ck_assert_int_eq(entry_hipFreeMipmappedArray(mipmap), hipSuccess);
  ck_assert_int_eq(entry_hipMipmappedArrayDestroy(mipmap), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipFreeMipmappedArray(NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemcpy2DFromArray(back, 16, levels[0], 0, 0, 1, 1, hipMemcpyDeviceToHost), hipErrorInvalidHandle);
  HIP_ARRAY3D_DESCRIPTOR description = {4, 4, 4, HIP_AD_FORMAT_FLOAT, 2, 0};
  ck_assert_int_eq(entry_hipMipmappedArrayCreate(&mipmap, &description, 3), hipSuccess);
  ck_assert_int_eq(entry_hipMipmappedArrayDestroy(mipmap), hipSuccess);
  ck_assert_int_eq(entry_hipMemGetInfo(&after, &total), hipSuccess);
  ck_assert_uint_eq(before, after);
}
END_TEST

static int attribute_of(hipMemRangeAttribute which, const void *pointer, size_t count) {
  int value = 77;
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(&value, sizeof value, which, pointer, count), hipSuccess);
  return value;
}

START_TEST(advice_is_kept_for_ranges_and_reported) {
  char *memory = NULL;
  int devices[3] = {7, 7, 7}, value = 77;
  ck_assert_int_eq(entry_hipMallocManaged((void **)&memory, 8192, hipMemAttachGlobal), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributePreferredLocation, memory, 8192), -2);
  ck_assert_int_eq(entry_hipMemAdvise(memory, 4096, hipMemAdviseSetReadMostly, 0), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeReadMostly, memory, 4096), 1);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeReadMostly, memory + 100, 50), 1);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeReadMostly, memory, 8192), 0); /* not all of it */
  ck_assert_int_eq(entry_hipMemAdvise(memory, 8192, hipMemAdviseSetPreferredLocation, 1), hipSuccess);
  ck_assert_int_eq(entry_hipMemAdvise(memory + 1000, 10, hipMemAdviseSetPreferredLocation, hipCpuDeviceId), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributePreferredLocation, memory, 1000), 1);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributePreferredLocation, memory + 1000, 10), -1);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributePreferredLocation, memory, 1001), -2);
  hipMemLocation host = {(hipMemLocationType)LOCATION_HOST, 0}, second = {hipMemLocationTypeDevice, 1}, bad = {0, 0};
  ck_assert_int_eq(entry_hipMemAdvise_v2(memory, 8192, hipMemAdviseSetAccessedBy, second), hipSuccess);
  ck_assert_int_eq(entry_hipMemAdvise_v2(memory, 8192, hipMemAdviseSetAccessedBy, host), hipSuccess);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(devices, sizeof devices, hipMemRangeAttributeAccessedBy, memory, 8192), hipSuccess);
  ck_assert(devices[0] == 1 && devices[1] == -1 && devices[2] == -2);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeCoherencyMode, memory, 8192), hipMemRangeCoherencyModeFineGrain);
  ck_assert_int_eq(entry_hipMemAdvise(memory, 4096, hipMemAdviseSetCoarseGrain, 0), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeCoherencyMode, memory, 8192), hipMemRangeCoherencyModeIndeterminate);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeCoherencyMode, memory, 4096), hipMemRangeCoherencyModeCoarseGrain);
  ck_assert_int_eq(entry_hipMemPrefetchAsync(memory, 8192, 1, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipMemPrefetchAsync_v2(memory, 8192, host, 0, NULL), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeLastPrefetchLocation, memory, 8192), -1);
  hipStream_t stream = NULL;
  void *pointers[2] = {memory, memory + 4096}, *out[2] = {&value, devices};
  size_t sizes[2] = {4096, 4096}, starts[2] = {0, 1}, out_sizes[2] = {sizeof value, sizeof devices};
  hipMemLocation locations[2] = {second, {hipMemLocationTypeDevice, 0}};
  ck_assert_int_eq(entry_hipStreamCreate(&stream), hipSuccess);
  ck_assert_int_eq(entry_hipMemPrefetchBatchAsync(pointers, sizes, 2, locations, starts, 2, 0, stream), hipSuccess);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeLastPrefetchLocation, memory, 4096), 1);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeLastPrefetchLocation, memory + 4096, 4096), 0);
  hipMemRangeAttribute which[2] = {hipMemRangeAttributeReadMostly, hipMemRangeAttributeAccessedBy};
  ck_assert_int_eq(entry_hipMemRangeGetAttributes(out, out_sizes, which, 2, memory, 4096), hipSuccess);
  ck_assert_int_eq(value, 1);

  value = 77;
  out_sizes[1] = 3;
  ck_assert_int_eq(entry_hipMemRangeGetAttributes(out, out_sizes, which, 2, memory, 4096), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttributes(NULL, out_sizes, which, 2, memory, 4096), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttributes(out, out_sizes, which, 0, memory, 4096), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(&value, 4, (hipMemRangeAttribute)50, memory, 8), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(&value, 8, which[0], memory, 8), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(NULL, 4, which[0], memory, 8), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(&value, 4, which[0], memory, 8193), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemRangeGetAttribute(&value, 4, which[0], &value, 4), hipErrorInvalidValue);
  ck_assert_int_eq(value, 77);
  ck_assert_int_eq(entry_hipMemAdvise(memory, 8193, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAdvise(memory, 8, (hipMemoryAdvise)50, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAdvise(memory, 8, hipMemAdviseSetAccessedBy, 5), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipMemAdvise(NULL, 8, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemAdvise_v2(memory, 8, hipMemAdviseSetAccessedBy, bad), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPrefetchAsync(memory, 8, 5, NULL), hipErrorInvalidDevice);
  ck_assert_int_eq(entry_hipMemPrefetchAsync_v2(memory, 8, host, 1, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPrefetchBatchAsync(pointers, sizes, 2, locations, starts, 2, 1, stream), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipMemPrefetchBatchAsync(pointers, sizes, 2, locations, starts, 2, 0, NULL), hipErrorInvalidValue);
  starts[1] = 2;
  ck_assert_int_eq(entry_hipMemPrefetchBatchAsync(pointers, sizes, 2, locations, starts, 2, 0, stream), hipErrorInvalidValue);
  /* the next memory at the address starts without advice */
  char *again = NULL;
  ck_assert_int_eq(entry_hipFree(memory), hipSuccess);
  ck_assert_int_eq(entry_hipMallocManaged((void **)&again, 8192, hipMemAttachGlobal), hipSuccess);
  ck_assert_ptr_eq(again, memory);
  ck_assert_int_eq(attribute_of(hipMemRangeAttributeReadMostly, again, 4096), 0);
}
END_TEST

START_TEST(synchronous_memory_blocks_its_copies) {
  char *memory = device_bytes(64);
  bool on = true, read = false;
  ck_assert_int_eq(entry_hipPointerSetAttribute(&on, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory), hipSuccess);
  ck_assert_int_eq(entry_hipPointerGetAttribute(&read, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory), hipSuccess);
  ck_assert(read);
  ck_assert_int_eq(entry_hipMemcpyAsync(memory + 32, memory, 32, hipMemcpyDeviceToDevice, NULL), hipSuccess);
  ck_assert_int_eq(entry_hipStreamQuery(NULL), hipSuccess);
  ck_assert_int_eq(entry_hipPointerSetAttribute(NULL, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipPointerSetAttribute(&on, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipPointerSetAttribute(&on, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, NULL), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipPointerSetAttribute(&on, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, &on), hipErrorInvalidDevicePointer);
}
END_TEST

/* A 2-D copy whose kind the runtime finds out, from and to any place inside managed memory. */
START_TEST(inner_managed_pointers_are_good_for_copies) {
  unsigned char *managed = NULL, host[64];
  ck_assert_int_eq(entry_hipMallocManaged((void **)&managed, 256, hipMemAttachGlobal), hipSuccess);
  for (int offset = 0; offset < 128; offset += 7) {
    for (int i = 0; i < 64; i++) host[i] = (unsigned char)(offset + i);
    memset(managed, 0, 256);
    ck_assert_int_eq(entry_hipMemcpy2D(managed + offset, 16, host, 8, 8, 8, hipMemcpyDefault), hipSuccess);
    for (int i = 0; i < 64; i++) ck_assert_uint_eq(managed[offset + i / 8 * 16 + i % 8], host[i]);
  }
}
END_TEST

START_TEST(registered_memory_is_good_for_the_device_from_any_pointer_inside) {
  static char host[8192];
  void *device = NULL, *none = (void *)5;
  char *target = device_bytes(16), back[16] = "";
  ck_assert_int_eq(entry_hipHostRegister(host, sizeof host, hipHostRegisterMapped), hipSuccess);
  ck_assert_int_eq(entry_hipHostRegister(host, sizeof host, 0), hipErrorHostMemoryAlreadyRegistered);
  ck_assert_int_eq(entry_hipHostRegister(host + 4096, 8, 0), hipErrorHostMemoryAlreadyRegistered);
  ck_assert_int_eq(entry_hipHostGetDevicePointer(&device, host + 5000, 0), hipSuccess);
  strcpy(host + 5000, "inner");
  ck_assert_int_eq(entry_hipMemcpy(target, device, 6, hipMemcpyDeviceToDevice), hipSuccess);
  ck_assert_int_eq(entry_hipMemcpy(back, target, 6, hipMemcpyDeviceToHost), hipSuccess);
  ck_assert_str_eq(back, "inner");
  ck_assert_int_eq(entry_hipHostGetDevicePointer(&none, back, 0), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipHostGetDevicePointer(&none, host, 1), hipErrorInvalidValue);
  ck_assert_int_eq(entry_hipHostGetDevicePointer(NULL, host, 0), hipErrorInvalidValue);
  ck_assert_ptr_eq(none, (void *)5);
  ck_assert_int_eq(entry_hipHostUnregister(host), hipSuccess);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_memory_more");
  TCase *rules = tcase_create("rules");
  tcase_add_test(rules, layouts_are_those_that_programs_were_compiled_with);
  tcase_add_test(rules, a_batch_is_made_whole_or_not_at_all);
  tcase_add_test(rules, boxes_in_batches_have_rows_and_layers);
  tcase_add_test(rules, boxes_go_between_devices);
  tcase_add_test(rules, arrays_copy_to_arrays_and_to_the_host_in_order);
  tcase_add_test(rules, a_mipmapped_array_has_levels_that_are_its_own);
  tcase_add_test(rules, advice_is_kept_for_ranges_and_reported);
  tcase_add_test(rules, synchronous_memory_blocks_its_copies);
  tcase_add_test(rules, inner_managed_pointers_are_good_for_copies);
  tcase_add_test(rules, registered_memory_is_good_for_the_device_from_any_pointer_inside);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
