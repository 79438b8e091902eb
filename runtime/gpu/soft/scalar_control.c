/* SOPP, branches and calls, and the hardware registers (RDNA2 ISA, "SOPP", "S_GETREG_B32").
 *
 * Waits and hints do nothing, because memory operations are over when their handler returns. */
#include <xmmintrin.h>

#include "base/clocktime.h"
#include "gpu/soft/program.h"
#include "gpu/soft/scalar.h"

static const struct operation *give_way(struct wave *wave, const struct operation *next) {
  wave->state = WAVE_YIELDED;
  wave->next = next;
  return NULL;
}

/* Goes on at `target`; a way back costs quantum, because only loops can run for long. */
static inline const struct operation *go(struct wave *wave, const struct operation *operation,
                                         const struct operation *target) {
  if (target <= operation && --wave->quantum == 0) return give_way(wave, target);
  return target;
}

#define BRANCH(name, condition) \
  HANDLER(name) { return (condition) ? go(wave, operation, operation->target) : operation + 1; }

BRANCH(branch, true)
BRANCH(cbranch_scc0, wave->scc == 0)
BRANCH(cbranch_scc1, wave->scc != 0)
BRANCH(cbranch_vccz, operation_special(wave, SPECIAL_VCCZ) != 0)
BRANCH(cbranch_vccnz, operation_special(wave, SPECIAL_VCCZ) == 0)
BRANCH(cbranch_execz, wave_exec(wave) == 0)
BRANCH(cbranch_execnz, wave_exec(wave) != 0)
/* no debugger is attached: the conditional debug flags are 0 */
HANDLER(cbranch_never) {
  (void)wave;
  return operation + 1;
}

static inline uint64_t pc_behind(const struct wave *wave, const struct operation *operation) {
  return wave->program->base + operation->instruction->offset + operation->instruction->size;
}

static const struct operation *jump(struct wave *wave, const struct operation *operation, uint64_t address) {
  const struct operation *target = soft_program_at(wave->program, address);
  if (target == NULL) return operation_fault(wave, operation, FAULT_BRANCH, address, 4, false, 0);
  return go(wave, operation, target);
}

HANDLER(getpc_b64) {
  scalar_store64(wave, operation, pc_behind(wave, operation));
  return operation + 1;
}
HANDLER(setpc_b64) { return jump(wave, operation, operation_scalar64(wave, operation, 0)); }
HANDLER(swappc_b64) {
  uint64_t address = operation_scalar64(wave, operation, 0);
  scalar_store64(wave, operation, pc_behind(wave, operation));
  return jump(wave, operation, address);
}
HANDLER(call_b64) {
  scalar_store64(wave, operation, pc_behind(wave, operation));
  return go(wave, operation, operation->target);
}

HANDLER(endpgm) {
  wave->state = WAVE_ENDED;
  wave->next = operation;
  return NULL;
}

HANDLER(barrier) {
  if (wave->group == NULL || wave->group->wave_count == 1) return operation + 1;
  wave->state = WAVE_BARRIER;
  wave->next = operation + 1;
  return NULL;
}

/* Who sleeps waits for somebody: let others run. */
HANDLER(sleep) {
  if (wave->group == NULL) return operation + 1;
  return give_way(wave, operation + 1);
}

/* LLVM AMDGPU usage, "Trap Handler ABI": 2 is llvm.trap, 3 is llvm.debugtrap, which goes on without a debugger. */
HANDLER(trap) {
  uint32_t number = scalar_immediate(operation) & 0xff;
  if (number == 3) return operation + 1;
  return operation_fault(wave, operation, FAULT_TRAP, number, 0, false, 0);
}

HANDLER(nothing) {
  (void)wave;
  return operation + 1;
}

uint32_t soft_wave_mxcsr(const struct wave *wave) {
  /* MODE counts nearest, up, down, zero; MXCSR nearest, down, up, zero */
  static const uint32_t rounds[4] = {0x0000, 0x4000, 0x2000, 0x6000};
  /* MODE allows denormals, of sources by bit 4 and of results by bit 5; MXCSR takes them for zero, by 0x40 and 0x8000 */
  return 0x1f80 | rounds[wave->mode & 3] | (wave->mode & 0x10 ? 0 : 0x40) | (wave->mode & 0x20 ? 0 : 0x8000);
}

