/* The trace: a bounded ring, its names and edges, the formats, and what the engine records. */
#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "engine/engine.h"
#include "tests/unit/include/fake_gpu.h"
#include "trace/chrome.h"
#include "trace/dot.h"
#include "trace/label.h"
#include "trace/output.h"
#include "trace/ring.h"
#include "trace/statistics.h"

static struct trace_ring ring;

static void setup(void) { trace_ring_init(&ring); }
static void teardown(void) { trace_ring_finish(&ring); }

static void record(uint32_t lane, uint64_t sequence, const char *label) {
  uint64_t now = time_now_ns();
  trace_event_record(&ring, &(struct trace_event){.task = {lane, sequence},
                                                  .stream = lane,
                                                  .kind = TRACE_KERNEL,
                                                  .label = label,
                                                  .start_ns = now,
                                                  .finish_ns = now + 1500});
}

static struct trace *finish(struct trace_ring *of) {
  struct trace *trace = NULL;
  trace_finish(of, &trace);
  ck_assert_ptr_nonnull(trace);
  return trace;
}

/* --- ring --- */

START_TEST(ring_keeps_the_newest_and_counts_the_rest) {
  for (uint64_t count = 0; count <= 9; count++) {
    ck_assert_int_eq(trace_start(&ring, 4), HRX_OK);
    for (uint64_t i = 1; i <= count; i++) record(0, i, "k");
    struct trace *trace = finish(&ring);
    uint64_t kept = count < 4 ? count : 4;
    ck_assert_uint_eq(trace_event_count(trace), kept);
    ck_assert_uint_eq(trace_events_dropped(trace), count - kept);
    for (uint64_t i = 0; i < kept; i++)
      ck_assert_uint_eq(trace_event_at(trace, i)->task.sequence, count - kept + i + 1);
    for (uint64_t i = 1; i <= count; i++) {
      const struct trace_event *event = trace_event_of(trace, (struct trace_task){0, i});
      ck_assert_int_eq(event != NULL, i > count - kept);
      if (event != NULL) ck_assert_uint_eq(event->task.sequence, i);
    }
    trace_release(trace);
  }
}
END_TEST

START_TEST(edges_stay_if_both_ends_do) {
  ck_assert_int_eq(trace_start(&ring, 2), HRX_OK);
  struct trace_task tasks[] = {{1, 1}, {1, 2}, {7, 1}, {9, 9}};
  trace_edge_record(&ring, tasks[0], tasks[1], TRACE_INFERRED); /* from one that is dropped */
  trace_edge_record(&ring, tasks[1], tasks[2], TRACE_EXPLICIT);
  trace_edge_record(&ring, tasks[2], tasks[3], TRACE_INFERRED); /* to one that never ran */
  for (int i = 0; i < 3; i++) record(tasks[i].lane, tasks[i].sequence, "k");
  struct trace *trace = finish(&ring);
  ck_assert_uint_eq(trace_edge_count(trace), 1);
  ck_assert_uint_eq(trace_edges_dropped(trace), 2);
  ck_assert_uint_eq(trace_edge_at(trace, 0)->to.lane, 7);
  ck_assert_int_eq(trace_edge_at(trace, 0)->kind, TRACE_EXPLICIT);
  trace_release(trace);
}
END_TEST

START_TEST(ring_of_edges_is_bounded_too) {
  ck_assert_int_eq(trace_start(&ring, 1), HRX_OK);
  for (uint64_t i = 0; i < 1000; i++)
    trace_edge_record(&ring, (struct trace_task){0, 1}, (struct trace_task){0, 1}, TRACE_INFERRED);
  record(0, 1, "k");
  struct trace *trace = finish(&ring);
  ck_assert_uint_eq(trace_edge_count(trace), 2);
  ck_assert_uint_eq(trace_edges_dropped(trace), 998);
  trace_release(trace);
}
END_TEST

