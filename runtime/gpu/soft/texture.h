/* Images and samplers as kernels see them: RDNA2's image resource (8 dwords), sampler (4 dwords) and typed buffer (4 dwords),
 * as far as linear images of HIP's channel formats need (RDNA2 ISA, "Image resource", "Sampler resource", "Buffer resource").
 *
 * Images are never tiled. What RDNA2 has no room for in a linear image is kept in words that only tiled ones use: the low byte
 * of the address in word 5, the row pitch in word 6 and the rows of a slice in word 7. Plain data, any thread. */
#ifndef HRX_GPU_SOFT_TEXTURE_H
#define HRX_GPU_SOFT_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

enum soft_texel_kind { TEXEL_UNORM, TEXEL_SNORM, TEXEL_UINT, TEXEL_SINT, TEXEL_FLOAT };

/* Values of the resource's type field. */
enum soft_texture_type { TEXTURE_1D = 8, TEXTURE_2D = 9, TEXTURE_3D = 10, TEXTURE_1D_ARRAY = 12, TEXTURE_2D_ARRAY = 13 };

struct soft_texture {
  uint64_t address;
  enum soft_texture_type type;
  uint32_t width, height, depth; /* texels, 1 to SOFT_TEXTURE_EXTENT; depth counts slices or layers; 1 where unused */
  uint32_t row_bytes;            /* from one row to the next */
  uint32_t slice_rows;           /* rows from one slice to the next */
  unsigned channels, bits;       /* 1, 2 or 4 channels of 8, 16 or 32 bits */
  enum soft_texel_kind kind;
};

enum { SOFT_TEXTURE_EXTENT = 16384, SOFT_TEXTURE_DEPTH = 8192, SOFT_TEXTURE_WORDS = 16, SOFT_TEXTURE_SAMPLER_WORD = 12 };

/* Values of the sampler's clamp fields. */
enum soft_address_mode { ADDRESS_WRAP = 0, ADDRESS_MIRROR = 1, ADDRESS_CLAMP = 2, ADDRESS_BORDER = 6 };

struct soft_sampler {
  enum soft_address_mode mode[3];
  bool linear;
  bool normalized; /* coordinates from 0 to 1 */
  uint8_t border;  /* 0 transparent black, 1 opaque black, 2 white */
};

/* The image's eight words. False if the format or an extent has no encoding. */
bool soft_texture_encode(const struct soft_texture *image, uint32_t out_words[8]);

/* The image in eight words. False for a type, format or tiling that is not implemented. */
bool soft_texture_decode(const uint32_t words[8], struct soft_texture *out_image);

void soft_sampler_encode(const struct soft_sampler *sampler, uint32_t out_words[4]);
void soft_sampler_decode(const uint32_t words[4], struct soft_sampler *out_sampler);

/* A buffer of `texels` typed texels, for tex1Dfetch. Any length. False if the format has no encoding. */
bool soft_texel_buffer_encode(uint64_t address, uint32_t texels, unsigned channels, unsigned bits, enum soft_texel_kind kind,
                              uint32_t out_words[4]);

/* The unified format number of a texel; 0 if there is none. And back: false if it is not implemented. */
unsigned soft_format_encode(unsigned channels, unsigned bits, enum soft_texel_kind kind);
bool soft_format_decode(unsigned format, unsigned *out_channels, unsigned *out_bits, enum soft_texel_kind *out_kind);

/* What a hipTextureObject_t or hipSurfaceObject_t points to: image, then channel type and order in words 8 and 9 (HSA's
 * numbers, which surface functions read), and the sampler from word 12. `sampler` NULL: a surface. */
bool soft_texture_object_encode(const struct soft_texture *image, const struct soft_sampler *sampler,
                         uint32_t out_words[SOFT_TEXTURE_WORDS]);

#endif
