#include "code/fat_binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/bundle.h"
#include "code/elf_file.h"
#include "code/target.h"

static bool is_elf(const uint8_t *bytes, size_t size) { return size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0; }

/* One raw ELF: its target is what its header says. */
static hrx_status elf_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct fat_binary *binary,
                           size_t *out_size) {
  hrx_status status = elf_file_extent(bytes, limit, out_size);
  if (status != HRX_OK) return status;
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  const char *processor = header.e_machine == EM_AMDGPU ? target_processor(header.e_flags) : NULL;
  if (processor == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "ELF at offset %#llx: machine %u with flags %#x is no AMD GPU that is known",
                           (unsigned long long)offset, header.e_machine, header.e_flags);
  char target[sizeof binary->entries->target], features[32];
  target_features(header.e_flags, header.e_ident[EI_ABIVERSION] + 2u, features, sizeof features);
  snprintf(target, sizeof target, "%s%s", processor, features);
  return bundle_add(binary, target, bytes, *out_size);
}

static hrx_status compressed_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct fat_binary *binary,
                                  size_t *out_size) {
  void *plain = NULL;
  size_t plain_size = 0, inner_size = 0;
  hrx_status status = bundle_decompress(bytes, limit, offset, &plain, &plain_size, out_size);
  if (status != HRX_OK) return status;
  void **owned = realloc(binary->owned, (binary->owned_count + (size_t)1) * sizeof *owned);
  if (owned == NULL) {
    free(plain);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a list of %u bundles", binary->owned_count + 1);
  }
  binary->owned = owned;
  owned[binary->owned_count++] = plain;
  if (!bundle_is_plain(plain, plain_size))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE,
                           "compressed bundle at offset %#llx: it holds no offload bundle", (unsigned long long)offset);
  return bundle_read(plain, plain_size, 0, binary, &inner_size);
}

/* One container of any kind. */
static hrx_status container_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct fat_binary *binary,
                                 size_t *out_size) {
  if (bundle_is_compressed(bytes, limit)) return compressed_read(bytes, limit, offset, binary, out_size);
  if (is_elf(bytes, limit)) return elf_read(bytes, limit, offset, binary, out_size);
  if (bundle_is_plain(bytes, limit)) return bundle_read(bytes, limit, offset, binary, out_size);
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "offset %#llx: neither an offload bundle nor an ELF file",
                         (unsigned long long)offset);
}

static hrx_status containers_read(const uint8_t *bytes, size_t size, bool several, struct fat_binary *out_binary) {
  struct fat_binary binary = {.entries = NULL};
  hrx_status status = HRX_OK;
  size_t at = 0;
  do {
    size_t used = 0;
    status = container_read(bytes + at, size - at, at, &binary, &used);
    at += used;
    while (several && at < size && bytes[at] == 0) at++; /* linkers align each bundle */
  } while (status == HRX_OK && several && at < size);

  if (status != HRX_OK) {
    fat_binary_finish(&binary);
    return status;
  }
  *out_binary = binary;
  return HRX_OK;
}

hrx_status fat_binary_open(const void *bytes, size_t size, struct fat_binary *out_binary) {
  return containers_read(bytes, size, true, out_binary);
}

hrx_status fat_binary_open_unsized(const void *bytes, size_t limit, struct fat_binary *out_binary) {
  if (bytes == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a fat binary at address 0");
  if (limit > UINTPTR_MAX - (uintptr_t)bytes) limit = UINTPTR_MAX - (uintptr_t)bytes;
  return containers_read(bytes, limit, false, out_binary);
}

void fat_binary_finish(struct fat_binary *binary) {
  if (binary == NULL) return;
  for (unsigned i = 0; i < binary->owned_count; i++) free(binary->owned[i]);
  free(binary->owned);
  free(binary->entries);
  *binary = (struct fat_binary){.entries = NULL};
}

const struct fat_entry *fat_binary_pick(const struct fat_binary *binary, const char *target) {
  const struct fat_entry *best = NULL;
  int best_score = -1;
  for (unsigned i = 0; i < binary->count; i++) {
    const struct fat_entry *entry = &binary->entries[i];
    int score = entry->size > 0 ? target_match(entry->target, target) : -1;
    if (score > best_score) {
      best = entry;
      best_score = score;
    }
  }
  return best;
}

void fat_binary_targets(const struct fat_binary *binary, char *out_text, size_t capacity) {
  size_t length = 0;
  if (capacity == 0) return;
  out_text[0] = '\0';
  for (unsigned i = 0; i < binary->count && length < capacity; i++) {
    const char *target = binary->entries[i].target;
    bool seen = target[0] == '\0';
    for (unsigned j = 0; j < i && !seen; j++) seen = strcmp(binary->entries[j].target, target) == 0;
    if (seen) continue;
    int written = snprintf(out_text + length, capacity - length, "%s%s", length > 0 ? ", " : "", target);
    length += written > 0 ? (size_t)written : 0;
  }
}
