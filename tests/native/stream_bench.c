/* What the calls of a native stream and the replay of a prepared graph cost: memory, uploads, launches, and a graph of 32 kernels, each
 * after the one before or all beside each other. usage: stream_bench [bench] */
#include "tests/native/native.h"

enum { WORDS = 1024, BYTES = 4 * WORDS, KERNELS = 32, MIB = 1 << 20, UPLOAD = 256 * MIB, PIECE = 4 * MIB };
enum { CALLS = 2000, BATCHES = 20, LAUNCHES = 200, SUBMISSIONS = 100 };

static const char source[] =
    "extern \"C\" __global__ void nothing(unsigned *words) {}\n"
    "extern \"C\" __global__ void increment(unsigned *words) { words[blockIdx.x * 64 + threadIdx.x] += 1; }\n";

static hrx_runtime *runtime;
static hrx_stream *stream;
static hrx_artifact *code;

static hrx_stream_kernel *stream_kernel(const char *name) {
  size_t size;
  const void *bytes = hrx_artifact_bytes(code, &size);
  hrx_stream_kernel *kernel;
  OK(hrx_stream_kernel_load(stream, bytes, size, name, &kernel));
  return kernel;
}

static hrx_gpu_kernel *graph_kernel(const char *name, unsigned groups) {
  return gpu_kernel(runtime, code, name, groups, contract_of((hrx_binding[]){{BYTES, 4, HRX_READ_WRITE, NULL}}, 1));
}

/* All kernels on the first buffer, or each on its own. */
static hrx_executable *kernels_graph(hrx_gpu_kernel *kernel, hrx_buffer *const *buffers, bool chained) {
  hrx_graph *graph = graph_new(runtime);
  for (unsigned i = 0; i < KERNELS; i++)
    OK(hrx_graph_gpu(graph, kernel, (hrx_view[]){hrx_buffer_view(buffers[chained ? 0 : i])}, 1, NULL));
  return prepared(graph);
}

static void words_are(hrx_buffer *buffer, unsigned wanted) {
  unsigned words[WORDS];
  OK(hrx_view_read(hrx_buffer_view(buffer), words, sizeof words));
  for (unsigned i = 0; i < WORDS; i++) RIGHT(words[i] == wanted, "word %u is %u, not %u", i, words[i], wanted);
}

static void stream_check(void) {
  hrx_stream_kernel *increment = stream_kernel("increment");
  hrx_buffer *words, *scratch;
  static unsigned source_words[WORDS], result[WORDS];
  for (unsigned i = 0; i < WORDS; i++) source_words[i] = i * 3;
  OK(hrx_stream_allocate_zeroed(stream, BYTES, &words));
  OK(hrx_stream_read(stream, hrx_buffer_view(words), result, sizeof result));
  for (unsigned i = 0; i < WORDS; i++) RIGHT(result[i] == 0, "word %u of zeroed memory is %u", i, result[i]);
  OK(hrx_stream_upload(stream, words, source_words, sizeof source_words));
  hrx_view view = hrx_buffer_view(words);
  for (unsigned i = 0; i < KERNELS; i++)
    OK(hrx_stream_dispatch(stream, increment, (hrx_dimensions){WORDS / 64, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, &view, 1, NULL, 0));
  /* Temporary memory that is recycled before the work on it is over, and used again at once: in order all the same. */
  for (unsigned i = 0; i < 8; i++) {
    hrx_view part;
    OK(hrx_stream_scratch(stream, BYTES, &scratch));
    OK(hrx_view_slice(hrx_buffer_view(scratch), 0, BYTES, &part));
    OK(hrx_stream_copy(stream, part, view));
    OK(hrx_stream_fill(stream, view, 0xff));
    OK(hrx_stream_copy(stream, view, part));
    OK(hrx_stream_fill(stream, part, 0xee));
    hrx_stream_recycle(stream, scratch);
  }
  OK(hrx_stream_read(stream, view, result, sizeof result));
  for (unsigned i = 0; i < WORDS; i++) RIGHT(result[i] == i * 3 + KERNELS, "word %u is %u, not %u", i, result[i], i * 3 + KERNELS);
  OK(hrx_stream_synchronize(stream));
  hrx_buffer_release(words);
  hrx_stream_kernel_release(increment);
}

static void graph_check(hrx_buffer *const *buffers) {
  hrx_gpu_kernel *increment = graph_kernel("increment", WORDS / 64);
  hrx_executable *chained = kernels_graph(increment, buffers, true), *independent = kernels_graph(increment, buffers, false);
  run_once(chained);
  run_once(independent);
  run_once(chained);
  words_are(buffers[0], 2 * KERNELS + 1);
  for (unsigned i = 1; i < KERNELS; i++) words_are(buffers[i], 1);
  hrx_executable_release(independent);
  hrx_executable_release(chained);
  hrx_gpu_kernel_release(increment);
}

/* The best of some batches of calls. */
static void scratch_bench(void) {
  double best = 1e30;
  for (unsigned batch = 0; batch < BATCHES; batch++) {
    double began = now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
      hrx_buffer *buffer;
      OK(hrx_stream_scratch(stream, MIB, &buffer));
      hrx_stream_recycle(stream, buffer);
    }
    double took = (now_ns() - began) / CALLS;
    if (took < best) best = took;
  }
  figure("stream_scratch_reuse", best);
}