START_TEST(one_trace_at_a_time) {
  struct trace *trace = (struct trace *)&ring;
  trace_finish(&ring, &trace);
  ck_assert_ptr_null(trace);
  ck_assert_int_eq(trace_start(&ring, 0), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_ARGUMENT);
  ck_assert_int_eq(trace_start(&ring, (size_t)TRACE_CAPACITY_MOST + 1), HRX_INVALID);
  ck_assert(!trace_running(&ring));
  ck_assert_int_eq(trace_start(&ring, 8), HRX_OK);
  ck_assert(trace_running(&ring));
  record(0, 1, "first");
  ck_assert_int_eq(trace_start(&ring, 8), HRX_BUSY);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LIVE);
  trace = finish(&ring);
  ck_assert_uint_eq(trace_event_count(trace), 1); /* the refused start left the first one alone */
  ck_assert(!trace_running(&ring));
  trace_release(trace);
  trace_release(NULL);
  ck_assert_int_eq(trace_start(&ring, 8), HRX_OK);
  record(0, 2, "second"); /* the fixture's end releases a trace that runs */
}
END_TEST

START_TEST(nothing_is_recorded_without_a_trace_or_from_before_it) {
  record(0, 1, "none runs");
  uint64_t before = time_now_ns();
  ck_assert_int_eq(trace_start(&ring, 8), HRX_OK);
  trace_event_record(&ring, &(struct trace_event){.task = {0, 2}, .start_ns = before - 1, .finish_ns = time_now_ns()});
  record(0, 3, "counts");
  struct trace *trace = finish(&ring);
  ck_assert_uint_eq(trace_event_count(trace), 1);
  ck_assert_uint_eq(trace_event_at(trace, 0)->task.sequence, 3);
  trace_release(trace);
}
END_TEST

START_TEST(labels_are_copies_one_of_each) {
  char name[16] = "first";
  ck_assert_int_eq(trace_start(&ring, 8), HRX_OK);
  record(0, 1, name);
  record(0, 2, "first");
  strcpy(name, "second");
  record(0, 3, NULL);
  struct trace *trace = finish(&ring);
  ck_assert_str_eq(trace_event_at(trace, 0)->label, "first");
  ck_assert_ptr_eq(trace_event_at(trace, 0)->label, trace_event_at(trace, 1)->label);
  ck_assert_str_eq(trace_event_at(trace, 2)->label, "");
  trace_release(trace);
}
END_TEST

START_TEST(labels_are_bounded) {
  struct label_table *table = calloc(1, sizeof *table);
  char name[LABEL_LENGTH_MOST + 100];
  const char *last = NULL;
  for (int i = 0; i <= LABELS_MOST; i++) {
    snprintf(name, sizeof name, "kernel %d", i);
    last = label_intern(table, name);
    ck_assert_int_eq(strcmp(last, name) == 0, i < LABELS_MOST);
  }
  ck_assert_str_eq(label_intern(table, "kernel 17"), "kernel 17"); /* those it knows stay known */
  ck_assert_ptr_eq(label_intern(table, "yet another"), last);
  label_table_finish(table);
  /* long ones: cut, and too many bytes of them are not kept */
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  ck_assert_uint_eq(strlen(label_intern(table, name)), LABEL_LENGTH_MOST);
  for (int i = 0; i < 2000; i++) {
    memcpy(name, &i, 2);
    name[0] |= 0x10, name[1] |= 0x10;
    label_intern(table, name);
  }
  ck_assert_uint_le(table->bytes, LABEL_BYTES_MOST);
  label_table_finish(table);
  free(table);
}
END_TEST

static _Atomic bool recording;

static void *record_much(void *context) {
  uint32_t lane = (uint32_t)(uintptr_t)context;
  for (uint64_t i = 1; atomic_load(&recording); i++) {
    if (!trace_running(&ring)) {
      sched_yield();
      continue;
    }
    record(lane, i, lane == 1 ? "one" : "two");
    trace_edge_record(&ring, (struct trace_task){lane, i}, (struct trace_task){lane, i + 1}, TRACE_INFERRED);
  }
  return NULL;
}

