/* What memory the device can use: its own, and what was imported. The map's key is where the storage record lies, so that all
 * views of one storage find the same entry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npu/soft/parts.h"

static struct npu_soft_reach *reach_find_locked(const struct npu_soft_device *device, const struct allocation *allocation) {
  return address_map_find(&device->reachable, (uintptr_t)allocation->storage);
}

static hrx_status reach_add_locked(struct npu_soft_device *device, struct allocation *allocation, bool local,
                                   struct npu_soft_reach **out_reach) {
  struct npu_soft_reach *reach = calloc(1, sizeof *reach);
  if (reach == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a record of %zu bytes", allocation->bytes);
  reach->import.device = &device->base;
  reach->allocation = allocation;
  reach->serial = allocation->serial;
  reach->references = 1;
  reach->local = local;
  uintptr_t key = (uintptr_t)allocation->storage;
  hrx_status status = address_map_insert(&device->reachable, key, key + 1, reach);
  if (status != HRX_OK) {
    free(reach);
    return status;
  }
  *out_reach = reach;
  return HRX_OK;
}

/* The allocation that holds the whole range, or NULL and why not. */
static struct allocation *range_find(const struct npu_soft_device *device, const void *address, size_t bytes,
                                     const char **out_why) {
  struct allocation *allocation = memory_find(device->memory, (uintptr_t)address);
  if (allocation == NULL) {
    *out_why = "no memory of this domain";
    return NULL;
  }
  if (bytes > allocation->bytes - ((uintptr_t)address - allocation->address)) {
    *out_why = "longer than the rest of its allocation";
    return NULL;
  }
  return allocation;
}

bool npu_soft_reaches_locked(const struct npu_soft_device *device, const void *address, size_t bytes, const char **out_why) {
  const struct allocation *allocation = range_find(device, address, bytes, out_why);
  if (allocation == NULL) return false;
  const struct npu_soft_reach *reach = reach_find_locked(device, allocation);
  if (reach == NULL) {
    *out_why = allocation->access == 0 ? "local memory of another device"
                                       : "neither local memory of this device nor imported by it";
    return false;
  }
  if (reach->allocation->serial != reach->serial) { /* type-stable: this reads the record's next use */
    *out_why = "new memory where an import was freed before it was released";
    return false;
  }
  return true;
}

hrx_status npu_soft_import(struct npu_device *base, const void *address, size_t bytes, struct npu_import **out_import) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  hrx_status status = npu_soft_alive(device);
  if (status != HRX_OK) return status;
  const char *why = NULL;
  struct allocation *allocation = bytes == 0 ? NULL : range_find(device, address, bytes, &why);
  if (bytes == 0) why = "empty";
  pthread_mutex_lock(&device->lock);
  struct npu_soft_reach *reach = allocation != NULL ? reach_find_locked(device, allocation) : NULL;
  if (allocation != NULL && allocation->access == 0) why = "local memory of an NPU, which needs no import";
  if (reach != NULL && reach->allocation->serial != reach->serial)
    why = "new memory where an import was freed before it was released";
  if (why != NULL) {
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_POINTER, "cannot import %zu bytes at %p: the range is %s", bytes,
                             address, why);
  } else if (reach != NULL) {
    reach->references++;
  } else {
    status = reach_add_locked(device, allocation, false, &reach);
    if (status == HRX_OK) {
      device->imports++;
      device->imports_live++;
      device->imported_bytes += allocation->bytes;
    }
  }
  pthread_mutex_unlock(&device->lock);
  if (status == HRX_OK) *out_import = &reach->import;
  return status;
}

void npu_soft_import_release(struct npu_import *import) {
  struct npu_soft_reach *reach = (struct npu_soft_reach *)import;
  struct npu_soft_device *device = npu_soft_device_of(import->device);
  pthread_mutex_lock(&device->lock);
  bool last = --reach->references == 0;
  if (last) {
    address_map_remove(&device->reachable, (uintptr_t)reach->allocation->storage);
    device->imports_live--;
  }
  pthread_mutex_unlock(&device->lock);
  if (last) free(reach);
}

hrx_status npu_soft_allocate(struct npu_device *base, size_t bytes, size_t alignment, struct allocation **out_allocation) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  hrx_status status = npu_soft_alive(device);
  if (status != HRX_OK) return status;
  uint64_t limit = base->properties.memory_bytes;
  pthread_mutex_lock(&device->lock); /* charged before it is allocated */
  uint64_t used = device->local_bytes;
  bool fits = bytes <= limit - used;
  if (fits) device->local_bytes += bytes;
  pthread_mutex_unlock(&device->lock);
  if (!fits)
    return hrx_fail(HRX_OUT_OF_MEMORY, "%zu bytes do not fit: %" PRIu64 " of %" PRIu64 " bytes of the NPU's memory are used",
                    bytes, used, limit);

  struct allocation *allocation = NULL;
  struct npu_soft_reach *reach = NULL;
  status = memory_allocate(device->memory, bytes, alignment, MEMORY_INTERNAL, 0, 0, &allocation);
  if (status == HRX_OK) {
    allocation->access = 0; /* before anybody knows the address */
    memset((void *)allocation->address, 0, bytes);
  }
  pthread_mutex_lock(&device->lock);
  if (status == HRX_OK) status = reach_add_locked(device, allocation, true, &reach);
  if (status != HRX_OK)
    device->local_bytes -= bytes;
  else if (device->local_bytes > device->local_peak)
    device->local_peak = device->local_bytes;
  pthread_mutex_unlock(&device->lock);

  if (status != HRX_OK) {
    memory_free(device->memory, allocation);
    return status;
  }
  *out_allocation = allocation;
  return HRX_OK;
}

void npu_soft_free(struct npu_device *base, struct allocation *allocation) {
  struct npu_soft_device *device = npu_soft_device_of(base);
  pthread_mutex_lock(&device->lock);
  struct npu_soft_reach *reach = reach_find_locked(device, allocation);
  bool known = reach != NULL && reach->local && reach->allocation == allocation;
  if (known) {
    address_map_remove(&device->reachable, (uintptr_t)allocation->storage);
    device->local_bytes -= allocation->bytes;
  }
  pthread_mutex_unlock(&device->lock);
  if (!known) return;
  free(reach);
  memory_free(device->memory, allocation);
}

hrx_status npu_soft_cache(struct npu_device *base, const void *address, size_t bytes, enum npu_cache direction) {
  (void)direction; /* host memory: there is nothing to do either way */
  struct npu_soft_device *device = npu_soft_device_of(base);
  const char *why = NULL;
  pthread_mutex_lock(&device->lock);
  bool reaches = npu_soft_reaches_locked(device, address, bytes, &why);
  pthread_mutex_unlock(&device->lock);
  if (!reaches)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_POINTER, "%zu bytes at %p are %s", bytes, address, why);
  atomic_fetch_add_explicit(&device->maintained_bytes, bytes, memory_order_relaxed); /* a count, nothing behind it */
  return HRX_OK;
}

static void reach_drop(void *owner, void *context) {
  struct npu_soft_reach *reach = owner;
  struct npu_soft_device *device = context;
  if (reach->local) memory_free(device->memory, reach->allocation);
  free(reach);
}

void npu_soft_reach_finish(struct npu_soft_device *device) {
  address_map_visit(&device->reachable, reach_drop, device);
  address_map_finish(&device->reachable);
}
