#include "gpu/soft/vector/vector.h"

/* The general path of vector operations, and how instructions are bound to rows (vector.h). Rules: RDNA2 ISA, "SDWA", "DPP",
 * "Input modifiers", "Output modifiers". */

const uint32_t SOFT_NAME(vector_bits)[64] = {
#define BIT(i) 1u << (i)
#define BITS4(i) BIT(i), BIT(i + 1), BIT(i + 2), BIT(i + 3)
#define BITS16(i) BITS4(i), BITS4(i + 4), BITS4(i + 8), BITS4(i + 12)
    BITS16(0), BITS16(16)};

enum { EXEC_OFFSET = offsetof(struct wave, s) + SREG_EXEC_LO * sizeof(uint32_t) };

static unsigned source_count(const struct vector_form *form) {
  unsigned count = 0;
  while (count < 3 && form->types[count + 1] != VECTOR_none) count++;
  return count;
}

static unsigned text_source_count(const struct vector_form *form) {
  return source_count(form) - ((form->flags & VECTOR_ACCUMULATE) != 0);
}

static enum operand_type operand_type_of(unsigned type) {
  switch (type) {
  case VECTOR_f32:
  case VECTOR_mix: return TYPE_F32;
  case VECTOR_u64: return TYPE_B64;
  case VECTOR_i64: return TYPE_I64;
  case VECTOR_f64: return TYPE_F64;
  case VECTOR_u16: return TYPE_B16;
  case VECTOR_h16: return TYPE_F16;
  case VECTOR_p16: return TYPE_V2B16;
  case VECTOR_p16f: return TYPE_V2F16;
  default: return TYPE_B32;
  }
}

static bool is_packed(unsigned type) { return type == VECTOR_p16 || type == VECTOR_p16f; }

static bool needs_general_path(const struct vector_form *form, const struct instruction *instruction, unsigned first) {
  const unsigned count = text_source_count(form);
  if (instruction->clamp || instruction->omod != 0 || instruction->op_sel != 0 || instruction->neg_lo != 0 ||
      instruction->neg_hi != 0)
    return true;
  if (instruction->form == FORM_DPP || instruction->form == FORM_DPP8) return true;
  if (instruction->form == FORM_SDWA && instruction->sdwa_destination != SDWA_DWORD) return true;
  for (unsigned i = 0; i < count; i++) {
    const struct operand *operand = &instruction->operands[first + i];
    const unsigned type = form->types[i + 1];
    const bool high = instruction->op_sel_hi >> i & 1;
    if (operand->negate || operand->absolute) return true;
    if (instruction->form == FORM_SDWA && (operand->select != SDWA_DWORD || operand->sext)) return true;
    if ((is_packed(type) && !high) || (type == VECTOR_mix && high)) return true;
  }
  return false;
}

static hrx_status check_vgprs(const struct instruction *instruction, const struct operand *operand, unsigned type) {
  const unsigned registers = vector_is_64(type) ? 2 : 1;
  if (operand->index + registers <= 256) return HRX_OK;
  return hrx_fail(HRX_UNSUPPORTED, "%s: register v%u of %u: a wave has v0 to v255", opcode_name(instruction->opcode),
                  operand->index, registers);
}

static hrx_status bind_destination(const struct vector_form *form, const struct instruction *instruction,
                                   struct operation *out) {
  if (form->flags & VECTOR_TO_EXEC) {
    out->destination = EXEC_OFFSET;
    return HRX_OK;
  }
  const struct operand *operand = &instruction->operands[0];
  const bool mask = form->types[0] == VECTOR_mask;
  if (operand->kind != (mask ? OPERAND_SGPR : OPERAND_VGPR) || (mask && operand->index >= SREG_FILE))
    return hrx_fail(HRX_UNSUPPORTED, "%s: the destination is not a %s register", opcode_name(instruction->opcode),
                    mask ? "scalar" : "vector");
  if (mask) {
    out->destination = operation_sgpr_write(operand->index);
    return HRX_OK;
  }
  out->destination = operation_vgpr(operand->index);
  return check_vgprs(instruction, operand, form->types[0]);
}

