/* The storage of a domain: zero pages, reuse, limits, registered ranges, ten thousand allocations. */
#include "memory/memory.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct memory *memory;

static void setup(void) { ck_assert_int_eq(memory_create((uint64_t)64 << 20, &memory), HRX_OK); }
static void teardown(void) { memory_release(memory); }

static struct allocation *allocate(size_t bytes) {
  struct allocation *allocation = NULL;
  ck_assert_int_eq(memory_allocate(memory, bytes, 1, MEMORY_DEVICE, 7, 0, &allocation), HRX_OK);
  return allocation;
}

START_TEST(fresh_memory_is_zero_and_aligned) {
  size_t sizes[] = {1, 255, 256, 257, 4095, 4096, 5000, 1 << 20, (5 << 20) + 3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct allocation *allocation = allocate(sizes[i]);
    ck_assert_uint_eq(allocation->address % 256, 0);
    ck_assert_uint_eq(allocation->bytes, sizes[i]);
    ck_assert_uint_eq(allocation->flags, 7);
    const unsigned char *bytes = (const unsigned char *)allocation->address;
    for (size_t at = 0; at < sizes[i]; at++) ck_assert_uint_eq(bytes[at], 0);
    memset((void *)allocation->address, 0xa5, sizes[i]);
  }
  struct allocation *aligned = NULL;
  ck_assert_int_eq(memory_allocate(memory, 100, 1 << 16, MEMORY_HOST, 0, 0, &aligned), HRX_OK);
  ck_assert_uint_eq(aligned->address % (1 << 16), 0);
  ck_assert_int_eq(memory_allocate(memory, 100, 3 << 10, MEMORY_HOST, 0, 0, &aligned), HRX_INVALID);
  ck_assert_int_eq(memory_allocate(memory, 0, 256, MEMORY_HOST, 0, 0, &aligned), HRX_INVALID);
}
END_TEST

START_TEST(find_knows_every_byte_and_none_beside_it) {
  struct allocation *one = allocate(1000), *two = allocate(1 << 20);
  ck_assert_ptr_eq(memory_find(memory, one->address), one);
  ck_assert_ptr_eq(memory_find(memory, one->address + 999), one);
  ck_assert_ptr_eq(memory_find(memory, one->address + 1000), NULL);
  ck_assert_ptr_eq(memory_find(memory, two->address + (1 << 20) - 1), two);
  ck_assert_ptr_eq(memory_find(memory, two->address + (1 << 20)), NULL); /* the gap */
  ck_assert_ptr_eq(memory_nearest(memory, two->address + (1 << 20) + 8), two);
  uintptr_t address = one->address;
  uint64_t serial = one->serial, generation = memory_generation(memory);
  memory_free(memory, one);
  ck_assert_ptr_eq(memory_find(memory, address), NULL);
  ck_assert_uint_ne(memory_generation(memory), generation);
  struct allocation *again = allocate(999);
  ck_assert_uint_eq(again->address, address); /* reused, but not mistaken for the old one */
  ck_assert_uint_gt(again->serial, serial);
  memory_free(memory, NULL);
}
END_TEST

START_TEST(the_limit_is_charged_and_the_message_has_the_numbers) {
  struct allocation *big = allocate(60 << 20), *refused = NULL;
  ck_assert_int_eq(memory_allocate(memory, 5 << 20, 256, MEMORY_DEVICE, 0, 0, &refused), HRX_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "5242880"));
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "62914560"));
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "67108864"));
  ck_assert_int_eq(memory_allocate(memory, SIZE_MAX - 100, 256, MEMORY_DEVICE, 0, 0, &refused), HRX_OUT_OF_MEMORY);
  ck_assert_int_eq(memory_allocate(memory, 8 << 20, 256, MEMORY_HOST, 0, 0, &refused), HRX_OK); /* not charged */
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  ck_assert_uint_eq(statistics.used, 60 << 20);
  ck_assert_uint_eq(statistics.live, 2);
  memory_free(memory, big);
  memory_statistics(memory, &statistics);
  ck_assert_uint_eq(statistics.used, 0);
  ck_assert_uint_eq(statistics.peak, 60 << 20);
  /* the cached 60 MiB must not stand in the way of other sizes */
  for (int i = 0; i < 8; i++) allocate(8 << 20);
}
END_TEST

