#include "gpu/hip/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"

/* The stand-ins are links to one file of this name. */
static bool is_own(const char *path) {
  char real[PATH_MAX];
  if (realpath(path, real) == NULL) return false;
  const char *name = strrchr(real, '/');
  return name != NULL && strncmp(name + 1, "libhrx_interpose.so", 19) == 0;
}

bool hip_library_find(char *out_path, size_t capacity) {
  static const char *const folders[] = {"/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib",
                                        "/usr/lib"};
  static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  const char *configured = config_get()->hip_library;
  if (configured != NULL) {
    snprintf(out_path, capacity, "%s", configured);
    return configured[0] == '/' && access(configured, R_OK) == 0 && !is_own(configured);
  }
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
      snprintf(out_path, capacity, "%s/%s", folders[i], names[j]);
      if (access(out_path, R_OK) == 0 && !is_own(out_path)) return true;
    }
  out_path[0] = '\0';
  return false;
}