static hrx_status bind_carry_out(const struct instruction *instruction, struct operation *out) {
  const struct operand *operand = &instruction->operands[1];
  if (operand->kind != OPERAND_SGPR || operand->index >= SREG_FILE)
    return hrx_fail(HRX_UNSUPPORTED, "%s: the carry out is not a scalar register", opcode_name(instruction->opcode));
  out->destination2 = operation_sgpr_write(operand->index);
  return HRX_OK;
}

static hrx_status bind_sources(const struct vector_form *form, const struct instruction *instruction, unsigned first,
                               struct operation *out) {
  const unsigned count = text_source_count(form);
  hrx_status status = HRX_OK;
  for (unsigned i = 0; i < count && status == HRX_OK; i++) {
    const struct operand *operand = &instruction->operands[first + i];
    if (operand->kind == OPERAND_VGPR) status = check_vgprs(instruction, operand, form->types[i + 1]);
    if (operand->kind == OPERAND_NONE || operand->kind == OPERAND_OFF)
      status = hrx_fail(HRX_UNSUPPORTED, "%s: source %u is missing", opcode_name(instruction->opcode), i);
    if (status == HRX_OK) operation_source(out, i, operand, operand_type_of(form->types[i + 1]));
  }
  if (form->flags & VECTOR_ACCUMULATE) {
    out->kind[count] = SOURCE_VECTOR;
    out->source[count] = out->destination;
  }
  if (status == HRX_OK && (form->flags & VECTOR_CARRY_IN)) {
    operation_source(out, 2, &instruction->operands[first + count], SOFT_LANES == 64 ? TYPE_B64 : TYPE_B32);
    if (out->kind[2] != SOURCE_SCALAR && out->kind[2] != SOURCE_CONSTANT)
      status = hrx_fail(HRX_UNSUPPORTED, "%s: the carry in is not a scalar register", opcode_name(instruction->opcode));
  }
  return status;
}

static operation_handler handler_for(const struct binding *row, const struct vector_form *form, const struct operation *out) {
  const unsigned count = source_count(form);
  unsigned scalars = 0; /* bit i: source i is one */
  if (out->flags & OPERATION_MODIFIED) return row->modified;
  for (unsigned i = 0; i < count; i++) {
    scalars |= (unsigned)(out->kind[i] != SOURCE_VECTOR) << i;
    if (out->kind[i] == SOURCE_SPECIAL) return row->handler;
  }
  return form->hot != NULL && form->hot[scalars] != NULL ? form->hot[scalars] : row->handler;
}

hrx_status SOFT_NAME(vector_bind)(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const struct vector_form *form = row->compute;
  const unsigned destinations = (form->flags & VECTOR_TO_EXEC ? 0u : 1u) + (form->flags & VECTOR_CARRY_OUT ? 1u : 0u);
  const unsigned sources = text_source_count(form) + (form->flags & VECTOR_CARRY_IN ? 1u : 0u);
  if (instruction->operand_count != destinations + sources)
    return hrx_fail(HRX_UNSUPPORTED, "%s: has %u operands, %u expected", opcode_name(instruction->opcode),
                    instruction->operand_count, destinations + sources);
  out->compute = form;
  out->extra = (uint16_t)destinations;
  hrx_status status = bind_destination(form, instruction, out);
  if (status == HRX_OK && (form->flags & VECTOR_CARRY_OUT)) status = bind_carry_out(instruction, out);
  if (status == HRX_OK) status = bind_sources(form, instruction, destinations, out);
  if (status != HRX_OK) return status;
  if (needs_general_path(form, instruction, destinations)) out->flags |= OPERATION_MODIFIED;
  out->handler = handler_for(row, form, out);
  return HRX_OK;
}

/* --- sources --- */

