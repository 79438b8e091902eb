/* Where a writer writes to: a file by its path, or bytes in memory. Writers see a FILE and need not look at errors: the
 * stream remembers them, and output_finish reports them. */
#ifndef HRX_TRACE_OUTPUT_H
#define HRX_TRACE_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

struct output {
  FILE *file; /* to write to */
  const char *path; /* NULL: bytes in memory */
  char *bytes;
  size_t size;
};

/* `path` must stay until output_finish; a file that exists is replaced. NULL: into memory. Errors: IO with the path and the
 * system's reason; OUT_OF_MEMORY. */
hrx_status output_create(const char *path, struct output *out_output);

/* Closes it. In memory, the bytes go to the caller, who frees them; they end in a 0 that `out_size` does not count. For a
 * file both may be NULL. Errors: IO if anything could not be written; OUT_OF_MEMORY. */
hrx_status output_finish(struct output *output, char **out_bytes, size_t *out_size);

#endif
