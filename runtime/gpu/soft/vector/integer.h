/* One lane of integer arithmetic that takes more than a line. All branch-free, so that loops of them become vector code. */
#ifndef HRX_GPU_SOFT_VECTOR_INTEGER_H
#define HRX_GPU_SOFT_VECTOR_INTEGER_H

#include "gpu/soft/vector/lane.h"

/* Results that stick at the ends of their type, for clamp. */
VECTOR_INLINE uint32_t saturate_u32(int64_t value) {
  return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}
VECTOR_INLINE uint32_t saturate_i32(int64_t value) {
  return (uint32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}
VECTOR_INLINE uint16_t saturate_u16(int64_t value) {
  return (uint16_t)(value < 0 ? 0 : value > UINT16_MAX ? UINT16_MAX : value);
}
VECTOR_INLINE uint16_t saturate_i16(int64_t value) {
  return (uint16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

VECTOR_INLINE int32_t signed24(uint32_t value) { return (int32_t)(value << 8) >> 8; }
VECTOR_INLINE uint32_t unsigned24(uint32_t value) { return value & 0xffffff; }

/* No vector instruction of v4 counts bits. */
VECTOR_INLINE uint32_t count_bits(uint32_t value) {
  value -= value >> 1 & 0x55555555;
  value = (value & 0x33333333) + (value >> 2 & 0x33333333);
  return ((value + (value >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

VECTOR_INLINE uint32_t reverse_bits(uint32_t value) {
  value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
  value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
  value = (value >> 4 & 0x0f0f0f0f) | (value & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(value);
}

/* Position of the first set bit from the top and the bottom, all ones if there is none. */
VECTOR_INLINE uint32_t first_from_top(uint32_t value) {
  return value == 0 ? UINT32_MAX : (uint32_t)__builtin_clz(value | 1) - (value == 0);
}
VECTOR_INLINE uint32_t first_from_bottom(uint32_t value) {
  return value == 0 ? UINT32_MAX : count_bits((value & (0 - value)) - 1);
}
/* The first bit from the top that differs from the sign, all ones if there is none. */
VECTOR_INLINE uint32_t first_unlike_sign(int32_t value) { return first_from_top((uint32_t)(value ^ value >> 31)); }

/* Lanes below `lane` in this half of a mask. */
VECTOR_INLINE uint32_t mask_below(unsigned lane, unsigned half) {
  const unsigned base = 32 * half;
  return lane >= base + 32 ? UINT32_MAX : lane <= base ? 0 : (UINT32_C(1) << (lane - base)) - 1;
}

VECTOR_INLINE uint32_t field_unsigned(uint32_t value, uint32_t offset, uint32_t width) {
  return value >> (offset & 31) & ((UINT32_C(1) << (width & 31)) - 1);
}
/* Sign extension by (x ^ sign) - sign: a width of 0 gives 0. */
VECTOR_INLINE uint32_t field_signed(uint32_t value, uint32_t offset, uint32_t width) {
  const uint32_t bits = width & 31, mask = (UINT32_C(1) << bits) - 1, sign = (mask + 1) >> 1;
  const uint32_t field = (uint32_t)((int32_t)value >> (offset & 31)) & mask;
  return bits == 0 ? 0 : (field ^ sign) - sign;
}

/* One byte of v_perm_b32: 0..7 a byte of the pair, 8..11 a sign of it, 12 zeros, else ones. RDNA2 ISA, "V_PERM_B32". */
VECTOR_INLINE uint32_t permute_byte(uint64_t pair, uint32_t select) {
  const uint32_t byte = (uint32_t)(pair >> 8 * (select & 7)) & 0xff;
  const uint32_t sign = (pair >> (16 * (select & 3) + 15) & 1) ? 0xff : 0;
  return select < 8 ? byte : select < 12 ? sign : select == 12 ? 0 : 0xff;
}
VECTOR_INLINE uint32_t permute_bytes(uint32_t high, uint32_t low, uint32_t selects) {
  const uint64_t pair = (uint64_t)high << 32 | low;
  return permute_byte(pair, selects & 0xff) | permute_byte(pair, selects >> 8 & 0xff) << 8 |
         permute_byte(pair, selects >> 16 & 0xff) << 16 | permute_byte(pair, selects >> 24) << 24;
}

VECTOR_INLINE uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

/* Sum of the distances of four bytes; `masked` skips those whose reference byte (b) is 0. */
VECTOR_INLINE uint32_t distance_bytes(uint32_t a, uint32_t b, bool masked) {
  uint32_t sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const uint32_t reference = b >> shift & 0xff, one = distance(a >> shift & 0xff, reference);
    sum += masked && reference == 0 ? 0 : one;
  }
  return sum;
}
/* Four of them, at each byte of the low half of a, added to the 16-bit parts of c. */
VECTOR_INLINE uint64_t distance_quad(uint64_t a, uint32_t b, uint64_t c, bool masked) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; i++) {
    const uint64_t sum = distance_bytes((uint32_t)(a >> 8 * i), b, masked) + (c >> 16 * i & 0xffff);
    result |= (sum & 0xffff) << 16 * i;
  }
  return result;
}

VECTOR_INLINE uint32_t average_bytes(uint32_t a, uint32_t b, uint32_t round) {
  uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const uint32_t sum = (a >> shift & 0xff) + (b >> shift & 0xff) + (round >> shift & 1);
    result |= (sum >> 1) << shift;
  }
  return result;
}

/* Products of parts of `bits` bits, summed. */
VECTOR_INLINE int64_t dot_signed(uint32_t a, uint32_t b, unsigned bits) {
  int64_t sum = 0;
  for (unsigned shift = 0; shift < 32; shift += bits) {
    const int32_t x = (int32_t)(a << (32 - bits - shift)) >> (32 - bits), y = (int32_t)(b << (32 - bits - shift)) >> (32 - bits);
    sum += (int64_t)x * y;
  }
  return sum;
}
VECTOR_INLINE int64_t dot_unsigned(uint32_t a, uint32_t b, unsigned bits) {
  int64_t sum = 0;
  for (unsigned shift = 0; shift < 32; shift += bits) {
    const uint32_t x = a << (32 - bits - shift) >> (32 - bits), y = b << (32 - bits - shift) >> (32 - bits);
    sum += (int64_t)((uint64_t)x * y);
  }
  return sum;
}

VECTOR_INLINE int32_t smaller_i32(int32_t a, int32_t b) { return a < b ? a : b; }
VECTOR_INLINE int32_t larger_i32(int32_t a, int32_t b) { return a > b ? a : b; }
VECTOR_INLINE uint32_t smaller_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
VECTOR_INLINE uint32_t larger_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
VECTOR_INLINE int32_t middle_i32(int32_t a, int32_t b, int32_t c) {
  return larger_i32(smaller_i32(a, b), smaller_i32(larger_i32(a, b), c));
}
VECTOR_INLINE uint32_t middle_u32(uint32_t a, uint32_t b, uint32_t c) {
  return larger_u32(smaller_u32(a, b), smaller_u32(larger_u32(a, b), c));
}

/* Both halves of a packed operand. */
VECTOR_INLINE uint32_t pack_halves(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
VECTOR_INLINE int32_t low_signed(uint32_t value) { return (int32_t)(value << 16) >> 16; }
VECTOR_INLINE int32_t high_signed(uint32_t value) { return (int32_t)value >> 16; }
VECTOR_INLINE int32_t low_unsigned(uint32_t value) { return (int32_t)(value & 0xffff); }
VECTOR_INLINE int32_t high_unsigned(uint32_t value) { return (int32_t)(value >> 16); }

#endif
