/* A whole file in memory. Read, not mapped: who shortens it later cannot make the process fault. */
#ifndef HRX_BASE_FILE_H
#define HRX_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

struct file_bytes {
  void *bytes; /* freed by file_finish */
  size_t size;
};

/* Reads a regular file of 1 byte to 4 GiB. Errors: IO, with FILE_NOT_FOUND if there is none; OUT_OF_MEMORY; INVALID/ARGUMENT for NULL. */
hrx_status file_read(const char *path, struct file_bytes *out_file);
void file_finish(struct file_bytes *file);

/* Writes the file whole or not at all: under another name in the same folder, then renamed. Errors: IO. */
hrx_status file_write(const char *path, const void *bytes, size_t size);

#endif
