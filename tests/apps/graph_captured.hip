/* A graph captured from two streams that fork and join by events; and captures that must fail. */
#include "app.h"

__global__ void affine(int *values, int count, int factor, int number) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor + number;
}

__global__ void sum(const int *a, const int *b, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] + b[i];
}

int main() {
  const int count = 3000, blocks = (count + 127) / 128;
  size_t bytes = count * sizeof(int);
  int *a = app_device<int>(count), *b = app_device<int>(count), *out = app_device<int>(count);
  int *in = nullptr, *result = nullptr;
  CHECK(hipHostMalloc((void **)&in, bytes, 0));
  CHECK(hipHostMalloc((void **)&result, bytes, 0));
  hipStream_t main_stream, side;
  CHECK(hipStreamCreate(&main_stream));
  CHECK(hipStreamCreate(&side));
  hipEvent_t fork, join;
  CHECK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  CHECK(hipEventCreateWithFlags(&join, hipEventDisableTiming));

  CHECK(hipStreamBeginCapture(main_stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureStatus status;
  CHECK(hipStreamIsCapturing(main_stream, &status));
  EXPECT(status == hipStreamCaptureStatusActive, "status %d", (int)status);
  CHECK(hipMemcpyAsync(a, in, bytes, hipMemcpyHostToDevice, main_stream));
  CHECK(hipEventRecord(fork, main_stream));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  affine<<<blocks, 128, 0, main_stream>>>(a, count, 3, 1);
  CHECK(hipMemsetAsync(b, 0, bytes, side));
  affine<<<blocks, 128, 0, side>>>(b, count, 1, 500);
  CHECK(hipEventRecord(join, side));
  CHECK(hipStreamWaitEvent(main_stream, join, 0));
  sum<<<blocks, 128, 0, main_stream>>>(a, b, out, count);
  CHECK(hipMemcpyAsync(result, out, bytes, hipMemcpyDeviceToHost, main_stream));
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(main_stream, &graph));
  CHECK(hipStreamIsCapturing(side, &status));
  EXPECT(status == hipStreamCaptureStatusNone, "the side stream still captures");
  size_t nodes = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 6, "%zu nodes", nodes);

  /* nothing ran while it was captured */
  std::vector<int> before = app_download(out, count);
  EXPECT(before[0] == (int)0xA5A5A5A5, "a captured kernel ran: %08x", before[0]);

  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < count; i++) in[i] = i * round;
    memset(result, 0xEE, bytes);
    CHECK(hipGraphLaunch(exec, main_stream));
    CHECK(hipStreamSynchronize(main_stream));
    for (int i = 0; i < count; i++)
      EXPECT(result[i] == i * round * 3 + 501, "round %d, element %d: %d", round, i, result[i]);
  }
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));

  /* an unjoined fork, a wait for the capturing stream, an ordinary event */
  CHECK(hipStreamBeginCapture(main_stream, hipStreamCaptureModeRelaxed));
  CHECK(hipEventRecord(fork, main_stream));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  affine<<<blocks, 128, 0, side>>>(b, count, 1, 1);
  EXPECT(hipStreamEndCapture(side, &graph) == hipErrorStreamCaptureUnmatched, "a fork ended the capture");
  EXPECT(hipStreamEndCapture(main_stream, &graph) == hipErrorStreamCaptureUnjoined, "an unjoined fork passed");
  EXPECT(graph == nullptr, "a failed capture left a graph");
  CHECK(hipStreamBeginCapture(main_stream, hipStreamCaptureModeRelaxed));
  EXPECT(hipStreamSynchronize(main_stream) == hipErrorStreamCaptureUnsupported, "a capturing stream was waited for");
  EXPECT(hipStreamEndCapture(main_stream, &graph) == hipErrorStreamCaptureInvalidated, "an invalid capture ended well");
  EXPECT(hipStreamEndCapture(main_stream, &graph) == hipErrorIllegalState, "a capture ended twice");
  EXPECT(hipStreamBeginCapture(nullptr, hipStreamCaptureModeRelaxed) == hipErrorStreamCaptureUnsupported,
         "stream 0 was captured");
  (void)hipGetLastError();

  /* afterwards all is as usual */
  CHECK(hipMemset(b, 0, bytes));
  affine<<<blocks, 128, 0, side>>>(b, count, 1, 9);
  CHECK(hipStreamSynchronize(side));
  EXPECT(app_download(b, count)[count - 1] == 9, "the stream does not work after its captures");
  CHECK(hipStreamDestroy(main_stream));
  CHECK(hipStreamDestroy(side));
  return app_end();
}
