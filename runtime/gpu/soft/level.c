#include "gpu/soft/level.h"

#include <pthread.h>
#include <string.h>

#include "base/config.h"

enum { LEVELS = 3 };

#define ROW(name) &name##_table,
#define ROW_BASELINE(name) &name##_table_baseline,
#define ROW_V3(name) &name##_table_v3,
#define ROW_V4(name) &name##_table_v4,
static const struct binding_table *const scalar_tables[] = {SOFT_FAMILIES_SCALAR(ROW)};
static const struct binding_table *const baseline_tables[] = {SOFT_FAMILIES_VECTOR(ROW_BASELINE)};
static const struct binding_table *const v3_tables[] = {SOFT_FAMILIES_VECTOR(ROW_V3)};
static const struct binding_table *const v4_tables[] = {SOFT_FAMILIES_VECTOR(ROW_V4)};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* best first */
static const struct binding *bindings[LEVELS][OPCODE_COUNT];
static const struct soft_level levels[LEVELS] = {
    {"v4", bindings[0]}, {"v3", bindings[1]}, {"baseline", bindings[2]}};
static pthread_once_t gathered = PTHREAD_ONCE_INIT;

static void tables_gather(const struct binding **out_rows, const struct binding_table *const *from, size_t count) {
  for (size_t t = 0; t < count; t++)
    for (unsigned r = 0; r < from[t]->count; r++) out_rows[from[t]->rows[r].opcode] = &from[t]->rows[r];
}

static void gather(void) {
  for (unsigned l = 0; l < LEVELS; l++) tables_gather(bindings[l], scalar_tables, COUNT(scalar_tables));
  tables_gather(bindings[0], v4_tables, COUNT(v4_tables));
  tables_gather(bindings[1], v3_tables, COUNT(v3_tables));
  tables_gather(bindings[2], baseline_tables, COUNT(baseline_tables));
}

static bool level_runs(unsigned level) {
  switch (level) {
  case 0: return __builtin_cpu_supports("x86-64-v4") != 0;
  case 1: return __builtin_cpu_supports("x86-64-v3") != 0;
  default: return true;
  }
}

hrx_status soft_level_find(const char *name, const struct soft_level **out_level) {
  __builtin_cpu_init(); /* may run before the constructors that would do it */
  if (name == NULL) name = config_get()->soft_level;
  unsigned level = 0;
  while (level < LEVELS && (name != NULL ? strcmp(levels[level].name, name) != 0 : !level_runs(level))) level++;
  if (level == LEVELS)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "vector level %s is unknown: expected v4, v3 or baseline", name);
  if (!level_runs(level))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "vector level %s needs instructions that this CPU lacks", name);
  pthread_once(&gathered, gather);
  *out_level = &levels[level];
  return HRX_OK;
}
