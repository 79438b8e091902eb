#include "code/instruction.h"

#include <string.h>

static const char *const names[OPCODE_COUNT] = {
    [OPCODE_UNKNOWN] = "unknown",
#define OPCODE(name) [OPCODE_##name] = #name,
#include "code/opcodes.def"
#undef OPCODE
};

const char *opcode_name(enum opcode opcode) { return opcode < OPCODE_COUNT ? names[opcode] : names[OPCODE_UNKNOWN]; }

enum opcode opcode_find(const char *name, size_t length) {
  unsigned low = 1, high = OPCODE_COUNT;
  while (low < high) {
    unsigned middle = low + (high - low) / 2;
    int order = strncmp(name, names[middle], length);
    if (order == 0) order = names[middle][length] == '\0' ? 0 : -1;
    if (order == 0) return (enum opcode)middle;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return OPCODE_UNKNOWN;
}
