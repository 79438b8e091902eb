/* Fat binaries: bundles plain and compressed, behind each other, raw ELF; picking a target; damage. */
#include "code/fat_binary.h"

#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "code/code_object.h"
#include "fixture.h"

enum { ZLIB = 0, ZSTD = 1 };

/* A compressed bundle around `plain`, header version 1 to 3 (Clang documentation, "Offload Bundler"). */
static struct fixture compress_bundle(const struct fixture *plain, unsigned version, unsigned method) {
  size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  size_t bound = compressBound(plain->size) + ZSTD_compressBound(plain->size);
  struct fixture out = {.bytes = calloc(1, header + bound)};
  uLongf packed = bound;
  if (method == ZLIB)
    ck_assert_int_eq(compress2(out.bytes + header, &packed, plain->bytes, plain->size, 6), Z_OK);
  else
    packed = ZSTD_compress(out.bytes + header, bound, plain->bytes, plain->size, 3);
  out.size = header + packed;
  memcpy(out.bytes, "CCOB", 4);
  out.bytes[4] = (uint8_t)version;
  out.bytes[6] = (uint8_t)method;
  size_t at = 8, width = version == 3 ? 8 : 4;
  if (version > 1) {
    memcpy(out.bytes + at, &out.size, width);
    at += width;
  }
  memcpy(out.bytes + at, &plain->size, width);
  return out;
}

/* Variant 0 to 5: compressed by each version and method; 6: the plain bundle; 7: a raw ELF. */
static struct fixture variant(int index) {
  if (index == 7) return fixture_read("v4.co");
  struct fixture plain = fixture_read("bundle.hipfb");
  if (index == 6) return plain;
  struct fixture file = compress_bundle(&plain, (unsigned)index / 2 + 1, (unsigned)index % 2);
  free(plain.bytes);
  return file;
}

static struct fat_binary opened(const struct fixture *file) {
  struct fat_binary binary = {.entries = NULL};
  hrx_status status = fat_binary_open(file->bytes, file->size, &binary);
  ck_assert_msg(status == HRX_OK, "%s", hrx_last_message());
  return binary;
}

static void holds_both_targets(const struct fat_binary *binary) {
  char text[64];
  fat_binary_targets(binary, text, sizeof text);
  ck_assert_str_eq(text, "gfx1030, gfx90a:xnack-");
  const struct fat_entry *entry = fat_binary_pick(binary, "gfx1030");
  ck_assert_ptr_nonnull(entry);
  struct code_object *object = NULL;
  ck_assert_int_eq(code_object_open(entry->bytes, entry->size, &object), HRX_OK);
  ck_assert_str_eq(object->target, "gfx1030");
  ck_assert_ptr_nonnull(code_object_kernel(object, "second"));
  code_object_release(object);
}

START_TEST(a_plain_bundle) {
  struct fixture file = fixture_read("bundle.hipfb");
  struct fat_binary binary = opened(&file);
  holds_both_targets(&binary);
  ck_assert_uint_eq(binary.owned_count, 0);
  fat_binary_finish(&binary);
  free(file.bytes);
}
END_TEST

START_TEST(compressed_bundles_of_each_version_and_method) {
  struct fixture file = variant(_i);
  struct fat_binary binary = opened(&file);
  holds_both_targets(&binary);
  ck_assert_uint_eq(binary.owned_count, 1);
  fat_binary_finish(&binary);
  free(file.bytes);
}
END_TEST

START_TEST(several_bundles_behind_each_other) {
  struct fixture plain = fixture_read("bundle.hipfb"), parts[4];
  parts[0] = plain;
  parts[1] = compress_bundle(&plain, 2, ZSTD);
  parts[2] = compress_bundle(&plain, 1, ZLIB); /* its length is known only by its stream */
  parts[3] = fixture_read("v5.co");
  struct fixture file = {.bytes = calloc(1, 1 << 20)};
  for (int i = 0; i < 4; i++) {
    memcpy(file.bytes + file.size, parts[i].bytes, parts[i].size);
    file.size = (file.size + parts[i].size + 4095) / 4096 * 4096;
  }
  struct fat_binary binary = opened(&file);
  ck_assert_uint_eq(binary.count, 3 * 3 + 1);
  ck_assert_str_eq(binary.entries[9].target, "gfx1030");
  ck_assert_uint_eq(binary.entries[9].size, parts[3].size);
  fat_binary_finish(&binary);
  /* a wrapper points to one of them: no size, the others stay out */
  ck_assert_int_eq(fat_binary_open_unsized(file.bytes, SIZE_MAX, &binary), HRX_OK);
  ck_assert_uint_eq(binary.count, 3);
  fat_binary_finish(&binary);
  file.bytes[file.size++] = 'x';
  ck_assert_int_eq(fat_binary_open(file.bytes, file.size, &binary), HRX_INVALID);
  char offset[32];
  snprintf(offset, sizeof offset, "offset %#zx", file.size - 1);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), offset));
  free(file.bytes);
  for (int i = 0; i < 4; i++) free(parts[i].bytes);
}
END_TEST

