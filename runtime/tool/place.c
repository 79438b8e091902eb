#include "tool/place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool place_find(struct place *out_place) {
  char path[PATH_MAX - 32] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  for (int i = 0; i < 2; i++) { /* the file's name, then "bin" */
    char *slash = strrchr(path, '/');
    if (slash != NULL) *slash = '\0';
  }
  snprintf(out_place->preload, sizeof out_place->preload, "%s/lib/libhrx_interpose.so", path);
  snprintf(out_place->stand_ins, sizeof out_place->stand_ins, "%s/lib/hip", path);
  return access(out_place->preload, R_OK) == 0 && access(out_place->stand_ins, R_OK | X_OK) == 0;
}
