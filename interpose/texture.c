/* Texture and surface objects: 20 dwords of device memory that kernels read, and what the program said when it made them. */
#include <stdlib.h>
#include <string.h>

#include "gpu/soft/texture.h"
#include "interpose/array.h"
#include "interpose/entry.h"
#include "interpose/pointer_map.h"
#include "interpose/state.h"

struct texture {
  struct allocation *words; /* its address is the handle */
  bool surface;
  hipResourceDesc resource;
  hipTextureDesc description;
  struct hipResourceViewDesc view;
  bool has_view;
};

static struct pointer_map textures = POINTER_MAP_INIT;

static bool kind_of(const hipChannelFormatDesc *desc, enum hipTextureReadMode mode, enum soft_texel_kind *out_kind) {
  bool normalized = mode == hipReadModeNormalizedFloat && desc->x <= 16;
  switch (desc->f) {
  case hipChannelFormatKindUnsigned: *out_kind = normalized ? TEXEL_UNORM : TEXEL_UINT; return true;
  case hipChannelFormatKindSigned: *out_kind = normalized ? TEXEL_SNORM : TEXEL_SINT; return true;
  case hipChannelFormatKindFloat: *out_kind = TEXEL_FLOAT; return true;
  default: return false;
  }
}

static unsigned channels_of(const hipChannelFormatDesc *desc) {
  return 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
}

/* The image behind an array or a pitched range. */
static hipError_t image_of(const hipResourceDesc *resource, enum hipTextureReadMode mode, struct soft_texture *out_image) {
  const hipChannelFormatDesc *desc = NULL;
  struct soft_texture image = {.height = 1, .depth = 1, .slice_rows = 1};
  if (resource->resType == hipResourceTypeArray) {
    const hipArray *array = resource->res.array.array;
    if (!array_live(array)) return hipErrorInvalidHandle;
    desc = &array->desc;
    image.address = (uintptr_t)array->data;
    image.type = array->depth != 0 ? TEXTURE_3D : array->height != 0 ? TEXTURE_2D : TEXTURE_1D;
    image.width = array->width;
    if (array->height != 0) image.height = image.slice_rows = array->height;
    if (array->depth != 0) image.depth = array->depth;
    image.row_bytes = (uint32_t)array_pitch(array);
  } else {
    desc = &resource->res.pitch2D.desc;
    if (resource->res.pitch2D.width > SOFT_TEXTURE_EXTENT || resource->res.pitch2D.height > SOFT_TEXTURE_EXTENT ||
        resource->res.pitch2D.pitchInBytes > UINT32_MAX || resource->res.pitch2D.devPtr == NULL)
      return hipErrorInvalidValue;
    image.address = (uintptr_t)resource->res.pitch2D.devPtr;
    image.type = TEXTURE_2D;
    image.width = (uint32_t)resource->res.pitch2D.width;
    image.height = image.slice_rows = (uint32_t)resource->res.pitch2D.height;
    image.row_bytes = (uint32_t)resource->res.pitch2D.pitchInBytes;
  }
  image.channels = channels_of(desc);
  image.bits = (unsigned)desc->x;
  if (!kind_of(desc, mode, &image.kind)) return hipErrorInvalidValue;
  *out_image = image;
  return hipSuccess;
}

static enum soft_address_mode mode_of(enum hipTextureAddressMode mode, bool normalized) {
  switch (mode) {
  /* these two need coordinates from 0 to 1: CUDA and HIP clamp others */
  case hipAddressModeWrap: return normalized ? ADDRESS_WRAP : ADDRESS_CLAMP;
  case hipAddressModeMirror: return normalized ? ADDRESS_MIRROR : ADDRESS_CLAMP;
  case hipAddressModeBorder: return ADDRESS_BORDER;
  default: return ADDRESS_CLAMP;
  }
}

