/* Buffer operations: addresses through a resource in four SGPRs (RDNA2 ISA, "Vector memory buffer instructions").
 *
 * The compiler's stack on gfx10 is one: swizzled by dword, indexed by lane. source[0] is the VGPR with index and/or offset,
 * source[1] the scalar offset, source[2] the data VGPRs, source3 the resource's place in the wave; `extra` holds the
 * offset of the instruction and its flags. */
#include "gpu/soft/memory/atomics.h"
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

/* Moves one lane. In a swizzled buffer the dwords of an element lie apart. Only checked lanes come here. */
LANE_INLINE void lane_move(const struct resource *resource, struct part part, uint32_t scalar, uint32_t *registers,
                           unsigned lane, enum element element, bool write) {
  const bool apart = resource->swizzle && element_bytes(element) > 4;
  for (unsigned k = 0; k < (apart ? element_registers(element) : 1u); k++, part.offset += 4) {
    uint8_t *memory = (uint8_t *)(uintptr_t)part_address(resource, &part, scalar);
    const enum element piece = apart ? ELEMENT_B32 : element;
    if (write)
      element_store_lane(registers + k * SOFT_LANES, lane, memory, piece);
    else
      element_load_lane(registers + k * SOFT_LANES, lane, memory, piece);
  }
}

LANE_INLINE bool lane_check(struct wave *wave, const struct operation *operation, const struct resource *resource,
                            struct part part, uint32_t scalar, unsigned lane, unsigned bytes, bool write) {
  const bool apart = resource->swizzle && bytes > 4;
  const unsigned piece = apart ? 4 : bytes;
  for (unsigned k = 0; k < bytes / piece; k++, part.offset += 4) {
    const uint64_t address = part_address(resource, &part, scalar);
    if (!buffer_ok(wave, address, piece, write)) {
      operation_fault(wave, operation, FAULT_ADDRESS, address, piece, write, lane);
      return false;
    }
  }
  return true;
}

LANE_INLINE const struct operation *move_lanes(struct wave *wave, const struct operation *operation, enum element element,
                                               bool write) {
  static const uint8_t zeros[16];
  const struct resource resource = resource_of(wave, operation);
  const uint32_t scalar = operation_scalar(wave, operation, 1);
  const unsigned bytes = element_bytes(element);
  uint32_t *registers = wave_word(wave, write ? operation->source[2] : operation->destination);
  const uint64_t exec = wave_exec(wave);
  uint64_t inside = 0;
  FOR_LANES(lane, exec) {
    const struct part part = lane_part(wave, operation, &resource, lane);
    if (!part_inside(&resource, &part, lane, bytes)) continue;
    if (!lane_check(wave, operation, &resource, part, scalar, lane, bytes, write)) return NULL;
    inside |= UINT64_C(1) << lane;
  }
  FOR_LANES(lane, exec) { /* a lane's registers change after its own address was read */
    if ((inside >> lane & 1) != 0)
      lane_move(&resource, lane_part(wave, operation, &resource, lane), scalar, registers, lane, element, write);
    else if (!write)
      element_load_lane(registers, lane, zeros, element);
  }
  return operation + 1;
}

/* The stack with one offset for all lanes, which is nearly every access to it. *out_row: where lane 0's dword is. */
LANE_INLINE bool stack_row(struct wave *wave, const struct operation *operation, uint64_t exec, unsigned bytes,
                           uint64_t *out_row, uint32_t *out_byte) {
  const struct resource resource = resource_of(wave, operation);
  uint32_t offset = operation->extra & EXTRA_OFFSET;
  if (!resource.swizzle || !resource.lane_index || resource.stride != 0 || resource.index_stride != SOFT_LANES ||
      resource.check != CHECK_EMPTY || resource.records == 0 || (operation->extra & EXTRA_IDXEN) != 0)
    return false;
  if ((operation->extra & EXTRA_OFFEN) != 0) {
    const uint32_t *words = wave_word(wave, operation->source[0]);
    const unsigned first = lanes_first(exec);
    if (!lanes_equal(words, exec, first)) return false;
    offset += words[first];
  }
  *out_byte = offset & 3;
  *out_row = resource.base + operation_scalar(wave, operation, 1) + (uint64_t)(offset & ~3u) * SOFT_LANES;
  return *out_byte + bytes <= 4;
}

LANE_INLINE const struct operation *load(struct wave *wave, const struct operation *operation, enum element element) {
  const uint64_t exec = wave_exec(wave);
  uint64_t row;
  uint32_t byte;
  if (exec == 0) return operation + 1;
  if ((operation->extra & EXTRA_COHERENT) != 0) __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in memory_global.c */
  if (element_bytes(element) > 4 || !stack_row(wave, operation, exec, element_bytes(element), &row, &byte) ||
      !buffer_ok(wave, row, 4 * SOFT_LANES, false))
    return move_lanes(wave, operation, element, false);
  uint32_t *registers = wave_word(wave, operation->destination);
  const uint8_t *memory = (const uint8_t *)(uintptr_t)row + byte;
  if (element == ELEMENT_B32)
    lanes_load_row(registers, memory, exec, element);
  else
    FOR_LANES(lane, exec) element_load_lane(registers, lane, memory + 4 * lane, element);
  return operation + 1;
}

