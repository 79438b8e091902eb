/* Texels in memory and as kernels see them. */
#ifndef HRX_GPU_SOFT_MEMORY_TEXEL_H
#define HRX_GPU_SOFT_MEMORY_TEXEL_H

#include <math.h>

#include "gpu/soft/texture.h"
#include "gpu/soft/memory/atomics.h"

LANE_INLINE float half_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31) return bits_float(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return bits_float(sign | (exponent + 112) << 23 | fraction << 13);
  return bits_float(sign | float_bits((float)fraction * 0x1p-24f));
}

/* Rounds to nearest even. */
LANE_INLINE uint32_t float_half(float value) {
  const uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00; /* rounds to 2^16 */
  if (magnitude < 0x38800000) return sign | (uint32_t)lrintf(bits_float(magnitude) * 0x1p24f);
  return sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

/* One channel as a register holds it: a float's bits, or an integer. */
LANE_INLINE uint32_t channel_load(const uint8_t *memory, unsigned bits, enum soft_texel_kind kind) {
  const uint32_t raw = bits == 8 ? *memory : bits == 16 ? *(const guest16 *)memory : *(const guest32 *)memory;
  switch (kind) {
  case TEXEL_UNORM: return float_bits((float)raw / (bits == 8 ? 255.0f : 65535.0f));
  case TEXEL_SNORM: {
    const float value = bits == 8 ? (float)(int8_t)raw / 127.0f : (float)(int16_t)raw / 32767.0f;
    return float_bits(value < -1.0f ? -1.0f : value);
  }
  case TEXEL_SINT: return bits == 8 ? (uint32_t)(int8_t)raw : bits == 16 ? (uint32_t)(int16_t)raw : raw;
  case TEXEL_FLOAT: return bits == 16 ? float_bits(half_float(raw)) : raw;
  case TEXEL_UINT: break;
  }
  return raw;
}

LANE_INLINE float clamped(float value, float least, float most) {
  return value >= least ? (value > most ? most : value) : least; /* NaN: the least */
}

/* Integers saturate (RDNA2 ISA, "Image store": conversion to the format). */
LANE_INLINE void channel_store(uint8_t *memory, unsigned bits, enum soft_texel_kind kind, uint32_t value) {
  const uint32_t most = bits == 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
  const float scale = (float)(kind == TEXEL_UNORM ? most : most >> 1);
  uint32_t raw = value;
  switch (kind) {
  case TEXEL_UNORM: raw = (uint32_t)lrintf(clamped(bits_float(value), 0.0f, 1.0f) * scale); break;
  case TEXEL_SNORM:
    raw = (uint32_t)(int32_t)lrintf((bits_float(value) == bits_float(value) ? clamped(bits_float(value), -1.0f, 1.0f) : 0.0f) * scale);
    break;
  case TEXEL_UINT: raw = value > most ? most : value; break;
  case TEXEL_SINT: {
    const int32_t high = (int32_t)(most >> 1), low = -high - 1, signed_value = (int32_t)value;
    raw = (uint32_t)(signed_value > high ? high : signed_value < low ? low : signed_value);
    break;
  }
  case TEXEL_FLOAT: raw = bits == 16 ? float_half(bits_float(value)) : value; break;
  }
  if (bits == 8)
    *(volatile uint8_t *)memory = (uint8_t)raw;
  else if (bits == 16)
    *(volatile guest16 *)memory = (uint16_t)raw;
  else
    *(volatile guest32 *)memory = raw;
}

/* Four components out of the channels, as the resource selects them: 0, 1, or a channel from 4 on. */
LANE_INLINE void texel_select(const uint32_t channels[4], unsigned selects, enum soft_texel_kind kind, uint32_t out_texel[4]) {
  const uint32_t one = kind == TEXEL_UINT || kind == TEXEL_SINT ? 1 : 0x3f800000;
  for (unsigned i = 0; i < 4; i++) {
    const unsigned select = selects >> 3 * i & 7;
    out_texel[i] = select >= 4 ? channels[select - 4] : select == 1 ? one : 0;
  }
}

#endif
