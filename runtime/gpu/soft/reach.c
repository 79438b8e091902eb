/* Which instructions a kernel can reach, before it runs.
 *
 * Control flow is static but for s_setpc and s_swappc. Compilers make their addresses with s_getpc and an addition of
 * constants in the same straight run of code; such targets are followed. What comes from elsewhere is a return address (s_setpc)
 * or a function pointer (s_swappc): then any function outside the kernels may be called, and the caller decides. */
#include <stdlib.h>
#include <string.h>

#include "gpu/soft/program.h"

enum { LOOK_BACK = 64 }; /* instructions between an address and its use: more is taken for unknown */

struct walk {
  const struct soft_program *program;
  uint8_t *seen;
  uint32_t *todo;
  uint32_t todo_count;
  struct soft_reach reach;
};

static void walk_add(struct walk *walk, uint32_t index) {
  if (index >= walk->program->count) {
    walk->reach.outside = true;
    return;
  }
  if (walk->seen[index]) return;
  walk->seen[index] = 1;
  walk->todo[walk->todo_count++] = index;
}

static void walk_add_offset(struct walk *walk, int64_t offset) {
  const struct soft_program *program = walk->program;
  if (offset < 0 || offset >= (int64_t)program->code_bytes || offset % 4 != 0 || program->index[offset / 4] == 0) {
    walk->reach.outside = true;
    return;
  }
  walk_add(walk, program->index[offset / 4] - 1);
}

static bool writes(const struct instruction *instruction, uint32_t sgpr) {
  for (unsigned i = 0; i < instruction->destination_count; i++) {
    const struct operand *operand = &instruction->operands[i];
    if (operand->kind == OPERAND_SGPR && sgpr >= operand->index && sgpr < (uint32_t)operand->index + operand->registers)
      return true;
  }
  return false;
}

/* The constant that an s_add or s_addc adds to the register `sgpr`; false if it is none. */
static bool added_constant(const struct instruction *instruction, uint32_t *sgpr, uint32_t *out_constant) {
  for (unsigned i = 1; i < 3 && instruction->operand_count == 3; i++) {
    const struct operand *constant = &instruction->operands[i], *other = &instruction->operands[3 - i];
    if (constant->kind != OPERAND_CONSTANT || other->kind != OPERAND_SGPR) continue;
    *out_constant = (uint32_t)constant->value;
    *sgpr = other->index;
    return true;
  }
  return false;
}

/* The code offset that s[sgpr:sgpr+1] holds before instruction `at`, if PC-relative arithmetic just before says so. */
static bool pc_value(const struct walk *walk, uint32_t at, uint32_t sgpr, int64_t *out_offset) {
  const struct instruction *instructions = walk->program->decoded->instructions;
  uint32_t low = sgpr, high = sgpr + 1;
  uint32_t low_constant = 0, high_constant = 0;
  for (uint32_t back = 1; back <= LOOK_BACK && back <= at; back++) {
    const struct instruction *instruction = &instructions[at - back];
    if (instruction->target != -1 || instruction->opcode == OPCODE_s_setpc_b64 || instruction->opcode == OPCODE_s_swappc_b64)
      return false; /* not straight any more */
    bool writes_low = writes(instruction, low), writes_high = writes(instruction, high);
    if (!writes_low && !writes_high) continue;
    uint32_t constant = 0, from = 0;
    switch (instruction->opcode) {
    case OPCODE_s_getpc_b64:
      if (!writes_low || !writes_high || high != low + 1) return false;
      *out_offset = (int64_t)instruction->offset + instruction->size +
                    (int64_t)((uint64_t)high_constant << 32 | low_constant);
      return true;
    case OPCODE_s_mov_b64:
      if (high != low + 1 || instruction->operands[0].index != low || instruction->operands[1].kind != OPERAND_SGPR)
        return false;
      low = instruction->operands[1].index;
      high = low + 1;
      break;
    case OPCODE_s_mov_b32:
      if (instruction->operands[1].kind != OPERAND_SGPR) return false;
      if (writes_low) low = instruction->operands[1].index;
      if (writes_high) high = instruction->operands[1].index;
      break;
    case OPCODE_s_add_u32:
      if (writes_high || !added_constant(instruction, &from, &constant)) return false;
      low = from;
      low_constant += constant;
      break;
    case OPCODE_s_addc_u32:
      if (writes_low || !added_constant(instruction, &from, &constant)) return false;
      high = from;
      high_constant += constant;
      break;
    default: return false;
    }
  }
  return false;
}

static void walk_indirect(struct walk *walk, uint32_t at, bool call) {
  const struct instruction *instruction = &walk->program->decoded->instructions[at];
  const struct operand *address = &instruction->operands[instruction->operand_count > 0 ? instruction->operand_count - 1 : 0];
  int64_t offset = 0;
  if (address->kind == OPERAND_SGPR && pc_value(walk, at, address->index, &offset))
    walk_add_offset(walk, offset);
  else if (call)
    walk->reach.indirect = true;
  /* else a return: its target was added by the call */
}

static void walk_step(struct walk *walk, uint32_t at) {
  const struct instruction *instruction = &walk->program->decoded->instructions[at];
  if (instruction->target != -1) walk_add_offset(walk, instruction->target);
  switch (instruction->opcode) {
  case OPCODE_UNKNOWN:
  case OPCODE_s_endpgm:
  case OPCODE_s_endpgm_saved:
  case OPCODE_s_endpgm_ordered_ps_done:
  case OPCODE_s_setkill: return;
  case OPCODE_s_branch: return;
  case OPCODE_s_setpc_b64: walk_indirect(walk, at, false); return;
  case OPCODE_s_swappc_b64: walk_indirect(walk, at, true); break;
  default: break;
  }
  walk_add(walk, at + 1);
}

hrx_status soft_program_check(const struct soft_program *program, uint32_t entry,
                              void (*visit)(const struct operation *operation, void *context), void *context,
                              struct soft_reach *out_reach) {
  struct walk walk = {.program = program, .seen = calloc((size_t)program->count + 1, 1),
                      .todo = malloc(((size_t)program->count + 1) * sizeof(uint32_t))};
  hrx_status status = HRX_OK;
  if (walk.seen == NULL || walk.todo == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to check %u instructions", program->count);
  if (status == HRX_OK) {
    walk_add_offset(&walk, entry);
    while (walk.todo_count > 0) {
      uint32_t at = walk.todo[--walk.todo_count];
      const struct operation *operation = &program->operations[at];
      if (visit != NULL && soft_operation_missing(operation)) visit(operation, context);
      walk_step(&walk, at);
    }
    *out_reach = walk.reach;
  }
  free(walk.seen);
  free(walk.todo);
  return status;
}
