#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_object.h"
#include "code/elf_file.h"

/* LLVM AMDGPU usage, "Relocation Records": those that may be left in a linked code object. */
enum {
  RELOCATION_NONE = 0,
  RELOCATION_ABS32_LO = 1,
  RELOCATION_ABS32_HI = 2,
  RELOCATION_ABS64 = 3,
  RELOCATION_ABS32 = 6,
  RELOCATION_RELATIVE64 = 13
};

struct loading {
  const struct elf_file *file;
  uint8_t *image;
  uint64_t image_bytes, load_address;
  struct elf_symbol *symbols; /* of the relocation section in hand */
  size_t symbol_count;
};

static hrx_status bad(uint64_t offset, const char *why, uint64_t value) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "relocation at offset %#llx: %s (%#llx)",
                         (unsigned long long)offset, why, (unsigned long long)value);
}

static hrx_status symbol_address(const struct loading *loading, uint64_t offset, uint64_t index,
                                 uint64_t *out_address) {
  if (index >= loading->symbol_count) return bad(offset, "its symbol is not in the table", index);
  const struct elf_symbol *symbol = &loading->symbols[index];
  if (symbol->section == SHN_UNDEF && index != 0) {
    if (symbol->binding != STB_WEAK)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "relocation at offset %#llx: symbol %.200s is not defined",
                             (unsigned long long)offset, symbol->name);
    *out_address = 0;
    return HRX_OK;
  }
  bool absolute = symbol->section == SHN_ABS || index == 0;
  *out_address = absolute ? symbol->address : loading->load_address + symbol->address;
  return HRX_OK;
}

static hrx_status relocate(const struct loading *loading, uint64_t offset, const Elf64_Rela *relocation) {
  uint64_t type = ELF64_R_TYPE(relocation->r_info), value = 0;
  size_t width = 8;
  hrx_status status = HRX_OK;
  switch (type) {
  case RELOCATION_NONE: return HRX_OK;
  case RELOCATION_RELATIVE64: value = loading->load_address; break;
  case RELOCATION_ABS64: status = symbol_address(loading, offset, ELF64_R_SYM(relocation->r_info), &value); break;
  case RELOCATION_ABS32_LO:
  case RELOCATION_ABS32_HI:
  case RELOCATION_ABS32:
    status = symbol_address(loading, offset, ELF64_R_SYM(relocation->r_info), &value);
    width = 4;
    break;
  default: return bad(offset, "its type is not allowed in a code object", type);
  }
  if (status != HRX_OK) return status;
  if (relocation->r_offset > loading->image_bytes || width > loading->image_bytes - relocation->r_offset)
    return bad(offset, "its place is outside the image", relocation->r_offset);
  value += (uint64_t)relocation->r_addend;
  if (type == RELOCATION_ABS32_HI) value >>= 32;
  memcpy(loading->image + relocation->r_offset, &value, width); /* little-endian, as hrx's hosts are */
  return HRX_OK;
}

static hrx_status section_relocate(struct loading *loading, const struct elf_section *section) {
  const struct elf_file *file = loading->file;
  uint64_t at = section->header.sh_offset;
  if (section->header.sh_entsize != sizeof(Elf64_Rela) || section->header.sh_size / sizeof(Elf64_Rela) > INT_MAX)
    return bad(at, "the size of an entry is wrong", section->header.sh_entsize);
  if (section->header.sh_link >= file->header.e_shnum)
    return bad(at, "its symbol table does not exist", section->header.sh_link);
  hrx_status status = HRX_OK;
  uint32_t linked =
      section->header.sh_link != 0 ? elf_file_section(file, section->header.sh_link).header.sh_type : SHT_NULL;
  if (linked == SHT_DYNSYM || linked == SHT_SYMTAB)
    status = elf_file_symbols(file, section->header.sh_link, &loading->symbols, &loading->symbol_count);
  size_t count = section->header.sh_size / sizeof(Elf64_Rela);
  for (size_t i = 0; status == HRX_OK && i < count; i++) {
    Elf64_Rela relocation;
    uint64_t offset = at + i * sizeof(Elf64_Rela);
    if (!elf_file_entry(file, section, i, sizeof relocation, &relocation))
      status = bad(offset, "cannot be read", i);
    else
      status = relocate(loading, offset, &relocation);
  }
  free(loading->symbols);
  loading->symbols = NULL;
  loading->symbol_count = 0;
  return status;
}

static hrx_status segments_copy(const struct code_object *object, const struct elf_file *file, uint8_t *image) {
  for (uint32_t i = 0; i < object->segment_count; i++) {
    const struct code_segment *segment = &object->segments[i];
    if (segment->file_offset > file->size || segment->file_bytes > file->size - segment->file_offset)
      return hrx_fail_reason(
          HRX_INVALID, HRX_REASON_IMAGE, "segment %u: %llu bytes at offset %#llx, but the file has %zu", i,
          (unsigned long long)segment->file_bytes, (unsigned long long)segment->file_offset, file->size);
    memcpy(image + segment->address, file->bytes + segment->file_offset, segment->file_bytes);
  }
  return HRX_OK;
}

hrx_status code_object_load(const struct code_object *object, const void *bytes, size_t size, uint64_t load_address,
                            void *image) {
  struct elf_file file = {.elf = NULL};
  struct loading loading = {
      .file = &file, .image = image, .image_bytes = object->image_bytes, .load_address = load_address};
  if (object->image_bytes > 0) memset(image, 0, object->image_bytes);
  hrx_status status = elf_file_open(bytes, size, &file);
  if (status == HRX_OK) status = segments_copy(object, &file, image);
  for (unsigned i = 1; status == HRX_OK && i < file.header.e_shnum; i++) {
    struct elf_section section = elf_file_section(&file, i);
    if ((section.header.sh_flags & SHF_ALLOC) == 0) continue;
    if (section.header.sh_type == SHT_RELA)
      status = section_relocate(&loading, &section);
    else if (section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELR)
      status = bad(section.header.sh_offset, "relocations without addends are not allowed in a code object",
                   section.header.sh_type);
  }
  elf_file_finish(&file);
  return status;
}
