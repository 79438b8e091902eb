/* Any bytes as a fat binary, and every entry of it as a code object. */
#include "code/fat_binary.h"

#include "code/code_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fat_binary binary;
  if (fat_binary_open(data, size, &binary) != HRX_OK) return 0;
  char text[128];
  fat_binary_targets(&binary, text, sizeof text);
  fat_binary_pick(&binary, "gfx90a:sramecc+:xnack-");
  for (unsigned i = 0; i < binary.count; i++) {
    struct code_object *object = NULL;
    if (code_object_open(binary.entries[i].bytes, binary.entries[i].size, &object) == HRX_OK)
      code_object_release(object);
  }
  fat_binary_finish(&binary);
  return 0;
}
