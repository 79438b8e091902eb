/* What each atomic operation means, on host memory, as a real host atomic (RDNA2 ISA, chapters "DS" and "Flat" opcodes).
 *
 * `data` is the first operand. Compare-and-store has its comparand in `compare`. All are sequentially consistent: on x86 a
 * weaker locked instruction would be the same one. Pointers are aligned to the operand. */
#ifndef HRX_GPU_SOFT_MEMORY_ATOMICS_H
#define HRX_GPU_SOFT_MEMORY_ATOMICS_H

#include <string.h>

#include "gpu/soft/memory/lanes.h"

enum atomic {
  ATOMIC_ADD, ATOMIC_SUB, ATOMIC_REVERSE_SUB, ATOMIC_SMIN, ATOMIC_UMIN, ATOMIC_SMAX, ATOMIC_UMAX, ATOMIC_AND, ATOMIC_OR,
  ATOMIC_XOR, ATOMIC_INC, ATOMIC_DEC, ATOMIC_SWAP, ATOMIC_COMPARE, ATOMIC_MASK_OR, ATOMIC_WRAP, ATOMIC_CLAMP_SUB,
  ATOMIC_FLOAT_ADD, ATOMIC_FLOAT_MIN, ATOMIC_FLOAT_MAX, ATOMIC_FLOAT_COMPARE
};

/* Mnemonics after global_atomic_, flat_atomic_ and buffer_atomic_, what they are, bits. */
#define ATOMICS(X)                                                                                                   \
  X(add, ATOMIC_ADD, 32) X(sub, ATOMIC_SUB, 32) X(smin, ATOMIC_SMIN, 32) X(umin, ATOMIC_UMIN, 32)                    \
  X(smax, ATOMIC_SMAX, 32) X(umax, ATOMIC_UMAX, 32) X(and, ATOMIC_AND, 32) X(or, ATOMIC_OR, 32)                      \
  X(xor, ATOMIC_XOR, 32) X(inc, ATOMIC_INC, 32) X(dec, ATOMIC_DEC, 32) X(swap, ATOMIC_SWAP, 32)                      \
  X(cmpswap, ATOMIC_COMPARE, 32) X(fcmpswap, ATOMIC_FLOAT_COMPARE, 32) X(fmin, ATOMIC_FLOAT_MIN, 32)                 \
  X(fmax, ATOMIC_FLOAT_MAX, 32) X(add_f32, ATOMIC_FLOAT_ADD, 32) X(add_x2, ATOMIC_ADD, 64) X(sub_x2, ATOMIC_SUB, 64) \
  X(smin_x2, ATOMIC_SMIN, 64) X(umin_x2, ATOMIC_UMIN, 64) X(smax_x2, ATOMIC_SMAX, 64) X(umax_x2, ATOMIC_UMAX, 64)    \
  X(and_x2, ATOMIC_AND, 64) X(or_x2, ATOMIC_OR, 64) X(xor_x2, ATOMIC_XOR, 64) X(inc_x2, ATOMIC_INC, 64)              \
  X(dec_x2, ATOMIC_DEC, 64) X(swap_x2, ATOMIC_SWAP, 64) X(cmpswap_x2, ATOMIC_COMPARE, 64)                            \
  X(fcmpswap_x2, ATOMIC_FLOAT_COMPARE, 64) X(fmin_x2, ATOMIC_FLOAT_MIN, 64) X(fmax_x2, ATOMIC_FLOAT_MAX, 64)         \
  X(add_f64, ATOMIC_FLOAT_ADD, 64) X(min_f64, ATOMIC_FLOAT_MIN, 64) X(max_f64, ATOMIC_FLOAT_MAX, 64)

LANE_INLINE float bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
LANE_INLINE uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
LANE_INLINE double bits_double(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
LANE_INLINE uint64_t double_bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* New value from old, for those that x86 has no instruction for, of both widths. */
#define ATOMIC_NEW_VALUE(width, signed_type, to_float, to_bits)                                                        \
  LANE_INLINE uint##width##_t atomic_result##width(enum atomic what, uint##width##_t old, uint##width##_t data,        \
                                                   uint##width##_t compare) {                                         \
    switch (what) {                                                                                                    \
    case ATOMIC_ADD: return old + data;                                                                                \
    case ATOMIC_SUB: return old - data;                                                                                \
    case ATOMIC_REVERSE_SUB: return data - old;                                                                        \
    case ATOMIC_SMIN: return (signed_type)data < (signed_type)old ? data : old;                                        \
    case ATOMIC_UMIN: return data < old ? data : old;                                                                  \
    case ATOMIC_SMAX: return (signed_type)data > (signed_type)old ? data : old;                                        \
    case ATOMIC_UMAX: return data > old ? data : old;                                                                  \
    case ATOMIC_AND: return old & data;                                                                                \
    case ATOMIC_OR: return old | data;                                                                                 \
    case ATOMIC_XOR: return old ^ data;                                                                                \
    case ATOMIC_INC: return old >= data ? 0 : old + 1;                                                                 \
    case ATOMIC_DEC: return old == 0 || old > data ? data : old - 1;                                                   \
    case ATOMIC_SWAP: return data;                                                                                     \
    case ATOMIC_COMPARE: return old == compare ? data : old;                                                           \
    case ATOMIC_MASK_OR: return (old & ~data) | compare;                                                               \
    case ATOMIC_WRAP: return old >= data ? old - data : old + compare;                                                 \
    case ATOMIC_CLAMP_SUB: return old < data ? 0 : old - data;                                                         \
    case ATOMIC_FLOAT_ADD: return to_bits(to_float(old) + to_float(data));                                             \
    case ATOMIC_FLOAT_MIN: return to_float(data) < to_float(old) ? data : old;                                         \
    case ATOMIC_FLOAT_MAX: return to_float(data) > to_float(old) ? data : old;                                         \
    case ATOMIC_FLOAT_COMPARE: return to_float(old) == to_float(compare) ? data : old;                                 \
    }                                                                                                                  \
    return old;                                                                                                        \
  }                                                                                                                    \
  /* Does it; the value before is returned. */                                                                         \
  LANE_INLINE uint##width##_t atomic_apply##width(enum atomic what, void *memory, uint##width##_t data,                \
                                                  uint##width##_t compare) {                                          \
    uint##width##_t *word = memory, old;                                                                               \
    switch (what) {                                                                                                    \
    case ATOMIC_ADD: return __atomic_fetch_add(word, data, __ATOMIC_SEQ_CST);                                          \
    case ATOMIC_SUB: return __atomic_fetch_sub(word, data, __ATOMIC_SEQ_CST);                                          \
    case ATOMIC_SWAP: return __atomic_exchange_n(word, data, __ATOMIC_SEQ_CST);                                        \
    case ATOMIC_COMPARE:                                                                                               \
      __atomic_compare_exchange_n(word, &compare, data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
      return compare;                                                                                                  \
    default: break;                                                                                                    \
    }                                                                                                                  \
    old = __atomic_load_n(word, __ATOMIC_RELAXED); /* a guess: the exchange decides */                                 \
    while (!__atomic_compare_exchange_n(word, &old, atomic_result##width(what, old, data, compare), true,              \
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                                         \
    }                                                                                                                  \
    return old;                                                                                                        \
  }
ATOMIC_NEW_VALUE(32, int32_t, bits_float, float_bits)
ATOMIC_NEW_VALUE(64, int64_t, bits_double, double_bits)

#endif
