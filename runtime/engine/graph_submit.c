/* The atomic step that submits a run: everything that it takes is there before the lock, and looked for again under it. */
#include <stdlib.h>

#include "base/clocktime.h"
#include "engine/graph_state.h"
#include "memory/storage.h"

enum {
  CELLS_FINE = 4096,
  NODES_A_RECORD = 4,
  GATE_EDGES = 3 /* of a run's gate: from its stream, from the run that it follows, from the one before it */
};

/* What came of a try. */
enum verdict {
  ENTERED,
  SHORT,       /* of what `shortage` says */
  SHORT_OF_RUNS,
  STALE,       /* the instance has to be renewed first */
  NO_CAPACITY,
  NO_SLOT,
  HELD,
  POISONED
};

struct submission {
  struct graph *graph;
  const struct run_options *options;
  struct run *run;
  struct instance *instance;
  struct aftermath aftermath;
  enum shortage shortage;
  size_t edges_short;
  struct lane *lane; /* of the stream */
  uint32_t ring_size;
  enum hold_kind held;
  struct failure failure;
};

static const struct task JOIN = {.kind = TASK_JOIN, .opaque = true, .label = "graph"};

/* --- the outer order: what the run must follow --- */

struct outer_wait {
  struct submission *submission;
  const struct order_range *range;
  size_t count; /* when only counting */
};

static void outer_count(void *context, struct point point, enum access_kind kind) {
  struct outer_wait *wait = context;
  (void)point;
  (void)kind;
  wait->count += wait->range->cells;
}

static void outer_add(void *context, struct point point, enum access_kind kind) {
  const struct outer_wait *wait = context;
  struct instance *instance = wait->submission->instance;
  struct engine *engine = instance->graph->engine;
  const struct lane *lane = lane_at(&engine->lanes, point.lane);
  const struct cell *cells = instance->graph->plan.entries.cells.items;
  bool over = point_over(&engine->lanes, point);
  for (uint32_t at = wait->range->list; at != 0; at = cells[at].next) {
    if (!access_conflicts((enum access_kind)cells[at].kind, kind)) continue;
    struct slot *slot = &instance->slots[cells[at].node];
    if (!over) {
      struct slot *before = lane_slot_locked(lane, point.sequence);
      edge_add_locked(engine, before, slot, kind != ACCESS_READ && run_passes_locked(before));
    } else if (kind != ACCESS_READ && lane->cause != NULL && slot->inherited == NULL) { /* a failure that nobody took */
      slot->inherited = lane->cause;
      lane->cause->references++;
    }
  }
}

static void outer_visit_locked(struct submission *submission,
                               void (*visit)(void *context, struct point point, enum access_kind kind),
                               struct outer_wait *wait) {
  struct engine *engine = submission->graph->engine;
  const struct graph_binding *binding = submission->graph->binding;
  for (size_t i = 0; i < submission->graph->plan.entries.count; i++) {
    const struct order_range *range = &binding->entries[i];
    struct frontier *frontier = range->storage->frontier;
    if (frontier == NULL || frontier->segments == NULL) continue;
    const struct frontier_entry *exact = frontier_exact(frontier, range->begin, range->end);
    if (exact != NULL && point_quiet(&engine->lanes, exact->point)) continue; /* its place is taken below, or a later walk forgets it */
    wait->range = range;
    frontier_visit(&engine->pool, frontier, range->begin, range->end, &engine->lanes, visit, wait);
  }
}

/* The newest task of a busy lane that a whole run has to follow; 0: none. */
static uint64_t gate_wait(const struct submission *submission, const struct lane *lane) {
  if (lane->use == LANE_OF_INNER) return 0;
  uint64_t last = submission->graph->opaque_count != 0 ? lane->issued
                                                      : atomic_load_explicit(&lane->opaque, memory_order_relaxed);
  return last > atomic_load_explicit(&lane->completed, memory_order_relaxed) ? last : 0;
}

static bool gate_needed(const struct submission *submission) {
  return submission->options->stream == NULL &&
         (submission->graph->opaque_count != 0 || submission->graph->engine->opaque_inflight != 0);
}

