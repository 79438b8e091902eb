/* Where the lanes of a global, flat or scratch operation go, and whether they may.
 *
 * source[0] is the address VGPR (pair), source[1] the scalar base, source3 the signed offset of the instruction. */
#ifndef HRX_GPU_SOFT_MEMORY_PLACES_H
#define HRX_GPU_SOFT_MEMORY_PLACES_H

#include "gpu/soft/memory/lanes.h"

enum form {
  FORM_ADDRESS, /* 64-bit address in a VGPR pair */
  FORM_BASE,    /* 64-bit base in SGPRs and an unsigned 32-bit offset in a VGPR */
  FORM_FLAT,    /* like FORM_ADDRESS, with apertures */
  FORM_SCRATCH  /* 32-bit offset in a VGPR, an SGPR, or both */
};

/* Where lane `lane` of `operation` goes. Scratch offsets come back inside the private aperture. */
LANE_INLINE uint64_t lane_address(struct wave *wave, const struct operation *operation, enum form form, unsigned lane) {
  if (form == FORM_SCRATCH) {
    uint32_t offset = (uint32_t)operation->source3;
    if (operation->kind[0] == SOURCE_VECTOR) offset += wave_word(wave, operation->source[0])[lane];
    if (operation->kind[1] != SOURCE_NONE) offset += operation_scalar(wave, operation, 1);
    return (uint64_t)FLAT_PRIVATE_HIGH << 32 | offset;
  }
  const uint32_t *words = wave_word(wave, operation->source[0]);
  if (form == FORM_BASE) return operation_scalar64(wave, operation, 1) + words[lane] + operation->source3;
  return ((uint64_t)words[SOFT_LANES + lane] << 32 | words[lane]) + operation->source3;
}

/* The host address of a checked access of one lane, or NULL. Private memory is not contiguous: *out_private says that only
 * the first dword is at the result. */
LANE_INLINE uint8_t *lane_place(struct wave *wave, enum form form, uint64_t address, unsigned bytes, bool write, unsigned lane,
                                bool *out_private) {
  const uint64_t low = (uint32_t)address;
  *out_private = false;
  if (form == FORM_FLAT && address >> 32 == FLAT_SHARED_HIGH) return low + bytes <= wave->lds_bytes ? wave->lds + low : NULL;
  if (form == FORM_SCRATCH || (form == FORM_FLAT && address >> 32 == FLAT_PRIVATE_HIGH)) {
    *out_private = true;
    return low + bytes <= wave->scratch_bytes_lane ? scratch_byte(wave, lane, low) : NULL;
  }
  return access_ok(wave, address, bytes, write) ? (uint8_t *)(uintptr_t)address : NULL;
}

/* Copies between one lane's private memory and a plain buffer. */
LANE_INLINE void private_read(const struct wave *wave, unsigned lane, uint64_t offset, unsigned bytes, uint8_t *out_buffer) {
  if ((offset & 3) == 0 && (bytes & 3) == 0)
    for (unsigned i = 0; i < bytes; i += 4)
      *(guest32 *)(out_buffer + i) = *(const guest32 *)scratch_byte(wave, lane, offset + i);
  else
    for (unsigned i = 0; i < bytes; i++) out_buffer[i] = *scratch_byte(wave, lane, offset + i);
}

LANE_INLINE void private_write(const struct wave *wave, unsigned lane, uint64_t offset, unsigned bytes, const uint8_t *buffer) {
  if ((offset & 3) == 0 && (bytes & 3) == 0)
    for (unsigned i = 0; i < bytes; i += 4)
      *(guest32 *)scratch_byte(wave, lane, offset + i) = *(const guest32 *)(buffer + i);
  else
    for (unsigned i = 0; i < bytes; i++) *scratch_byte(wave, lane, offset + i) = buffer[i];
}

/* Proves every active lane's access before any is made. False: the fault has been set. */
LANE_INLINE bool lanes_check(struct wave *wave, const struct operation *operation, enum form form, unsigned bytes, bool write,
                             uint64_t exec) {
  FOR_LANES(lane, exec) {
    bool private;
    const uint64_t address = lane_address(wave, operation, form, lane);
    if (lane_place(wave, form, address, bytes, write, lane, &private) == NULL) {
      operation_fault(wave, operation, FAULT_ADDRESS, address, bytes, write, lane);
      return false;
    }
  }
  return true;
}

/* Brings the addresses into the shape base + low[lane]. False if lanes differ in the high dword or an aperture is hit. */
LANE_INLINE bool lanes_based(struct wave *wave, const struct operation *operation, enum form form, uint64_t exec,
                             unsigned first, uint64_t *out_base, const uint32_t **out_low) {
  const uint32_t *low = wave_word(wave, operation->source[0]);
  *out_low = low;
  if (form == FORM_BASE) {
    *out_base = operation_scalar64(wave, operation, 1) + operation->source3;
    return true;
  }
  const uint32_t *high = low + SOFT_LANES;
  if (!lanes_equal(high, exec, first)) return false;
  *out_base = ((uint64_t)high[first] << 32) + operation->source3;
  if (form == FORM_FLAT) {
    /* One less and one more: the offset may carry an address over an aperture's edge. */
    const uint32_t value = high[first];
    if (value + 1 >= FLAT_SHARED_HIGH && value <= FLAT_PRIVATE_HIGH + 1) return false;
  }
  return true;
}

/* access_ok that leaves the cached ranges in their order: a loop's loads and stores go each to an allocation of their own, and
 * would move one another from the first place in turn. */
LANE_INLINE bool place_ok(struct wave *wave, uint64_t address, uint64_t bytes, bool write) {
  for (unsigned i = 0; i < SPAN_CACHE; i++) {
    const struct span *span = &wave->spans[i];
    if (address >= span->low && address < span->high && bytes <= span->high - address && (span->writable || !write)) return true;
  }
  return access_ok(wave, address, bytes, write);
}

/* What the fast paths need of general offsets: all inside one allocation. */
LANE_INLINE bool lanes_span(struct wave *wave, uint64_t base, const uint32_t *low, uint64_t exec,
                            unsigned bytes, bool write, uint32_t *out_least, uint32_t *out_most) {
  lanes_range(low, exec, out_least, out_most);
  const uint32_t extent = *out_most - *out_least;
  return extent <= INT32_MAX && place_ok(wave, base + *out_least, (uint64_t)extent + bytes, write);
}

/* Whether an operand is `count` VGPRs that exist. */
static inline bool vgprs_fit(const struct operand *operand, unsigned count) {
  return operand->kind == OPERAND_VGPR && operand->index + count <= 256;
}

#endif
