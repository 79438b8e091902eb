/* A stream's buffer taken into its runtime's domain: a second handle to the same memory. */
#include <stdlib.h>

#include "native/stream.h"

/* Makes the backing known to the NPU, once, whichever of the handles asks first. */
static hrx_status share(struct hrx_runtime *runtime, struct backing *backing, unsigned index) {
  hrx_npu *npu = NULL;
  hrx_status status = hrx_runtime_npu(runtime, index, &npu);
  if (status != HRX_OK) return status;
  pthread_mutex_lock(&runtime->opening);
  if (backing->import == NULL) {
    status = npu_import(npu->device, (const void *)backing->allocation->address, backing->allocation->bytes, &backing->import);
    if (status == HRX_OK) {
      backing->npu = npu->device;
      atomic_fetch_add(&runtime->statistics.imports, 1);
    }
  } else if (backing->npu != npu->device) {
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "the buffer is shared with another NPU already");
  }
  pthread_mutex_unlock(&runtime->opening);
  return status;
}

/* Charges the memory unless the stream did. Two adoptions at once charge once. */
static hrx_status charge(struct hrx_runtime *runtime, struct backing *backing, bool *out_charged) {
  hrx_status status = HRX_OK;
  pthread_mutex_lock(&runtime->opening);
  *out_charged = backing->charged == 0;
  if (*out_charged) status = budget_charge(runtime, backing->allocation->bytes);
  if (*out_charged && status == HRX_OK) backing->charged = backing->allocation->bytes;
  pthread_mutex_unlock(&runtime->opening);
  if (status != HRX_OK) *out_charged = false;
  return status;
}

hrx_status hrx_buffer_adopt(hrx_runtime *runtime, hrx_buffer *stream_buffer, hrx_placement placement, unsigned npu,
                            hrx_buffer **out_buffer) {
  if (runtime == NULL || stream_buffer == NULL || out_buffer == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime, stream_buffer or out_buffer is NULL");
  struct backing *backing = stream_buffer->backing;
  if (backing->runtime->domain != runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "the buffer is of a stream of another runtime");
  if (stream_buffer->stream == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "the buffer is not a stream's: it belongs to the runtime already");
  if (placement != HRX_GPU_LOCAL && placement != HRX_SHARED)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "a stream's buffer can become GPU_LOCAL or SHARED");
  struct hrx_buffer *buffer = NULL;
  bool charged = false;
  hrx_status status = buffer_wrap(backing, placement, npu, &buffer);
  if (status == HRX_OK) status = charge(runtime, backing, &charged);
  if (status == HRX_OK && placement == HRX_SHARED) status = share(runtime, backing, npu);
  if (status != HRX_OK) {
    if (charged) {
      backing->charged = 0;
      budget_discharge(runtime, backing->allocation->bytes);
    }
    free(buffer);
    return status;
  }
  backing_retain(backing);
  *out_buffer = buffer;
  return HRX_OK;
}
