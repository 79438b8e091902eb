/* Every request of the HIP layer for memory, threads and devices fails once: from the first call of a process to the last. */
#include "fault_scenario.h"

#include <hrx/hrx.h>

#include "fixture.h"
#include "interpose/entry.h"

enum { WORDS = 1024, BYTES = 4 * WORDS };

static struct fixture native_code, bundle, variables;

static struct {
  unsigned *device, *other, *host, *managed, *pitched;
  size_t pitch;
  bool registered;
  hipStream_t stream, second;
  hipEvent_t begin, end;
  hipArray_t array;
  hipTextureObject_t texture;
  hipModule_t module, with_variable;
  hipFunction_t increment;
  void **binary;
  hipGraph_t graph, captured;
  hipGraphExec_t executable, captured_executable;
  hrx_runtime *shared;
  hrx_buffer *view;
  hrx_stream *native;
} scene;

static unsigned page[WORDS] __attribute__((aligned(4096)));

static bool accepts(int status, bool later) {
  bool good = status == hipErrorOutOfMemory;
  /* a registration that found no memory has no way to say so but here */
  if (later) good |= status == hipErrorInvalidDeviceFunction || status == hipErrorInvalidSymbol;
  if (fault.kind == FAULT_LOST) good |= status == hipErrorLaunchFailure;
  if (good && entry_hipPeekAtLastError() == (hipError_t)status) return true;
  fprintf(stderr, "%s; the last error is %s: %s (made to fail: %s at %#zx)\n", entry_hipGetErrorName((hipError_t)status),
          entry_hipGetErrorName(entry_hipPeekAtLastError()), hrx_last_message(), fault.name, (size_t)fault_site_offset(fault.site));
  return false;
}

/* What native calls say, as HIP's errors, so that one list of them is enough. */
static hipError_t native(hrx_status status) {
  hipError_t error = error_of(status);
  return entry_done(ENTRY_hipMalloc, error);
}

static bool words_are(const unsigned *words, unsigned value) {
  for (unsigned i = 0; i < WORDS; i++)
    if (words[i] != value) return false;
  return true;
}

/* --- units --- */

static bool unit_start(void) {
  bool done = false;
  int count = 0;
  hipDeviceProp_t properties;
  STEP(entry_hipInit(0));
  VALUE(count, 77, 77, entry_hipGetDeviceCount(&count));
  MUST(count == 1);
  STEP(entry_hipSetDevice(0));
  STEP(entry_hipGetDevicePropertiesR0000((void *)&properties, 0));
  done = true;
over:
  return done;
}

static bool unit_memory(void) {
  bool done = false;
  unsigned found[WORDS];
  void *pooled = NULL;
  OUT(scene.device, entry_hipMalloc((void **)&scene.device, BYTES));
  OUT(scene.other, entry_hipMalloc((void **)&scene.other, BYTES));
  OUT(scene.host, entry_hipHostMalloc((void **)&scene.host, BYTES, 0));
  OUT(scene.managed, entry_hipMallocManaged((void **)&scene.managed, BYTES, hipMemAttachGlobal));
  OUT(scene.pitched, entry_hipMallocPitch((void **)&scene.pitched, &scene.pitch, 100, 16));
  STEP(entry_hipHostRegister(page, BYTES, 0));
  scene.registered = true;
  OUT(pooled, entry_hipMallocAsync(&pooled, BYTES, NULL));
  STEP(entry_hipMemsetAsync(pooled, 3, BYTES, NULL));
  STEP(entry_hipFreeAsync(pooled, NULL));
  pooled = NULL;
  STEP(entry_hipMemset(scene.device, 1, BYTES));
  STEP(entry_hipMemcpy(scene.other, scene.device, BYTES, hipMemcpyDeviceToDevice));
  STEP(entry_hipMemcpy2D(scene.pitched, scene.pitch, scene.other, 100, 100, 16, hipMemcpyDeviceToDevice));
  STEP(entry_hipMemcpy(found, scene.other, BYTES, hipMemcpyDeviceToHost));
  MUST(words_are(found, 0x01010101));
  done = true;
over:
  if (pooled != NULL) entry_hipFree(pooled);
  return done;
}

