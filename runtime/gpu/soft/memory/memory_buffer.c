/* Buffer operations: addresses through a resource in four SGPRs (RDNA2 ISA, "Vector memory buffer instructions").
 *
 * The compiler's stack on gfx10 is one: swizzled by dword, indexed by lane. Operands are as resource.h says. */
#include "gpu/soft/memory/atomics.h"
#include "gpu/soft/memory/resource.h"

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

__attribute__((noinline)) SOFT_GUEST static const struct operation *move_lanes(struct wave *wave, const struct operation *operation, enum element element,
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

/* Whether the resource is that of a kernel's stack: dword d of lane l is dword d * lanes + l. */
LANE_INLINE bool stack_is(const struct resource *resource, const struct operation *operation) {
  return resource->swizzle && resource->lane_index && resource->stride == 0 && resource->index_stride == SOFT_LANES &&
         resource->check == CHECK_EMPTY && resource->records != 0 && (operation->extra & EXTRA_IDXEN) == 0;
}

/* The stack with one offset for all lanes, which is nearly every access to it. *out_row: where lane 0's dword is. */
LANE_INLINE bool stack_row(struct wave *wave, const struct operation *operation, uint64_t exec, unsigned bytes,
                           uint64_t *out_row, uint32_t *out_byte) {
  const struct resource resource = resource_of(wave, operation);
  uint32_t offset = operation->extra & EXTRA_OFFSET;
  if (!stack_is(&resource, operation)) return false;
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

/* The stack with an offset for each lane: out_offsets count from *out_base. */
LANE_INLINE bool stack_spread(struct wave *wave, const struct operation *operation, uint64_t exec, unsigned bytes, bool write,
                              uint64_t *out_base, uint32_t *out_offsets) {
  const struct resource resource = resource_of(wave, operation);
  const uint32_t *words = wave_word(wave, operation->source[0]), constant = operation->extra & EXTRA_OFFSET;
  if (!stack_is(&resource, operation) || (operation->extra & EXTRA_OFFEN) == 0) return false;
  uint32_t spread = 0, crossing = 0;
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const uint32_t offset = words[lane] + constant, on = (exec >> lane & 1) != 0 ? UINT32_MAX : 0;
    spread |= offset & on;
    crossing |= ((offset & 3) + bytes - 1) & on;
    out_offsets[lane] = (offset & ~3u) * SOFT_LANES + 4 * lane + (offset & 3);
  }
  *out_base = resource.base + operation_scalar(wave, operation, 1);
  if (spread >= 1u << 24 || crossing >= 4) return false;
  uint32_t least, most;
  lanes_range(out_offsets, exec, &least, &most);
  return buffer_ok(wave, *out_base + least, (uint64_t)(most - least) + bytes, write);
}

LANE_INLINE const struct operation *load(struct wave *wave, const struct operation *operation, enum element element) {
  const uint64_t exec = wave_exec(wave);
  const unsigned bytes = element_bytes(element);
  uint64_t row;
  uint32_t byte, offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (exec == 0) return operation + 1;
  if ((operation->extra & EXTRA_COHERENT) != 0) __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in memory_global.c */
  uint32_t *registers = wave_word(wave, operation->destination);
  if (bytes > 4) return move_lanes(wave, operation, element, false);
  if (stack_row(wave, operation, exec, bytes, &row, &byte) && buffer_ok(wave, row, 4 * SOFT_LANES, false)) {
    const uint8_t *memory = (const uint8_t *)(uintptr_t)row + byte;
    if (element == ELEMENT_B32)
      lanes_load_row(registers, memory, exec, element);
    else
      FOR_LANES(lane, exec) element_load_lane(registers, lane, memory + 4 * lane, element);
    return operation + 1;
  }
  if (!stack_spread(wave, operation, exec, bytes, false, &row, offsets)) return move_lanes(wave, operation, element, false);
  FOR_LANES(lane, exec) element_load_lane(registers, lane, (const uint8_t *)(uintptr_t)row + offsets[lane], element);
  return operation + 1;
}

LANE_INLINE const struct operation *store(struct wave *wave, const struct operation *operation, enum element element) {
  const uint64_t exec = wave_exec(wave);
  const unsigned bytes = element_bytes(element);
  uint64_t row;
  uint32_t byte, offsets[SOFT_LANES] __attribute__((aligned(64)));
  if (exec == 0) return operation + 1;
  const uint32_t *registers = wave_word(wave, operation->source[2]);
  if (bytes > 4) return move_lanes(wave, operation, element, true);
  if (stack_row(wave, operation, exec, bytes, &row, &byte) && buffer_ok(wave, row, 4 * SOFT_LANES, true)) {
    uint8_t *memory = (uint8_t *)(uintptr_t)row + byte;
    if (element == ELEMENT_B32)
      lanes_store_row(registers, memory, exec, element);
    else
      FOR_LANES(lane, exec) element_store_lane(registers, lane, memory + 4 * lane, element);
    return operation + 1;
  }
  if (!stack_spread(wave, operation, exec, bytes, true, &row, offsets)) return move_lanes(wave, operation, element, true);
  FOR_LANES(lane, exec) element_store_lane(registers, lane, (uint8_t *)(uintptr_t)row + offsets[lane], element);
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
SOFT_GUEST static const struct operation *fence(struct wave *wave, const struct operation *operation) {
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

static hrx_status bind_plain(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  (void)instruction;
  out->handler = row->handler;
  return HRX_OK;
}

#define REGISTERS(what, width) ((what) == ATOMIC_COMPARE || (what) == ATOMIC_FLOAT_COMPARE ? (width) / 16 : (width) / 32)
#define WIDTH(element) ((element) == ELEMENT_B64 ? 2 : (element) == ELEMENT_B96 ? 3 : (element) == ELEMENT_B128 ? 4 : 1)
#define LOAD_ROW(name, element) {OPCODE_buffer_load_##name, resource_bind, load_##name, NULL, NULL, WIDTH(element)},
#define STORE_ROW(name, element) {OPCODE_buffer_store_##name, resource_bind, store_##name, NULL, NULL, WIDTH(element) | PARAMETER_STORE},
#define ATOMIC_ROW(name, what, width) \
  {OPCODE_buffer_atomic_##name, resource_bind, atomic_##name, NULL, NULL, REGISTERS(what, width) | PARAMETER_ATOMIC},

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