/* The lane that `lane` reads, or -1 if that is out of bounds. */
static int dpp_source_lane(const struct instruction *instruction, unsigned lane) {
  const unsigned amount = instruction->dpp_value, row = lane & ~15u, place = lane & 15;
  if (instruction->form == FORM_DPP8) return (int)((lane & ~7u) | (amount >> 3 * (lane & 7) & 7));
  switch ((enum dpp_kind)instruction->dpp) {
  case DPP_NONE: return (int)lane;
  case DPP_QUAD_PERM: return (int)((lane & ~3u) | (amount >> 2 * (lane & 3) & 3));
  case DPP_ROW_SHL: return place + amount <= 15 ? (int)(lane + amount) : -1;
  case DPP_ROW_SHR: return place >= amount ? (int)(lane - amount) : -1;
  case DPP_ROW_ROR: return (int)(row | ((place - amount) & 15));
  case DPP_WAVE_SHL: return lane + 1 < SOFT_LANES ? (int)lane + 1 : -1;
  case DPP_WAVE_ROL: return (int)((lane + 1) % SOFT_LANES);
  case DPP_WAVE_SHR: return (int)lane - 1;
  case DPP_WAVE_ROR: return (int)((lane + SOFT_LANES - 1) % SOFT_LANES);
  case DPP_ROW_MIRROR: return (int)(lane ^ 15);
  case DPP_ROW_HALF_MIRROR: return (int)(lane ^ 7);
  case DPP_ROW_BCAST15: return (int)row - 1;
  case DPP_ROW_BCAST31: return lane >= 32 ? 31 : -1;
  case DPP_ROW_SHARE:
  case DPP_ROW_NEWBCAST: return (int)(row | (amount & 15));
  case DPP_ROW_XMASK: return (int)(lane ^ (amount & 15));
  }
  return -1;
}

/* Moves a source of `registers` across lanes; *enabled loses the lanes that must not be written. */
static void dpp_apply(const struct instruction *instruction, uint64_t exec, unsigned registers, uint32_t *source,
                      uint64_t *enabled) {
  const bool zero = instruction->form == FORM_DPP8 || instruction->dpp_bound_ctrl;
  uint32_t moved[2 * SOFT_LANES];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const int from = dpp_source_lane(instruction, lane);
    const bool valid = from >= 0 && (instruction->dpp_fi || (exec >> from & 1));
    if (!valid && !zero) *enabled &= ~(UINT64_C(1) << lane);
    for (unsigned r = 0; r < registers; r++)
      moved[r * SOFT_LANES + lane] = valid ? source[r * SOFT_LANES + (unsigned)from] : 0;
    if (instruction->form == FORM_DPP8) continue;
    if (!(instruction->dpp_row_mask >> (lane / 16 & 3) & 1) || !(instruction->dpp_bank_mask >> (lane / 4 & 3) & 1))
      *enabled &= ~(UINT64_C(1) << lane);
  }
  memcpy(source, moved, registers * sizeof(uint32_t) * SOFT_LANES);
}

static void sdwa_select(uint32_t *source, unsigned select, bool sign_extend) {
  if (select == SDWA_DWORD) return;
  const unsigned bits = select >= SDWA_WORD_0 ? 16 : 8;
  const unsigned shift = select >= SDWA_WORD_0 ? 16 * (select - SDWA_WORD_0) : 8 * (select - SDWA_BYTE_0);
  const unsigned up = 32 - bits;
  VECTOR_LOOP(i) {
    const uint32_t high = source[i] >> shift << up;
    source[i] = sign_extend ? (uint32_t)((int32_t)high >> up) : high >> up;
  }
}

/* op_sel of 16-bit, packed and mixed operands. */
static void halves_select(const struct instruction *instruction, unsigned slot, unsigned type, uint32_t *source) {
  const bool low_from_high = instruction->op_sel >> slot & 1, high_from_high = instruction->op_sel_hi >> slot & 1;
  const unsigned low_shift = low_from_high ? 16 : 0, high_shift = high_from_high ? 16 : 0;
  if (type == VECTOR_u16 || type == VECTOR_h16) {
    VECTOR_LOOP(i) source[i] >>= low_shift;
  } else if (is_packed(type)) {
    uint32_t flip = 0;
    if (type == VECTOR_p16f)
      flip = (instruction->neg_lo >> slot & 1 ? 0x8000u : 0) | (instruction->neg_hi >> slot & 1 ? 0x80000000u : 0);
    VECTOR_LOOP(i)
      source[i] = ((source[i] >> low_shift & 0xffff) | source[i] >> high_shift << 16) ^ flip;
  } else if (type == VECTOR_mix && high_from_high) {
    for (unsigned i = 0; i < SOFT_LANES; i++)
      source[i] = bits_of_float(float_of_half((uint16_t)(source[i] >> low_shift)));
  }
}

