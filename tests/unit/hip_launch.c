/* Launches by structure and on several devices, and what fits. */
#include "tests/unit/hip_use.h"

#include <stdatomic.h>

static char store_stub, lds_stub, meet_stub, unknown_stub;
static struct fixture object;
static struct hip_wrapper wrapper;
static void **binary;

static void registered_setup(void) {
  object = fixture_read(hip_objects[1]);
  wrapper = (struct hip_wrapper){0x48495046, 1, object.bytes, NULL};
  binary = entry___hipRegisterFatBinary(&wrapper);
  static const struct {
    char *stub;
    const char *name;
  } kernels[] = {{&store_stub, "store"}, {&lds_stub, "with_lds"}, {&meet_stub, "grids_meet"}};
  for (int i = 0; i < 3; i++)
    entry___hipRegisterFunction(binary, kernels[i].stub, (char *)(uintptr_t)kernels[i].name, kernels[i].name, 0, NULL, NULL, NULL, NULL, NULL);
}

static void registered_teardown(void) {
  entry___hipUnregisterFatBinary(binary);
  free(object.bytes);
}

static hipFunction_t function_of(const void *stub) {
  hipFunction_t function = NULL;
  OK(entry_hipGetFuncBySymbol(&function, stub));
  return function;
}

START_TEST(a_structure_launches_as_its_arguments_would) {
  hipStream_t stream = NULL;
  OK(entry_hipStreamCreate(&stream));
  int *out = host_new(256 * sizeof *out), value = 100;
  void *arguments[] = {&out, &value};
  hipLaunchAttribute cooperative = {.id = LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
  hipLaunchConfig_t config = {.gridDim = {4, 1, 1}, .blockDim = {64, 1, 1}, .stream = stream};
  OK(entry_hipLaunchKernelExC(&config, &store_stub, arguments));
  OK(entry_hipStreamSynchronize(stream));
  for (int i = 0; i < 256; i++) ck_assert_int_eq(out[i], 100 + i);
  config.attrs = &cooperative;
  config.numAttrs = 1;
  value = 200;
  OK(entry_hipLaunchKernelExC(&config, &store_stub, arguments));
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_int_eq(out[255], 455);
  config.gridDim.x = 1u << 20; /* they cannot all be resident */
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, arguments), hipErrorCooperativeLaunchTooLarge);

  HIP_LAUNCH_CONFIG driver = {.gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1, .hStream = stream};
  value = 300;
  OK(entry_hipDrvLaunchKernelEx(&driver, function_of(&store_stub), arguments, NULL));
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_int_eq(out[0], 300);
  struct {
    int *out;
    int value;
  } packed = {out, 400};
  size_t bytes = sizeof packed;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  driver.attrs = &cooperative;
  driver.numAttrs = 1;
  OK(entry_hipDrvLaunchKernelEx(&driver, function_of(&store_stub), NULL, extra));
  OK(entry_hipStreamSynchronize(stream));
  ck_assert_int_eq(out[255], 655);
  OK(entry_hipStreamDestroy(stream));
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(a_wrong_structure_launches_nothing) {
  int *out = host_new(64 * sizeof *out), value = 1;
  void *arguments[] = {&out, &value};
  hipLaunchAttribute attribute = {.id = LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
  hipLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {64, 1, 1}}, good = config;
  FAILS(entry_hipLaunchKernelExC(NULL, &store_stub, arguments), hipErrorInvalidValue);
  FAILS(entry_hipLaunchKernelExC(&config, NULL, arguments), hipErrorInvalidDeviceFunction);
  FAILS(entry_hipLaunchKernelExC(&config, &unknown_stub, arguments), hipErrorInvalidDeviceFunction);
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, NULL), hipErrorInvalidValue);
  config.numAttrs = 1;
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, arguments), hipErrorInvalidValue);
  config.attrs = &attribute; /* there are no clusters here */
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, arguments), hipErrorInvalidConfiguration);
  config = good;
  config.gridDim.y = 0;
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, arguments), hipErrorInvalidConfiguration);
  config = good;
  config.stream = (hipStream_t)arguments;
  FAILS(entry_hipLaunchKernelExC(&config, &store_stub, arguments), hipErrorContextIsDestroyed);
  HIP_LAUNCH_CONFIG driver = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1};
  FAILS(entry_hipDrvLaunchKernelEx(&driver, NULL, arguments, NULL), hipErrorInvalidHandle);
  FAILS(entry_hipDrvLaunchKernelEx(NULL, function_of(&store_stub), arguments, NULL), hipErrorInvalidValue);
  FAILS(entry_hipDrvLaunchKernelEx(&driver, (hipFunction_t)arguments, arguments, NULL), hipErrorInvalidHandle);
  FAILS(entry_hipDrvLaunchKernelEx(&driver, function_of(&store_stub), arguments, arguments), hipErrorInvalidValue);
  driver.blockDimX = 0;
  FAILS(entry_hipDrvLaunchKernelEx(&driver, function_of(&store_stub), arguments, NULL), hipErrorInvalidConfiguration);
  OK(entry_hipDeviceSynchronize());
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], 0);
  OK(entry_hipHostFree(out));
}
END_TEST

