/* Where the parts of this hrx are, found from the command's own file: bin/hrx -> lib/, lib/hip/. */
#ifndef HRX_TOOL_PLACE_H
#define HRX_TOOL_PLACE_H

#include <limits.h>
#include <stdbool.h>

struct place {
  char preload[PATH_MAX];   /* lib/libhrx_interpose.so */
  char stand_ins[PATH_MAX]; /* lib/hip */
};

/* True if both are there and readable; the paths are filled in any case. */
bool place_find(struct place *out_place);

#endif
