/* Reading what tests/fixtures.mk made, and trying damaged copies of it. */
#ifndef HRX_TESTS_UNIT_FIXTURE_H
#define HRX_TESTS_UNIT_FIXTURE_H

#include <check.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
  uint8_t *bytes;
  size_t size;
};

/* The file lies beside the test: ../fixtures. */
static inline struct fixture fixture_read(const char *name) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  ck_assert_int_gt(length, 0);
  path[length] = '\0';
  for (int i = 0; i < 2; i++) *strrchr(path, '/') = '\0';
  size_t used = strlen(path);
  snprintf(path + used, sizeof path - used, "/fixtures/%s", name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  struct fixture fixture = {.bytes = malloc(1 << 20)};
  fixture.size = fread(fixture.bytes, 1, 1 << 20, file);
  fclose(file);
  ck_assert_uint_gt(fixture.size, 0);
  return fixture;
}

/* Calls `use` with each proper prefix, in a block of just that size so that a sanitizer sees what is read behind it. */
static inline void fixture_prefixes(const struct fixture *fixture, void (*use)(const uint8_t *, size_t)) {
  for (size_t size = 0; size < fixture->size; size++) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, fixture->bytes, size);
    use(copy, size);
    free(copy);
  }
}

/* Calls `use` with copies in which one byte is another one. */
static inline void fixture_corruptions(const struct fixture *fixture, void (*use)(const uint8_t *, size_t)) {
  static const uint8_t flips[] = {0x01, 0x80, 0xff};
  uint8_t *copy = malloc(fixture->size);
  memcpy(copy, fixture->bytes, fixture->size);
  for (size_t at = 0; at < fixture->size; at++)
    for (size_t i = 0; i < sizeof flips; i++) {
      copy[at] ^= flips[i];
      use(copy, fixture->size);
      copy[at] ^= flips[i];
    }
  free(copy);
}

#endif
