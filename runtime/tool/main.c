#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

static const char usage[] =
    "usage: hrx run [--gpu auto|hip|soft] [--arch NAME] [--stats] [--trace FILE] [--] PROGRAM ARGUMENTS...\n"
    "       hrx doctor [--coverage]\n"
    "       hrx inspect [--json] [--require] FILE\n"
    "\n"
    "run      runs an unmodified HIP program, on a GPU if there is one, else on the software GPU\n"
    "         --trace FILE: a trace of what ran, for ui.perfetto.dev\n"
    "doctor   says what is found on this machine and what would be used; exits 0 if programs can run\n"
    "inspect  says what a program, library or code object needs; --require exits 1 if hrx lacks any of it\n";

static const struct {
  const char *name;
  int (*function)(int, char **);
} commands[] = {{"run", tool_run}, {"doctor", tool_doctor}, {"inspect", tool_inspect}};

int main(int count, char **arguments) {
  if (count < 2) {
    fputs(usage, stderr);
    return EXIT_USAGE;
  }
  if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0 || strcmp(arguments[1], "help") == 0) {
    fputs(usage, stdout);
    return 0;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(arguments[1], commands[i].name) == 0) return commands[i].function(count - 2, arguments + 2);
  fprintf(stderr, "hrx: no command is called %s\n%s", arguments[1], usage);
  return EXIT_USAGE;
}
