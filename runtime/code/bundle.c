#include "code/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[BUNDLE_MAGIC_BYTES + 1] = "__CLANG_OFFLOAD_BUNDLE__";

enum { ENTRIES_MAX = 4096, NAME_MAX_BYTES = 512 };

static hrx_status bad(uint64_t offset, const char *what, uint64_t value, uint64_t limit) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "offload bundle at offset %#llx: %s is %llu, the limit is %llu",
                         (unsigned long long)offset, what, (unsigned long long)value, (unsigned long long)limit);
}

bool bundle_is_plain(const uint8_t *bytes, size_t size) {
  return size >= BUNDLE_MAGIC_BYTES && memcmp(bytes, magic, BUNDLE_MAGIC_BYTES) == 0;
}

hrx_status bundle_add(struct fat_binary *binary, const char *target, const void *bytes, size_t size) {
  if ((binary->count & (binary->count - 1)) == 0) { /* full: it grows at each power of two */
    size_t capacity = binary->count == 0 ? 1 : (size_t)binary->count * 2;
    struct fat_entry *entries = realloc(binary->entries, capacity * sizeof *entries);
    if (entries == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu entries of a fat binary", capacity);
    binary->entries = entries;
  }
  struct fat_entry *entry = &binary->entries[binary->count++];
  *entry = (struct fat_entry){.bytes = bytes, .size = size};
  snprintf(entry->target, sizeof entry->target, "%s", target);
  return HRX_OK;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" -> "gfx90a:xnack-"; a host entry -> "". Names of device entries that are no
 * amdgcn code (SPIR-V) keep their last part, which no device matches. */
static bool target_of(const char *name, size_t length, char *out_target, size_t capacity) {
  static const char triple[] = "amdgcn-amd-amdhsa";
  char text[NAME_MAX_BYTES + 1];
  memcpy(text, name, length);
  text[length] = '\0';
  const char *target = strstr(text, triple);
  if (target != NULL) {
    target += sizeof triple - 1;
    target += strspn(target, "-");
  } else if (strncmp(text, "host", 4) == 0) {
    target = "";
  } else {
    target = strrchr(text, '-');
    target = target != NULL ? target + 1 : text;
  }
  size_t bytes = strlen(target);
  if (bytes >= capacity) return false;
  memcpy(out_target, target, bytes + 1);
  return true;
}

/* A 64-bit field, read in order. */
static bool field(const uint8_t *bytes, size_t limit, size_t *at, uint64_t *out_value) {
  if (limit < sizeof *out_value || *at > limit - sizeof *out_value) return false;
  memcpy(out_value, bytes + *at, sizeof *out_value);
  *at += sizeof *out_value;
  return true;
}

hrx_status bundle_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct fat_binary *binary,
                       size_t *out_size) {
  size_t at = BUNDLE_MAGIC_BYTES, end;
  uint64_t count = 0;
  if (!field(bytes, limit, &at, &count)) return bad(offset, "the size", limit, BUNDLE_MAGIC_BYTES + 8);
  if (count > ENTRIES_MAX) return bad(offset + BUNDLE_MAGIC_BYTES, "the number of entries", count, ENTRIES_MAX);
  end = at;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t entry_offset = 0, entry_size = 0, name_length = 0;
    size_t header = at;
    if (!field(bytes, limit, &at, &entry_offset) || !field(bytes, limit, &at, &entry_size) ||
        !field(bytes, limit, &at, &name_length))
      return bad(offset + header, "the end of an entry's header", at, limit);
    if (name_length > NAME_MAX_BYTES || name_length > limit - at)
      return bad(offset + header + 16, "the length of an entry's name", name_length, NAME_MAX_BYTES);
    const char *name = (const char *)bytes + at;
    at += name_length;
    if (entry_offset > limit || entry_size > limit - entry_offset)
      return bad(offset + header, "the end of an entry's bytes", entry_offset + entry_size, limit);
    char target[sizeof binary->entries->target];
    if (!target_of(name, name_length, target, sizeof target))
      return bad(offset + header + 16, "the length of an entry's name", name_length, sizeof target - 1);
    hrx_status status = bundle_add(binary, target, bytes + entry_offset, entry_size);
    if (status != HRX_OK) return status;
    if (entry_offset + entry_size > end) end = entry_offset + entry_size;
  }
  *out_size = end > at ? end : at;
  return HRX_OK;
}
