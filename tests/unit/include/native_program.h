/* Random programs of the public interface: graphs on overlapping ranges, submitted again and again, after each other, cancelled,
 * rebound, with maps and stages of streams that come and go, against the same operations done one after the other.
 *
 * Everything is decided before it happens, so that what a call must return is known as well as what the bytes must be: a submission
 * is BUSY/MAPPED exactly if it conflicts with a live map, BUSY/SLOTS only if there is no slot, and a cancelled one takes along exactly
 * those that needed what it would have written. */
#ifndef HRX_TESTS_UNIT_NATIVE_PROGRAM_H
#define HRX_TESTS_UNIT_NATIVE_PROGRAM_H

#include "native_operation.h"

enum { GRAPHS = 3, FLIGHTS = 6, MAPS = 3, STEPS = 24, MEMBERS = 6 };

struct graph_of_program {
  struct operation operations[NODES];
  struct job *jobs[NODES]; /* of host functions, else NULL */
  unsigned count;
  bool host;
  hrx_executable *executable;
};

/* A submission, with its operations as they were. */
struct flight {
  hrx_completion *completion; /* NULL: none */
  const struct graph_of_program *graph;
  struct operation operations[NODES];
  unsigned count;
};

struct live_map {
  hrx_map *map; /* NULL: none */
  struct range range;
};

struct program {
  struct world *world;
  struct graph_of_program graphs[GRAPHS];
  struct flight flights[FLIGHTS];
  struct live_map maps[MAPS];
  hrx_executable *read_back; /* copies what the host cannot reach to `staging` */
  hrx_buffer *staging;
};

/* --- graphs --- */

static void graph_make(struct program *program, struct graph_of_program *graph) {
  struct world *world = program->world;
  hrx_graph *recorder;
  must(world, hrx_graph_create(world->machine->runtime, &recorder), "graph");
  *graph = (struct graph_of_program){.count = 1 + pick(world, NODES), .host = pick(world, 3) == 0};
  for (unsigned i = 0; i < graph->count; i++) {
    hrx_node node;
    graph->operations[i] = operation_pick(world, graph->host);
    graph->jobs[i] = operation_record(world, recorder, &graph->operations[i], &node);
    if (node != i || hrx_graph_node_count(recorder) != i + 1) wrong(world, "operation %u is node %u", i, node);
  }
  must(world, hrx_graph_prepare(recorder, &graph->executable), "prepare");
  hrx_graph_release(recorder);
  for (unsigned i = 0; i < graph->count; i++) { /* the kernels' constants are zero */
    struct increment_constants constants = constants_of(&graph->operations[i]);
    if (graph->operations[i].what == INCREMENT)
      must(world, hrx_executable_update_constants(graph->executable, i, &constants, sizeof constants), "constants");
  }
}

/* --- submissions --- */

static bool flight_live(const struct flight *flight) {
  return flight->completion != NULL && !hrx_completion_is_complete(flight->completion);
}

static void flight_finish(struct world *world, struct flight *flight) {
  if (flight->completion == NULL) return;
  must(world, hrx_completion_wait(flight->completion), "wait");
  hrx_completion_release(flight->completion);
  flight->completion = NULL;
}

static void flights_finish(struct program *program) {
  for (int i = 0; i < FLIGHTS; i++) flight_finish(program->world, &program->flights[i]);
}

static void flights_of_finish(struct program *program, const struct graph_of_program *graph) {
  for (int i = 0; i < FLIGHTS; i++)
    if (program->flights[i].graph == graph) flight_finish(program->world, &program->flights[i]);
}

static bool flights_conflict(const struct program *program, const struct range *range) {
  for (int i = 0; i < FLIGHTS; i++)
    for (unsigned k = 0; flight_live(&program->flights[i]) && k < program->flights[i].count; k++)
      if (operation_conflicts(&program->flights[i].operations[k], range)) return true;
  return false;
}

static bool maps_conflict(const struct program *program, const struct graph_of_program *graph) {
  for (int i = 0; i < MAPS; i++)
    for (unsigned k = 0; program->maps[i].map != NULL && k < graph->count; k++)
      if (operation_conflicts(&graph->operations[k], &program->maps[i].range)) return true;
  return false;
}

static unsigned slots_used(const struct program *program, const struct graph_of_program *graph) {
  unsigned used = 0;
  for (int i = 0; i < FLIGHTS; i++) used += program->flights[i].graph == graph && flight_live(&program->flights[i]);
  return used;
}

