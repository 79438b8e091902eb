/* Variables of the program on the device: addresses, sizes, copies. */
#include "interpose/entry.h"
#include "interpose/function.h"
#include "interpose/operation.h"

static hipError_t symbol_current(const void *symbol, void **out_address, size_t *out_bytes) {
  struct hip_device *device = NULL;
  hipError_t error = symbol != NULL ? state_current(&device) : hipErrorInvalidSymbol;
  return error == hipSuccess ? symbol_find(symbol, device, out_address, out_bytes) : error;
}

hipError_t entry_hipGetSymbolAddress(void **address, const void *symbol) {
  void *found = NULL;
  size_t bytes = 0;
  hipError_t error = address != NULL ? symbol_current(symbol, &found, &bytes) : hipErrorInvalidValue;
  if (error == hipSuccess) *address = found;
  ENTRY_RETURN(hipGetSymbolAddress, error);
}

hipError_t entry_hipGetSymbolSize(size_t *size, const void *symbol) {
  void *found = NULL;
  size_t bytes = 0;
  hipError_t error = size != NULL ? symbol_current(symbol, &found, &bytes) : hipErrorInvalidValue;
  if (error == hipSuccess) *size = bytes;
  ENTRY_RETURN(hipGetSymbolSize, error);
}

hipError_t symbol_copy(struct hip_device *device, const void *symbol, size_t offset, size_t bytes, hipMemcpyKind kind,
                       bool to_symbol, void *other, struct copy_operation *out_operation) {
  void *address = NULL;
  size_t size = 0;
  hipError_t error = symbol_find(symbol, device, &address, &size);
  if (error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  hipMemcpyKind forbidden = to_symbol ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice;
  if (kind == hipMemcpyHostToHost || kind == forbidden) return hipErrorInvalidMemcpyDirection;
  char *at = (char *)address + offset;
  *out_operation = (struct copy_operation){
    .copy = {.destination = to_symbol ? (void *)at : other, .source = to_symbol ? other : (void *)at, .width = bytes,
             .height = 1, .depth = 1},
    .kind = kind};
  return hipSuccess;
}

static hipError_t issue(hipError_t found, struct ihipStream_t *stream, const void *symbol, size_t offset, size_t bytes,
                        hipMemcpyKind kind, bool to_symbol, void *other, enum completion completion) {
  struct copy_operation operation;
  if (found != hipSuccess) return found;
  if (symbol == NULL) return hipErrorInvalidSymbol;
  if (bytes == 0) return hipSuccess;
  if (other == NULL) return hipErrorInvalidValue;
  hipError_t error = symbol_copy(stream->device, symbol, offset, bytes, kind, to_symbol, other, &operation);
  return error == hipSuccess ? copy_issue(stream, &operation, completion) : error;
}

#define TO_SYMBOL(name, find, handle, completion)                                                                      \
  struct ihipStream_t *stream = NULL;                                                                                  \
  hipError_t found = find(handle, &stream);                                                                            \
  ENTRY_RETURN(name, issue(found, stream, symbol, offset, bytes, kind, true, (void *)(uintptr_t)src, completion))

#define FROM_SYMBOL(name, find, handle, completion)                                                                    \
  struct ihipStream_t *stream = NULL;                                                                                  \
  hipError_t found = find(handle, &stream);                                                                            \
  ENTRY_RETURN(name, issue(found, stream, symbol, offset, bytes, kind, false, dst, completion))

hipError_t entry_hipMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset, hipMemcpyKind kind) {
  TO_SYMBOL(hipMemcpyToSymbol, hip_stream_find, NULL, COMPLETE_CALL);
}

hipError_t entry_hipMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
                                        hipMemcpyKind kind, hipStream_t handle) {
  TO_SYMBOL(hipMemcpyToSymbolAsync, hip_stream_find, handle, COMPLETE_LATER);
}

hipError_t entry_hipMemcpyToSymbol_spt(const void *symbol, const void *src, size_t bytes, size_t offset,
                                       hipMemcpyKind kind) {
  TO_SYMBOL(hipMemcpyToSymbol_spt, hip_stream_find_spt, NULL, COMPLETE_CALL);
}

hipError_t entry_hipMemcpyToSymbolAsync_spt(const void *symbol, const void *src, size_t bytes, size_t offset,
                                            hipMemcpyKind kind, hipStream_t handle) {
  TO_SYMBOL(hipMemcpyToSymbolAsync_spt, hip_stream_find_spt, handle, COMPLETE_LATER);
}

hipError_t entry_hipMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  FROM_SYMBOL(hipMemcpyFromSymbol, hip_stream_find, NULL, COMPLETE_CALL);
}

hipError_t entry_hipMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                          hipStream_t handle) {
  FROM_SYMBOL(hipMemcpyFromSymbolAsync, hip_stream_find, handle, COMPLETE_LATER);
}

hipError_t entry_hipMemcpyFromSymbol_spt(void *dst, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  FROM_SYMBOL(hipMemcpyFromSymbol_spt, hip_stream_find_spt, NULL, COMPLETE_CALL);
}

hipError_t entry_hipMemcpyFromSymbolAsync_spt(void *dst, const void *symbol, size_t bytes, size_t offset,
                                              hipMemcpyKind kind, hipStream_t handle) {
  FROM_SYMBOL(hipMemcpyFromSymbolAsync_spt, hip_stream_find_spt, handle, COMPLETE_LATER);
}
