/* Stages, for native_program.h: whole buffers handed to a native stream, which then runs a graph with the caller's edges, uploads and
 * reads, while submissions and maps that conflict are BUSY/HANDED_OFF. */
#ifndef HRX_TESTS_UNIT_NATIVE_STAGE_H
#define HRX_TESTS_UNIT_NATIVE_STAGE_H

enum { HANDED = 3, STAGE_NODES = 6 };

struct stage {
  struct program *program;
  struct range handed[HANDED]; /* whole buffers */
  unsigned count;
  hrx_status outcome;
};

static bool handed_conflict(const struct stage *stage, const struct range *range) {
  for (unsigned i = 0; i < stage->count; i++)
    if (conflict_of(&stage->handed[i], range)) return true;
  return false;
}

/* A fill, copy or increment inside what was handed; false where that cannot be. */
static bool stage_operation(const struct stage *stage, struct operation *out_operation) {
  struct operation operation = operation_pick(stage->program->world, false);
  if (operation.what != FILL && operation.what != COPY && operation.what != INCREMENT) return false;
  for (unsigned i = 0; i < operation.operands; i++) {
    bool inside = false;
    for (unsigned k = 0; k < stage->count && !inside; k++)
      inside = stage->handed[k].buffer == operation.operand[i].buffer && (i != 0 || stage->handed[k].access != HRX_READ);
    if (!inside) return false;
  }
  *out_operation = operation;
  return true;
}

static void stage_record(const struct stage *stage, hrx_gpu_graph *graph, const struct operation *operation, const hrx_node *after,
                         size_t count) {
  const struct world *world = stage->program->world;
  const hrx_dimensions one = {1, 1, 1}, block = {GRANULE, 1, 1};
  hrx_view views[2];
  for (unsigned i = 0; i < operation->operands; i++) views[i] = view_of(world, &operation->operand[i]);
  struct increment_constants constants = constants_of(operation);
  hrx_status status;
  if (operation->what == FILL)
    status = hrx_gpu_graph_fill(graph, views[0], (uint8_t)operation->value, after, count, NULL);
  else if (operation->what == COPY)
    status = hrx_gpu_graph_copy(graph, views[0], views[1], after, count, NULL);
  else
    status = hrx_gpu_graph_dispatch(graph, world->stream_increment, one, block, 0, views, 1, &constants, sizeof constants, after, count, NULL);
  must(world, status, "record with edges");
}

/* Its edges: whatever conflicts, and a few more. */
static void stage_graph(const struct stage *stage, hrx_stream *stream) {
  struct world *world = stage->program->world;
  struct operation operations[STAGE_NODES];
  hrx_gpu_graph *graph;
  hrx_gpu_executable *executable;
  unsigned count = 0;
  must(world, hrx_stream_graph(stream, &graph), "graph of a stream");
  for (unsigned tries = 3 * STAGE_NODES; tries > 0 && count < STAGE_NODES; tries--) {
    if (!stage_operation(stage, &operations[count])) continue;
    hrx_node after[STAGE_NODES];
    size_t edges = 0;
    for (unsigned i = 0; i < count; i++)
      if (operations_conflict(&operations[i], &operations[count]) || pick(world, 8) == 0) after[edges++] = i;
    stage_record(stage, graph, &operations[count], after, edges);
    operation_do(&operations[count++], world->model);
  }
  if (count != 0) {
    must(world, hrx_gpu_graph_finish(graph, &executable), "finish");
    must(world, hrx_stream_launch(stream, executable), "launch");
    hrx_gpu_executable_release(executable);
  }
  hrx_gpu_graph_release(graph);
}

static void stage_bytes(const struct stage *stage, hrx_stream *stream) {
  struct world *world = stage->program->world;
  const struct range *handed = &stage->handed[pick(world, stage->count)];
  struct range range = {.buffer = handed->buffer, .begin = pick(world, BYTES)};
  range.bytes = 1 + pick(world, (unsigned)(BYTES - range.begin));
  unsigned char bytes[BYTES], *model = world->model[range.buffer] + range.begin;
  if (handed->access != HRX_READ && pick(world, 2) == 0) {
    memset(bytes, (int)pick(world, 256), range.bytes);
    must(world, hrx_stream_upload_at(stream, view_of(world, &range), bytes, range.bytes), "upload");
    memcpy(model, bytes, range.bytes);
    memset(bytes, 0xa5, range.bytes); /* the stream has them already */
  } else {
    must(world, hrx_stream_read(stream, view_of(world, &range), bytes, range.bytes), "read by a stream");
    if (memcmp(bytes, model, range.bytes) != 0) wrong(world, "a stream reads other bytes from buffer %d", range.buffer);
  }
}

