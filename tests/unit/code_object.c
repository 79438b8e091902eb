/* Code objects: what the compilers write is read in full; damage gives an error, never a crash. */
#include "code/code_object.h"

#include <string.h>

#include "code/elf_file.h"
#include "fixture.h"

static struct code_object *opened(const struct fixture *file) {
  struct code_object *object = NULL;
  hrx_status status = code_object_open(file->bytes, file->size, &object);
  ck_assert_msg(status == HRX_OK, "%s", hrx_last_message());
  return object;
}

static const struct code_variable *variable(const struct code_object *object, const char *name) {
  for (uint32_t i = 0; i < object->variable_count; i++)
    if (strcmp(object->variables[i].name, name) == 0) return &object->variables[i];
  ck_abort_msg("no variable %s", name);
}

static uint64_t word64(const uint8_t *image, uint64_t address) {
  uint64_t value;
  memcpy(&value, image + address, sizeof value);
  return value;
}

START_TEST(every_version_says_the_same_of_the_kernel) {
  static const char *const names[] = {"v3.co", "v4.co", "v5.co"};
  struct fixture file = fixture_read(names[_i]);
  struct code_object *object = opened(&file);
  ck_assert_str_eq(object->target, "gfx1030");
  ck_assert_str_eq(object->features, "");
  ck_assert_uint_eq(object->version, (unsigned)_i + 3);
  ck_assert_uint_eq(object->kernel_count, 2);
  const struct kernel_code *add = code_object_kernel(object, "add");
  ck_assert_ptr_nonnull(add);
  ck_assert_str_eq(add->symbol, "add.kd");
  ck_assert_uint_eq(add->explicit_count, 4);
  ck_assert_uint_eq(add->explicit_bytes, 24);
  ck_assert_uint_eq(add->group_segment_bytes, 256);
  ck_assert_uint_eq(add->descriptor.group_segment_bytes, 256);
  ck_assert_uint_eq(add->wave_lanes, 32);
  ck_assert_uint_eq(add->arguments[1].offset, 8);
  ck_assert_int_eq(add->arguments[1].kind, ARGUMENT_GLOBAL_BUFFER);
  ck_assert_int_eq(_i == 2 ? add->arguments[1].actual_access : add->arguments[1].access, ARGUMENT_ACCESS_READ);
  ck_assert_int_eq(add->arguments[2].kind, ARGUMENT_BY_VALUE);
  ck_assert_uint_eq(add->arguments[3].offset, 20);
  ck_assert_uint_gt(add->code_bytes, 100);
  ck_assert_uint_lt(add->code_bytes, 1000);
  ck_assert_uint_eq(code_object_kernel(object, "second")->max_workgroup, 128);
  ck_assert_ptr_null(code_object_kernel(object, "absent"));
  code_object_release(object);
  free(file.bytes);
}
END_TEST

START_TEST(hidden_arguments_of_version_5_follow_the_explicit_ones) {
  struct fixture file = fixture_read("v5.co");
  struct code_object *object = opened(&file);
  const struct kernel_code *add = code_object_kernel(object, "add");
  ck_assert_uint_gt(add->argument_count, add->explicit_count);
  for (uint32_t i = 0; i < add->argument_count; i++) {
    ck_assert_int_eq(add->arguments[i].hidden, i >= add->explicit_count);
    ck_assert_int_ne(add->arguments[i].kind, ARGUMENT_UNKNOWN);
    ck_assert_uint_le(add->arguments[i].offset + add->arguments[i].bytes, add->kernarg_bytes);
  }
  ck_assert_int_eq(add->arguments[4].kind, ARGUMENT_HIDDEN_BLOCK_COUNT_X);
  ck_assert_int_eq(add->arguments[7].kind, ARGUMENT_HIDDEN_GROUP_SIZE_X);
  code_object_release(object);
  free(file.bytes);
}
END_TEST

START_TEST(loading_fills_variables_and_relocates_pointers) {
  struct fixture file = fixture_read("v5.co");
  struct code_object *object = opened(&file);
  uint8_t *image = malloc(object->image_bytes);
  memset(image, 0xee, object->image_bytes);
  const uint64_t base = UINT64_C(0x7f1234560000);
  ck_assert_int_eq(code_object_load(object, file.bytes, file.size, base, image), HRX_OK);
  const struct code_variable *counter = variable(object, "counter"), *pointer = variable(object, "pointer");
  ck_assert_uint_eq(counter->bytes, 4);
  ck_assert_uint_eq(variable(object, "table")->bytes, 16);
  ck_assert_uint_eq(image[counter->address], 3);
  ck_assert_uint_eq(word64(image, pointer->address), base + counter->address);
  /* the gap behind the first segment is zero, whatever was there */
  uint64_t gap = object->segments[0].address + object->segments[0].memory_bytes;
  ck_assert_uint_lt(gap, object->segments[1].address);
  ck_assert_uint_eq(image[gap], 0);
  free(image);
  code_object_release(object);
  free(file.bytes);
}
END_TEST

