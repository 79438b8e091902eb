/* Stages: buffers handed as a whole to a native stream, and taken back. */
#include <stdlib.h>

#include "native/stream.h"

/* Each buffer once, whole, with what all accesses to it do together. */
static unsigned accesses_merge(const hrx_view_access *accesses, size_t count, struct access *out_accesses) {
  unsigned used = 0;
  for (size_t i = 0; i < count; i++) {
    const struct allocation *allocation = accesses[i].view.buffer->backing->allocation;
    unsigned at = 0;
    while (at < used && out_accesses[at].allocation != allocation) at++;
    enum access_kind kind = accesses[i].access == HRX_READ ? ACCESS_READ : ACCESS_READ_WRITE;
    if (at == used)
      out_accesses[used++] = (struct access){allocation, 0, allocation->bytes, kind};
    else if (kind != ACCESS_READ)
      out_accesses[at].kind = kind;
  }
  return used;
}

static hrx_status arguments_check(const hrx_runtime *runtime, const hrx_stream *stream, const hrx_view_access *accesses, size_t count,
                                  hrx_stage stage) {
  if (runtime == NULL || stream == NULL || stage == NULL || (accesses == NULL && count != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime, stream, accesses or stage is NULL");
  if (stream->runtime->domain != runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "the stream belongs to another runtime");
  if (count == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "a stage without buffers");
  for (size_t i = 0; i < count; i++) {
    hrx_status status = stream_view_check(stream, accesses[i].view, "stage");
    if (status != HRX_OK) return status;
    if (accesses[i].access < HRX_READ || accesses[i].access > HRX_ATOMIC)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "stage: %u is no access", (unsigned)accesses[i].access);
  }
  return HRX_OK;
}

hrx_status hrx_runtime_with_gpu_access(hrx_runtime *runtime, hrx_stream *stream, const hrx_view_access *accesses, size_t count,
                                       hrx_stage stage, void *context) {
  hrx_status status = arguments_check(runtime, stream, accesses, count, stage);
  if (status != HRX_OK) return status;
  struct engine *engine = runtime->domain->engine;
  struct access *held = calloc(count, sizeof *held);
  if (held == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a stage of %zu buffers", count);
  struct hold hold = {.kind = HOLD_HANDOFF, .accesses = held, .stream = stream->stream};
  hold.access_count = accesses_merge(accesses, count, held);
  status = hold_take(engine, &hold, false, UINT64_MAX);
  if (status == HRX_OK) {
    struct failure failure = {.status = HRX_OK};
    status = stage(context, stream);
    if (status != HRX_OK) failure_capture(status, &failure);
    hrx_status finished = hrx_stream_synchronize(stream);
    hold_drop(engine, &hold);
    status = status != HRX_OK ? failure_restore(&failure) : finished; /* the stage's own comes first */
  }
  free(held);
  return status;
}