/* A submission beside the stage. */
static void stage_submit(const struct stage *stage) {
  struct program *program = stage->program;
  struct world *world = program->world;
  const struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  bool handed = false, mapped = maps_conflict(program, graph);
  for (unsigned i = 0; i < graph->count; i++)
    for (unsigned k = 0; k < stage->count; k++) handed = handed || operation_conflicts(&graph->operations[i], &stage->handed[k]);
  unsigned used = slots_used(program, graph);
  hrx_completion *completion = NULL;
  hrx_status status = hrx_executable_submit(graph->executable, &completion);
  if (status == HRX_BUSY && hrx_last_reason() == HRX_REASON_SLOTS && used >= world->machine->slots) return;
  if (handed || mapped) {
    bool right = (handed && hrx_last_reason() == HRX_REASON_HANDED_OFF) || (mapped && hrx_last_reason() == HRX_REASON_MAPPED);
    if (status != HRX_BUSY || !right) wrong(world, "submit in a stage: %s/%d", hrx_status_name(status), (int)hrx_last_reason());
    return;
  }
  must(world, status, "submit beside a stage");
  for (unsigned i = 0; i < graph->count; i++) operation_do(&graph->operations[i], world->model);
  struct flight *flight = &program->flights[pick(world, FLIGHTS)];
  flight_finish(world, flight);
  flight_set(flight, graph, completion);
}

static hrx_status stage_inside(void *context, hrx_stream *stream) {
  (void)context;
  (void)stream;
  return HRX_OK;
}

static hrx_status stage_run(void *context, hrx_stream *stream) {
  struct stage *stage = context;
  struct world *world = stage->program->world;
  stage_graph(stage, stream);
  if (pick(world, 2) == 0) stage_bytes(stage, stream);
  if (pick(world, 2) == 0) stage_submit(stage);
  if (pick(world, 4) == 0) {
    hrx_view_access access = {view_of(world, &stage->handed[0]), HRX_READ};
    refused(world, hrx_runtime_with_gpu_access(world->machine->runtime, stream, &access, 1, stage_inside, NULL), HRX_BUSY,
            HRX_REASON_HANDED_OFF, "a stage in a stage");
  }
  struct range range = range_pick(world);
  hrx_map *map = NULL;
  if (handed_conflict(stage, &range) && map_take(stage->program, &range, false, &map) != HRX_BUSY) wrong(world, "a map of what was handed off");
  stage_graph(stage, stream);
  return stage->outcome;
}

static void step_stage(struct program *program) {
  struct world *world = program->world;
  world->doing = "stage";
  struct stage stage = {.program = program, .outcome = pick(world, 8) == 0 ? HRX_IO : HRX_OK};
  hrx_view_access accesses[HANDED];
  unsigned first = pick(world, BUFFERS), wanted = 1 + pick(world, HANDED);
  bool mapped = false;
  for (unsigned i = 0; stage.count < wanted; i++) {
    struct range whole = {.buffer = (int)((first + i) % BUFFERS), .bytes = BYTES, .access = pick(world, 3) == 0 ? HRX_READ : HRX_READ_WRITE};
    if (!reachable(INCREMENT, whole.buffer)) continue;
    for (int k = 0; k < MAPS; k++) mapped = mapped || (program->maps[k].map != NULL && conflict_of(&program->maps[k].range, &whole));
    accesses[stage.count] = (hrx_view_access){view_of(world, &whole), whole.access};
    stage.handed[stage.count++] = whole;
  }
  hrx_status status = hrx_runtime_with_gpu_access(world->machine->runtime, world->stream, accesses, stage.count, stage_run, &stage);
  if (mapped)
    refused(world, status, HRX_BUSY, HRX_REASON_MAPPED, "a stage against a map");
  else if (status != stage.outcome)
    wrong(world, "a stage: %s: %s", hrx_status_name(status), hrx_last_message());
}

#endif