/* Whether there are edges enough. */
static bool edges_enough_locked(struct submission *submission) {
  struct graph *graph = submission->graph;
  struct engine *engine = graph->engine;
  size_t most = submission->options->after_count + GATE_EDGES;
  if (gate_needed(submission))
    for (const struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) most++;
  if (submission->options->stream == NULL) {
    size_t gates = most;
    for (size_t i = 0; i < graph->plan.entries.count; i++) {
      const struct frontier *frontier = graph->binding->entries[i].storage->frontier;
      if (frontier != NULL) most += frontier->entry_count * graph->binding->entries[i].cells;
    }
    if (most > engine->free_edge_count) {
      struct outer_wait wait = {.submission = submission};
      outer_visit_locked(submission, outer_count, &wait);
      most = gates + wait.count;
    }
  }
  submission->edges_short = most;
  return most <= engine->free_edge_count;
}

/* --- the frontiers: what follows the run --- */

/* Nodes that always have to be left: a coarse frontier holds three accesses a lane. */
static size_t nodes_left(const struct graph *graph) {
  return graph->exit_storages * (3 * (size_t)graph->plan.lane_count + 2) + NODES_A_RECORD;
}

static bool nodes_enough_locked(const struct graph *graph) {
  const struct frontier_pool *pool = &graph->engine->pool;
  size_t fine = graph->exit_cells < CELLS_FINE ? graph->exit_cells : CELLS_FINE, most = 0;
  for (size_t i = 0; i < graph->plan.exits.count; i++) {
    size_t nodes = frontier_nodes_most(graph->binding->exits[i].storage->frontier);
    if (most < nodes) most = nodes;
  }
  size_t nodes = nodes_left(graph) + 2 * most + NODES_A_RECORD * fine;
  return pool->entry_count >= nodes && pool->segment_count >= nodes && pool->frontier_count >= graph->exit_storages;
}

static void exits_record_locked(struct submission *submission) {
  struct graph *graph = submission->graph;
  struct instance *instance = submission->instance;
  struct frontier_pool *pool = &graph->engine->pool;
  const struct cell *cells = graph->plan.exits.cells.items;
  size_t left = nodes_left(graph);
  for (size_t i = 0; i < graph->plan.exits.count; i++) {
    const struct order_range *range = &instance->binding->exits[i];
    struct frontier *frontier = range->storage->frontier != NULL ? range->storage->frontier : frontier_of(pool, range->storage);
    struct frontier_entry *exact = range->written ? frontier_exact(frontier, range->begin, range->end) : NULL;
    bool replace = range->written;
    for (uint32_t at = range->list; at != 0; at = cells[at].next) {
      const struct slot *slot = &instance->slots[cells[at].node];
      struct point self = {slot->lane->id, slot->sequence};
      enum access_kind kind = (enum access_kind)cells[at].kind;
      if (exact != NULL)
        *exact = (struct frontier_entry){.point = self, .kind = kind};
      else
        (replace ? frontier_replace : frontier_record)(pool, frontier, range->begin, range->end, kind, self, left);
      exact = NULL;
      replace = false;
    }
  }
}

/* --- refusals --- */

static bool refused_locked(struct submission *submission, enum verdict *out_verdict) {
  struct graph *graph = submission->graph;
  const struct engine *engine = graph->engine;
  bool holds = engine->holds != NULL;
  bool poisons = submission->options->stream == NULL && atomic_load_explicit(&engine->poison_count, memory_order_relaxed) != 0;
  if (!holds && !poisons) return false;
  for (size_t i = 0; i < graph->plan.exits.count; i++) {
    const struct order_range *range = &graph->binding->exits[i];
    const struct hold *hold = NULL;
    for (uint32_t at = holds ? range->list : 0; at != 0 && hold == NULL; at = graph->plan.exits.cells.items[at].next)
      hold = hold_find_locked(engine, range->storage, range->begin, range->end,
                              (enum access_kind)graph->plan.exits.cells.items[at].kind, submission->options->stream);
    if (hold != NULL) submission->held = hold->kind;
    *out_verdict = hold != NULL ? HELD : POISONED;
    if (hold != NULL || (poisons && poison_find_locked(range->storage, range->begin, range->end, &submission->failure)))
      return true;
  }
  return false;
}

