#include "code/target.h"

#include <stdio.h>
#include <string.h>

enum { MACH_FIRST = 0x20, FEATURES_MAX = 8 };

static const char *const processors[] = {
    [0x20 - MACH_FIRST] = "gfx600",
    "gfx601",
    "gfx700",
    "gfx701",
    "gfx702",
    "gfx703",
    "gfx704",
    NULL,
    [0x28 - MACH_FIRST] = "gfx801",
    "gfx802",
    "gfx803",
    "gfx810",
    "gfx900",
    "gfx902",
    "gfx904",
    "gfx906",
    [0x30 - MACH_FIRST] = "gfx908",
    "gfx909",
    "gfx90c",
    "gfx1010",
    "gfx1011",
    "gfx1012",
    "gfx1030",
    "gfx1031",
    [0x38 - MACH_FIRST] = "gfx1032",
    "gfx1033",
    "gfx602",
    "gfx705",
    "gfx805",
    "gfx1035",
    "gfx1034",
    "gfx90a",
    [0x40 - MACH_FIRST] = "gfx940",
    "gfx1100",
    "gfx1013",
    "gfx1150",
    "gfx1103",
    "gfx1036",
    "gfx1101",
    "gfx1102",
    [0x48 - MACH_FIRST] = "gfx1200",
    NULL,
    "gfx1151",
    "gfx941",
    "gfx942",
    NULL,
    "gfx1201",
    "gfx950",
    [0x50 - MACH_FIRST] = NULL,
    "gfx9-generic",
    "gfx10-1-generic",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx1152",
    NULL,
    NULL,
    [0x58 - MACH_FIRST] = "gfx1153",
    "gfx12-generic",
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    "gfx9-4-generic",
};

/* Members of each generic processor, LLVM AMDGPU usage "Generic processors". */
static const struct {
  const char *generic, *members; /* separated and enclosed by spaces */
} generics[] = {
    {"gfx9-generic", " gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c "},
    {"gfx9-4-generic", " gfx940 gfx941 gfx942 gfx950 "},
    {"gfx10-1-generic", " gfx1010 gfx1011 gfx1012 gfx1013 "},
    {"gfx10-3-generic", " gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 "},
    {"gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 "},
    {"gfx12-generic", " gfx1200 gfx1201 "},
};

const char *target_processor(uint32_t elf_flags) {
  uint32_t mach = elf_flags & 0xff;
  if (mach < MACH_FIRST || mach - MACH_FIRST >= sizeof processors / sizeof *processors) return NULL;
  return processors[mach - MACH_FIRST];
}

void target_features(uint32_t elf_flags, unsigned version, char *out_text, size_t capacity) {
  const char *sramecc = "", *xnack = "";
  if (version >= 4) {
    uint32_t xnack_bits = elf_flags >> 8 & 3, sramecc_bits = elf_flags >> 10 & 3; /* 2 is off, 3 is on */
    if (xnack_bits >= 2) xnack = xnack_bits == 3 ? ":xnack+" : ":xnack-";
    if (sramecc_bits >= 2) sramecc = sramecc_bits == 3 ? ":sramecc+" : ":sramecc-";
  } else {
    if (elf_flags & 0x100) xnack = ":xnack+";
    if (elf_flags & 0x200) sramecc = ":sramecc+";
  }
  snprintf(out_text, capacity, "%s%s", sramecc, xnack);
}

static bool generic_covers(const char *code, size_t code_length, const char *device, size_t device_length) {
  char member[34];
  if (device_length + 3 > sizeof member) return false;
  snprintf(member, sizeof member, " %.*s ", (int)device_length, device);
  for (size_t i = 0; i < sizeof generics / sizeof *generics; i++)
    if (strlen(generics[i].generic) == code_length && memcmp(generics[i].generic, code, code_length) == 0)
      return strstr(generics[i].members, member) != NULL;
  return false;
}

/* The sign that `features` (":a+:b-") gives to the feature of `length` bytes at `name`; 0 if it names it not. */
static char feature_sign(const char *features, const char *name, size_t length) {
  while (*features == ':') {
    const char *start = features + 1;
    size_t bytes = strcspn(start, ":");
    if (bytes == length + 1 && memcmp(start, name, length) == 0) return start[length];
    features = start + bytes;
  }
  return 0;
}

int target_match(const char *code, const char *device) {
  size_t code_length = strcspn(code, ":"), device_length = strcspn(device, ":");
  if (code_length == 0) return -1;
  int score = 0;
  if (code_length == device_length && memcmp(code, device, code_length) == 0)
    score = FEATURES_MAX + 1;
  else if (!generic_covers(code, code_length, device, device_length))
    return -1;

  int named = 0;
  for (const char *at = code + code_length; *at == ':';) {
    const char *start = at + 1;
    size_t bytes = strcspn(start, ":");
    if (bytes < 2) return -1;
    char sign = feature_sign(device + device_length, start, bytes - 1);
    if (sign != 0 && sign != start[bytes - 1]) return -1;
    if (named < FEATURES_MAX) named++;
    at = start + bytes;
  }
  return score + named;
}
