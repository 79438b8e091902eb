/* Moving the lanes of a wave to and from memory: what all memory families share.
 *
 * Addresses of a wave are `base + low[lane]`, one 64-bit base and one dword a lane, wherever that is possible: then three
 * shapes are told apart with a few vector instructions, contiguous, uniform, and anything else inside one checked range.
 *
 * Guest memory is shared with other host threads. Elements of 1, 2, 4 and 8 bytes that are aligned are moved in one piece on
 * x86, each operation really loads and really stores, and x86's order between plain accesses is stronger than what the ISA
 * promises between waits. Nothing here is instrumented by sanitizers: races of the guest are the guest's. */
#ifndef HRX_GPU_SOFT_MEMORY_LANES_H
#define HRX_GPU_SOFT_MEMORY_LANES_H

#include "gpu/soft/access.h"
#include "gpu/soft/operation.h"

#ifdef SOFT_LEVEL_v4
#include <immintrin.h>
#endif

#ifndef SOFT_GUEST
#define SOFT_GUEST __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

#define LANE_INLINE SOFT_GUEST __attribute__((always_inline)) static inline
#define LANE_SLOW SOFT_GUEST __attribute__((noinline)) static

typedef uint16_t guest16 __attribute__((aligned(1), may_alias));
typedef uint32_t guest32 __attribute__((aligned(1), may_alias));
typedef uint64_t guest64 __attribute__((aligned(1), may_alias));
typedef uint32_t guest_row __attribute__((vector_size(64), aligned(1), may_alias)); /* 16 lanes */

enum { LANE_ROWS = SOFT_LANES / 16 };
#define LANES_ALL (SOFT_LANES == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (SOFT_LANES & 63)) - 1)