static void sign_modify(const struct operand *operand, unsigned type, uint32_t *source) {
  const uint32_t sign = vector_is_16(type) ? 0x8000 : 0x80000000;
  const uint32_t keep = operand->absolute ? ~sign : UINT32_MAX, flip = operand->negate ? sign : 0;
  uint32_t *word = vector_is_64(type) ? source + SOFT_LANES : source;
  if (operand->absolute || operand->negate) {
    VECTOR_LOOP(i) word[i] = (word[i] & keep) ^ flip;
  }
}

static void source_modified(struct wave *wave, const struct operation *operation, unsigned slot, uint64_t exec,
                            uint32_t *source, uint64_t *enabled) {
  const struct vector_form *form = operation->compute;
  const struct instruction *instruction = operation->instruction;
  const unsigned type = form->types[slot + 1], registers = vector_is_64(type) ? 2 : 1;
  const uint32_t *from = vector_source(wave, operation, slot, type, source);
  if (from != source) memcpy(source, from, registers * sizeof(uint32_t) * SOFT_LANES);
  if (slot >= text_source_count(form)) return;

  const struct operand *operand = &instruction->operands[operation->extra + slot];
  if (slot == 0 && (instruction->form == FORM_DPP || instruction->form == FORM_DPP8))
    dpp_apply(instruction, exec, registers, source, enabled);
  if (instruction->form == FORM_SDWA && registers == 1) sdwa_select(source, operand->select, operand->sext);
  halves_select(instruction, slot, type, source);
  sign_modify(operand, type, source);
}

/* --- results --- */

/* Output modifiers have no effect where denormal results are kept (RDNA2 ISA, "Output modifiers"). */
static float output_factor(const struct wave *wave, const struct instruction *instruction, unsigned type) {
  static const float factors[4] = {1.0f, 2.0f, 4.0f, 0.5f};
  const unsigned denormals = type == VECTOR_f32 ? wave->mode >> 4 & 3 : wave->mode >> 6 & 3;
  return denormals & 2 ? 1.0f : factors[instruction->omod & 3];
}

/* To [0, 1]. With DX10_CLAMP a NaN becomes 0, without it stays. */
static uint32_t half_clamped(uint32_t half, bool nan_to_zero) {
  if ((half & 0x7fff) > 0x7c00) return nan_to_zero ? 0 : half;
  if (half & 0x8000) return 0;
  return half > 0x3c00 ? 0x3c00 : half;
}

static double clamped(double value, bool nan_to_zero) {
  if (value != value) return nan_to_zero ? 0 : value;
  if (!(value > 0)) return 0;
  return value > 1 ? 1 : value;
}

static void result_modify(const struct wave *wave, const struct instruction *instruction, unsigned type, uint32_t *result) {
  const bool clamp = instruction->clamp, nan_to_zero = wave->mode >> 8 & 1;
  const float factor = output_factor(wave, instruction, type);
  if (!clamp && factor == 1.0f) return;
  for (unsigned i = 0; i < SOFT_LANES; i++) {
    if (type == VECTOR_f32) {
      float value = read_f32(result, i) * factor;
      if (clamp) value = (float)clamped((double)value, nan_to_zero);
      write_f32(result, i, value);
    } else if (type == VECTOR_f64) {
      double value = read_f64(result, i) * (double)factor;
      if (clamp) value = clamped(value, nan_to_zero);
      write_f64(result, i, value);
    } else if (type == VECTOR_h16 || type == VECTOR_hi16) {
      uint32_t value = result[i] & 0xffff;
      if (factor != 1.0f) value = half_of_float(float_of_half((uint16_t)value) * factor);
      result[i] = clamp ? half_clamped(value, nan_to_zero) : value;
    } else if (type == VECTOR_p16f && clamp) {
      result[i] = half_clamped(result[i] & 0xffff, nan_to_zero) | half_clamped(result[i] >> 16, nan_to_zero) << 16;
    }
  }
}

