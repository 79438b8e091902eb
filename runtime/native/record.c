/* Lists of recorded operations. */
#include "native/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "code/kernel.h"

hrx_status record_list_reserve(struct record_list *list, size_t accesses) {
  if (list->count >= UINT32_MAX / 4 || accesses > UINT32_MAX / 4 - list->access_count % (UINT32_MAX / 4))
    return hrx_fail(HRX_OUT_OF_MEMORY, "a graph of more than %u operations", UINT32_MAX / 4);
  void *records = list->records, *views = list->accesses;
  bool done = block_grow(&records, list->count, &list->capacity, list->count + 1, sizeof *list->records);
  list->records = records;
  done = done && block_grow(&views, list->access_count, &list->access_capacity, list->access_count + accesses,
                            sizeof *list->accesses);
  list->accesses = views;
  return done ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for operation %zu of a graph", list->count);
}

static void record_retain(const struct record *record) {
  if (record->kind == RECORD_GPU) hrx_gpu_kernel_retain(record->gpu);
  if (record->kind == RECORD_NPU) hrx_npu_kernel_retain(record->npu);
  if (record->kind == RECORD_HOST) atomic_fetch_add(&record->host->references, 1);
}

static void host_part_release(struct host_part *host) {
  if (atomic_fetch_sub(&host->references, 1) != 1) return;
  if (host->release != NULL) host->release(host->context);
  free(host);
}

static void record_release(struct record *record) {
  if (record->kind == RECORD_GPU) hrx_gpu_kernel_release(record->gpu);
  if (record->kind == RECORD_NPU) hrx_npu_kernel_release(record->npu);
  if (record->kind == RECORD_HOST) host_part_release(record->host);
  free(record->constants);
}

void record_list_add(struct record_list *list, const struct record *record, const struct hrx_view_access *accesses, size_t count) {
  struct record *added = &list->records[list->count++];
  *added = *record;
  added->first = (uint32_t)list->access_count;
  added->count = (uint32_t)count;
  record_retain(added);
  for (size_t i = 0; i < count; i++) {
    list->accesses[list->access_count++] = accesses[i];
    hrx_buffer_retain(accesses[i].view.buffer);
  }
}

hrx_status record_list_copy(const struct record_list *list, struct record_list *out_copy) {
  struct record_list copy = {.count = list->count, .capacity = list->count, .access_count = list->access_count,
                             .access_capacity = list->access_count};
  copy.records = block_take_unset(list->count + 1, sizeof *copy.records);
  copy.accesses = block_take_unset(list->access_count + 1, sizeof *copy.accesses);
  if (copy.records == NULL || copy.accesses == NULL) {
    block_return(copy.records);
    block_return(copy.accesses);
    *out_copy = (struct record_list){0};
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to prepare %zu operations", list->count);
  }
  if (list->count != 0) memcpy(copy.records, list->records, list->count * sizeof *copy.records);
  if (list->access_count != 0) memcpy(copy.accesses, list->accesses, list->access_count * sizeof *copy.accesses);
  for (size_t i = 0; i < copy.count; i++) record_retain(&copy.records[i]);
  for (size_t i = 0; i < copy.access_count; i++) hrx_buffer_retain(copy.accesses[i].view.buffer);
  *out_copy = copy;
  return HRX_OK;
}

void record_list_finish(struct record_list *list) {
  for (size_t i = 0; i < list->count; i++) record_release(&list->records[i]);
  for (size_t i = 0; i < list->access_count; i++) hrx_buffer_release(list->accesses[i].view.buffer);
  block_return(list->records);
  block_return(list->accesses);
  *list = (struct record_list){0};
}

hrx_access access_join(hrx_access one, hrx_access other) {
  if (one == other) return one;
  if (one == HRX_ATOMIC || other == HRX_ATOMIC) return HRX_READ_WRITE;
  return (hrx_access)(one | other);
}

/* Few views: each boundary cuts what is there, and equal neighbours are left as they are. */
size_t accesses_merge(const struct hrx_view_access *views, size_t count, struct access *out) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (views[i].view.bytes == 0) continue;
    struct access rest = view_access(views[i].view, views[i].access);
    bool overlap = false;
    for (size_t j = 0; j < found && !overlap; j++)
      overlap = out[j].allocation->storage == rest.allocation->storage &&
                out[j].allocation->storage_offset + out[j].offset < rest.allocation->storage_offset + rest.offset + rest.bytes &&
                rest.allocation->storage_offset + rest.offset < out[j].allocation->storage_offset + out[j].offset + out[j].bytes;
    if (!overlap) {
      out[found++] = rest;
      continue;
    }
    /* one access over all of both: what a kernel does to aliased bytes is not known to the byte anyway */
    for (size_t j = 0; j < found;) {
      struct access *other = &out[j];
      size_t begin = rest.allocation->storage_offset + rest.offset, end = begin + rest.bytes;
      size_t other_begin = other->allocation->storage_offset + other->offset, other_end = other_begin + other->bytes;
      if (other->allocation->storage != rest.allocation->storage || other_begin >= end || begin >= other_end) {
        j++;
        continue;
      }
      if (other->allocation == rest.allocation) {
        size_t first = other->offset < rest.offset ? other->offset : rest.offset;
        size_t last = other_end > end ? other_end : end;
        rest.bytes = last - rest.allocation->storage_offset - first;
        rest.offset = first;
      } else { /* two addresses of one storage: each keeps its range, with both kinds */
        other->kind = (enum access_kind)access_join((hrx_access)other->kind, (hrx_access)rest.kind);
        rest.kind = other->kind;
        j++;
        continue;
      }
      rest.kind = (enum access_kind)access_join((hrx_access)other->kind, (hrx_access)rest.kind);
      *other = out[--found];
      j = 0; /* what has grown may touch others */
    }
    out[found++] = rest;
  }
  return found;
}

const char *record_label(const struct record *record) {
  static const char *const names[] = {[RECORD_FILL] = "fill", [RECORD_COPY] = "copy", [RECORD_GPU] = "kernel", [RECORD_NPU] = "NPU",
                                      [RECORD_HOST] = "host", [RECORD_JOIN] = "join"};
  if (record->kind == RECORD_GPU) return gpu_kernel_code(record->gpu->kernel)->name;
  if (record->kind == RECORD_NPU) return npu_program_info(record->npu->program)->name;
  return names[record->kind];
}
