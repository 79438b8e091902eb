#include "gpu/soft/program.h"

#include <stdlib.h>

#include "gpu/soft/level.h"

static const struct operation *operation_missing(struct wave *wave, const struct operation *operation) {
  return operation_fault(wave, operation, FAULT_OPCODE, 0, 0, false, 0);
}

/* Stands behind the last instruction: control that runs off the code arrives here. */
static const struct operation *operation_beyond(struct wave *wave, const struct operation *operation) {
  const struct soft_program *program = wave->program;
  return operation_fault(wave, operation, FAULT_BRANCH, program->base + program->code_bytes, 4, false, 0);
}

bool soft_operation_missing(const struct operation *operation) { return operation->handler == operation_missing; }

const struct operation *soft_program_at(const struct soft_program *program, uint64_t address) {
  uint64_t offset = address - program->base;
  if (offset >= program->code_bytes || offset % 4 != 0) return NULL;
  uint32_t found = program->index[offset / 4];
  return found != 0 ? &program->operations[found - 1] : NULL;
}

static void instruction_bind(const struct soft_level *level, const struct instruction *instruction,
                             struct operation *out) {
  *out = (struct operation){.instruction = instruction};
  const struct binding *row = instruction->opcode < OPCODE_COUNT ? level->bindings[instruction->opcode] : NULL;
  if (row != NULL && row->bind(row, instruction, out) == HRX_OK && out->handler != NULL) return;
  *out = (struct operation){.handler = operation_missing, .instruction = instruction};
}

hrx_status soft_program_bind(const struct decoded *decoded, const char *level_name, struct soft_program **out_program) {
  const struct soft_level *level = NULL;
  hrx_status status = soft_level_find(level_name, &level);
  if (status != HRX_OK) return status;
  uint32_t count = decoded->count;
  const struct instruction *last = count > 0 ? &decoded->instructions[count - 1] : NULL;
  uint32_t bytes = last != NULL ? last->offset + last->size : 0;
  struct soft_program *program = calloc(1, sizeof *program);
  if (program != NULL) {
    program->operations = aligned_alloc(64, ((size_t)count + 1) * sizeof *program->operations);
    program->index = calloc((size_t)bytes / 4 + 1, sizeof *program->index);
  }
  if (program == NULL || program->operations == NULL || program->index == NULL) {
    soft_program_release(program);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to bind %u instructions", count);
  }
  program->count = count;
  program->code_bytes = bytes;
  program->decoded = decoded;
  for (uint32_t i = 0; i < count; i++) program->index[decoded->instructions[i].offset / 4] = i + 1;
  program->operations[count] = (struct operation){.handler = operation_beyond};
  for (uint32_t i = 0; i < count; i++) {
    struct operation *operation = &program->operations[i];
    instruction_bind(level, &decoded->instructions[i], operation);
    int64_t target = decoded->instructions[i].target;
    if (target == -1 || soft_operation_missing(operation)) continue;
    /* base is still 0: addresses are offsets */
    operation->target = soft_program_at(program, (uint64_t)target);
    if (operation->target == NULL) operation->target = &program->operations[count];
  }
  *out_program = program;
  return HRX_OK;
}

void soft_program_release(struct soft_program *program) {
  if (program == NULL) return;
  free(program->operations);
  free(program->index);
  free(program);
}

void soft_wave_start(struct wave *wave, const struct soft_program *program, uint32_t offset) {
  wave->program = program;
  wave->next = soft_program_at(program, program->base + offset);
  if (wave->next == NULL) wave->next = &program->operations[program->count];
  wave->quantum = UINT32_MAX;
  wave->state = WAVE_RUNNING;
}

void soft_wave_run(struct wave *wave) {
  wave->state = WAVE_RUNNING;
  const struct operation *operation = wave->next;
  while (operation != NULL) operation = operation->handler(wave, operation);
}
