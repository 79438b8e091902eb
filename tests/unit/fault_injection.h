/* Makes one chosen request for memory, for a file or a library's state, for a thread, or of a device fail, and knows what was not
 * given back.
 *
 * For one source file a program: it defines what the linker puts in the place of malloc and the like (--wrap; the list is in
 * tests/unit/faults.mk). That reaches the calls in objects of hrx and of the test; shared libraries keep their own. Requests are counted
 * over all threads. Nothing is counted, failed or remembered before fault_watch. */
#ifndef HRX_TESTS_UNIT_FAULT_INJECTION_H
#define HRX_TESTS_UNIT_FAULT_INJECTION_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libelf.h>
#include <msgpack.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "gpu/soft/device.h"
#include "npu/soft/device.h"

enum fault_kind {
  FAULT_MEMORY,
  FAULT_SYSTEM, /* files, descriptors, what other libraries need memory for */
  FAULT_THREAD,
  FAULT_DEVICE, /* each entry of the devices' tables, with a status that says that nothing happened */
  FAULT_LOST,   /* starts of work on a device, with one that says that something may have happened */
  FAULT_KINDS
};

static const char *const fault_kind_names[] = {"memory", "system", "thread", "device", "lost"};

static struct {
  _Atomic bool watching, armed;
  enum fault_kind kind;
  uint64_t at;  /* which request of the kind, from 1 up */
  bool forever; /* all behind it too */
  _Atomic uint64_t requests[FAULT_KINDS];
  _Atomic bool fired;
  const char *_Atomic name; /* of the first that failed */
  _Atomic uintptr_t site;   /* who asked for it */
  _Atomic uint64_t mapped;
} fault;

/* --- what is live --- */

enum { FAULT_BLOCKS_MOST = 1 << 16 };

struct fault_block {
  uintptr_t address; /* 0: never used; 1: was given back */
  size_t bytes;
  uintptr_t site;
  uint64_t number;
};

static struct fault_block fault_blocks[FAULT_BLOCKS_MOST];
static uint64_t fault_live, fault_numbers;
static _Atomic bool fault_blocks_busy;

static inline void fault_blocks_enter(void) {
  while (atomic_exchange(&fault_blocks_busy, true)) __builtin_ia32_pause();
}

static inline void fault_blocks_leave(void) { atomic_store(&fault_blocks_busy, false); }

static inline uintptr_t fault_hash(const void *address) { return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48; }

static inline void *fault_note(void *address, size_t bytes, void *site) {
  if (address == NULL || !fault.watching) return address;
  fault_blocks_enter();
  uintptr_t at = fault_hash(address);
  while (fault_blocks[at].address > 1) at = (at + 1) % FAULT_BLOCKS_MOST;
  fault_blocks[at] = (struct fault_block){(uintptr_t)address, bytes, (uintptr_t)site, ++fault_numbers};
  fault_live++;
  fault_blocks_leave();
  return address;
}

/* Of blocks that a library made nothing is known. */
static inline void fault_forget(const void *address) {
  if (address == NULL || !fault.watching) return;
  fault_blocks_enter();
  uintptr_t at = fault_hash(address);
  while (fault_blocks[at].address != 0 && fault_blocks[at].address != (uintptr_t)address) at = (at + 1) % FAULT_BLOCKS_MOST;
  if (fault_blocks[at].address != 0) {
    fault_blocks[at].address = 1;
    fault_live--;
  }
  fault_blocks_leave();
}

struct fault_level {
  uint64_t blocks, mapped, descriptors;
};

static inline struct fault_level fault_level(void) {
  struct fault_level level = {.mapped = atomic_load(&fault.mapped)};
  fault_blocks_enter();
  level.blocks = fault_live;
  fault_blocks_leave();
  for (int i = 0; i < 256; i++) level.descriptors += fcntl(i, F_GETFD) >= 0;
  return level;
}