static void streams_new(hipStream_t streams[HIP_DEVICES]) {
  for (int i = 0; i < HIP_DEVICES; i++) {
    OK(entry_hipSetDevice(i));
    OK(entry_hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
  }
  OK(entry_hipSetDevice(0));
}

static void streams_end(hipStream_t streams[HIP_DEVICES]) {
  for (int i = 0; i < HIP_DEVICES; i++) OK(entry_hipStreamDestroy(streams[i]));
}

/* 3 grids of 2, 3 and 4 blocks. */
static const unsigned meet_blocks[HIP_DEVICES] = {2, 3, 4};

static void meet_check(const unsigned *wrong, unsigned counted, unsigned rounds) {
  ck_assert_uint_eq(counted, 9 * rounds);
  ck_assert_uint_eq(wrong[0], 0);
  for (int i = 0; i < HIP_DEVICES; i++) ck_assert_uint_eq(wrong[1 + i], HIP_DEVICES);
  ck_assert_uint_eq(wrong[9], HIP_DEVICES * 9 * 32); /* each grid knows how many work-items there are in all */
}

START_TEST(grids_of_several_devices_synchronise) {
  enum { ROUNDS = 3 };
  hipStream_t streams[HIP_DEVICES];
  streams_new(streams);
  unsigned *counter = host_new(4), *wrong = host_new(64), blocks = 9, rounds = ROUNDS;
  void *arguments[] = {&counter, &wrong, &blocks, &rounds};
  hipLaunchParams list[HIP_DEVICES];
  for (int i = 0; i < HIP_DEVICES; i++)
    list[i] = (hipLaunchParams){&meet_stub, {meet_blocks[i], 1, 1}, {32, 1, 1}, arguments, 0, streams[i]};
  OK(entry_hipLaunchCooperativeKernelMultiDevice(list, HIP_DEVICES, 0));
  for (int i = 0; i < HIP_DEVICES; i++) OK(entry_hipStreamSynchronize(streams[i]));
  meet_check(wrong, *counter, ROUNDS);

  memset(wrong, 0, 64);
  *counter = 0;
  hipFunctionLaunchParams functions[HIP_DEVICES];
  for (int i = 0; i < HIP_DEVICES; i++) {
    OK(entry_hipSetDevice(i));
    functions[i] = (hipFunctionLaunchParams){function_of(&meet_stub), meet_blocks[i], 1, 1, 32, 1, 1, 0, streams[i], arguments};
  }
  OK(entry_hipModuleLaunchCooperativeKernelMultiDevice(functions, HIP_DEVICES,
                                                       hipCooperativeLaunchMultiDeviceNoPreSync | hipCooperativeLaunchMultiDeviceNoPostSync));
  for (int i = 0; i < HIP_DEVICES; i++) OK(entry_hipStreamSynchronize(streams[i]));
  meet_check(wrong, *counter, ROUNDS);
  functions[1].function = functions[0].function; /* of another device */
  FAILS(entry_hipModuleLaunchCooperativeKernelMultiDevice(functions, HIP_DEVICES, 0), hipErrorInvalidHandle);
  OK(entry_hipSetDevice(0));
  streams_end(streams);
  OK(entry_hipHostFree(counter));
  OK(entry_hipHostFree(wrong));
}
END_TEST

/* Before and behind the launch all streams wait for each other, unless the flags say not to. */
START_TEST(streams_of_a_launch_on_several_devices_meet) {
  hipStream_t streams[HIP_DEVICES];
  streams_new(streams);
  int *out = host_new(HIP_DEVICES * 64 * sizeof *out), *parts[HIP_DEVICES], value = 7;
  uint32_t *gate = host_new(8);
  hipLaunchParams list[HIP_DEVICES];
  void *arguments[HIP_DEVICES][2];
  for (int i = 0; i < HIP_DEVICES; i++) {
    parts[i] = out + 64 * i;
    arguments[i][0] = &parts[i];
    arguments[i][1] = &value;
    list[i] = (hipLaunchParams){&store_stub, {1, 1, 1}, {64, 1, 1}, arguments[i], 0, streams[i]};
  }
  for (unsigned flags = 0; flags < 4; flags++) {
    bool waits = (flags & hipCooperativeLaunchMultiDeviceNoPreSync) == 0, joins = (flags & hipCooperativeLaunchMultiDeviceNoPostSync) == 0;
    *gate = 0;
    OK(entry_hipStreamWaitValue32(streams[2], gate, 1, hipStreamWaitValueEq, UINT32_MAX));
    OK(entry_hipExtLaunchMultiKernelMultiDevice(list, HIP_DEVICES, flags));
    if (!waits && !joins) OK(entry_hipStreamSynchronize(streams[0]));
    else FAILS(entry_hipStreamQuery(streams[0]), hipErrorNotReady);
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < HIP_DEVICES; i++) OK(entry_hipStreamSynchronize(streams[i]));
    for (int i = 0; i < HIP_DEVICES * 64; i++) ck_assert_int_eq(out[i], value + i % 64);
    value++;
  }
  streams_end(streams);
  OK(entry_hipHostFree(out));
  OK(entry_hipHostFree(gate));
}
END_TEST

