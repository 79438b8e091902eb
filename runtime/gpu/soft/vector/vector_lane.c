/* Between lanes, and registers by index: v_readlane, v_writelane, v_permlane16, v_movrel*, v_swap. RDNA2 ISA, "VOP1" and
 * "VOP3" opcode lists. */
#include "gpu/soft/vector/vector.h"

/* --- binding: the parameter says what the operands must be --- */
enum {
  LANE_SOURCES = 3,       /* how many */
  LANE_FIRST_VECTOR = 4,  /* the first source is a VGPR */
  LANE_TO_SCALAR = 8,     /* the destination is an SGPR, else a VGPR */
  LANE_FIRST_SCALAR = 16, /* the first source is none */
  LANE_RELATIVE_FROM = 32,
  LANE_RELATIVE_TO = 64,
  LANE_RELATIVE_SPLIT = 128
};

static hrx_status bind_lane(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const unsigned sources = row->parameter & LANE_SOURCES;
  const struct operand *to = &instruction->operands[0];
  const char *name = opcode_name(row->opcode);
  const bool scalar = row->parameter & LANE_TO_SCALAR;
  if (instruction->operand_count != 1 + sources)
    return hrx_fail(HRX_UNSUPPORTED, "%s: has %u operands, %u expected", name, instruction->operand_count, 1 + sources);
  if (instruction->form == FORM_SDWA || instruction->form == FORM_DPP || instruction->form == FORM_DPP8)
    return hrx_fail(HRX_UNSUPPORTED, "%s: no SDWA or DPP form of it is known", name);
  if (to->kind != (scalar ? OPERAND_SGPR : OPERAND_VGPR) || to->index >= (scalar ? SREG_FILE : 256))
    return hrx_fail(HRX_UNSUPPORTED, "%s: the destination is not a %s register", name, scalar ? "scalar" : "vector");
  out->destination = scalar ? operation_sgpr_write(to->index) : operation_vgpr(to->index);
  for (unsigned i = 0; i < sources; i++) {
    const struct operand *from = &instruction->operands[1 + i];
    const bool vector = i == 0 && (row->parameter & LANE_FIRST_VECTOR);
    const bool uniform = i > 0 || (row->parameter & LANE_FIRST_SCALAR);
    operation_source(out, i, from, TYPE_B32);
    if (out->kind[i] == SOURCE_NONE || (vector && out->kind[i] != SOURCE_VECTOR) ||
        (uniform && out->kind[i] == SOURCE_VECTOR))
      return hrx_fail(HRX_UNSUPPORTED, "%s: source %u is not of the right kind", name, i);
    if (out->kind[i] == SOURCE_VECTOR && from->index >= 256)
      return hrx_fail(HRX_UNSUPPORTED, "%s: register v%u: a wave has v0 to v255", name, from->index);
  }
  out->extra = (uint16_t)row->parameter;
  out->handler = row->handler;
  return HRX_OK;
}

static hrx_status bind_nothing(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  (void)instruction;
  out->handler = row->handler;
  return HRX_OK;
}

/* --- handlers --- */
VECTOR_HANDLER nothing(VECTOR_ARGUMENTS) {
  (void)wave;
  return operation + 1;
}

VECTOR_HANDLER read_lane(VECTOR_ARGUMENTS) {
  const unsigned lane = operation_scalar(wave, operation, 1) % SOFT_LANES;
  *wave_word(wave, operation->destination) = VECTOR_REGISTER(0)[lane];
  return operation + 1;
}

VECTOR_HANDLER read_first_lane(VECTOR_ARGUMENTS) {
  const uint64_t exec = wave_exec(wave);
  const unsigned lane = exec == 0 ? 0 : (unsigned)__builtin_ctzll(exec);
  *wave_word(wave, operation->destination) =
    operation->kind[0] == SOURCE_VECTOR ? VECTOR_REGISTER(0)[lane] : operation_scalar(wave, operation, 0);
  return operation + 1;
}

/* EXEC does not matter. */
VECTOR_HANDLER write_lane(VECTOR_ARGUMENTS) {
  const unsigned lane = operation_scalar(wave, operation, 1) % SOFT_LANES;
  wave_word(wave, operation->destination)[lane] = operation_scalar(wave, operation, 0);
  return operation + 1;
}

/* Each lane of a row reads the lane that 4 bits of the scalar pair name, in its own row or (`across`) the one beside it.
 * op_sel:[fi, bound_ctrl] say what a lane outside EXEC is worth: its value, 0, or no write. */