LANE_INLINE const struct operation *store(struct wave *wave, const struct operation *operation, enum element element) {
  const uint64_t exec = wave_exec(wave);
  uint64_t row;
  uint32_t byte;
  if (exec == 0) return operation + 1;
  if (element_bytes(element) > 4 || !stack_row(wave, operation, exec, element_bytes(element), &row, &byte) ||
      !buffer_ok(wave, row, 4 * SOFT_LANES, true))
    return move_lanes(wave, operation, element, true);
  const uint32_t *registers = wave_word(wave, operation->source[2]);
  uint8_t *memory = (uint8_t *)(uintptr_t)row + byte;
  if (element == ELEMENT_B32)
    lanes_store_row(registers, memory, exec, element);
  else
    FOR_LANES(lane, exec) element_store_lane(registers, lane, memory + 4 * lane, element);
  return operation + 1;
}

/* source[2] and destination are the same registers: operand in, value before out if the instruction says glc. */
LANE_INLINE const struct operation *atomic(struct wave *wave, const struct operation *operation, enum atomic what,
                                           unsigned width) {
  const struct resource resource = resource_of(wave, operation);
  const uint32_t scalar = operation_scalar(wave, operation, 1);
  const bool compares = what == ATOMIC_COMPARE || what == ATOMIC_FLOAT_COMPARE;
  const uint64_t exec = wave_exec(wave);
  uint32_t *data = wave_word(wave, operation->source[2]);
  uint64_t inside = 0;
  FOR_LANES(lane, exec) {
    const struct part part = lane_part(wave, operation, &resource, lane);
    const uint64_t address = part_address(&resource, &part, scalar);
    if (!part_inside(&resource, &part, lane, width / 8)) continue;
    if ((address & (width / 8 - 1)) != 0 || (width == 64 && resource.swizzle) || !buffer_ok(wave, address, width / 8, true))
      return operation_fault(wave, operation, FAULT_ADDRESS, address, width / 8, true, lane);
    inside |= UINT64_C(1) << lane;
  }
  FOR_LANES(lane, exec) {
    const struct part part = lane_part(wave, operation, &resource, lane);
    void *memory = (void *)(uintptr_t)part_address(&resource, &part, scalar);
    uint64_t before = 0;
    if ((inside >> lane & 1) != 0) {
      if (width == 64)
        before = atomic_apply64(what, memory, (uint64_t)data[SOFT_LANES + lane] << 32 | data[lane],
                                compares ? (uint64_t)data[3 * SOFT_LANES + lane] << 32 | data[2 * SOFT_LANES + lane] : 0);
      else
        before = atomic_apply32(what, memory, data[lane], compares ? data[SOFT_LANES + lane] : 0);
    }
    if ((operation->extra & EXTRA_COHERENT) == 0) continue;
    data[lane] = (uint32_t)before;
    if (width == 64) data[SOFT_LANES + lane] = (uint32_t)(before >> 32);
  }
  return operation + 1;
}

/* Caches that are not there. */
static const struct operation *nothing(struct wave *wave, const struct operation *operation) {
  (void)wave;
  return operation + 1;
}

/* Seen at the fences of the device and the system: what was stored before is out before anything later is loaded. */
static const struct operation *fence(struct wave *wave, const struct operation *operation) {
  (void)wave;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return operation + 1;
}

#define HANDLER(name, call)                                                                              \
  SOFT_GUEST static const struct operation *name(struct wave *wave, const struct operation *operation) { \
    return call;                                                                                         \
  }
#define LOAD_HANDLER(name, element) HANDLER(load_##name, load(wave, operation, element))
#define STORE_HANDLER(name, element) HANDLER(store_##name, store(wave, operation, element))
#define ATOMIC_HANDLER(name, what, width) HANDLER(atomic_##name, atomic(wave, operation, what, width))
LOADS(LOAD_HANDLER)
STORES(STORE_HANDLER)
ATOMICS(ATOMIC_HANDLER)

enum { PARAMETER_STORE = 0x10, PARAMETER_ATOMIC = 0x20 };

static hrx_status bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
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

static hrx_status bind_plain(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  (void)instruction;
  out->handler = row->handler;
  return HRX_OK;
}

#define REGISTERS(what, width) ((what) == ATOMIC_COMPARE || (what) == ATOMIC_FLOAT_COMPARE ? (width) / 16 : (width) / 32)
#define WIDTH(element) ((element) == ELEMENT_B64 ? 2 : (element) == ELEMENT_B96 ? 3 : (element) == ELEMENT_B128 ? 4 : 1)
#define LOAD_ROW(name, element) {OPCODE_buffer_load_##name, bind, load_##name, NULL, NULL, WIDTH(element)},
#define STORE_ROW(name, element) {OPCODE_buffer_store_##name, bind, store_##name, NULL, NULL, WIDTH(element) | PARAMETER_STORE},
#define ATOMIC_ROW(name, what, width) \
  {OPCODE_buffer_atomic_##name, bind, atomic_##name, NULL, NULL, REGISTERS(what, width) | PARAMETER_ATOMIC},

static const struct binding rows[] = {
    LOADS(LOAD_ROW) STORES(STORE_ROW) ATOMICS(ATOMIC_ROW)
    {OPCODE_buffer_gl0_inv, bind_plain, nothing, NULL, NULL, 0}, /* every barrier has one: a workgroup needs no fence */
    {OPCODE_buffer_gl1_inv, bind_plain, fence, NULL, NULL, 0},
    {OPCODE_buffer_wbinvl1, bind_plain, fence, NULL, NULL, 0},
    {OPCODE_buffer_wbinvl1_vol, bind_plain, fence, NULL, NULL, 0},
    {OPCODE_buffer_wbl2, bind_plain, fence, NULL, NULL, 0},
    {OPCODE_buffer_invl2, bind_plain, fence, NULL, NULL, 0},
};

const struct binding_table SOFT_NAME(memory_buffer_table) = {rows, sizeof rows / sizeof *rows};
