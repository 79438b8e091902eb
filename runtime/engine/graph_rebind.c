/* Rebinding: the same graph on other memory. Only what is visible outside changes; the inner order stays. */
#include <stdlib.h>

#include "engine/graph_state.h"
#include "memory/storage.h"

static size_t from_begin(const struct graph_move *move) { return move->from->storage_offset + move->from_offset; }
static size_t to_begin(const struct graph_move *move) { return move->to->storage_offset + move->to_offset; }

static bool meets(size_t begin, size_t bytes, size_t other, size_t other_bytes) {
  return begin < other + other_bytes && other < begin + bytes;
}

static hrx_status move_check(const struct graph_move *moves, size_t at) {
  const struct graph_move *move = &moves[at];
  if (move->bytes == 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_EMPTY, "move %zu of a rebind has no bytes", at);
  if (move->from_offset > move->from->bytes || move->bytes > move->from->bytes - move->from_offset ||
      move->to_offset > move->to->bytes || move->bytes > move->to->bytes - move->to_offset)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE,
                           "move %zu of a rebind is %zu bytes from offset %zu of %zu to offset %zu of %zu", at, move->bytes,
                           move->from_offset, move->from->bytes, move->to_offset, move->to->bytes);
  for (size_t i = 0; i < at; i++) {
    const struct graph_move *other = &moves[i];
    if (move->from->storage == other->from->storage &&
        meets(from_begin(move), move->bytes, from_begin(other), other->bytes))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "moves %zu and %zu of a rebind take the same bytes", i, at);
    if (move->to->storage == other->to->storage && meets(to_begin(move), move->bytes, to_begin(other), other->bytes))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING, "moves %zu and %zu of a rebind end in the same bytes", i, at);
  }
  return HRX_OK;
}

/* The move that holds a range of a storage whole; NULL: none. `out_part`: one holds part of it. */
static const struct graph_move *move_of(const struct graph_move *moves, size_t count, const struct storage *storage,
                                        size_t begin, size_t end, bool *out_part) {
  for (size_t i = 0; i < count; i++) {
    size_t first = from_begin(&moves[i]);
    if (moves[i].from->storage != storage || !meets(begin, end - begin, first, moves[i].bytes)) continue;
    if (begin >= first && end <= first + moves[i].bytes) return &moves[i];
    *out_part = true;
  }
  return NULL;
}

static hrx_status access_move(const struct graph_move *moves, size_t count, uint32_t node, struct access *io_access) {
  size_t begin = io_access->allocation->storage_offset + io_access->offset, end = begin + io_access->bytes;
  const struct storage *storage = io_access->allocation->storage;
  bool part = false;
  const struct graph_move *move = move_of(moves, count, storage, begin, end, &part);
  if (part)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_RANGE, "a rebind moves a part of the %zu bytes that node %u accesses",
                           io_access->bytes, node);
  if (move != NULL) {
    io_access->offset = move->to_offset + (begin - from_begin(move));
    io_access->allocation = move->to;
    return HRX_OK;
  }
  for (size_t i = 0; i < count; i++)
    if (moves[i].to->storage == storage && meets(begin, end - begin, to_begin(&moves[i]), moves[i].bytes))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ALIASING,
                             "move %zu of a rebind ends in bytes that node %u accesses and that stay", i, node);
  return HRX_OK;
}

static void pointer_move(const struct graph_move *moves, size_t count, const void **io_pointer) {
  uintptr_t address = (uintptr_t)*io_pointer;
  for (size_t i = 0; i < count; i++) {
    uintptr_t first = moves[i].from->address + moves[i].from_offset;
    if (address < first || address - first >= moves[i].bytes) continue;
    *io_pointer = (const void *)(moves[i].to->address + moves[i].to_offset + (address - first));
    return;
  }
}

static void task_move(const struct graph_move *moves, size_t count, struct task *task) {
  const void *pointer;
  if (task->kind == TASK_FILL) {
    pointer = task->fill.destination;
    pointer_move(moves, count, &pointer);
    task->fill.destination = (void *)(uintptr_t)pointer;
  }
  if (task->kind == TASK_COPY) {
    pointer = task->copy.destination;
    pointer_move(moves, count, &pointer);
    task->copy.destination = (void *)(uintptr_t)pointer;
    pointer_move(moves, count, &task->copy.source);
  }
}

/* A range is part of every access that it came from, so it moves whole or not at all. */
static void ranges_move(const struct graph_move *moves, size_t count, const struct order_range *from, struct order_range *to,
                        size_t ranges) {
  for (size_t i = 0; i < ranges; i++) {
    bool part = false;
    const struct graph_move *move = move_of(moves, count, from[i].storage, from[i].begin, from[i].end, &part);
    to[i] = from[i];
    if (move == NULL) continue;
    to[i].storage = move->to->storage;
    to[i].begin = to_begin(move) + (from[i].begin - from_begin(move));
    to[i].end = to[i].begin + (from[i].end - from[i].begin);
  }
}

static hrx_status binding_moved(const struct graph *graph, const struct graph_binding *old, const struct graph_move *moves,
                                size_t count, struct graph_binding **out_binding) {
  struct graph_binding *binding = graph_binding_make(graph);
  if (binding == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to rebind a graph of %u nodes", graph->plan.count);
  hrx_status status = HRX_OK;
  for (uint32_t i = 0; status == HRX_OK && i < graph->plan.count; i++) {
    struct task *task = &binding->tasks[i];
    *task = old->tasks[i];
    struct access *accesses = binding->accesses + (task->accesses - old->accesses);
    for (unsigned k = 0; status == HRX_OK && k < task->access_count; k++) {
      accesses[k] = task->accesses[k];
      if (accesses[k].bytes != 0) status = access_move(moves, count, i, &accesses[k]);
    }
    task->accesses = accesses;
    task_move(moves, count, task);
  }
  if (status != HRX_OK) {
    graph_binding_free(binding);
    return status;
  }
  ranges_move(moves, count, old->entries, binding->entries, graph->plan.entries.count);
  ranges_move(moves, count, old->exits, binding->exits, graph->plan.exits.count);
  *out_binding = binding;
  return HRX_OK;
}

hrx_status graph_rebind(struct graph *graph, const struct graph_move *moves, size_t count) {
  struct engine *engine = graph->engine;
  if (engine_forked(engine)) return engine_lost();
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < count; i++) status = move_check(moves, i);
  bool done = count == 0;
  while (status == HRX_OK && !done) { /* again if somebody else was faster */
    pthread_mutex_lock(&engine->lock);
    struct graph_binding *old = graph->binding, *fresh = NULL;
    old->references++;
    pthread_mutex_unlock(&engine->lock);
    status = binding_moved(graph, old, moves, count, &fresh);
    pthread_mutex_lock(&engine->lock);
    done = status == HRX_OK && graph->binding == old;
    if (done) {
      graph->binding = fresh;
      graph->version++;
    }
    pthread_mutex_unlock(&engine->lock);
    graph_binding_drop(engine, old);
    graph_binding_drop(engine, done ? old : fresh);
  }
  return status;
}
