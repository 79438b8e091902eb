#include <stdio.h>

#include "base/log.h"
#include "gpu/soft/parts.h"

/* "at +0x1c: global_load_dword v1, v[2:3], off", counted from the kernel's entry, or from the image's start in a function that it
 * called. */
static void place_write(const struct soft_dispatch *dispatch, const struct operation *operation, char *out_text, size_t capacity) {
  const struct soft_kernel *kernel = dispatch->kernel;
  const struct instruction *instruction = operation != NULL ? operation->instruction : NULL;
  if (instruction == NULL) {
    snprintf(out_text, capacity, "behind the end of its code");
    return;
  }
  char text[160];
  const uint8_t *bytes = (const uint8_t *)(uintptr_t)(kernel->bound.program->base + instruction->offset);
  if (decode_text(kernel->module->object->target, bytes, instruction->size, text, sizeof text) != HRX_OK)
    snprintf(text, sizeof text, "%s", opcode_name(instruction->opcode));
  uint32_t offset = instruction->offset - kernel->bound.entry;
  if (instruction->offset >= kernel->bound.entry && offset < kernel->code->code_bytes)
    snprintf(out_text, capacity, "at +0x%x: %s", offset, text);
  else
    snprintf(out_text, capacity, "in a function, at 0x%llx of the image: %s",
             (unsigned long long)(kernel->bound.program->base + instruction->offset - kernel->module->image.base), text);
}

/* Where the address lies in relation to what there is. */
static void nearest_write(struct memory *memory, uint64_t address, char *out_text, size_t capacity) {
  const struct allocation *nearest = memory_nearest(memory, (uintptr_t)address);
  if (nearest == NULL) {
    snprintf(out_text, capacity, "there are no allocations");
    return;
  }
  uint64_t low = nearest->address, high = low + nearest->bytes;
  const char *relation = "inside";
  uint64_t distance = address - low;
  if (address < low) {
    relation = "before";
    distance = low - address;
  } else if (address >= high) {
    relation = "behind the end of";
    distance = address - high;
  }
  snprintf(out_text, capacity, "%llu bytes %s the nearest allocation, 0x%llx of %zu bytes", (unsigned long long)distance, relation,
           (unsigned long long)low, nearest->bytes);
}

void soft_report_fault(struct soft_dispatch *dispatch, const struct wave *wave, struct failure *out_failure) {
  const struct fault *fault = &wave->fault;
  const char *name = dispatch->kernel->code->name;
  const uint32_t *group = wave->group->id;
  char place[256], nearest[192];
  place_write(dispatch, fault->operation, place, sizeof place);
  hrx_status status = HRX_EXECUTION;
  switch (fault->kind) {
  case FAULT_ADDRESS:
    nearest_write(soft_device_of(dispatch->base.device)->memory, fault->address, nearest, sizeof nearest);
    status = hrx_fail_reason(HRX_EXECUTION, HRX_REASON_ADDRESS,
                             "kernel %.160s: workgroup (%u,%u,%u) work-item %u %s %u bytes at 0x%llx, %s; %s", name, group[0], group[1],
                             group[2], wave->index * SOFT_LANES + fault->lane, fault->write ? "writes" : "reads", fault->bytes,
                             (unsigned long long)fault->address, nearest, place);
    break;
  case FAULT_TRAP:
    status = hrx_fail_reason(HRX_EXECUTION, HRX_REASON_TRAP, "kernel %.160s: workgroup (%u,%u,%u) wave %u executes trap %llu %s", name,
                             group[0], group[1], group[2], wave->index, (unsigned long long)fault->address, place);
    break;
  case FAULT_OPCODE:
    status = hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION,
                             "kernel %.160s: workgroup (%u,%u,%u) wave %u reaches an instruction that is not implemented %s", name,
                             group[0], group[1], group[2], wave->index, place);
    break;
  default:
    status = hrx_fail_reason(HRX_EXECUTION, HRX_REASON_ADDRESS,
                             "kernel %.160s: workgroup (%u,%u,%u) wave %u goes to 0x%llx, where no instruction begins; %s", name,
                             group[0], group[1], group[2], wave->index, (unsigned long long)fault->address, place);
    break;
  }
  failure_capture(status, out_failure);
}

void soft_report_place(const struct soft_dispatch *dispatch, const struct wave *wave) {
  static const char *const states[] = {"runs", "waits at a barrier", "runs", "has ended", "has failed"};
  char place[256];
  place_write(dispatch, wave->next, place, sizeof place);
  log_line(LOG_ERROR, "kernel %.160s: workgroup (%u,%u,%u) wave %u %s %s", dispatch->kernel->code->name, wave->group->id[0],
           wave->group->id[1], wave->group->id[2], wave->index, states[wave->state], place);
}
