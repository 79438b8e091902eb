#include "code/code_object.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/descriptor.h"
#include "code/elf_file.h"
#include "code/metadata.h"
#include "code/target.h"

/* Larger images are refused as corrupt: 47 bits is all that a process can address. */
#define IMAGE_MAX (UINT64_C(1) << 40)

enum { NOTE_METADATA = 32, VERSION_OFFSET = 2, VERSION_MIN = 3, VERSION_MAX = 6, ABI_HSA = 64 };

static hrx_status target_read(const struct elf_file *file, struct code_object *object) {
  const Elf64_Ehdr *header = &file->header;
  if (header->e_machine != EM_AMDGPU)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset 0x12: machine %u is not AMDGPU (%u)",
                           header->e_machine, EM_AMDGPU);
  if (header->e_type != ET_DYN)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "ELF at offset 0x10: type %u is not a linked code object (%u)", header->e_type, ET_DYN);
  object->version = header->e_ident[EI_ABIVERSION] + (unsigned)VERSION_OFFSET;
  if (header->e_ident[EI_OSABI] != ABI_HSA || object->version < VERSION_MIN || object->version > VERSION_MAX)
    return hrx_fail_reason(
        HRX_INVALID, HRX_REASON_IMAGE,
        "ELF at offset 0x7: code object version %u (OS ABI %u) is not supported; versions 3 to 6 are", object->version,
        header->e_ident[EI_OSABI]);
  const char *processor = target_processor(header->e_flags);
  if (processor == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset 0x30: processor number %#x is not known",
                           header->e_flags & 0xff);
  snprintf(object->target, sizeof object->target, "%s", processor);
  target_features(header->e_flags, object->version, object->features, sizeof object->features);
  return HRX_OK;
}

static hrx_status segments_read(const struct elf_file *file, struct code_object *object) {
  unsigned count = file->header.e_phnum;
  object->segments = calloc((size_t)count + 1, sizeof *object->segments);
  if (object->segments == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u segments", count);
  for (unsigned i = 0; i < count; i++) {
    Elf64_Phdr header = elf_file_segment(file, i);
    if (header.p_type != PT_LOAD) continue;
    uint64_t end = header.p_vaddr + header.p_memsz; /* elf_file_open has checked that it does not wrap */
    if (end > IMAGE_MAX)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                             "ELF at offset %#llx: segment %u ends at address %#llx, the limit is %#llx",
                             (unsigned long long)(file->header.e_phoff + i * sizeof header), i, (unsigned long long)end,
                             (unsigned long long)IMAGE_MAX);
    object->segments[object->segment_count++] = (struct code_segment){.address = header.p_vaddr,
                                                                      .memory_bytes = header.p_memsz,
                                                                      .file_offset = header.p_offset,
                                                                      .file_bytes = header.p_filesz,
                                                                      .executable = (header.p_flags & PF_X) != 0,
                                                                      .writable = (header.p_flags & PF_W) != 0};
    if (end > object->image_bytes) object->image_bytes = end;
  }
  return HRX_OK;
}

/* The segment that holds [address, address + bytes) in memory, or NULL. */
static const struct code_segment *segment_of(const struct code_object *object, uint64_t address, uint64_t bytes) {
  for (uint32_t i = 0; i < object->segment_count; i++) {
    const struct code_segment *segment = &object->segments[i];
    if (address >= segment->address && address - segment->address <= segment->memory_bytes &&
        bytes <= segment->memory_bytes - (address - segment->address))
      return segment;
  }
  return NULL;
}

