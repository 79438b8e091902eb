/* Clocks: sparse, sorted, joined by maximum. */
#include "engine/point.h"

#include <check.h>

static struct point on(uint32_t lane, uint64_t sequence) { return (struct point){lane, sequence}; }

START_TEST(a_clock_covers_what_was_included_and_no_more) {
  struct clock clock = {0};
  ck_assert(clock_covers(&clock, on(3, 0)));
  ck_assert(!clock_covers(&clock, on(3, 1)));
  ck_assert_int_eq(clock_include(&clock, on(3, 5)), HRX_OK);
  ck_assert_int_eq(clock_include(&clock, on(3, 4)), HRX_OK);
  ck_assert_uint_eq(clock.count, 1);
  ck_assert(clock_covers(&clock, on(3, 5)));
  ck_assert(!clock_covers(&clock, on(3, 6)));
  ck_assert(!clock_covers(&clock, on(2, 1)));
  clock_include(&clock, on(9, 0)); /* "already" adds nothing */
  ck_assert_uint_eq(clock.count, 1);
  clock_finish(&clock);
}
END_TEST

START_TEST(joins_agree_with_a_plain_table) {
  unsigned random = 7;
  for (int round = 0; round < 300; round++) {
    uint64_t table[2][40] = {{0}};
    struct clock clocks[2] = {{0}, {0}};
    for (int side = 0; side < 2; side++) {
      random = random * 1664525u + 1013904223u;
      unsigned adds = (random >> 20) % 40;
      for (unsigned i = 0; i < adds; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t lane = (random >> 10) % 40;
        uint64_t sequence = (random >> 16) % 100;
        if (table[side][lane] < sequence) table[side][lane] = sequence;
        ck_assert_int_eq(clock_include(&clocks[side], on(lane, sequence)), HRX_OK);
      }
    }
    ck_assert_int_eq(clock_join(&clocks[0], &clocks[1]), HRX_OK);
    const struct point *points = clock_points(&clocks[0]);
    for (uint32_t i = 1; i < clocks[0].count; i++) ck_assert_uint_lt(points[i - 1].lane, points[i].lane);
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < 40; lane++) {
      uint64_t most = table[0][lane] > table[1][lane] ? table[0][lane] : table[1][lane];
      ck_assert(clock_covers(&clocks[0], on(lane, most)));
      ck_assert(!clock_covers(&clocks[0], on(lane, most + 1)));
      lanes += most != 0;
    }
    ck_assert_uint_eq(clocks[0].count, lanes);
    ck_assert_int_eq(clock_copy(&clocks[1], &clocks[0]), HRX_OK);
    ck_assert_uint_eq(clocks[1].count, lanes);
    clock_finish(&clocks[0]);
    clock_finish(&clocks[1]);
  }
}
END_TEST

static bool odd(struct point point, const void *context) {
  (void)context;
  return point.lane % 2 == 1;
}

START_TEST(keep_drops_the_rest_and_reset_keeps_room) {
  struct clock clock = {0};
  for (uint32_t lane = 0; lane < 20; lane++) clock_include(&clock, on(lane, 1));
  clock_keep(&clock, odd, NULL);
  ck_assert_uint_eq(clock.count, 10);
  ck_assert(clock_covers(&clock, on(19, 1)));
  ck_assert(!clock_covers(&clock, on(18, 1)));
  uint32_t capacity = clock.capacity;
  clock_reset(&clock);
  ck_assert_uint_eq(clock.count, 0);
  ck_assert_uint_eq(clock.capacity, capacity);
  clock_finish(&clock);
  ck_assert_uint_eq(clock.capacity, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("point");
  TCase *tests = tcase_create("all");
  tcase_add_test(tests, a_clock_covers_what_was_included_and_no_more);
  tcase_add_test(tests, joins_agree_with_a_plain_table);
  tcase_add_test(tests, keep_drops_the_rest_and_reset_keeps_room);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