static void sdwa_store(const struct instruction *instruction, unsigned type, uint32_t *d, const uint32_t *result,
                       uint64_t enabled) {
  const unsigned select = instruction->sdwa_destination;
  const uint32_t whole = vector_is_16(type) ? 0xffff : UINT32_MAX;
  unsigned shift = 0, bits = 32;
  if (select < SDWA_WORD_0) {
    shift = 8 * select;
    bits = 8;
  } else if (select < SDWA_DWORD) {
    shift = 16 * (select - SDWA_WORD_0);
    bits = 16;
  }
  const uint32_t field = (bits == 32 ? UINT32_MAX : (1u << bits) - 1) << shift;
  const uint32_t keep = instruction->sdwa_unused == SDWA_PRESERVE ? ~field : 0;
  const bool sign_extend = instruction->sdwa_unused == SDWA_SEXT;
  alignas(64) uint32_t merged[SOFT_LANES];
  VECTOR_LOOP(i) {
    uint32_t value = (result[i] & whole) << shift;
    if (sign_extend)
      value = (uint32_t)((int32_t)((result[i] & whole) << (32 - bits)) >> (32 - bits)) << shift;
    else
      value &= field;
    merged[i] = (d[i] & keep) | value;
  }
  mask_merge(d, merged, enabled);
}

static void result_store(struct wave *wave, const struct operation *operation, const uint32_t *result, uint64_t enabled) {
  const struct vector_form *form = operation->compute;
  const struct instruction *instruction = operation->instruction;
  const unsigned type = form->types[0];
  uint32_t *d = wave_word(wave, operation->destination);
  if (type == VECTOR_mask) {
    mask_write(wave, operation->destination, mask_pack(result) & enabled);
  } else if (instruction->form == FORM_SDWA && !vector_is_64(type)) {
    sdwa_store(instruction, type, d, result, enabled);
  } else if (vector_is_16(type)) {
    const bool high = type == VECTOR_hi16 || (instruction->op_sel >> text_source_count(form) & 1);
    mask_merge_half(d, result, enabled, high ? 0xffff : 0xffff0000, high ? 16 : 0);
  } else {
    mask_merge(d, result, enabled);
    if (vector_is_64(type)) mask_merge(d + SOFT_LANES, result + SOFT_LANES, enabled);
  }
}

const struct operation *SOFT_NAME(vector_modified)(struct wave *wave, const struct operation *operation) {
  const struct vector_form *form = operation->compute;
  const struct instruction *instruction = operation->instruction;
  const unsigned count = source_count(form);
  const uint64_t exec = wave_exec(wave);
  uint64_t enabled = exec;
  struct vector_side side = {.mode = wave->mode, .clamp = instruction->clamp, .operation = operation};
  alignas(64) uint32_t sources[3][2 * SOFT_LANES];
  alignas(64) uint32_t result[2 * SOFT_LANES];

  for (unsigned i = 0; i < count; i++) source_modified(wave, operation, i, exec, sources[i], &enabled);
  if (form->flags & VECTOR_CARRY_IN) side.carry_in = mask_operand(wave, operation, 2);
  if (form->flags & VECTOR_CARRY_VCC) side.carry_in = mask_vcc(wave);
  form->compute(result, sources[0], sources[1], sources[2], &side);
  result_modify(wave, instruction, form->types[0], result);
  result_store(wave, operation, result, enabled);
  if (form->flags & VECTOR_CARRY_OUT) mask_write(wave, operation->destination2, mask_pack(side.carry_out) & enabled);
  return operation + 1;
}
