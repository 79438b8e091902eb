/* Frontiers: what waits for what, how segments split, merge and coarsen. */
#include "engine/frontier.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "memory/storage.h"

static struct lane_table lanes;
static struct frontier_pool pool;
static struct storage storage;
static struct frontier *frontier;
static struct clock waits;

static void setup(void) {
  ck_assert(lane_table_add_locked(&lanes, lane_chunk_create()));
  frontier_pool_add(&pool, frontier_slab_create());
  frontier = frontier_of(&pool, &storage);
  clock_reserve(&waits, 256);
}

static void teardown(void) {
  frontier_pool_finish(&pool);
  ck_assert_ptr_null(storage.frontier);
  lane_table_finish(&lanes);
  lanes = (struct lane_table){0};
  clock_finish(&waits);
}

static void record(enum access_kind kind, size_t begin, size_t end, uint32_t lane, uint64_t sequence) {
  frontier_record(&pool, frontier, begin, end, kind, (struct point){lane, sequence}, 0);
}

/* How many lanes an access waits for if its order has everything up to `sequence` on lanes 0 to 99. */
static uint32_t waits_of(enum access_kind kind, size_t begin, size_t end, uint64_t sequence) {
  struct clock order = {0};
  for (uint32_t lane = 0; lane < 100; lane++) clock_include(&order, (struct point){lane, sequence});
  clock_reset(&waits);
  frontier_waits(&pool, frontier, begin, end, kind, &order, &lanes, &waits);
  clock_finish(&order);
  return waits.count;
}

static void finish(uint32_t lane, uint64_t sequence) { lane_at(&lanes, lane)->completed = sequence; }

START_TEST(read_after_read_needs_no_edge) {
  record(ACCESS_READ, 0, 64, 0, 1);
  ck_assert_uint_eq(waits_of(ACCESS_READ, 0, 64, 9), 0);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 32, 40, 9), 1);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 64, 65, 9), 0);
}
END_TEST

START_TEST(every_pair_of_kinds) {
  enum access_kind kinds[4] = {ACCESS_READ, ACCESS_WRITE, ACCESS_READ_WRITE, ACCESS_ATOMIC};
  const uint32_t expected[4][4] = {{0, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 0}};
  for (size_t i = 0; i < 4; i++) {
    record(kinds[i], i * 10, i * 10 + 10, 1, i + 1);
    for (size_t k = 0; k < 4; k++) ck_assert_uint_eq(waits_of(kinds[k], i * 10 + 9, i * 10 + 10, 9), expected[i][k]);
  }
}
END_TEST

START_TEST(only_the_outer_order_counts) {
  record(ACCESS_WRITE, 0, 64, 100, 1);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 64, 9), 0);
  record(ACCESS_WRITE, 0, 64, 5, 3);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 64, 9), 1);
  ck_assert_uint_eq(clock_points(&waits)[0].sequence, 3);
  /* an order that has only an earlier part of the lane waits for that part: there may have been an access in it */
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 64, 2), 1);
  ck_assert_uint_eq(clock_points(&waits)[0].sequence, 2);
}
END_TEST

START_TEST(a_write_does_not_hide_the_reader_before_it) {
  record(ACCESS_READ, 0, 64, 0, 1);
  record(ACCESS_WRITE, 0, 64, 1, 1);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 64, 9), 2);
  record(ACCESS_ATOMIC, 0, 64, 2, 1);
  record(ACCESS_ATOMIC, 0, 64, 3, 1);
  ck_assert_uint_eq(waits_of(ACCESS_ATOMIC, 0, 64, 9), 2); /* the read and the write, not the atomics */
  ck_assert_uint_eq(waits_of(ACCESS_READ, 0, 64, 9), 3);   /* the write and both atomics, not the read */
}
END_TEST

START_TEST(the_newest_of_a_lane_counts_in_whatever_order_they_come) {
  const enum access_kind kinds[] = {ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC};
  for (uint32_t i = 0; i < 3; i++) {
    size_t at = 100 * i;
    record(kinds[i], at, at + 64, i, 5);
    record(kinds[i], at + 32, at + 96, i, 3);
    ck_assert_uint_eq(waits_of(ACCESS_WRITE, at + 40, at + 41, 9), 1);
    ck_assert_uint_eq(clock_points(&waits)[0].sequence, 5);
    ck_assert_uint_eq(waits_of(ACCESS_WRITE, at + 64, at + 96, 9), 1);
    ck_assert_uint_eq(clock_points(&waits)[0].sequence, 3);
  }
}
END_TEST

START_TEST(points_that_are_over_vanish) {
  record(ACCESS_WRITE, 0, 100, 0, 1);
  record(ACCESS_READ, 50, 60, 1, 1);
  ck_assert_uint_eq(frontier->segment_count, 3);
  finish(0, 1);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 100, 9), 1);
  ck_assert_uint_eq(frontier->segment_count, 1);
  finish(1, 1);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 0, 100, 9), 0);
  ck_assert_uint_eq(frontier->segment_count, 0);
  ck_assert_uint_eq(frontier->entry_count, 0);
}
END_TEST

START_TEST(a_failure_that_nobody_took_is_not_quiet) {
  record(ACCESS_WRITE, 0, 100, 0, 2);
  finish(0, 2);
  lane_at(&lanes, 0)->failed = 2;
  ck_assert_uint_eq(waits_of(ACCESS_READ, 0, 100, 9), 1);
  lane_at(&lanes, 0)->failed = UINT64_MAX;
  ck_assert_uint_eq(waits_of(ACCESS_READ, 0, 100, 9), 0);
}
END_TEST

