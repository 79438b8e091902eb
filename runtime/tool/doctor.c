/* hrx doctor: what is on this machine, what would be used, and why. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/config.h"
#include "code/decode.h"
#include "gpu/soft/device.h"
#include "gpu/soft/level.h"
#include "tool/place.h"
#include "tool/policy.h"
#include "tool/probe.h"
#include "tool/tool.h"

enum { PROBE_TIMEOUT_MS = 20000 };

static int coverage(void) {
  size_t count = 0, totals[POLICY_COUNT + 1] = {0};
  const struct policy_row *rows = policy_rows(&count);
  for (size_t i = 0; i < count; i++) {
    const struct policy_row *row = rows[i].policy == POLICY_COUNT ? policy_find(rows[i].name) : &rows[i];
    enum policy policy = row != NULL ? row->policy : POLICY_UNKNOWN;
    printf("%s\t%s\t%s\n", rows[i].name, policy_name(policy), row != NULL ? row->group : "-");
    totals[policy]++;
  }
  printf("# %zu names: %zu handled, %zu hints, %zu forwarded, %zu refused\n", count, totals[POLICY_HANDLE],
         totals[POLICY_HINT], totals[POLICY_FORWARD], totals[POLICY_REFUSE]);
  return 0;
}

static void say_hip(const struct probe *probe) {
  printf("HIP library      ");
  switch (probe->outcome) {
  case PROBE_NO_LIBRARY:
    if (probe->path[0] != '\0')
      printf("HRX_HIP_LIBRARY=%s is no readable file with an absolute path\n", probe->path);
    else
      printf("not found (programs on the software GPU do not need it)\n");
    break;
  case PROBE_UNLOADABLE: printf("%s cannot be loaded: %s\n", probe->path, probe->error); break;
  case PROBE_CRASHED: printf("%s ended the process that asked it: %s\n", probe->path, probe->error); break;
  case PROBE_HUNG: printf("%s gave no answer in %d seconds\n", probe->path, PROBE_TIMEOUT_MS / 1000); break;
  case PROBE_ANSWERED:
    printf("%s, HIP %d.%d.%d\n", probe->path, probe->version / 10000000, probe->version / 100000 % 100,
           probe->version % 100000);
    break;
  }
}

static void say_gpu(const struct probe *probe) {
  printf("GPU              ");
  if (probe_has_device(probe))
    printf("%d: %s\n", probe->devices, probe->device[0] != '\0' ? probe->device : "(no name)");
  else if (access("/dev/kfd", F_OK) != 0)
    printf("none: /dev/kfd does not exist\n");
  else if (!probe_driver_present())
    printf("not usable: /dev/kfd may not be opened (is the user in the groups render and video?)\n");
  else if (probe->outcome == PROBE_ANSWERED)
    printf("none: hipGetDeviceCount returned %d\n", probe->count_error);
  else
    printf("unknown: /dev/kfd exists, but no HIP library answers\n");
}

/* The name at the end of a link in /sys, or "". */
static void link_name(const char *path, char *out_name, size_t capacity) {
  char target[512];
  ssize_t length = readlink(path, target, sizeof target - 1);
  target[length > 0 ? length : 0] = '\0';
  const char *slash = strrchr(target, '/');
  snprintf(out_name, capacity, "%.63s", slash != NULL ? slash + 1 : target);
}

static void say_npu(void) {
  DIR *folder = opendir("/dev/accel");
  unsigned count = 0;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (strncmp(entry->d_name, "accel", 5) != 0) continue;
    char path[400], driver[64];
    snprintf(path, sizeof path, "/sys/class/accel/%s/device/driver", entry->d_name);
    link_name(path, driver, sizeof driver);
    printf("%s/dev/accel/%s (driver %s)\n", count++ == 0 ? "NPU              " : "                 ", entry->d_name,
           driver[0] != '\0' ? driver : "unknown");
  }
  if (folder != NULL) closedir(folder);
  if (count == 0) printf("NPU              none: nothing in /dev/accel\n");
}

static void say_xrt(void) {
  static const char *const paths[] = {"/opt/xilinx/xrt/lib/libxrt_coreutil.so.2",
                                      "/opt/xilinx/xrt/lib/libxrt_coreutil.so",
                                      "/usr/lib/x86_64-linux-gnu/libxrt_coreutil.so.2",
                                      "/usr/lib64/libxrt_coreutil.so.2", "/usr/local/lib/libxrt_coreutil.so.2"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (access(paths[i], R_OK) == 0) {
      printf("XRT              %s\n", paths[i]);
      return;
    }
  printf("XRT              not found\n");
}

static bool say_cpu(void) {
  const struct soft_level *level = NULL;
  const struct config *config = config_get();
  bool good = soft_level_find(NULL, &level) == HRX_OK;
  if (good)
    printf("CPU              vector loops for x86-64 %s, %u cores, %llu MiB of device memory\n", level->name,
           config->soft_cores, (unsigned long long)(config->soft_memory >> 20));
  else
    printf("CPU              %s\n", hrx_last_message());
  return good;
}

int tool_doctor(int count, char **arguments) {
  if (count == 1 && strcmp(arguments[0], "--coverage") == 0) return coverage();
  if (count != 0) {
    fprintf(stderr, "usage: hrx doctor [--coverage]\n");
    return EXIT_USAGE;
  }
  struct probe probe;
  struct place place;
  struct utsname system;
  char llvm[512];
  const struct config *config = config_get();
  probe_run(PROBE_TIMEOUT_MS, &probe);
  say_hip(&probe);
  say_gpu(&probe);
  say_npu();
  say_xrt();
  bool decoder = decode_describe(llvm, sizeof llvm);
  printf("LLVM             %s\n", llvm);
  printf("kernel           %s %s\n", uname(&system) == 0 ? system.sysname : "unknown", system.release);
  bool processor = say_cpu();
  bool whole = place_find(&place);
  printf("hrx              %s%s\n", place.preload, whole ? "" : " (missing, or lib/hip beside it is)");

  bool device = probe_has_device(&probe);
  bool hip = config->gpu == GPU_CHOICE_HIP || (config->gpu == GPU_CHOICE_AUTO && device);
  const char *why = config->gpu == GPU_CHOICE_HIP    ? "HRX_GPU=hip"
                    : config->gpu == GPU_CHOICE_SOFT ? "HRX_GPU=soft"
                    : device                         ? "a GPU was found"
                                                     : "no GPU was found";
  bool known = soft_target_check(config->soft_arch) == HRX_OK;
  bool good = whole && (hip ? device : decoder && processor && known);
  if (hip)
    printf("programs run on  the GPU, through %s: %s\n", probe.path, why);
  else
    printf("programs run on  the software GPU (%s): %s\n", config->soft_arch, why);
  if (!good)
    printf("programs cannot run: %s\n", !whole       ? "parts of hrx are missing"
                                        : hip        ? "no GPU was found"
                                        : !decoder   ? "LLVM is missing"
                                        : !processor ? "the CPU level does not exist"
                                                     : "HRX_SOFT_ARCH names no GPU that hrx executes");
  return good ? 0 : EXIT_FAILED;
}
