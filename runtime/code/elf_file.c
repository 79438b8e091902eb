#include "code/elf_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* More than any linker writes; keeps products of header fields far from overflow. */
enum { ENTRIES_MAX = 0xff00 };

static hrx_status image_error(uint64_t offset, const char *what, uint64_t value, uint64_t limit) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset %#llx: %s is %#llx, the limit is %#llx",
                         (unsigned long long)offset, what, (unsigned long long)value, (unsigned long long)limit);
}

static bool in_range(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

static hrx_status header_check(const uint8_t *bytes, size_t size, Elf64_Ehdr *out_header) {
  if (size < sizeof *out_header) return image_error(0, "the size", size, sizeof *out_header);
  memcpy(out_header, bytes, sizeof *out_header);
  const Elf64_Ehdr *header = out_header;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "offset 0: not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset 0x4: class %u is not 64-bit",
                           header->e_ident[EI_CLASS]);
  if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_ident[EI_VERSION] != EV_CURRENT ||
      header->e_version != EV_CURRENT)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset 0x5: not little-endian version 1");
  if (header->e_phnum >= ENTRIES_MAX) return image_error(0x38, "the number of segments", header->e_phnum, ENTRIES_MAX);
  if (header->e_shnum >= ENTRIES_MAX) return image_error(0x3c, "the number of sections", header->e_shnum, ENTRIES_MAX);
  if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr))
    return image_error(0x36, "the size of a program header", header->e_phentsize, sizeof(Elf64_Phdr));
  if (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr))
    return image_error(0x3a, "the size of a section header", header->e_shentsize, sizeof(Elf64_Shdr));
  /* e_shnum 0 with a table means "the count is in section 0", which libelf would go and read */
  if (header->e_shnum == 0 && header->e_shoff != 0)
    return image_error(0x28, "the offset of no section headers", header->e_shoff, 0);
  if (header->e_phnum == 0 && header->e_phoff != 0)
    return image_error(0x20, "the offset of no program headers", header->e_phoff, 0);
  if (header->e_shnum > 0 && header->e_shstrndx >= header->e_shnum)
    return image_error(0x3e, "the index of the section names", header->e_shstrndx, header->e_shnum);
  if (!in_range(header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr), size))
    return image_error(0x20, "the offset of the program headers", header->e_phoff, size);
  if (!in_range(header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr), size))
    return image_error(0x28, "the offset of the section headers", header->e_shoff, size);
  if (header->e_phoff % 8 != 0 || header->e_shoff % 8 != 0)
    return image_error(0x20, "an unaligned header table", header->e_phoff % 8 != 0 ? header->e_phoff : header->e_shoff,
                       8);
  return HRX_OK;
}

/* Checks every segment and section and finds where the last one ends. */
static hrx_status tables_check(const uint8_t *bytes, size_t size, const Elf64_Ehdr *header, uint64_t *out_end) {
  uint64_t end = sizeof *header;
  uint64_t tables[2] = {header->e_phoff + (uint64_t)header->e_phnum * sizeof(Elf64_Phdr),
                        header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)};
  for (int i = 0; i < 2; i++)
    if (tables[i] > end) end = tables[i];
  for (unsigned i = 0; i < header->e_phnum; i++) {
    Elf64_Phdr segment;
    uint64_t at = header->e_phoff + i * sizeof segment;
    memcpy(&segment, bytes + at, sizeof segment);
    if (!in_range(segment.p_offset, segment.p_filesz, size))
      return image_error(at, "the end of a segment", segment.p_offset + segment.p_filesz, size);
    if (segment.p_type == PT_LOAD &&
        (segment.p_memsz < segment.p_filesz || segment.p_vaddr > UINT64_MAX - segment.p_memsz))
      return image_error(at, "the memory size of a segment", segment.p_memsz, segment.p_filesz);
    if (segment.p_offset + segment.p_filesz > end) end = segment.p_offset + segment.p_filesz;
  }
  for (unsigned i = 0; i < header->e_shnum; i++) {
    Elf64_Shdr section;
    uint64_t at = header->e_shoff + i * sizeof section;
    memcpy(&section, bytes + at, sizeof section);
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (!in_range(section.sh_offset, section.sh_size, size))
      return image_error(at, "the end of a section", section.sh_offset + section.sh_size, size);
    if (section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
  }
  *out_end = end;
  return HRX_OK;
}

hrx_status elf_file_extent(const void *bytes, size_t limit, size_t *out_size) {
  Elf64_Ehdr header;
  uint64_t end = 0;
  hrx_status status = header_check(bytes, limit, &header);
  if (status == HRX_OK) status = tables_check(bytes, limit, &header, &end);
  if (status == HRX_OK) *out_size = end;
  return status;
}

