#include "base/config.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* 0: untouched, 1: being filled, 2: ready. Not pthread_once: the fill must not log through the log, which asks
 * for the configuration. */
static _Atomic int state;
static struct config current;

static void complain(const char *name, const char *value, const char *allowed) {
  char line[512];
  int length = snprintf(line, sizeof line, "hrx: %s=%s is ignored: expected %s\n", name, value, allowed);
  if (length > (int)sizeof line - 1) length = (int)sizeof line - 1;
  if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

static int choice_read(const char *name, const char *const *names, const char *allowed, int fallback) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0') return fallback;
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp(value, names[i]) == 0) return i;
  complain(name, value, allowed);
  return fallback;
}

static uint64_t number_read(const char *name, uint64_t lowest, uint64_t highest, uint64_t fallback) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0') return fallback;
  char *end = NULL;
  uint64_t number = strtoull(value, &end, 0);
  unsigned shift = 0;
  if (end != value) {
    if (*end == 'K' || *end == 'k') shift = 10;
    if (*end == 'M' || *end == 'm') shift = 20;
    if (*end == 'G' || *end == 'g') shift = 30;
    if (shift != 0) end++;
  }
  if (end == value || *end != '\0' || *value == '-' || number > (UINT64_MAX >> shift) ||
      (number << shift) < lowest || (number << shift) > highest) {
    char allowed[96];
    snprintf(allowed, sizeof allowed, "a number from %llu to %llu", (unsigned long long)lowest,
             (unsigned long long)highest);
    complain(name, value, allowed);
    return fallback;
  }
  return number << shift;
}

static uint64_t seconds_read(const char *name, uint64_t fallback) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0') return fallback;
  char *end = NULL;
  double seconds = strtod(value, &end);
  if (end == value || *end != '\0' || !(seconds > 0) || seconds > 1e9) {
    complain(name, value, "seconds, more than 0");
    return fallback;
  }
  return (uint64_t)(seconds * 1e9);
}

static const char *text_read(const char *name, const char *fallback) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0') return fallback;
  /* the program may change its environment later: keep a copy for the life of the process */
  char *copy = strdup(value);
  return copy != NULL ? copy : fallback;
}

/* XDG Base Directory Specification: relative paths are to be ignored. */
static const char *cache_read(void) {
  const char *own = text_read("HRX_CACHE", NULL);
  if (own != NULL) return own;
  const char *folder = getenv("XDG_CACHE_HOME"), *below = "/hrx";
  if (folder == NULL || *folder != '/') {
    folder = getenv("HOME");
    below = "/.cache/hrx";
  }
  char *path = NULL;
  if (folder == NULL || *folder != '/' || asprintf(&path, "%s%s", folder, below) < 0) return NULL;
  return path;
}

static unsigned cpus_allowed(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0) return count > 256 ? 256u : (unsigned)count;
  }
  return 1;
}

static void config_fill(struct config *config) {
  static const char *const gpus[] = {"auto", "hip", "soft", NULL};
  static const char *const orders[] = {"inferred", "stream", NULL};
  static const char *const levels[] = {"error", "warn", "info", "trace", NULL};
  config->gpu = (enum gpu_choice)choice_read("HRX_GPU", gpus, "auto, hip or soft", GPU_CHOICE_AUTO);
  config->hip_library = text_read("HRX_HIP_LIBRARY", NULL);
  config->soft_arch = text_read("HRX_SOFT_ARCH", "gfx1030");
  config->soft_cores = (unsigned)number_read("HRX_SOFT_CORES", 1, 256, cpus_allowed());
  config->soft_devices = (unsigned)number_read("HRX_SOFT_DEVICES", 0, 16, 1);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t ram = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
  config->soft_memory = number_read("HRX_SOFT_MEMORY", 1 << 20, UINT64_C(1) << 46, ram / 2);
  config->soft_level = text_read("HRX_SOFT_LEVEL", NULL);
  config->timeout_ns = seconds_read("HRX_TIMEOUT", UINT64_MAX);
  config->order_stream = choice_read("HRX_ORDER", orders, "inferred or stream", 0) == 1;
  config->statistics = number_read("HRX_STATS", 0, 1, 0) == 1;
  config->trace_file = text_read("HRX_TRACE", NULL);
  config->trace_events = number_read("HRX_TRACE_EVENTS", 1, UINT64_C(1) << 26, UINT64_C(1) << 20);
  const char *seed = getenv("HRX_DETERMINISTIC");
  config->deterministic = seed != NULL && *seed != '\0';
  config->seed = number_read("HRX_DETERMINISTIC", 0, UINT64_MAX, 0);
  config->log_level = choice_read("HRX_LOG", levels, "error, warn, info or trace", LOG_WARN);
  config->log_file = text_read("HRX_LOG_FILE", NULL);
  config->cache = cache_read();
}

const struct config *config_get(void) {
  /* acquire pairs with the release below: who sees 2 sees the filled values */
  if (atomic_load_explicit(&state, memory_order_acquire) == 2) return &current;
  int expected = 0;
  if (atomic_compare_exchange_strong(&state, &expected, 1)) {
    config_fill(&current);
    atomic_store_explicit(&state, 2, memory_order_release);
  }
  while (atomic_load_explicit(&state, memory_order_acquire) != 2) sched_yield();
  return &current;
}
