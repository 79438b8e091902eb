/* HIP source compiled at run time, the cache of what came out, and the digest that guards it. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sha256.h"
#include "tests/unit/include/native.h"

static hrx_runtime *runtime;
static char folder[] = "/tmp/hrx-compile-XXXXXX";

static const char source[] = "#ifndef VALUE\n#define VALUE 1\n#endif\n"
                             "extern \"C\" __global__ void put(unsigned *out) { out[threadIdx.x] = VALUE + threadIdx.x; }\n";

static void setup(void) { runtime = runtime_new(NULL); }
static void teardown(void) { hrx_runtime_release(runtime); }

static hrx_artifact *compile(const char *value) {
  hrx_artifact *artifact = NULL;
  hrx_configuration configuration = {"VALUE", value};
  hrx_status status = hrx_compile_hip(runtime, source, sizeof source - 1, "put.hip", NULL, &configuration, value != NULL, &artifact);
  if (status == HRX_UNSUPPORTED) {
    fprintf(stderr, "skipped: %s\n", hrx_last_message());
    return NULL;
  }
  ck_assert_msg(status == HRX_OK, "%s", hrx_last_message());
  return artifact;
}

static void run(const hrx_artifact *artifact, unsigned expected) {
  size_t size = 0;
  const void *bytes = hrx_artifact_bytes(artifact, &size);
  hrx_stream *stream = NULL;
  hrx_stream_kernel *kernel = NULL;
  hrx_buffer *buffer = buffer_new(runtime, 64 * 4, HRX_HOST_VISIBLE);
  OK(hrx_stream_open(runtime, &stream));
  OK(hrx_stream_kernel_load(stream, bytes, size, "put", &kernel));
  hrx_view view = hrx_buffer_view(buffer);
  OK(hrx_stream_dispatch(stream, kernel, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, &view, 1, NULL, 0));
  OK(hrx_stream_synchronize(stream));
  for (unsigned i = 0; i < 64; i++) ck_assert_uint_eq(((unsigned *)hrx_buffer_address(buffer))[i], expected + i);
  hrx_stream_kernel_release(kernel);
  hrx_buffer_release(buffer);
  hrx_stream_close(stream);
}

START_TEST(digests_are_sha256) { /* FIPS 180-4 examples */
  struct sha256 sha;
  char text[SHA256_TEXT];
  sha256_init(&sha);
  sha256_text(&sha, text);
  ck_assert_str_eq(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha256_init(&sha);
  sha256_add(&sha, "abc", 3);
  sha256_text(&sha, text);
  ck_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  sha256_init(&sha);
  for (int i = 0; i < 1000000; i++) sha256_add(&sha, "a", 1);
  sha256_text(&sha, text);
  ck_assert_str_eq(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(what_was_compiled_once_comes_from_the_cache) {
  hrx_artifact *first = compile(NULL);
  if (first == NULL) return;
  ck_assert(!hrx_artifact_cached(first));
  ck_assert_uint_eq(strlen(hrx_artifact_digest(first)), 64);
  ck_assert_str_ne(hrx_artifact_compiler(first), "");
  ck_assert_ptr_nonnull(strstr(hrx_artifact_path(first), folder));
  hrx_artifact *second = compile(NULL), *other = compile("100");
  ck_assert(hrx_artifact_cached(second));
  ck_assert(!hrx_artifact_cached(other));
  ck_assert_str_eq(hrx_artifact_digest(first), hrx_artifact_digest(second));
  ck_assert_str_ne(hrx_artifact_digest(first), hrx_artifact_digest(other));
  run(first, 1);
  run(second, 1);
  run(other, 100);
  hrx_contract *contract = NULL;
  hrx_gpu_kernel *kernel = NULL;
  hrx_binding binding = {.bytes = 256, .access = HRX_WRITE};
  OK(hrx_contract_create(&binding, 1, &contract));
  OK(hrx_gpu_kernel_load_file(runtime, hrx_artifact_path(second), "put", (hrx_dimensions){1, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, contract,
                              &kernel));
  hrx_gpu_kernel_release(kernel);
  hrx_contract_release(contract);
  hrx_artifact_release(first);
  hrx_artifact_release(second);
  hrx_artifact_release(other);
  hrx_artifact_release(NULL);
}
END_TEST

START_TEST(a_damaged_entry_is_compiled_again) {
  hrx_artifact *first = compile("200");
  if (first == NULL) return;
  for (int damage = 0; damage < 2; damage++) {
    int file = open(hrx_artifact_path(first), O_WRONLY);
    ck_assert_int_ge(file, 0);
    if (damage == 0) ck_assert_int_eq(pwrite(file, "X", 1, 100), 1);
    if (damage == 1) ck_assert_int_eq(ftruncate(file, 50), 0);
    close(file);
    hrx_artifact *again = compile("200"), *third = compile("200");
    ck_assert(!hrx_artifact_cached(again));
    ck_assert(hrx_artifact_cached(third));
    run(again, 200);
    hrx_artifact_release(again);
    hrx_artifact_release(third);
  }
  hrx_artifact_release(first);
}
END_TEST

START_TEST(what_the_compiler_says_is_kept) {
  static const char broken[] = "extern \"C\" __global__ void put(unsigned *out) { out[0] = nowhere; }\n";
  hrx_artifact *artifact = NULL;
  hrx_status status = hrx_compile_hip(runtime, broken, sizeof broken - 1, "broken.hip", NULL, NULL, 0, &artifact);
  if (status == HRX_UNSUPPORTED) return;
  ck_assert_int_eq(status, HRX_COMPILE);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "broken.hip"));
  ck_assert_ptr_nonnull(artifact);
  ck_assert_ptr_nonnull(strstr(hrx_artifact_report(artifact), "nowhere"));
  size_t size = 1;
  ck_assert_ptr_null(hrx_artifact_bytes(artifact, &size));
  ck_assert_uint_eq(size, 0);
  ck_assert_str_eq(hrx_artifact_path(artifact), "");
  hrx_artifact_release(artifact);
}
END_TEST

START_TEST(bad_requests_are_refused) {
  hrx_artifact *artifact = NULL;
  hrx_configuration configuration = {"A B", "1"};
  FAILS(hrx_compile_hip(runtime, source, sizeof source - 1, NULL, NULL, &configuration, 1, &artifact), INVALID, ARGUMENT);
  FAILS(hrx_compile_hip(NULL, source, sizeof source - 1, NULL, NULL, NULL, 0, &artifact), INVALID, ARGUMENT);
  FAILS(hrx_compile_hip(runtime, source, sizeof source, NULL, NULL, NULL, 0, &artifact), INVALID, ARGUMENT); /* a zero byte */
  FAILS(hrx_compile_hip_file(runtime, "/nonexistent.hip", NULL, NULL, 0, &artifact), IO, FILE_NOT_FOUND);
  ck_assert_ptr_null(artifact);
}
END_TEST

int main(void) {
  if (mkdtemp(folder) == NULL || setenv("HRX_CACHE", folder, 1) != 0) return 1; /* before anything asks for it */
  Suite *suite = suite_create("compile");
  TCase *tests = tcase_create("compile");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, digests_are_sha256);
  tcase_add_test(tests, what_was_compiled_once_comes_from_the_cache);
  tcase_add_test(tests, a_damaged_entry_is_compiled_again);
  tcase_add_test(tests, what_the_compiler_says_is_kept);
  tcase_add_test(tests, bad_requests_are_refused);
  suite_add_tcase(suite, tests);
  int failed = run_suite(suite);
  char command[PATH_MAX];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) != 0 || failed;
}
