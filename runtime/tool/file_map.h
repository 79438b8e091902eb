/* A whole file in memory, read-only. */
#ifndef HRX_TOOL_FILE_MAP_H
#define HRX_TOOL_FILE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct file_map {
  const uint8_t *bytes;
  size_t size;
};

/* Maps the file. An empty file gives size 0. Errors: IO, with FILE_NOT_FOUND if there is none. */
hrx_status file_map_open(const char *path, struct file_map *out_map);
void file_map_finish(struct file_map *map);

#endif