/* --- entering --- */

static void lanes_enter_locked(struct instance *instance, enum lane_use use) {
  struct graph *graph = instance->graph;
  struct engine *engine = graph->engine;
  for (uint32_t i = 0; i < graph->plan.lane_count; i++) {
    struct lane *lane = instance->lanes[i];
    /* runs begin at multiples of the ring's size, so that the ring never changes */
    uint64_t base = (lane->issued + lane->ring_size - 1) & ~(uint64_t)(lane->ring_size - 1);
    atomic_store_explicit(&lane->completed, base, memory_order_relaxed); /* nobody has a point in between */
    lane->issued = base + graph->plan.lanes[i].count;
    lane->newest = ++engine->submissions;
    lane->use = use;
    instance->base[i] = base;
    lane_busy_locked(engine, lane);
  }
  const uint16_t *lane = graph->plan.lane;
  const uint32_t *position = graph->plan.position;
  for (uint32_t i = 0; i < graph->plan.count; i++) instance->slots[i].sequence = instance->base[lane[i]] + position[i];
}

static void opaques_enter_locked(struct instance *instance) {
  struct graph *graph = instance->graph;
  for (uint32_t i = 0; i < graph->plan.count; i++) {
    const struct slot *slot = &instance->slots[i];
    if (node_opaque(&slot->task)) atomic_store_explicit(&slot->lane->opaque, slot->sequence, memory_order_release);
  }
  graph->engine->opaque_inflight += graph->opaque_count;
  graph->engine->runs_opaque += graph->opaque_count;
}

/* Nothing happens if the run is drained. */
static void run_follow_locked(struct run *after, struct slot *gate, bool passes) {
  struct engine *engine = gate->engine;
  if (after->instance == NULL) return;
  struct edge *edge = engine->free_edges;
  engine->free_edges = edge->next;
  engine->free_edge_count--;
  *edge = (struct edge){gate, after->followers, passes};
  after->followers = edge;
  gate->pending++;
  count_locked(&engine->statistics.edges, 1);
}

static void gate_edges_locked(struct submission *submission) {
  struct engine *engine = submission->graph->engine;
  struct run *run = submission->run;
  struct slot *gate = &submission->instance->gate;
  if (gate_needed(submission))
    for (struct lane *lane = engine->busy; lane != NULL; lane = lane->next_busy) {
      uint64_t last = gate_wait(submission, lane);
      if (last != 0) edge_add_locked(engine, lane_slot_locked(lane, last), gate, lane->use == LANE_OF_STREAM);
    }
  if (submission->options->follow != NULL) run_follow_locked(submission->options->follow, gate, false);
  if (submission->graph->newest != NULL) run_follow_locked(submission->graph->newest, gate, false);
  for (size_t i = 0; i < submission->options->after_count; i++) {
    struct run *after = submission->options->after[i];
    if (after->cause != NULL && run->doom == NULL) {
      run->doom = after->cause;
      after->cause->references++;
    }
    run_follow_locked(after, gate, true);
  }
}

/* The two ends of a run in a stream: what all of it follows, and what the stream goes on after. */
static void stream_ends_enter_locked(struct submission *submission) {
  struct stream *stream = submission->options->stream;
  struct engine *engine = submission->graph->engine;
  struct point first = stream_enter_locked(stream, &JOIN, submission->lane, &submission->aftermath);
  edge_add_locked(engine, lane_slot_locked(submission->lane, first.sequence), &submission->instance->gate, true);
  clock_reset(&stream->waits);
  clock_include(&stream->waits, first);
  struct point last = stream_enter_locked(stream, &JOIN, submission->lane, &submission->aftermath);
  submission->run->exit = lane_slot_locked(submission->lane, last.sequence);
  submission->run->exit->run_end = submission->instance;
  submission->run->exit->pending++;
}

