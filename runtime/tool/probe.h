/* Asking the real HIP runtime what it finds, in a child process with a time limit: it may hang or crash. */
#ifndef HRX_TOOL_PROBE_H
#define HRX_TOOL_PROBE_H

#include <limits.h>
#include <stdbool.h>

enum probe_outcome {
  PROBE_NO_LIBRARY, /* none was found */
  PROBE_UNLOADABLE, /* dlopen failed: `error` */
  PROBE_CRASHED,    /* it ended the child by a signal, or exited */
  PROBE_HUNG,       /* no answer within the limit; the child was killed */
  PROBE_ANSWERED
};

struct probe {
  enum probe_outcome outcome;
  char path[PATH_MAX];
  char error[256];
  int version;     /* hipRuntimeGetVersion, 0 if it says none */
  int count_error; /* hipError_t of hipGetDeviceCount */
  int devices;
  char device[128]; /* name of the first one */
};

/* Finds and asks it. At most `timeout_ms`. The child's output goes to /dev/null. */
void probe_run(int timeout_ms, struct probe *out_probe);

/* Whether work can go to a GPU through it. */
bool probe_has_device(const struct probe *probe);

/* Whether the kernel driver's node is there and may be opened: without it no real runtime finds a device. */
bool probe_driver_present(void);

#endif
