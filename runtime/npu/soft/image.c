/* From a file or bytes to a loaded shared object and its table. What the loader would trip over (it maps what the headers
 * say, and a header that points behind the end of the file ends in SIGBUS) is refused before it sees the file. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npu/soft/parts.h"

enum { SERIAL_BITS = 32, PATH_BYTES = 128 };

static hrx_status image_refuse(const char *what) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program: %s", what);
}

/* Whether [offset, offset + bytes) lies in a file of `size`. */
static bool inside(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

static hrx_status image_check(const unsigned char *bytes, size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof header) return image_refuse("too short for a shared object");
  memcpy(&header, bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return image_refuse("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
    return image_refuse("an ELF file, but not for x86-64");
  if (header.e_type != ET_DYN) return image_refuse("an ELF file, but no shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      !inside(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), size))
    return image_refuse("its program headers lie behind its end");
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    memcpy(&segment, bytes + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_NULL) continue;
    if (!inside(segment.p_offset, segment.p_filesz, size) || (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                             "NPU program: segment %u needs bytes %llu to %llu of a file of %zu: it was cut off", i,
                             (unsigned long long)segment.p_offset,
                             (unsigned long long)(segment.p_offset + segment.p_filesz), size);
  }
  return HRX_OK;
}

static hrx_status file_fail(const char *path, int error) {
  if (error == ENOMEM) return hrx_fail(HRX_OUT_OF_MEMORY, "NPU program %s: %s", path, strerror(error));
  bool missing = error == ENOENT || error == ENOTDIR;
  return hrx_fail_reason(HRX_IO, missing ? HRX_REASON_FILE_NOT_FOUND : HRX_REASON_NONE, "NPU program %s: %s", path,
                         strerror(error));
}

static hrx_status file_check(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return file_fail(path, errno);
  hrx_status status = HRX_OK;
  struct stat about;
  unsigned char *bytes = MAP_FAILED;
  if (fstat(file, &about) != 0) {
    status = file_fail(path, errno);
  } else if (!S_ISREG(about.st_mode)) {
    status = hrx_fail(HRX_IO, "NPU program %s: not a regular file", path);
  } else if (about.st_size == 0) {
    status = image_refuse("an empty file");
  } else {
    bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    status = bytes == MAP_FAILED ? file_fail(path, errno) : image_check(bytes, (size_t)about.st_size);
  }
  if (bytes != MAP_FAILED) munmap(bytes, (size_t)about.st_size);
  close(file);
  return status;
}

static hrx_status bytes_write(int file, const void *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t wrote = write(file, (const char *)bytes + at, size - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return hrx_fail(HRX_OUT_OF_MEMORY, "NPU program: no memory for its %zu bytes: %s", size, strerror(errno));
    at += (size_t)wrote;
  }
  return HRX_OK;
}

/* The loader takes two files of one name for the same. The number of a descriptor is used again, so the name also gets
 * a serial, written in separators that mean nothing: "/." and "//". */
static void descriptor_path(int file, char path[static PATH_BYTES]) {
  static _Atomic uint32_t serials;
  uint32_t serial = atomic_fetch_add(&serials, 1);
  char *at = path + sprintf(path, "/proc/self/fd");
  for (int bit = 0; bit < SERIAL_BITS; bit++) {
    *at++ = '/';
    *at++ = (serial >> bit & 1) != 0 ? '.' : '/';
  }
  sprintf(at, "/%d", file);
}

static hrx_status loader_open(const char *path, const char *name, void **out_library) {
  errno = 0;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    bool memory = errno == ENOMEM; /* the loader leaves it, and has no better way to say so */
    const char *message = dlerror();
    if (memory) return hrx_fail(HRX_OUT_OF_MEMORY, "NPU program %s cannot be loaded: no memory", name);
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program %s cannot be loaded: %s", name,
                           message != NULL ? message : "the loader does not say why");
  }
  *out_library = library;
  return HRX_OK;
}

static hrx_status bytes_open(const struct npu_source *source, void **out_library) {
  hrx_status status = source->bytes == NULL ? image_refuse("no bytes") : image_check(source->bytes, source->size);
  if (status != HRX_OK) return status;
  int file = memfd_create("hrx-npu-program", MFD_CLOEXEC);
  if (file < 0) return hrx_fail(HRX_OUT_OF_MEMORY, "NPU program: no memory file: %s", strerror(errno));
  status = bytes_write(file, source->bytes, source->size);
  if (status == HRX_OK) {
    char path[PATH_BYTES];
    descriptor_path(file, path);
    status = loader_open(path, "in memory", out_library);
  }
  close(file);
  return status;
}

static hrx_status path_open(const char *path, void **out_library) {
  hrx_status status = file_check(path);
  if (status != HRX_OK) return status;
  if (strchr(path, '/') != NULL) return loader_open(path, path, out_library);
  /* without a slash the loader would search its folders */
  char *here = NULL;
  if (asprintf(&here, "./%s", path) < 0) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the path %s", path);
  status = loader_open(here, path, out_library);
  free(here);
  return status;
}

static hrx_status table_find(void *library, const struct hrx_npu_table **out_table) {
  const struct hrx_npu_table *found = dlsym(library, "hrx_npu_program");
  if (found == NULL) return image_refuse("it exports no hrx_npu_program (include hrx/npu_program.h and define it)");
  Dl_info place;
  void *about = NULL;
  if (dladdr1(found, &place, &about, RTLD_DL_SYMENT) == 0 || about == NULL ||
      ((const Elf64_Sym *)about)->st_size < sizeof *found || (uintptr_t)found % _Alignof(struct hrx_npu_table) != 0)
    return image_refuse("hrx_npu_program is no struct hrx_npu_table: it is too small");
  if (found->magic != HRX_NPU_MAGIC)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "NPU program: its magic is 0x%llx, it should be 0x%llx",
                           (unsigned long long)found->magic, (unsigned long long)HRX_NPU_MAGIC);
  if (found->version != HRX_NPU_VERSION)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "NPU program: built for version %u of the entry, this library knows %u", found->version,
                           HRX_NPU_VERSION);
  *out_table = found;
  return HRX_OK;
}

hrx_status npu_soft_image_open(const struct npu_source *source, void **out_library, const struct hrx_npu_table **out_table) {
  void *library = NULL;
  hrx_status status = source->path != NULL ? path_open(source->path, &library) : bytes_open(source, &library);
  if (status == HRX_OK) status = table_find(library, out_table);
  if (status != HRX_OK) {
    if (library != NULL) dlclose(library);
    return status;
  }
  *out_library = library;
  return HRX_OK;
}
