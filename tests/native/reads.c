/* A buffer that is only read: the 100,000th reader costs no more time and no more memory than the first. Submissions of a graph that
 * reads it, each waited for; and copies out of it, from changing places, on four streams, a thousand queued at a time.
 * usage: reads [bench] */
#include "tests/native/native.h"

#include "tests/native/allocations.h"

enum { BYTES = 64 << 10, PART = 256, STREAMS = 4, BATCH = 1000, CHECKED = 5000, MANY = 100000 };

static hrx_runtime *runtime;
static hrx_buffer *source, *target, *stream_source, *stream_targets[STREAMS];
static hrx_stream *streams[STREAMS];
static hrx_executable *reader;
static uint8_t contents[BYTES];

static void memory_make(void) {
  source = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  target = buffer_new(runtime, BYTES, HRX_HOST_VISIBLE);
  for (size_t i = 0; i < BYTES; i++) contents[i] = (uint8_t)(i * 37 + i / 256);
  OK(hrx_view_write(hrx_buffer_view(source), contents, sizeof contents));
  for (unsigned i = 0; i < STREAMS; i++) {
    OK(hrx_stream_open(runtime, &streams[i]));
    OK(hrx_stream_allocate_zeroed(streams[i], PART, &stream_targets[i]));
  }
  OK(hrx_stream_allocate(streams[0], BYTES, &stream_source));
  OK(hrx_stream_upload(streams[0], stream_source, contents, sizeof contents));
  OK(hrx_stream_synchronize(streams[0]));
  hrx_graph *graph = graph_new(runtime);
  hrx_view part;
  OK(hrx_view_slice(hrx_buffer_view(target), 0, PART, &part));
  for (size_t at = 0; at < 4 * PART; at += PART) {
    hrx_view from;
    OK(hrx_view_slice(hrx_buffer_view(source), at, PART, &from));
    OK(hrx_graph_copy(graph, part, from, NULL));
  }
  reader = prepared(graph);
}

static size_t place_of(unsigned i) { return (size_t)i * 7919 % (BYTES / PART - 1) * PART + i % 3 * 16; }

static void read_graph(unsigned i) {
  (void)i;
  run_once(reader);
}

static void read_stream(unsigned i) {
  hrx_view from;
  OK(hrx_view_slice(hrx_buffer_view(stream_source), place_of(i), PART, &from));
  OK(hrx_stream_copy(streams[i % STREAMS], hrx_buffer_view(stream_targets[i % STREAMS]), from));
}

static void streams_finish(void) {
  for (unsigned i = 0; i < STREAMS; i++) OK(hrx_stream_synchronize(streams[i]));
}

static void results_check(unsigned reads) {
  uint8_t bytes[PART];
  hrx_view part;
  OK(hrx_view_slice(hrx_buffer_view(target), 0, PART, &part));
  OK(hrx_view_read(part, bytes, sizeof bytes));
  RIGHT(memcmp(bytes, contents + 3 * PART, PART) == 0, "the graph copied something else");
  for (unsigned i = reads - STREAMS; i < reads; i++) {
    OK(hrx_stream_read(streams[i % STREAMS], hrx_buffer_view(stream_targets[i % STREAMS]), bytes, sizeof bytes));
    RIGHT(memcmp(bytes, contents + place_of(i), PART) == 0, "copy %u copied something else", i);
  }
}

/* The best of some batches; how much a read keeps is what is left of all of them together. */
static double batch(void (*read)(unsigned), unsigned *io_reads, unsigned batches) {
  double best = 1e30;
  for (unsigned i = 0; i < batches; i++) {
    double began = now_ns();
    for (unsigned k = 0; k < BATCH; k++) read((*io_reads)++);
    streams_finish();
    double took = now_ns() - began;
    if (took < best) best = took;
  }
  return best / BATCH;
}

/* Time of a read at the end over that at the beginning, and bytes that each one in between has left. */
static void measure(const char *name, void (*read)(unsigned), unsigned reads, bool print) {
  unsigned done = 0;
  char line[64];
  batch(read, &done, 2); /* the first ones fill pools */
  double first = batch(read, &done, 3);
  int64_t bytes = allocation_bytes_now();
  unsigned begun = done;
  while (done + BATCH < reads + begun) batch(read, &done, 1);
  double each = (double)(allocation_bytes_now() - bytes) / (done - begun);
  double last = batch(read, &done, 3);
  results_check(done);
  RIGHT(each < 1, "%s: each of %u reads has left %g bytes", name, done - begun, each);
  if (!print) return;
  snprintf(line, sizeof line, "reads_%s_first", name);
  figure(line, first);
  snprintf(line, sizeof line, "reads_%s_last", name);
  figure(line, last);
  snprintf(line, sizeof line, "reads_%s_bytes", name);
  figure(line, each);
}

int main(int count, char **arguments) {
  bool bench = is_bench(count, arguments);
  runtime = soft_runtime();
  memory_make();
  read_graph(0);
  measure("stream", read_stream, bench ? MANY : CHECKED, bench);
  measure("graph", read_graph, bench ? MANY : CHECKED, bench);
  hrx_executable_release(reader);
  for (unsigned i = 0; i < STREAMS; i++) {
    hrx_buffer_release(stream_targets[i]);
    if (i == 0) hrx_buffer_release(stream_source);
    hrx_stream_close(streams[i]);
  }
  hrx_buffer_release(target);
  hrx_buffer_release(source);
  hrx_runtime_release(runtime);
  puts("PASS");
  return 0;
}
