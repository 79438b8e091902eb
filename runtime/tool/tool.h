/* The `hrx` command: one function a subcommand. Arguments are those behind its name; the result is the exit status. */
#ifndef HRX_TOOL_TOOL_H
#define HRX_TOOL_TOOL_H

int tool_run(int count, char **arguments);
int tool_doctor(int count, char **arguments);
int tool_inspect(int count, char **arguments);

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CANNOT_START = 126, EXIT_NOT_FOUND = 127 };

#endif
