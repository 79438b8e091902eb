#include "code/instruction.h"

static const char *const names[OPCODE_COUNT] = {
    [OPCODE_UNKNOWN] = "unknown",
#define OPCODE(name) [OPCODE_##name] = #name,
#include "code/opcodes.def"
#undef OPCODE
};

const char *opcode_name(enum opcode opcode) { return opcode < OPCODE_COUNT ? names[opcode] : names[OPCODE_UNKNOWN]; }
