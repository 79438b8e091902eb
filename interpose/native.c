/* HIP's streams for native runtimes of the same process (native/hip_interop.h). */
#include "interpose/native.h"

#include "interpose/error.h"
#include "interpose/stream.h"
#include "native/hip_interop.h"

static hrx_status join(void *owner) { return hip_stream_join(owner); }
static void submitted(void *owner) { hip_stream_touched(owner); }

static hrx_status queue_find(void *hip_stream, struct foreign_queue *out_queue) {
  struct ihipStream_t *stream = NULL;
  hipError_t error = hip_stream_find(hip_stream, &stream);
  if (error != hipSuccess)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_HANDLE, "%p is no stream of HIP's: %s", hip_stream, error_name(error));
  if (atomic_load(&stream->capture) != NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_HANDLE, "the HIP stream %p is being captured", hip_stream);
  *out_queue = (struct foreign_queue){.queue = stream->stream, .owner = stream, .join = join, .submitted = submitted};
  return HRX_OK;
}

static const struct hip_interop interop = {.queue_find = queue_find};

void native_offer(void) { hip_interop_register(&interop); }
