/* Scratch: buffers that come back to their stream and go out again. Work in the stream that used one before is ordered with work
 * that uses it now by their conflict, so nobody waits here.
 *
 * Kept buffers lie in classes by the logarithm of their bytes: one for n bytes is in the class of n or the next. The lock is a
 * word: it is held for a few instructions, and a pthread mutex twice costs a third of the whole exchange. */
#include <sched.h>

#include "native/stream.h"

enum { SEARCHED = 32 };
static const uint64_t KEPT_AT_FIRST = UINT64_C(256) << 20;

static void lock(struct hrx_stream *stream) {
  /* acquire: pairs with the release in unlock */
  for (unsigned tries = 0; atomic_exchange_explicit(&stream->scratch.lock, 1, memory_order_acquire) != 0; tries++)
    if (tries >= 64)
      sched_yield();
    else
      __builtin_ia32_pause();
}

static void unlock(struct hrx_stream *stream) { atomic_store_explicit(&stream->scratch.lock, 0, memory_order_release); }

static unsigned class_of(size_t bytes) { return 63 - (unsigned)__builtin_clzll(bytes); }

void scratch_init(struct hrx_stream *stream) { stream->scratch.limit = KEPT_AT_FIRST; }

static struct hrx_buffer *class_find_locked(struct hrx_stream *stream, unsigned class, size_t least) {
  if (class >= SCRATCH_CLASSES) return NULL;
  unsigned searched = 0;
  for (struct hrx_buffer **link = &stream->scratch.classes[class]; *link != NULL && searched < SEARCHED; searched++) {
    struct hrx_buffer *buffer = *link;
    size_t bytes = buffer->backing->allocation->bytes;
    if (bytes >= least && bytes - least <= least) {
      *link = buffer->next;
      buffer->next = NULL;
      stream->scratch.kept -= bytes;
      return buffer;
    }
    link = &buffer->next;
  }
  return NULL;
}

/* Takes buffers out until no more than `most` bytes are kept, the largest first but `spared` last. */
static struct hrx_buffer *trim_locked(struct hrx_stream *stream, uint64_t most, unsigned spared) {
  struct hrx_buffer *gone = NULL;
  for (unsigned round = 0; round < 2; round++)
    for (unsigned class = SCRATCH_CLASSES; class-- > 0;) {
      if (round == 0 && class == spared) continue;
      while (stream->scratch.kept > most && stream->scratch.classes[class] != NULL) {
        struct hrx_buffer *buffer = stream->scratch.classes[class];
        stream->scratch.classes[class] = buffer->next;
        stream->scratch.kept -= buffer->backing->allocation->bytes;
        buffer->next = gone;
        gone = buffer;
      }
    }
  return gone;
}

static void release_all(struct hrx_buffer *buffers) {
  for (struct hrx_buffer *buffer = buffers, *next; buffer != NULL; buffer = next) {
    next = buffer->next;
    buffer->next = NULL;
    hrx_buffer_release(buffer);
  }
}

hrx_status hrx_stream_scratch(hrx_stream *stream, size_t bytes, hrx_buffer **out_buffer) {
  struct hrx_buffer *buffer = NULL;
  if (bytes != 0) {
    unsigned class = class_of(bytes);
    lock(stream);
    if (stream->scratch.kept >= bytes) {
      buffer = class_find_locked(stream, class, bytes);
      if (buffer == NULL) buffer = class_find_locked(stream, class + 1, bytes);
    }
    unlock(stream);
  }
  if (buffer == NULL) return hrx_stream_allocate(stream, bytes, out_buffer);
  *out_buffer = buffer;
  return HRX_OK;
}

void hrx_stream_recycle(hrx_stream *stream, hrx_buffer *buffer) {
  if (buffer == NULL) return;
  /* acquire: with the last other reference gone, so is what was done through it */
  bool alone = atomic_load_explicit(&buffer->references, memory_order_acquire) == 1 && buffer->stream == stream &&
               atomic_load_explicit(&buffer->backing->references, memory_order_acquire) == 1;
  struct hrx_buffer *gone = buffer;
  if (alone) {
    size_t bytes = buffer->backing->allocation->bytes;
    unsigned class = class_of(bytes);
    lock(stream);
    if (!stream->scratch.closed && bytes <= stream->scratch.limit) {
      gone = stream->scratch.kept > stream->scratch.limit - bytes ? trim_locked(stream, stream->scratch.limit - bytes, class) : NULL;
      buffer->next = stream->scratch.classes[class];
      stream->scratch.classes[class] = buffer;
      stream->scratch.kept += bytes;
    }
    unlock(stream);
  }
  if (gone != NULL) release_all(gone);
}

hrx_status hrx_stream_set_scratch_limit(hrx_stream *stream, uint64_t bytes) {
  lock(stream);
  stream->scratch.limit = bytes;
  struct hrx_buffer *gone = trim_locked(stream, bytes, SCRATCH_CLASSES);
  unlock(stream);
  release_all(gone);
  return HRX_OK;
}

void scratch_close(struct hrx_stream *stream) {
  lock(stream);
  stream->scratch.closed = true;
  struct hrx_buffer *gone = trim_locked(stream, 0, SCRATCH_CLASSES);
  unlock(stream);
  release_all(gone);
}

uint64_t runtime_scratch_drop(struct hrx_runtime *runtime) {
  uint64_t dropped = 0;
  struct hrx_buffer *gone = NULL;
  pthread_mutex_lock(&runtime->streams.lock);
  for (struct hrx_stream *stream = runtime->streams.first; stream != NULL; stream = stream->next) {
    lock(stream);
    dropped += stream->scratch.kept;
    struct hrx_buffer *more = trim_locked(stream, 0, SCRATCH_CLASSES);
    unlock(stream);
    while (more != NULL) {
      struct hrx_buffer *next = more->next;
      more->next = gone;
      gone = more;
      more = next;
    }
  }
  pthread_mutex_unlock(&runtime->streams.lock);
  release_all(gone); /* not under the lock: a stream may go with its last buffer */
  return dropped;
}
