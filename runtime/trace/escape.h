/* Strings of any bytes as strings of a text format. Names come from code objects: they can hold anything but a 0.
 *
 * Valid UTF-8 stays as it is; a byte that is none stands for the character of its number (Latin-1), so that the result is
 * always valid UTF-8 and different names stay different to the eye. */
#ifndef HRX_TRACE_ESCAPE_H
#define HRX_TRACE_ESCAPE_H

#include <stdio.h>

/* With its quotes, as RFC 8259 says. */
void json_string_write(FILE *file, const char *text);

/* With its quotes, as a label of Graphviz: shown as it is, whatever backslashes and entities are in it. Control characters
 * are shown as \xNN. */
void dot_string_write(FILE *file, const char *text);

#endif
