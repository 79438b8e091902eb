/* Mipmapped arrays: all levels in one allocation, each an array of its own that belongs to the whole. */
#include <stdlib.h>

#include "interpose/array.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/memory_release.h"

struct mipmap {
  hipMipmappedArray array; /* first: HIP's handle points to it */
  size_t bytes;
  unsigned level_count;
  hipArray levels[];
};

static size_t half(size_t extent, unsigned level) {
  if (extent == 0) return 0;
  return extent >> level != 0 ? extent >> level : 1;
}

/* As many levels as halving the longest side to 1 makes. */
static unsigned levels_most(hipExtent extent) {
  size_t longest = extent.width > extent.height ? extent.width : extent.height;
  if (extent.depth > longest) longest = extent.depth;
  unsigned count = 1;
  while (longest >>= 1) count++;
  return count;
}

static hipError_t levels_describe(struct mipmap *mipmap, const hipChannelFormatDesc *desc, hipExtent extent, unsigned flags) {
  for (unsigned i = 0; i < mipmap->level_count; i++) {
    hipExtent level = {half(extent.width, i), half(extent.height, i), half(extent.depth, i)};
    hipError_t error = array_describe(&mipmap->levels[i], desc, level, flags);
    if (error != hipSuccess) return error;
    mipmap->bytes += array_bytes(&mipmap->levels[i]);
  }
  return hipSuccess;
}

static void handles_remove(struct mipmap *mipmap) {
  for (unsigned i = 0; i < mipmap->level_count; i++) {
    handle_remove(&mipmap->levels[i], HANDLE_ARRAY);
    handle_remove(&mipmap->levels[i], HANDLE_MIPMAP_LEVEL);
  }
  handle_remove(mipmap, HANDLE_MIPMAP);
}

static hipError_t handles_add(struct mipmap *mipmap) {
  hrx_status status = handle_add(mipmap, HANDLE_MIPMAP);
  for (unsigned i = 0; status == HRX_OK && i < mipmap->level_count; i++) {
    status = handle_add(&mipmap->levels[i], HANDLE_MIPMAP_LEVEL);
    if (status == HRX_OK) status = handle_add(&mipmap->levels[i], HANDLE_ARRAY);
  }
  if (status == HRX_OK) return hipSuccess;
  handles_remove(mipmap);
  return hipErrorOutOfMemory;
}

static void levels_place(struct mipmap *mipmap, const hipChannelFormatDesc *desc, hipExtent extent, unsigned flags, char *data) {
  mipmap->array = (hipMipmappedArray){.data = data,
                                      .desc = *desc,
                                      .type = mipmap->levels[0].textureType,
                                      .width = (unsigned)extent.width,
                                      .height = (unsigned)extent.height,
                                      .depth = (unsigned)extent.depth,
                                      .max_mipmap_level = mipmap->level_count - 1,
                                      .flags = flags,
                                      .format = mipmap->levels[0].Format};
  for (unsigned i = 0; i < mipmap->level_count; i++) {
    mipmap->levels[i].data = data;
    data += array_bytes(&mipmap->levels[i]);
  }
}

static hipError_t create(hipMipmappedArray_t *out_array, const hipChannelFormatDesc *desc, hipExtent extent, unsigned levels,
                         unsigned flags) {
  struct hip_device *device = NULL;
  struct allocation *allocation = NULL;
  if (out_array == NULL || desc == NULL || levels == 0 || levels > levels_most(extent)) return hipErrorInvalidValue;
  if ((flags & ~(unsigned)hipArraySurfaceLoadStore) != 0) return hipErrorNotSupported; /* as for arrays */
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  struct memory *memory = state_existing()->domain->memory;
  struct mipmap *mipmap = calloc(1, sizeof *mipmap + levels * sizeof mipmap->levels[0]);
  if (mipmap == NULL) return hipErrorOutOfMemory;
  mipmap->level_count = levels;
  error = levels_describe(mipmap, desc, extent, flags);
  if (error == hipSuccess)
    error = error_of(memory_allocate(memory, mipmap->bytes, ARRAY_PITCH_ALIGNMENT, MEMORY_DEVICE, ARRAY_MEMORY_FLAG, device->ordinal,
                                     &allocation));
  if (error == hipSuccess) {
    levels_place(mipmap, desc, extent, flags, (char *)allocation->address);
    error = handles_add(mipmap);
    if (error != hipSuccess) memory_free(memory, allocation);
  }
  if (error != hipSuccess) {
    free(mipmap);
    return error;
  }
  *out_array = &mipmap->array;
  return hipSuccess;
}

