/* Compiled code with what belongs to it, and where it is kept. */
#ifndef HRX_NATIVE_ARTIFACT_H
#define HRX_NATIVE_ARTIFACT_H

#include <hrx/kernel.h>
#include <limits.h>

#include "base/sha256.h"

struct hrx_artifact {
  void *bytes; /* NULL after a failed compilation */
  size_t size;
  char digest[SHA256_TEXT]; /* of the bytes */
  char path[PATH_MAX];
  char *compiler, *report;
  bool cached;
};

/* Looks for what `key` (a digest in hexadecimal) stands for and fills in bytes, size, digest, path, report. False if it is not
 * there, or not what was written: then it is compiled again. */
bool artifact_cache_find(const char *key, struct hrx_artifact *io_artifact);

/* Keeps it under `key` and sets its path. Nobody sees half of it. If that is not possible the path stays "" and the log says why. */
void artifact_cache_keep(const char *key, struct hrx_artifact *io_artifact);

#endif