static void mode_write(struct wave *wave, uint32_t mode) {
  wave->mode = mode;
  _mm_setcsr(soft_wave_mxcsr(wave));
}

HANDLER(round_mode) {
  mode_write(wave, (wave->mode & ~UINT32_C(0xf)) | (scalar_immediate(operation) & 0xf));
  return operation + 1;
}
HANDLER(denorm_mode) {
  mode_write(wave, (wave->mode & ~UINT32_C(0xf0)) | (scalar_immediate(operation) & 0xf) << 4);
  return operation + 1;
}

enum hardware_register { /* LLVM AMDGPU "hwreg" numbers of gfx10 */
  HW_REG_MODE = 1, HW_REG_STATUS = 2, HW_REG_TRAPSTS = 3, HW_REG_GPR_ALLOC = 5, HW_REG_LDS_ALLOC = 6,
  HW_REG_SH_MEM_BASES = 15, HW_REG_FLAT_SCR_LO = 20, HW_REG_FLAT_SCR_HI = 21, HW_REG_HW_ID1 = 23, HW_REG_HW_ID2 = 24,
  HW_REG_SHADER_CYCLES = 29
};

static uint32_t hardware_read(const struct wave *wave, uint32_t which) {
  switch (which) {
  case HW_REG_MODE: return wave->mode;
  case HW_REG_STATUS: {
    uint32_t in_group = wave->group != NULL && wave->group->wave_count > 1;
    return (wave->scc & 1) | UINT32_C(1) << 6 | (uint32_t)operation_special(wave, SPECIAL_EXECZ) << 9 |
           (uint32_t)operation_special(wave, SPECIAL_VCCZ) << 10 | in_group << 11 | UINT32_C(1) << 16;
  }
  case HW_REG_TRAPSTS: return wave->status_priv;
  case HW_REG_GPR_ALLOC: return UINT32_C(0x1f) << 8; /* all registers, from 0 */
  case HW_REG_LDS_ALLOC: return (wave->lds_bytes + 255) / 256 << 12;
  case HW_REG_SH_MEM_BASES: return (FLAT_SHARED_HIGH & UINT32_C(0xffff0000)) | FLAT_PRIVATE_HIGH >> 16;
  case HW_REG_FLAT_SCR_LO: return wave->flat_scratch_low;
  case HW_REG_FLAT_SCR_HI: return wave->flat_scratch_high;
  case HW_REG_HW_ID1: return wave->index & 0x1f; /* one unit: only the wave's slot differs */
  case HW_REG_SHADER_CYCLES: return (uint32_t)time_now_ns() & 0xfffff;
  default: return 0;
  }
}

static void hardware_write(struct wave *wave, uint32_t which, uint32_t value) {
  switch (which) {
  case HW_REG_MODE: mode_write(wave, value); break;
  case HW_REG_TRAPSTS: wave->status_priv = value; break;
  case HW_REG_FLAT_SCR_LO: wave->flat_scratch_low = value; break;
  case HW_REG_FLAT_SCR_HI: wave->flat_scratch_high = value; break;
  default: break; /* the rest is read only for kernels */
  }
}

struct hardware_field {
  uint32_t which, shift, mask;
};

static struct hardware_field field_of(const struct operation *operation) {
  uint32_t immediate = scalar_immediate(operation), size = (immediate >> 11) + 1;
  return (struct hardware_field){immediate & 63, immediate >> 6 & 31,
                                 size >= 32 ? UINT32_MAX : (UINT32_C(1) << size) - 1};
}

static void field_write(struct wave *wave, const struct operation *operation, uint32_t value) {
  struct hardware_field field = field_of(operation);
  uint32_t mask = field.mask << field.shift;
  hardware_write(wave, field.which, (hardware_read(wave, field.which) & ~mask) | (value << field.shift & mask));
}