static hipError_t sampler_of(const hipTextureDesc *description, const hipChannelFormatDesc *desc,
                             struct soft_sampler *out_sampler) {
  bool integers = desc->f != hipChannelFormatKindFloat && description->readMode == hipReadModeElementType;
  if (description->filterMode == hipFilterModeLinear && integers) return hipErrorInvalidValue;
  if (description->sRGB != 0 || description->maxAnisotropy > 1) return hipErrorNotSupported;
  for (int axis = 0; axis < 3; axis++)
    out_sampler->mode[axis] = mode_of(description->addressMode[axis], description->normalizedCoords != 0);
  out_sampler->linear = description->filterMode == hipFilterModeLinear;
  out_sampler->normalized = description->normalizedCoords != 0;
  out_sampler->border = 0;
  if (description->borderColor[3] != 0) out_sampler->border = description->borderColor[0] != 0 ? 2 : 1;
  return hipSuccess;
}

/* tex1Dfetch reads linear memory through a typed buffer, which takes the place of the image. */
static hipError_t linear_encode(const hipResourceDesc *resource, enum hipTextureReadMode mode, uint32_t *out_words) {
  const hipChannelFormatDesc *desc = &resource->res.linear.desc;
  enum soft_texel_kind kind;
  size_t texel = (size_t)desc->x / 8 * channels_of(desc);
  if (resource->res.linear.devPtr == NULL || texel == 0) return hipErrorInvalidValue;
  if (!kind_of(desc, mode, &kind)) return hipErrorInvalidValue;
  size_t texels = resource->res.linear.sizeInBytes / texel;
  if (texels > UINT32_MAX) return hipErrorInvalidValue;
  return soft_texel_buffer_encode((uintptr_t)resource->res.linear.devPtr, (uint32_t)texels, channels_of(desc),
                                  (unsigned)desc->x, kind, out_words)
           ? hipSuccess
           : hipErrorNotSupported;
}

static const hipChannelFormatDesc *desc_of(const hipResourceDesc *resource) {
  switch (resource->resType) {
  case hipResourceTypeArray: return array_live(resource->res.array.array) ? &resource->res.array.array->desc : NULL;
  case hipResourceTypeLinear: return &resource->res.linear.desc;
  case hipResourceTypePitch2D: return &resource->res.pitch2D.desc;
  default: return NULL;
  }
}

static hipError_t words_of(const struct texture *texture, uint32_t *out_words) {
  struct soft_sampler sampler = {0};
  struct soft_texture image;
  enum hipTextureReadMode mode = texture->surface ? hipReadModeElementType : texture->description.readMode;
  if (texture->resource.resType == hipResourceTypeMipmappedArray) return hipErrorNotSupported;
  const hipChannelFormatDesc *desc = desc_of(&texture->resource);
  if (desc == NULL) return hipErrorInvalidValue;
  hipError_t error = texture->surface ? hipSuccess : sampler_of(&texture->description, desc, &sampler);
  if (error != hipSuccess) return error;
  if (texture->resource.resType == hipResourceTypeLinear) {
    soft_sampler_encode(&sampler, out_words + SOFT_TEXTURE_SAMPLER_WORD);
    return linear_encode(&texture->resource, mode, out_words);
  }
  error = image_of(&texture->resource, mode, &image);
  if (error != hipSuccess) return error;
  return soft_texture_object_encode(&image, texture->surface ? NULL : &sampler, out_words) ? hipSuccess
                                                                                             : hipErrorNotSupported;
}

static hipError_t object_create(const struct texture *wanted, void **out_handle) {
  struct hip_device *device = NULL;
  uint32_t words[HIP_TEXTURE_OBJECT_SIZE_DWORD] = {0};
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = words_of(wanted, words);
  if (error != hipSuccess) return error;
  struct memory *memory = state_existing()->domain->memory;
  struct texture *texture = malloc(sizeof *texture);
  if (texture == NULL) return hipErrorOutOfMemory;
  *texture = *wanted;
  hrx_status status =
    memory_allocate(memory, sizeof words, 256, MEMORY_INTERNAL, 0, device->ordinal, &texture->words);
  if (status == HRX_OK) {
    memcpy((void *)texture->words->address, words, sizeof words);
    status = pointer_map_set(&textures, (void *)texture->words->address, texture);
    if (status != HRX_OK) memory_free(memory, texture->words);
  }
  if (status != HRX_OK) {
    free(texture);
    return error_of(status);
  }
  *out_handle = (void *)texture->words->address;
  return hipSuccess;
}

static struct texture *object_find(const void *handle, bool surface) {
  struct texture *texture = pointer_map_get(&textures, handle);
  return texture != NULL && texture->surface == surface ? texture : NULL;
}

