/* Cancelling, for native_program.h: a submission at any moment, of which some down-closed part of its operations has run; and one
 * that is blocked, where everything that follows from it is known. */
#ifndef HRX_TESTS_UNIT_NATIVE_CANCEL_H
#define HRX_TESTS_UNIT_NATIVE_CANCEL_H

/* --- at any moment --- */

/* Whether the bytes are what the operations in `done` leave; false also if one of them ran before one that it had to follow. */
static bool outcome_is(const struct flight *flight, unsigned done, const image before, const image bytes) {
  for (unsigned i = 0; i < flight->count; i++)
    for (unsigned k = 0; (done >> i & 1) != 0 && k < i; k++)
      if ((done >> k & 1) == 0 && operations_conflict(&flight->operations[i], &flight->operations[k])) return false;
  image memory;
  memcpy(memory, before, sizeof memory);
  for (unsigned i = 0; i < flight->count; i++)
    if ((done >> i & 1) != 0) operation_do(&flight->operations[i], memory);
  return memcmp(memory, bytes, sizeof memory) == 0;
}

static void step_cancel_any(struct program *program) {
  struct world *world = program->world;
  world->doing = "cancel at any moment";
  maps_drop(program);
  const struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  unsigned yields = pick(world, 8);
  struct flight flight;
  flight_set(&flight, graph, submit(program, graph, NULL, 0, 0));
  while (yields-- > 0) sched_yield();
  must(world, hrx_completion_cancel(flight.completion), "cancel");
  hrx_status status = hrx_completion_wait(flight.completion);
  hrx_completion_release(flight.completion);
  flights_finish(program);
  if (status == HRX_OK) {
    for (unsigned i = 0; i < flight.count; i++) operation_do(&flight.operations[i], world->model);
    return;
  }
  refused(world, status, HRX_CANCELLED, HRX_REASON_NONE, "a cancelled submission");
  image bytes;
  bytes_read(program, bytes);
  unsigned all = (1u << flight.count) - 1, done = 0;
  while (done < all && !outcome_is(&flight, done, world->model, bytes)) done++;
  if (done == all) wrong(world, "no part of the %u operations leaves these bytes", flight.count);
  memcpy(world->model, bytes, sizeof bytes);
}

/* --- blocked --- */

enum { NEVER = 1000 };

struct gate {
  sem_t begun, open;
};

/* A submission behind the gate. */
struct member {
  struct flight flight;
  int after;             /* another member, or -1 */
  unsigned cancelled_at; /* how many members there were; NEVER: it was not cancelled */
  unsigned failed;       /* operations that do not run, a bit each */
};

struct blocked {
  struct program *program;
  struct gate gate;
  struct range gate_range;
  hrx_completion *gate_completion;
  struct member members[MEMBERS]; /* in the order of their submission */
  unsigned count;
};

static hrx_status gate_wait(void *context) {
  struct gate *gate = context;
  sem_post(&gate->begun);
  while (sem_wait(&gate->open) != 0) {
  }
  return HRX_OK;
}

static void gate_close(struct blocked *blocked) {
  struct world *world = blocked->program->world;
  hrx_graph *recorder;
  hrx_executable *executable;
  sem_init(&blocked->gate.begun, 0, 0);
  sem_init(&blocked->gate.open, 0, 0);
  blocked->gate_range = range_pick(world);
  hrx_view_access access = {view_of(world, &blocked->gate_range), blocked->gate_range.access};
  must(world, hrx_graph_create(world->machine->runtime, &recorder), "graph");
  must(world, hrx_graph_host(recorder, &access, 1, gate_wait, &blocked->gate, NULL, NULL), "gate");
  must(world, hrx_graph_prepare(recorder, &executable), "prepare the gate");
  must(world, hrx_executable_submit(executable, &blocked->gate_completion), "close the gate");
  hrx_executable_release(executable);
  hrx_graph_release(recorder);
  while (sem_wait(&blocked->gate.begun) != 0) {
  }
}

static unsigned members_of(const struct blocked *blocked, const struct graph_of_program *graph) {
  unsigned count = 0;
  for (unsigned i = 0; i < blocked->count; i++) count += blocked->members[i].flight.graph == graph && blocked->members[i].cancelled_at == NEVER;
  return count;
}

/* Submits a graph behind the gate, perhaps also behind a member; nothing happens if there is no slot. */
static void member_add(struct blocked *blocked) {
  struct program *program = blocked->program;
  struct world *world = program->world;
  const struct graph_of_program *graph = &program->graphs[pick(world, GRAPHS)];
  struct member *member = &blocked->members[blocked->count];
  *member = (struct member){.after = -1, .cancelled_at = NEVER};
  if (blocked->count != 0 && pick(world, 3) == 0) member->after = (int)pick(world, blocked->count);
  hrx_completion *after[2] = {blocked->gate_completion, NULL};
  if (member->after >= 0) after[1] = blocked->members[member->after].flight.completion;
  hrx_completion *completion = submit(program, graph, after, member->after >= 0 ? 2 : 1, members_of(blocked, graph));
  if (completion == NULL) return;
  flight_set(&member->flight, graph, completion);
  blocked->count++;
}

