#include "engine/copy.h"

#include <string.h>

enum { ROW_WORK = 32, PATTERN_BYTES = 4096 };

static uint64_t volume(size_t width, size_t height, size_t depth) { return (uint64_t)width * height * depth; }

uint64_t task_fill_bytes(const struct task_fill *fill) { return volume(fill->width, fill->height, fill->depth); }
uint64_t task_copy_bytes(const struct task_copy *copy) { return volume(copy->width, copy->height, copy->depth); }
uint64_t task_fill_work(const struct task_fill *fill) {
  return volume(fill->width + ROW_WORK, fill->height, fill->depth);
}
uint64_t task_copy_work(const struct task_copy *copy) {
  return volume(copy->width + ROW_WORK, copy->height, copy->depth);
}

static hrx_status size_check(const char *what, size_t width, size_t height, size_t depth) {
  uint64_t rows, bytes;
  if (width > SIZE_MAX / 2 || __builtin_mul_overflow(height, depth, &rows) ||
      __builtin_mul_overflow(rows, (uint64_t)width + ROW_WORK, &bytes))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a %s of %zu x %zu x %zu bytes is larger than any memory",
                           what, width, height, depth);
  return HRX_OK;
}

hrx_status task_fill_check(const struct task_fill *fill) {
  unsigned element = fill->element_bytes;
  if (element != 1 && element != 2 && element != 4)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a fill of %u-byte elements: 1, 2 and 4 are possible",
                           element);
  if (fill->width % element != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT,
                           "a fill of %zu bytes is no multiple of its %u-byte elements", fill->width, element);
  hrx_status status = size_check("fill", fill->width, fill->height, fill->depth);
  if (status == HRX_OK && fill->destination == NULL && task_fill_bytes(fill) != 0)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a fill of NULL");
  return status;
}

hrx_status task_copy_check(const struct task_copy *copy) {
  hrx_status status = size_check("copy", copy->width, copy->height, copy->depth);
  if (status == HRX_OK && (copy->destination == NULL || copy->source == NULL) && task_copy_bytes(copy) != 0)
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "a copy from %p to %p", copy->source, copy->destination);
  return status;
}

/* Repeats `element` bytes of the pattern over a row: one prepared block, then whole blocks. */
static void row_fill(unsigned char *row, size_t width, uint32_t pattern, unsigned element) {
  uint32_t low = pattern & 0xff;
  uint32_t all = low * UINT32_C(0x01010101);
  if (element == 1 || (element == 2 && (pattern & 0xffff) == (all & 0xffff)) || (element == 4 && pattern == all)) {
    memset(row, (int)low, width);
    return;
  }
  size_t ready = width < PATTERN_BYTES ? width : PATTERN_BYTES;
  for (size_t at = 0; at < ready; at += element) memcpy(row + at, &pattern, element); /* little endian */
  for (size_t at = ready; at < width; at += ready) memcpy(row + at, row, width - at < ready ? width - at : ready);
}

void task_fill_run(const struct task_fill *fill) {
  struct task_fill now = *fill;
  if (now.pitch == now.width && now.height > 1) { /* rows without gaps are one row */
    if (now.slice_pitch == now.width * now.height || now.depth == 1) {
      now.width *= now.height * now.depth;
      now.depth = 1;
    } else {
      now.width *= now.height;
    }
    now.height = 1;
  }
  for (size_t slice = 0; slice < now.depth; slice++)
    for (size_t row = 0; row < now.height; row++)
      row_fill((unsigned char *)now.destination + slice * now.slice_pitch + row * now.pitch, now.width, now.pattern,
               now.element_bytes);
}

void task_copy_run(const struct task_copy *copy) {
  struct task_copy now = *copy;
  if (now.height > 1 && now.destination_pitch == now.width && now.source_pitch == now.width) {
    now.width *= now.height;
    now.height = 1;
  }
  for (size_t slice = 0; slice < now.depth; slice++)
    for (size_t row = 0; row < now.height; row++)
      memmove((char *)now.destination + slice * now.destination_slice_pitch + row * now.destination_pitch,
              (const char *)now.source + slice * now.source_slice_pitch + row * now.source_pitch, now.width);
}