/* The note's own name and type; version 2 code objects have "AMD" notes with YAML. */
static hrx_status metadata_find(const struct elf_file *file, struct metadata *out_metadata) {
  for (unsigned i = 0; i < file->header.e_phnum; i++) {
    Elf64_Phdr segment = elf_file_segment(file, i);
    if (segment.p_type != PT_NOTE || segment.p_filesz == 0) continue;
    Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, segment.p_filesz,
                                          segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data == NULL) /* the range was checked */
      return hrx_fail(HRX_OUT_OF_MEMORY, "ELF at offset %#llx: notes cannot be read: %s", (unsigned long long)segment.p_offset,
                      elf_errmsg(-1));
    GElf_Nhdr note;
    size_t at = 0, next, name, description;
    while ((next = gelf_getnote(data, at, &note, &name, &description)) > 0) {
      const char *text = (const char *)data->d_buf + name;
      if (note.n_type == NOTE_METADATA && note.n_namesz == 7 && memcmp(text, "AMDGPU", 7) == 0)
        return metadata_read((const char *)data->d_buf + description, note.n_descsz, segment.p_offset + description,
                             out_metadata);
      if (note.n_namesz == 4 && memcmp(text, "AMD", 4) == 0)
        return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                               "ELF note at offset %#llx: code object version 2 is not supported; versions 3 to 6 are",
                               (unsigned long long)(segment.p_offset + at));
      at = next;
    }
  }
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                         "ELF at offset %#llx: no note with AMDGPU metadata in %u segments",
                         (unsigned long long)file->header.e_phoff, file->header.e_phnum);
}

/* The metadata's target must be the header's. */
static hrx_status target_check(const struct elf_file *file, const struct code_object *object,
                               const struct metadata *metadata) {
  static const char triple[] = "amdgcn-amd-amdhsa-";
  if (metadata->target[0] == '\0') return HRX_OK;
  const char *name = metadata->target;
  if (strncmp(name, triple, sizeof triple - 1) == 0) name += sizeof triple - 1;
  name += strspn(name, "-");
  char whole[sizeof object->target + sizeof object->features];
  snprintf(whole, sizeof whole, "%s%s", object->target, object->features);
  if (strcmp(name, whole) == 0) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset 0x30: flags %#x say %s, the metadata says %s",
                         file->header.e_flags, whole, metadata->target);
}

static int symbol_order(const void *left, const void *right) {
  const struct elf_symbol *a = left, *b = right;
  return strcmp(a->name, b->name);
}

static const struct elf_symbol *symbol_find(const struct elf_symbol *symbols, size_t count, const char *name) {
  struct elf_symbol key = {.name = name};
  return bsearch(&key, symbols, count, sizeof *symbols, symbol_order);
}

/* Symbols sorted by name: of .dynsym, or of .symtab where there is no other. */
static hrx_status symbols_read(const struct elf_file *file, struct elf_symbol **out_symbols, size_t *out_count) {
  unsigned table = 0;
  for (unsigned i = 1; i < file->header.e_shnum; i++) {
    uint32_t type = elf_file_section(file, i).header.sh_type;
    if (type == SHT_DYNSYM || (type == SHT_SYMTAB && table == 0)) table = i;
    if (type == SHT_DYNSYM) break;
  }
  if (table == 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "ELF at offset %#llx: no symbol table in %u sections",
                           (unsigned long long)file->header.e_shoff, file->header.e_shnum);
  hrx_status status = elf_file_symbols(file, table, out_symbols, out_count);
  if (status == HRX_OK) qsort(*out_symbols, *out_count, sizeof **out_symbols, symbol_order);
  return status;
}

static bool is_descriptor(const struct elf_symbol *symbol) {
  size_t length = strlen(symbol->name);
  return length > 3 && strcmp(symbol->name + length - 3, ".kd") == 0;
}