static void member_cancel(struct blocked *blocked, unsigned index) {
  struct world *world = blocked->program->world;
  struct member *member = &blocked->members[index];
  must(world, hrx_completion_cancel(member->flight.completion), "cancel");
  if (!hrx_completion_is_complete(member->flight.completion)) wrong(world, "a blocked submission is not over when it is cancelled");
  refused(world, hrx_completion_result(member->flight.completion), HRX_CANCELLED, HRX_REASON_NONE, "a blocked submission that was cancelled");
  if (member->cancelled_at == NEVER) member->cancelled_at = blocked->count;
}

/* A map that only tries: it meets the gate and whoever waits for it. */
static void blocked_map(struct blocked *blocked) {
  struct world *world = blocked->program->world;
  struct range range = range_pick(world);
  bool busy = conflict_of(&range, &blocked->gate_range), may = world->machine->shared || flights_conflict(blocked->program, &range);
  for (unsigned i = 0; i < blocked->count; i++)
    for (unsigned k = 0; k < blocked->members[i].flight.count; k++) {
      bool meets = operation_conflicts(&blocked->members[i].flight.operations[k], &range);
      may = may || meets;
      busy = busy || (meets && blocked->members[i].cancelled_at == NEVER);
    }
  hrx_map *map = NULL;
  hrx_status status = map_take(blocked->program, &range, true, &map);
  if (busy || (may && status != HRX_OK))
    refused(world, status, HRX_BUSY, HRX_REASON_DEVICE_WORK, "a map of what is blocked");
  else
    must(world, status, "a map beside what is blocked");
  hrx_map_release(map);
}

/* For each byte the last that would write it: member * NODES + operation, or -1. */
typedef signed char writers[BUFFERS][BYTES];

/* Whether operation `i` of member `m` reads or writes what one that fails would have written. Who is submitted after a
 * submission was cancelled does not ask for it. */
static bool needs_failed(const struct blocked *blocked, unsigned m, unsigned i, const writers last) {
  const struct operation *operation = &blocked->members[m].flight.operations[i];
  for (unsigned k = 0; k < operation->operands; k++) {
    const struct range *range = &operation->operand[k];
    for (size_t b = range->begin; b < range->begin + range->bytes; b++) {
      int at = last[range->buffer][b];
      if (at < 0) continue;
      const struct member *other = &blocked->members[at / NODES];
      if (m < other->cancelled_at && (other->failed >> (at % NODES) & 1) != 0) return true;
    }
  }
  return false;
}

/* Which operations fail, and what the others do. */
static void blocked_model(struct blocked *blocked) {
  struct world *world = blocked->program->world;
  writers last;
  memset(last, -1, sizeof last);
  for (unsigned m = 0; m < blocked->count; m++) {
    struct member *member = &blocked->members[m];
    bool none = member->cancelled_at != NEVER || (member->after >= 0 && blocked->members[member->after].failed != 0);
    for (unsigned i = 0; i < member->flight.count; i++) {
      const struct operation *operation = &member->flight.operations[i];
      bool fails = none || needs_failed(blocked, m, i, last);
      if (operation->what == JOIN && member->failed != 0) fails = none = true; /* and all behind it */
      if (fails) member->failed |= 1u << i;
      if (operation->operands != 0)
        memset(last[operation->operand[0].buffer] + operation->operand[0].begin, (int)(m * NODES + i), operation->operand[0].bytes);
      if (!fails) operation_do(operation, world->model);
    }
  }
}

static void gate_open(struct blocked *blocked) {
  struct world *world = blocked->program->world;
  for (unsigned i = 0; i < blocked->count; i++)
    if (blocked->members[i].cancelled_at == NEVER && hrx_completion_is_complete(blocked->members[i].flight.completion))
      wrong(world, "a submission is over before what it waits for");
  sem_post(&blocked->gate.open);
  must(world, hrx_completion_wait(blocked->gate_completion), "wait for the gate");
  hrx_completion_release(blocked->gate_completion);
}

static void step_cancel_blocked(struct program *program) {
  struct world *world = program->world;
  struct blocked blocked = {.program = program};
  world->doing = "cancel what is blocked";
  maps_drop(program);
  gate_close(&blocked);
  for (unsigned before = 1 + pick(world, MEMBERS / 2); before > 0; before--) member_add(&blocked);
  for (unsigned cancels = pick(world, 3); cancels > 0 && blocked.count != 0; cancels--) member_cancel(&blocked, pick(world, blocked.count));
  if (pick(world, 2) == 0) blocked_map(&blocked);
  for (unsigned behind = pick(world, MEMBERS / 2); behind > 0; behind--) member_add(&blocked);
  if (pick(world, 3) == 0 && blocked.count != 0) member_cancel(&blocked, pick(world, blocked.count));
  gate_open(&blocked);
  flights_finish(program);
  blocked_model(&blocked);
  for (unsigned i = 0; i < blocked.count; i++) {
    struct member *member = &blocked.members[i];
    hrx_status status = hrx_completion_wait(member->flight.completion), wanted = member->failed != 0 ? HRX_CANCELLED : HRX_OK;
    if (status != wanted)
      wrong(world, "submission %u of %u behind the gate: %s instead of %s", i, blocked.count, hrx_status_name(status), hrx_status_name(wanted));
    hrx_completion_release(member->flight.completion);
  }
  step_compare(program);
}

#endif
