#include "interpose/array.h"

#include <stdlib.h>

#include "interpose/capture.h"
#include "interpose/entry.h"
#include "interpose/handle.h"
#include "interpose/memory_release.h"
#include "interpose/operation.h"

bool array_live(const hipArray *array) { return handle_live(array, HANDLE_ARRAY); }

size_t array_element_bytes(const hipArray *array) {
  return (size_t)(array->desc.x + array->desc.y + array->desc.z + array->desc.w) / 8;
}

static size_t row_bytes(const hipArray *array) { return array_element_bytes(array) * array->width; }

size_t array_pitch(const hipArray *array) {
  return (row_bytes(array) + ARRAY_PITCH_ALIGNMENT - 1) / ARRAY_PITCH_ALIGNMENT * ARRAY_PITCH_ALIGNMENT;
}

static size_t rows_of(const hipArray *array) { return array->height != 0 ? array->height : 1; }
static size_t slices_of(const hipArray *array) { return array->depth != 0 ? array->depth : 1; }

size_t array_slice_pitch(const hipArray *array) { return array_pitch(array) * rows_of(array); }

size_t array_bytes(const hipArray *array) { return array_slice_pitch(array) * slices_of(array); }

/* One to four channels of the same 8, 16 or 32 bits. */
static bool channels_of(const hipChannelFormatDesc *desc, unsigned *out_channels) {
  const int bits[4] = {desc->x, desc->y, desc->z, desc->w};
  unsigned channels = 0;
  if (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) return false;
  while (channels < 4 && bits[channels] == bits[0]) channels++;
  for (unsigned i = channels; i < 4; i++)
    if (bits[i] != 0) return false;
  *out_channels = channels;
  return channels != 3;
}

static bool format_of(const hipChannelFormatDesc *desc, hipArray_Format *out_format) {
  switch (desc->f) {
  case hipChannelFormatKindUnsigned:
    *out_format = desc->x == 8    ? HIP_AD_FORMAT_UNSIGNED_INT8
                  : desc->x == 16 ? HIP_AD_FORMAT_UNSIGNED_INT16
                                  : HIP_AD_FORMAT_UNSIGNED_INT32;
    return true;
  case hipChannelFormatKindSigned:
    *out_format = desc->x == 8    ? HIP_AD_FORMAT_SIGNED_INT8
                  : desc->x == 16 ? HIP_AD_FORMAT_SIGNED_INT16
                                  : HIP_AD_FORMAT_SIGNED_INT32;
    return true;
  case hipChannelFormatKindFloat:
    *out_format = desc->x == 16 ? HIP_AD_FORMAT_HALF : HIP_AD_FORMAT_FLOAT;
    return desc->x != 8;
  default: return false;
  }
}

bool array_descriptor(hipArray_Format format, unsigned channels, hipChannelFormatDesc *out_desc) {
  int bits = 0;
  hipChannelFormatKind kind = hipChannelFormatKindNone;
  switch (format) {
  case HIP_AD_FORMAT_UNSIGNED_INT8: bits = 8, kind = hipChannelFormatKindUnsigned; break;
  case HIP_AD_FORMAT_UNSIGNED_INT16: bits = 16, kind = hipChannelFormatKindUnsigned; break;
  case HIP_AD_FORMAT_UNSIGNED_INT32: bits = 32, kind = hipChannelFormatKindUnsigned; break;
  case HIP_AD_FORMAT_SIGNED_INT8: bits = 8, kind = hipChannelFormatKindSigned; break;
  case HIP_AD_FORMAT_SIGNED_INT16: bits = 16, kind = hipChannelFormatKindSigned; break;
  case HIP_AD_FORMAT_SIGNED_INT32: bits = 32, kind = hipChannelFormatKindSigned; break;
  case HIP_AD_FORMAT_HALF: bits = 16, kind = hipChannelFormatKindFloat; break;
  case HIP_AD_FORMAT_FLOAT: bits = 32, kind = hipChannelFormatKindFloat; break;
  default: return false;
  }
  if (channels != 1 && channels != 2 && channels != 4) return false;
  *out_desc = (hipChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 2 ? bits : 0, kind};
  return true;
}

hipError_t array_describe(hipArray *array, const hipChannelFormatDesc *desc, hipExtent extent, unsigned flags) {
  enum { WIDTH_MAX = 16384, DEPTH_MAX = 8192 };
  unsigned channels = 0;
  if (!channels_of(desc, &channels) || !format_of(desc, &array->Format)) return hipErrorInvalidValue;
  if (extent.width == 0 || extent.width > WIDTH_MAX || extent.height > WIDTH_MAX || extent.depth > DEPTH_MAX)
    return hipErrorInvalidValue;
  array->desc = *desc;
  array->width = (unsigned)extent.width;
  array->height = (unsigned)extent.height;
  array->depth = (unsigned)extent.depth;
  array->NumChannels = channels;
  array->type = flags;
  array->textureType = extent.depth != 0 ? hipTextureType3D : extent.height != 0 ? hipTextureType2D : hipTextureType1D;
  return hipSuccess;
}