/* Rewrites the one relocation of the fixture and loads it. */
static hrx_status load_with(const struct fixture *file, uint64_t info, uint64_t addend, uint64_t place,
                            uint64_t *out_pointer) {
  struct elf_file elf;
  struct elf_section section;
  ck_assert_int_eq(elf_file_open(file->bytes, file->size, &elf), HRX_OK);
  ck_assert(elf_file_find_section(&elf, ".rela.dyn", &section));
  elf_file_finish(&elf);
  Elf64_Rela *relocation = (Elf64_Rela *)(void *)(file->bytes + section.header.sh_offset);
  Elf64_Rela old = *relocation;
  relocation->r_info = info;
  relocation->r_addend = (int64_t)addend;
  if (place != 0) relocation->r_offset = place;
  struct code_object *object = opened(file);
  uint8_t *image = malloc(object->image_bytes);
  hrx_status status = code_object_load(object, file->bytes, file->size, 0x100000, image);
  *out_pointer = word64(image, old.r_offset);
  *relocation = old;
  free(image);
  code_object_release(object);
  return status;
}

START_TEST(relocations_by_symbol_and_their_limits) {
  struct fixture file = fixture_read("v5.co");
  struct elf_file elf;
  struct elf_symbol *symbols = NULL;
  size_t count = 0, index = 0;
  ck_assert_int_eq(elf_file_open(file.bytes, file.size, &elf), HRX_OK);
  for (unsigned i = 1; i < elf.header.e_shnum; i++)
    if (elf_file_section(&elf, i).header.sh_type == SHT_DYNSYM)
      ck_assert_int_eq(elf_file_symbols(&elf, i, &symbols, &count), HRX_OK);
  while (index < count && strcmp(symbols[index].name, "table") != 0) index++;
  ck_assert_uint_lt(index, count);
  uint64_t table = symbols[index].address, value = 0;
  free(symbols);
  elf_file_finish(&elf);

  ck_assert_int_eq(load_with(&file, (uint64_t)index << 32 | 3, 4, 0, &value), HRX_OK); /* ABS64 */
  ck_assert_uint_eq(value, 0x100000 + table + 4);
  ck_assert_int_eq(load_with(&file, (uint64_t)index << 32 | 1, 0, 0, &value),
                   HRX_OK); /* ABS32_LO: the upper half stays */
  ck_assert_uint_eq(value & 0xffffffff, 0x100000 + table);
  ck_assert_int_eq(load_with(&file, (uint64_t)count << 32 | 3, 0, 0, &value), HRX_INVALID); /* no such symbol */
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
  ck_assert_int_eq(load_with(&file, 5, 0, 0, &value), HRX_INVALID); /* REL64 */
  ck_assert_int_eq(load_with(&file, 13, 0, UINT64_MAX - 3, &value), HRX_INVALID);
  free(file.bytes);
}
END_TEST

START_TEST(old_and_foreign_files_are_refused_by_name) {
  struct fixture file = fixture_read("v4.co");
  struct code_object *object = NULL;
  file.bytes[8] = 0; /* EI_ABIVERSION of version 2 */
  ck_assert_int_eq(code_object_open(file.bytes, file.size, &object), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "version 2"));
  file.bytes[8] = 2;
  file.bytes[18] = 62; /* x86-64 */
  ck_assert_int_eq(code_object_open(file.bytes, file.size, &object), HRX_INVALID);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "machine 62"));
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "0x12"));
  file.bytes[18] = 224;
  file.bytes[48] = 0x37; /* the header says gfx1031, the metadata gfx1030 */
  ck_assert_int_eq(code_object_open(file.bytes, file.size, &object), HRX_INVALID);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "gfx1031"));
  ck_assert_ptr_null(object);
  free(file.bytes);
}
END_TEST

static unsigned good, refused;

static void try_bytes(const uint8_t *bytes, size_t size) {
  struct code_object *object = NULL;
  hrx_status status = code_object_open(bytes, size, &object);
  if (status == HRX_OK) {
    good++;
    if (object->image_bytes < 1 << 20) {
      uint8_t *image = malloc(object->image_bytes + 1);
      code_object_load(object, bytes, size, 4096, image);
      free(image);
    }
    code_object_release(object);
    return;
  }
  refused++;
  ck_assert_int_eq(status, HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_IMAGE);
  ck_assert_ptr_null(object);
}

START_TEST(every_prefix_is_refused) {
  struct fixture file = fixture_read(_i == 0 ? "v4.co" : "v5.co");
  good = refused = 0;
  fixture_prefixes(&file, try_bytes);
  ck_assert_uint_eq(refused, file.size);
  free(file.bytes);
}
END_TEST

START_TEST(one_wrong_byte_never_crashes) {
  struct fixture file = fixture_read(_i == 0 ? "v4.co" : "v5.co");
  good = refused = 0;
  fixture_corruptions(&file, try_bytes);
  ck_assert_uint_gt(good, 100);    /* a byte of the machine code is nobody's business here */
  ck_assert_uint_gt(refused, 100); /* one of a header is */
  free(file.bytes);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("code_object");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, every_version_says_the_same_of_the_kernel, 0, 3);
  tcase_add_test(tests, hidden_arguments_of_version_5_follow_the_explicit_ones);
  tcase_add_test(tests, loading_fills_variables_and_relocates_pointers);
  tcase_add_test(tests, relocations_by_symbol_and_their_limits);
  tcase_add_test(tests, old_and_foreign_files_are_refused_by_name);
  tcase_add_loop_test(tests, every_prefix_is_refused, 0, 2);
  tcase_add_loop_test(tests, one_wrong_byte_never_crashes, 0, 2);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
