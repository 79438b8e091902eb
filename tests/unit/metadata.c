/* The metadata reader over msgpack that the test builds byte by byte. */
#include "code/metadata.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "code/msgpack_check.h"

struct pack {
  uint8_t bytes[4096];
  size_t size;
};

static void put(struct pack *pack, uint8_t byte) { pack->bytes[pack->size++] = byte; }
static void put_map(struct pack *pack, uint8_t count) { put(pack, (uint8_t)(0x80 | count)); }
static void put_array(struct pack *pack, uint8_t count) { put(pack, (uint8_t)(0x90 | count)); }
static void put_number(struct pack *pack, uint32_t value) {
  put(pack, 0xce);
  for (int shift = 24; shift >= 0; shift -= 8) put(pack, (uint8_t)(value >> shift));
}
static void put_text(struct pack *pack, const char *text) {
  put(pack, 0xd9);
  put(pack, (uint8_t)strlen(text));
  memcpy(pack->bytes + pack->size, text, strlen(text));
  pack->size += strlen(text);
}
static void put_pair(struct pack *pack, const char *key, uint32_t value) {
  put_text(pack, key);
  put_number(pack, value);
}

/* One kernel with two arguments; `skip` leaves one key out; `wave` is its wavefront size. */
static void build(struct pack *pack, const char *skip, uint32_t wave, uint32_t second_offset, const char *first_kind) {
  static const char *const keys[] = {".kernarg_segment_size",
                                     ".kernarg_segment_align",
                                     ".group_segment_fixed_size",
                                     ".private_segment_fixed_size",
                                     ".max_flat_workgroup_size",
                                     ".sgpr_count",
                                     ".vgpr_count"};
  static const uint32_t values[] = {16, 8, 512, 32, 256, 10, 20};
  pack->size = 0;
  put_map(pack, 2);
  put_text(pack, "amdhsa.version");
  put_array(pack, 2);
  put_number(pack, 1);
  put_number(pack, 1);
  put_text(pack, "amdhsa.kernels");
  put_array(pack, 1);
  put_map(pack, (uint8_t)(skip == NULL ? 11 : 10));
  put_text(pack, ".name");
  put_text(pack, "k");
  put_text(pack, ".symbol");
  put_text(pack, "k.kd");
  put_pair(pack, ".wavefront_size", wave);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (skip == NULL || strcmp(skip, keys[i]) != 0) put_pair(pack, keys[i], values[i]);
  put_text(pack, ".args");
  put_array(pack, 2);
  for (int i = 0; i < 2; i++) {
    put_map(pack, 3);
    put_pair(pack, ".offset", i == 0 ? 0 : second_offset);
    put_pair(pack, ".size", 8);
    put_text(pack, ".value_kind");
    put_text(pack, i == 0 ? first_kind : "hidden_of_the_future");
  }
}

static hrx_status read_it(const struct pack *pack, struct metadata *out) {
  *out = (struct metadata){.kernels = NULL};
  return metadata_read(pack->bytes, pack->size, 0x1000, out);
}

START_TEST(a_kernel_is_read) {
  struct pack pack;
  struct metadata metadata;
  build(&pack, NULL, 64, 8, "global_buffer");
  ck_assert_msg(read_it(&pack, &metadata) == HRX_OK, "%s", hrx_last_message());
  ck_assert_uint_eq(metadata.kernel_count, 1);
  const struct kernel_code *kernel = &metadata.kernels[0];
  ck_assert_str_eq(kernel->name, "k");
  ck_assert_uint_eq(kernel->group_segment_bytes, 512);
  ck_assert_uint_eq(kernel->private_segment_bytes, 32);
  ck_assert_uint_eq(kernel->wave_lanes, 64);
  ck_assert_uint_eq(kernel->explicit_count, 1);
  ck_assert_uint_eq(kernel->explicit_bytes, 8);
  ck_assert_int_eq(kernel->arguments[1].kind, ARGUMENT_UNKNOWN); /* kept, and known to be hidden */
  ck_assert(kernel->arguments[1].hidden);
  metadata_release_kernels(metadata.kernels, metadata.kernel_count);
}
END_TEST

