/* The configuration: every HRX_ environment variable, read once, at the first question.
 *
 * The only file that calls getenv. Values are plain data and never change afterwards. */
#ifndef HRX_BASE_CONFIG_H
#define HRX_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum gpu_choice { GPU_CHOICE_AUTO = 0, GPU_CHOICE_HIP, GPU_CHOICE_SOFT };

struct config {
  enum gpu_choice gpu;     /* HRX_GPU=auto|hip|soft */
  const char *hip_library; /* HRX_HIP_LIBRARY: absolute path of the real libamdhip64, or NULL: search */
  const char *soft_arch;   /* HRX_SOFT_ARCH, default "gfx1030" */
  unsigned soft_cores;     /* HRX_SOFT_CORES, default: the CPUs this process may use; 1..256 */
  unsigned soft_devices;   /* HRX_SOFT_DEVICES, default 1; 0..16 */
  uint64_t soft_memory;    /* HRX_SOFT_MEMORY, bytes (K, M, G suffix), default half of RAM */
  const char *soft_level;  /* HRX_SOFT_LEVEL=v4|v3|baseline: vector loops to use, or NULL: best */
  uint64_t timeout_ns;     /* HRX_TIMEOUT, seconds (decimals allowed), default UINT64_MAX: none */
  bool order_stream;       /* HRX_ORDER=stream */
  bool statistics;         /* HRX_STATS=1: a summary on stderr at exit */
  const char *trace_file;  /* HRX_TRACE: where a trace is written at exit, or NULL: none */
  uint64_t trace_events;   /* HRX_TRACE_EVENTS: how many tasks it keeps, default 1M */
  bool deterministic;      /* HRX_DETERMINISTIC=seed is set */
  uint64_t seed;           /* its value */
  int log_level;           /* HRX_LOG=error|warn|info|trace, an enum log_level, default warn */
  const char *log_file;    /* HRX_LOG_FILE or NULL */
  const char *cache;       /* HRX_CACHE, else $XDG_CACHE_HOME/hrx, else $HOME/.cache/hrx: where compiled code is kept; NULL: nowhere */
};

/* The configuration. Any thread, also before main. A malformed value is reported on stderr once and its
 * default used. O(1) after the first call. */
const struct config *config_get(void);

#endif