/* NULL where a map conflicts. `more`: submissions in flight that are not among the flights. */
static hrx_completion *submit(struct program *program, const struct graph_of_program *graph, hrx_completion *const *after,
                              size_t count, unsigned more) {
  struct world *world = program->world;
  hrx_completion *completion = NULL;
  unsigned used = slots_used(program, graph) + more;
  hrx_status status = hrx_executable_submit_after(graph->executable, after, count, &completion);
  if (status == HRX_BUSY && hrx_last_reason() == HRX_REASON_SLOTS) {
    if (used < world->machine->slots) wrong(world, "no slot of %u, %u in flight", world->machine->slots, used);
    if (more != 0) return NULL; /* they may keep the slots */
    flights_of_finish(program, graph);
    status = hrx_executable_submit_after(graph->executable, after, count, &completion);
  }
  if (maps_conflict(program, graph)) {
    refused(world, status, HRX_BUSY, HRX_REASON_MAPPED, "submit against a map");
    return NULL;
  }
  must(world, status, "submit");
  return completion;
}

static void flight_set(struct flight *flight, const struct graph_of_program *graph, hrx_completion *completion) {
  flight->completion = completion;
  flight->graph = graph;
  flight->count = graph->count;
  memcpy(flight->operations, graph->operations, sizeof flight->operations);
}

static void step_submit(struct program *program) {
  struct world *world = program->world;
  world->doing = "submit";
  const struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  struct flight *other = &program->flights[pick(world, FLIGHTS)], *flight = &program->flights[pick(world, FLIGHTS)];
  hrx_completion *after = NULL;
  if (pick(world, 4) == 0) after = hrx_completion_retain(other->completion);
  hrx_completion *completion = submit(program, graph, &after, after != NULL, 0);
  hrx_completion_release(after);
  if (completion == NULL) return;
  for (unsigned i = 0; i < graph->count; i++) operation_do(&graph->operations[i], world->model);
  flight_finish(world, flight);
  flight_set(flight, graph, completion);
}

/* --- maps --- */

static hrx_status map_take(const struct program *program, const struct range *range, bool tries, hrx_map **out_map) {
  hrx_view view = view_of(program->world, range);
  if (range->access == HRX_READ) return (tries ? hrx_map_try_read : hrx_map_read)(view, out_map);
  return (tries ? hrx_map_try_write : hrx_map_write)(view, out_map);
}

static struct range range_pick(struct world *world) {
  size_t begin = pick(world, BYTES), most = BYTES - begin;
  return (struct range){.buffer = pick_buffer(world, HOST_ADD), .begin = begin, .bytes = 1 + pick(world, (unsigned)(most < 200 || pick(world, 3) == 0 ? most : 200)),
                        .access = pick(world, 2) == 0 ? HRX_READ : HRX_WRITE};
}

static void map_shows(struct world *world, hrx_map *map, const struct range *range) {
  if (hrx_map_bytes(map) != range->bytes || memcmp(hrx_map_pointer(map), world->model[range->buffer] + range->begin, range->bytes) != 0)
    wrong(world, "a map of %zu bytes at %zu of buffer %d shows other bytes", range->bytes, range->begin, range->buffer);
}

/* Some of the bytes: the others stay as they are. */
static void map_write(struct world *world, hrx_map *map, const struct range *range) {
  size_t begin = pick(world, (unsigned)range->bytes), bytes = 1 + pick(world, (unsigned)(range->bytes - begin));
  unsigned char value = (unsigned char)pick(world, 256);
  memset((char *)hrx_map_pointer(map) + begin, value, bytes);
  memset(world->model[range->buffer] + range->begin + begin, value, bytes);
}

static void map_drop(struct program *program, struct live_map *live) {
  if (live->map == NULL) return;
  map_shows(program->world, live->map, &live->range);
  if (live->range.access == HRX_WRITE) map_write(program->world, live->map, &live->range);
  hrx_map_release(live->map);
  live->map = NULL;
}

static void maps_drop(struct program *program) {
  for (int i = 0; i < MAPS; i++) map_drop(program, &program->maps[i]);
}