static void run_begin_locked(struct submission *submission, uint64_t now) {
  struct graph *graph = submission->graph;
  struct instance *instance = submission->instance;
  struct run *run = submission->run;
  const struct run_options *options = submission->options;
  run->references = 2; /* the caller's, and that of the work */
  atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
  atomic_store_explicit(&run->over, 0, memory_order_relaxed);
  atomic_store_explicit(&run->waiting, 0, memory_order_relaxed);
  atomic_store_explicit(&run->started, 0, memory_order_relaxed);
  atomic_store_explicit(&run->finished, 0, memory_order_relaxed);
  run->submitted = now;
  run->done.call = options->done;
  run->done.context = options->context;
  run->instance = instance;
  run->doom = run->cause = NULL;
  run->followers = NULL;
  run->exit = NULL;
  run->domain = options->stream == NULL;
  run->event = -1;
  instance->run = run;
  instance->remaining = graph->plan.count;
  if (graph->capacity != NULL) atomic_fetch_add_explicit(&graph->capacity->inflight, 1, memory_order_relaxed);
}

static void enter_locked(struct submission *submission, uint64_t now) {
  struct graph *graph = submission->graph;
  struct engine *engine = graph->engine;
  struct instance *instance = submission->instance;
  bool domain = submission->options->stream == NULL;
  run_begin_locked(submission, now);
  if (!domain) stream_ends_enter_locked(submission);
  gate_edges_locked(submission); /* before the run's own lanes are busy */
  lanes_enter_locked(instance, domain ? LANE_OF_RUN : LANE_OF_INNER);
  if (domain) {
    struct outer_wait wait = {.submission = submission};
    outer_visit_locked(submission, outer_add, &wait);
    exits_record_locked(submission);
    engine->runs_inflight++;
    if (graph->opaque_count != 0) opaques_enter_locked(instance);
  }
  if (graph->serial) graph->newest = submission->run;
  engine->inflight += graph->plan.count;
  count_locked(&engine->statistics.tasks, graph->plan.count);
  count_locked(&engine->statistics.edges, graph->plan.first[graph->plan.count]);
  uint32_t gated = instance->gate.pending != 0;
  for (uint32_t i = 0; i < graph->root_count; i++) {
    uint32_t node = graph->roots[i];
    struct slot *slot = &instance->slots[node];
    slot->pending += gated;
    if (slot->pending == 0 && graph->plan.position[node] == 1) task_ready_locked(slot, &submission->aftermath);
  }
}

static bool capacity_full(const struct graph_capacity *capacity) {
  return capacity != NULL && capacity->most != 0 &&
         atomic_load_explicit(&capacity->inflight, memory_order_relaxed) >= capacity->most;
}

/* One try. Under the engine's lock, and the stream's if there is one. */
static enum verdict enter_try_locked(struct submission *submission, uint64_t now) {
  struct graph *graph = submission->graph;
  struct engine *engine = graph->engine;
  struct stream *stream = submission->options->stream;
  enum verdict verdict = ENTERED;
  if (capacity_full(graph->capacity)) return NO_CAPACITY;
  if (graph->free == NULL) return NO_SLOT;
  if (refused_locked(submission, &verdict)) return verdict;
  if (graph->free_runs == NULL) return SHORT_OF_RUNS;
  submission->instance = graph->free;
  if (submission->instance->version != graph->version) {
    graph->free = submission->instance->next;
    return STALE;
  }
  submission->shortage = SHORT_OF_NOTHING;
  if (stream != NULL) {
    submission->shortage = stream_enter_try_locked(stream, &JOIN, 2, &submission->lane);
    if (submission->shortage == SHORT_OF_RING) submission->ring_size = submission->lane->ring_size;
    size_t edges = stream->edges_short + submission->options->after_count + GATE_EDGES;
    if (submission->shortage == SHORT_OF_NOTHING && engine->free_edge_count < edges) {
      submission->shortage = SHORT_OF_EDGES;
      submission->edges_short = edges;
    }
  } else if (!edges_enough_locked(submission)) {
    submission->shortage = SHORT_OF_EDGES;
  } else if (!nodes_enough_locked(graph)) {
    submission->shortage = SHORT_OF_NODES;
  }
  if (submission->shortage != SHORT_OF_NOTHING) return SHORT;
  graph->free = submission->instance->next;
  submission->run = graph->free_runs;
  graph->free_runs = submission->run->next;
  enter_locked(submission, now);
  return ENTERED;
}

/* --- outside the lock --- */

