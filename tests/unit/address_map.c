/* The address map: boundaries, splits, overlaps, and readers beside a writer. */
#include "memory/address_map.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

static struct address_map map;
static int owners[4096];

static void forget(void) { address_map_finish(&map); }

START_TEST(a_range_ends_before_its_end) {
  ck_assert_int_eq(address_map_insert(&map, 1001, 1003, &owners[0]), HRX_OK);
  ck_assert_ptr_eq(address_map_find(&map, 1000), NULL);
  ck_assert_ptr_eq(address_map_find(&map, 1001), &owners[0]);
  ck_assert_ptr_eq(address_map_find(&map, 1002), &owners[0]);
  ck_assert_ptr_eq(address_map_find(&map, 1003), NULL);
  ck_assert(!address_map_remove(&map, 1002));
  ck_assert(address_map_remove(&map, 1001));
  ck_assert_ptr_eq(address_map_find(&map, 1001), NULL);
  forget();
}
END_TEST

START_TEST(ranges_that_touch_are_fine_and_ranges_that_overlap_are_refused) {
  ck_assert_int_eq(address_map_insert(&map, 100, 200, &owners[0]), HRX_OK);
  ck_assert_int_eq(address_map_insert(&map, 200, 300, &owners[1]), HRX_OK);
  ck_assert_int_eq(address_map_insert(&map, 50, 100, &owners[2]), HRX_OK);
  ck_assert_int_eq(address_map_insert(&map, 299, 301, &owners[3]), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LIVE);
  ck_assert_int_eq(address_map_insert(&map, 10, 51, &owners[3]), HRX_INVALID);
  ck_assert_int_eq(address_map_insert(&map, 150, 160, &owners[3]), HRX_INVALID);
  ck_assert_int_eq(address_map_insert(&map, 1, 1000, &owners[3]), HRX_INVALID);
  ck_assert_uint_eq(map.ranges, 3);
  forget();
}
END_TEST

/* Against a table of flags, in an order that splits blocks everywhere. */
START_TEST(it_agrees_with_a_plain_table) {
  static bool in[4096];
  unsigned random = 12345;
  for (int step = 0; step < 40000; step++) {
    random = random * 1664525u + 1013904223u;
    size_t which = (random >> 8) & 4095;
    uintptr_t begin = 0x10000 + which * 16;
    bool grow = step < 20000 ? (random >> 24) % 4 != 0 : (random >> 24) % 4 == 0;
    if (grow && !in[which]) ck_assert_int_eq(address_map_insert(&map, begin, begin + 15, &owners[which]), HRX_OK);
    if (!grow) ck_assert(address_map_remove(&map, begin) == in[which]);
    in[which] = grow;
    size_t other = (random >> 4) & 4095;
    uintptr_t inner = 0x10000 + other * 16 + (random & 15);
    void *expected = in[other] && (random & 15) < 15 ? &owners[other] : NULL;
    ck_assert_ptr_eq(address_map_find(&map, inner), expected);
  }
  forget();
}
END_TEST

START_TEST(nearest_takes_the_shorter_way) {
  ck_assert_ptr_eq(address_map_nearest(&map, 5), NULL);
  ck_assert_int_eq(address_map_insert(&map, 100, 200, &owners[0]), HRX_OK);
  ck_assert_int_eq(address_map_insert(&map, 300, 400, &owners[1]), HRX_OK);
  ck_assert_ptr_eq(address_map_nearest(&map, 1), &owners[0]);
  ck_assert_ptr_eq(address_map_nearest(&map, 220), &owners[0]);
  ck_assert_ptr_eq(address_map_nearest(&map, 280), &owners[1]);
  ck_assert_ptr_eq(address_map_nearest(&map, 350), &owners[1]);
  ck_assert_ptr_eq(address_map_nearest(&map, 5000), &owners[1]);
  forget();
}
END_TEST

static _Atomic bool stop;

static void *read_always(void *context) {
  (void)context;
  size_t wrong = 0;
  while (!stop) {
    for (uintptr_t which = 0; which < 1000; which += 2) /* even ones are always there */
      wrong += address_map_find(&map, 0x10000 + which * 16 + 7) != &owners[which];
    wrong += address_map_find(&map, 0xf000) != NULL;
  }
  return (void *)wrong;
}

START_TEST(readers_never_miss_a_range_that_stays) {
  for (uintptr_t which = 0; which < 1000; which += 2)
    ck_assert_int_eq(address_map_insert(&map, 0x10000 + which * 16, 0x10010 + which * 16, &owners[which]), HRX_OK);
  pthread_t readers[2];
  stop = false;
  for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&readers[i], NULL, read_always, NULL), 0);
  for (int round = 0; round < 20; round++) {
    for (uintptr_t which = 1; which < 1000; which += 2)
      ck_assert_int_eq(address_map_insert(&map, 0x10000 + which * 16, 0x10010 + which * 16, &owners[which]), HRX_OK);
    for (uintptr_t which = 1; which < 1000; which += 2) ck_assert(address_map_remove(&map, 0x10000 + which * 16));
  }
  stop = true;
  for (int i = 0; i < 2; i++) {
    void *wrong;
    pthread_join(readers[i], &wrong);
    ck_assert_ptr_eq(wrong, NULL);
  }
  forget();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("address_map");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_range_ends_before_its_end);
  tcase_add_test(tests, ranges_that_touch_are_fine_and_ranges_that_overlap_are_refused);
  tcase_add_test(tests, it_agrees_with_a_plain_table);
  tcase_add_test(tests, nearest_takes_the_shorter_way);
  tcase_add_test(tests, readers_never_miss_a_range_that_stays);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