hrx_status elf_file_open(const void *bytes, size_t size, struct elf_file *out_file) {
  struct elf_file file = {.bytes = bytes, .size = size};
  uint64_t end = 0;
  hrx_status status = header_check(bytes, size, &file.header);
  if (status == HRX_OK) status = tables_check(bytes, size, &file.header, &end);
  if (status != HRX_OK) return status;

  elf_version(EV_CURRENT);
  file.elf = elf_memory((char *)(uintptr_t)bytes, size); /* read only: nothing here writes through it */
  if (file.elf == NULL) /* nothing else is left that it could object to */
    return hrx_fail(HRX_OUT_OF_MEMORY, "ELF of %zu bytes: libelf: %s", size, elf_errmsg(-1));
  *out_file = file;
  return HRX_OK;
}

void elf_file_finish(struct elf_file *file) {
  if (file->elf != NULL) elf_end(file->elf);
  file->elf = NULL;
}

/* Straight from the bytes, which are checked: libelf allocates here and there, and cannot always say that it failed. */
Elf64_Phdr elf_file_segment(const struct elf_file *file, unsigned index) {
  Elf64_Phdr segment = {0};
  if (index < file->header.e_phnum) memcpy(&segment, file->bytes + file->header.e_phoff + index * sizeof segment, sizeof segment);
  return segment;
}

const char *elf_file_string(const struct elf_file *file, unsigned index, uint64_t offset) {
  if (index >= file->header.e_shnum) return NULL;
  Elf64_Shdr table;
  memcpy(&table, file->bytes + file->header.e_shoff + index * sizeof table, sizeof table);
  if (table.sh_type != SHT_STRTAB || offset >= table.sh_size) return NULL;
  const char *text = (const char *)file->bytes + table.sh_offset + offset;
  return memchr(text, '\0', table.sh_size - offset) != NULL ? text : NULL;
}

struct elf_section elf_file_section(const struct elf_file *file, unsigned index) {
  struct elf_section section = {.name = ""};
  if (index >= file->header.e_shnum) return section;
  memcpy(&section.header, file->bytes + file->header.e_shoff + index * sizeof section.header, sizeof section.header);
  const char *name = elf_file_string(file, file->header.e_shstrndx, section.header.sh_name);
  if (name != NULL) section.name = name;
  return section;
}

bool elf_file_entry(const struct elf_file *file, const struct elf_section *section, size_t index, size_t bytes, void *out_entry) {
  const Elf64_Shdr *header = &section->header;
  if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL || header->sh_entsize != bytes || index >= header->sh_size / bytes) return false;
  memcpy(out_entry, file->bytes + header->sh_offset + index * bytes, bytes);
  return true;
}

bool elf_file_find_section(const struct elf_file *file, const char *name, struct elf_section *out_section) {
  for (unsigned i = 1; i < file->header.e_shnum; i++) {
    *out_section = elf_file_section(file, i);
    if (strcmp(out_section->name, name) == 0) return true;
  }
  return false;
}

hrx_status elf_file_symbols(const struct elf_file *file, unsigned index, struct elf_symbol **out_symbols,
                            size_t *out_count) {
  struct elf_section section = elf_file_section(file, index);
  uint64_t at = section.header.sh_offset;
  if (section.header.sh_entsize != sizeof(Elf64_Sym) || section.header.sh_size / sizeof(Elf64_Sym) > INT_MAX)
    return image_error(at, "the size of a symbol", section.header.sh_entsize, sizeof(Elf64_Sym));
  size_t count = section.header.sh_size / sizeof(Elf64_Sym);
  struct elf_symbol *symbols = calloc(count + 1, sizeof *symbols);
  if (symbols == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu ELF symbols", count);
  for (size_t i = 0; i < count; i++) {
    Elf64_Sym symbol;
    const char *name = NULL;
    if (elf_file_entry(file, &section, i, sizeof symbol, &symbol))
      name = elf_file_string(file, section.header.sh_link, symbol.st_name);
    if (name == NULL) {
      free(symbols);
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                             "ELF at offset %#llx: symbol %zu has no name in its string table",
                             (unsigned long long)(at + i * sizeof(Elf64_Sym)), i);
    }
    symbols[i] = (struct elf_symbol){.name = name,
                                     .address = symbol.st_value,
                                     .bytes = symbol.st_size,
                                     .type = ELF64_ST_TYPE(symbol.st_info),
                                     .binding = ELF64_ST_BIND(symbol.st_info),
                                     .section = symbol.st_shndx};
  }
  *out_symbols = symbols;
  *out_count = count;
  return HRX_OK;
}
