#include "code/encoding_check.h"

#include <string.h>

enum { SOURCE_SDWA = 0xf9, SELECT_RESERVED = 7, UNUSED_RESERVED = 3 };

/* RDNA2 ISA, "SDWA": selects are 0 to 6, what happens to unused bits 0 to 2. */
static bool sdwa_printable(uint32_t first, uint32_t second) {
  bool vop1 = first >> 25 == 0x3f, compare = first >> 25 == 0x3e;
  if (!compare && ((second >> 8 & 7) == SELECT_RESERVED || (second >> 11 & 3) == UNUSED_RESERVED)) return false;
  if ((second >> 16 & 7) == SELECT_RESERVED) return false;
  return vop1 || (second >> 24 & 7) != SELECT_RESERVED;
}

bool encoding_printable(const uint8_t *bytes, size_t size) {
  uint32_t words[2];
  if (size < sizeof words) return true;
  memcpy(words, bytes, sizeof words);
  bool short_vector = words[0] >> 31 == 0; /* VOP1, VOP2, VOPC */
  if (short_vector && (words[0] & 0x1ff) == SOURCE_SDWA) return sdwa_printable(words[0], words[1]);
  return true;
}
