/* The cache of compiled code: KEY.artifact says which code belongs to a key and what the compiler said; DIGEST.co is the code, a file
 * that hrx_gpu_kernel_load_file takes. Both appear by rename, so that processes may share a folder. Read back, the code must have
 * its digest. */
#include "native/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config.h"
#include "base/file.h"
#include "base/log.h"

#define ARTIFACT_MAGIC "hrx artifact 1\n"

/* MAGIC, the code's digest and a line end, then the report. */
enum { MAGIC_BYTES = sizeof ARTIFACT_MAGIC - 1, HEAD_BYTES = MAGIC_BYTES + 2 * SHA256_BYTES + 1 };

static bool path_make(const char *name, const char *ending, char out_path[PATH_MAX]) {
  const char *folder = config_get()->cache;
  int length = folder != NULL ? snprintf(out_path, PATH_MAX, "%s/%s.%s", folder, name, ending) : -1;
  return length > 0 && length < PATH_MAX;
}

static void digest_of(const void *bytes, size_t size, char out_text[SHA256_TEXT]) {
  struct sha256 sha;
  sha256_init(&sha);
  sha256_add(&sha, bytes, size);
  sha256_text(&sha, out_text);
}

/* Only digests become part of a path. */
static bool is_digest(const char *text) {
  return strspn(text, "0123456789abcdef") == 2 * SHA256_BYTES && text[2 * SHA256_BYTES] == '\0';
}

/* The digest and the report that stand in KEY.artifact. */
static bool note_read(const char *key, char out_digest[SHA256_TEXT], char **out_report) {
  char path[PATH_MAX];
  struct file_bytes note;
  if (!path_make(key, "artifact", path) || file_read(path, &note) != HRX_OK) return false;
  const char *text = note.bytes;
  bool whole = note.size >= HEAD_BYTES && memcmp(text, ARTIFACT_MAGIC, MAGIC_BYTES) == 0 && text[HEAD_BYTES - 1] == '\n';
  if (whole) {
    memcpy(out_digest, text + MAGIC_BYTES, 2 * SHA256_BYTES);
    out_digest[2 * SHA256_BYTES] = '\0';
    *out_report = strndup(text + HEAD_BYTES, note.size - HEAD_BYTES);
    whole = is_digest(out_digest) && *out_report != NULL;
    if (!whole) free(*out_report);
  }
  file_finish(&note);
  if (!whole) log_line(LOG_WARN, "%s is damaged; the code is compiled again", path);
  return whole;
}

bool artifact_cache_find(const char *key, struct hrx_artifact *io_artifact) {
  char named[SHA256_TEXT], found[SHA256_TEXT], path[PATH_MAX];
  char *report = NULL;
  struct file_bytes code;
  if (!note_read(key, named, &report)) return false;
  if (!path_make(named, "co", path) || file_read(path, &code) != HRX_OK) {
    free(report);
    return false;
  }
  digest_of(code.bytes, code.size, found);
  if (strcmp(named, found) != 0) {
    log_line(LOG_WARN, "%s is damaged; the code is compiled again", path);
    file_finish(&code);
    free(report);
    return false;
  }
  io_artifact->bytes = code.bytes;
  io_artifact->size = code.size;
  memcpy(io_artifact->digest, found, sizeof found);
  memcpy(io_artifact->path, path, strlen(path) + 1);
  io_artifact->report = report;
  io_artifact->cached = true;
  return true;
}

/* With its parents, for nobody else to read. */
static hrx_status folder_make(const char *folder) {
  char path[PATH_MAX];
  size_t length = strlen(folder);
  if (length == 0 || length >= sizeof path) return hrx_fail(HRX_IO, "%s: no usable path", folder);
  for (size_t i = 1; i <= length; i++) {
    if (folder[i] != '/' && folder[i] != '\0') continue;
    memcpy(path, folder, i);
    path[i] = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return hrx_fail(HRX_IO, "%s: %s", path, strerror(errno));
  }
  return HRX_OK;
}

static hrx_status note_write(const char *path, const struct hrx_artifact *artifact) {
  const char *report = artifact->report != NULL ? artifact->report : "";
  char *text = NULL;
  int length = asprintf(&text, "%s%s\n%s", ARTIFACT_MAGIC, artifact->digest, report);
  if (length < 0) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to keep an artifact");
  hrx_status status = file_write(path, text, (size_t)length);
  free(text);
  return status;
}

void artifact_cache_keep(const char *key, struct hrx_artifact *io_artifact) {
  char code[PATH_MAX], note[PATH_MAX];
  digest_of(io_artifact->bytes, io_artifact->size, io_artifact->digest);
  if (!path_make(io_artifact->digest, "co", code) || !path_make(key, "artifact", note)) return;
  hrx_status status = folder_make(config_get()->cache);
  if (status == HRX_OK) status = file_write(code, io_artifact->bytes, io_artifact->size);
  if (status == HRX_OK) status = note_write(note, io_artifact); /* last: it is what a search begins with */
  if (status == HRX_OK)
    memcpy(io_artifact->path, code, strlen(code) + 1);
  else
    log_line(LOG_WARN, "compiled code is not kept: %s", hrx_last_message());
}