START_TEST(registered_ranges_of_any_alignment) {
  char *bytes = malloc(10000);
  struct allocation *range = NULL, *other = NULL;
  ck_assert_int_eq(memory_register(memory, bytes + 3, 5001, 1, 0, &range), HRX_OK);
  ck_assert_ptr_eq(memory_find(memory, (uintptr_t)bytes + 2), NULL);
  ck_assert_ptr_eq(memory_find(memory, (uintptr_t)bytes + 3), range);
  ck_assert_ptr_eq(memory_find(memory, (uintptr_t)bytes + 5003), range);
  ck_assert_ptr_eq(memory_find(memory, (uintptr_t)bytes + 5004), NULL);
  ck_assert_int_eq(memory_register(memory, bytes + 5003, 1, 1, 0, &other), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_LIVE);
  ck_assert_int_eq(memory_register(memory, bytes, 0, 1, 0, &other), HRX_INVALID);
  ck_assert_int_eq(memory_register(memory, bytes, SIZE_MAX, 1, 0, &other), HRX_INVALID);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_ARGUMENT);
  memory_free(memory, range);
  ck_assert_int_eq(memory_register(memory, bytes, 10000, 1, 0, &range), HRX_OK);
  memory_free(memory, range);
  free(bytes);
}
END_TEST

static void count_rising(const struct allocation *allocation, void *context) {
  uintptr_t *last = context;
  ck_assert_uint_gt(allocation->address, last[0]);
  last[0] = allocation->address;
  last[1]++;
}

START_TEST(ten_thousand_live_allocations) {
  enum { COUNT = 10000 };
  static struct allocation *all[COUNT];
  for (size_t i = 0; i < COUNT; i++) all[i] = allocate(1 + i % 6000);
  for (size_t i = 0; i < COUNT; i++) ck_assert_ptr_eq(memory_find(memory, all[i]->address + i % 6000), all[i]);
  uintptr_t seen[2] = {0, 0};
  memory_visit(memory, count_rising, seen);
  ck_assert_uint_eq(seen[1], COUNT);
  for (size_t i = 0; i < COUNT; i++) memory_free(memory, all[i]);
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  ck_assert_uint_eq(statistics.live, 0);
  ck_assert_uint_eq(statistics.used, 0);
}
END_TEST

static void *allocate_and_free(void *context) {
  unsigned random = (unsigned)(uintptr_t)context;
  struct allocation *mine[16] = {0};
  for (int step = 0; step < 4000; step++) {
    random = random * 1664525u + 1013904223u;
    struct allocation **slot = &mine[(random >> 10) & 15];
    if (*slot != NULL) {
      if (memory_find(memory, (*slot)->address + (*slot)->bytes - 1) != *slot) return "a live allocation was not found";
      memory_free(memory, *slot);
      *slot = NULL;
    } else if (memory_allocate(memory, 1 + (random >> 12) % 100000, 256, MEMORY_DEVICE, 0, 0, slot) != HRX_OK) {
      return "out of memory";
    }
  }
  for (int i = 0; i < 16; i++) memory_free(memory, mine[i]);
  return NULL;
}

START_TEST(threads_allocate_find_and_free_at_once) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_and_free, (void *)i), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
  }
  struct memory_statistics statistics;
  memory_statistics(memory, &statistics);
  ck_assert_uint_eq(statistics.live, 0);
}
END_TEST

/* Cheap because it touches neither the system nor another chunk: the same bytes come back, with what was in them. */
START_TEST(a_size_freed_before_comes_back_as_it_was) {
  struct allocation *first = allocate(1 << 20);
  uintptr_t address = first->address;
  *(unsigned *)address = 0xabcd;
  memory_free(memory, first);
  for (int i = 0; i < 1000; i++) {
    struct allocation *again = allocate((1 << 20) - (size_t)i); /* the same class */
    ck_assert_uint_eq(again->address, address);
    ck_assert_uint_eq(*(unsigned *)address, 0xabcd);
    memory_free(memory, again);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 60);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, fresh_memory_is_zero_and_aligned);
  tcase_add_test(tests, find_knows_every_byte_and_none_beside_it);
  tcase_add_test(tests, the_limit_is_charged_and_the_message_has_the_numbers);
  tcase_add_test(tests, registered_ranges_of_any_alignment);
  tcase_add_test(tests, ten_thousand_live_allocations);
  tcase_add_test(tests, threads_allocate_find_and_free_at_once);
  tcase_add_test(tests, a_size_freed_before_comes_back_as_it_was);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
