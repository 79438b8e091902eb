#include "trace/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

hrx_status output_create(const char *path, struct output *out_output) {
  struct output *output = out_output;
  *output = (struct output){.path = path};
  output->file = path != NULL ? fopen(path, "we") : open_memstream(&output->bytes, &output->size);
  if (output->file != NULL) return HRX_OK;
  if (path == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to write into");
  return hrx_fail(HRX_IO, "%s cannot be written: %s", path, strerror(errno));
}

hrx_status output_finish(struct output *output, char **out_bytes, size_t *out_size) {
  int error = fflush(output->file) != 0 ? errno : 0;
  bool failed = error != 0 || ferror(output->file) != 0;
  if (fclose(output->file) != 0 && !failed) {
    failed = true;
    error = errno;
  }
  if (failed) {
    free(output->bytes);
    if (output->path == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for what was written");
    return hrx_fail(HRX_IO, "%s is incomplete: %s", output->path, strerror(error != 0 ? error : EIO));
  }
  if (output->path == NULL) {
    *out_bytes = output->bytes;
    *out_size = output->size;
  }
  return HRX_OK;
}
