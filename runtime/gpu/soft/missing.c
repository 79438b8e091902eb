/* What a launch would be refused for, found without a device: by the functions that the launch itself uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "gpu/soft/parts.h"

hrx_status soft_target_check(const char *target) {
  if (strcmp(target, "gfx1030") == 0) return HRX_OK;
  return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "the software GPU executes gfx1030, not \"%.64s\"", target);
}

hrx_status soft_object_check(const struct code_object *object, const char *target) {
  hrx_status status = soft_target_check(target);
  if (status != HRX_OK) return status;
  if (strcmp(object->target, target) != 0)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "the code object is for %s, the device executes %s",
                           object->target, target);
  if (object->image_bytes == 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "the code object has no segments to load");
  return HRX_OK;
}

uint64_t soft_instruction_text(const struct soft_image *image, const struct soft_bound *bound,
                               const struct instruction *instruction, char *out_text, size_t capacity) {
  uint64_t offset = bound->program->base - image->base + instruction->offset;
  if (decode_text(image->object->target, image->bytes + offset, instruction->size, out_text, capacity) != HRX_OK)
    snprintf(out_text, capacity, "(no instruction)");
  return offset;
}

struct listing {
  const struct operation **found; /* in address order, because a kernel is shown from top to bottom */
  uint32_t count, capacity;
  bool short_of_memory;
};

static void listing_note(const struct operation *operation, void *context) {
  struct listing *listing = context;
  if (listing->count == listing->capacity) {
    uint32_t capacity = listing->capacity * 2 + 64;
    const struct operation **found = realloc(listing->found, capacity * sizeof *found);
    if (found == NULL) {
      listing->short_of_memory = true;
      return;
    }
    listing->found = found;
    listing->capacity = capacity;
  }
  listing->found[listing->count++] = operation;
}

static int by_address(const void *a, const void *b) {
  const struct operation *left = *(const struct operation *const *)a, *right = *(const struct operation *const *)b;
  return (left > right) - (left < right);
}

/* Whether a failure to bind is the kernel's own, not one that every other would meet too. */
static bool kernel_refused(hrx_status status) {
  return status != HRX_OK && (hrx_last_reason() == HRX_REASON_INSTRUCTION || hrx_last_reason() == HRX_REASON_IMAGE);
}

static hrx_status kernel_check(struct soft_image *image, uint32_t index, soft_missing_visit *visit, void *context) {
  struct listing listing = {0};
  struct soft_bound bound = {0};
  char text[128];
  hrx_status status = soft_image_bind(image, &image->object->kernels[index], NULL, listing_note, &listing, &bound);
  if (kernel_refused(status)) {
    visit(index, &(struct soft_missing){.text = hrx_last_message()}, context);
    status = HRX_OK;
  }
  if (status == HRX_OK && listing.short_of_memory) status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory to list instructions");
  if (status == HRX_OK && listing.count > 0) qsort(listing.found, listing.count, sizeof *listing.found, by_address);
  for (uint32_t i = 0; status == HRX_OK && i < listing.count; i++) {
    const struct instruction *instruction = listing.found[i]->instruction;
    if (i > 0 && listing.found[i] == listing.found[i - 1]) continue;
    soft_instruction_text(image, &bound, instruction, text, sizeof text);
    visit(index, &(struct soft_missing){.instruction = instruction, .text = text}, context);
  }
  free(listing.found);
  soft_bound_finish(&bound);
  return status;
}

hrx_status soft_object_missing(const struct code_object *object, const char *target, const void *bytes, size_t size,
                               soft_missing_visit *visit, void *context) {
  void *memory = NULL;
  struct soft_image image = {0};
  hrx_status status = soft_object_check(object, target);
  if (status == HRX_OK && object->image_bytes > config_get()->soft_memory)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "the code object's image has %llu bytes, the device's memory %llu",
                      (unsigned long long)object->image_bytes, (unsigned long long)config_get()->soft_memory);
  if (status == HRX_OK && (memory = malloc((size_t)object->image_bytes)) == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an image of %llu bytes", (unsigned long long)object->image_bytes);
  if (status == HRX_OK) status = code_object_load(object, bytes, size, (uintptr_t)memory, memory);
  image = (struct soft_image){.object = object, .bytes = memory, .base = (uintptr_t)memory};
  for (uint32_t i = 0; status == HRX_OK && i < object->kernel_count; i++) status = kernel_check(&image, i, visit, context);
  soft_image_finish(&image);
  free(memory);
  return status;
}
