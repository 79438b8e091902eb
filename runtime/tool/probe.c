#include "tool/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "gpu/hip/library.h"

/* What the child sends: one write that fits into a pipe's atomic size. */
struct answer {
  bool loaded;
  char error[256];
  int version, count_error, devices;
  char device[128];
};
_Static_assert(sizeof(struct answer) <= PIPE_BUF, "one write must carry it whole");

static void child_ask(const char *path, struct answer *answer) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *error = dlerror();
    snprintf(answer->error, sizeof answer->error, "%.250s", error != NULL ? error : "dlopen failed");
    return;
  }
  answer->loaded = true;
  int (*get_version)(int *) = (int (*)(int *))dlsym(library, "hipRuntimeGetVersion");
  int (*get_count)(int *) = (int (*)(int *))dlsym(library, "hipGetDeviceCount");
  int (*get_name)(char *, int, int) = (int (*)(char *, int, int))dlsym(library, "hipDeviceGetName");
  if (get_version == NULL || get_version(&answer->version) != 0) answer->version = 0;
  answer->count_error = get_count != NULL ? get_count(&answer->devices) : -1;
  if (answer->count_error != 0) answer->devices = 0;
  if (answer->devices > 0 && get_name != NULL && get_name(answer->device, sizeof answer->device, 0) != 0)
    answer->device[0] = '\0';
  answer->device[sizeof answer->device - 1] = '\0';
}

static _Noreturn void child_main(const char *path, int out) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  int null = open("/dev/null", O_RDWR);
  if (null >= 0)
    for (int i = 0; i <= 2; i++) dup2(null, i);
  struct answer answer;
  memset(&answer, 0, sizeof answer);
  child_ask(path, &answer);
  ssize_t written = write(out, &answer, sizeof answer);
  _exit(written == (ssize_t)sizeof answer ? 0 : 1); /* no exit handlers: the runtime's may hang */
}

/* Reads the answer within the limit. */
static enum probe_outcome answer_wait(int in, int timeout_ms, struct answer *out_answer) {
  uint64_t deadline = time_after(time_now_ns(), (uint64_t)timeout_ms * 1000000);
  for (;;) {
    uint64_t now = time_now_ns();
    if (now >= deadline) return PROBE_HUNG;
    struct pollfd ready = {.fd = in, .events = POLLIN};
    int result = poll(&ready, 1, (int)((deadline - now) / 1000000) + 1);
    if (result < 0 && errno != EINTR) return PROBE_CRASHED;
    if (result <= 0) continue;
    ssize_t bytes = read(in, out_answer, sizeof *out_answer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != (ssize_t)sizeof *out_answer) return PROBE_CRASHED; /* the pipe closed: the child is gone */
    return out_answer->loaded ? PROBE_ANSWERED : PROBE_UNLOADABLE;
  }
}

void probe_run(int timeout_ms, struct probe *out_probe) {
  *out_probe = (struct probe){.outcome = PROBE_NO_LIBRARY};
  if (!hip_library_find(out_probe->path, sizeof out_probe->path)) return;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    snprintf(out_probe->error, sizeof out_probe->error, "pipe: %s", strerror(errno));
    out_probe->outcome = PROBE_CRASHED;
    return;
  }
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    child_main(out_probe->path, ends[1]);
  }
  close(ends[1]);
  struct answer answer;
  memset(&answer, 0, sizeof answer);
  out_probe->outcome = child > 0 ? answer_wait(ends[0], timeout_ms, &answer) : PROBE_CRASHED;
  close(ends[0]);
  if (child > 0) {
    int status = 0;
    kill(child, SIGKILL); /* it has answered or never will */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (out_probe->outcome == PROBE_CRASHED && WIFSIGNALED(status))
      snprintf(out_probe->error, sizeof out_probe->error, "%s", strsignal(WTERMSIG(status)));
  }
  if (out_probe->outcome == PROBE_UNLOADABLE) memcpy(out_probe->error, answer.error, sizeof answer.error);
  if (out_probe->outcome != PROBE_ANSWERED) return;
  out_probe->version = answer.version;
  out_probe->count_error = answer.count_error;
  out_probe->devices = answer.devices;
  memcpy(out_probe->device, answer.device, sizeof answer.device);
}

bool probe_has_device(const struct probe *probe) {
  return probe->outcome == PROBE_ANSWERED && probe->count_error == 0 && probe->devices > 0;
}

bool probe_driver_present(void) { return access("/dev/kfd", R_OK | W_OK) == 0; }
