/* Reads a trace file as a viewer would and checks all that one relies on; prints a line for each task:
 * kind, name, outcome, bytes. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static const char *text(json_t *event, const char *key) {
  const char *value = json_string_value(json_object_get(event, key));
  if (value == NULL) fail("no text %s in %s", key, json_dumps(event, 0));
  return value;
}

/* Microseconds with three decimals, as nanoseconds. */
static long long ns(json_t *event, const char *key) {
  json_t *value = json_object_get(event, key);
  double number = json_number_value(value);
  if (!json_is_number(value) || !(number >= 0) || number > 3.6e9) fail("%s of %s", key, json_dumps(event, 0));
  return llround(number * 1000);
}

static long long whole(json_t *event, const char *key) {
  json_t *value = json_object_get(event, key);
  if (!json_is_integer(value)) fail("no number %s in %s", key, json_dumps(event, 0));
  return json_integer_value(value);
}

struct span {
  long long process, thread, start, finish;
};

static int span_compare(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

static json_t *events;
static struct span *spans;
static size_t span_count;

/* Metadata with this name for the thread (or the process, whose metadata are at thread 0). */
static bool named(const char *what, long long process, long long thread) {
  size_t index;
  json_t *event;
  json_array_foreach(events, index, event)
    if (strcmp(text(event, "ph"), "M") == 0 && strcmp(text(event, "name"), what) == 0 &&
        whole(event, "pid") == process && whole(event, "tid") == thread)
      return *text(json_object_get(event, "args"), "name") != '\0';
  return false;
}

static void tasks_check(void) {
  size_t index;
  json_t *event;
  json_array_foreach(events, index, event) {
    if (strcmp(text(event, "ph"), "X") != 0) continue;
    json_t *arguments = json_object_get(event, "args"), *bytes = json_object_get(arguments, "bytes");
    struct span span = {whole(event, "pid"), whole(event, "tid"), ns(event, "ts"), 0};
    span.finish = span.start + ns(event, "dur");
    spans[span_count++] = span;
    text(arguments, "task");
    printf("%s %s %s", text(event, "cat"), text(event, "name"), text(arguments, "outcome"));
    printf(bytes != NULL ? " %lld\n" : "\n", (long long)json_integer_value(bytes));
  }
  qsort(spans, span_count, sizeof *spans, span_compare);
  for (size_t i = 0; i < span_count; i++) {
    bool same = i > 0 && spans[i].process == spans[i - 1].process && spans[i].thread == spans[i - 1].thread;
    /* a lane is in order: viewers drop what overlaps */
    if (same && spans[i].start < spans[i - 1].finish) fail("tasks overlap at %lld ns", spans[i].start);
    if (!same && !named("thread_name", spans[i].process, spans[i].thread)) fail("lane %lld has no name", spans[i].thread);
    if (!same && !named("process_name", spans[i].process, 0)) fail("process %lld has no name", spans[i].process);
  }
}

static const struct span *span_at(json_t *event) {
  for (size_t i = 0; i < span_count; i++)
    if (spans[i].process == whole(event, "pid") && spans[i].thread == whole(event, "tid") &&
        spans[i].start <= ns(event, "ts") && ns(event, "ts") < spans[i].finish)
      return &spans[i];
  fail("a flow ends at no task: %s", json_dumps(event, 0));
  return NULL;
}

static size_t flows_check(void) {
  size_t index, count = json_array_size(events), starts = 0, ends = 0;
  json_t *event, **by_id = calloc(count + 1, sizeof(json_t *));
  json_array_foreach(events, index, event) {
    bool start = strcmp(text(event, "ph"), "s") == 0, end = strcmp(text(event, "ph"), "f") == 0;
    if (!start && !end) continue;
    long long id = whole(event, "id");
    if (id < 0 || id > (long long)count) fail("flow id %lld", id);
    if (start && by_id[id] != NULL) fail("flow %lld starts twice", id);
    if (start) {
      by_id[id] = event;
      starts++;
      continue;
    }
    if (by_id[id] == NULL) fail("flow %lld ends before it starts, or twice", id);
    const struct span *from = span_at(by_id[id]), *to = span_at(event);
    if (to->start < from->finish) fail("flow %lld: a task began before one that it waited for was over", id);
    if (ns(event, "ts") != to->start || strcmp(text(event, "bp"), "e") != 0) fail("flow %lld is not bound", id);
    by_id[id] = NULL;
    ends++;
  }
  if (starts != ends) fail("%zu flows start, %zu end", starts, ends);
  free(by_id);
  return starts;
}

int main(int count, char **arguments) {
  json_error_t error;
  json_t *root = count == 2 ? json_load_file(arguments[1], JSON_REJECT_DUPLICATES, &error) : NULL;
  if (root == NULL) fail("%s: line %d: %s", arguments[1], error.line, error.text);
  events = json_object_get(root, "traceEvents");
  if (!json_is_array(events)) fail("no traceEvents");
  spans = calloc(json_array_size(events) + 1, sizeof *spans);
  tasks_check();
  printf("flows %zu\n", flows_check());
  printf("dropped %lld\n", whole(json_object_get(root, "otherData"), "events_dropped"));
  free(spans);
  json_decref(root);
  return 0;
}
