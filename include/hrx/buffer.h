/* Buffers, views of them, and host maps. */
#ifndef HRX_BUFFER_H
#define HRX_BUFFER_H

#include <hrx/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_map hrx_map;

typedef enum hrx_placement {
  HRX_GPU_LOCAL,    /* for the GPU; no host map */
  HRX_HOST_VISIBLE, /* for the GPU and the host */
  HRX_NPU_LOCAL,    /* for one NPU only */
  HRX_SHARED        /* for the GPU, one NPU and the host; made known to the NPU once */
} hrx_placement;

/* `bytes` zero bytes (1 to SSIZE_MAX), aligned to 256 at least. `npu` chooses the NPU of the last two placements (0 for the
 * first). Charged against the budget before they are allocated. The memory lives until the last release and the last work on
 * it. Errors: INVALID/ARGUMENT; BUSY/BUDGET with size, use and limit; OUT_OF_MEMORY; UNSUPPORTED for a missing device. */
hrx_status hrx_buffer_create(hrx_runtime *runtime, size_t bytes, hrx_placement placement, unsigned npu, hrx_buffer **out_buffer);

hrx_buffer *hrx_buffer_retain(hrx_buffer *buffer);
void hrx_buffer_release(hrx_buffer *buffer); /* NULL is accepted */

size_t hrx_buffer_bytes(const hrx_buffer *buffer);
hrx_placement hrx_buffer_placement(const hrx_buffer *buffer);

/* The address that kernels use. */
void *hrx_buffer_address(const hrx_buffer *buffer);

/* The whole buffer; of NULL an empty view. */
hrx_view hrx_buffer_view(hrx_buffer *buffer);

/* [offset, offset + bytes) of `view`; may be empty. Errors: INVALID/RANGE if it leaves the view, even if it stays in
 * the buffer, or wraps. */
hrx_status hrx_view_slice(hrx_view view, size_t offset, size_t bytes, hrx_view *out_view);

/* Takes a stream's buffer (stream.h), all its work done or submitted, into the runtime's domain. Both handles then show the
 * same memory; it is charged once. `placement` is GPU_LOCAL or SHARED. Errors: INVALID/FOREIGN for a stream of another runtime, and for what is no
 * stream's buffer; INVALID/PLACEMENT; BUSY/BUDGET. */
hrx_status hrx_buffer_adopt(hrx_runtime *runtime, hrx_buffer *stream_buffer, hrx_placement placement, unsigned npu,
                            hrx_buffer **out_buffer);

/* Host access to a range: waits for the device work that conflicts with this range (nothing else). Many read maps or one write
 * map of a byte at a time. While a map is live or waited for, submitting work that conflicts gives BUSY/MAPPED. What the
 * host writes is visible to device work submitted after the unmap, also if it wrote only some of the bytes.
 * Errors: INVALID/PLACEMENT for GPU_LOCAL and NPU_LOCAL; INVALID/EMPTY; BUSY/MAPPED for a conflicting live map, /HANDED_OFF,
 * and for the try_ forms BUSY/DEVICE_WORK; DEVICE_LOST/POISONED. */
hrx_status hrx_map_read(hrx_view view, hrx_map **out_map);
hrx_status hrx_map_write(hrx_view view, hrx_map **out_map);
hrx_status hrx_map_try_read(hrx_view view, hrx_map **out_map);
hrx_status hrx_map_try_write(hrx_view view, hrx_map **out_map);

void *hrx_map_pointer(hrx_map *map);
size_t hrx_map_bytes(const hrx_map *map);
void hrx_map_release(hrx_map *map); /* unmaps; NULL is accepted */

/* map, copy, unmap. Errors: as those; INVALID/RANGE if the count is not the length of the view. */
hrx_status hrx_view_read(hrx_view view, void *out_bytes, size_t bytes);
hrx_status hrx_view_write(hrx_view view, const void *bytes, size_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