static hrx_status variables_read(const struct elf_symbol *symbols, size_t count, struct code_object *object) {
  object->variables = calloc(count + 1, sizeof *object->variables);
  if (object->variables == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu variables", count);
  for (size_t i = 0; i < count; i++) {
    const struct elf_symbol *symbol = &symbols[i];
    if (symbol->type != STT_OBJECT || symbol->section == SHN_UNDEF || symbol->section >= SHN_LORESERVE ||
        is_descriptor(symbol))
      continue;
    if (segment_of(object, symbol->address, symbol->bytes) == NULL)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                             "variable %.200s: %llu bytes at address %#llx lie in no segment", symbol->name,
                             (unsigned long long)symbol->bytes, (unsigned long long)symbol->address);
    char *name = strdup(symbol->name);
    if (name == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a variable's name");
    object->variables[object->variable_count++] =
        (struct code_variable){.name = name, .address = symbol->address, .bytes = symbol->bytes};
  }
  return HRX_OK;
}

static hrx_status kernel_locate(const struct elf_file *file, const struct elf_symbol *symbols, size_t count,
                                const struct code_object *object, struct kernel_code *kernel) {
  const struct elf_symbol *symbol = symbol_find(symbols, count, kernel->symbol);
  if (symbol == NULL || symbol->section == SHN_UNDEF)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "kernel %.200s: symbol %.200s is not in the symbol table",
                           kernel->name, kernel->symbol);
  const struct code_segment *segment = segment_of(object, symbol->address, DESCRIPTOR_BYTES);
  if (segment == NULL || segment->file_bytes < DESCRIPTOR_BYTES ||
      symbol->address - segment->address > segment->file_bytes - DESCRIPTOR_BYTES)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "kernel %.200s: its descriptor at address %#llx lies in no segment", kernel->name,
                           (unsigned long long)symbol->address);
  uint64_t offset = segment->file_offset + (symbol->address - segment->address);
  kernel->descriptor_address = symbol->address;
  kernel->descriptor = descriptor_read(file->bytes + offset);
  if (((kernel->descriptor.properties & DESCRIPTOR_WAVE32) != 0) != (kernel->wave_lanes == 32))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "kernel %.200s: its descriptor at offset %#llx contradicts .wavefront_size %u", kernel->name,
                           (unsigned long long)offset, kernel->wave_lanes);

  uint64_t entry = symbol->address + (uint64_t)kernel->descriptor.entry_offset;
  const struct code_segment *code = segment_of(object, entry, 4);
  if (code == NULL || !code->executable || entry % 4 != 0 || entry - code->address >= code->file_bytes)
    return hrx_fail_reason(
        HRX_INVALID, HRX_REASON_IMAGE,
        "kernel %.200s: its descriptor at offset %#llx puts the code at address %#llx, in no code segment",
        kernel->name, (unsigned long long)offset, (unsigned long long)entry);
  kernel->entry_address = entry;
  kernel->code_bytes = code->file_bytes - (entry - code->address);
  const struct elf_symbol *function = symbol_find(symbols, count, kernel->name);
  if (function != NULL && function->address == entry && function->bytes > 0 && function->bytes < kernel->code_bytes)
    kernel->code_bytes = function->bytes;
  return HRX_OK;
}

hrx_status code_object_open(const void *bytes, size_t size, struct code_object **out_object) {
  struct elf_file file = {.elf = NULL};
  struct metadata metadata = {.kernels = NULL};
  struct elf_symbol *symbols = NULL;
  size_t symbol_count = 0;
  struct code_object *object = calloc(1, sizeof *object);
  hrx_status status = object != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a code object");
  if (status == HRX_OK) status = elf_file_open(bytes, size, &file);
  if (status == HRX_OK) status = target_read(&file, object);
  if (status == HRX_OK) status = segments_read(&file, object);
  if (status == HRX_OK) status = metadata_find(&file, &metadata);
  if (status == HRX_OK) {
    object->kernels = metadata.kernels;
    object->kernel_count = metadata.kernel_count;
    status = target_check(&file, object, &metadata);
  }
  if (status == HRX_OK) status = symbols_read(&file, &symbols, &symbol_count);
  if (status == HRX_OK) status = variables_read(symbols, symbol_count, object);
  for (uint32_t i = 0; status == HRX_OK && i < object->kernel_count; i++)
    status = kernel_locate(&file, symbols, symbol_count, object, &object->kernels[i]);
  free(symbols);
  elf_file_finish(&file);

  if (status != HRX_OK) {
    code_object_release(object);
    return status;
  }
  *out_object = object;
  return HRX_OK;
}

void code_object_release(struct code_object *object) {
  if (object == NULL) return;
  metadata_release_kernels(object->kernels, object->kernel_count);
  for (uint32_t i = 0; i < object->variable_count; i++) free(object->variables[i].name);
  free(object->variables);
  free(object->segments);
  free(object);
}

const struct kernel_code *code_object_kernel(const struct code_object *object, const char *name) {
  for (uint32_t i = 0; i < object->kernel_count; i++)
    if (strcmp(object->kernels[i].name, name) == 0) return &object->kernels[i];
  return NULL;
}
