/* Addresses through a buffer resource in four SGPRs (RDNA2 ISA, "Vector memory buffer instructions").
 *
 * source[0] is the VGPR with index and/or offset, source[1] the scalar offset, source[2] the data VGPRs, source3 the
 * resource's place in the wave; `extra` holds the offset of the instruction and its flags. */
#ifndef HRX_GPU_SOFT_MEMORY_RESOURCE_H
#define HRX_GPU_SOFT_MEMORY_RESOURCE_H

#include "gpu/soft/memory/places.h"

enum { EXTRA_OFFSET = 0xfff, EXTRA_OFFEN = 0x1000, EXTRA_IDXEN = 0x2000, EXTRA_COHERENT = 0x4000 };

/* RDNA2 ISA, "Buffer resource descriptor". */
struct resource {
  uint64_t base;
  uint32_t stride, records, index_stride, check;
  bool swizzle, lane_index;
};

enum check { CHECK_STRUCTURED, CHECK_INDEX, CHECK_EMPTY, CHECK_RAW };

LANE_INLINE struct resource resource_of(struct wave *wave, const struct operation *operation) {
  const uint32_t *words = wave_word(wave, operation->source3);
  return (struct resource){.base = (uint64_t)(words[1] & 0xffff) << 32 | words[0],
                           .stride = words[1] >> 16 & 0x3fff,
                           .records = words[2],
                           .index_stride = 8u << (words[3] >> 21 & 3),
                           .check = words[3] >> 28 & 3,
                           .swizzle = words[1] >> 31 != 0,
                           .lane_index = (words[3] >> 23 & 1) != 0};
}

/* What of a lane's address comes from VGPRs, instruction and lane number. */
struct part {
  uint32_t index, offset;
};

LANE_INLINE struct part lane_part(struct wave *wave, const struct operation *operation, const struct resource *resource,
                                  unsigned lane) {
  const uint32_t *words = wave_word(wave, operation->source[0]);
  struct part part = {0, operation->extra & EXTRA_OFFSET};
  if ((operation->extra & EXTRA_IDXEN) != 0) {
    part.index = words[lane];
    words += SOFT_LANES;
  }
  if ((operation->extra & EXTRA_OFFEN) != 0) part.offset += words[lane];
  if (resource->lane_index) part.index += lane;
  return part;
}

/* RDNA2 ISA, "Range checking". The lane's own number takes no part in it: the stack has one record. */
LANE_INLINE bool part_inside(const struct resource *resource, const struct part *part, unsigned lane, unsigned bytes) {
  const uint32_t index = part->index - (resource->lane_index ? lane : 0);
  const uint64_t end = (uint64_t)part->offset + bytes;
  switch (resource->check) {
  case CHECK_STRUCTURED: return index < resource->records && end <= resource->stride;
  case CHECK_INDEX: return index < resource->records;
  case CHECK_EMPTY: return resource->records != 0;
  default:
    if (resource->swizzle && resource->stride != 0) return index < resource->records && end <= resource->stride;
    return end + (uint64_t)index * resource->stride <= resource->records;
  }
}

/* RDNA2 ISA, "Buffer addressing". Elements of a swizzled buffer are dwords on gfx10. */
LANE_INLINE uint64_t part_address(const struct resource *resource, const struct part *part, uint32_t scalar) {
  const uint64_t base = resource->base + scalar;
  if (!resource->swizzle) return base + (uint64_t)part->index * resource->stride + part->offset;
  const uint64_t row = part->index / resource->index_stride, column = part->index % resource->index_stride;
  return base + (row * resource->stride + (part->offset & ~3u)) * resource->index_stride + column * 4 + (part->offset & 3);
}

/* The stack of this wave needs no look into the map. */
LANE_INLINE bool buffer_ok(struct wave *wave, uint64_t address, uint64_t bytes, bool write) {
  const uint64_t start = (uintptr_t)wave->scratch, size = (uint64_t)wave->scratch_bytes_lane * SOFT_LANES;
  if (__builtin_expect(address - start < size && bytes <= size - (address - start), 1)) return true;
  return access_ok(wave, address, bytes, write);
}

enum { PARAMETER_STORE = 0x10, PARAMETER_ATOMIC = 0x20 };

/* Binds a buffer operation whose data are `parameter & 15` registers. */
static inline hrx_status resource_bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const struct operand *data = &instruction->operands[0], *address = &instruction->operands[1];
  const struct operand *resource = &instruction->operands[2], *scalar = &instruction->operands[3];
  const unsigned address_registers = (instruction->offen ? 1u : 0) + (instruction->idxen ? 1u : 0);
  if (instruction->operand_count < 4 || !vgprs_fit(data, row->parameter & 15) || instruction->lds || instruction->tfe ||
      instruction->addr64 || (address_registers != 0 && !vgprs_fit(address, address_registers)) ||
      resource->kind != OPERAND_SGPR || resource->index + 4 > SREG_FILE || instruction->offset0 < 0 ||
      instruction->offset0 > EXTRA_OFFSET || (scalar->kind != OPERAND_SGPR && scalar->kind != OPERAND_CONSTANT))
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s: operands of a form that is not implemented",
                           opcode_name(instruction->opcode));
  if (address_registers != 0) {
    out->kind[0] = SOURCE_VECTOR;
    out->source[0] = operation_vgpr(address->index);
  }
  operation_source(out, 1, scalar, TYPE_B32);
  out->kind[2] = SOURCE_VECTOR;
  out->source[2] = operation_vgpr(data->index);
  if ((row->parameter & (PARAMETER_STORE | PARAMETER_ATOMIC)) == 0) out->destination = operation_vgpr(data->index);
  out->source3 = operation_sgpr_read(resource->index);
  out->extra = (uint16_t)(instruction->offset0 | (instruction->offen ? EXTRA_OFFEN : 0) |
                          (instruction->idxen ? EXTRA_IDXEN : 0) | (instruction->glc ? EXTRA_COHERENT : 0));
  out->handler = row->handler;
  return HRX_OK;
}

#endif
