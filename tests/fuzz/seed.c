/* Seeds for the decoder: the machine code of a code object, a byte for the target before it.
 * seed CODE_OBJECT OUT_FILE */
#include <stdio.h>
#include <stdlib.h>

#include "code/code_object.h"

int main(int count, char **arguments) {
  static unsigned char bytes[1 << 20], image[1 << 20];
  FILE *in = count == 3 ? fopen(arguments[1], "rb") : NULL;
  if (in == NULL) return 1;
  size_t size = fread(bytes, 1, sizeof bytes, in);
  fclose(in);
  struct code_object *object = NULL;
  if (code_object_open(bytes, size, &object) != HRX_OK || object->image_bytes > sizeof image ||
      code_object_load(object, bytes, size, 0, image) != HRX_OK)
    return 1;
  FILE *out = fopen(arguments[2], "wb");
  if (out == NULL) return 1;
  fputc(0, out);
  for (uint32_t i = 0; i < object->kernel_count; i++)
    fwrite(image + object->kernels[i].entry_address, 1, object->kernels[i].code_bytes, out);
  code_object_release(object);
  return fclose(out) == 0 ? 0 : 1;
}
