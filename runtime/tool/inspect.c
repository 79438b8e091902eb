/* hrx inspect: what a program, library, fat binary or code object needs, and what of it hrx lacks. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "tool/inspection.h"
#include "tool/tool.h"

static bool starts_with(const struct file_map *map, const char *magic, size_t length) {
  return map->size >= length && memcmp(map->bytes, magic, length) == 0;
}

static hrx_status binary_add(struct inspection *inspection, const void *bytes, size_t size, bool sized) {
  struct fat_binary *grown = realloc(inspection->binaries, (inspection->binary_count + (size_t)1) * sizeof *grown);
  if (grown == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u fat binaries", inspection->binary_count + 1);
  inspection->binaries = grown;
  struct fat_binary *binary = &grown[inspection->binary_count];
  hrx_status status = sized ? fat_binary_open(bytes, size, binary) : fat_binary_open_unsized(bytes, size, binary);
  if (status == HRX_OK) inspection->binary_count++;
  return status;
}

/* File bytes at a virtual address and how many follow in their segment. NULL if no segment has it. */
static const uint8_t *bytes_at(const struct elf_file *file, uint64_t address, size_t *out_left) {
  for (unsigned i = 0; i < file->header.e_phnum; i++) {
    Elf64_Phdr segment = elf_file_segment(file, i);
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    *out_left = segment.p_filesz - (address - segment.p_vaddr);
    return file->bytes + segment.p_offset + (address - segment.p_vaddr);
  }
  return NULL;
}

/* The value that the loader will put at `address`: the addend of a relative relocation, else what the file has. */
static uint64_t pointer_at(const struct elf_file *file, uint64_t address, const uint8_t *place) {
  uint64_t value;
  memcpy(&value, place, sizeof value);
  for (unsigned i = 1; i < file->header.e_shnum; i++) {
    struct elf_section section = elf_file_section(file, i);
    if (section.header.sh_type != SHT_RELA || section.header.sh_entsize != sizeof(Elf64_Rela)) continue;
    for (size_t j = 0; j < section.header.sh_size / sizeof(Elf64_Rela); j++) {
      Elf64_Rela relocation;
      memcpy(&relocation, file->bytes + section.header.sh_offset + j * sizeof relocation, sizeof relocation);
      if (relocation.r_offset == address && ELF64_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE)
        return (uint64_t)relocation.r_addend;
    }
  }
  return value;
}

/* The wrappers that __hipRegisterFatBinary is given: {u32 magic, u32 version, pointer, pointer}. */
static hrx_status wrappers_read(struct inspection *inspection, const struct elf_file *file,
                                const struct elf_section *section) {
  enum { WRAPPER_BYTES = 24, WRAPPER_MAGIC = 0x48495046 };
  hrx_status status = HRX_OK;
  if (section->header.sh_type == SHT_NOBITS) return HRX_OK;
  for (uint64_t at = 0; status == HRX_OK && at + WRAPPER_BYTES <= section->header.sh_size; at += WRAPPER_BYTES) {
    const uint8_t *wrapper = file->bytes + section->header.sh_offset + at;
    uint32_t magic;
    memcpy(&magic, wrapper, sizeof magic);
    if (magic != WRAPPER_MAGIC) continue;
    uint64_t address = pointer_at(file, section->header.sh_addr + at + 8, wrapper + 8);
    size_t left = 0;
    const uint8_t *bytes = bytes_at(file, address, &left);
    if (bytes == NULL)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                             "fat binary wrapper at offset %#llx: its address %#llx is in no segment",
                             (unsigned long long)(section->header.sh_offset + at), (unsigned long long)address);
    status = binary_add(inspection, bytes, left, false);
  }
  return status;
}

static hrx_status host_read(struct inspection *inspection, const struct elf_file *file) {
  struct elf_section section;
  bool interpreter = false;
  for (unsigned i = 0; i < file->header.e_phnum; i++) interpreter |= elf_file_segment(file, i).p_type == PT_INTERP;
  inspection->kind = file->header.e_type == ET_EXEC || interpreter ? FILE_PROGRAM : FILE_LIBRARY;
  hrx_status status = HRX_OK;
  if (elf_file_find_section(file, ".hip_fatbin", &section) && section.header.sh_type != SHT_NOBITS &&
      section.header.sh_size > 0)
    status = binary_add(inspection, file->bytes + section.header.sh_offset, section.header.sh_size, true);
  else if (elf_file_find_section(file, ".hipFatBinSegment", &section))
    status = wrappers_read(inspection, file, &section);
  if (status == HRX_OK) status = inspect_imports(inspection);
  return status;
}

hrx_status inspection_open(const char *path, const char *arch, struct inspection *out_inspection) {
  struct inspection inspection = {.path = path, .arch = arch};
  hrx_status status = file_map_open(path, &inspection.map);
  if (status == HRX_OK && starts_with(&inspection.map, ELFMAG, SELFMAG)) {
    struct elf_file file = {.elf = NULL};
    status = elf_file_open(inspection.map.bytes, inspection.map.size, &file);
    if (status == HRX_OK && file.header.e_machine == EM_AMDGPU) {
      inspection.kind = FILE_CODE_OBJECT;
      status = binary_add(&inspection, inspection.map.bytes, inspection.map.size, false);
    } else if (status == HRX_OK) {
      status = host_read(&inspection, &file);
    }
    elf_file_finish(&file);
  } else if (status == HRX_OK) {
    inspection.kind = FILE_FAT_BINARY;
    status = binary_add(&inspection, inspection.map.bytes, inspection.map.size, true);
  }
  if (status == HRX_OK) status = inspect_codes(&inspection);

  if (status != HRX_OK) {
    inspection_finish(&inspection);
    return status;
  }
  *out_inspection = inspection;
  return HRX_OK;
}

