/* What tests of the native runtime share. */
#ifndef HRX_TESTS_NATIVE_H
#define HRX_TESTS_NATIVE_H

#include <check.h>
#include <hrx/hrx.h>
#include <stdatomic.h>
#include <string.h>

#include "native/objects.h"
#include "tests/unit/fixture.h"

#define OK(call) ck_assert_msg((call) == HRX_OK, "%s", hrx_last_message())

#define FAILS(call, wanted_status, wanted_reason)                                                           \
  do {                                                                                                      \
    hrx_status status_ = (call);                                                                            \
    ck_assert_msg(status_ == HRX_##wanted_status && hrx_last_reason() == HRX_REASON_##wanted_reason,        \
                  "line %d: status %s, reason %d: %s", __LINE__, hrx_status_name(status_), hrx_last_reason(), hrx_last_message()); \
  } while (0)

static inline hrx_runtime *runtime_new(const hrx_runtime_options *options) {
  hrx_runtime *runtime = NULL;
  OK(hrx_runtime_create(options, &runtime));
  return runtime;
}

static inline hrx_buffer *buffer_new(hrx_runtime *runtime, size_t bytes, hrx_placement placement) {
  hrx_buffer *buffer = NULL;
  OK(hrx_buffer_create(runtime, bytes, placement, 0, &buffer));
  return buffer;
}

static inline hrx_view slice(hrx_buffer *buffer, size_t offset, size_t bytes) {
  hrx_view view = {0};
  OK(hrx_view_slice(hrx_buffer_view(buffer), offset, bytes, &view));
  return view;
}

static inline int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

#endif
