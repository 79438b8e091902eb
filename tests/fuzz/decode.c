/* Any bytes as machine code: the first byte chooses the target. */
#include "code/decode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const targets[] = {"gfx1030", "gfx90a", "gfx1100"};
  if (size == 0) return 0;
  struct decoded *decoded = NULL;
  if (decode_code(targets[data[0] % 3], data + 1, size - 1, &decoded) != HRX_OK) return 0;
  uint64_t at = 0;
  for (uint32_t i = 0; i < decoded->count; i++) { /* in order, no gaps, findable */
    if (decoded->instructions[i].offset != at || decoded->instructions[i].size == 0) abort();
    if (decoded_find(decoded, at) != (long)i) abort();
    at += decoded->instructions[i].size;
  }
  decoded_release(decoded);
  return 0;
}