static void allocate_bench(void) {
  double best = 1e30;
  for (unsigned batch = 0; batch < BATCHES; batch++) {
    double began = now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
      hrx_buffer *buffer;
      OK(hrx_stream_allocate(stream, MIB, &buffer));
      hrx_buffer_release(buffer);
    }
    double took = (now_ns() - began) / CALLS;
    if (took < best) best = took;
  }
  figure("stream_allocate_release_1MiB", best);
}

static void upload_bench(void) {
  hrx_buffer *buffer;
  unsigned char *bytes = malloc(PIECE), *result = malloc(PIECE);
  RIGHT(bytes != NULL && result != NULL, "no memory");
  memset(bytes, 0x5a, PIECE);
  OK(hrx_stream_allocate(stream, UPLOAD, &buffer));
  double best = 1e30;
  for (unsigned round = 0; round < 3; round++) {
    double began = now_ns();
    for (size_t at = 0; at < UPLOAD; at += PIECE) {
      hrx_view piece;
      OK(hrx_view_slice(hrx_buffer_view(buffer), at, PIECE, &piece));
      OK(hrx_stream_upload_at(stream, piece, bytes, PIECE));
    }
    OK(hrx_stream_synchronize(stream));
    double took = now_ns() - began;
    if (took < best) best = took;
  }
  for (size_t at = 0; at < UPLOAD; at += PIECE) {
    hrx_view piece;
    OK(hrx_view_slice(hrx_buffer_view(buffer), at, PIECE, &piece));
    OK(hrx_stream_read(stream, piece, result, PIECE));
    RIGHT(memcmp(bytes, result, PIECE) == 0, "the piece at %zu is wrong", at);
  }
  hrx_buffer_release(buffer);
  free(result);
  free(bytes);
  figure("stream_upload_256MiB", UPLOAD / best);
}

static void dispatch_bench(void) {
  hrx_stream_kernel *nothing = stream_kernel("nothing");
  hrx_buffer *words;
  OK(hrx_stream_allocate(stream, BYTES, &words));
  hrx_view view = hrx_buffer_view(words);
  double enqueue = 1e30, complete = 1e30;
  for (unsigned batch = 0; batch < BATCHES; batch++) {
    double began = now_ns();
    for (unsigned i = 0; i < LAUNCHES; i++)
      OK(hrx_stream_dispatch(stream, nothing, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, &view, 1, NULL, 0));
    double queued = now_ns() - began;
    OK(hrx_stream_synchronize(stream));
    double done = now_ns() - began;
    if (queued < enqueue) enqueue = queued;
    if (done < complete) complete = done;
  }
  hrx_buffer_release(words);
  hrx_stream_kernel_release(nothing);
  figure("stream_dispatch_enqueue", enqueue / LAUNCHES);
  figure("stream_dispatch_complete", complete / LAUNCHES);
}

static void graph_bench(hrx_buffer *const *buffers, bool chained) {
  hrx_gpu_kernel *nothing = graph_kernel("nothing", 1);
  hrx_executable *executable = kernels_graph(nothing, buffers, chained);
  double enqueue = 1e30, complete = 1e30;
  for (unsigned batch = 0; batch < BATCHES; batch++) {
    double queued = 0, done = 0;
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
      hrx_completion *completion;
      double began = now_ns();
      OK(hrx_executable_submit(executable, &completion));
      queued += now_ns() - began;
      OK(hrx_completion_wait(completion));
      done += now_ns() - began;
      hrx_completion_release(completion);
    }
    if (queued < enqueue) enqueue = queued;
    if (done < complete) complete = done;
  }
  hrx_executable_release(executable);
  hrx_gpu_kernel_release(nothing);
  figure(chained ? "graph_chained_enqueue" : "graph_independent_enqueue", enqueue / SUBMISSIONS / KERNELS);
  figure(chained ? "graph_chained_complete" : "graph_independent_complete", complete / SUBMISSIONS / KERNELS);
}

int main(int count, char **arguments) {
  hrx_buffer *buffers[KERNELS];
  runtime = soft_runtime();
  code = compiled(runtime, "stream_bench.hip", source);
  OK(hrx_stream_open(runtime, &stream));
  for (unsigned i = 0; i < KERNELS; i++) buffers[i] = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  stream_check();
  graph_check(buffers);
  if (is_bench(count, arguments)) {
    scratch_bench();
    allocate_bench();
    upload_bench();
    dispatch_bench();
    graph_bench(buffers, true);
    graph_bench(buffers, false);
  }
  for (unsigned i = 0; i < KERNELS; i++) hrx_buffer_release(buffers[i]);
  hrx_stream_close(stream);
  hrx_artifact_release(code);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
