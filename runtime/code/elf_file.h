/* ELF64 files in memory, read after every range in them has been checked.
 *
 * elf_file_open first proves that all headers, sections and segments lie inside the bytes, and the functions here hand out
 * nothing that does not. What has no variable layout is read from the bytes; libelf, which trusts headers in places and
 * allocates where it cannot say so, is for notes. Errors are INVALID/IMAGE with the offset; OUT_OF_MEMORY. Used for code
 * objects and, by `hrx inspect`, for host programs. Any thread, one file each. */
#ifndef HRX_CODE_ELF_FILE_H
#define HRX_CODE_ELF_FILE_H

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct elf_file {
  const uint8_t *bytes; /* the caller's; they must outlive this */
  size_t size;
  Elf64_Ehdr header;
  Elf *elf;
};

struct elf_section {
  const char *name; /* inside the bytes; "" if it has none */
  Elf64_Shdr header;
};

struct elf_symbol {
  const char *name; /* inside the bytes, terminated */
  uint64_t address, bytes;
  uint8_t type, binding;
  uint16_t section;
};

/* Checks the file and opens it. */
hrx_status elf_file_open(const void *bytes, size_t size, struct elf_file *out_file);
void elf_file_finish(struct elf_file *file);

/* Total size of the ELF file that begins at `bytes`, from its headers, never more than `limit`. For bytes whose size is
 * not known. Errors: INVALID/IMAGE also if it would end behind the limit. */
hrx_status elf_file_extent(const void *bytes, size_t limit, size_t *out_size);

/* The segment or section of an index below header.e_phnum / e_shnum. O(1). */
Elf64_Phdr elf_file_segment(const struct elf_file *file, unsigned index);
struct elf_section elf_file_section(const struct elf_file *file, unsigned index);

/* Entry `index`, of `bytes`, of a table in a section. False if it has no such. O(1). */
bool elf_file_entry(const struct elf_file *file, const struct elf_section *section, size_t index, size_t bytes, void *out_entry);

/* The first section with this name. False if there is none. */
bool elf_file_find_section(const struct elf_file *file, const char *name, struct elf_section *out_section);

/* All symbols of the symbol table in section `index` (SHT_SYMTAB or SHT_DYNSYM), in file order, from 0. `*out_symbols`
 * is freed by the caller. */
hrx_status elf_file_symbols(const struct elf_file *file, unsigned index, struct elf_symbol **out_symbols,
                            size_t *out_count);

/* The terminated string at `offset` of string table section `index`, or NULL. */
const char *elf_file_string(const struct elf_file *file, unsigned index, uint64_t offset);

#endif