static void instance_give_back(struct submission *submission) {
  struct graph *graph = submission->graph;
  pthread_mutex_lock(&graph->engine->lock);
  submission->instance->next = graph->free;
  graph->free = submission->instance;
  pthread_mutex_unlock(&graph->engine->lock);
}

static bool runs_add(struct graph *graph) {
  struct run *run = run_make(graph);
  if (run == NULL) return false;
  pthread_mutex_lock(&graph->engine->lock);
  run->next = graph->free_runs;
  graph->free_runs = run;
  pthread_mutex_unlock(&graph->engine->lock);
  return true;
}

static bool shortage_end(struct submission *submission) {
  struct engine *engine = submission->graph->engine;
  struct stream *stream = submission->options->stream;
  if (submission->shortage == SHORT_OF_NODES) return engine_nodes_add(engine);
  if (submission->shortage == SHORT_OF_EDGES) {
    if (stream != NULL && stream->edges_short > submission->edges_short) submission->edges_short = stream->edges_short;
    return engine_edges_reserve(engine, submission->edges_short);
  }
  return stream_shortage_end(stream, submission->shortage, submission->lane, submission->ring_size);
}

/* What a try was short of, or why it was refused. */
static hrx_status verdict_settle(struct submission *submission, enum verdict verdict) {
  struct graph *graph = submission->graph;
  hrx_status status = HRX_OK;
  switch (verdict) {
  case ENTERED: break;
  case SHORT:
    if (submission->shortage == SHORT_OF_ROOM || shortage_end(submission)) break;
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to submit a graph of %u nodes", graph->plan.count);
  case SHORT_OF_RUNS:
    return runs_add(graph) ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for one more run of a graph");
  case STALE:
    status = instance_renew(submission->instance);
    instance_give_back(submission);
    return status;
  case NO_CAPACITY:
    return hrx_fail_reason(HRX_BUSY, HRX_REASON_CAPACITY, "%u submissions are in flight, as many as there may be",
                           graph->capacity->most);
  case NO_SLOT:
    return hrx_fail_reason(HRX_BUSY, HRX_REASON_SLOTS, "as many submissions of this graph are in flight as it has slots");
  case HELD: return hold_fail(submission->held);
  case POISONED: return failure_restore(&submission->failure);
  }
  return status;
}

static hrx_status options_check(const struct graph *graph, const struct run_options *options) {
  if (options->stream != NULL && options->stream->engine != graph->engine)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "a graph submitted to a stream of another engine");
  for (size_t i = 0; i < options->after_count; i++)
    if (options->after[i] == NULL || options->after[i]->graph->engine != graph->engine)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "a graph submitted after run %zu, which is of another engine", i);
  return HRX_OK;
}

hrx_status graph_submit(struct graph *graph, const struct run_options *options, struct run **out_run) {
  static const struct run_options plain = {0};
  struct engine *engine = graph->engine;
  if (options == NULL) options = &plain;
  if (engine_forked(engine)) return engine_lost();
  hrx_status status = options_check(graph, options);
  if (status == HRX_OK && (graph->host || options->done != NULL)) status = crew_ensure(engine, &engine->host);
  struct stream *stream = options->stream;
  struct submission submission = {.graph = graph, .options = options};
  enum verdict verdict = SHORT;
  while (status == HRX_OK && verdict != ENTERED) {
    uint64_t now = time_now_ns();
    if (stream != NULL) {
      pthread_mutex_lock(&stream->lock);
      status = stream_clocks_reserve(stream);
    }
    if (status == HRX_OK) {
      pthread_mutex_lock(&engine->lock);
      verdict = enter_try_locked(&submission, now);
      pthread_mutex_unlock(&engine->lock);
      if (verdict != ENTERED && verdict != STALE) status = verdict_settle(&submission, verdict);
    }
    if (stream != NULL) pthread_mutex_unlock(&stream->lock);
    if (status == HRX_OK && verdict == STALE) status = verdict_settle(&submission, verdict); /* calls out: no lock */
    if (status == HRX_OK && verdict == SHORT && submission.shortage == SHORT_OF_ROOM) stream_room_wait(stream);
  }
  if (status != HRX_OK) return status;
  *out_run = submission.run;
  aftermath_settle(engine, &submission.aftermath);
  return HRX_OK;
}