VECTOR_INLINE const struct operation *permute_lanes(VECTOR_ARGUMENTS, unsigned across) {
  const uint64_t exec = wave_exec(wave);
  const uint64_t selects = (uint64_t)operation_scalar(wave, operation, 2) << 32 | operation_scalar(wave, operation, 1);
  const bool fetch_inactive = operation->instruction->op_sel & 1, zero = operation->instruction->op_sel & 2;
  const uint32_t *from = VECTOR_REGISTER(0);
  uint64_t enabled = exec;
  alignas(64) uint32_t result[SOFT_LANES];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    const unsigned source = ((lane & ~15u) ^ across) | (unsigned)(selects >> 4 * (lane & 15) & 15);
    const bool valid = fetch_inactive || (exec >> source & 1);
    result[lane] = valid ? from[source] : 0;
    if (!valid && !zero) enabled &= ~(UINT64_C(1) << lane);
  }
  mask_merge(wave_word(wave, operation->destination), result, enabled);
  return operation + 1;
}
VECTOR_HANDLER permute_row(VECTOR_ARGUMENTS) { return permute_lanes(wave, operation, 0); }
VECTOR_HANDLER permute_across(VECTOR_ARGUMENTS) { return permute_lanes(wave, operation, 16); }

/* The register `offset` after the one at `base`, or -1 if there is none. */
static int relative_register(uint64_t base, uint32_t offset) {
  const uint32_t index = (uint32_t)(base / sizeof(uint32_t) / SOFT_LANES) + offset;
  return index < 256 ? (int)index : -1;
}

/* Register indices from M0. Out of range, a source is v0 and a destination is not written: RDNA2 ISA, "VGPR out of range". */
VECTOR_HANDLER move_relative(VECTOR_ARGUMENTS) {
  const uint32_t m0 = wave->s[SREG_M0];
  const bool split = operation->extra & LANE_RELATIVE_SPLIT;
  const uint32_t from_offset = operation->extra & LANE_RELATIVE_FROM ? (split ? m0 & 0x3ff : m0) : 0;
  const uint32_t to_offset = operation->extra & LANE_RELATIVE_TO ? (split ? m0 >> 16 & 0x3ff : m0) : 0;
  const int to = relative_register(operation->destination, to_offset);
  alignas(64) uint32_t room[2 * SOFT_LANES];
  const uint32_t *source = vector_source(wave, operation, 0, VECTOR_u32, room);
  if (operation->kind[0] == SOURCE_VECTOR) {
    const int from = relative_register(operation->source[0], from_offset);
    source = wave->v[from < 0 ? 0 : from];
  }
  if (to >= 0) mask_merge(wave->v[to], source, wave_exec(wave));
  return operation + 1;
}

/* v_swaprel_b32 offsets both by M0: the destination by the high half. */
VECTOR_HANDLER swap(VECTOR_ARGUMENTS) {
  const uint32_t m0 = wave->s[SREG_M0];
  const bool split = operation->extra & LANE_RELATIVE_SPLIT;
  const int first = relative_register(operation->destination, split ? m0 >> 16 & 0x3ff : 0);
  const int second = relative_register(operation->source[0], split ? m0 & 0x3ff : 0);
  const uint64_t exec = wave_exec(wave);
  alignas(64) uint32_t old[SOFT_LANES];
  if (first < 0 || second < 0) return operation + 1;
  memcpy(old, wave->v[first], sizeof old);
  mask_merge(wave->v[first], wave->v[second], exec);
  mask_merge(wave->v[second], old, exec);
  return operation + 1;
}

#define LANE_ROW(name, handler, parameter) {OPCODE_##name, bind_lane, handler, NULL, NULL, parameter}
#define NOTHING_ROW(name) {OPCODE_##name, bind_nothing, nothing, NULL, NULL, 0}

static const struct binding vector_lane_rows[] = {
  LANE_ROW(v_readlane_b32, read_lane, 2 | LANE_FIRST_VECTOR | LANE_TO_SCALAR),
  LANE_ROW(v_readfirstlane_b32, read_first_lane, 1 | LANE_TO_SCALAR),
  LANE_ROW(v_writelane_b32, write_lane, 2 | LANE_FIRST_SCALAR),
  LANE_ROW(v_permlane16_b32, permute_row, 3 | LANE_FIRST_VECTOR),
  LANE_ROW(v_permlanex16_b32, permute_across, 3 | LANE_FIRST_VECTOR),
  LANE_ROW(v_movrels_b32, move_relative, 1 | LANE_FIRST_VECTOR | LANE_RELATIVE_FROM),
  LANE_ROW(v_movreld_b32, move_relative, 1 | LANE_RELATIVE_TO),
  LANE_ROW(v_movrelsd_b32, move_relative, 1 | LANE_FIRST_VECTOR | LANE_RELATIVE_FROM | LANE_RELATIVE_TO),
  LANE_ROW(v_movrelsd_2_b32, move_relative,
           1 | LANE_FIRST_VECTOR | LANE_RELATIVE_FROM | LANE_RELATIVE_TO | LANE_RELATIVE_SPLIT),
  LANE_ROW(v_swap_b32, swap, 1 | LANE_FIRST_VECTOR),
  LANE_ROW(v_swaprel_b32, swap, 1 | LANE_FIRST_VECTOR | LANE_RELATIVE_SPLIT),
  NOTHING_ROW(v_nop),
  NOTHING_ROW(v_clrexcp),
  NOTHING_ROW(v_pipeflush),
};
const struct binding_table SOFT_NAME(vector_lane_table) = {vector_lane_rows,
                                                           sizeof vector_lane_rows / sizeof vector_lane_rows[0]};