START_TEST(threads_may_record_while_traces_come_and_go) {
  pthread_t threads[2];
  atomic_store(&recording, true);
  for (uintptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, record_much, (void *)(i + 1));
  uint64_t events = 0;
  for (int i = 0; i < 50 || events == 0; i++) {
    ck_assert_int_eq(trace_start(&ring, 64), HRX_OK);
    sched_yield();
    struct trace *trace = finish(&ring);
    for (size_t at = 0; at < trace_event_count(trace); at++) {
      const struct trace_event *event = trace_event_at(trace, at);
      ck_assert_str_eq(event->label, event->task.lane == 1 ? "one" : "two");
    }
    events += trace_event_count(trace) + trace_events_dropped(trace);
    trace_release(trace);
  }
  atomic_store(&recording, false);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
END_TEST

START_TEST(a_forked_child_has_no_trace) {
  ck_assert_int_eq(trace_start(&ring, 8), HRX_OK);
  record(0, 1, "parent's");
  trace_ring_fork_prepare(&ring);
  pid_t child = fork();
  trace_ring_fork_done(&ring, child == 0);
  if (child == 0) {
    struct trace *trace = NULL;
    bool wrong = trace_running(&ring);
    record(0, 2, "child's");
    trace_finish(&ring, &trace);
    wrong |= trace != NULL || trace_start(&ring, 4) != HRX_OK; /* it may start its own */
    _exit(wrong);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  struct trace *trace = finish(&ring);
  ck_assert_uint_eq(trace_event_count(trace), 1);
  trace_release(trace);
}
END_TEST

/* --- formats --- */

static char *bytes;
static size_t size;

/* What `write` writes into memory, as text. */
static void output_begin(struct output *output) { ck_assert_int_eq(output_create(NULL, output), HRX_OK); }
static void output_end(struct output *output) {
  free(bytes);
  ck_assert_int_eq(output_finish(output, &bytes, &size), HRX_OK);
  ck_assert_uint_eq(strlen(bytes), size);
}

static json_t *chrome_parse(const struct trace *trace) {
  struct output output;
  json_error_t error;
  output_begin(&output);
  chrome_write(output.file, trace);
  output_end(&output);
  json_t *root = json_loadb(bytes, size, 0, &error);
  ck_assert_msg(root != NULL, "line %d: %s in: %s", error.line, error.text, bytes);
  return root;
}

static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static double number_of(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  ck_assert_msg(json_is_number(value), "%s is no number", key);
  return json_number_value(value);
}

/* The events of a phase, in an array of its own. */
static json_t *phase(json_t *root, const char *which) {
  json_t *found = json_array(), *event;
  size_t index;
  json_array_foreach(json_object_get(root, "traceEvents"), index, event) if (strcmp(text_of(event, "ph"), which) == 0)
      json_array_append(found, event);
  return found;
}

START_TEST(chrome_has_tasks_lanes_and_flows) {
  ck_assert_int_eq(trace_start(&ring, 16), HRX_OK);
  uint64_t now = time_now_ns();
  struct trace_event copied = {.task = {3, 1},
                               .stream = 2,
                               .kind = TRACE_COPY,
                               .label = "copy",
                               .start_ns = now + 1000,
                               .finish_ns = now + 2001,
                               .bytes = 4096};
  struct trace_event kernel = {.task = {5, 1},
                               .stream = 2,
                               .kind = TRACE_KERNEL,
                               .label = "_Z3addPi",
                               .start_ns = now + 3000,
                               .finish_ns = now + 1003000,
                               .outcome = TRACE_FAILED};
  struct trace_event tile = {.task = {9, 4},
                             .stream = 9,
                             .kind = TRACE_DEVICE,
                             .engine = TRACE_NPU,
                             .label = "gemm",
                             .start_ns = now + 2000000,
                             .finish_ns = now + 2000000};
  trace_event_record(&ring, &copied);
  trace_event_record(&ring, &kernel);
  trace_event_record(&ring, &tile);
  trace_edge_record(&ring, copied.task, kernel.task, TRACE_INFERRED);
  trace_edge_record(&ring, kernel.task, tile.task, TRACE_EXPLICIT);
  struct trace *trace = finish(&ring);
  json_t *root = chrome_parse(trace);

  json_t *complete = phase(root, "X"), *starts = phase(root, "s"), *ends = phase(root, "f"), *names = phase(root, "M");
  ck_assert_uint_eq(json_array_size(complete), 3);
  json_t *first = json_array_get(complete, 0), *second = json_array_get(complete, 1),
         *third = json_array_get(complete, 2);
  ck_assert_str_eq(text_of(first, "cat"), "copy");
  ck_assert_int_eq((int)number_of(json_object_get(first, "args"), "bytes"), 4096);
  ck_assert_str_eq(text_of(json_object_get(first, "args"), "task"), "3:1");
  ck_assert_double_eq_tol(number_of(first, "dur"), 1.001, 1e-9);
  ck_assert_double_eq_tol(number_of(second, "ts") - number_of(first, "ts"), 2.0, 1e-6);
  ck_assert_str_eq(text_of(second, "name"), "_Z3addPi");
  ck_assert_str_eq(text_of(json_object_get(second, "args"), "outcome"), "failed");
  ck_assert_ptr_null(json_object_get(json_object_get(second, "args"), "bytes")); /* not known is not 0 */
  ck_assert_double_eq_tol(number_of(second, "dur"), 1000.0, 1e-9);
  ck_assert_str_eq(text_of(third, "cat"), "device");
  ck_assert_double_ne(number_of(third, "pid"), number_of(second, "pid"));

  ck_assert_uint_eq(json_array_size(starts), 2);
  ck_assert_uint_eq(json_array_size(ends), 2);
  for (size_t i = 0; i < 2; i++) {
    json_t *start = json_array_get(starts, i), *end = json_array_get(ends, i);
    json_t *from = json_array_get(complete, i), *to = json_array_get(complete, i + 1);
    ck_assert_double_eq(number_of(start, "id"), number_of(end, "id"));
    ck_assert_str_eq(text_of(start, "name"), text_of(end, "name"));
    ck_assert_str_eq(text_of(start, "cat"), text_of(end, "cat"));
    ck_assert_str_eq(text_of(end, "bp"), "e");
    ck_assert_double_eq(number_of(start, "tid"), number_of(from, "tid"));
    ck_assert_double_eq(number_of(end, "tid"), number_of(to, "tid"));
    ck_assert_double_eq(number_of(end, "pid"), number_of(to, "pid"));
    /* inside the task that it starts from, also after rounding */
    ck_assert_double_ge(number_of(start, "ts"), number_of(from, "ts"));
    ck_assert_double_lt(number_of(start, "ts"), number_of(from, "ts") + number_of(from, "dur"));
    ck_assert_double_eq(number_of(end, "ts"), number_of(to, "ts"));
  }
  ck_assert_str_eq(text_of(json_array_get(starts, 0), "name"), "inferred");
  ck_assert_str_eq(text_of(json_array_get(starts, 1), "name"), "explicit");
  /* two processes, three lanes with a name and a place each */
  ck_assert_uint_eq(json_array_size(names), 2 + 3 * 2);
  ck_assert(strstr(bytes, "\"name\":\"stream 2, lane 3\"") != NULL);
  ck_assert(strstr(bytes, "\"name\":\"NPU\"") != NULL);
  json_decref(complete), json_decref(starts), json_decref(ends), json_decref(names), json_decref(root);
  trace_release(trace);
}
END_TEST

START_TEST(chrome_without_events_is_valid) {
  ck_assert_int_eq(trace_start(&ring, 16), HRX_OK);
  struct trace *trace = finish(&ring);
  json_t *root = chrome_parse(trace);
  ck_assert_uint_eq(json_array_size(json_object_get(root, "traceEvents")), 0);
  json_decref(root);
  trace_release(trace);
}
END_TEST

static const struct {
  const char *name, *shown; /* shown: NULL for the same */
} strange_names[] = {
    {"plain", NULL},
    {"quote \" backslash \\ both \\\"", NULL},
    {"ends in \\", NULL},
    {"\x01\t\n\r\x1f\x7f", NULL},
    {"</script>&amp;<b>", NULL},
    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", NULL},         /* UTF-8 of two, three and four bytes */
    {"\xff", "\xc3\xbf"},                                     /* bytes that are none: as Latin-1 */
    {"\xc3", "\xc3\x83"},                                     /* cut off */
    {"\xe2\x82", "\xc3\xa2\xc2\x82"},                         /* cut off later */
    {"\xc0\xaf", "\xc3\x80\xc2\xaf"},                         /* overlong */
    {"\xe0\x9f\xbf", "\xc3\xa0\xc2\x9f\xc2\xbf"},             /* overlong, three bytes */
    {"\xed\xa0\x80", "\xc3\xad\xc2\xa0\xc2\x80"},             /* a surrogate */
    {"\xf4\x90\x80\x80", "\xc3\xb4\xc2\x90\xc2\x80\xc2\x80"}, /* beyond U+10FFFF */
    {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", NULL},       /* the last that are */
};
enum { STRANGE_NAMES = sizeof strange_names / sizeof *strange_names };

START_TEST(json_brings_any_name_back) {
  ck_assert_int_eq(trace_start(&ring, 64), HRX_OK);
  for (size_t i = 0; i < STRANGE_NAMES; i++) record(0, i + 1, strange_names[i].name);
  char every[256];
  for (int i = 1; i < 256; i++) every[i - 1] = (char)i;
  every[255] = '\0';
  record(0, STRANGE_NAMES + 1, every);
  struct trace *trace = finish(&ring);
  json_t *root = chrome_parse(trace), *complete = phase(root, "X");
  for (size_t i = 0; i < STRANGE_NAMES; i++) {
    const char *shown = strange_names[i].shown != NULL ? strange_names[i].shown : strange_names[i].name;
    ck_assert_str_eq(text_of(json_array_get(complete, i), "name"), shown);
  }
  ck_assert_uint_eq(strlen(text_of(json_array_get(complete, STRANGE_NAMES), "name")), 127 + 128 * 2);
  json_decref(complete), json_decref(root);
  trace_release(trace);
}
END_TEST

/* What Graphviz shows for the quoted string at `*io_at`, which it moves behind it. The lexer knows only \" and keeps every other
 * backslash; a label then takes \\ and \n as escapes, and entities as characters. */
static void dot_unquote(const char **io_at, char *out) {
  const char *at = *io_at;
  ck_assert_int_eq(*at++, '"');
  while (*at != '"') {
    ck_assert_int_ne(*at, '\0');
    ck_assert_int_ne(*at, '\n');
    if (*at == '\\') {
      at++;
      ck_assert_msg(*at == '"' || *at == '\\' || *at == 'n', "an escape \\%c", *at);
      *out++ = *at == 'n' ? '\n' : *at;
      at++;
    } else if (*at == '&') {
      ck_assert_int_eq(strncmp(at, "&amp;", 5), 0);
      *out++ = '&';
      at += 5;
    } else {
      *out++ = *at++;
    }
  }
  *out = '\0';
  *io_at = at + 1;
}

START_TEST(dot_shows_any_name) {
  struct dot_node nodes[STRANGE_NAMES];
  for (size_t i = 0; i < STRANGE_NAMES; i++) nodes[i] = (struct dot_node){strange_names[i].name, TRACE_KERNEL};
  struct output output;
  output_begin(&output);
  dot_write(output.file, &(struct dot_graph){"a \"graph\"", nodes, STRANGE_NAMES, NULL, 0});
  output_end(&output);
  const char *at = bytes;
  char shown[256];
  ck_assert_int_eq(strncmp(at, "digraph ", 8), 0);
  at += 8;
  dot_unquote(&at, shown);
  ck_assert_str_eq(shown, "a \"graph\"");
  for (size_t i = 0; i < STRANGE_NAMES; i++) {
    at = strstr(at, "label=");
    ck_assert_ptr_nonnull(at);
    at += strlen("label=");
    dot_unquote(&at, shown);
    const char *expected = strange_names[i].shown != NULL ? strange_names[i].shown : strange_names[i].name;
    if (expected[0] == '\x01') expected = "\\x01\\x09\n\\x0d\\x1f\\x7f";
    ck_assert_str_eq(shown, expected);
  }
}
END_TEST

START_TEST(dot_tells_kinds_and_edges_apart) {
  static const struct dot_node nodes[] = {{NULL, TRACE_FILL}, {"b", TRACE_COPY}, {"c", TRACE_KERNEL},
                                          {"d", TRACE_HOST},  {"e", TRACE_JOIN}, {"f", TRACE_DEVICE}};
  static const struct dot_edge edges[] = {
      {0, 1, DOT_INFERRED}, {0, 2, DOT_REDUCED}, {1, 2, DOT_EXPLICIT}, {1, 6, DOT_EXPLICIT}};
  struct output output;
  output_begin(&output);
  dot_write(output.file, &(struct dot_graph){NULL, nodes, 6, edges, 4});
  output_end(&output);
  ck_assert_str_eq(bytes, "digraph \"graph\" {\n"
                          "  n0 [shape=parallelogram, label=\"fill\"];\n"
                          "  n1 [shape=cds, label=\"b\"];\n"
                          "  n2 [shape=box, label=\"c\"];\n"
                          "  n3 [shape=ellipse, label=\"d\"];\n"
                          "  n4 [shape=point, label=\"e\"];\n"
                          "  n5 [shape=component, label=\"f\"];\n"
                          "  n0 -> n1 [style=solid];\n"
                          "  n0 -> n2 [style=dotted, color=gray50, constraint=false];\n"
                          "  n1 -> n2 [style=bold, color=blue];\n"
                          "}\n");
}
END_TEST

START_TEST(statistics_are_an_object) {
  static const struct statistic values[] = {{"tasks", 12}, {"odd \"name\"\n", 0}, {"most", INT64_MAX}};
  struct output output;
  output_begin(&output);
  statistics_write(output.file, values, 3);
  output_end(&output);
  json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
  ck_assert_ptr_nonnull(root);
  ck_assert_uint_eq(json_object_size(root), 3);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(json_integer_value(json_object_get(root, values[i].name)), (json_int_t)values[i].value);
  json_decref(root);
  output_begin(&output);
  statistics_write(output.file, NULL, 0);
  output_end(&output);
  ck_assert_str_eq(bytes, "{}\n");
}
END_TEST

START_TEST(output_goes_to_a_file_or_fails_with_its_name) {
  char path[] = "/tmp/hrx-trace-XXXXXX", line[16] = "";
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  struct output output;
  ck_assert_int_eq(output_create(path, &output), HRX_OK);
  fputs("written", output.file);
  ck_assert_int_eq(output_finish(&output, NULL, NULL), HRX_OK);
  ck_assert_int_eq(read(descriptor, line, sizeof line), 7);
  ck_assert_str_eq(line, "written");
  close(descriptor);
  unlink(path);
  ck_assert_int_eq(output_create("/nowhere/trace.json", &output), HRX_IO);
  ck_assert(strstr(hrx_last_message(), "/nowhere/trace.json") != NULL);
  ck_assert_int_eq(output_create("/dev/full", &output), HRX_OK);
  fputs("does not fit", output.file);
  ck_assert_int_eq(output_finish(&output, NULL, NULL), HRX_IO);
  ck_assert(strstr(hrx_last_message(), "/dev/full") != NULL);
}
END_TEST

/* --- the engine --- */

static struct memory *memory;
static struct engine *engine;
static struct stream *streams[2];
static struct allocation *buffer;

static void engine_setup(void) {
  ck_assert_int_eq(memory_create((uint64_t)1 << 30, &memory), HRX_OK);
  ck_assert_int_eq(engine_create(&(struct engine_options){.memory = memory}, &engine), HRX_OK);
  ck_assert_int_eq(memory_allocate(memory, 1 << 20, 256, MEMORY_DEVICE, 0, 0, &buffer), HRX_OK);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(stream_create(engine, 0, &streams[i]), HRX_OK);
}

static void engine_teardown(void) {
  for (int i = 0; i < 2; i++) stream_release(streams[i]);
  engine_release(engine);
  memory_release(memory);
}

static struct point submit(int stream, const struct task *task) {
  struct point point;
  ck_assert_msg(stream_submit(streams[stream], task, &point) == HRX_OK, "%s", hrx_last_message());
  return point;
}

static void wait_for(int stream) {
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(streams[stream], &clock), HRX_OK);
  ck_assert_int_eq(engine_clock_wait(engine, &clock, UINT64_MAX), HRX_OK);
  clock_finish(&clock);
}

static const struct trace_event *event_of(const struct trace *trace, struct point point) {
  return trace_event_of(trace, (struct trace_task){point.lane, point.sequence});
}

static hrx_status host_nothing(void *context) {
  (void)context;
  return HRX_OK;
}

static struct task buffer_fill(struct access *out_access) {
  *out_access = (struct access){buffer, 0, 4096, ACCESS_WRITE};
  return (struct task){.kind = TASK_FILL,
                       .accesses = out_access,
                       .access_count = 1,
                       .fill = {.destination = (void *)buffer->address,
                                .width = 1024,
                                .height = 4,
                                .depth = 1,
                                .pitch = 1024,
                                .pattern = 7,
                                .element_bytes = 1}};
}

START_TEST(engine_records_each_kind_with_its_times) {
  struct access access;
  struct task fill = buffer_fill(&access);
  submit(0, &fill); /* before the trace */
  wait_for(0);
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK);
  char label[] = "a name that goes away";
  uint64_t started = 0, finished = 0, before = time_now_ns();
  struct point filled = submit(0, &fill);
  struct fake_dispatch *fake = fake_dispatch_new(FAKE_THREAD, HRX_OK, NULL, NULL);
  struct point kernel = submit(0, &(struct task){.kind = TASK_DISPATCH,
                                                 .opaque = true,
                                                 .label = label,
                                                 .dispatch = &fake->base,
                                                 .out_started_ns = &started,
                                                 .out_finished_ns = &finished});
  struct point host = submit(0, &(struct task){.kind = TASK_HOST, .opaque = true, .host.call = host_nothing});
  struct point join = submit(0, &(struct task){.kind = TASK_JOIN, .opaque = true, .label = "event"});
  wait_for(0);
  memset(label, '?', sizeof label - 1);
  struct trace *trace = finish(engine_trace(engine));
  submit(0, &fill); /* after it */
  wait_for(0);
  ck_assert_uint_eq(trace_event_count(trace), 4);
  ck_assert_str_eq(event_of(trace, filled)->label, "fill");
  ck_assert_int_eq(event_of(trace, filled)->kind, TRACE_FILL);
  ck_assert_uint_eq(event_of(trace, filled)->bytes, 4096);
  ck_assert_str_eq(event_of(trace, kernel)->label, "a name that goes away");
  ck_assert_int_eq(event_of(trace, kernel)->kind, TRACE_KERNEL);
  ck_assert_uint_eq(event_of(trace, kernel)->start_ns, started); /* what timing events say, and the trace, agree */
  ck_assert_uint_eq(event_of(trace, kernel)->finish_ns, finished);
  ck_assert_int_eq(event_of(trace, host)->kind, TRACE_HOST);
  ck_assert_int_eq(event_of(trace, join)->kind, TRACE_JOIN);
  uint64_t previous = before;
  for (size_t i = 0; i < 4; i++) {
    const struct trace_event *event = trace_event_at(trace, i);
    ck_assert_uint_ge(event->start_ns, previous);
    ck_assert_uint_ge(event->finish_ns, event->start_ns);
    ck_assert_int_eq(event->outcome, TRACE_DONE);
    previous = event->finish_ns;
  }
  trace_release(trace);
}
END_TEST

START_TEST(engine_records_the_edges_that_were_waited_for) {
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK);
  struct fake_dispatch *fake = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  struct access write = {buffer, 0, 4096, ACCESS_WRITE}, fill_write;
  struct point kernel =
      submit(0, &(struct task){.kind = TASK_DISPATCH, .accesses = &write, .access_count = 1, .dispatch = &fake->base});
  struct clock clock = {0};
  ck_assert_int_eq(stream_clock(streams[0], &clock), HRX_OK);
  ck_assert_int_eq(stream_wait_clock(streams[1], &clock), HRX_OK);
  clock_finish(&clock);
  struct task fill = buffer_fill(&fill_write);
  struct point filled = submit(1, &fill);
  struct access elsewhere = {buffer, 8192, 16, ACCESS_WRITE};
  struct point apart = submit(1, &(struct task){.kind = TASK_JOIN, .accesses = &elsewhere, .access_count = 1});
  fake_done(fake);
  wait_for(1);
  struct trace *trace = finish(engine_trace(engine));
  ck_assert_uint_eq(trace_event_count(trace), 3);
  ck_assert_uint_eq(trace_edge_count(trace), 1);
  const struct trace_edge *edge = trace_edge_at(trace, 0);
  ck_assert_uint_eq(edge->from.lane, kernel.lane);
  ck_assert_uint_eq(edge->from.sequence, kernel.sequence);
  ck_assert_uint_eq(edge->to.lane, filled.lane);
  ck_assert_uint_eq(edge->to.sequence, filled.sequence);
  ck_assert_uint_ge(event_of(trace, filled)->start_ns, event_of(trace, kernel)->finish_ns);
  ck_assert_ptr_nonnull(event_of(trace, apart));
  trace_release(trace);
}
END_TEST

