/* What `hrx inspect` finds out about one file, as data; reports print it. */
#ifndef HRX_TOOL_INSPECTION_H
#define HRX_TOOL_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "code/code_object.h"
#include "code/elf_file.h"
#include "code/fat_binary.h"
#include "tool/file_map.h"
#include "tool/policy.h"

enum file_kind { FILE_PROGRAM, FILE_LIBRARY, FILE_FAT_BINARY, FILE_CODE_OBJECT, FILE_KIND_COUNT };

/* An instruction that the software GPU does not implement and that a kernel can reach. */
struct missing_instruction {
  char mnemonic[48];
  uint32_t encoding[2]; /* of its first use */
  uint8_t size;
  unsigned uses;
};

struct inspected_kernel {
  char *refusal; /* why it cannot be launched, apart from instructions; or NULL */
  struct missing_instruction *missing;
  unsigned missing_count;
};

/* One device entry of a fat binary. */
struct inspected_code {
  const char *target;
  size_t size;
  struct code_object *object; /* NULL if it is broken: `error` */
  char error[512];
  bool chosen;                      /* for the architecture asked for: its instructions were looked at */
  bool checked;                     /* and that worked; else `error` */
  struct inspected_kernel *kernels; /* object->kernel_count of them; NULL if not chosen or broken */
};

/* A library that the file needs, by itself or through others. */
struct inspected_library {
  char *name, *path; /* path "" if not found */
  bool stand_in;     /* one that hrx takes the place of: not looked for */
  struct file_map map;
  struct elf_file file; /* open while the inspection lives, if it could be */
  struct elf_symbol *symbols;
  size_t symbol_count;
};

struct inspected_import {
  const char *name; /* inside a map */
  const char *importer;
  enum policy policy; /* POLICY_UNKNOWN: in no row */
  const char *group;
};

struct inspection {
  const char *path, *arch;
  enum file_kind kind;
  struct file_map map;
  struct fat_binary *binaries; /* the sections' or wrappers' */
  unsigned binary_count;
  struct inspected_code *codes;
  unsigned code_count;
  struct inspected_library *libraries; /* [0] is the file itself, for programs and libraries */
  unsigned library_count;
  struct inspected_import *imports; /* sorted by name, each once */
  unsigned import_count;
};

/* Looks at everything. `path` and `arch` must outlive it. Errors: IO; INVALID/IMAGE; OUT_OF_MEMORY. */
hrx_status inspection_open(const char *path, const char *arch, struct inspection *out_inspection);
void inspection_finish(struct inspection *inspection);

/* The steps of it: device code in inspection->binaries to codes; the libraries and imports of a host ELF. */
hrx_status inspect_codes(struct inspection *inspection);
hrx_status inspect_imports(struct inspection *inspection);

/* Everything that hrx lacks for the file: broken or missing code, instructions, functions, libraries. `report` (NULL:
 * nothing) is called with a sentence for each. */
unsigned inspection_lacks(const struct inspection *inspection, void (*report)(const char *sentence, void *context),
                          void *context);

/* Name of a kind for people: "program". */
const char *inspection_kind_name(enum file_kind kind);

void report_text(const struct inspection *inspection, FILE *out);

/* Writes one JSON object and a newline. False if memory ran out or writing failed. */
bool report_json(const struct inspection *inspection, FILE *out);

/* Name of an argument kind as the metadata has it. */
const char *report_argument_kind(enum argument_kind kind);

#endif