/* As addr2line -e wants it. */
static inline uintptr_t fault_site_offset(uintptr_t site) {
  Dl_info about;
  return site != 0 && dladdr((void *)site, &about) != 0 ? site - (uintptr_t)about.dli_fbase - 1 : site;
}

/* The youngest blocks that are live. */
static inline void fault_blocks_print(uint64_t above) {
  fault_blocks_enter();
  for (unsigned i = 0; i < FAULT_BLOCKS_MOST; i++)
    if (fault_blocks[i].address > 1 && fault_blocks[i].number > above)
      fprintf(stderr, "  live: %zu bytes, number %llu, asked for at %#zx\n", fault_blocks[i].bytes,
              (unsigned long long)fault_blocks[i].number, (size_t)fault_site_offset(fault_blocks[i].site));
  fault_blocks_leave();
}

/* --- when --- */

/* Remembers from now on, in a process that has used nothing yet. */
static inline void fault_watch(void) { atomic_store(&fault.watching, true); }

static inline void fault_arm(enum fault_kind kind, uint64_t at, bool forever) {
  fault.kind = kind;
  fault.at = at;
  fault.forever = forever;
  for (int i = 0; i < FAULT_KINDS; i++) atomic_store(&fault.requests[i], 0);
  atomic_store(&fault.fired, false);
  atomic_store(&fault.armed, true);
}

static inline void fault_disarm(void) { atomic_store(&fault.armed, false); }

static inline bool fault_here(enum fault_kind kind, const char *name, void *site) {
  if (!atomic_load(&fault.armed)) return false;
  uint64_t number = atomic_fetch_add(&fault.requests[kind], 1) + 1;
  if (kind != fault.kind || (fault.forever ? number < fault.at : number != fault.at)) return false;
  if (!atomic_exchange(&fault.fired, true)) {
    atomic_store(&fault.name, name);
    atomic_store(&fault.site, (uintptr_t)site);
  }
  return true;
}

/* --- in the place of the C library --- */

#define FAULT_SITE __builtin_return_address(0)
/* Visible: the linker takes the references of shared libraries for such to these, though at run time they are not. */
#define FAULT_REPLACES(type, name, parameters)                                      \
  type __real_##name parameters;                                                    \
  __attribute__((visibility("default"))) type __wrap_##name parameters;             \
  __attribute__((noinline)) type __wrap_##name parameters
#define FAULT_IF(kind, name, result)          \
  if (fault_here(kind, name, FAULT_SITE)) {   \
    errno = ENOMEM;                           \
    return result;                            \
  }

FAULT_REPLACES(void *, malloc, (size_t bytes)) {
  FAULT_IF(FAULT_MEMORY, "malloc", NULL)
  return fault_note(__real_malloc(bytes), bytes, FAULT_SITE);
}

FAULT_REPLACES(void *, calloc, (size_t count, size_t bytes)) {
  FAULT_IF(FAULT_MEMORY, "calloc", NULL)
  return fault_note(__real_calloc(count, bytes), count * bytes, FAULT_SITE);
}

FAULT_REPLACES(void *, realloc, (void *old, size_t bytes)) {
  FAULT_IF(FAULT_MEMORY, "realloc", NULL)
  fault_forget(old); /* before another thread can get the same address */
  void *block = __real_realloc(old, bytes);
  return fault_note(block, bytes, FAULT_SITE);
}

FAULT_REPLACES(void *, aligned_alloc, (size_t alignment, size_t bytes)) {
  FAULT_IF(FAULT_MEMORY, "aligned_alloc", NULL)
  return fault_note(__real_aligned_alloc(alignment, bytes), bytes, FAULT_SITE);
}

FAULT_REPLACES(char *, strdup, (const char *text)) {
  FAULT_IF(FAULT_MEMORY, "strdup", NULL)
  return fault_note(__real_strdup(text), 0, FAULT_SITE);
}

FAULT_REPLACES(char *, strndup, (const char *text, size_t most)) {
  FAULT_IF(FAULT_MEMORY, "strndup", NULL)
  return fault_note(__real_strndup(text, most), 0, FAULT_SITE);
}