/* Places the file so that it ends where readable memory ends. */
START_TEST(nothing_behind_an_unsized_binary_is_read) {
  struct fixture file = variant(_i);
  size_t room = (file.size + 4095) / 4096 * 4096;
  uint8_t *pages = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(pages, MAP_FAILED);
  ck_assert_int_eq(mprotect(pages + room, 4096, PROT_NONE), 0);
  uint8_t *place = pages + room - file.size;
  memcpy(place, file.bytes, file.size);
  struct fat_binary binary;
  hrx_status status = fat_binary_open_unsized(place, SIZE_MAX, &binary);
  ck_assert_msg(status == HRX_OK, "%s", hrx_last_message());
  ck_assert_ptr_nonnull(fat_binary_pick(&binary, "gfx1030"));
  fat_binary_finish(&binary);
  munmap(pages, room + 4096);
  free(file.bytes);
}
END_TEST

START_TEST(a_claimed_size_is_not_believed) {
  struct fixture plain = fixture_read("bundle.hipfb"), file = compress_bundle(&plain, 3, ZSTD);
  struct fat_binary binary;
  uint64_t size = UINT64_C(1) << 33;
  memcpy(file.bytes + 16, &size, 8);
  ck_assert_int_eq(fat_binary_open(file.bytes, file.size, &binary), HRX_INVALID);
  size = plain.size + 1;
  memcpy(file.bytes + 16, &size, 8);
  ck_assert_int_eq(fat_binary_open(file.bytes, file.size, &binary), HRX_INVALID);
  size = plain.size - 1;
  memcpy(file.bytes + 16, &size, 8);
  ck_assert_int_eq(fat_binary_open(file.bytes, file.size, &binary), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
  free(file.bytes);
  free(plain.bytes);
}
END_TEST

static const char *picked(const char *const *targets, unsigned count, const char *device) {
  static struct fat_entry entries[8];
  struct fat_binary binary = {.entries = entries, .count = count};
  for (unsigned i = 0; i < count; i++) {
    entries[i] = (struct fat_entry){.bytes = "x", .size = 1};
    snprintf(entries[i].target, sizeof entries[i].target, "%s", targets[i]);
  }
  const struct fat_entry *entry = fat_binary_pick(&binary, device);
  return entry != NULL ? entry->target : "none";
}

START_TEST(picking_a_target) {
  static const char *const mixed[] = {"",       "gfx10-3-generic", "gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack+",
                                      "gfx1030"};
  ck_assert_str_eq(picked(mixed, 6, "gfx1030"), "gfx1030");
  ck_assert_str_eq(picked(mixed, 6, "gfx1031"), "gfx10-3-generic");
  ck_assert_str_eq(picked(mixed, 6, "gfx103"), "none"); /* a prefix is another processor */
  ck_assert_str_eq(picked(mixed, 6, "gfx1100"), "none");
  ck_assert_str_eq(picked(mixed, 6, "gfx90a:sramecc+:xnack-"), "gfx90a:xnack-");
  ck_assert_str_eq(picked(mixed, 6, "gfx90a:sramecc+:xnack+"), "gfx90a:sramecc+:xnack+");
  ck_assert_str_eq(picked(mixed, 6, "gfx90a:sramecc-:xnack+"), "gfx90a");
  ck_assert_str_eq(picked(mixed + 3, 2, "gfx90a:sramecc-:xnack+"), "none");
}
END_TEST

START_TEST(the_list_of_targets_is_cut_not_overrun) {
  struct fixture file = fixture_read("bundle.hipfb");
  struct fat_binary binary = opened(&file);
  char text[12];
  memset(text, 'z', sizeof text);
  fat_binary_targets(&binary, text, 10);
  ck_assert_str_eq(text, "gfx1030, ");
  ck_assert_int_eq(text[10], 'z');
  fat_binary_finish(&binary);
  free(file.bytes);
}
END_TEST

static unsigned good;

static void try_bytes(const uint8_t *bytes, size_t size) {
  struct fat_binary binary;
  hrx_status status = fat_binary_open(bytes, size, &binary);
  if (status == HRX_OK) {
    good++;
    char text[64];
    fat_binary_targets(&binary, text, sizeof text);
    fat_binary_pick(&binary, "gfx90a:xnack-");
    volatile uint8_t sum = 0; /* every byte that an entry claims can be read */
    for (unsigned i = 0; i < binary.count; i++)
      if (binary.entries[i].size > 0)
        sum = (uint8_t)(sum + ((const uint8_t *)binary.entries[i].bytes)[0] +
                        ((const uint8_t *)binary.entries[i].bytes)[binary.entries[i].size - 1]);
    fat_binary_finish(&binary);
    return;
  }
  ck_assert_int_eq(status, HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
}

START_TEST(damaged_bytes_never_crash) {
  struct fixture file = variant(_i);
  good = 0;
  fixture_prefixes(&file, try_bytes);
  ck_assert_uint_eq(good, 0);
  fixture_corruptions(&file, try_bytes);
  if (_i >= 6) ck_assert_uint_gt(good, 0); /* there, machine code is not looked at */
  free(file.bytes);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fat_binary");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, a_plain_bundle);
  tcase_add_loop_test(tests, compressed_bundles_of_each_version_and_method, 0, 6);
  tcase_add_test(tests, several_bundles_behind_each_other);
  tcase_add_loop_test(tests, nothing_behind_an_unsized_binary_is_read, 0, 8);
  tcase_add_test(tests, a_claimed_size_is_not_believed);
  tcase_add_test(tests, picking_a_target);
  tcase_add_test(tests, the_list_of_targets_is_cut_not_overrun);
  tcase_add_loop_test(tests, damaged_bytes_never_crash, 0, 8);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
