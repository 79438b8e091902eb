/* The programs that come with hrx for the software NPU: copy and bfloat16 GEMM, against naive references. */
#include "npu_device.h"

#define COPY "lib/npu/copy.so"
#define GEMM "lib/npu/gemm_bf16.so"

/* Different for each place, the same in each run. */
static uint32_t random_next(void) {
  static uint32_t state = 12345;
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

static float widen(uint16_t value) {
  uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* To nearest, ties to even, by looking at both neighbours. */
static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t low = (uint16_t)(bits >> 16), high = (uint16_t)(low + 1); /* towards zero, away from it */
  if (value != value) return 0x7fc0;
  if ((bits & 0x7fffffff) >= 0x7f800000 || (bits & 0xffff) == 0) return low;
  double below = widen(low), above = widen(high);
  if ((high & 0x7fff) == 0x7f80) above = (high & 0x8000) != 0 ? -0x1p128 : 0x1p128; /* the next number, if there were one */
  double to_below = __builtin_fabs(value - below), to_above = __builtin_fabs(above - value);
  if (to_below != to_above) return to_below < to_above ? low : high;
  return (low & 1) == 0 ? low : high;
}

static bool same_bf16(uint16_t got, uint16_t wanted) {
  return got == wanted || ((got & 0x7fff) > 0x7f80 && (wanted & 0x7fff) > 0x7f80);
}
static bool same_f32(float got, float wanted) { return memcmp(&got, &wanted, sizeof got) == 0 || (got != got && wanted != wanted); }

static const uint16_t specials[] = {0x7f80, 0xff80, 0x7fc1, 0xff81, 0x0001, 0x8001, 0x8000, 0x7f7f, 0xff7f, 0x0080};

/* Numbers around 1; `special` of 1,000 are infinities, NaNs, denormals, the largest and the smallest. */
static void matrix_fill(uint16_t *matrix, size_t elements, uint32_t special) {
  for (size_t i = 0; i < elements; i++) {
    uint32_t bits = random_next();
    matrix[i] = (uint16_t)((bits & 0x807f) | (0x7d + ((bits >> 8) & 3)) << 7);
    if (random_next() % 1000 < special) matrix[i] = specials[random_next() % (sizeof specials / sizeof *specials)];
  }
}

static float element(const uint16_t *a, const uint16_t *b, uint32_t k_count, uint32_t b_stride) {
  float sum = 0;
  for (uint32_t k = 0; k < k_count; k++) sum += widen(a[k]) * widen(b[(size_t)k * b_stride]);
  return sum;
}

struct products {
  uint16_t *a, *b;
  void *c;
  uint32_t m, k, n, batch;
  bool wide;
};

static void products_check(const struct products *of) {
  size_t wrong = 0, tile_c = (size_t)of->m * of->n;
  for (uint32_t t = 0; t < of->batch; t++)
    for (uint32_t m = 0; m < of->m; m++)
      for (uint32_t n = 0; n < of->n; n++) {
        float wanted = element(of->a + (size_t)t * of->m * of->k + (size_t)m * of->k, of->b + (size_t)t * of->k * of->n + n,
                               of->k, of->n);
        size_t at = t * tile_c + (size_t)m * of->n + n;
        wrong += !(of->wide ? same_f32(((float *)of->c)[at], wanted) : same_bf16(((uint16_t *)of->c)[at], narrow(wanted)));
      }
  ck_assert_msg(wrong == 0, "%zu of %zu elements of %u products %u x %u x %u are wrong", wrong, of->batch * tile_c, of->batch,
                of->m, of->k, of->n);
}

enum { GUARD = 64 };

/* Runs one kernel on random numbers and checks each element, and that nothing behind C was written. */
static void products_run(const char *kernel, struct products *of, unsigned columns, const void *constants, size_t constant_bytes,
                         uint32_t special) {
  size_t a = (size_t)of->batch * of->m * of->k, b = (size_t)of->batch * of->k * of->n;
  size_t c_bytes = (size_t)of->batch * of->m * of->n * (of->wide ? 4 : 2);
  struct allocation *allocations[3];
  OK(npu_allocate(device, a * 2, 0, &allocations[0]));
  OK(npu_allocate(device, b * 2, 0, &allocations[1]));
  OK(npu_allocate(device, c_bytes + GUARD, 0, &allocations[2]));
  of->a = (uint16_t *)allocations[0]->address;
  of->b = (uint16_t *)allocations[1]->address;
  of->c = (void *)allocations[2]->address;
  matrix_fill(of->a, a, special);
  matrix_fill(of->b, b, special);
  memset(of->c, 0xee, c_bytes + GUARD);
  struct npu_program *program = NULL;
  struct npu_invocation *invocation = NULL;
  OK(load_file(GEMM, kernel, columns, &program));
  struct npu_binding bindings[] = {{of->a, a * 2}, {of->b, b * 2}, {of->c, c_bytes}};
  OK(npu_invocation_create(program, bindings, 3, constants, constant_bytes, &invocation));
  struct failure failure = invocation_run(invocation);
  ck_assert_msg(failure.status == HRX_OK, "%s", failure.message);
  products_check(of);
  for (size_t i = 0; i < GUARD; i++) ck_assert_uint_eq(((unsigned char *)of->c)[c_bytes + i], 0xee);
  npu_invocation_release(invocation);
  npu_program_release(program);
  for (int i = 0; i < 3; i++) npu_free(device, allocations[i]);
}

START_TEST(tiles_are_what_the_reference_says) {
  static const uint32_t batches[] = {1, 2, 3, 7, 8, 9, 100};
  for (unsigned i = 0; i < 7; i++)
    for (unsigned columns = 1; columns <= 8; columns += 7) {
      struct products of = {.m = 8, .k = 8, .n = 8, .batch = batches[i], .wide = _i % 2 != 0};
      products_run(of.wide ? "gemm8x8_f32" : "gemm8x8", &of, columns, &of.batch, sizeof of.batch, _i < 2 ? 0 : 60);
    }
}
END_TEST

START_TEST(matrices_of_any_size_are_what_the_reference_says) {
  static const uint32_t sizes[][3] = {{1, 1, 1},     {1, 7, 1},     {3, 5, 2},     {8, 8, 8},     {7, 9, 17},     {16, 16, 16},
                                      {17, 33, 15},  {9, 511, 31},  {8, 512, 16},  {5, 513, 33},  {129, 20, 16},  {128, 64, 48},
                                      {257, 3, 5},   {2, 1200, 3},  {1, 1, 100},   {100, 1, 1},   {64, 130, 65},  {130, 1030, 18}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct products of = {.m = sizes[i][0], .k = sizes[i][1], .n = sizes[i][2], .batch = 1, .wide = _i % 2 != 0};
    products_run(of.wide ? "gemm_f32" : "gemm", &of, 1 + i % 8, sizes[i], sizeof sizes[i], _i < 2 ? 0 : 2);
  }
}
END_TEST

/* Which reads from bindings that the constants would leave, or have nothing to do, touch nothing. */
START_TEST(constants_that_do_not_fit_fail_with_a_code) {
  struct npu_program *program = load(GEMM, "gemm"), *tiles = load(GEMM, "gemm8x8");
  unsigned char *bytes = local(4096);
  struct npu_binding bindings[] = {{bytes, 128}, {bytes + 1024, 128}, {bytes + 2048, 128}};
  static const uint32_t wrong[][3] = {{0, 8, 8}, {8, 0, 8}, {8, 8, 0}, {9, 8, 8}, {8, 9, 8},
                                      {8, 8, 9}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
  struct npu_invocation *invocation = NULL;
  OK(npu_invocation_create(program, bindings, 3, wrong[0], sizeof wrong[0], &invocation));
  for (unsigned i = 0; i < 7; i++) {
    OK(npu_invocation_constants(invocation, wrong[i], sizeof wrong[i]));
    struct failure failure = invocation_run(invocation);
    ck_assert_int_eq(failure.status, HRX_EXECUTION);
    ck_assert_ptr_nonnull(strstr(failure.message, i < 3 ? "code 1" : "code 2: "));
  }
  static const uint32_t right[] = {8, 8, 8};
  OK(npu_invocation_constants(invocation, right, sizeof right));
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  npu_invocation_release(invocation);
  uint32_t batch = 2;
  OK(npu_invocation_create(tiles, bindings, 3, &batch, sizeof batch, &invocation));
  ck_assert_ptr_nonnull(strstr(invocation_run(invocation).message, "A has room for 64 elements, the constants ask for 128"));
  npu_invocation_release(invocation);
  npu_program_release(program);
  npu_program_release(tiles);
}
END_TEST

START_TEST(copy_copies_each_byte_and_none_beside) {
  enum { ROOM = 20000 };
  static const size_t sizes[] = {1, 7, 8, 63, 64, 65, 511, 512, 513, 4096, 10007};
  unsigned char *bytes = local(2 * ROOM);
  for (unsigned columns = 1; columns <= 8; columns++) {
    struct npu_program *program = NULL;
    OK(load_file(COPY, "copy", columns, &program));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      for (int j = 0; j < ROOM; j++) bytes[j] = (unsigned char)random_next();
      memset(bytes + ROOM, 0xee, ROOM);
      struct npu_binding bindings[] = {{bytes + ROOM + 1, sizes[i]}, {bytes + 3, sizes[i]}};
      struct npu_invocation *invocation = NULL;
      OK(npu_invocation_create(program, bindings, 2, NULL, 0, &invocation));
      ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
      ck_assert_int_eq(memcmp(bytes + ROOM + 1, bytes + 3, sizes[i]), 0);
      ck_assert_uint_eq(bytes[ROOM], 0xee);
      ck_assert_uint_eq(bytes[ROOM + 1 + sizes[i]], 0xee);
      npu_invocation_release(invocation);
    }
    npu_program_release(program);
  }
}
END_TEST

START_TEST(copy_refuses_other_lengths_and_overlap) {
  struct npu_program *program = load(COPY, "copy");
  unsigned char *bytes = local(4096);
  static const struct { size_t dst, dst_bytes, src, src_bytes; const char *says; } cases[] = {
      {0, 64, 1024, 65, "code 1: dst has 64 bytes, src has 65"}, {0, 100, 99, 100, "code 2: dst and src overlap"},
      {99, 100, 0, 100, "code 2"}, {0, 100, 0, 100, "code 2"}, {0, 100, 100, 100, ""}};
  for (unsigned i = 0; i < 5; i++) {
    struct npu_binding bindings[] = {{bytes + cases[i].dst, cases[i].dst_bytes}, {bytes + cases[i].src, cases[i].src_bytes}};
    struct npu_invocation *invocation = NULL;
    OK(npu_invocation_create(program, bindings, 2, NULL, 0, &invocation));
    struct failure failure = invocation_run(invocation);
    ck_assert_int_eq(failure.status, i < 4 ? HRX_EXECUTION : HRX_OK);
    if (i < 4) ck_assert_ptr_nonnull(strstr(failure.message, cases[i].says));
    npu_invocation_release(invocation);
  }
  npu_program_release(program);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("npu_programs");
  TCase *rules = tcase_create("programs");
  tcase_add_checked_fixture(rules, device_setup, device_teardown);
  tcase_set_timeout(rules, 60);
  tcase_add_loop_test(rules, tiles_are_what_the_reference_says, 0, 4);
  tcase_add_loop_test(rules, matrices_of_any_size_are_what_the_reference_says, 0, 4);
  tcase_add_test(rules, constants_that_do_not_fit_fail_with_a_code);
  tcase_add_test(rules, copy_copies_each_byte_and_none_beside);
  tcase_add_test(rules, copy_refuses_other_lengths_and_overlap);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
