/* SMEM: loads of constants into scalar registers, the clocks, and cache controls (RDNA2 ISA, "Scalar memory"). */
#include <string.h>

#include "base/clocktime.h"
#include "gpu/soft/access.h"
#include "gpu/soft/scalar.h"

/* What an address is made of besides the base: source 1 is the register or constant, `source3` the constant offset. */
static inline uint64_t load_offset(struct wave *wave, const struct operation *operation) {
  return operation_scalar(wave, operation, 1) + operation->source3;
}

SOFT_GUEST HANDLER(load) {
  uint64_t base = operation_scalar64(wave, operation, 0);
  /* the two low address bits are dropped */
  uint64_t address = (base + load_offset(wave, operation)) & ~UINT64_C(3);
  uint32_t bytes = operation->width * 4u;
  if (!access_scalar_ok(wave, address, bytes))
    return operation_fault(wave, operation, FAULT_ADDRESS, address, bytes, false, 0);
  const uint32_t *from = (const uint32_t *)(uintptr_t)address;
  uint32_t *to = wave_word(wave, operation->destination);
  for (unsigned i = 0; i < operation->width; i++) to[i] = from[i];
  return operation + 1;
}

/* Through a buffer resource: dwords past its end read as 0. */
SOFT_GUEST HANDLER(buffer_load) {
  const uint32_t *resource = wave_word(wave, operation->source[0]);
  uint64_t base = (uint64_t)(resource[1] & 0xffff) << 32 | resource[0];
  uint64_t stride = resource[1] >> 16 & 0x3fff, records = resource[2];
  uint64_t end = stride == 0 ? records : stride * records;
  uint64_t offset = (uint32_t)load_offset(wave, operation) & ~UINT32_C(3);
  uint32_t *to = wave_word(wave, operation->destination);
  uint32_t loaded[16] = {0};
  for (unsigned i = 0; i < operation->width; i++, offset += 4) {
    if (offset + 4 > end) break;
    uint64_t address = (base & ~UINT64_C(3)) + offset;
    if (!access_scalar_ok(wave, address, 4)) return operation_fault(wave, operation, FAULT_ADDRESS, address, 4, false, 0);
    loaded[i] = *(const uint32_t *)(uintptr_t)address;
  }
  memcpy(to, loaded, operation->width * 4u);
  return operation + 1;
}

/* One tick a nanosecond: gpu_properties.clock_hz says so. */
HANDLER(memtime) {
  scalar_store64(wave, operation, time_now_ns());
  return operation + 1;
}

/* The constant clock runs at 100 MHz. */
HANDLER(memrealtime) {
  scalar_store64(wave, operation, time_now_ns() / 10);
  return operation + 1;
}

/* Scalar loads see memory itself, so there is no cache to drop. */
HANDLER(nothing) {
  (void)wave;
  return operation + 1;
}

static hrx_status bind_load(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const struct operand *operands = instruction->operands;
  bool buffer = row->handler == run_buffer_load;
  if (instruction->operand_count < 2 || operands[0].kind != OPERAND_SGPR || operands[1].kind != OPERAND_SGPR ||
      operands[0].index + row->parameter > SREG_FILE || operands[1].index + (buffer ? 4u : 2u) > SREG_FILE)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s in an unknown form", opcode_name(row->opcode));
  out->destination = operation_sgpr_write(operands[0].index);
  out->width = (uint8_t)row->parameter;
  operation_source(out, 0, &operands[1], TYPE_B64);
  out->source3 = (uint64_t)(int64_t)instruction->offset0;
  out->kind[1] = SOURCE_CONSTANT;
  if (instruction->operand_count > 2 && operands[2].kind == OPERAND_CONSTANT)
    /* a 21-bit signed offset, whatever form the decoder found it in */
    out->source3 += (uint64_t)(int64_t)(int32_t)operands[2].value;
  else if (instruction->operand_count > 2)
    operation_source(out, 1, &operands[2], TYPE_B32);
  out->handler = row->handler;
  return HRX_OK;
}

#define LOAD(name, runs, dwords) {OPCODE_s_##name, bind_load, run_##runs, NULL, NULL, dwords}
#define NOTHING(name) {OPCODE_s_##name, scalar_bind, run_nothing, NULL, NULL, 0}

static const struct binding scalar_memory_rows[] = {
    LOAD(load_dword, load, 1), LOAD(load_dwordx2, load, 2), LOAD(load_dwordx4, load, 4), LOAD(load_dwordx8, load, 8),
    LOAD(load_dwordx16, load, 16),
    LOAD(buffer_load_dword, buffer_load, 1), LOAD(buffer_load_dwordx2, buffer_load, 2),
    LOAD(buffer_load_dwordx4, buffer_load, 4), LOAD(buffer_load_dwordx8, buffer_load, 8),
    LOAD(buffer_load_dwordx16, buffer_load, 16),
    SCALAR_ROW(memtime, SHAPE(SHAPE_DESTINATION, 0, 0, 0)), SCALAR_ROW(memrealtime, SHAPE(SHAPE_DESTINATION, 0, 0, 0)),
    NOTHING(dcache_inv), NOTHING(dcache_wb), NOTHING(gl1_inv), NOTHING(icache_inv),
};
SCALAR_TABLE(scalar_memory);