void inspection_finish(struct inspection *inspection) {
  for (unsigned i = 0; i < inspection->code_count; i++) {
    struct inspected_code *code = &inspection->codes[i];
    for (uint32_t j = 0; code->kernels != NULL && j < code->object->kernel_count; j++) {
      free(code->kernels[j].missing);
      free(code->kernels[j].refusal);
    }
    free(code->kernels);
    code_object_release(code->object);
  }
  free(inspection->codes);
  for (unsigned i = 0; i < inspection->library_count; i++) {
    struct inspected_library *library = &inspection->libraries[i];
    free(library->symbols);
    elf_file_finish(&library->file);
    file_map_finish(&library->map);
    free(library->name);
    free(library->path);
  }
  free(inspection->libraries);
  free(inspection->imports);
  for (unsigned i = 0; i < inspection->binary_count; i++) fat_binary_finish(&inspection->binaries[i]);
  free(inspection->binaries);
  file_map_finish(&inspection->map);
}

const char *inspection_kind_name(enum file_kind kind) {
  static const char *const names[FILE_KIND_COUNT] = {"program", "shared library", "fat binary", "code object"};
  return names[kind];
}

/* Where a sentence of inspection_lacks goes. */
struct lacks {
  unsigned count;
  void (*report)(const char *, void *);
  void *context;
};

static void lack(struct lacks *lacks, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void lack(struct lacks *lacks, const char *format, ...) {
  char line[1024];
  va_list arguments;
  lacks->count++;
  if (lacks->report == NULL) return;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  lacks->report(line, lacks->context);
}

static bool kernel_lacks(const struct inspected_kernel *kernel, const char *mnemonic) {
  for (unsigned i = 0; i < kernel->missing_count; i++)
    if (strcmp(kernel->missing[i].mnemonic, mnemonic) == 0) return true;
  return false;
}

/* Each instruction once a code object, with the first kernel that has it. */
static void code_lacks(const struct inspected_code *code, struct lacks *lacks) {
  if (!code->checked) lack(lacks, "code for %s: %s", code->target, code->error);
  for (uint32_t i = 0; code->checked && i < code->object->kernel_count; i++) {
    if (code->kernels[i].refusal != NULL) lack(lacks, "%.900s", code->kernels[i].refusal);
    for (unsigned j = 0; j < code->kernels[i].missing_count; j++) {
      const char *mnemonic = code->kernels[i].missing[j].mnemonic;
      unsigned others = 0;
      bool seen = false;
      for (uint32_t k = 0; k < code->object->kernel_count && !seen; k++) {
        bool has = k != i && kernel_lacks(&code->kernels[k], mnemonic);
        others += has;
        seen = has && k < i;
      }
      if (seen) continue;
      char more[32] = "";
      if (others > 0) snprintf(more, sizeof more, " and %u more", others);
      lack(lacks, "%s is not implemented (kernel %.400s%s)", mnemonic, code->object->kernels[i].name, more);
    }
  }
}

unsigned inspection_lacks(const struct inspection *inspection, void (*report)(const char *, void *), void *context) {
  struct lacks lacks = {.report = report, .context = context};
  unsigned chosen = 0;
  for (unsigned i = 0; i < inspection->code_count; i++) {
    if (!inspection->codes[i].chosen) continue;
    chosen++;
    code_lacks(&inspection->codes[i], &lacks);
  }
  if (inspection->code_count > 0 && chosen == 0) lack(&lacks, "there is no code for %s", inspection->arch);
  for (unsigned i = 0; i < inspection->import_count; i++)
    if (inspection->imports[i].policy == POLICY_REFUSE || inspection->imports[i].policy == POLICY_UNKNOWN)
      lack(&lacks, "function %.400s is %s", inspection->imports[i].name, policy_name(inspection->imports[i].policy));
  for (unsigned i = 1; i < inspection->library_count; i++)
    if (!inspection->libraries[i].stand_in && inspection->libraries[i].path[0] == '\0')
      lack(&lacks, "library %.400s is not found", inspection->libraries[i].name);
  return lacks.count;
}

int tool_inspect(int count, char **arguments) {
  bool json = false, require = false;
  const char *path = NULL;
  for (int i = 0; i < count; i++) {
    if (strcmp(arguments[i], "--json") == 0)
      json = true;
    else if (strcmp(arguments[i], "--require") == 0)
      require = true;
    else if (path == NULL && arguments[i][0] != '-')
      path = arguments[i];
    else
      path = "";
    if (path != NULL && *path == '\0') break;
  }
  if (path == NULL || *path == '\0') {
    fprintf(stderr, "usage: hrx inspect [--json] [--require] FILE\n");
    return EXIT_USAGE;
  }
  struct inspection inspection;
  if (inspection_open(path, config_get()->soft_arch, &inspection) != HRX_OK) {
    fprintf(stderr, "hrx inspect: %s: %s\n", path, hrx_last_message());
    return EXIT_USAGE;
  }
  bool written = true;
  if (json)
    written = report_json(&inspection, stdout);
  else
    report_text(&inspection, stdout);
  int status = !written || (require && inspection_lacks(&inspection, NULL, NULL) > 0) ? EXIT_FAILED : 0;
  inspection_finish(&inspection);
  return status;
}