FAULT_REPLACES(int, asprintf, (char **out_text, const char *format, ...)) {
  FAULT_IF(FAULT_MEMORY, "asprintf", -1)
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(out_text, format, arguments);
  va_end(arguments);
  if (length >= 0) fault_note(*out_text, (size_t)length, FAULT_SITE);
  return length;
}

FAULT_REPLACES(void, free, (void *block)) {
  fault_forget(block);
  __real_free(block);
}

FAULT_REPLACES(void *, mmap, (void *where, size_t bytes, int protection, int flags, int file, off_t offset)) {
  FAULT_IF(FAULT_MEMORY, "mmap", MAP_FAILED)
  void *pages = __real_mmap(where, bytes, protection, flags, file, offset);
  if (pages != MAP_FAILED && fault.watching) atomic_fetch_add(&fault.mapped, bytes);
  return pages;
}

FAULT_REPLACES(int, munmap, (void *pages, size_t bytes)) {
  if (fault.watching) atomic_fetch_sub(&fault.mapped, bytes);
  return __real_munmap(pages, bytes);
}

FAULT_REPLACES(int, mprotect, (void *pages, size_t bytes, int protection)) {
  FAULT_IF(FAULT_MEMORY, "mprotect", -1)
  return __real_mprotect(pages, bytes, protection);
}

FAULT_REPLACES(FILE *, open_memstream, (char **out_bytes, size_t *out_size)) {
  FAULT_IF(FAULT_MEMORY, "open_memstream", NULL)
  return __real_open_memstream(out_bytes, out_size);
}

FAULT_REPLACES(FILE *, fopen, (const char *path, const char *mode)) {
  FAULT_IF(FAULT_SYSTEM, "fopen", NULL)
  return __real_fopen(path, mode);
}

FAULT_REPLACES(int, open, (const char *path, int flags, ...)) {
  FAULT_IF(FAULT_SYSTEM, "open", -1)
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return __real_open(path, flags, mode);
}

FAULT_REPLACES(int, memfd_create, (const char *name, unsigned flags)) {
  FAULT_IF(FAULT_SYSTEM, "memfd_create", -1)
  return __real_memfd_create(name, flags);
}

FAULT_REPLACES(int, eventfd, (unsigned value, int flags)) {
  FAULT_IF(FAULT_SYSTEM, "eventfd", -1)
  return __real_eventfd(value, flags);
}

FAULT_REPLACES(ssize_t, read, (int file, void *bytes, size_t count)) {
  FAULT_IF(FAULT_SYSTEM, "read", -1)
  return __real_read(file, bytes, count);
}

FAULT_REPLACES(ssize_t, write, (int file, const void *bytes, size_t count)) {
  if (count == sizeof(uint64_t)) return __real_write(file, bytes, count); /* to an eventfd that cannot fail */
  FAULT_IF(FAULT_SYSTEM, "write", -1)
  return __real_write(file, bytes, count);
}

FAULT_REPLACES(void *, dlopen, (const char *path, int flags)) {
  FAULT_IF(FAULT_SYSTEM, "dlopen", NULL)
  return __real_dlopen(path, flags);
}

FAULT_REPLACES(int, pthread_key_create, (pthread_key_t *out_key, void (*end)(void *))) {
  FAULT_IF(FAULT_SYSTEM, "pthread_key_create", EAGAIN)
  return __real_pthread_key_create(out_key, end);
}

FAULT_REPLACES(int, pthread_atfork, (void (*before)(void), void (*parent)(void), void (*child)(void))) {
  FAULT_IF(FAULT_SYSTEM, "pthread_atfork", ENOMEM)
  return __real_pthread_atfork(before, parent, child);
}

FAULT_REPLACES(Elf *, elf_memory, (char *bytes, size_t size)) {
  FAULT_IF(FAULT_SYSTEM, "elf_memory", NULL)
  return __real_elf_memory(bytes, size);
}

