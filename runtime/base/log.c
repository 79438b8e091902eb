#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"

static int log_descriptor(void) {
  static _Atomic int descriptor = -1;
  int found = atomic_load(&descriptor);
  if (found >= 0) return found;
  const char *path = config_get()->log_file;
  found = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : STDERR_FILENO;
  if (found < 0) found = STDERR_FILENO;
  int expected = -1;
  if (!atomic_compare_exchange_strong(&descriptor, &expected, found)) {
    if (found != STDERR_FILENO) close(found);
    found = expected;
  }
  return found;
}

static _Atomic int level_set = -1;

void log_level_set(int level) { atomic_store_explicit(&level_set, level, memory_order_relaxed); }

int log_enabled(enum log_level level) {
  int set = atomic_load_explicit(&level_set, memory_order_relaxed);
  return (int)level <= (set >= 0 ? set : config_get()->log_level);
}

void log_line(enum log_level level, const char *format, ...) {
  if (!log_enabled(level)) return;
  int saved_errno = errno;
  char line[2048];
  memcpy(line, "hrx: ", 5);
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line + 5, sizeof line - 6, format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if ((size_t)length > sizeof line - 7) length = (int)sizeof line - 7;
  line[5 + length] = '\n';
  size_t left = (size_t)length + 6;
  const char *at = line;
  while (left > 0) {
    ssize_t written = write(log_descriptor(), at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += written;
    left -= (size_t)written;
  }
  errno = saved_errno;
}
