/* What coordination costs: a fill of 1 MiB by the GPU and a copy of it by the NPU, as a prepared graph of the runtime, against the same
 * work done by hand: the fill on a native stream, which is synchronised, then the NPU's invocation, started through the device's own
 * interface and waited for. In pairs, whose order changes; the median of their ratios, with the 95 % interval of that median. */
#include <math.h>

#include "base/futex.h"
#include "native/objects.h"
#include "tests/native/native.h"

enum { BYTES = 1 << 20, WARM = 50, PAIRS = 1000, SPINS = 200 };

static hrx_runtime *runtime;
static hrx_stream *stream;
static hrx_buffer *filled, *stream_filled, *copied; /* the first two are the same memory */
static hrx_npu_kernel *copy;
static hrx_executable *coordinated;
static struct npu_invocation *invocation;
static _Atomic uint32_t done, waiting;

static void invocation_done(void *context, const struct failure *failure) {
  (void)context;
  RIGHT(failure == NULL, "the NPU failed: %s", failure->message);
  atomic_store(&done, 1);
  if (atomic_load(&waiting) != 0) futex_wake(&done, 1);
}

static double by_hand(uint8_t byte) {
  double began = now_ns();
  OK(hrx_stream_fill(stream, hrx_buffer_view(stream_filled), byte));
  OK(hrx_stream_synchronize(stream));
  atomic_store(&done, 0);
  npu_invocation_start(invocation, invocation_done, NULL);
  for (unsigned i = 0; i < SPINS && atomic_load(&done) == 0; i++) __builtin_ia32_pause();
  atomic_store(&waiting, 1);
  while (atomic_load(&done) == 0) futex_wait(&done, 0, UINT64_MAX);
  atomic_store(&waiting, 0);
  return now_ns() - began;
}

static double by_graph(void) {
  double began = now_ns();
  run_once(coordinated);
  return now_ns() - began;
}

static void bytes_check(uint8_t byte) {
  const uint8_t *bytes = hrx_buffer_address(copied);
  for (size_t i = 0; i < BYTES; i++) RIGHT(bytes[i] == byte, "byte %zu is %u, not %u", i, bytes[i], byte);
}

static void make(void) {
  OK(hrx_stream_open(runtime, &stream));
  OK(hrx_stream_allocate(stream, BYTES, &stream_filled));
  OK(hrx_buffer_adopt(runtime, stream_filled, HRX_SHARED, 0, &filled));
  copied = buffer_new(runtime, BYTES, HRX_SHARED);
  copy = npu_kernel(runtime, "copy", "copy", contract_of((hrx_binding[]){{BYTES, 64, HRX_WRITE, NULL}, {BYTES, 64, HRX_READ, NULL}}, 2));
  hrx_graph *graph = graph_new(runtime);
  OK(hrx_graph_fill(graph, hrx_buffer_view(filled), 0x5a, NULL));
  OK(hrx_graph_npu(graph, copy, (hrx_view[]){hrx_buffer_view(copied), hrx_buffer_view(filled)}, 2, NULL));
  coordinated = prepared(graph);
  struct npu_binding bindings[] = {{hrx_buffer_address(copied), BYTES}, {hrx_buffer_address(filled), BYTES}};
  OK(npu_invocation_create(copy->program, bindings, 2, NULL, 0, &invocation));
}

static void measure(void) {
  static double hand[PAIRS], graph[PAIRS], ratios[PAIRS];
  for (unsigned i = 0; i < PAIRS; i++) {
    if (i % 2 == 0) hand[i] = by_hand(0xa5);
    graph[i] = by_graph();
    if (i % 2 != 0) hand[i] = by_hand(0xa5);
    ratios[i] = graph[i] / hand[i];
  }
  figure("by_hand_p50", percentile(hand, PAIRS, 50));
  figure("coordinated_p50", percentile(graph, PAIRS, 50));
  figure("coordinated_to_by_hand", percentile(ratios, PAIRS, 50)); /* sorts them */
  /* the ranks between which the median of what was sampled lies with 95 % (binomial) */
  size_t half = (size_t)ceil(0.98 * sqrt(PAIRS));
  figure("coordinated_to_by_hand_low", ratios[PAIRS / 2 - half]);
  figure("coordinated_to_by_hand_high", ratios[PAIRS / 2 + half]);
}

int main(void) {
  runtime = soft_runtime();
  make();
  for (unsigned i = 0; i < WARM; i++) {
    by_hand((uint8_t)i);
    bytes_check((uint8_t)i);
    by_graph();
    bytes_check(0x5a);
  }
  measure();
  npu_invocation_release(invocation);
  hrx_executable_release(coordinated);
  hrx_npu_kernel_release(copy);
  hrx_buffer_release(copied);
  hrx_buffer_release(filled);
  hrx_buffer_release(stream_filled);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
  return 0;
}
