/* Host maps: holds of a byte range for reading or writing. */
#include <stdlib.h>
#include <string.h>

#include "native/objects.h"

struct hrx_map {
  struct hold hold;
  struct access access; /* what the hold points to */
  struct hrx_buffer *buffer; /* counted */
  void *pointer;
};

static hrx_status reach_check(const struct hrx_buffer *buffer) {
  if (buffer->placement == HRX_HOST_VISIBLE || buffer->placement == HRX_SHARED) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "memory that is local to the %s has no host map",
                         buffer->placement == HRX_GPU_LOCAL ? "GPU" : "NPU");
}

/* Before the host reads and after it wrote: an NPU that does not see the same bytes is told. */
static hrx_status cache_maintain(const struct hrx_map *map, enum npu_cache direction) {
  const struct backing *backing = map->buffer->backing;
  if (map->buffer->placement != HRX_SHARED || backing->npu->properties.coherent) return HRX_OK;
  return npu_cache(backing->npu, map->pointer, map->access.bytes, direction);
}

static hrx_status map_make(hrx_view view, hrx_access access, bool try_only, hrx_map **out_map) {
  if (out_map == NULL || view.buffer == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "out_map or the view's buffer is NULL");
  struct hrx_runtime *runtime = view.buffer->backing->runtime;
  hrx_status status = view_check(runtime, view, "host map");
  if (status == HRX_OK) status = reach_check(view.buffer);
  if (status != HRX_OK) return status;
  struct hrx_map *map = calloc(1, sizeof *map);
  if (map == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a host map");
  map->access = view_access(view, access);
  map->hold = (struct hold){.kind = access == HRX_READ ? HOLD_READ : HOLD_WRITE, .accesses = &map->access, .access_count = 1};
  map->buffer = hrx_buffer_retain(view.buffer);
  map->pointer = (void *)view_address(view);
  status = hold_take(runtime->domain->engine, &map->hold, try_only, UINT64_MAX);
  if (status == HRX_OK) {
    status = cache_maintain(map, NPU_CACHE_FROM_DEVICE);
    if (status != HRX_OK) hold_drop(runtime->domain->engine, &map->hold);
  }
  if (status != HRX_OK) {
    hrx_buffer_release(map->buffer);
    free(map);
    return status;
  }
  *out_map = map;
  return HRX_OK;
}

hrx_status hrx_map_read(hrx_view view, hrx_map **out_map) { return map_make(view, HRX_READ, false, out_map); }
hrx_status hrx_map_write(hrx_view view, hrx_map **out_map) { return map_make(view, HRX_WRITE, false, out_map); }
hrx_status hrx_map_try_read(hrx_view view, hrx_map **out_map) { return map_make(view, HRX_READ, true, out_map); }
hrx_status hrx_map_try_write(hrx_view view, hrx_map **out_map) { return map_make(view, HRX_WRITE, true, out_map); }

void *hrx_map_pointer(hrx_map *map) { return map != NULL ? map->pointer : NULL; }
size_t hrx_map_bytes(const hrx_map *map) { return map != NULL ? map->access.bytes : 0; }

void hrx_map_release(hrx_map *map) {
  if (map == NULL) return;
  if (map->hold.kind == HOLD_WRITE) cache_maintain(map, NPU_CACHE_TO_DEVICE); /* reachable memory: it cannot fail */
  hold_drop(map->buffer->backing->runtime->domain->engine, &map->hold);
  hrx_buffer_release(map->buffer);
  free(map);
}

static hrx_status length_check(hrx_view view, const void *bytes, size_t count) {
  if (bytes == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the host address is NULL");
  if (count == view.bytes) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "%zu bytes for a view of %zu", count, view.bytes);
}

hrx_status hrx_view_read(hrx_view view, void *out_bytes, size_t bytes) {
  hrx_map *map = NULL;
  hrx_status status = length_check(view, out_bytes, bytes);
  if (status == HRX_OK) status = hrx_map_read(view, &map);
  if (status == HRX_OK) memcpy(out_bytes, hrx_map_pointer(map), bytes);
  hrx_map_release(map);
  return status;
}

hrx_status hrx_view_write(hrx_view view, const void *bytes, size_t count) {
  hrx_map *map = NULL;
  hrx_status status = length_check(view, bytes, count);
  if (status == HRX_OK) status = hrx_map_write(view, &map);
  if (status == HRX_OK) memcpy(hrx_map_pointer(map), bytes, count);
  hrx_map_release(map);
  return status;
}
