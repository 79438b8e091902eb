/* What copies of streams and graphs have in common. */
#include "native/stream.h"

bool views_overlap(hrx_view one, hrx_view other) {
  const struct allocation *first = one.buffer->backing->allocation, *second = other.buffer->backing->allocation;
  if (first->storage != second->storage) return false;
  size_t from = first->storage_offset + one.offset, other_from = second->storage_offset + other.offset;
  return from < other_from + other.bytes && other_from < from + one.bytes;
}

hrx_status copy_views_check(hrx_view destination, hrx_view source) {
  if (destination.bytes != source.bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "a copy of %zu bytes to a view of %zu", source.bytes, destination.bytes);
  if (views_overlap(destination, source))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "a copy of %zu bytes from offset %zu to offset %zu of the same memory",
                           source.bytes, source.offset, destination.offset);
  return HRX_OK;
}