/* For each active lane, lowest first. */
#define FOR_LANES(lane, exec)                                                                          \
  for (uint64_t lane##_rest = (exec); lane##_rest != 0; lane##_rest &= lane##_rest - 1)                \
    for (unsigned lane = (unsigned)__builtin_ctzll(lane##_rest), lane##_once = 1; lane##_once != 0; lane##_once = 0)

/* What moves: bytes in memory and how they fill a register. */
enum element {
  ELEMENT_U8, ELEMENT_I8, ELEMENT_U16, ELEMENT_I16, ELEMENT_B32, ELEMENT_B64, ELEMENT_B96, ELEMENT_B128,
  ELEMENT_U8_LOW, ELEMENT_U8_HIGH, ELEMENT_I8_LOW, ELEMENT_I8_HIGH, ELEMENT_B16_LOW, ELEMENT_B16_HIGH /* d16: half a register */
};

/* Mnemonics after global_load_, flat_load_, scratch_load_ and buffer_load_ (and _store_), and what they move. */
#define LOADS(X)                                                                                            \
  X(ubyte, ELEMENT_U8) X(sbyte, ELEMENT_I8) X(ushort, ELEMENT_U16) X(sshort, ELEMENT_I16) X(dword, ELEMENT_B32) \
  X(dwordx2, ELEMENT_B64) X(dwordx3, ELEMENT_B96) X(dwordx4, ELEMENT_B128) X(ubyte_d16, ELEMENT_U8_LOW)     \
  X(ubyte_d16_hi, ELEMENT_U8_HIGH) X(sbyte_d16, ELEMENT_I8_LOW) X(sbyte_d16_hi, ELEMENT_I8_HIGH)            \
  X(short_d16, ELEMENT_B16_LOW) X(short_d16_hi, ELEMENT_B16_HIGH)
#define STORES(X)                                                                                          \
  X(byte, ELEMENT_U8) X(byte_d16_hi, ELEMENT_U8_HIGH) X(short, ELEMENT_U16) X(short_d16_hi, ELEMENT_B16_HIGH) \
  X(dword, ELEMENT_B32) X(dwordx2, ELEMENT_B64) X(dwordx3, ELEMENT_B96) X(dwordx4, ELEMENT_B128)

LANE_INLINE unsigned element_bytes(enum element element) {
  switch (element) {
  case ELEMENT_U8: case ELEMENT_I8: case ELEMENT_U8_LOW: case ELEMENT_U8_HIGH: case ELEMENT_I8_LOW: case ELEMENT_I8_HIGH: return 1;
  case ELEMENT_U16: case ELEMENT_I16: case ELEMENT_B16_LOW: case ELEMENT_B16_HIGH: return 2;
  case ELEMENT_B32: return 4;
  case ELEMENT_B64: return 8;
  case ELEMENT_B96: return 12;
  default: return 16;
  }
}

LANE_INLINE unsigned element_registers(enum element element) { return (element_bytes(element) + 3) / 4; }

/* One element of at most a dword, as the register looks afterwards; `old` is what it held. */
LANE_INLINE uint32_t element_load(const void *memory, enum element element, uint32_t old) {
  switch (element) {
  case ELEMENT_U8: return *(const volatile uint8_t *)memory;
  case ELEMENT_I8: return (uint32_t)(int32_t)*(const volatile int8_t *)memory;
  case ELEMENT_U16: return *(const volatile guest16 *)memory;
  case ELEMENT_I16: return (uint32_t)(int32_t)(int16_t)*(const volatile guest16 *)memory;
  case ELEMENT_U8_LOW: return (old & 0xffff0000u) | *(const volatile uint8_t *)memory;
  case ELEMENT_U8_HIGH: return (old & 0xffffu) | (uint32_t)*(const volatile uint8_t *)memory << 16;
  case ELEMENT_I8_LOW: return (old & 0xffff0000u) | (uint16_t)*(const volatile int8_t *)memory;
  case ELEMENT_I8_HIGH: return (old & 0xffffu) | (uint32_t)(uint16_t)*(const volatile int8_t *)memory << 16;
  case ELEMENT_B16_LOW: return (old & 0xffff0000u) | *(const volatile guest16 *)memory;
  case ELEMENT_B16_HIGH: return (old & 0xffffu) | (uint32_t)*(const volatile guest16 *)memory << 16;
  default: return *(const volatile guest32 *)memory;
  }
}

LANE_INLINE void element_store(void *memory, enum element element, uint32_t value) {
  switch (element) {
  case ELEMENT_U8: case ELEMENT_I8: case ELEMENT_U8_LOW: case ELEMENT_I8_LOW: *(volatile uint8_t *)memory = (uint8_t)value; break;
  case ELEMENT_U8_HIGH: case ELEMENT_I8_HIGH: *(volatile uint8_t *)memory = (uint8_t)(value >> 16); break;
  case ELEMENT_U16: case ELEMENT_I16: case ELEMENT_B16_LOW: *(volatile guest16 *)memory = (uint16_t)value; break;
  case ELEMENT_B16_HIGH: *(volatile guest16 *)memory = (uint16_t)(value >> 16); break;
  default: *(volatile guest32 *)memory = value; break;
  }
}

/* Moves one lane's whole element between its registers and memory. A pair of dwords moves in one piece: 64-bit flags and
 * pointers must not be seen half written. */
LANE_INLINE void element_load_lane(uint32_t *registers, unsigned lane, const uint8_t *memory, enum element element) {
  const unsigned count = element_registers(element);
  unsigned k = 0;
  for (; k + 2 <= count; k += 2) {
    const uint64_t pair = *(const volatile guest64 *)(memory + 4 * k);
    registers[k * SOFT_LANES + lane] = (uint32_t)pair;
    registers[(k + 1) * SOFT_LANES + lane] = (uint32_t)(pair >> 32);
  }
  if (k < count)
    registers[k * SOFT_LANES + lane] =
        element_load(memory + 4 * k, count == 1 ? element : ELEMENT_B32, registers[k * SOFT_LANES + lane]);
}

LANE_INLINE void element_store_lane(const uint32_t *registers, unsigned lane, uint8_t *memory, enum element element) {
  const unsigned count = element_registers(element);
  unsigned k = 0;
  for (; k + 2 <= count; k += 2)
    *(volatile guest64 *)(memory + 4 * k) =
        (uint64_t)registers[(k + 1) * SOFT_LANES + lane] << 32 | registers[k * SOFT_LANES + lane];
  if (k < count) element_store(memory + 4 * k, count == 1 ? element : ELEMENT_B32, registers[k * SOFT_LANES + lane]);
}

/* Whether all active lanes hold the value of lane `first`. */
LANE_INLINE bool lanes_equal(const uint32_t *values, uint64_t exec, unsigned first) {
  const uint32_t value = values[first];
#ifdef SOFT_LEVEL_v4
  unsigned differs = 0;
  for (unsigned row = 0; row < LANE_ROWS; row++)
    differs |= _mm512_mask_cmpneq_epi32_mask((__mmask16)(exec >> 16 * row), _mm512_loadu_si512(values + 16 * row),
                                             _mm512_set1_epi32((int)value));
#else
  uint32_t differs = 0;
  if (exec == LANES_ALL)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) differs |= values[lane] ^ value;
  else
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) differs |= (exec >> lane & 1) != 0 ? values[lane] ^ value : 0;
#endif
  return differs == 0;
}

/* Whether active lane i is at low[first] + (i - first) * stride, without wrapping. */
LANE_INLINE bool lanes_contiguous(const uint32_t *low, uint64_t exec, unsigned first, unsigned last, uint32_t stride) {
  const uint32_t start = low[first] - first * stride;
#ifdef SOFT_LEVEL_v4
  const __m512i ramp = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                          _mm512_set1_epi32((int)stride));
  unsigned differs = 0;
  for (unsigned row = 0; row < LANE_ROWS; row++)
    differs |= _mm512_mask_cmpneq_epi32_mask((__mmask16)(exec >> 16 * row), _mm512_loadu_si512(low + 16 * row),
                                             _mm512_add_epi32(ramp, _mm512_set1_epi32((int)(start + 16 * row * stride))));
#else
  uint32_t differs = 0;
  if (exec == LANES_ALL)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) differs |= low[lane] ^ (start + lane * stride);
  else
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      differs |= (exec >> lane & 1) != 0 ? low[lane] ^ (start + lane * stride) : 0;
#endif
  return differs == 0 && low[last] >= low[first];
}