static bool unit_textures(void) {
  bool done = false;
  hipChannelFormatDesc format = {32, 0, 0, 0, hipChannelFormatKindUnsigned};
  OUT(scene.array, entry_hipMallocArray(&scene.array, &format, 16, 16, 0));
  hipResourceDesc resource = {.resType = hipResourceTypeArray, .res.array.array = scene.array};
  hipTextureDesc description = {.readMode = hipReadModeElementType};
  STEP(entry_hipMemcpy2DToArray(scene.array, 0, 0, page, 64, 64, 16, hipMemcpyHostToDevice));
  OUT(scene.texture, entry_hipCreateTextureObject(&scene.texture, &resource, &description, NULL));
  done = true;
over:
  return done;
}

static bool unit_streams(void) {
  bool done = false;
  OUT(scene.stream, entry_hipStreamCreate(&scene.stream));
  OUT(scene.second, entry_hipStreamCreateWithPriority(&scene.second, hipStreamNonBlocking, -1));
  OUT(scene.begin, entry_hipEventCreate(&scene.begin));
  OUT(scene.end, entry_hipEventCreateWithFlags(&scene.end, hipEventDefault));
  done = true;
over:
  return done;
}

static _Atomic unsigned calls;
static void host_call(void *context) {
  (void)context;
  calls++;
}
static void host_callback(hipStream_t stream, hipError_t error, void *context) {
  (void)stream, (void)error, (void)context;
  calls++;
}

static bool unit_work(void) {
  bool done = false;
  unsigned found[WORDS], before = calls;
  float milliseconds = 0;
  for (unsigned i = 0; i < WORDS; i++) page[i] = 5;
  STEP(entry_hipEventRecord(scene.begin, scene.stream));
  STEP(entry_hipMemcpyAsync(scene.device, page, BYTES, hipMemcpyHostToDevice, scene.stream));
  STEP(entry_hipLaunchHostFunc(scene.stream, host_call, NULL));
  STEP(entry_hipMemsetAsync(scene.other, 0, BYTES, scene.second));
  STEP(entry_hipEventRecord(scene.end, scene.stream));
  STEP(entry_hipStreamWaitEvent(scene.second, scene.end, 0));
  STEP(entry_hipMemcpyAsync(scene.other, scene.device, BYTES, hipMemcpyDeviceToDevice, scene.second));
  STEP(entry_hipStreamAddCallback(scene.second, host_callback, NULL, 0));
  STEP(entry_hipMemcpyAsync(found, scene.other, BYTES, hipMemcpyDeviceToHost, scene.second));
  LATER(entry_hipStreamSynchronize(scene.second));
  MUST(words_are(found, 5) && calls >= before + 2);
  LATER(entry_hipEventSynchronize(scene.end));
  STEP(entry_hipEventElapsedTime(&milliseconds, scene.begin, scene.end));
  LATER(entry_hipDeviceSynchronize());
  done = true;
over:
  entry_hipDeviceSynchronize(); /* `found` goes */
  return done;
}

static bool unit_modules(void) {
  bool done = false;
  unsigned found[WORDS], count = WORDS, by = 2;
  void *address = NULL, *parameters[] = {&scene.device, &count, &by};
  size_t bytes = 0;
  int blocks = 0;
  if (scene.module == NULL) OUT(scene.module, entry_hipModuleLoadData(&scene.module, native_code.bytes));
  if (scene.with_variable == NULL) OUT(scene.with_variable, entry_hipModuleLoadData(&scene.with_variable, variables.bytes));
  OUT(scene.increment, entry_hipModuleGetFunction(&scene.increment, scene.module, "increment"));
  OUT(address, entry_hipModuleGetGlobal(&address, &bytes, scene.with_variable, "counter"));
  MUST(bytes == 4);
  STEP(entry_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scene.increment, 64, 0));
  STEP(entry_hipMemset(scene.device, 0, BYTES));
  STEP(entry_hipModuleLaunchKernel(scene.increment, WORDS / 64, 1, 1, 64, 1, 1, 0, scene.stream, parameters, NULL));
  LATER(entry_hipStreamSynchronize(scene.stream));
  LATER(entry_hipMemcpy(found, scene.device, BYTES, hipMemcpyDeviceToHost));
  MUST(words_are(found, 2));
  done = true;
