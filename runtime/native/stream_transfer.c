/* Host bytes to and from buffers. Uploads are staged in a ring of chunks, whose memory bounds what is in flight. */
#include <stdlib.h>
#include <string.h>

#include "native/stream.h"

static hrx_status transfer_check(const struct hrx_stream *stream, hrx_view view, const void *bytes, size_t count,
                                 const char *what) {
  if (count != view.bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%s: %zu bytes for a view of %zu", what, count, view.bytes);
  hrx_status status = stream_view_check(stream, view, what);
  if (status == HRX_OK && bytes == NULL)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%s: NULL host memory", what);
  return status;
}

static hrx_status copy_queue(struct hrx_stream *stream, struct access access, void *destination, const void *source,
                             struct point *out_point) {
  size_t bytes = access.bytes;
  struct task task = {.kind = TASK_COPY, .accesses = &access, .access_count = 1,
                      .label = access.kind == ACCESS_READ ? "download" : "upload",
                      .copy = {.destination = destination, .destination_pitch = bytes, .destination_slice_pitch = bytes,
                               .source = source, .source_pitch = bytes, .source_slice_pitch = bytes, .width = bytes, .height = 1,
                               .depth = 1}};
  return queue_submit(stream, &task, out_point);
}

/* Waits for this task and reports the stream's first failure. */
static hrx_status point_finish(struct hrx_stream *stream, struct point point) {
  struct clock clock = {0};
  clock_include(&clock, point);
  return stream_finish(stream, &clock);
}

/* The chunk at hand if it has room, else the next, once what was copied out of it is over. */
static hrx_status chunk_find_locked(struct hrx_stream *stream, struct staging_chunk **out_chunk) {
  struct engine *engine = stream->runtime->domain->engine;
  struct staging_chunk *chunk = &stream->staging[stream->staging_at];
  if (engine_clock_over(engine, &chunk->busy)) {
    clock_reset(&chunk->busy);
    chunk->used = 0;
  } else if (chunk->used == STAGING_CHUNK) {
    stream->staging_at = (stream->staging_at + 1) % STAGING_CHUNKS;
    chunk = &stream->staging[stream->staging_at];
    hrx_status status = engine_clock_wait(engine, &chunk->busy, UINT64_MAX);
    if (status != HRX_OK) return status;
    clock_reset(&chunk->busy);
    chunk->used = 0;
  }
  if (chunk->bytes == NULL) {
    chunk->bytes = malloc(STAGING_CHUNK);
    if (chunk->bytes == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for staging %d bytes", (int)STAGING_CHUNK);
    atomic_fetch_add_explicit(&stream->runtime->statistics.staging, STAGING_CHUNK, memory_order_relaxed);
  }
  *out_chunk = chunk;
  return HRX_OK;
}

hrx_status hrx_stream_upload_at(hrx_stream *stream, hrx_view view, const void *bytes, size_t count) {
  hrx_status status = transfer_check(stream, view, bytes, count, "upload");
  if (status != HRX_OK) return status;
  pthread_mutex_lock(&stream->staging_lock);
  for (size_t at = 0; status == HRX_OK && at < count;) {
    struct staging_chunk *chunk = NULL;
    status = chunk_find_locked(stream, &chunk);
    if (status != HRX_OK) break;
    size_t room = STAGING_CHUNK - chunk->used, piece = count - at < room ? count - at : room;
    uint8_t *staged = chunk->bytes + chunk->used;
    memcpy(staged, (const uint8_t *)bytes + at, piece);
    struct access access = view_access((hrx_view){view.buffer, view.offset + at, piece}, HRX_WRITE);
    struct point point;
    status = copy_queue(stream, access, (void *)(view_address(view) + at), staged, &point);
    if (status != HRX_OK) break;
    chunk->used += piece;
    clock_include(&chunk->busy, point); /* a stream has fewer lanes than CLOCK_INLINE */
    at += piece;
  }
  pthread_mutex_unlock(&stream->staging_lock);
  if (status == HRX_OK) atomic_fetch_add_explicit(&stream->runtime->statistics.uploaded, count, memory_order_relaxed);
  return status;
}

hrx_status hrx_stream_upload(hrx_stream *stream, hrx_buffer *buffer, const void *bytes, size_t count) {
  hrx_view view = hrx_buffer_view(buffer);
  if (count > view.bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "upload: %zu bytes to a buffer of %zu", count, view.bytes);
  view.bytes = count;
  return hrx_stream_upload_at(stream, view, bytes, count);
}

hrx_status hrx_stream_upload_blocking(hrx_stream *stream, hrx_view view, const void *bytes, size_t count) {
  struct point point;
  hrx_status status = transfer_check(stream, view, bytes, count, "upload");
  if (status == HRX_OK) status = copy_queue(stream, view_access(view, HRX_WRITE), (void *)view_address(view), bytes, &point);
  if (status == HRX_OK) status = point_finish(stream, point);
  if (status == HRX_OK) atomic_fetch_add_explicit(&stream->runtime->statistics.uploaded, count, memory_order_relaxed);
  return status;
}

hrx_status hrx_stream_read(hrx_stream *stream, hrx_view view, void *out_bytes, size_t count) {
  struct point point;
  hrx_status status = transfer_check(stream, view, out_bytes, count, "read");
  if (status == HRX_OK) status = copy_queue(stream, view_access(view, HRX_READ), out_bytes, (const void *)view_address(view), &point);
  if (status == HRX_OK) status = point_finish(stream, point);
  if (status == HRX_OK) atomic_fetch_add_explicit(&stream->runtime->statistics.downloaded, count, memory_order_relaxed);
  return status;
}

void staging_finish(struct hrx_stream *stream) {
  for (unsigned i = 0; i < STAGING_CHUNKS; i++) {
    struct staging_chunk *chunk = &stream->staging[i];
    clock_finish(&chunk->busy);
    if (chunk->bytes == NULL) continue;
    free(chunk->bytes);
    atomic_fetch_sub_explicit(&stream->runtime->statistics.staging, STAGING_CHUNK, memory_order_relaxed);
  }
}
