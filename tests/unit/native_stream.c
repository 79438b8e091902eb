/* Native streams (hrx/stream.h) on the software GPU. */
#include <pthread.h>

#include "native_use.h"

static const hrx_dimensions ONE = {1, 1, 1}, GRID = {WORDS / 64, 1, 1}, BLOCK = {64, 1, 1};

static hrx_stream *stream_new(hrx_runtime *runtime) {
  hrx_stream *stream;
  OK(hrx_stream_open(runtime, &stream));
  return stream;
}

static hrx_buffer *allocated(hrx_stream *stream, size_t bytes) {
  hrx_buffer *buffer;
  OK(hrx_stream_allocate_zeroed(stream, bytes, &buffer));
  return buffer;
}

static void increment(hrx_stream *stream, hrx_stream_kernel *kernel, hrx_buffer *buffer, unsigned by) {
  hrx_view view = whole(buffer);
  OK(hrx_stream_dispatch(stream, kernel, GRID, BLOCK, 0, &view, 1, (unsigned[]){WORDS, by}, 8));
}

START_TEST(work_of_a_stream_runs_in_its_order) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime);
  hrx_stream_kernel *kernel = stream_kernel_load(stream, "increment"), *sum = stream_kernel_load(stream, "sum");
  hrx_buffer *a = allocated(stream, BYTES), *b = allocated(stream, BYTES), *c = allocated(stream, BYTES);
  unsigned in[WORDS], out[WORDS];
  for (unsigned i = 0; i < WORDS; i++) in[i] = i;
  for (unsigned round = 0; round < 50; round++) {
    OK(hrx_stream_upload(stream, a, in, BYTES));
    OK(hrx_stream_fill(stream, whole(b), 1));
    increment(stream, kernel, a, round);
    OK(hrx_stream_copy(stream, slice(b, 0, 64), slice(a, 64, 64)));
    OK(hrx_stream_dispatch(stream, sum, GRID, BLOCK, 0, (hrx_view[]){whole(c), whole(a), whole(b)}, 3, &(unsigned){WORDS}, 4));
    OK(hrx_stream_fill(stream, whole(a), 0));
    OK(hrx_stream_read(stream, whole(c), out, BYTES));
    for (unsigned i = 0; i < WORDS; i++) ck_assert_uint_eq(out[i], i + round + (i < 16 ? i + 16 + round : 0x01010101));
  }
  OK(hrx_stream_submit(stream));
  OK(hrx_stream_synchronize(stream));
  hrx_stream_kernel_release(kernel);
  hrx_stream_kernel_release(sum);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_buffer_release(c);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(refusals_name_their_reason) {
  hrx_runtime *runtime = runtime_new(), *other = runtime_new();
  hrx_stream *stream = stream_new(runtime), *foreign_stream = stream_new(other);
  hrx_stream_kernel *kernel = stream_kernel_load(stream, "increment"), *foreign = stream_kernel_load(foreign_stream, "increment"),
                    *fixed = stream_kernel_load(stream, "fixed");
  hrx_buffer *a = allocated(stream, BYTES), *theirs = allocated(foreign_stream, BYTES);
  hrx_view view = whole(a), their_view = whole(theirs);
  unsigned constants[] = {WORDS, 1};
  uint8_t bytes[16] = {0};
  hrx_buffer *none;
  FAILS(hrx_stream_fill(stream, slice(a, 4, 0), 1), HRX_INVALID, HRX_REASON_EMPTY);
  FAILS(hrx_stream_fill(stream, (hrx_view){a, 8, BYTES}, 1), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_stream_fill(stream, their_view, 1), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_stream_copy(stream, slice(a, 0, 8), slice(a, 0, 8)), HRX_INVALID, HRX_REASON_ALIASING);
  FAILS(hrx_stream_copy(stream, slice(a, 0, 8), slice(a, 8, 7)), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_stream_copy(stream, view, their_view), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_stream_upload_at(stream, slice(a, 0, 16), bytes, 15), HRX_INVALID, HRX_REASON_RANGE);
  FAILS(hrx_stream_upload_at(stream, slice(a, 0, 0), bytes, 0), HRX_INVALID, HRX_REASON_EMPTY);
  FAILS(hrx_stream_read(stream, (hrx_view){a, BYTES - 8, 16}, bytes, 16), HRX_INVALID, HRX_REASON_RANGE);
  ck_assert_int_eq(hrx_stream_allocate(stream, 0, &none), HRX_INVALID);
  ck_assert_int_eq(hrx_stream_scratch(stream, 0, &none), HRX_INVALID);
  FAILS(hrx_stream_dispatch(stream, kernel, (hrx_dimensions){1, 0, 1}, BLOCK, 0, &view, 1, constants, 8), HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY);
  FAILS(hrx_stream_dispatch(stream, kernel, GRID, (hrx_dimensions){32, 32, 2}, 0, &view, 1, constants, 8), HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY);
  FAILS(hrx_stream_dispatch(stream, fixed, ONE, (hrx_dimensions){128, 1, 1}, 0, &view, 1, NULL, 0), HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY);
  FAILS(hrx_stream_dispatch(stream, kernel, GRID, BLOCK, 0, &view, 0, constants, 8), HRX_INVALID, HRX_REASON_CONTRACT);
  FAILS(hrx_stream_dispatch(stream, kernel, GRID, BLOCK, 0, &view, 1, constants, 4), HRX_INVALID, HRX_REASON_CONTRACT);
  FAILS(hrx_stream_dispatch(stream, foreign, GRID, BLOCK, 0, &view, 1, constants, 8), HRX_INVALID, HRX_REASON_FOREIGN);
  FAILS(hrx_stream_dispatch(stream, kernel, GRID, BLOCK, 0, &their_view, 1, constants, 8), HRX_INVALID, HRX_REASON_FOREIGN);
  OK(hrx_stream_dispatch(stream, fixed, ONE, BLOCK, 0, &view, 1, NULL, 0));
  OK(hrx_stream_synchronize(stream));
  for (unsigned i = 0; i < WORDS; i++) ck_assert_uint_eq(word_at(a, i), i < 64 ? i : 0);
  hrx_stream_kernel_release(kernel);
  hrx_stream_kernel_release(foreign);
  hrx_stream_kernel_release(fixed);
  hrx_buffer_release(a);
  hrx_buffer_release(theirs);
  hrx_stream_close(stream);
  hrx_stream_close(foreign_stream);
  hrx_runtime_release(runtime);
  hrx_runtime_release(other);
}
END_TEST