over:
  return done;
}

/* As clang's start-up code does. */
static bool unit_registered(void) {
  static char add_stub, second_stub, table, name_add[] = "add", name_second[] = "second", name_table[] = "table";
  static struct {
    uint32_t magic, version;
    const void *binary, *unused;
  } wrapper = {0x48495046, 1, NULL, NULL};
  bool done = false;
  wrapper.binary = bundle.bytes;
  float factors[4] = {0}, *out = (float *)scene.device, *in = (float *)scene.other, factor = 1, found[64];
  int count = 64;
  void *parameters[] = {&out, &in, &factor, &count};
  scene.binary = entry___hipRegisterFatBinary(&wrapper);
  entry___hipRegisterFunction(scene.binary, &add_stub, name_add, name_add, 0, NULL, NULL, NULL, NULL, NULL);
  entry___hipRegisterFunction(scene.binary, &second_stub, name_second, name_second, 0, NULL, NULL, NULL, NULL, NULL);
  entry___hipRegisterVar(scene.binary, &table, name_table, name_table, 0, 16, 1, 0);
  LATER(entry_hipMemcpyToSymbol(&table, factors, sizeof factors, 0, hipMemcpyHostToDevice));
  STEP(entry_hipMemset(scene.other, 0, BYTES));
  LATER(entry_hipLaunchKernel(&add_stub, (dim3){1, 1, 1}, (dim3){64, 1, 1}, parameters, 0, scene.stream));
  LATER(entry_hipStreamSynchronize(scene.stream));
  LATER(entry_hipMemcpy(found, scene.device, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) MUST(found[i] == 3);
  done = true;
over:
  entry_hipDeviceSynchronize();
  entry___hipUnregisterFatBinary(scene.binary);
  scene.binary = NULL;
  return done;
}

static bool unit_graph(void) {
  bool done = false;
  hipGraphNode_t fill = NULL, kernel = NULL, copy = NULL, host = NULL, empty = NULL;
  unsigned found[WORDS], count = WORDS, by = 4, before = calls;
  void *parameters[] = {&scene.device, &count, &by};
  hipMemsetParams zero = {.dst = scene.device, .elementSize = 4, .width = WORDS, .height = 1, .value = 3};
  hipKernelNodeParams launch = {.func = (void *)scene.increment, .gridDim = {WORDS / 64, 1, 1}, .blockDim = {64, 1, 1}, .kernelParams = parameters};
  hipHostNodeParams call = {.fn = host_call};
  OUT(scene.graph, entry_hipGraphCreate(&scene.graph, 0));
  OUT(empty, entry_hipGraphAddEmptyNode(&empty, scene.graph, NULL, 0));
  OUT(fill, entry_hipGraphAddMemsetNode(&fill, scene.graph, &empty, 1, &zero));
  OUT(kernel, entry_hipGraphAddKernelNode(&kernel, scene.graph, &fill, 1, &launch));
  OUT(copy, entry_hipGraphAddMemcpyNode1D(&copy, scene.graph, &kernel, 1, scene.other, scene.device, BYTES, hipMemcpyDeviceToDevice));
  OUT(host, entry_hipGraphAddHostNode(&host, scene.graph, NULL, 0, &call));
  STEP(entry_hipGraphAddDependencies(scene.graph, &copy, &host, 1));
  OUT(scene.executable, entry_hipGraphInstantiate(&scene.executable, scene.graph, NULL, NULL, 0));
  for (int i = 0; i < 2; i++) STEP(entry_hipGraphLaunch(scene.executable, scene.stream));
  LATER(entry_hipStreamSynchronize(scene.stream));
  LATER(entry_hipMemcpy(found, scene.other, BYTES, hipMemcpyDeviceToHost));
  MUST(words_are(found, 7) && calls >= before + 2);
  by = 6;
  STEP(entry_hipGraphExecKernelNodeSetParams(scene.executable, kernel, &launch));
  STEP(entry_hipGraphLaunch(scene.executable, scene.stream));
  LATER(entry_hipStreamSynchronize(scene.stream));
  LATER(entry_hipMemcpy(found, scene.other, BYTES, hipMemcpyDeviceToHost));
  MUST(words_are(found, 9));
  done = true;
over:
  if (!done && fault_mode == FAULT_AGAIN) {
    MUST(entry_hipGraphExecDestroy(scene.executable) == hipSuccess || scene.executable == NULL);
    MUST(entry_hipGraphDestroy(scene.graph) == hipSuccess || scene.graph == NULL);
    scene.executable = NULL, scene.graph = NULL;
  }
  return done;
}

static bool unit_capture(void) {
  bool done = false, capturing = false;
  unsigned found[WORDS], count = WORDS, by = 2;
  void *parameters[] = {&scene.device, &count, &by};
  STEP(entry_hipStreamBeginCapture(scene.stream, hipStreamCaptureModeGlobal));
  capturing = true;
  STEP(entry_hipMemsetAsync(scene.device, 0, BYTES, scene.stream));
  STEP(entry_hipModuleLaunchKernel(scene.increment, WORDS / 64, 1, 1, 64, 1, 1, 0, scene.stream, parameters, NULL));
  STEP(entry_hipEventRecord(scene.end, scene.stream));
  STEP(entry_hipStreamWaitEvent(scene.second, scene.end, 0));
  STEP(entry_hipMemcpyAsync(scene.other, scene.device, BYTES, hipMemcpyDeviceToDevice, scene.second));
  STEP(entry_hipEventRecord(scene.begin, scene.second));
  STEP(entry_hipStreamWaitEvent(scene.stream, scene.begin, 0));
  capturing = false;
  OUT(scene.captured, entry_hipStreamEndCapture(scene.stream, &scene.captured));
  OUT(scene.captured_executable, entry_hipGraphInstantiateWithFlags(&scene.captured_executable, scene.captured, 0));
  STEP(entry_hipGraphLaunch(scene.captured_executable, scene.stream));
  LATER(entry_hipStreamSynchronize(scene.stream));
  LATER(entry_hipMemcpy(found, scene.other, BYTES, hipMemcpyDeviceToHost));
  MUST(words_are(found, 2));
  done = true;
over:
  if (capturing) entry_hipStreamEndCapture(scene.stream, &scene.captured);
  if (!done && fault_mode == FAULT_AGAIN) {
    MUST(entry_hipGraphExecDestroy(scene.captured_executable) == hipSuccess || scene.captured_executable == NULL);
    MUST(entry_hipGraphDestroy(scene.captured) == hipSuccess || scene.captured == NULL);
    scene.captured_executable = NULL, scene.captured = NULL;
  }
  return done;
}

/* The same memory and stream through the native interface. */
static bool unit_native(void) {
  bool done = false;
  unsigned found[WORDS];
  hrx_view view = {0};
  if (scene.shared == NULL) OUT(scene.shared, native(hrx_runtime_shared(&scene.shared)));
  if (scene.view == NULL) {
    STEP(native(hrx_runtime_view(scene.shared, scene.device, BYTES, &view)));
    scene.view = view.buffer;
  }
  if (scene.native == NULL) OUT(scene.native, native(hrx_runtime_stream(scene.shared, scene.stream, &scene.native)));
  STEP(native(hrx_stream_fill(scene.native, hrx_buffer_view(scene.view), 9)));
  LATER(native(hrx_stream_read(scene.native, hrx_buffer_view(scene.view), found, BYTES)));
  MUST(words_are(found, 0x09090909));
  done = true;
over:
  return done;
}

/* A thing that cannot be given back for lack of memory is still there: once there is some, it can. */
#define GIVE(thing, call)                                       \
  do {                                                          \
    fault_line = __LINE__;                                      \
    int status_ = (thing) ? (int)(call) : 0;                    \
    if (status_ != 0) {                                         \
      call_failed(status_, #call, true);                        \
      fault_disarm();                                           \
      status_ = (int)(call);                                    \
      if (status_ != 0) FATAL("%s fails again: %d", #call, status_); \
    }                                                           \
  } while (0)

static void scene_release(void) {
  hrx_stream_close(scene.native);
  hrx_buffer_release(scene.view);
  hrx_runtime_release(scene.shared);
  GIVE(scene.captured_executable != NULL, entry_hipGraphExecDestroy(scene.captured_executable));
  GIVE(scene.captured != NULL, entry_hipGraphDestroy(scene.captured));
  GIVE(scene.executable != NULL, entry_hipGraphExecDestroy(scene.executable));
  GIVE(scene.graph != NULL, entry_hipGraphDestroy(scene.graph));
  GIVE(scene.module != NULL, entry_hipModuleUnload(scene.module));
  GIVE(scene.with_variable != NULL, entry_hipModuleUnload(scene.with_variable));
  GIVE(scene.begin != NULL, entry_hipEventDestroy(scene.begin));
  GIVE(scene.end != NULL, entry_hipEventDestroy(scene.end));
  GIVE(scene.stream != NULL, entry_hipStreamDestroy(scene.stream));
  GIVE(scene.second != NULL, entry_hipStreamDestroy(scene.second));
  GIVE(scene.texture != NULL, entry_hipDestroyTextureObject(scene.texture));
  GIVE(scene.array != NULL, entry_hipFreeArray(scene.array));
  GIVE(scene.registered, entry_hipHostUnregister(page));
  GIVE(scene.pitched != NULL, entry_hipFree(scene.pitched));
  GIVE(scene.managed != NULL, entry_hipFree(scene.managed));
  GIVE(scene.host != NULL, entry_hipHostFree(scene.host));
  GIVE(scene.other != NULL, entry_hipFree(scene.other));
  GIVE(scene.device != NULL, entry_hipFree(scene.device));
  if (fault.kind == FAULT_LOST) entry_hipDeviceSynchronize(); /* what was lost on a stream that went is reported here */
}

static bool (*const units[])(void) = {unit_start,      unit_memory, unit_textures, unit_streams, unit_work, unit_modules,
                                      unit_registered, unit_graph,  unit_capture,  unit_native,  NULL};
static const struct scenario program = {.name = "HIP", .scene = &scene, .scene_bytes = sizeof scene, .units = units,
                                        .release = scene_release, .accepts = accepts, .pools = true};

START_TEST(memory_may_be_missing_anywhere) { faults_try(FAULT_MEMORY, 29); }
END_TEST
START_TEST(libraries_may_fail_anywhere) { faults_try(FAULT_SYSTEM, 3); }
END_TEST
START_TEST(threads_may_be_missing_anywhere) { faults_try(FAULT_THREAD, 1); }
END_TEST
START_TEST(devices_may_refuse_anywhere) { faults_try(FAULT_DEVICE, 5); }
END_TEST
START_TEST(work_may_be_lost_anywhere) { faults_try(FAULT_LOST, 2); }
END_TEST
START_TEST(the_one_that_was_asked_for) { fault_only(); }
END_TEST

static void setup(void) {
  scenario = &program;
  native_code = fixture_read("native.co");
  variables = fixture_read("v5.co");
  bundle = fixture_read("bundle.hipfb");
}

static void teardown(void) {
  free(native_code.bytes);
  free(variables.bytes);
  free(bundle.bytes);
}

int main(void) {
  return faults_run("faults_hip", setup, teardown, the_one_that_was_asked_for,
                    (const TTest *const[]){memory_may_be_missing_anywhere, libraries_may_fail_anywhere, threads_may_be_missing_anywhere,
                                           devices_may_refuse_anywhere, work_may_be_lost_anywhere, NULL});
}
