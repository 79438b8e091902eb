/* What all families share to turn operands into sources. */
#include <string.h>

#include "gpu/soft/operation.h"

static uint64_t float_as_double(uint32_t bits) {
  float narrow;
  memcpy(&narrow, &bits, sizeof narrow);
  double wide = (double)narrow;
  uint64_t result;
  memcpy(&result, &wide, sizeof result);
  return result;
}

/* Inline floats are 0.5, 1, 2, 4 and 1/(2*pi), which the ISA rounds to 0x3118 as a half. */
static uint32_t float_as_half(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return sign;
  if (magnitude == 0x3e22f983) return sign | 0x3118;
  return sign | ((magnitude >> 13) - ((127 - 15) << 10));
}

/* 1/(2*pi) has more bits as a double than its single-precision form holds: RDNA2 ISA, "Inline constants". */
static uint64_t inline_double(uint32_t bits) {
  if ((bits & 0x7fffffff) == 0x3e22f983) return (uint64_t)(bits & 0x80000000) << 32 | UINT64_C(0x3fc45f306dc9c882);
  return float_as_double(bits);
}

static uint64_t constant_value(const struct operand *operand, enum operand_type type) {
  uint32_t low = (uint32_t)operand->value;
  if (operand->inline_float) switch (type) {
    case TYPE_B64:
    case TYPE_I64:
    case TYPE_F64: return inline_double(low);
    case TYPE_F16:
    case TYPE_V2F16: return float_as_half(low);
    case TYPE_B32:
    case TYPE_F32:
    case TYPE_B16:
    case TYPE_V2B16: return low; /* integer halves get the single-precision bits */
    }
  switch (type) {
  case TYPE_F64: return operand->literal ? (uint64_t)low << 32 : operand->value;
  case TYPE_I64: return operand->literal ? (uint64_t)(int64_t)(int32_t)low : operand->value;
  case TYPE_B64: return operand->value;
  case TYPE_F16:
  case TYPE_B16: return low & 0xffff;
  case TYPE_B32:
  case TYPE_F32:
  case TYPE_V2F16:
  case TYPE_V2B16: break;
  }
  return low;
}

void operation_source(struct operation *operation, unsigned slot, const struct operand *operand, enum operand_type type) {
  uint64_t *value = slot < 3 ? &operation->source[slot] : &operation->source3;
  enum source_kind kind = SOURCE_CONSTANT;
  *value = 0;
  switch (operand->kind) {
  case OPERAND_VGPR:
    kind = SOURCE_VECTOR;
    *value = operation_vgpr(operand->index);
    break;
  case OPERAND_SGPR:
    if (operand->index == SREG_NULL) break; /* reads as 0 */
    kind = SOURCE_SCALAR;
    *value = operation_sgpr_read(operand->index);
    break;
  case OPERAND_CONSTANT: *value = constant_value(operand, type); break;
  case OPERAND_SPECIAL:
    kind = SOURCE_SPECIAL;
    *value = operand->index;
    break;
  default: kind = SOURCE_NONE; break;
  }
  operation->kind[slot] = (uint8_t)kind;
}

uint64_t operation_special(const struct wave *wave, enum special_source which) {
  switch (which) {
  case SPECIAL_SCC: return wave->scc;
  case SPECIAL_VCCZ:
    return SOFT_LANES == 32 ? wave->s[SREG_VCC_LO] == 0 : (wave->s[SREG_VCC_LO] | wave->s[SREG_VCC_HI]) == 0;
  case SPECIAL_EXECZ: return wave_exec(wave) == 0;
  case SPECIAL_SHARED_BASE: return (uint64_t)FLAT_SHARED_HIGH << 32;
  case SPECIAL_SHARED_LIMIT: return (uint64_t)FLAT_SHARED_HIGH << 32 | UINT32_MAX;
  case SPECIAL_PRIVATE_BASE: return (uint64_t)FLAT_PRIVATE_HIGH << 32;
  case SPECIAL_PRIVATE_LIMIT: return (uint64_t)FLAT_PRIVATE_HIGH << 32 | UINT32_MAX;
  case SPECIAL_POPS_EXITING_WAVE_ID:
  case SPECIAL_LDS_DIRECT: break;
  }
  return 0;
}

const struct operation *operation_fault(struct wave *wave, const struct operation *operation, enum fault_kind kind,
                                        uint64_t address, uint32_t bytes, bool write, unsigned lane) {
  wave->state = WAVE_FAULTED;
  wave->next = operation;
  wave->fault = (struct fault){.kind = kind, .write = write, .lane = (uint8_t)lane, .address = address, .bytes = bytes,
                               .operation = operation};
  return NULL;
}