static void step_map(struct program *program) {
  struct world *world = program->world;
  world->doing = "map";
  struct live_map *live = &program->maps[pick(world, MAPS)];
  if (live->map != NULL && pick(world, 2) == 0) {
    map_drop(program, live);
    return;
  }
  struct range range = range_pick(world);
  bool tries = pick(world, 2) == 0, held = false, busy = world->machine->shared || flights_conflict(program, &range);
  for (int i = 0; i < MAPS; i++) held = held || (program->maps[i].map != NULL && conflict_of(&program->maps[i].range, &range));
  hrx_map *map = NULL;
  hrx_status status = map_take(program, &range, tries, &map);
  if (held) {
    refused(world, status, HRX_BUSY, HRX_REASON_MAPPED, "a map against a map");
    return;
  }
  if (tries && busy && status == HRX_BUSY && hrx_last_reason() == HRX_REASON_DEVICE_WORK) return;
  must(world, status, "map");
  map_shows(world, map, &range);
  if (range.access == HRX_WRITE) map_write(world, map, &range);
  if (live->map == NULL && pick(world, 2) == 0)
    *live = (struct live_map){map, range};
  else
    hrx_map_release(map);
}

/* --- all bytes --- */

static void staging_make(struct program *program) {
  struct world *world = program->world;
  hrx_graph *recorder;
  must(world, hrx_buffer_create(world->machine->runtime, sizeof(image), HRX_HOST_VISIBLE, 0, &program->staging), "staging");
  must(world, hrx_graph_create(world->machine->runtime, &recorder), "graph");
  for (size_t i = 0; i < BUFFERS; i++) {
    hrx_view to, from = hrx_buffer_view(world->buffers[i]);
    must(world, hrx_view_slice(hrx_buffer_view(program->staging), i * BYTES, BYTES, &to), "slice");
    if (!reachable(HOST_ADD, (int)i)) must(world, hrx_graph_copy(recorder, to, from, NULL), "copy");
  }
  must(world, hrx_graph_prepare(recorder, &program->read_back), "prepare");
  hrx_graph_release(recorder);
}

/* The bytes as they are once everything submitted is over. No map is live. */
static void bytes_read(struct program *program, image out) {
  struct world *world = program->world;
  hrx_completion *completion;
  must(world, hrx_executable_submit(program->read_back, &completion), "submit the read back");
  must(world, hrx_completion_wait(completion), "read back");
  hrx_completion_release(completion);
  must(world, hrx_view_read(hrx_buffer_view(program->staging), out, sizeof(image)), "read");
  for (int i = 0; i < BUFFERS; i++)
    if (reachable(HOST_ADD, i)) must(world, hrx_view_read(hrx_buffer_view(world->buffers[i]), out[i], BYTES), "read");
}

static void step_compare(struct program *program) {
  struct world *world = program->world;
  world->doing = "compare";
  maps_drop(program);
  image bytes;
  bytes_read(program, bytes); /* the flights are not waited for: the domain orders this behind them */
  for (int i = 0; i < BUFFERS; i++)
    for (size_t k = 0; k < BYTES; k++)
      if (bytes[i][k] != world->model[i][k])
        wrong(world, "byte %zu of buffer %d is %u instead of %u", k, i, bytes[i][k], world->model[i][k]);
}

/* --- changes of a graph --- */

static void step_record_anew(struct program *program) {
  struct world *world = program->world;
  world->doing = "record anew";
  struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  hrx_executable_release(graph->executable); /* what is in flight goes on */
  for (int i = 0; i < FLIGHTS; i++)
    if (program->flights[i].graph == graph) program->flights[i].graph = NULL;
  graph_make(program, graph);
}

static void step_constants(struct program *program) {
  struct world *world = program->world;
  world->doing = "constants";
  struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  for (unsigned i = 0; i < graph->count; i++) {
    struct operation *operation = &graph->operations[i];
    if (operation->what != INCREMENT) continue;
    operation->value = pick(world, 256);
    struct increment_constants constants = constants_of(operation);
    must(world, hrx_executable_update_constants(graph->executable, i, &constants, sizeof constants), "constants");
  }
}

/* Moves what lies inside a `from`, whole or not at all. */
static hrx_reason operation_move(struct operation *operation, const struct range *from, const struct range *to, unsigned count) {
  bool moved = false;
  for (unsigned i = 0; i < operation->operands; i++) {
    struct range *range = &operation->operand[i];
    unsigned inside = 0;
    while (inside < count && !meet(&from[inside], range)) inside++;
    for (unsigned k = 0; inside == count && k < count; k++)
      if (meet(&to[k], range)) return HRX_REASON_ALIASING; /* it stays, and something else comes there */
    if (inside == count) continue;
    if (range->begin < from[inside].begin || range->begin + range->bytes > from[inside].begin + from[inside].bytes) return HRX_REASON_RANGE;
    range->buffer = to[inside].buffer;
    range->begin = range->begin - from[inside].begin + to[inside].begin;
    moved = true;
  }
  for (unsigned i = 0; moved && i < operation->operands; i++)
    if (!reachable(operation->what, operation->operand[i].buffer)) return HRX_REASON_PLACEMENT;
  return HRX_REASON_NONE;
}

