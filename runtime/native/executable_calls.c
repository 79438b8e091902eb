/* What can be asked of an executable, and changed in it, between submissions. */
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "code/kernel.h"
#include "native/executable.h"

/* --- regions --- */

/* A boundary of an access: what begins or ends there. */
struct edge_mark {
  hrx_buffer *buffer;
  size_t at;
  int reads, writes, atomics;
};

static int mark_compare(const void *one, const void *other) {
  const struct edge_mark *first = one, *second = other;
  uintptr_t a = first->buffer->backing->allocation->address, b = second->buffer->backing->allocation->address;
  if (a != b) return a < b ? -1 : 1;
  return first->at < second->at ? -1 : first->at > second->at;
}

static struct edge_mark mark_of(const struct hrx_view_access *access, bool begins) {
  int step = begins ? 1 : -1;
  return (struct edge_mark){.buffer = access->view.buffer,
                            .at = access->view.offset + (begins ? 0 : access->view.bytes),
                            .reads = access->access == HRX_READ || access->access == HRX_READ_WRITE ? step : 0,
                            .writes = access->access == HRX_WRITE || access->access == HRX_READ_WRITE ? step : 0,
                            .atomics = access->access == HRX_ATOMIC ? step : 0};
}

static hrx_access kind_of(int reads, int writes, int atomics) {
  if (atomics > 0) return reads > 0 || writes > 0 ? HRX_READ_WRITE : HRX_ATOMIC;
  return (hrx_access)((reads > 0 ? HRX_READ : 0) | (writes > 0 ? HRX_WRITE : 0));
}

static size_t regions_write(const struct edge_mark *marks, size_t count, hrx_view_access *out_regions, size_t capacity) {
  size_t found = 0;
  hrx_view_access last = {.view = {NULL, 0, 0}};
  int reads = 0, writes = 0, atomics = 0;
  for (size_t i = 0; i + 1 < count; i++) {
    reads += marks[i].reads;
    writes += marks[i].writes;
    atomics += marks[i].atomics;
    hrx_access kind = kind_of(reads, writes, atomics);
    size_t bytes = marks[i + 1].at - marks[i].at; /* of another allocation only if nothing is open */
    if (kind == 0 || bytes == 0) continue;
    bool joins = found != 0 && last.access == kind && last.view.buffer->backing->allocation == marks[i].buffer->backing->allocation &&
                 last.view.offset + last.view.bytes == marks[i].at;
    if (joins) {
      last.view.bytes += bytes;
    } else {
      last = (hrx_view_access){{marks[i].buffer, marks[i].at, bytes}, kind};
      found++;
    }
    if (found <= capacity) out_regions[found - 1] = last;
  }
  return found;
}

hrx_status hrx_executable_regions(const hrx_executable *constant, hrx_view_access *out_regions, size_t capacity, size_t *out_count) {
  struct hrx_executable *executable = (struct hrx_executable *)constant; /* for its lock */
  if (out_count == NULL || (out_regions == NULL && capacity != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "hrx_executable_regions: NULL result");
  const struct record_list *list = &executable->list;
  struct edge_mark *marks = malloc((2 * list->access_count + 1) * sizeof *marks);
  if (marks == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the regions of %zu accesses", list->access_count);
  pthread_mutex_lock(&executable->lock);
  for (size_t i = 0; i < list->access_count; i++) {
    marks[2 * i] = mark_of(&list->accesses[i], true);
    marks[2 * i + 1] = mark_of(&list->accesses[i], false);
  }
  qsort(marks, 2 * list->access_count, sizeof *marks, mark_compare);
  *out_count = regions_write(marks, 2 * list->access_count, out_regions, capacity);
  pthread_mutex_unlock(&executable->lock);
  free(marks);
  return HRX_OK;
}

/* --- rebind --- */

static bool shows(hrx_view one, hrx_view other) { return one.buffer->backing->allocation == other.buffer->backing->allocation; }

/* Where an access lies after the moves. */
static hrx_status view_move(hrx_view view, const hrx_view *from, const hrx_view *to, size_t count, hrx_view *out_view) {
  *out_view = view;
  for (size_t i = 0; i < count; i++) {
    if (!shows(view, from[i]) || view.offset >= from[i].offset + from[i].bytes || from[i].offset >= view.offset + view.bytes) continue;
    if (view.offset < from[i].offset || view.offset + view.bytes > from[i].offset + from[i].bytes)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "rebind: an access to [%zu, %zu) is only partly inside [%zu, %zu)",
                             view.offset, view.offset + view.bytes, from[i].offset, from[i].offset + from[i].bytes);
    *out_view = (hrx_view){to[i].buffer, to[i].offset + (view.offset - from[i].offset), view.bytes};
    return HRX_OK;
  }
  return HRX_OK;
}

static hrx_status host_placement_check(const struct hrx_view_access *accesses, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (accesses[i].view.buffer->placement == HRX_GPU_LOCAL || accesses[i].view.buffer->placement == HRX_NPU_LOCAL)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_PLACEMENT, "rebind: a host function cannot reach the memory of its access %zu", i);
  return HRX_OK;
}

/* A record against its new views: what recording it would have said. */
static hrx_status record_check(const struct hrx_executable *executable, const struct record *record,
                               const struct hrx_view_access *accesses) {
  hrx_view views[BINDINGS_MOST];
  if (record->kind == RECORD_HOST) return host_placement_check(accesses, record->count);
  if (record->kind == RECORD_COPY) return copy_views_check(accesses[0].view, accesses[1].view);
  if (record->kind != RECORD_GPU && record->kind != RECORD_NPU) return HRX_OK;
  for (uint32_t i = 0; i < record->count; i++) views[i] = accesses[i].view;
  const struct hrx_contract *contract = record->kind == RECORD_GPU ? record->gpu->contract : record->npu->contract;
  const struct npu_device *device = record->kind == RECORD_GPU ? NULL : record->npu->npu->device;
  return contract_check(contract, executable->runtime, device, views, record->count, record->aliasing, record_label(record));
}

