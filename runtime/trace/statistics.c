#include "trace/statistics.h"

#include <inttypes.h>

#include "trace/escape.h"

void statistics_write(FILE *file, const struct statistic *values, size_t count) {
  fputc('{', file);
  for (size_t i = 0; i < count; i++) {
    fputs(i == 0 ? "\n  " : ",\n  ", file);
    json_string_write(file, values[i].name);
    fprintf(file, ": %" PRIu64, values[i].value);
  }
  fputs(count == 0 ? "}\n" : "\n}\n", file);
}