FAULT_REPLACES(Elf_Data *, elf_getdata_rawchunk, (Elf *elf, int64_t offset, size_t bytes, Elf_Type type)) {
  FAULT_IF(FAULT_SYSTEM, "elf_getdata_rawchunk", NULL)
  return __real_elf_getdata_rawchunk(elf, offset, bytes, type);
}

FAULT_REPLACES(msgpack_unpack_return, msgpack_unpack_next, (msgpack_unpacked *result, const char *bytes, size_t size, size_t *io_offset)) {
  FAULT_IF(FAULT_SYSTEM, "msgpack_unpack_next", MSGPACK_UNPACK_NOMEM_ERROR)
  return __real_msgpack_unpack_next(result, bytes, size, io_offset);
}

FAULT_REPLACES(json_t *, json_loadb, (const char *text, size_t bytes, size_t flags, json_error_t *out_error)) {
  if (fault_here(FAULT_SYSTEM, "json_loadb", FAULT_SITE)) {
    *out_error = (json_error_t){.line = -1, .column = -1, .source = "<buffer>"};
    out_error->text[sizeof out_error->text - 1] = json_error_out_of_memory;
    return NULL;
  }
  return __real_json_loadb(text, bytes, flags, out_error);
}

FAULT_REPLACES(ZSTD_DCtx *, ZSTD_createDCtx, (void)) {
  FAULT_IF(FAULT_SYSTEM, "ZSTD_createDCtx", NULL)
  return __real_ZSTD_createDCtx();
}

FAULT_REPLACES(int, inflateInit_, (z_streamp stream, const char *version, int size)) {
  FAULT_IF(FAULT_SYSTEM, "inflateInit", Z_MEM_ERROR)
  return __real_inflateInit_(stream, version, size);
}

FAULT_REPLACES(int, pthread_create, (pthread_t *out_thread, const pthread_attr_t *attributes, void *(*start)(void *), void *context)) {
  if (fault_here(FAULT_THREAD, "pthread_create", FAULT_SITE)) return EAGAIN;
  return __real_pthread_create(out_thread, attributes, start, context);
}

/* --- in the place of the devices' tables --- */

static struct gpu_device_table fault_gpu;
static const struct gpu_device_table *fault_gpu_real;
static struct npu_device_table fault_npu;
static const struct npu_device_table *fault_npu_real;

static inline hrx_status fault_refusal(const char *name) { return hrx_fail(HRX_OUT_OF_MEMORY, "injected: %s has no memory", name); }