static hrx_status moves_check(const struct hrx_executable *executable, const hrx_view *from, const hrx_view *to, size_t count,
                              struct graph_move *out_moves) {
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < count; i++) {
    status = view_check(executable->runtime, from[i], "rebind from");
    if (status == HRX_OK) status = view_check(executable->runtime, to[i], "rebind to");
    if (status == HRX_OK && from[i].bytes != to[i].bytes)
      status = hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "rebind: %zu bytes to a view of %zu", from[i].bytes, to[i].bytes);
    for (size_t j = 0; status == HRX_OK && j < i; j++)
      if (views_overlap(to[i], to[j]) || views_overlap(from[i], from[j]))
        status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "rebind: pairs %zu and %zu overlap", j, i);
    out_moves[i] = (struct graph_move){0};
    if (status == HRX_OK)
      out_moves[i] = (struct graph_move){from[i].buffer->backing->allocation, to[i].buffer->backing->allocation, from[i].offset,
                                         to[i].offset, from[i].bytes};
  }
  return status;
}

/* All accesses as they would be, or why not. */
static hrx_status accesses_move(const struct hrx_executable *executable, const hrx_view *from, const hrx_view *to, size_t count,
                                struct hrx_view_access *out_accesses) {
  const struct record_list *list = &executable->list;
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < list->count; i++) {
    const struct record *record = &list->records[i];
    bool moved = false;
    for (uint32_t j = record->first; status == HRX_OK && j < record->first + record->count; j++) {
      out_accesses[j] = list->accesses[j];
      status = view_move(list->accesses[j].view, from, to, count, &out_accesses[j].view);
      moved = moved || out_accesses[j].view.buffer != list->accesses[j].view.buffer ||
              out_accesses[j].view.offset != list->accesses[j].view.offset;
    }
    if (status == HRX_OK && moved) status = record_check(executable, record, out_accesses + record->first);
  }
  return status;
}

hrx_status hrx_executable_rebind(hrx_executable *executable, const hrx_view *from, const hrx_view *to, size_t count) {
  struct record_list *list = &executable->list;
  struct graph_move *moves = malloc((count + 1) * sizeof *moves);
  struct hrx_view_access *accesses = block_take_unset(list->access_count + 1, sizeof *accesses);
  struct hrx_view_access *before = NULL;
  hrx_status status = moves != NULL && accesses != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory to rebind %zu accesses", list->access_count);
  if (status == HRX_OK) status = moves_check(executable, from, to, count, moves);
  if (status == HRX_OK) {
    pthread_mutex_lock(&executable->lock);
    status = accesses_move(executable, from, to, count, accesses);
    if (status == HRX_OK) status = graph_rebind(executable->graph, moves, count);
    if (status == HRX_OK) {
      for (size_t i = 0; i < list->access_count; i++) hrx_buffer_retain(accesses[i].view.buffer);
      before = list->accesses;
      list->accesses = accesses;
      list->access_capacity = list->access_count;
      accesses = NULL;
    }
    pthread_mutex_unlock(&executable->lock);
  }
  /* runs in flight may still use them: their memory outlives the handles */
  if (before != NULL)
    for (size_t i = 0; i < list->access_count; i++) hrx_buffer_release(before[i].view.buffer);
  block_return(before);
  block_return(accesses);
  free(moves);
  return status;
}

/* --- constants --- */

hrx_status hrx_executable_update_constants(hrx_executable *executable, hrx_node node, const void *bytes, size_t count) {
  const struct record_list *list = &executable->list;
  if (node >= list->count)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "update_constants: node %u of %zu", node, list->count);
  struct record *record = &list->records[node];
  if (record->kind != RECORD_GPU && record->kind != RECORD_NPU)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "update_constants: node %u is no kernel", node);
  size_t wanted = record->kind == RECORD_GPU ? record->gpu->constant_bytes : record->npu->constant_bytes;
  if (count != wanted || (bytes == NULL && count != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "update_constants: %zu bytes for kernel %s, which takes %zu", count,
                           record_label(record), wanted);
  if (count == 0) return HRX_OK;
  pthread_mutex_lock(&executable->lock);
  if (record->constants == NULL) record->constants = malloc(count);
  bool done = record->constants != NULL;
  if (done) memcpy(record->constants, bytes, count);
  pthread_mutex_unlock(&executable->lock);
  if (!done) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of constants", count);
  graph_changed(executable->graph);
  return HRX_OK;
}

/* --- figures --- */

hrx_status hrx_executable_statistics_get(const hrx_executable *executable, hrx_executable_statistics *io_statistics) {
  struct graph_statistics graph;
  graph_statistics(executable->graph, &graph);
  const struct record_list *list = &executable->list;
  hrx_executable_statistics statistics = {
      .size = sizeof statistics,
      .nodes = graph.nodes,
      .edges_inferred = graph.inferred,
      .edges_reduced = graph.reduced,
      .edges_explicit = graph.explicit_edges,
      .lanes = graph.lanes,
      .bytes = graph.bytes + sizeof *executable + list->capacity * sizeof *list->records + list->access_capacity * sizeof *list->accesses,
  };
  return structure_copy(&statistics, sizeof statistics, io_statistics, "hrx_executable_statistics");
}