static hipError_t array_create(hipArray **out_array, const hipChannelFormatDesc *desc, hipExtent extent, unsigned flags) {
  struct hip_device *device = NULL;
  struct allocation *allocation = NULL;
  if (out_array == NULL || desc == NULL) return hipErrorInvalidValue;
  /* layers and cube maps need kernels' other addressing; surfaces are stores into the same linear image */
  if ((flags & ~(unsigned)hipArraySurfaceLoadStore) != 0) return hipErrorNotSupported;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  hipArray *array = calloc(1, sizeof *array);
  if (array == NULL) return hipErrorOutOfMemory;
  struct memory *memory = state_existing()->domain->memory;
  error = array_describe(array, desc, extent, flags);
  if (error == hipSuccess)
    error = error_of(memory_allocate(memory, array_bytes(array), ARRAY_PITCH_ALIGNMENT,
                                     MEMORY_DEVICE, ARRAY_MEMORY_FLAG, device->ordinal, &allocation));
  if (error == hipSuccess) {
    array->data = (void *)allocation->address;
    error = error_of(handle_add(array, HANDLE_ARRAY));
    if (error != hipSuccess) memory_free(memory, allocation);
  }
  if (error != hipSuccess) {
    free(array);
    return error;
  }
  *out_array = array;
  return hipSuccess;
}

static hipError_t array_free(hipArray *array) {
  if (array == NULL) return hipErrorInvalidValue;
  if (!array_live(array)) return hipErrorContextIsDestroyed;
  if (handle_live(array, HANDLE_MIPMAP_LEVEL)) return hipErrorInvalidValue; /* it goes with the other levels */
  hipError_t error = memory_wait_and_free(array->data, 1u << MEMORY_DEVICE);
  if (error == hipSuccess && handle_remove(array, HANDLE_ARRAY)) free(array);
  return error;
}

hipError_t entry_hipMallocArray(hipArray **array, const hipChannelFormatDesc *desc, size_t width, size_t height,
                                unsigned flags) {
  ENTRY_RETURN(hipMallocArray, array_create(array, desc, (hipExtent){width, height, 0}, flags));
}

hipError_t entry_hipMalloc3DArray(hipArray **array, const struct hipChannelFormatDesc *desc, struct hipExtent extent,
                                  unsigned flags) {
  ENTRY_RETURN(hipMalloc3DArray, array_create(array, desc, extent, flags));
}

hipError_t entry_hipArrayCreate(hipArray **array, const HIP_ARRAY_DESCRIPTOR *description) {
  hipChannelFormatDesc desc;
  if (description == NULL || !array_descriptor(description->Format, description->NumChannels, &desc))
    ENTRY_RETURN(hipArrayCreate, hipErrorInvalidValue);
  ENTRY_RETURN(hipArrayCreate, array_create(array, &desc, (hipExtent){description->Width, description->Height, 0}, 0));
}

hipError_t entry_hipArray3DCreate(hipArray **array, const HIP_ARRAY3D_DESCRIPTOR *description) {
  hipChannelFormatDesc desc;
  if (description == NULL || !array_descriptor(description->Format, description->NumChannels, &desc))
    ENTRY_RETURN(hipArray3DCreate, hipErrorInvalidValue);
  hipExtent extent = {description->Width, description->Height, description->Depth};
  ENTRY_RETURN(hipArray3DCreate, array_create(array, &desc, extent, description->Flags));
}

hipError_t entry_hipFreeArray(hipArray *array) { ENTRY_RETURN(hipFreeArray, array_free(array)); }
hipError_t entry_hipArrayDestroy(hipArray *array) { ENTRY_RETURN(hipArrayDestroy, array_free(array)); }

hipError_t entry_hipArrayGetInfo(hipChannelFormatDesc *desc, hipExtent *extent, unsigned *flags, hipArray *array) {
  if (!array_live(array)) ENTRY_RETURN(hipArrayGetInfo, hipErrorInvalidHandle);
  if (desc != NULL) *desc = array->desc;
  if (extent != NULL) *extent = (hipExtent){array->width, array->height, array->depth};
  if (flags != NULL) *flags = array->type;
  ENTRY_RETURN(hipArrayGetInfo, hipSuccess);
}

hipError_t entry_hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *description, hipArray *array) {
  if (description == NULL) ENTRY_RETURN(hipArrayGetDescriptor, hipErrorInvalidValue);
  if (!array_live(array)) ENTRY_RETURN(hipArrayGetDescriptor, hipErrorInvalidHandle);
  *description = (HIP_ARRAY_DESCRIPTOR){array->width, array->height, array->Format, array->NumChannels};
  ENTRY_RETURN(hipArrayGetDescriptor, hipSuccess);
}

hipError_t entry_hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *description, hipArray *array) {
  if (description == NULL) ENTRY_RETURN(hipArray3DGetDescriptor, hipErrorInvalidValue);
  if (!array_live(array)) ENTRY_RETURN(hipArray3DGetDescriptor, hipErrorInvalidHandle);
  *description = (HIP_ARRAY3D_DESCRIPTOR){array->width,  array->height,      array->depth,
                                          array->Format, array->NumChannels, array->type};
  ENTRY_RETURN(hipArray3DGetDescriptor, hipSuccess);
}

hipChannelFormatDesc entry_hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind f) {
  return (hipChannelFormatDesc){x, y, z, w, f};
}

hipError_t entry_hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_const_t array) {
  if (desc == NULL) ENTRY_RETURN(hipGetChannelDesc, hipErrorInvalidValue);
  if (!array_live(array)) ENTRY_RETURN(hipGetChannelDesc, hipErrorInvalidHandle);
  *desc = array->desc;
  ENTRY_RETURN(hipGetChannelDesc, hipSuccess);
}
