#include <stdlib.h>
#include <string.h>

#include "code/target.h"
#include "gpu/soft/device.h"
#include "tool/inspection.h"

struct collecting {
  struct inspected_kernel *kernels;
  bool out_of_memory;
};

static void instruction_collect(struct inspected_kernel *kernel, const struct soft_missing *missing, bool *out_of_memory) {
  const struct instruction *instruction = missing->instruction;
  struct missing_instruction found = {
      .encoding = {instruction->encoding[0], instruction->encoding[1]}, .size = instruction->size, .uses = 1};
  /* opcodes.def's name, which has no suffix for the encoding; LLVM's for what is not in it */
  const char *name = instruction->opcode != OPCODE_UNKNOWN ? opcode_name(instruction->opcode) : missing->text;
  size_t length = name[0] != '(' ? strcspn(name, " \t") : strlen(name);
  snprintf(found.mnemonic, sizeof found.mnemonic, "%.*s", (int)length, name);
  for (unsigned i = 0; i < kernel->missing_count; i++)
    if (strcmp(kernel->missing[i].mnemonic, found.mnemonic) == 0) {
      kernel->missing[i].uses++;
      return;
    }
  struct missing_instruction *grown = realloc(kernel->missing, (kernel->missing_count + (size_t)1) * sizeof *grown);
  if (grown == NULL) {
    *out_of_memory = true;
    return;
  }
  kernel->missing = grown;
  grown[kernel->missing_count++] = found;
}

static void collect(uint32_t index, const struct soft_missing *missing, void *context) {
  struct collecting *in = context;
  struct inspected_kernel *kernel = &in->kernels[index];
  if (missing->instruction != NULL)
    instruction_collect(kernel, missing, &in->out_of_memory);
  else if ((kernel->refusal = strdup(missing->text)) == NULL)
    in->out_of_memory = true;
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
    struct collecting in = {.kernels = code->kernels};
    if (status == HRX_OK) status = soft_object_missing(code->object, arch, entry->bytes, entry->size, collect, &in);
    if (status == HRX_OK && in.out_of_memory) status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a list of instructions");
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
