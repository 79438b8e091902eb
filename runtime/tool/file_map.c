#include "tool/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hrx_status file_map_open(const char *path, struct file_map *out_map) {
  *out_map = (struct file_map){.bytes = NULL};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return hrx_fail_reason(HRX_IO, errno == ENOENT ? HRX_REASON_FILE_NOT_FOUND : HRX_REASON_NONE, "%s: %s", path,
                           strerror(errno));
  struct stat status;
  hrx_status result = HRX_OK;
  void *bytes = MAP_FAILED;
  if (fstat(file, &status) != 0)
    result = hrx_fail(HRX_IO, "%s: %s", path, strerror(errno));
  else if (!S_ISREG(status.st_mode))
    result = hrx_fail(HRX_IO, "%s: not a regular file", path);
  else if (status.st_size > 0) {
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
      result = hrx_fail(HRX_IO, "%s: %s", path, strerror(errno));
    else
      *out_map = (struct file_map){.bytes = bytes, .size = (size_t)status.st_size};
  }
  close(file);
  return result;
}

void file_map_finish(struct file_map *map) {
  if (map->bytes != NULL) munmap((void *)(uintptr_t)map->bytes, map->size);
  *map = (struct file_map){.bytes = NULL};
}
