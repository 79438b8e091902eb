/* The libraries that a program needs, found as the loader would, and the HIP names that all of them import. */
#include <gelf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/inspection.h"

enum { LIBRARIES_MAX = 4096, PATH_BYTES = 4096 };

/* What the dynamic section of one file says. */
struct dynamic {
  const char *rpath, *runpath;
  const char **needed; /* allocated */
  size_t needed_count;
};

static const char *const default_folders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"};

static bool is_stand_in(const char *name) {
  return strncmp(name, "libamdhip64.so", 14) == 0 || strncmp(name, "libhiprtc.so", 12) == 0 ||
         strncmp(name, "libroctx64.so", 13) == 0;
}

static hrx_status dynamic_read(const struct elf_file *file, struct dynamic *out) {
  *out = (struct dynamic){.rpath = NULL};
  for (unsigned i = 1; i < file->header.e_shnum; i++) {
    struct elf_section section = elf_file_section(file, i);
    if (section.header.sh_type != SHT_DYNAMIC) continue;
    size_t count = section.header.sh_size / sizeof(Elf64_Dyn);
    out->needed = calloc(count + 1, sizeof *out->needed);
    if (out->needed == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu dynamic entries", count);
    for (size_t j = 0; j < count; j++) {
      Elf64_Dyn entry;
      memcpy(&entry, file->bytes + section.header.sh_offset + j * sizeof entry, sizeof entry);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
      const char *text = elf_file_string(file, section.header.sh_link, entry.d_un.d_val);
      if (text == NULL) continue;
      if (entry.d_tag == DT_NEEDED) out->needed[out->needed_count++] = text;
      if (entry.d_tag == DT_RPATH) out->rpath = text;
      if (entry.d_tag == DT_RUNPATH) out->runpath = text;
    }
    break;
  }
  return HRX_OK;
}

/* Whether `folder`/`name` can be read; `folder` may begin with $ORIGIN, the folder of `origin`. */
static bool try_folder(const char *folder, size_t length, const char *origin, const char *name, char *out_path) {
  static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
  const char *before = "";
  int before_length = 0;
  for (int i = 0; i < 2; i++) {
    size_t word = strlen(words[i]);
    if (length < word || strncmp(folder, words[i], word) != 0) continue;
    const char *slash = strrchr(origin, '/');
    before = slash != NULL ? origin : ".";
    before_length = slash != NULL ? (int)(slash - origin) : 1;
    folder += word;
    length -= word;
    break;
  }
  int written = snprintf(out_path, PATH_BYTES, "%.*s%.*s/%s", before_length, before, (int)length, folder, name);
  return written > 0 && written < PATH_BYTES && access(out_path, R_OK) == 0;
}

static bool try_list(const char *list, const char *origin, const char *name, char *out_path) {
  while (list != NULL && *list != '\0') {
    size_t length = strcspn(list, ":");
    if (length > 0 && try_folder(list, length, origin, name, out_path)) return true;
    list += length + (list[length] == ':');
  }
  return false;
}

/* The folders in /etc/ld.so.conf.d, as ldconfig reads them. */
static bool try_configured(const char *name, char *out_path) {
  glob_t files;
  bool found = false;
  if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files) != 0) return false;
  for (size_t i = 0; i < files.gl_pathc && !found; i++) {
    FILE *file = fopen(files.gl_pathv[i], "re");
    char line[1024];
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
      line[strcspn(line, " \t\r\n#")] = '\0';
      if (line[0] == '/') found = try_folder(line, strlen(line), "", name, out_path);
    }
    if (file != NULL) fclose(file);
  }
  globfree(&files);
  return found;
}

/* ld.so(8): DT_RPATH unless there is a DT_RUNPATH, LD_LIBRARY_PATH, DT_RUNPATH, the configured and default folders. */
static bool library_find(const struct dynamic *dynamic, const char *program_rpath, const char *origin,
                         const char *program, const char *name, char *out_path) {
  if (strchr(name, '/') != NULL) {
    snprintf(out_path, PATH_BYTES, "%s", name);
    return access(name, R_OK) == 0;
  }
  if (dynamic->runpath == NULL &&
      (try_list(dynamic->rpath, origin, name, out_path) || try_list(program_rpath, program, name, out_path)))
    return true;
  if (try_list(getenv("LD_LIBRARY_PATH"), origin, name, out_path) || try_list(dynamic->runpath, origin, name, out_path))
    return true;
  if (try_configured(name, out_path)) return true;
  for (size_t i = 0; i < sizeof default_folders / sizeof *default_folders; i++)
    if (try_folder(default_folders[i], strlen(default_folders[i]), "", name, out_path)) return true;
  return false;
}

