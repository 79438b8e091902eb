/* Kernels for streams: code without a contract. A stream keeps code that it has queued (stream.c), so a kernel can be released at
 * any time. */
#include <hrx/stream.h>

#include <stdlib.h>

#include "native/stream.h"

/* Takes over the reference to the code in any case. */
static hrx_status kernel_make(struct code_module *code, const char *symbol, hrx_stream_kernel **out_kernel) {
  struct hrx_stream_kernel *kernel = calloc(1, sizeof *kernel);
  hrx_status status = kernel != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a kernel");
  if (status == HRX_OK) status = code_module_kernel(code, symbol, &kernel->kernel);
  if (status != HRX_OK) {
    code_module_release(code);
    free(kernel);
    return status;
  }
  kernel->references = 1;
  kernel->code = code;
  *out_kernel = kernel;
  return HRX_OK;
}

static hrx_status arguments_check(const void *stream, const void *out_kernel) {
  if (stream != NULL && out_kernel != NULL) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "stream or out_kernel is NULL");
}

hrx_status hrx_stream_kernel_load(hrx_stream *stream, const void *bytes, size_t size, const char *symbol,
                                  hrx_stream_kernel **out_kernel) {
  struct code_module *code = NULL;
  hrx_status status = arguments_check(stream, out_kernel);
  if (status == HRX_OK) status = code_module_load(stream->runtime, bytes, size, &code);
  return status == HRX_OK ? kernel_make(code, symbol, out_kernel) : status;
}

hrx_status hrx_stream_kernel_load_file(hrx_stream *stream, const char *path, const char *symbol, hrx_stream_kernel **out_kernel) {
  struct code_module *code = NULL;
  hrx_status status = arguments_check(stream, out_kernel);
  if (status == HRX_OK) status = code_module_load_file(stream->runtime, path, &code);
  return status == HRX_OK ? kernel_make(code, symbol, out_kernel) : status;
}

hrx_stream_kernel *hrx_stream_kernel_retain(hrx_stream_kernel *kernel) {
  if (kernel != NULL) atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed); /* the caller has one */
  return kernel;
}

void hrx_stream_kernel_release(hrx_stream_kernel *kernel) {
  if (kernel == NULL || atomic_fetch_sub(&kernel->references, 1) != 1) return;
  code_module_release(kernel->code);
  free(kernel);
}
