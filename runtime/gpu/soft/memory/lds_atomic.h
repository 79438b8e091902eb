/* Atomics on LDS, with and without the value before (RDNA2 ISA, "DS opcodes"). Included by memory_lds.c alone.
 *
 * The waves of a workgroup run in turn on one thread (context.c), so plain accesses are atomic. The low address bits that an
 * operand's size does not allow are ignored, as the aligned mode of the hardware does; outside of LDS the value before is
 * zero and nothing is written. */
#ifndef HRX_GPU_SOFT_MEMORY_LDS_ATOMIC_H
#define HRX_GPU_SOFT_MEMORY_LDS_ATOMIC_H

#include "gpu/soft/memory/atomics.h"

/* Mnemonic after ds_, what it is, bits, data operands. Compare-and-store has the comparand first (RDNA2 ISA,
 * "DS_CMPST_B32"), and mskor its mask. */
#define LDS_ATOMICS_32(X, name)                                                                                        \
  X(add##name##_u32, ATOMIC_ADD, 32, 1) X(sub##name##_u32, ATOMIC_SUB, 32, 1) X(rsub##name##_u32, ATOMIC_REVERSE_SUB, 32, 1) \
  X(inc##name##_u32, ATOMIC_INC, 32, 1) X(dec##name##_u32, ATOMIC_DEC, 32, 1) X(min##name##_i32, ATOMIC_SMIN, 32, 1)     \
  X(max##name##_i32, ATOMIC_SMAX, 32, 1) X(min##name##_u32, ATOMIC_UMIN, 32, 1) X(max##name##_u32, ATOMIC_UMAX, 32, 1)   \
  X(and##name##_b32, ATOMIC_AND, 32, 1) X(or##name##_b32, ATOMIC_OR, 32, 1) X(xor##name##_b32, ATOMIC_XOR, 32, 1)        \
  X(mskor##name##_b32, ATOMIC_MASK_OR, 32, 2) X(cmpst##name##_b32, ATOMIC_COMPARE, 32, 2)                              \
  X(cmpst##name##_f32, ATOMIC_FLOAT_COMPARE, 32, 2) X(min##name##_f32, ATOMIC_FLOAT_MIN, 32, 1)                        \
  X(max##name##_f32, ATOMIC_FLOAT_MAX, 32, 1) X(add##name##_f32, ATOMIC_FLOAT_ADD, 32, 1)
#define LDS_ATOMICS_64(X, name)                                                                                        \
  X(add##name##_u64, ATOMIC_ADD, 64, 1) X(sub##name##_u64, ATOMIC_SUB, 64, 1) X(rsub##name##_u64, ATOMIC_REVERSE_SUB, 64, 1) \
  X(inc##name##_u64, ATOMIC_INC, 64, 1) X(dec##name##_u64, ATOMIC_DEC, 64, 1) X(min##name##_i64, ATOMIC_SMIN, 64, 1)     \
  X(max##name##_i64, ATOMIC_SMAX, 64, 1) X(min##name##_u64, ATOMIC_UMIN, 64, 1) X(max##name##_u64, ATOMIC_UMAX, 64, 1)   \
  X(and##name##_b64, ATOMIC_AND, 64, 1) X(or##name##_b64, ATOMIC_OR, 64, 1) X(xor##name##_b64, ATOMIC_XOR, 64, 1)        \
  X(mskor##name##_b64, ATOMIC_MASK_OR, 64, 2) X(cmpst##name##_b64, ATOMIC_COMPARE, 64, 2)                              \
  X(cmpst##name##_f64, ATOMIC_FLOAT_COMPARE, 64, 2) X(min##name##_f64, ATOMIC_FLOAT_MIN, 64, 1)                        \
  X(max##name##_f64, ATOMIC_FLOAT_MAX, 64, 1) X(add##name##_f64, ATOMIC_FLOAT_ADD, 64, 1)
#define LDS_ATOMICS(X) LDS_ATOMICS_32(X, ) LDS_ATOMICS_64(X, )
#define LDS_ATOMICS_RETURN(X)                                                                                          \
  LDS_ATOMICS_32(X, _rtn) LDS_ATOMICS_64(X, _rtn) X(wrxchg_rtn_b32, ATOMIC_SWAP, 32, 1) X(wrxchg_rtn_b64, ATOMIC_SWAP, 64, 1) \
  X(wrap_rtn_b32, ATOMIC_WRAP, 32, 2)

/* One lane's atomic; the value before, 0 outside. `data0` and `data1` are the operands in the text's order. */
#define LDS_APPLY(width)                                                                                               \
  LANE_INLINE uint##width##_t lds_apply##width(const struct wave *wave, enum atomic what, uint32_t offset,             \
                                               uint##width##_t data0, uint##width##_t data1) {                        \
    const bool compares = what == ATOMIC_COMPARE || what == ATOMIC_FLOAT_COMPARE;                                      \
    offset &= ~(uint32_t)((width) / 8 - 1);                                                                            \
    if ((uint64_t)offset + (width) / 8 > wave->lds_bytes) return 0;                                                    \
    guest##width *word = (guest##width *)(wave->lds + offset);                                                         \
    const uint##width##_t before = *word;                                                                              \
    *word = atomic_result##width(what, before, compares ? data1 : data0, compares ? data0 : data1);                    \
    return before;                                                                                                     \
  }
LDS_APPLY(32)
LDS_APPLY(64)

LANE_INLINE uint64_t lane_pair(const uint32_t *registers, unsigned lane) {
  return (uint64_t)registers[SOFT_LANES + lane] << 32 | registers[lane];
}
LANE_INLINE void lane_pair_set(uint32_t *registers, unsigned lane, uint64_t value) {
  registers[lane] = (uint32_t)value;
  registers[SOFT_LANES + lane] = (uint32_t)(value >> 32);
}

/* A lane reads all its operands before its result is written, so registers may overlap. */
LANE_INLINE const struct operation *lds_atomic(struct wave *wave, const struct operation *operation, enum atomic what,
                                               unsigned width, unsigned count, bool returns) {
  const uint64_t exec = wave_exec(wave);
  const uint32_t *low = wave_word(wave, operation->source[0]), offset = (uint32_t)operation->source3;
  const uint32_t *data0 = wave_word(wave, operation->source[1]);
  const uint32_t *data1 = count == 2 ? wave_word(wave, operation->source[2]) : data0;
  uint32_t *registers = wave_word(wave, operation->destination);
  FOR_LANES(lane, exec) {
    if (width == 64) {
      const uint64_t before =
          lds_apply64(wave, what, low[lane] + offset, lane_pair(data0, lane), count == 2 ? lane_pair(data1, lane) : 0);
      if (returns) lane_pair_set(registers, lane, before);
    } else {
      const uint32_t before = lds_apply32(wave, what, low[lane] + offset, data0[lane], count == 2 ? data1[lane] : 0);
      if (returns) registers[lane] = before;
    }
  }
  return operation + 1;
}

#define LDS_ATOMIC_PLAIN(name, what, width, count)                                                                   \
  SOFT_GUEST static const struct operation *atomic_##name(struct wave *wave, const struct operation *operation) {    \
    return lds_atomic(wave, operation, what, width, count, false);                                                   \
  }
#define LDS_ATOMIC_RETURN(name, what, width, count)                                                                  \
  SOFT_GUEST static const struct operation *atomic_##name(struct wave *wave, const struct operation *operation) {    \
    return lds_atomic(wave, operation, what, width, count, true);                                                    \
  }
LDS_ATOMICS(LDS_ATOMIC_PLAIN)
LDS_ATOMICS_RETURN(LDS_ATOMIC_RETURN)

/* Two exchanges, each atomic by itself. */
SOFT_GUEST static const struct operation *exchange2_32(struct wave *wave, const struct operation *operation) {
  const uint64_t exec = wave_exec(wave);
  const uint32_t *low = wave_word(wave, operation->source[0]), *data0 = wave_word(wave, operation->source[1]);
  const uint32_t *data1 = wave_word(wave, operation->source[2]);
  uint32_t *registers = wave_word(wave, operation->destination);
  FOR_LANES(lane, exec) {
    const uint32_t address = low[lane], second = data1[lane];
    const uint32_t before = lds_apply32(wave, ATOMIC_SWAP, address + (uint32_t)operation->source3, data0[lane], 0);
    registers[SOFT_LANES + lane] = lds_apply32(wave, ATOMIC_SWAP, address + (uint32_t)(operation->source3 >> 32), second, 0);
    registers[lane] = before;
  }
  return operation + 1;
}

SOFT_GUEST static const struct operation *exchange2_64(struct wave *wave, const struct operation *operation) {
  const uint64_t exec = wave_exec(wave);
  const uint32_t *low = wave_word(wave, operation->source[0]), *data0 = wave_word(wave, operation->source[1]);
  const uint32_t *data1 = wave_word(wave, operation->source[2]);
  uint32_t *registers = wave_word(wave, operation->destination);
  FOR_LANES(lane, exec) {
    const uint32_t address = low[lane];
    const uint64_t first = lane_pair(data0, lane), second = lane_pair(data1, lane);
    const uint64_t before0 = lds_apply64(wave, ATOMIC_SWAP, address + (uint32_t)operation->source3, first, 0);
    const uint64_t before1 = lds_apply64(wave, ATOMIC_SWAP, address + (uint32_t)(operation->source3 >> 32), second, 0);
    lane_pair_set(registers, lane, before0);
    lane_pair_set(registers + 2 * SOFT_LANES, lane, before1);
  }
  return operation + 1;
}

#endif