HANDLER(getreg_b32) {
  struct hardware_field field = field_of(operation);
  *wave_word(wave, operation->destination) = hardware_read(wave, field.which) >> field.shift & field.mask;
  return operation + 1;
}
HANDLER(setreg_b32) {
  field_write(wave, operation, operation_scalar(wave, operation, 0));
  return operation + 1;
}
HANDLER(setreg_imm32_b32) {
  field_write(wave, operation, operation->instruction->encoding[1]);
  return operation + 1;
}

/* The register may be LLVM's first or second operand; the other is the field, which the encoding holds. */
static hrx_status bind_setreg(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  for (unsigned i = 0; i < instruction->operand_count; i++) {
    if (instruction->operands[i].kind != OPERAND_SGPR && instruction->operands[i].kind != OPERAND_SPECIAL) continue;
    operation_source(out, 0, &instruction->operands[i], TYPE_B32);
    out->handler = row->handler;
    return HRX_OK;
  }
  return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "s_setreg_b32 without a register");
}

static hrx_status bind_branch(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  if (instruction->target == -1)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s without a target", opcode_name(row->opcode));
  return scalar_bind(row, instruction, out);
}

#define NONE 0
#define D SHAPE(SHAPE_DESTINATION, 0, 0, 0)
#define BRANCH_ROW(name, shape) {OPCODE_s_##name, bind_branch, run_##name, NULL, NULL, shape}
#define ROW_AS(name, runs) {OPCODE_s_##name, scalar_bind, run_##runs, NULL, NULL, NONE}

static const struct binding scalar_control_rows[] = {
    BRANCH_ROW(branch, NONE), BRANCH_ROW(cbranch_scc0, NONE), BRANCH_ROW(cbranch_scc1, NONE),
    BRANCH_ROW(cbranch_vccz, NONE), BRANCH_ROW(cbranch_vccnz, NONE), BRANCH_ROW(cbranch_execz, NONE),
    BRANCH_ROW(cbranch_execnz, NONE), ROW_AS(cbranch_cdbgsys, cbranch_never), ROW_AS(cbranch_cdbguser, cbranch_never),
    ROW_AS(cbranch_cdbgsys_and_user, cbranch_never), ROW_AS(cbranch_cdbgsys_or_user, cbranch_never),
    SCALAR_ROW(getpc_b64, D), SCALAR_ROW(setpc_b64, SHAPE(0, 1, TYPE_B64, 0)),
    SCALAR_ROW(swappc_b64, SHAPE(SHAPE_DESTINATION, 1, TYPE_B64, 0)), BRANCH_ROW(call_b64, D),
    SCALAR_ROW(endpgm, NONE), ROW_AS(endpgm_saved, endpgm), ROW_AS(endpgm_ordered_ps_done, endpgm),
    ROW_AS(setkill, endpgm), SCALAR_ROW(barrier, NONE), SCALAR_ROW(sleep, NONE), SCALAR_ROW(trap, NONE),
    SCALAR_ROW(round_mode, NONE), SCALAR_ROW(denorm_mode, NONE), SCALAR_ROW(getreg_b32, D),
    {OPCODE_s_setreg_b32, bind_setreg, run_setreg_b32, NULL, NULL, NONE}, SCALAR_ROW(setreg_imm32_b32, NONE),
    ROW_AS(nop, nothing), ROW_AS(waitcnt, nothing), ROW_AS(waitcnt_depctr, nothing), ROW_AS(waitcnt_expcnt, nothing),
    ROW_AS(waitcnt_lgkmcnt, nothing), ROW_AS(waitcnt_vmcnt, nothing), ROW_AS(waitcnt_vscnt, nothing),
    ROW_AS(clause, nothing), ROW_AS(inst_prefetch, nothing), ROW_AS(sendmsg, nothing), ROW_AS(sendmsghalt, nothing),
    ROW_AS(sethalt, nothing), ROW_AS(setprio, nothing), ROW_AS(wakeup, nothing), ROW_AS(ttracedata, nothing),
    ROW_AS(ttracedata_imm, nothing), ROW_AS(incperflevel, nothing), ROW_AS(decperflevel, nothing),
    ROW_AS(version, nothing),
};
SCALAR_TABLE(scalar_control);