/* Kernels that are queued may still read the object. */
static hipError_t object_destroy(const void *handle, bool surface) {
  struct hip_state *state = NULL;
  struct clock clock = {0};
  if (handle == NULL) return hipSuccess;
  if (object_find(handle, surface) == NULL) return hipErrorInvalidValue;
  hipError_t error = state_get(&state);
  if (error != hipSuccess) return error;
  hrx_status status = engine_clock(state->domain->engine, &clock);
  if (status == HRX_OK) status = engine_clock_wait(state->domain->engine, &clock, UINT64_MAX);
  clock_finish(&clock);
  struct texture *texture = status == HRX_OK ? pointer_map_take(&textures, handle) : NULL;
  if (texture != NULL) {
    memory_free(state->domain->memory, texture->words);
    free(texture);
  }
  return error_of(status);
}

static hipError_t texture_create(hipTextureObject_t *out_object, const hipResourceDesc *resource,
                                 const hipTextureDesc *description, const struct hipResourceViewDesc *view) {
  void *handle = NULL;
  if (out_object == NULL || resource == NULL || description == NULL) return hipErrorInvalidValue;
  struct texture wanted = {.resource = *resource, .description = *description, .has_view = view != NULL};
  if (view != NULL) {
    /* a view in the format of its resource shows the same texels; others would reinterpret them */
    if (view->format != hipResViewFormatNone) return hipErrorNotSupported;
    wanted.view = *view;
  }
  hipError_t error = object_create(&wanted, &handle);
  if (error == hipSuccess) *out_object = handle;
  return error;
}

hipError_t entry_hipCreateTextureObject(hipTextureObject_t *object, const hipResourceDesc *resource,
                                        const hipTextureDesc *description, const struct hipResourceViewDesc *view) {
  ENTRY_RETURN(hipCreateTextureObject, texture_create(object, resource, description, view));
}

hipError_t entry_hipDestroyTextureObject(hipTextureObject_t object) {
  ENTRY_RETURN(hipDestroyTextureObject, object_destroy(object, false));
}

hipError_t entry_hipCreateSurfaceObject(hipSurfaceObject_t *object, const hipResourceDesc *resource) {
  void *handle = NULL;
  if (object == NULL || resource == NULL || resource->resType != hipResourceTypeArray)
    ENTRY_RETURN(hipCreateSurfaceObject, hipErrorInvalidValue);
  struct texture wanted = {.surface = true, .resource = *resource};
  hipError_t error = object_create(&wanted, &handle);
  if (error == hipSuccess) *object = handle;
  ENTRY_RETURN(hipCreateSurfaceObject, error);
}

hipError_t entry_hipDestroySurfaceObject(hipSurfaceObject_t object) {
  ENTRY_RETURN(hipDestroySurfaceObject, object_destroy(object, true));
}

hipError_t entry_hipGetTextureObjectResourceDesc(hipResourceDesc *resource, hipTextureObject_t object) {
  struct texture *texture = object_find(object, false);
  if (resource == NULL || texture == NULL) ENTRY_RETURN(hipGetTextureObjectResourceDesc, hipErrorInvalidValue);
  *resource = texture->resource;
  ENTRY_RETURN(hipGetTextureObjectResourceDesc, hipSuccess);
}

hipError_t entry_hipGetTextureObjectTextureDesc(hipTextureDesc *description, hipTextureObject_t object) {
  struct texture *texture = object_find(object, false);
  if (description == NULL || texture == NULL) ENTRY_RETURN(hipGetTextureObjectTextureDesc, hipErrorInvalidValue);
  *description = texture->description;
  ENTRY_RETURN(hipGetTextureObjectTextureDesc, hipSuccess);
}

hipError_t entry_hipGetTextureObjectResourceViewDesc(struct hipResourceViewDesc *view, hipTextureObject_t object) {
  struct texture *texture = object_find(object, false);
  if (view == NULL || texture == NULL || !texture->has_view)
    ENTRY_RETURN(hipGetTextureObjectResourceViewDesc, hipErrorInvalidValue);
  *view = texture->view;
  ENTRY_RETURN(hipGetTextureObjectResourceViewDesc, hipSuccess);
}
