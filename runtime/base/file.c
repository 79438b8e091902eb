#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t LARGEST = (off_t)1 << 32;

static hrx_status failed(const char *path) {
  return hrx_fail_reason(HRX_IO, errno == ENOENT ? HRX_REASON_FILE_NOT_FOUND : HRX_REASON_NONE, "%s: %s", path, strerror(errno));
}

static hrx_status content_read(int descriptor, const char *path, size_t size, void *out_bytes) {
  for (size_t done = 0; done < size;) {
    ssize_t count = read(descriptor, (char *)out_bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path);
    if (count == 0) return hrx_fail(HRX_IO, "%s: it ends at byte %zu of %zu", path, done, size);
    done += (size_t)count;
  }
  return HRX_OK;
}

hrx_status file_read(const char *path, struct file_bytes *out_file) {
  if (path == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the path is NULL");
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block before it is refused */
  if (descriptor < 0) return failed(path);
  struct stat about;
  void *bytes = NULL;
  hrx_status status = fstat(descriptor, &about) == 0 ? HRX_OK : failed(path);
  if (status == HRX_OK && !S_ISREG(about.st_mode)) status = hrx_fail(HRX_IO, "%s: not a regular file", path);
  if (status == HRX_OK && (about.st_size == 0 || about.st_size > LARGEST))
    status = hrx_fail(HRX_IO, "%s: %lld bytes, 1 byte to 4 GiB are read", path, (long long)about.st_size);
  if (status == HRX_OK && (bytes = malloc((size_t)about.st_size)) == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "%s: no memory for %lld bytes", path, (long long)about.st_size);
  if (status == HRX_OK) status = content_read(descriptor, path, (size_t)about.st_size, bytes);
  close(descriptor);
  if (status != HRX_OK) {
    free(bytes);
    return status;
  }
  *out_file = (struct file_bytes){.bytes = bytes, .size = (size_t)about.st_size};
  return HRX_OK;
}

void file_finish(struct file_bytes *file) {
  free(file->bytes);
  *file = (struct file_bytes){.bytes = NULL};
}

static hrx_status content_write(int descriptor, const char *path, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = write(descriptor, (const char *)bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path);
    done += (size_t)count;
  }
  return HRX_OK;
}

hrx_status file_write(const char *path, const void *bytes, size_t size) {
  static _Atomic unsigned serial;
  char other[PATH_MAX];
  int length = snprintf(other, sizeof other, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
  if (length < 0 || (size_t)length >= sizeof other) return hrx_fail(HRX_IO, "%s: the path is too long", path);
  int descriptor = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed(other);
  hrx_status status = content_write(descriptor, other, bytes, size);
  if (close(descriptor) != 0 && status == HRX_OK) status = failed(other);
  if (status == HRX_OK && rename(other, path) != 0) status = failed(path);
  if (status != HRX_OK) unlink(other);
  return status;
}
