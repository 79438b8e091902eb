/* Any bytes as a code object: opened, and loaded where it is small. */
#include "code/code_object.h"

#include <stdlib.h>

enum { IMAGE_LIMIT = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct code_object *object = NULL;
  if (code_object_open(data, size, &object) != HRX_OK) return 0;
  code_object_kernel(object, "add");
  void *image = object->image_bytes <= IMAGE_LIMIT ? malloc(object->image_bytes + 1) : NULL;
  if (image != NULL) code_object_load(object, data, size, UINT64_C(0x7f0000000000), image);
  free(image);
  code_object_release(object);
  return 0;
}
