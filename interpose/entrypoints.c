#include "interpose/entrypoints.h"

#include <string.h>

#include "interpose/entry.h"

struct row {
  const char *name, *node[3], *group;
  enum entry_policy policy;
};

static const struct row rows[] = {
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters)                                          \
  {#name, {node5, node6, node7}, #group, ENTRY_##policy},
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
};

struct alias {
  const char *symbol;
  enum entry_index index;
};

static const struct alias aliases[] = {
#define HIP_ENTRY(name, node5, node6, node7, policy, group, type, parameters)
#define HIP_ALIAS(symbol, name, node) {#symbol, ENTRY_##name},
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
};

unsigned entry_count(void) { return ENTRY_COUNT; }
const char *entry_name(unsigned index) { return rows[index].name; }
const char *entry_group(unsigned index) { return rows[index].group; }

const char *entry_policy_name(unsigned index) {
  static const char *const names[] = {"handled", "hint", "refused", "forwarded"};
  return names[rows[index].policy];
}

const char *entry_node(unsigned index, int major) {
  return rows[index].node[major < 6 ? 0 : major == 6 ? 1 : 2];
}

int entry_find(const char *symbol) {
  for (unsigned i = 0; i < ENTRY_COUNT; i++)
    if (strcmp(rows[i].name, symbol) == 0) return (int)i;
  for (unsigned i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i].symbol, symbol) == 0) return (int)aliases[i].index;
  return -1;
}