START_TEST(a_wrong_list_of_devices_launches_nothing) {
  hipStream_t streams[HIP_DEVICES];
  streams_new(streams);
  int *out = host_new(64 * sizeof *out), value = 7;
  void *arguments[] = {&out, &value};
  hipLaunchParams good[HIP_DEVICES], list[HIP_DEVICES];
  for (int i = 0; i < HIP_DEVICES; i++) good[i] = (hipLaunchParams){&store_stub, {1, 1, 1}, {64, 1, 1}, arguments, 0, streams[i]};
  for (int way = 0; way < 2; way++) {
    hipError_t (*launch)(hipLaunchParams *, int, unsigned) = way == 0 ? entry_hipLaunchCooperativeKernelMultiDevice
                                                                      : entry_hipExtLaunchMultiKernelMultiDevice;
    memcpy(list, good, sizeof list);
    FAILS(launch(NULL, 1, 0), hipErrorInvalidValue);
    FAILS(launch(list, 0, 0), hipErrorInvalidValue);
    FAILS(launch(list, -1, 0), hipErrorInvalidValue);
    FAILS(launch(list, HIP_DEVICES + 1, 0), hipErrorInvalidValue);
    FAILS(launch(list, HIP_DEVICES, 4), hipErrorInvalidValue);
    list[2].stream = NULL;
    FAILS(launch(list, HIP_DEVICES, 0), hipErrorInvalidHandle);
    list[2].stream = streams[0]; /* the same device twice */
    FAILS(launch(list, HIP_DEVICES, 0), hipErrorInvalidDevice);
    list[2] = good[2];
    list[2].func = &unknown_stub;
    FAILS(launch(list, HIP_DEVICES, 0), hipErrorInvalidDeviceFunction);
    list[2] = good[2];
    list[2].blockDim.x = 0;
    FAILS(launch(list, HIP_DEVICES, 0), hipErrorInvalidConfiguration);
    list[2] = good[2];
    list[2].args = NULL;
    FAILS(launch(list, HIP_DEVICES, 0), hipErrorInvalidValue);
    list[2] = good[2];
    list[2].sharedMem = 1 << 20; /* the last to be looked at is the device's word */
    ck_assert_int_ne(launch(list, HIP_DEVICES, 0), hipSuccess);
  }
  memcpy(list, good, sizeof list);
  list[1].gridDim.x = 1u << 20;
  FAILS(entry_hipLaunchCooperativeKernelMultiDevice(list, HIP_DEVICES, 0), hipErrorCooperativeLaunchTooLarge);
  FAILS(entry_hipModuleLaunchCooperativeKernelMultiDevice(NULL, 1, 0), hipErrorInvalidValue);
  for (int i = 0; i < HIP_DEVICES; i++) OK(entry_hipStreamSynchronize(streams[i]));
  for (int i = 0; i < 64; i++) ck_assert_int_eq(out[i], 0);
  streams_end(streams);
  OK(entry_hipHostFree(out));
}
END_TEST