START_TEST(equal_neighbours_merge_and_gaps_stay) {
  for (size_t i = 0; i < 16; i++) record(ACCESS_READ, i * 4096, i * 4096 + 4096, 0, 7);
  ck_assert_uint_eq(frontier->segment_count, 1);
  ck_assert_uint_eq(frontier->entry_count, 1);
  record(ACCESS_READ, 20 * 4096, 21 * 4096, 0, 7);
  ck_assert_uint_eq(frontier->segment_count, 2);
  ck_assert_uint_eq(waits_of(ACCESS_WRITE, 17 * 4096, 18 * 4096, 9), 0);
}
END_TEST

/* Against one set of points a byte: never less; and exactly that while segments are few. */
START_TEST(it_agrees_with_a_model_of_bytes) {
  enum { BYTES = 200, LANES = 5 };
  unsigned random = 99;
  for (int round = 0; round < 200; round++) {
    static uint64_t model[BYTES][LANES][2]; /* newest read, newest write */
    memset(model, 0, sizeof model);
    struct storage fresh = {0};
    frontier = frontier_of(&pool, &fresh);
    uint64_t sequences[LANES] = {0};
    for (int step = 0; step < 60; step++) {
      random = random * 1664525u + 1013904223u;
      size_t begin = (random >> 8) % BYTES, end = begin + 1 + (random >> 16) % (BYTES - begin);
      uint32_t lane = (random >> 3) % LANES;
      bool write = (random >> 28) & 1;
      uint64_t expected[LANES] = {0};
      for (size_t at = begin; at < end; at++)
        for (uint32_t other = 0; other < LANES; other++) {
          uint64_t newest = model[at][other][1];
          if (write && model[at][other][0] > newest) newest = model[at][other][0];
          if (newest > expected[other]) expected[other] = newest;
        }
      waits_of(write ? ACCESS_WRITE : ACCESS_READ, begin, end, UINT64_MAX);
      for (uint32_t other = 0; other < LANES; other++) {
        uint64_t found = clock_sequence(&waits, other);
        ck_assert_uint_ge(found, expected[other]);
        if (frontier->segment_count < 20) ck_assert_uint_eq(found, expected[other]);
      }
      if (pool.entry_count < 4000) frontier_pool_add(&pool, frontier_slab_create());
      record(write ? ACCESS_WRITE : ACCESS_READ, begin, end, lane, ++sequences[lane]);
      for (size_t at = begin; at < end; at++) model[at][lane][write] = sequences[lane];
      ck_assert_uint_le(frontier->segment_count, FRONTIER_SEGMENTS);
      size_t last = 0;
      for (const struct frontier_segment *segment = frontier->segments; segment != NULL; segment = segment->next) {
        ck_assert_uint_ge(segment->begin, last);
        ck_assert_uint_gt(segment->end, segment->begin);
        last = segment->end;
      }
    }
    /* give the nodes back */
    for (uint32_t other = 0; other < LANES; other++) finish(other, UINT64_MAX);
    waits_of(ACCESS_WRITE, 0, BYTES, 9);
    ck_assert_uint_eq(frontier->entry_count, 0);
    for (uint32_t other = 0; other < LANES; other++) finish(other, 0);
    frontier->storage = NULL;
    frontier->next_free = pool.frontiers;
    pool.frontiers = frontier;
  }
}
END_TEST

START_TEST(many_pieces_coarsen_and_never_lose_order) {
  for (size_t i = 0; i < 500; i++) {
    if (pool.entry_count < 2000) frontier_pool_add(&pool, frontier_slab_create());
    record(ACCESS_WRITE, i * 20, i * 20 + 10, (uint32_t)(i % 100), 1 + i / 100);
    ck_assert_uint_le(frontier->segment_count, FRONTIER_SEGMENTS);
  }
  for (size_t i = 0; i < 500; i++) {
    waits_of(ACCESS_READ, i * 20 + 9, i * 20 + 10, 9);
    ck_assert_uint_ge(clock_sequence(&waits, (uint32_t)(i % 100)), 1 + i / 100);
  }
}
END_TEST

START_TEST(an_empty_pool_coarsens_instead_of_failing) {
  struct frontier_segment *last;
  for (uint32_t i = 0; i < 90; i++) record(ACCESS_WRITE, i, i + 1, i, 1);
  /* leave four nodes */
  while (pool.segment_count > 4) {
    last = pool.segments;
    pool.segments = last->next;
    pool.segment_count--;
  }
  record(ACCESS_WRITE, 1000, 1010, 95, 1);
  ck_assert_uint_eq(frontier->segment_count, 1);
  ck_assert_uint_eq(waits_of(ACCESS_READ, 5, 6, 9), 91);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("frontier");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 60);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, read_after_read_needs_no_edge);
  tcase_add_test(tests, every_pair_of_kinds);
  tcase_add_test(tests, only_the_outer_order_counts);
  tcase_add_test(tests, a_write_does_not_hide_the_reader_before_it);
  tcase_add_test(tests, the_newest_of_a_lane_counts_in_whatever_order_they_come);
  tcase_add_test(tests, points_that_are_over_vanish);
  tcase_add_test(tests, a_failure_that_nobody_took_is_not_quiet);
  tcase_add_test(tests, equal_neighbours_merge_and_gaps_stay);
  tcase_add_test(tests, it_agrees_with_a_model_of_bytes);
  tcase_add_test(tests, many_pieces_coarsen_and_never_lose_order);
  tcase_add_test(tests, an_empty_pool_coarsens_instead_of_failing);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