hipError_t entry_hipMallocMipmappedArray(hipMipmappedArray_t *array, const struct hipChannelFormatDesc *desc, struct hipExtent extent,
                                         unsigned levels, unsigned flags) {
  ENTRY_RETURN(hipMallocMipmappedArray, create(array, desc, extent, levels, flags));
}

hipError_t entry_hipMipmappedArrayCreate(hipMipmappedArray_t *array, HIP_ARRAY3D_DESCRIPTOR *description, unsigned levels) {
  hipChannelFormatDesc desc;
  if (description == NULL || !array_descriptor(description->Format, description->NumChannels, &desc))
    ENTRY_RETURN(hipMipmappedArrayCreate, hipErrorInvalidValue);
  hipExtent extent = {description->Width, description->Height, description->Depth};
  ENTRY_RETURN(hipMipmappedArrayCreate, create(array, &desc, extent, levels, description->Flags));
}

static hipError_t destroy(hipMipmappedArray_t array) {
  struct mipmap *mipmap = (struct mipmap *)array;
  if (!handle_live(mipmap, HANDLE_MIPMAP)) return hipErrorInvalidValue;
  hipError_t error = memory_wait_and_free(array->data, 1u << MEMORY_DEVICE);
  if (error != hipSuccess) return error;
  handles_remove(mipmap);
  free(mipmap);
  return hipSuccess;
}

hipError_t entry_hipFreeMipmappedArray(hipMipmappedArray_t array) { ENTRY_RETURN(hipFreeMipmappedArray, destroy(array)); }
hipError_t entry_hipMipmappedArrayDestroy(hipMipmappedArray_t array) { ENTRY_RETURN(hipMipmappedArrayDestroy, destroy(array)); }

static hipError_t level_of(hipArray_t *out_level, hipMipmappedArray_const_t array, unsigned level) {
  struct mipmap *mipmap = (struct mipmap *)(uintptr_t)array;
  if (out_level == NULL) return hipErrorInvalidValue;
  if (!handle_live(mipmap, HANDLE_MIPMAP)) return hipErrorInvalidHandle;
  if (level >= mipmap->level_count) return hipErrorInvalidValue;
  *out_level = &mipmap->levels[level];
  return hipSuccess;
}

hipError_t entry_hipGetMipmappedArrayLevel(hipArray_t *level_array, hipMipmappedArray_const_t array, unsigned level) {
  ENTRY_RETURN(hipGetMipmappedArrayLevel, level_of(level_array, array, level));
}

hipError_t entry_hipMipmappedArrayGetLevel(hipArray_t *level_array, hipMipmappedArray_t array, unsigned level) {
  ENTRY_RETURN(hipMipmappedArrayGetLevel, level_of(level_array, array, level));
}

hipError_t entry_hipMipmappedArrayGetMemoryRequirements(hipArrayMemoryRequirements *requirements, hipMipmappedArray_t array,
                                                        hipDevice_t ordinal) {
  struct hip_device *device = NULL;
  const struct mipmap *mipmap = (const struct mipmap *)array;
  hipError_t error = requirements == NULL ? hipErrorInvalidValue : handle_live(mipmap, HANDLE_MIPMAP) ? hipSuccess : hipErrorInvalidHandle;
  if (error == hipSuccess) error = state_device(ordinal, &device);
  if (error == hipSuccess) *requirements = (hipArrayMemoryRequirements){ARRAY_PITCH_ALIGNMENT, mipmap->bytes};
  ENTRY_RETURN(hipMipmappedArrayGetMemoryRequirements, error);
}