START_TEST(two_streams_are_ordered_by_nobody) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *one = stream_new(runtime), *other = stream_new(runtime);
  hrx_stream_kernel *wait = stream_kernel_load(one, "wait_flag"), *set = stream_kernel_load(one, "set_flag");
  hrx_buffer *flag = allocated(one, 64), *out = allocated(one, 64);
  OK(hrx_stream_dispatch(one, wait, ONE, ONE, 0, (hrx_view[]){whole(flag), whole(out)}, 2, NULL, 0));
  OK(hrx_stream_dispatch(other, set, ONE, ONE, 0, (hrx_view[]){whole(flag)}, 1, &(unsigned){7}, 4)); /* the same buffer, written */
  OK(hrx_stream_synchronize(one));
  OK(hrx_stream_synchronize(other));
  ck_assert_uint_eq(word_at(out, 0), 7);
  hrx_stream_kernel_release(wait);
  hrx_stream_kernel_release(set);
  hrx_buffer_release(flag);
  hrx_buffer_release(out);
  hrx_stream_close(one);
  hrx_stream_close(other);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(events_order_streams) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *one = stream_new(runtime), *other = stream_new(runtime), *third = stream_new(runtime);
  hrx_stream_kernel *wait = stream_kernel_load(one, "wait_flag"), *set = stream_kernel_load(one, "set_flag");
  hrx_buffer *flag = allocated(one, 64), *out = allocated(one, 64), *copy = allocated(one, 64);
  hrx_event *event;
  OK(hrx_stream_dispatch(one, wait, ONE, ONE, 0, (hrx_view[]){whole(flag), whole(out)}, 2, NULL, 0));
  OK(hrx_stream_record_event(one, &event));
  OK(hrx_stream_wait_event(other, event));
  OK(hrx_stream_copy(other, whole(copy), whole(out))); /* not before the event */
  ck_assert(!hrx_event_is_complete(event));
  OK(hrx_stream_dispatch(third, set, ONE, ONE, 0, (hrx_view[]){whole(flag)}, 1, &(unsigned){9}, 4));
  OK(hrx_stream_synchronize(other));
  ck_assert_uint_eq(word_at(copy, 0), 9);
  OK(hrx_event_wait(event));
  ck_assert(hrx_event_is_complete(event));
  OK(hrx_stream_synchronize(third));
  hrx_stream_kernel_release(wait);
  hrx_stream_kernel_release(set);
  hrx_stream_close(one);
  hrx_stream_close(other);
  hrx_stream_close(third);
  hrx_event_release(event); /* outlives the stream's handle */
  hrx_buffer_release(flag);
  hrx_buffer_release(out);
  hrx_buffer_release(copy);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(everything_can_be_released_while_it_is_queued) {
  for (int round = 0; round < 10; round++) {
    hrx_runtime *runtime = runtime_new();
    hrx_stream *stream = stream_new(runtime), *opener = stream_new(runtime);
    hrx_stream_kernel *wait = stream_kernel_load(stream, "wait_flag"), *add = stream_kernel_load(stream, "increment"),
                      *set = stream_kernel_load(opener, "set_flag");
    hrx_buffer *flag = allocated(stream, 64), *out = allocated(stream, 64), *a = allocated(stream, BYTES), *b = allocated(stream, BYTES);
    hrx_buffer *result = buffer_new(runtime);
    OK(hrx_stream_dispatch(stream, wait, ONE, ONE, 0, (hrx_view[]){whole(flag), whole(out)}, 2, NULL, 0));
    OK(hrx_stream_copy(stream, slice(a, 0, 64), whole(out)));
    increment(stream, add, a, 5);
    OK(hrx_stream_copy(stream, whole(b), whole(a)));
    OK(hrx_stream_copy(stream, whole(result), whole(b)));
    hrx_event *event;
    OK(hrx_stream_record_event(stream, &event));
    hrx_stream_kernel_release(wait);
    hrx_stream_kernel_release(add);
    hrx_buffer_release(out);
    hrx_buffer_release(a);
    hrx_buffer_release(b);
    hrx_stream_close(stream);
    hrx_buffer *fresh[16]; /* would be the same memory if it had gone */
    for (int i = 0; i < 16; i++) {
      fresh[i] = allocated(opener, BYTES);
      OK(hrx_stream_fill(opener, whole(fresh[i]), 0xee));
    }
    OK(hrx_stream_dispatch(opener, set, ONE, ONE, 0, (hrx_view[]){whole(flag)}, 1, &(unsigned){3}, 4));
    OK(hrx_event_wait(event));
    hrx_event_release(event);
    ck_assert_uint_eq(word_at(result, 0), 8);
    for (unsigned i = 16; i < WORDS; i++) ck_assert_uint_eq(word_at(result, i), 5);
    OK(hrx_stream_synchronize(opener));
    for (int i = 0; i < 16; i++) {
      words_are(fresh[i], 0xeeeeeeee);
      hrx_buffer_release(fresh[i]);
    }
    hrx_stream_kernel_release(set);
    hrx_buffer_release(flag);
    hrx_buffer_release(result);
    hrx_stream_close(opener);
    hrx_runtime_release(runtime);
  }
}
END_TEST

