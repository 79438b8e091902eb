#include "gpu/soft/texture.h"

#include <string.h>

enum { SELECT_ZERO = 0, SELECT_ONE = 1, SELECT_X = 4, SELECT_Y = 5, SELECT_Z = 6, SELECT_W = 7 };

struct format_row {
  uint8_t channels, bits, kinds[5]; /* unified format numbers by enum soft_texel_kind; 0: none */
};
/* RDNA2 ISA, "Unified format" table. */
static const struct format_row format_rows[] = {
    {1, 8, {1, 2, 5, 6, 0}},      {1, 16, {7, 8, 11, 12, 13}},    {2, 8, {14, 15, 18, 19, 0}},
    {1, 32, {0, 0, 20, 21, 22}},  {2, 16, {23, 24, 27, 28, 29}},  {4, 8, {56, 57, 60, 61, 0}},
    {2, 32, {0, 0, 62, 63, 64}},  {4, 16, {65, 66, 69, 70, 71}},  {3, 32, {0, 0, 72, 73, 74}},
    {4, 32, {0, 0, 75, 76, 77}},
};
enum { FORMAT_ROWS = sizeof format_rows / sizeof *format_rows, KINDS = 5 };

unsigned soft_format_encode(unsigned channels, unsigned bits, enum soft_texel_kind kind) {
  for (unsigned row = 0; row < FORMAT_ROWS; row++)
    if (format_rows[row].channels == channels && format_rows[row].bits == bits && (unsigned)kind < KINDS)
      return format_rows[row].kinds[kind];
  return 0;
}

bool soft_format_decode(unsigned format, unsigned *out_channels, unsigned *out_bits, enum soft_texel_kind *out_kind) {
  for (unsigned row = 0; row < FORMAT_ROWS && format != 0; row++)
    for (unsigned kind = 0; kind < KINDS; kind++)
      if (format_rows[row].kinds[kind] == format) {
        *out_channels = format_rows[row].channels;
        *out_bits = format_rows[row].bits;
        *out_kind = (enum soft_texel_kind)kind;
        return true;
      }
  return false;
}

/* Missing colours read as 0, missing alpha as 1. */
static uint32_t selects(unsigned channels) {
  const uint32_t y = channels > 1 ? SELECT_Y : SELECT_ZERO, z = channels > 2 ? SELECT_Z : SELECT_ZERO;
  return SELECT_X | y << 3 | z << 6 | (uint32_t)(channels > 3 ? SELECT_W : SELECT_ONE) << 9;
}

bool soft_texture_encode(const struct soft_texture *image, uint32_t out_words[8]) {
  const uint32_t format = soft_format_encode(image->channels, image->bits, image->kind);
  const uint32_t width = image->width - 1, height = image->height - 1, depth = image->depth - 1;
  if (format == 0 || width >= SOFT_TEXTURE_EXTENT || height >= SOFT_TEXTURE_EXTENT || depth >= SOFT_TEXTURE_DEPTH ||
      image->address >> 48 != 0)
    return false;
  out_words[0] = (uint32_t)(image->address >> 8);
  out_words[1] = (uint32_t)(image->address >> 40) | format << 20 | width << 30;
  out_words[2] = width >> 2 | height << 14 | UINT32_C(1) << 31;
  out_words[3] = selects(image->channels) | (uint32_t)image->type << 28;
  out_words[4] = depth;
  out_words[5] = (uint32_t)(image->address & 0xff) << 24;
  out_words[6] = image->row_bytes;
  out_words[7] = image->slice_rows;
  return true;
}

bool soft_texture_decode(const uint32_t words[8], struct soft_texture *out_image) {
  struct soft_texture image = {.address = (uint64_t)words[0] << 8 | (uint64_t)(words[1] & 0xff) << 40 | words[5] >> 24,
                             .type = (enum soft_texture_type)(words[3] >> 28),
                             .width = (words[1] >> 30 | (words[2] & 0xfff) << 2) + 1,
                             .height = (words[2] >> 14 & 0x3fff) + 1,
                             .depth = (words[4] & 0x1fff) + 1,
                             .row_bytes = words[6],
                             .slice_rows = words[7]};
  const bool linear = (words[3] >> 20 & 0x1f) == 0;
  const bool known = image.type == TEXTURE_1D || image.type == TEXTURE_2D || image.type == TEXTURE_3D ||
                     image.type == TEXTURE_1D_ARRAY || image.type == TEXTURE_2D_ARRAY;
  if (!linear || !known || !soft_format_decode(words[1] >> 20 & 0x1ff, &image.channels, &image.bits, &image.kind)) return false;
  *out_image = image;
  return true;
}

void soft_sampler_encode(const struct soft_sampler *sampler, uint32_t out_words[4]) {
  const uint32_t filter = sampler->linear ? 1 : 0;
  out_words[0] = (uint32_t)sampler->mode[0] | (uint32_t)sampler->mode[1] << 3 | (uint32_t)sampler->mode[2] << 6 |
                 (sampler->normalized ? 0 : UINT32_C(1) << 15) | (sampler->linear ? 0 : UINT32_C(1) << 27);
  out_words[1] = UINT32_C(0xfff) << 12;
  out_words[2] = filter << 20 | filter << 22;
  out_words[3] = (uint32_t)sampler->border << 30;
}

void soft_sampler_decode(const uint32_t words[4], struct soft_sampler *out_sampler) {
  *out_sampler = (struct soft_sampler){.linear = (words[2] >> 20 & 3) != 0,
                                       .normalized = (words[0] >> 15 & 1) == 0,
                                       .border = (uint8_t)(words[3] >> 30)};
  for (unsigned axis = 0; axis < 3; axis++) out_sampler->mode[axis] = (enum soft_address_mode)(words[0] >> 3 * axis & 7);
}

bool soft_texel_buffer_encode(uint64_t address, uint32_t texels, unsigned channels, unsigned bits, enum soft_texel_kind kind,
                              uint32_t out_words[4]) {
  const uint32_t format = soft_format_encode(channels, bits, kind);
  if (format == 0 || address >> 48 != 0) return false;
  out_words[0] = (uint32_t)address;
  out_words[1] = (uint32_t)(address >> 32) | channels * bits / 8 << 16;
  out_words[2] = texels;
  out_words[3] = selects(channels) | format << 12 | UINT32_C(1) << 24 | UINT32_C(1) << 28; /* bounds: by index */
  return true;
}

bool soft_texture_object_encode(const struct soft_texture *image, const struct soft_sampler *sampler,
                         uint32_t out_words[SOFT_TEXTURE_WORDS]) {
  /* hsa_ext_image_channel_type_t for 8, 16 and 32 bits, and hsa_ext_image_channel_order_t for 1, 2 and 4 channels */
  static const uint8_t types[KINDS][3] = {{2, 3, 0}, {0, 1, 0}, {11, 12, 13}, {8, 9, 10}, {0, 14, 15}};
  static const uint8_t orders[5] = {0, 1, 3, 6, 8};
  memset(out_words, 0, SOFT_TEXTURE_WORDS * sizeof *out_words);
  if (!soft_texture_encode(image, out_words)) return false;
  out_words[8] = types[image->kind][image->bits == 8 ? 0 : image->bits == 16 ? 1 : 2];
  out_words[9] = orders[image->channels];
  if (sampler != NULL) soft_sampler_encode(sampler, out_words + SOFT_TEXTURE_SAMPLER_WORD);
  return true;
}