/* Smallest and largest offset of the active lanes. */
LANE_INLINE void lanes_range(const uint32_t *low, uint64_t exec, uint32_t *out_least, uint32_t *out_most) {
#ifdef SOFT_LEVEL_v4
  __m512i least = _mm512_set1_epi32(-1), most = _mm512_setzero_si512();
  for (unsigned row = 0; row < LANE_ROWS; row++) {
    const __mmask16 mask = (__mmask16)(exec >> 16 * row);
    const __m512i values = _mm512_loadu_si512(low + 16 * row);
    least = _mm512_mask_min_epu32(least, mask, least, values);
    most = _mm512_mask_max_epu32(most, mask, most, values);
  }
  *out_least = _mm512_reduce_min_epu32(least);
  *out_most = _mm512_reduce_max_epu32(most);
#else
  uint32_t least = UINT32_MAX, most = 0;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const uint32_t on = (exec >> lane & 1) != 0 ? UINT32_MAX : 0;
    const uint32_t low_value = low[lane] | ~on, high_value = low[lane] & on;
    least = low_value < least ? low_value : least;
    most = high_value > most ? high_value : most;
  }
  *out_least = least;
  *out_most = most;
#endif
}

#ifdef SOFT_LEVEL_v4
/* Rows of 16 lanes are looked at by themselves: tiles of 16 x 16 read one word or 16 neighbours in each, and the host's gathers
 * are slow. */
LANE_INLINE bool row_uniform(__m512i offsets, __mmask16 mask, uint32_t first) {
  return _mm512_mask_cmpneq_epi32_mask(mask, offsets, _mm512_set1_epi32((int)first)) == 0;
}
LANE_INLINE bool row_contiguous(__m512i offsets, __mmask16 mask, uint32_t start, uint32_t stride) {
  const __m512i ramp = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                          _mm512_set1_epi32((int)stride));
  return _mm512_mask_cmpneq_epi32_mask(mask, offsets, _mm512_add_epi32(ramp, _mm512_set1_epi32((int)start))) == 0;
}