START_TEST(staging_is_bounded) {
  enum { PIECE = 8 << 20, PIECES = 16 };
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime);
  hrx_buffer *large = allocated(stream, (size_t)PIECE * PIECES);
  uint8_t *bytes = malloc(PIECE);
  for (int i = 0; i < PIECES; i++) {
    memset(bytes, i + 1, PIECE);
    OK(hrx_stream_upload_at(stream, slice(large, (size_t)i * PIECE, PIECE), bytes, PIECE)); /* the bytes change at once */
  }
  hrx_statistics statistics = {.size = sizeof statistics};
  OK(hrx_runtime_statistics(runtime, &statistics));
  ck_assert_uint_le(statistics.staging_bytes, 64 << 20);
  ck_assert_uint_gt(statistics.staging_bytes, 0);
  OK(hrx_stream_synchronize(stream));
  const uint8_t *at = hrx_buffer_address(large);
  for (size_t i = 0; i < (size_t)PIECE * PIECES; i += 997) ck_assert_uint_eq(at[i], i / PIECE + 1);
  memset(bytes, 0x77, PIECE);
  OK(hrx_stream_upload_blocking(stream, slice(large, 3, PIECE), bytes, PIECE));
  ck_assert_uint_eq(at[2], 1);
  ck_assert_uint_eq(at[3], 0x77);
  ck_assert_uint_eq(at[3 + PIECE - 1], 0x77);
  ck_assert_uint_eq(at[3 + PIECE], 2);
  free(bytes);
  hrx_buffer_release(large);
  hrx_stream_close(stream);
  OK(hrx_runtime_statistics(runtime, &statistics));
  ck_assert_uint_eq(statistics.staging_bytes, 0);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(scratch_comes_back_for_n_to_2n) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime);
  hrx_buffer *first, *second;
  OK(hrx_stream_scratch(stream, 1000, &first));
  hrx_stream_recycle(stream, first);
  OK(hrx_stream_scratch(stream, 1000, &second));
  ck_assert_ptr_eq(second, first);
  hrx_stream_recycle(stream, second);
  OK(hrx_stream_scratch(stream, 500, &second)); /* 1000 is 2n */
  ck_assert_ptr_eq(second, first);
  hrx_stream_recycle(stream, second);
  OK(hrx_stream_scratch(stream, 499, &second)); /* more than 2n */
  ck_assert_uint_eq(hrx_buffer_bytes(second), 499);
  hrx_buffer *third;
  OK(hrx_stream_scratch(stream, 1001, &third));
  ck_assert_ptr_ne(third, first);
  hrx_buffer_retain(third); /* somebody else still holds it: not for reuse */
  hrx_stream_recycle(stream, third);
  hrx_buffer *fourth;
  OK(hrx_stream_scratch(stream, 1001, &fourth));
  ck_assert_ptr_ne(fourth, third);
  hrx_buffer_release(third);
  hrx_buffer_release(fourth);

  OK(hrx_stream_set_scratch_limit(stream, 4096)); /* kept at most */
  hrx_stream_recycle(stream, second);
  hrx_buffer *large;
  OK(hrx_stream_scratch(stream, 8192, &large));
  hrx_stream_recycle(stream, large); /* too large: freed */
  hrx_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
  OK(hrx_runtime_statistics(runtime, &before));
  ck_assert_uint_le(before.live_bytes, 4096);
  OK(hrx_stream_set_scratch_limit(stream, 0));
  OK(hrx_runtime_statistics(runtime, &after));
  ck_assert_uint_eq(after.live_bytes, 0);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(scratch_is_reused_without_a_wait) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime), *opener = stream_new(runtime);
  hrx_stream_kernel *wait = stream_kernel_load(stream, "wait_flag"), *set = stream_kernel_load(stream, "set_flag");
  hrx_buffer *flag = allocated(stream, 64), *out = allocated(stream, 64), *scratch, *again;
  OK(hrx_stream_scratch(stream, 64, &scratch));
  OK(hrx_stream_fill(stream, whole(scratch), 0));
  OK(hrx_stream_dispatch(stream, wait, ONE, ONE, 0, (hrx_view[]){whole(flag), whole(scratch)}, 2, NULL, 0));
  OK(hrx_stream_copy(stream, whole(out), whole(scratch)));
  hrx_stream_recycle(stream, scratch);
  OK(hrx_stream_scratch(stream, 64, &again)); /* its old work still waits */
  ck_assert_ptr_eq(again, scratch);
  OK(hrx_stream_fill(stream, whole(again), 0xff));
  OK(hrx_stream_dispatch(opener, set, ONE, ONE, 0, (hrx_view[]){whole(flag)}, 1, &(unsigned){6}, 4));
  OK(hrx_stream_synchronize(stream));
  ck_assert_uint_eq(word_at(out, 0), 6);
  words_are(again, 0xffffffff);
  hrx_stream_kernel_release(wait);
  hrx_stream_kernel_release(set);
  hrx_buffer_release(flag);
  hrx_buffer_release(out);
  hrx_stream_recycle(stream, again);
  hrx_stream_close(stream);
  hrx_stream_close(opener);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(a_failure_is_reported_once) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime), *other = stream_new(runtime);
  hrx_stream_kernel *trap = stream_kernel_load(stream, "trap");
  hrx_buffer *a = allocated(stream, 64), *b = allocated(stream, 64);
  OK(hrx_stream_dispatch(stream, trap, ONE, ONE, 0, (hrx_view[]){whole(a)}, 1, NULL, 0));
  OK(hrx_stream_fill(other, whole(b), 2));
  OK(hrx_stream_synchronize(other));
  words_are(b, 0x02020202);
  ck_assert_int_eq(hrx_stream_synchronize(stream), HRX_EXECUTION);
  OK(hrx_stream_synchronize(stream));
  OK(hrx_stream_fill(stream, whole(b), 4)); /* the stream goes on */
  OK(hrx_stream_synchronize(stream));
  words_are(b, 0x04040404);
  hrx_stream_kernel_release(trap);
  hrx_buffer_release(a);
  hrx_buffer_release(b);
  hrx_stream_close(stream);
  hrx_stream_close(other);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(ten_thousand_live_allocations) {
  enum { MANY = 10000 };
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime);
  hrx_buffer **buffers = malloc(MANY * sizeof(*buffers));
  for (unsigned i = 0; i < MANY; i++) {
    OK(hrx_stream_allocate(stream, 256, &buffers[i]));
    OK(hrx_stream_fill(stream, whole(buffers[i]), (uint8_t)i));
  }
  OK(hrx_stream_synchronize(stream));
  for (unsigned i = 0; i < MANY; i++) {
    ck_assert_uint_eq(word_at(buffers[i], 63), 0x01010101 * (i & 0xff));
    hrx_buffer_release(buffers[i]);
  }
  free(buffers);
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
}
END_TEST