/* Two ranges change places, or one goes elsewhere; whole buffers more often than not, because others rarely can. */
static void step_rebind(struct program *program) {
  struct world *world = program->world;
  world->doing = "rebind";
  struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  bool part = pick(world, 3) == 0, swap = pick(world, 3) != 0;
  size_t half = part ? BYTES / 2 : 0;
  int one = (int)pick(world, BUFFERS), other = (one + 1 + (int)pick(world, BUFFERS - 1)) % BUFFERS;
  struct range from[2] = {{one, 0, BYTES - half, HRX_WRITE}, {other, half, BYTES - half, HRX_WRITE}}, to[2] = {from[1], from[0]};
  if (graph->host) flights_of_finish(program, graph); /* functions look at their operation when they run */
  struct operation moved[NODES];
  memcpy(moved, graph->operations, sizeof moved);
  hrx_reason reason = HRX_REASON_NONE;
  for (unsigned i = 0; reason == HRX_REASON_NONE && i < graph->count; i++) reason = operation_move(&moved[i], from, to, 1 + swap);
  hrx_view from_views[2] = {view_of(world, &from[0]), view_of(world, &from[1])}, to_views[2] = {from_views[1], from_views[0]};
  hrx_status status = hrx_executable_rebind(graph->executable, from_views, to_views, 1 + swap);
  if (reason != HRX_REASON_NONE) {
    refused(world, status, HRX_INVALID, HRX_REASON_NONE, "rebind"); /* which of several reasons comes first is not promised */
    return;
  }
  must(world, status, "rebind");
  memcpy(graph->operations, moved, sizeof moved);
  for (unsigned i = 0; i < graph->count; i++)
    if (graph->jobs[i] != NULL) graph->jobs[i]->operation = moved[i];
}

#include "native_cancel.h"
#include "native_stage.h"

/* --- a program --- */

static void step(struct program *program) {
  struct world *world = program->world;
  unsigned what = pick(world, 34);
  if (what < 13) step_submit(program);
  if (what >= 13 && what < 22) step_map(program);
  if (what >= 22 && what < 25) step_rebind(program);
  if (what == 25 || what == 26) step_constants(program);
  if (what == 27 || what == 28) step_record_anew(program);
  if (what == 29) step_compare(program);
  if (what == 30) step_cancel_any(program);
  if (what == 31) step_cancel_blocked(program);
  if (what >= 32) step_stage(program);
}

static void program_run(struct world *world) {
  struct program program = {.world = world};
  world->doing = "prepare";
  staging_make(&program);
  for (int i = 0; i < GRAPHS; i++) graph_make(&program, &program.graphs[i]);
  for (int i = 0; i < STEPS && (world->decisions.bytes == NULL || world->decisions.left > 0); i++) step(&program);
  world->doing = "end";
  maps_drop(&program);
  for (int i = 0; i < GRAPHS; i++) hrx_executable_release(program.graphs[i].executable); /* in flight */
  step_compare(&program);
  flights_finish(&program);
  hrx_executable_release(program.read_back);
  hrx_buffer_release(program.staging);
}

static void world_init(struct world *world, struct machine *machine) {
  world->machine = machine;
  world->doing = "buffers are made";
  memset(world->model, 0, sizeof world->model);
  for (int i = 0; i < BUFFERS; i++)
    must(world, hrx_buffer_create(machine->runtime, BYTES, placements[i], 0, &world->buffers[i]), "buffer");
  char path[PATH_MAX];
  file_find("tests/fixtures/native.co", path);
  must(world, hrx_stream_open(machine->runtime, &world->stream), "stream");
  must(world, hrx_stream_kernel_load_file(world->stream, path, "increment", &world->stream_increment), "kernel of a stream");
}

static void world_finish(struct world *world) {
  world->doing = "end";
  hrx_stream_kernel_release(world->stream_increment);
  hrx_stream_close(world->stream);
  for (int i = 0; i < BUFFERS; i++) hrx_buffer_release(world->buffers[i]);
  while (atomic_load(&world->jobs) != 0) sched_yield(); /* whoever ended the last run releases them */
}

#endif
