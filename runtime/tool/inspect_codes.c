#include <stdlib.h>
#include <string.h>

#include "code/decode.h"
#include "code/target.h"
#include "gpu/soft/program.h"
#include "tool/inspection.h"

/* What the visitor of soft_program_check needs. */
struct collecting {
  const char *target;
  const uint8_t *code;
  size_t code_bytes;
  struct inspected_kernel *kernel;
  bool out_of_memory;
};

/* LLVM's name of the instruction without the encoding suffix, or "(no instruction)". */
static void mnemonic_of(const struct collecting *in, const struct instruction *instruction, char *out_name,
                        size_t capacity) {
  char text[256];
  const char *name = opcode_name(instruction->opcode);
  if (instruction->opcode == OPCODE_UNKNOWN) {
    name = "(no instruction)";
    if (decode_text(in->target, in->code + instruction->offset, in->code_bytes - instruction->offset, text,
                    sizeof text) == HRX_OK) {
      char *start = text + strspn(text, " \t");
      start[strcspn(start, " \t")] = '\0';
      name = start;
    }
  }
  snprintf(out_name, capacity, "%.47s", name);
}

static void collect(const struct operation *operation, void *context) {
  struct collecting *in = context;
  const struct instruction *instruction = operation->instruction;
  struct missing_instruction found = {
      .encoding = {instruction->encoding[0], instruction->encoding[1]}, .size = instruction->size, .uses = 1};
  mnemonic_of(in, instruction, found.mnemonic, sizeof found.mnemonic);
  struct inspected_kernel *kernel = in->kernel;
  for (unsigned i = 0; i < kernel->missing_count; i++)
    if (strcmp(kernel->missing[i].mnemonic, found.mnemonic) == 0) {
      kernel->missing[i].uses++;
      return;
    }
  struct missing_instruction *grown = realloc(kernel->missing, (kernel->missing_count + (size_t)1) * sizeof *grown);
  if (grown == NULL) {
    in->out_of_memory = true;
    return;
  }
  kernel->missing = grown;
  grown[kernel->missing_count++] = found;
}

/* Decodes one executable segment and checks the kernels that begin in it. */
static hrx_status segment_check(struct inspected_code *code, const uint8_t *bytes, const struct code_segment *segment) {
  struct collecting in = {
      .target = code->object->target, .code = bytes + segment->file_offset, .code_bytes = segment->file_bytes};
  struct decoded *decoded = NULL;
  struct soft_program *program = NULL;
  hrx_status status = decode_code(in.target, in.code, in.code_bytes, &decoded);
  if (status == HRX_OK) status = soft_program_bind(decoded, NULL, &program);
  for (uint32_t i = 0; status == HRX_OK && i < code->object->kernel_count; i++) {
    uint64_t entry = code->object->kernels[i].entry_address;
    struct soft_reach reach;
    if (entry < segment->address || entry - segment->address >= segment->file_bytes) continue;
    in.kernel = &code->kernels[i];
    status = soft_program_check(program, (uint32_t)(entry - segment->address), collect, &in, &reach);
    if (status == HRX_OK && in.out_of_memory)
      status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a list of instructions");
  }
  soft_program_release(program);
  decoded_release(decoded);
  return status;
}

static void code_read(struct inspected_code *code, const struct fat_entry *entry, const char *arch) {
  code->target = entry->target;
  code->size = entry->size;
  code->chosen = target_match(entry->target, arch) >= 0;
  hrx_status status = code_object_open(entry->bytes, entry->size, &code->object);
  if (status == HRX_OK && code->chosen) {
    code->kernels = calloc(code->object->kernel_count + (size_t)1, sizeof *code->kernels);
    if (code->kernels == NULL)
      status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u kernels", code->object->kernel_count);
    for (uint32_t i = 0; status == HRX_OK && i < code->object->segment_count; i++)
      if (code->object->segments[i].executable) status = segment_check(code, entry->bytes, &code->object->segments[i]);
    code->checked = status == HRX_OK;
  }
  if (status != HRX_OK) snprintf(code->error, sizeof code->error, "%s", hrx_last_message());
}

hrx_status inspect_codes(struct inspection *inspection) {
  size_t count = 0;
  for (unsigned i = 0; i < inspection->binary_count; i++) count += inspection->binaries[i].count;
  inspection->codes = calloc(count + 1, sizeof *inspection->codes);
  if (inspection->codes == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu code objects", count);
  for (unsigned i = 0; i < inspection->binary_count; i++)
    for (unsigned j = 0; j < inspection->binaries[i].count; j++) {
      const struct fat_entry *entry = &inspection->binaries[i].entries[j];
      if (entry->size > 0 && entry->target[0] != '\0')
        code_read(&inspection->codes[inspection->code_count++], entry, inspection->arch);
    }
  return HRX_OK;
}