START_TEST(a_view_beyond_four_gibibytes_is_checked_first) {
  hrx_runtime *runtime = runtime_new();
  hrx_stream *stream = stream_new(runtime);
  size_t bytes = (UINT64_C(4) << 30) + 13;
  hrx_buffer *large;
  if (hrx_stream_allocate(stream, bytes, &large) != HRX_OK) {
    printf("skipped: a_view_beyond_four_gibibytes_is_checked_first: %s\n", hrx_last_message());
  } else {
    uint8_t *at = hrx_buffer_address(large);
    FAILS(hrx_stream_fill(stream, (hrx_view){large, 14, bytes}, 1), HRX_INVALID, HRX_REASON_RANGE);
    FAILS(hrx_stream_copy(stream, (hrx_view){large, 0, 13}, (hrx_view){large, bytes - 12, 13}), HRX_INVALID, HRX_REASON_RANGE);
    OK(hrx_stream_fill(stream, slice(large, bytes - 13, 13), 9));
    OK(hrx_stream_copy(stream, slice(large, 1, 13), slice(large, bytes - 13, 13)));
    OK(hrx_stream_synchronize(stream));
    for (size_t i = 0; i < 13; i++) ck_assert_uint_eq(at[1 + i], 9);
    hrx_buffer_release(large);
  }
  hrx_stream_close(stream);
  hrx_runtime_release(runtime);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {work_of_a_stream_runs_in_its_order, refusals_name_their_reason, two_streams_are_ordered_by_nobody,
                                events_order_streams, everything_can_be_released_while_it_is_queued, staging_is_bounded,
                                scratch_comes_back_for_n_to_2n, scratch_is_reused_without_a_wait, a_failure_is_reported_once,
                                ten_thousand_live_allocations, a_view_beyond_four_gibibytes_is_checked_first, NULL};
  return suite_run("native_stream", tests);
}
