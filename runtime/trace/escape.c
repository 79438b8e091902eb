#include "trace/escape.h"

/* Bytes of the UTF-8 character at `at`, or 0 if there is none: RFC 3629, table in section 4. */
static unsigned character_bytes(const unsigned char *at) {
  unsigned char lowest = 0x80, highest = 0xbf;
  unsigned more = 0;
  if (at[0] < 0x80) return 1;
  if (at[0] >= 0xc2 && at[0] <= 0xdf) more = 1;
  if (at[0] >= 0xe0 && at[0] <= 0xef) more = 2;
  if (at[0] >= 0xf0 && at[0] <= 0xf4) more = 3;
  if (at[0] == 0xe0) lowest = 0xa0;  /* below: overlong */
  if (at[0] == 0xed) highest = 0x9f; /* above: surrogates */
  if (at[0] == 0xf0) lowest = 0x90;
  if (at[0] == 0xf4) highest = 0x8f; /* above: beyond U+10FFFF */
  if (more == 0 || at[1] < lowest || at[1] > highest) return 0;
  for (unsigned i = 2; i <= more; i++)
    if (at[i] < 0x80 || at[i] > 0xbf) return 0;
  return more + 1;
}

/* Writes the character at `at`, which needs no escape, and returns how many bytes it took. */
static unsigned character_write(FILE *file, const unsigned char *at) {
  unsigned bytes = character_bytes(at);
  if (bytes == 0) {
    fputc(0xc0 | at[0] >> 6, file);
    fputc(0x80 | (at[0] & 0x3f), file);
    return 1;
  }
  for (unsigned i = 0; i < bytes; i++) fputc(at[i], file);
  return bytes;
}

void json_string_write(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text, *next; *at != 0; at = next) {
    next = at + 1;
    if (*at == '"' || *at == '\\')
      fprintf(file, "\\%c", *at);
    else if (*at < 0x20 || *at == 0x7f)
      fprintf(file, "\\u%04x", *at);
    else
      next = at + character_write(file, at);
  }
  fputc('"', file);
}

void dot_string_write(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text, *next; *at != 0; at = next) {
    next = at + 1;
    if (*at == '"' || *at == '\\')
      fprintf(file, "\\%c", *at);
    else if (*at == '\n')
      fputs("\\n", file);
    else if (*at == '&')
      fputs("&amp;", file);
    else if (*at < 0x20 || *at == 0x7f)
      fprintf(file, "\\\\x%02x", *at);
    else
      next = at + character_write(file, at);
  }
  fputc('"', file);
}