static void refused(const struct pack *pack, const char *word) {
  struct metadata metadata;
  ck_assert_int_eq(read_it(pack, &metadata), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "0x1000"));
  ck_assert_msg(strstr(hrx_last_message(), word) != NULL, "%s", hrx_last_message());
}

START_TEST(what_breaks_a_rule_is_named) {
  struct pack pack;
  build(&pack, ".kernarg_segment_size", 32, 8, "global_buffer");
  refused(&pack, ".kernarg_segment_size is missing");
  build(&pack, NULL, 48, 8, "global_buffer");
  refused(&pack, ".wavefront_size");
  build(&pack, NULL, 32, 9, "global_buffer"); /* ends at 17 of 16 */
  refused(&pack, "kernel k");
  build(&pack, NULL, 32, 8, "global_buffer");
  pack.bytes[1 + 2 + strlen("amdhsa.version") + 5] = 2; /* version 2.1 */
  refused(&pack, "amdhsa.version");
}
END_TEST

START_TEST(explicit_arguments_come_first) {
  struct pack pack;
  build(&pack, NULL, 32, 8, "hidden_none");
  struct metadata metadata;
  ck_assert_int_eq(read_it(&pack, &metadata), HRX_OK);
  ck_assert_uint_eq(metadata.kernels[0].explicit_count, 0);
  metadata_release_kernels(metadata.kernels, metadata.kernel_count);
  /* the second one's kind loses its "hidden_" */
  build(&pack, NULL, 32, 8, "hidden_none");
  memcpy(pack.bytes + pack.size - strlen("hidden_of_the_future"), "public_", 7);
  refused(&pack, "explicit");
}
END_TEST

START_TEST(counts_are_checked_before_anything_is_allocated) {
  size_t end = 0;
  const uint8_t huge_array[] = {0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0}, huge_text[] = {0xdb, 0xff, 0xff, 0xff, 0xff, 'a'};
  const uint8_t huge_map[] = {0xdf, 0x80, 0, 0, 0, 0xc0, 0xc0}, never[] = {0xc1}, fits[] = {0xdd, 0, 0, 0, 1, 0xc0};
  ck_assert(!msgpack_check(huge_array, sizeof huge_array, &end));
  ck_assert(!msgpack_check(huge_text, sizeof huge_text, &end));
  ck_assert(!msgpack_check(huge_map, sizeof huge_map, &end));
  ck_assert(!msgpack_check(never, sizeof never, &end));
  ck_assert(!msgpack_check(NULL, 0, &end));
  ck_assert(msgpack_check(fits, sizeof fits, &end));
  ck_assert_uint_eq(end, sizeof fits);
  uint8_t deep[64];
  memset(deep, 0x91, sizeof deep);
  deep[sizeof deep - 1] = 0xc0;
  ck_assert(!msgpack_check(deep, sizeof deep, &end));
  ck_assert(msgpack_check(deep + sizeof deep - 10, 10, &end));
}
END_TEST

START_TEST(damaged_bytes_never_crash) {
  struct pack pack;
  struct metadata metadata;
  build(&pack, NULL, 32, 8, "global_buffer");
  for (size_t size = 0; size < pack.size; size++) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, pack.bytes, size);
    ck_assert_int_eq(metadata_read(copy, size, 0, &metadata), HRX_INVALID);
    free(copy);
  }
  for (size_t at = 0; at < pack.size; at++)
    for (int value = 0; value < 256; value++) {
      uint8_t old = pack.bytes[at];
      pack.bytes[at] = (uint8_t)value;
      hrx_status status = read_it(&pack, &metadata);
      if (status == HRX_OK)
        metadata_release_kernels(metadata.kernels, metadata.kernel_count);
      else
        ck_assert_int_eq(status, HRX_INVALID);
      pack.bytes[at] = old;
    }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("metadata");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_kernel_is_read);
  tcase_add_test(tests, what_breaks_a_rule_is_named);
  tcase_add_test(tests, explicit_arguments_come_first);
  tcase_add_test(tests, counts_are_checked_before_anything_is_allocated);
  tcase_add_test(tests, damaged_bytes_never_crash);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
