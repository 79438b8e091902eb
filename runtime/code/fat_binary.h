/* Fat binaries: what a compiler embeds for __hipRegisterFatBinary and what hipModuleLoadData is given.
 *
 * wrapper (magic HIPF) -> offload bundles (plain "__CLANG_OFFLOAD_BUNDLE__", compressed "CCOB" versions 1 to 3 with
 * zlib or zstd; several behind each other) or a raw ELF. Errors: INVALID/IMAGE with the offset. */
#ifndef HRX_CODE_FAT_BINARY_H
#define HRX_CODE_FAT_BINARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct fat_entry {
  char target[64];   /* "gfx1030", "gfx90a:xnack-"; "" for a host entry */
  const void *bytes; /* inside the input, or inside memory that the fat_binary owns */
  size_t size;
};

struct fat_binary {
  struct fat_entry *entries;
  unsigned count;
  void **owned; /* decompressed bundles */
  unsigned owned_count;
};

/* Opens bundles (or one raw ELF) of known size. `bytes` must outlive the result. Decompression is bounded by the size
 * in the header, at most 4 GiB. */
hrx_status fat_binary_open(const void *bytes, size_t size, struct fat_binary *out_binary);

/* Opens what a compiler-made wrapper points to, whose size is not known: the size comes from the bundle's header or the
 * ELF header and is bounded by `limit` (bytes readable behind the pointer, SIZE_MAX if unknown). */
hrx_status fat_binary_open_unsized(const void *bytes, size_t limit, struct fat_binary *out_binary);

/* Frees what it owns. */
void fat_binary_finish(struct fat_binary *binary);

/* The best entry for a device: same processor; feature suffixes (":xnack+", ":sramecc-") must not contradict
 * `target`'s; a more specific one wins. NULL if none fits. */
const struct fat_entry *fat_binary_pick(const struct fat_binary *binary, const char *target);

/* Writes "gfx906, gfx90a:xnack-" for messages; always terminated. */
void fat_binary_targets(const struct fat_binary *binary, char *out_text, size_t capacity);

#endif
