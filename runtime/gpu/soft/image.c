#include "gpu/soft/image.h"

static hrx_status range_bind(const struct soft_image *image, uint64_t start, uint64_t bytes, const char *level,
                             struct decoded **out_decoded, struct soft_program **out_program) {
  struct decoded *decoded = NULL;
  struct soft_program *program = NULL;
  hrx_status status = decode_code(image->object->target, image->bytes + start, (size_t)bytes, &decoded);
  if (status == HRX_OK) status = soft_program_bind(decoded, level, &program);
  if (status != HRX_OK) {
    decoded_release(decoded);
    return status;
  }
  program->base = image->base + start;
  *out_decoded = decoded;
  *out_program = program;
  return HRX_OK;
}

static hrx_status whole_bind(struct soft_image *image, const char *level) {
  if (image->program != NULL) return HRX_OK;
  uint64_t low = UINT64_MAX, high = 0;
  for (uint32_t i = 0; i < image->object->segment_count; i++) {
    const struct code_segment *segment = &image->object->segments[i];
    if (!segment->executable) continue;
    if (segment->address < low) low = segment->address;
    if (segment->address + segment->memory_bytes > high) high = segment->address + segment->memory_bytes;
  }
  if (low >= high || high > image->object->image_bytes)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "the code object has no executable code");
  image->program_start = low;
  return range_bind(image, low, high - low, level, &image->decoded, &image->program);
}

/* Functions that a pointer may lead to: everything that is not a kernel, less the padding between functions. */
static void functions_check(const struct soft_image *image, void (*visit)(const struct operation *, void *), void *context) {
  const struct soft_program *program = image->program;
  for (uint32_t i = 0; i < program->count; i++) {
    const struct operation *operation = &program->operations[i];
    if (!soft_operation_missing(operation)) continue;
    const struct instruction *instruction = operation->instruction;
    uint64_t address = image->program_start + instruction->offset;
    bool kernel = false;
    for (uint32_t k = 0; k < image->object->kernel_count && !kernel; k++)
      kernel = address - image->object->kernels[k].entry_address < image->object->kernels[k].code_bytes;
    char text[128];
    /* zeros are what the linker puts between sections, whatever LLVM calls them */
    if (kernel || instruction->opcode == OPCODE_s_code_end || instruction->encoding[0] == 0 ||
        (instruction->opcode == OPCODE_UNKNOWN &&
         decode_text(image->object->target, image->bytes + address, instruction->size, text, sizeof text) != HRX_OK))
      continue;
    visit(operation, context);
  }
}

static hrx_status kernel_check(const struct soft_image *image, const struct kernel_code *kernel) {
  if (kernel->wave_lanes != SOFT_LANES)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "kernel %s is built for waves of %u lanes, %s executes %d",
                           kernel->name, kernel->wave_lanes, image->object->target, SOFT_LANES);
  if (kernel->private_segment_bytes > SOFT_SCRATCH_LIMIT)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "kernel %s asks for %u bytes of scratch a work-item, the limit is %d",
                           kernel->name, kernel->private_segment_bytes, SOFT_SCRATCH_LIMIT);
  if (kernel->entry_address >= image->object->image_bytes ||
      kernel->code_bytes > image->object->image_bytes - kernel->entry_address || kernel->code_bytes < 4)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "kernel %s: its code at 0x%llx, %llu bytes, is outside of the image",
                           kernel->name, (unsigned long long)kernel->entry_address, (unsigned long long)kernel->code_bytes);
  return HRX_OK;
}

hrx_status soft_image_bind(struct soft_image *image, const struct kernel_code *kernel, const char *level,
                           void (*visit)(const struct operation *, void *), void *context, struct soft_bound *out_bound) {
  struct soft_bound bound = {0};
  struct soft_reach reach = {0};
  hrx_status status = kernel_check(image, kernel);
  if (status == HRX_OK)
    status = range_bind(image, kernel->entry_address, kernel->code_bytes, level, &bound.decoded, &bound.own);
  if (status == HRX_OK) status = soft_program_check(bound.own, 0, NULL, NULL, &reach);
  bool closed = !reach.outside && !reach.indirect;
  if (status == HRX_OK && closed) {
    bound.program = bound.own;
    status = soft_program_check(bound.own, 0, visit, context, &reach);
  } else if (status == HRX_OK) {
    soft_bound_finish(&bound);
    bound = (struct soft_bound){0};
    status = whole_bind(image, level);
    if (status == HRX_OK) {
      bound.program = image->program;
      bound.entry = (uint32_t)(kernel->entry_address - image->program_start);
      status = soft_program_check(image->program, bound.entry, visit, context, &reach);
    }
    if (status == HRX_OK && reach.indirect) functions_check(image, visit, context);
  }
  if (status != HRX_OK) {
    soft_bound_finish(&bound);
    return status;
  }
  *out_bound = bound;
  return HRX_OK;
}

void soft_bound_finish(struct soft_bound *bound) {
  soft_program_release(bound->own);
  decoded_release(bound->decoded);
  bound->own = NULL;
  bound->decoded = NULL;
}

void soft_image_finish(struct soft_image *image) {
  soft_program_release(image->program);
  decoded_release(image->decoded);
  image->program = NULL;
  image->decoded = NULL;
}