START_TEST(what_lds_is_left_agrees_with_how_many_blocks_fit) {
  struct hip_device *device = NULL;
  OK(state_device(0, &device));
  size_t limit = device->gpu->properties.lds_bytes;
  for (int blocks = 1; blocks <= 8; blocks++) {
    size_t bytes = 0;
    int fit = 0;
    OK(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &lds_stub, blocks, 64));
    ck_assert_uint_le(bytes + 1024, limit);
    OK(entry_hipOccupancyMaxActiveBlocksPerMultiprocessor(&fit, &lds_stub, 64, bytes));
    ck_assert_int_ge(fit, blocks);
    if (blocks < 3) continue; /* below, a workgroup's own limit comes first */
    OK(entry_hipOccupancyMaxActiveBlocksPerMultiprocessor(&fit, &lds_stub, 64, bytes + 64));
    ck_assert_int_lt(fit, blocks);
  }
  size_t bytes = 77;
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(NULL, &lds_stub, 1, 64), hipErrorInvalidValue);
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &lds_stub, 0, 64), hipErrorInvalidValue);
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &lds_stub, 1, 0), hipErrorInvalidValue);
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &lds_stub, 1, 4096), hipErrorInvalidValue);
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &lds_stub, 1000, 64), hipErrorInvalidValue);
  FAILS(entry_hipOccupancyAvailableDynamicSMemPerBlock(&bytes, &unknown_stub, 1, 64), hipErrorInvalidDeviceFunction);
  ck_assert_uint_eq(bytes, 77);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hip_launch");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 60);
  tcase_add_checked_fixture(rules, registered_setup, registered_teardown);
  tcase_add_test(rules, a_structure_launches_as_its_arguments_would);
  tcase_add_test(rules, a_wrong_structure_launches_nothing);
  tcase_add_test(rules, grids_of_several_devices_synchronise);
  tcase_add_test(rules, streams_of_a_launch_on_several_devices_meet);
  tcase_add_test(rules, a_wrong_list_of_devices_launches_nothing);
  tcase_add_test(rules, what_lds_is_left_agrees_with_how_many_blocks_fit);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