START_TEST(engine_records_failed_and_skipped_tasks) {
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK);
  struct fake_dispatch *fake = fake_dispatch_new(FAKE_BY_TEST, HRX_EXECUTION, NULL, NULL);
  struct point failed = submit(0, &(struct task){.kind = TASK_DISPATCH, .opaque = true, .dispatch = &fake->base});
  struct point skipped = submit(0, &(struct task){.kind = TASK_JOIN, .opaque = true});
  fake_done(fake);
  wait_for(0);
  struct trace *trace = finish(engine_trace(engine));
  ck_assert_int_eq(event_of(trace, failed)->outcome, TRACE_FAILED);
  ck_assert_int_eq(event_of(trace, skipped)->outcome, TRACE_SKIPPED);
  trace_release(trace);
}
END_TEST

/* A task in flight when the trace ends leaves nothing, not even in the next trace. */
START_TEST(engine_records_no_task_from_an_earlier_trace) {
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK);
  struct fake_dispatch *fake = fake_dispatch_new(FAKE_BY_TEST, HRX_OK, NULL, NULL);
  submit(0, &(struct task){.kind = TASK_DISPATCH, .opaque = true, .dispatch = &fake->base});
  struct trace *trace = finish(engine_trace(engine));
  ck_assert_uint_eq(trace_event_count(trace), 0);
  trace_release(trace);
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK);
  fake_done(fake);
  wait_for(0);
  trace = finish(engine_trace(engine));
  ck_assert_uint_eq(trace_event_count(trace), 0);
  trace_release(trace);
  ck_assert_int_eq(trace_start(engine_trace(engine), 100), HRX_OK); /* engine_release ends it */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("trace");
  TCase *rings = tcase_create("ring"), *formats = tcase_create("formats"), *engines = tcase_create("engine");
  tcase_add_checked_fixture(rings, setup, teardown);
  tcase_add_test(rings, ring_keeps_the_newest_and_counts_the_rest);
  tcase_add_test(rings, edges_stay_if_both_ends_do);
  tcase_add_test(rings, ring_of_edges_is_bounded_too);
  tcase_add_test(rings, one_trace_at_a_time);
  tcase_add_test(rings, nothing_is_recorded_without_a_trace_or_from_before_it);
  tcase_add_test(rings, labels_are_copies_one_of_each);
  tcase_add_test(rings, labels_are_bounded);
  tcase_add_test(rings, threads_may_record_while_traces_come_and_go);
  tcase_add_test(rings, a_forked_child_has_no_trace);
  tcase_add_checked_fixture(formats, setup, teardown);
  tcase_add_test(formats, chrome_has_tasks_lanes_and_flows);
  tcase_add_test(formats, chrome_without_events_is_valid);
  tcase_add_test(formats, json_brings_any_name_back);
  tcase_add_test(formats, dot_shows_any_name);
  tcase_add_test(formats, dot_tells_kinds_and_edges_apart);
  tcase_add_test(formats, statistics_are_an_object);
  tcase_add_test(formats, output_goes_to_a_file_or_fails_with_its_name);
  tcase_add_checked_fixture(engines, engine_setup, engine_teardown);
  tcase_add_test(engines, engine_records_each_kind_with_its_times);
  tcase_add_test(engines, engine_records_the_edges_that_were_waited_for);
  tcase_add_test(engines, engine_records_failed_and_skipped_tasks);
  tcase_add_test(engines, engine_records_no_task_from_an_earlier_trace);
  suite_add_tcase(suite, rings);
  suite_add_tcase(suite, formats);
  suite_add_tcase(suite, engines);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
