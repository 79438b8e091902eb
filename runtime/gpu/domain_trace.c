#include "gpu/domain_trace.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/log.h"
#include "trace/chrome.h"
#include "trace/output.h"
#include "trace/ring.h"

/* Written once by domain_trace_start; "": no trace was started. */
static char path[PATH_MAX];

/* Relative to where the process is now, not where it will be at its end; the first %p is its number. */
static bool path_make(const char *pattern) {
  char here[PATH_MAX] = "";
  const char *number = strstr(pattern, "%p");
  int length = number != NULL ? (int)(number - pattern) : (int)strlen(pattern);
  if (pattern[0] != '/' && getcwd(here, sizeof here) == NULL) return false;
  int written = snprintf(path, sizeof path, "%s%s%.*s", here, here[0] != '\0' ? "/" : "", length, pattern);
  if (written >= 0 && written < (int)sizeof path && number != NULL)
    written += snprintf(path + written, sizeof path - (size_t)written, "%ld%s", (long)getpid(), number + 2);
  return written >= 0 && written < (int)sizeof path;
}

void domain_trace_start(struct engine *engine) {
  const struct config *config = config_get();
  if (config->trace_file == NULL) return;
  if (!path_make(config->trace_file)) {
    path[0] = '\0';
    log_line(LOG_WARN, "no trace is written: HRX_TRACE=%s is no path, or too long", config->trace_file);
  } else if (trace_start(engine_trace(engine), config->trace_events) != HRX_OK) {
    log_line(LOG_WARN, "no trace is written to %s: %s", path, hrx_last_message());
  }
}

void domain_trace_write(struct engine *engine) {
  struct trace *trace = NULL;
  if (path[0] == '\0') return; /* a trace that the program itself started is its own */
  trace_finish(engine_trace(engine), &trace);
  if (trace == NULL) return;
  struct output output;
  hrx_status status = output_create(path, &output);
  if (status == HRX_OK) {
    chrome_write(output.file, trace);
    status = output_finish(&output, NULL, NULL);
  }
  if (status != HRX_OK) log_line(LOG_WARN, "the trace is lost: %s", hrx_last_message());
  if (trace_events_dropped(trace) != 0)
    log_line(LOG_WARN, "the trace %s has only the last %zu events, %llu are missing; HRX_TRACE_EVENTS=%llu would keep all", path,
             trace_event_count(trace), (unsigned long long)trace_events_dropped(trace),
             (unsigned long long)(trace_events_dropped(trace) + trace_event_count(trace)));
  trace_release(trace);
}