/* The `name` of the table, failing when its turn comes. */
#define FAULT_ENTRY(which, name, parameters, arguments)                                             \
  static inline hrx_status fault_##which##_##name parameters {                                      \
    if (fault_here(FAULT_DEVICE, #which " " #name, FAULT_SITE)) return fault_refusal(#which " " #name); \
    return fault_##which##_real->name arguments;                                                    \
  }

FAULT_ENTRY(gpu, module_load, (struct gpu_device *d, const void *bytes, size_t size, struct gpu_module **out), (d, bytes, size, out))
FAULT_ENTRY(gpu, module_kernel, (struct gpu_module *m, const char *name, struct gpu_kernel **out), (m, name, out))
FAULT_ENTRY(gpu, module_global, (struct gpu_module *m, const char *name, void **address, size_t *bytes), (m, name, address, bytes))
FAULT_ENTRY(gpu, kernel_ready, (struct gpu_kernel *k), (k))
FAULT_ENTRY(gpu, dispatch_create, (struct gpu_kernel *k, const struct gpu_launch *launch, struct gpu_dispatch **out), (k, launch, out))
FAULT_ENTRY(gpu, dispatch_update, (struct gpu_dispatch *d, const struct gpu_launch *launch), (d, launch))
FAULT_ENTRY(npu, program_load, (struct npu_device *d, const struct npu_source *source, const char *kernel, unsigned columns,
                                struct npu_program **out), (d, source, kernel, columns, out))
FAULT_ENTRY(npu, invocation_create, (struct npu_program *p, const struct npu_binding *bindings, unsigned count, const void *constants,
                                     size_t bytes, struct npu_invocation **out), (p, bindings, count, constants, bytes, out))
FAULT_ENTRY(npu, invocation_rebind, (struct npu_invocation *i, void *const *addresses, unsigned count), (i, addresses, count))
FAULT_ENTRY(npu, invocation_constants, (struct npu_invocation *i, const void *constants, size_t bytes), (i, constants, bytes))
FAULT_ENTRY(npu, import, (struct npu_device *d, const void *address, size_t bytes, struct npu_import **out), (d, address, bytes, out))
FAULT_ENTRY(npu, allocate, (struct npu_device *d, size_t bytes, size_t alignment, struct allocation **out), (d, bytes, alignment, out))
FAULT_ENTRY(npu, cache, (struct npu_device *d, const void *address, size_t bytes, enum npu_cache direction), (d, address, bytes, direction))

/* Whether a start fails, which only `done` can say. */
static inline bool fault_start(const char *name, gpu_done done, void *context) {
  struct failure failure = {.status = HRX_OK};
  if (fault_here(FAULT_DEVICE, name, FAULT_SITE)) failure.status = HRX_OUT_OF_MEMORY;
  if (fault_here(FAULT_LOST, name, FAULT_SITE)) failure.status = HRX_EXECUTION;
  if (failure.status == HRX_OK) return false;
  snprintf(failure.message, sizeof failure.message, "injected: %s failed", name);
  done(context, &failure);
  return true;
}

static inline void fault_gpu_dispatch_start(struct gpu_dispatch *dispatch, gpu_done done, void *context) {
  if (!fault_start("gpu start", done, context)) fault_gpu_real->dispatch_start(dispatch, done, context);
}

static inline void fault_npu_invocation_start(struct npu_invocation *invocation, gpu_done done, void *context) {
  if (!fault_start("npu start", done, context)) fault_npu_real->invocation_start(invocation, done, context);
}

FAULT_REPLACES(hrx_status, soft_device_create, (struct memory *memory, const char *target, struct gpu_device **out_device)) {
  if (fault_here(FAULT_DEVICE, "gpu create", FAULT_SITE)) return fault_refusal("gpu create");
  hrx_status status = __real_soft_device_create(memory, target, out_device);
  if (status != HRX_OK) return status;
  if (fault_gpu_real == NULL) fault_gpu = *(fault_gpu_real = (*out_device)->table);
  fault_gpu.module_load = fault_gpu_module_load;
  fault_gpu.module_kernel = fault_gpu_module_kernel;
  fault_gpu.module_global = fault_gpu_module_global;
  fault_gpu.kernel_ready = fault_gpu_kernel_ready;
  fault_gpu.dispatch_create = fault_gpu_dispatch_create;
  fault_gpu.dispatch_update = fault_gpu_dispatch_update;
  fault_gpu.dispatch_start = fault_gpu_dispatch_start;
  (*out_device)->table = &fault_gpu;
  return HRX_OK;
}

FAULT_REPLACES(hrx_status, npu_soft_create, (struct memory *memory, struct npu_device **out_device)) {
  if (fault_here(FAULT_DEVICE, "npu create", FAULT_SITE)) return fault_refusal("npu create");
  hrx_status status = __real_npu_soft_create(memory, out_device);
  if (status != HRX_OK) return status;
  if (fault_npu_real == NULL) fault_npu = *(fault_npu_real = (*out_device)->table);
  fault_npu.program_load = fault_npu_program_load;
  fault_npu.invocation_create = fault_npu_invocation_create;
  fault_npu.invocation_rebind = fault_npu_invocation_rebind;
  fault_npu.invocation_constants = fault_npu_invocation_constants;
  fault_npu.invocation_start = fault_npu_invocation_start;
  fault_npu.import = fault_npu_import;
  fault_npu.allocate = fault_npu_allocate;
  fault_npu.cache = fault_npu_cache;
  (*out_device)->table = &fault_npu;
  return HRX_OK;
}

#endif
