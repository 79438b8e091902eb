#include "tool/policy.h"

#include <ctype.h>
#include <string.h>

static const struct policy_row rows[] = {
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters)                                          \
  {#name, {node5, node6, node7}, POLICY_##policy, #group},
#define HIP_ALIAS(symbol, name, node) {#symbol, {node, node, node}, POLICY_COUNT, #name},
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
#undef HIP_ALIAS
};

const struct policy_row *policy_rows(size_t *out_count) {
  *out_count = sizeof rows / sizeof *rows;
  return rows;
}

const struct policy_row *policy_find(const char *symbol) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, symbol) == 0)
      return rows[i].policy == POLICY_COUNT ? policy_find(rows[i].group) : &rows[i];
  return NULL;
}

const char *policy_name(enum policy policy) {
  static const char *const names[] = {"handled", "hint", "refused", "forwarded", "unknown"};
  return policy < POLICY_COUNT ? names[policy] : "unknown";
}

bool policy_looks_hip(const char *symbol) {
  static const char *const prefixes[] = {"hip", "__hip", "hiprtc", "roctx"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t length = strlen(prefixes[i]);
    if (strncmp(symbol, prefixes[i], length) == 0 && isupper((unsigned char)symbol[length])) return true;
  }
  return false;
}