LANE_INLINE void row_gather(uint32_t *registers, const uint8_t *memory, const uint32_t *lanes, __mmask16 mask, enum element element) {
  const unsigned count = element_registers(element), lane = (unsigned)__builtin_ctz(mask);
  const __m512i offsets = _mm512_loadu_si512(lanes);
  const uint32_t first = lanes[lane];
  if (row_uniform(offsets, mask, first)) {
    for (unsigned k = 0; k < count; k++) {
      const uint32_t value = *(const volatile guest32 *)(memory + first + 4 * k);
      _mm512_mask_storeu_epi32(registers + k * SOFT_LANES, mask, _mm512_set1_epi32((int)value));
    }
    return;
  }
  if (element == ELEMENT_B32 && row_contiguous(offsets, mask, first - 4 * lane, 4)) {
    const uint8_t *start = memory + (ptrdiff_t)first - (ptrdiff_t)(4 * lane);
    _mm512_mask_storeu_epi32(registers, mask, _mm512_maskz_loadu_epi32(mask, start));
    return;
  }
  if (element == ELEMENT_B64 && mask == 0xffff && row_contiguous(offsets, mask, first, 8)) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i low = _mm512_loadu_si512(memory + first), high = _mm512_loadu_si512(memory + first + 64);
    _mm512_storeu_si512(registers, _mm512_permutex2var_epi32(low, even, high));
    _mm512_storeu_si512(registers + SOFT_LANES,
                        _mm512_permutex2var_epi32(low, _mm512_add_epi32(even, _mm512_set1_epi32(1)), high));
    return;
  }
  for (unsigned k = 0; k < count; k++)
    _mm512_mask_storeu_epi32(registers + k * SOFT_LANES, mask,
                             _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, offsets, memory + 4 * k, 1));
}
#endif

/* registers[lane] = memory[offsets[lane]] for the active lanes; every address has been checked. `offsets` are below 2^31 and
 * are the caller's copy: registers may be the ones that they came from. */
LANE_INLINE void lanes_gather(uint32_t *registers, const uint8_t *memory, const uint32_t *offsets, uint64_t exec,
                              enum element element) {
#ifdef SOFT_LEVEL_v4
  if (element_bytes(element) >= 4) {
    for (unsigned row = 0; row < LANE_ROWS; row++) {
      const __mmask16 mask = (__mmask16)(exec >> 16 * row);
      if (mask != 0) row_gather(registers + 16 * row, memory, offsets + 16 * row, mask, element);
    }
    return;
  }
#endif
  if (exec == LANES_ALL)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) element_load_lane(registers, lane, memory + offsets[lane], element);
  else
    FOR_LANES(lane, exec) element_load_lane(registers, lane, memory + offsets[lane], element);
}

/* memory[offsets[lane]] = registers[lane] for the active lanes; the highest lane wins where they collide. */
LANE_INLINE void lanes_scatter(const uint32_t *registers, uint8_t *memory, const uint32_t *offsets, uint64_t exec,
                               enum element element) {
#ifdef SOFT_LEVEL_v4
  if (element == ELEMENT_B32) {
    for (unsigned row = 0; row < LANE_ROWS; row++) {
      const __mmask16 mask = (__mmask16)(exec >> 16 * row);
      const __m512i places = _mm512_loadu_si512(offsets + 16 * row), values = _mm512_loadu_si512(registers + 16 * row);
      if (mask == 0) continue;
      const unsigned lane = (unsigned)__builtin_ctz(mask);
      const uint32_t first = offsets[16 * row + lane];
      if (row_contiguous(places, mask, first - 4 * lane, 4))
        _mm512_mask_storeu_epi32(memory + (ptrdiff_t)first - (ptrdiff_t)(4 * lane), mask, values);
      else
        _mm512_mask_i32scatter_epi32(memory, mask, places, values, 1);
    }
    return;
  }
#endif
  if (exec == LANES_ALL)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) element_store_lane(registers, lane, memory + offsets[lane], element);
  else
    FOR_LANES(lane, exec) element_store_lane(registers, lane, memory + offsets[lane], element);
}

