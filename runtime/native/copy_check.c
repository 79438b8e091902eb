/* What copies of streams and graphs have in common. */
#include "native/stream.h"

hrx_status copy_views_check(hrx_view destination, hrx_view source) {
  if (destination.bytes != source.bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "a copy of %zu bytes to a view of %zu", source.bytes, destination.bytes);
  if (view_overlap(destination, source))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "a copy of %zu bytes from offset %zu to offset %zu of the same memory",
                           source.bytes, source.offset, destination.offset);
  return HRX_OK;
}