static hrx_status library_add(struct inspection *inspection, const char *name, const char *path, bool stand_in) {
  if ((inspection->library_count & (inspection->library_count - 1)) == 0) {
    size_t capacity = inspection->library_count == 0 ? 1 : (size_t)inspection->library_count * 2;
    struct inspected_library *grown = realloc(inspection->libraries, capacity * sizeof *grown);
    if (grown == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu libraries", capacity);
    inspection->libraries = grown;
  }
  struct inspected_library *library = &inspection->libraries[inspection->library_count++];
  *library = (struct inspected_library){.name = strdup(name), .path = strdup(path), .stand_in = stand_in};
  if (library->name == NULL || library->path == NULL)
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the name of a library");
  return HRX_OK;
}

static bool library_known(const struct inspection *inspection, const char *name) {
  for (unsigned i = 1; i < inspection->library_count; i++)
    if (strcmp(inspection->libraries[i].name, name) == 0) return true;
  return false;
}

/* Opens library `index`, reads its symbols, and appends what it needs. A file that cannot be read counts as not found,
 * unless it is the inspected one itself. */
static hrx_status library_read(struct inspection *inspection, unsigned index, const char **program_rpath) {
  struct inspected_library *library = &inspection->libraries[index];
  struct dynamic dynamic = {.needed = NULL};
  hrx_status status = file_map_open(library->path, &library->map);
  if (status == HRX_OK) status = elf_file_open(library->map.bytes, library->map.size, &library->file);
  for (unsigned i = 1; status == HRX_OK && i < library->file.header.e_shnum; i++)
    if (elf_file_section(&library->file, i).header.sh_type == SHT_DYNSYM) {
      status = elf_file_symbols(&library->file, i, &library->symbols, &library->symbol_count);
      break;
    }
  if (status == HRX_OK) status = dynamic_read(&library->file, &dynamic);
  if (status != HRX_OK) {
    if (index > 0 && status != HRX_OUT_OF_MEMORY) {
      library->path[0] = '\0';
      return HRX_OK;
    }
    return status;
  }
  if (index == 0 && dynamic.runpath == NULL) *program_rpath = dynamic.rpath;
  const char *origin = library->path; /* the array may move below, the string does not */
  for (size_t i = 0; status == HRX_OK && i < dynamic.needed_count; i++) {
    const char *name = dynamic.needed[i];
    char path[PATH_BYTES] = "";
    if (library_known(inspection, name) || inspection->library_count >= LIBRARIES_MAX) continue;
    bool stand_in = is_stand_in(name);
    if (!stand_in && !library_find(&dynamic, *program_rpath, origin, inspection->path, name, path)) path[0] = '\0';
    status = library_add(inspection, name, path, stand_in);
  }
  free(dynamic.needed);
  return status;
}

/* Whether one of the libraries (not the stand-ins, which were not read) defines the name: then it is not HIP's. */
static bool defined_elsewhere(const struct inspection *inspection, const char *name) {
  for (unsigned i = 0; i < inspection->library_count; i++)
    for (size_t j = 0; j < inspection->libraries[i].symbol_count; j++) {
      const struct elf_symbol *symbol = &inspection->libraries[i].symbols[j];
      if (symbol->section != SHN_UNDEF && strcmp(symbol->name, name) == 0) return true;
    }
  return false;
}

static int import_order(const void *left, const void *right) {
  const struct inspected_import *a = left, *b = right;
  return strcmp(a->name, b->name);
}

static hrx_status imports_collect(struct inspection *inspection) {
  size_t total = 0;
  for (unsigned i = 0; i < inspection->library_count; i++) total += inspection->libraries[i].symbol_count;
  inspection->imports = calloc(total + 1, sizeof *inspection->imports);
  if (inspection->imports == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu imports", total);
  for (unsigned i = 0; i < inspection->library_count; i++) {
    const struct inspected_library *library = &inspection->libraries[i];
    for (size_t j = 0; j < library->symbol_count; j++) {
      const struct elf_symbol *symbol = &library->symbols[j];
      if (symbol->section != SHN_UNDEF) continue;
      const struct policy_row *row = policy_find(symbol->name);
      if (row == NULL && (!policy_looks_hip(symbol->name) || symbol->binding == STB_WEAK ||
                          defined_elsewhere(inspection, symbol->name)))
        continue;
      inspection->imports[inspection->import_count++] =
          (struct inspected_import){.name = symbol->name,
                                    .importer = library->name,
                                    .policy = row != NULL ? row->policy : POLICY_UNKNOWN,
                                    .group = row != NULL ? row->group : "-"};
    }
  }
  qsort(inspection->imports, inspection->import_count, sizeof *inspection->imports, import_order);
  unsigned kept = 0;
  for (unsigned i = 0; i < inspection->import_count; i++)
    if (kept == 0 || strcmp(inspection->imports[kept - 1].name, inspection->imports[i].name) != 0)
      inspection->imports[kept++] = inspection->imports[i];
  inspection->import_count = kept;
  return HRX_OK;
}

hrx_status inspect_imports(struct inspection *inspection) {
  const char *program_rpath = NULL;
  const char *slash = strrchr(inspection->path, '/');
  hrx_status status = library_add(inspection, slash != NULL ? slash + 1 : inspection->path, inspection->path, false);
  for (unsigned i = 0; status == HRX_OK && i < inspection->library_count; i++)
    if (inspection->libraries[i].path[0] != '\0') status = library_read(inspection, i, &program_rpath);
  if (status == HRX_OK) status = imports_collect(inspection);
  return status;
}