/* Lane i's element is at memory + i * its size; only active lanes are touched. */
LANE_INLINE void lanes_load_row(uint32_t *restrict registers, const uint8_t *restrict memory, uint64_t exec,
                                enum element element) {
  const unsigned bytes = element_bytes(element);
  if (element == ELEMENT_B32) {
#ifdef SOFT_LEVEL_v4
    for (unsigned row = 0; row < LANE_ROWS; row++)
      _mm512_storeu_si512(registers + 16 * row, _mm512_mask_loadu_epi32(_mm512_loadu_si512(registers + 16 * row),
                                                                        (__mmask16)(exec >> 16 * row), memory + 64 * row));
    return;
#else
    if (exec == LANES_ALL) {
      for (unsigned row = 0; row < LANE_ROWS; row++)
        *(guest_row *)(registers + 16 * row) = *(const guest_row *)(memory + 64 * row);
      return;
    }
#endif
  }
  if (exec == LANES_ALL && (bytes & 3) == 0) {
    const unsigned count = element_registers(element);
    const guest32 *words = (const guest32 *)memory;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      for (unsigned k = 0; k < count; k++) registers[k * SOFT_LANES + lane] = words[lane * count + k];
    return;
  }
  if (exec == LANES_ALL && element == ELEMENT_U8) {
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) registers[lane] = memory[lane];
    return;
  }
  FOR_LANES(lane, exec) element_load_lane(registers, lane, memory + lane * bytes, element);
}

LANE_INLINE void lanes_store_row(const uint32_t *restrict registers, uint8_t *restrict memory, uint64_t exec,
                                 enum element element) {
  const unsigned bytes = element_bytes(element);
  if (element == ELEMENT_B32) {
#ifdef SOFT_LEVEL_v4
    for (unsigned row = 0; row < LANE_ROWS; row++)
      _mm512_mask_storeu_epi32(memory + 64 * row, (__mmask16)(exec >> 16 * row), _mm512_loadu_si512(registers + 16 * row));
    return;
#else
    if (exec == LANES_ALL) {
      for (unsigned row = 0; row < LANE_ROWS; row++)
        *(guest_row *)(memory + 64 * row) = *(const guest_row *)(registers + 16 * row);
      return;
    }
#endif
  }
  if (exec == LANES_ALL && (bytes & 3) == 0) {
    const unsigned count = element_registers(element);
    guest32 *words = (guest32 *)memory;
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      for (unsigned k = 0; k < count; k++) words[lane * count + k] = registers[k * SOFT_LANES + lane];
    return;
  }
  FOR_LANES(lane, exec) element_store_lane(registers, lane, memory + lane * bytes, element);
}

/* registers[lane] = value for the active lanes. */
LANE_INLINE void lanes_fill(uint32_t *registers, uint32_t value, uint64_t exec) {
#ifdef SOFT_LEVEL_v4
  for (unsigned row = 0; row < LANE_ROWS; row++)
    _mm512_mask_storeu_epi32(registers + 16 * row, (__mmask16)(exec >> 16 * row), _mm512_set1_epi32((int)value));
#else
  if (exec == LANES_ALL)
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) registers[lane] = value;
  else
    FOR_LANES(lane, exec) registers[lane] = value;
#endif
}

/* All active lanes read the same element. */
LANE_INLINE void lanes_load_uniform(uint32_t *registers, const uint8_t *memory, uint64_t exec, unsigned first,
                                    enum element element) {
  if (element_bytes(element) < 4) {
    FOR_LANES(lane, exec) element_load_lane(registers, lane, memory, element);
    return;
  }
  element_load_lane(registers, first, memory, element);
  for (unsigned k = 0; k < element_registers(element); k++)
    lanes_fill(registers + k * SOFT_LANES, registers[k * SOFT_LANES + first], exec);
}

LANE_INLINE unsigned lanes_first(uint64_t exec) { return (unsigned)__builtin_ctzll(exec); }
LANE_INLINE unsigned lanes_last(uint64_t exec) { return 63u - (unsigned)__builtin_clzll(exec); }

/* A byte of lane `lane`'s private memory, which is swizzled by dword (machine.h). */
LANE_INLINE uint8_t *scratch_byte(const struct wave *wave, unsigned lane, uint64_t offset) {
  return wave->scratch + ((offset >> 2) * SOFT_LANES + lane) * 4 + (offset & 3);
}

#endif
