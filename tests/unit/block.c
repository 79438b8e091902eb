/* Blocks for large arrays: zeroed when asked, kept and found again, grown, refused. */
#include "base/block.h"

#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

static const size_t sizes[] = {0, 1, 4096, 4097, 5000, 100000, 1 << 20, (2 << 20) - 16, 2 << 20, (2 << 20) + 1, 16 << 20, (16 << 20) + 1};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void bytes_are(const unsigned char *bytes, size_t count, unsigned char wanted) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != wanted) ck_abort_msg("byte %zu of %zu is %u", i, count, bytes[i]);
}

START_TEST(what_is_taken_is_zero_however_often) {
  for (unsigned round = 0; round < 3; round++)
    for (unsigned i = 0; i < SIZES; i++) {
      unsigned char *bytes = block_take(sizes[i], 1);
      ck_assert_ptr_nonnull(bytes);
      ck_assert_uint_eq((uintptr_t)bytes % 16, 0);
      bytes_are(bytes, sizes[i], 0);
      memset(bytes, 0xa5, sizes[i]);
      block_return(bytes);
    }
}
END_TEST

START_TEST(no_two_have_a_byte_in_common) {
  unsigned char *blocks[SIZES][3];
  for (unsigned i = 0; i < SIZES; i++)
    for (unsigned k = 0; k < 3; k++) {
      blocks[i][k] = block_take_unset(sizes[i], 1);
      ck_assert_ptr_nonnull(blocks[i][k]);
      memset(blocks[i][k], (int)(1 + i * 3 + k), sizes[i]);
    }
  for (unsigned i = 0; i < SIZES; i++)
    for (unsigned k = 0; k < 3; k++) {
      bytes_are(blocks[i][k], sizes[i], (unsigned char)(1 + i * 3 + k));
      block_return(blocks[i][k]);
    }
}
END_TEST

START_TEST(what_grows_keeps_what_it_has) {
  uint32_t *items = NULL;
  size_t capacity = 0;
  for (uint32_t i = 0; i < 700000; i++) {
    if (!block_grow((void **)&items, i, &capacity, i + 1, sizeof *items) || capacity <= i) ck_abort_msg("no room for item %u", i);
    items[i] = i * 3;
  }
  for (uint32_t i = 0; i < 700000; i++)
    if (items[i] != i * 3) ck_abort_msg("item %u is %u", i, items[i]);
  block_return(items);
}
END_TEST

START_TEST(too_much_is_refused) {
  void *items = NULL;
  size_t capacity = 0;
  ck_assert_ptr_null(block_take(SIZE_MAX / 2, 3));
  ck_assert_ptr_null(block_take_unset(SIZE_MAX - 8, 1));
  ck_assert_ptr_null(block_take(SIZE_MAX / 2, 1));
  ck_assert(!block_grow(&items, 0, &capacity, SIZE_MAX / 4, 8));
  ck_assert_ptr_null(items);
  ck_assert_uint_eq(capacity, 0);
  block_return(NULL);
}
END_TEST

static void *work(void *argument) {
  unsigned char mine = *(unsigned char *)argument;
  for (unsigned i = 0; i < 3000; i++) {
    size_t bytes = 5000 + i % 7 * 3000;
    unsigned char *block = block_take_unset(bytes, 1);
    memset(block, mine, bytes);
    for (size_t at = 0; at < bytes; at += 500)
      if (block[at] != mine) return argument;
    block_return(block);
  }
  return NULL;
}

START_TEST(threads_do_not_get_the_same) {
  pthread_t threads[4];
  unsigned char marks[4] = {1, 2, 3, 4};
  for (unsigned i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &marks[i]), 0);
  for (unsigned i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    ck_assert_ptr_null(wrong);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("block");
  TCase *tests = tcase_create("block");
  tcase_add_test(tests, what_is_taken_is_zero_however_often);
  tcase_add_test(tests, no_two_have_a_byte_in_common);
  tcase_add_test(tests, what_grows_keeps_what_it_has);
  tcase_add_test(tests, too_much_is_refused);
  tcase_add_test(tests, threads_do_not_get_the_same);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
