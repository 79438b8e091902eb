/* Views: byte ranges of buffers, and the checks that every call makes of them. */
#include "native/objects.h"

hrx_view hrx_buffer_view(hrx_buffer *buffer) { return (hrx_view){buffer, 0, hrx_buffer_bytes(buffer)}; }

hrx_status hrx_view_slice(hrx_view view, size_t offset, size_t bytes, hrx_view *out_view) {
  if (out_view == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "out_view is NULL");
  if (offset > view.bytes || bytes > view.bytes - offset)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "a slice of %zu bytes at offset %zu of a view of %zu bytes", bytes, offset,
                           view.bytes);
  size_t begin = 0;
  if (__builtin_add_overflow(view.offset, offset, &begin))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "a slice at offset %zu of a view at offset %zu", offset, view.offset);
  *out_view = (hrx_view){view.buffer, begin, bytes};
  return HRX_OK;
}

hrx_status view_check(const struct hrx_runtime *runtime, hrx_view view, const char *what) {
  if (view.buffer == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%s: the view has no buffer", what);
  const struct backing *backing = view.buffer->backing;
  const struct allocation *allocation = backing->allocation;
  if (backing->runtime->domain != runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "%s: the buffer belongs to another runtime", what);
  if (view.bytes == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "%s: the view is empty", what);
  if (backing->serial != allocation->serial)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_POINTER, "%s: the program has freed the memory of this view", what);
  if (view.offset > allocation->bytes || view.bytes > allocation->bytes - view.offset)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%s: %zu bytes at offset %zu of a buffer of %zu bytes", what, view.bytes,
                           view.offset, allocation->bytes);
  return HRX_OK;
}

bool view_overlap(hrx_view one, hrx_view other) {
  const struct allocation *first = one.buffer->backing->allocation, *second = other.buffer->backing->allocation;
  if (first->storage != second->storage) return false;
  size_t from = first->storage_offset + one.offset, other_from = second->storage_offset + other.offset;
  return from < other_from + other.bytes && other_from < from + one.bytes;
}
