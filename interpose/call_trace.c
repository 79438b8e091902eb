#include "interpose/call_trace.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "interpose/entry.h"
#include "interpose/table.h"

/* One call's line. What does not fit is cut, with dots. */
struct call_line {
  size_t length;
  unsigned arguments;
  char text[1024];
};

enum { TEXT_SHOWN = 48, END_ROOM = 64 /* for the result */ };

/* What the table held before. */
static void *untraced[ENTRY_COUNT];

__attribute__((format(printf, 2, 3))) static void append(struct call_line *line, const char *format, ...) {
  size_t room = sizeof line->text - END_ROOM - line->length;
  if (room <= 1) return;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line->text + line->length, room, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  bool cut = (size_t)length >= room;
  line->length += cut ? room - 1 : (size_t)length;
  if (cut) memcpy(line->text + line->length - 3, "...", 3);
}

static void call_begin(struct call_line *line, const char *name) {
  *line = (struct call_line){.length = 0};
  append(line, "%s(", name);
}

static void call_unknown(struct call_line *line) { append(line, "..."); }

static void name_append(struct call_line *line, const char *name) {
  append(line, "%s%s=", line->arguments++ > 0 ? ", " : "", name);
}

/* A text that a program gave or gets: its beginning, on one line. */
static void text_append(struct call_line *line, const char *value) {
  if (value == NULL) {
    append(line, "NULL");
    return;
  }
  char shown[2 * TEXT_SHOWN + 8];
  size_t length = 0, i = 0;
  for (; i < TEXT_SHOWN && value[i] != '\0'; i++) {
    char c = value[i];
    if (c == '\n' || c == '"' || c == '\\') shown[length++] = '\\';
    shown[length++] = c == '\n' ? 'n' : (unsigned char)c < ' ' ? '.' : c;
  }
  shown[length] = '\0';
  append(line, "\"%s\"%s", shown, i == TEXT_SHOWN && value[i] != '\0' ? "..." : "");
}

#define SHOW(name, type, format, ...)                                                                              \
  static void show_##name(struct call_line *line, type value) { append(line, format, __VA_ARGS__); }

SHOW(signed, long long, "%lld", value)
SHOW(unsigned, unsigned long long, "%llu", value)
SHOW(real, double, "%g", value)
SHOW(bool, bool, "%s", value ? "true" : "false")
SHOW(dim3, dim3, "{%u,%u,%u}", value.x, value.y, value.z)
SHOW(extent, hipExtent, "{%zu,%zu,%zu}", value.width, value.height, value.depth)
SHOW(pitched, hipPitchedPtr, "{%p,%zu,%zu,%zu}", value.ptr, value.pitch, value.xsize, value.ysize)
SHOW(channel, hipChannelFormatDesc, "{%d,%d,%d,%d,%d}", value.x, value.y, value.z, value.w, (int)value.f)
static void show_memory_handle(struct call_line *line, hipIpcMemHandle_t value) { (void)value, append(line, "{...}"); }
static void show_event_handle(struct call_line *line, hipIpcEventHandle_t value) { (void)value, append(line, "{...}"); }
static void show_location(struct call_line *line, hipMemLocation value) { append(line, "{%d,%d}", (int)value.type, value.id); }
static void show_text(struct call_line *line, const char *value) { text_append(line, value); }

static void show_pointer(struct call_line *line, const void *value) {
  if (value == NULL) append(line, "NULL");
  else append(line, "%p", value);
}

/* By the value's type: one function for each that is no pointer. A char * is where text goes, a const char * is text. */
#define SHOWN(line, value)                                                                                          \
  _Generic((value), bool: show_bool, int: show_signed, long: show_signed, long long: show_signed,                   \
           unsigned char: show_unsigned, unsigned short: show_unsigned, unsigned: show_unsigned,                    \
           unsigned long: show_unsigned, unsigned long long: show_unsigned, float: show_real, double: show_real,    \
           dim3: show_dim3, hipExtent: show_extent, hipPitchedPtr: show_pitched, hipChannelFormatDesc: show_channel, \
           hipIpcMemHandle_t: show_memory_handle, hipIpcEventHandle_t: show_event_handle,                           \
           hipMemLocation: show_location, const char *: show_text, default: show_pointer)(line, value)

#define ARGUMENT(line, name, value) (name_append(line, name), SHOWN(line, value))

/* The result has room left for it whatever was cut before. */
__attribute__((format(printf, 2, 3))) static void call_result(const struct call_line *line, const char *format, ...) {
  char result[END_ROOM + TEXT_SHOWN];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result, sizeof result, format, arguments);
  va_end(arguments);
  log_line(LOG_TRACE, "%s)%s", line->text, result);
}

static void call_end(const struct call_line *line) { call_result(line, "%s", ""); }

static void result_error(const struct call_line *line, hipError_t error) { call_result(line, " = %s", error_name(error)); }

static void result_compiler(const struct call_line *line, hiprtcResult result) { call_result(line, " = %d", (int)result); }

#define RESULT(line, value)                               \
  do {                                                    \
    struct call_line shown = {.length = 0};               \
    SHOWN(&shown, value);                                 \
    call_result(line, " = %.*s", END_ROOM, shown.text);   \
  } while (0)

#include "call_trace_functions.h"

static void *const traced[ENTRY_COUNT] = {
#define HIP_ENTRY(name, ...) [ENTRY_##name] = (void *)traced_##name,
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
};

void call_trace_set(bool on) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (on && !caller_is_traced) {
    memcpy(untraced, hrx_hip_entries, sizeof untraced);
    /* first: a handler that is entered through us must not take us for its caller */
    caller_is_traced = true;
    for (unsigned i = 0; i < ENTRY_COUNT; i++) __atomic_store_n(&hrx_hip_entries[i], traced[i], __ATOMIC_RELEASE);
  } else if (!on && caller_is_traced) {
    for (unsigned i = 0; i < ENTRY_COUNT; i++) __atomic_store_n(&hrx_hip_entries[i], untraced[i], __ATOMIC_RELEASE);
    caller_is_traced = false;
  }
  pthread_mutex_unlock(&lock);
}
