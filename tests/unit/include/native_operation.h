/* Random operations of the public interface, and what each does to a model of the memory, byte for byte.
 *
 * A `world` has buffers of every placement and decides by a seed or by bytes that a fuzzer gives; worlds may share a `machine` (a
 * runtime with kernels) and then run in threads of their own. Nothing here needs a test framework: what is wrong is printed with
 * the seed, and the process aborts. */
#ifndef HRX_TESTS_UNIT_NATIVE_OPERATION_H
#define HRX_TESTS_UNIT_NATIVE_OPERATION_H

#include <hrx/hrx.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRANULE = 64, GRANULES = 24, BYTES = GRANULE * GRANULES, ODD = 7, BUFFERS = 7, SIZES = 4, OPERANDS = 3, NODES = 8 };

static const hrx_placement placements[BUFFERS] = {HRX_GPU_LOCAL, HRX_HOST_VISIBLE, HRX_HOST_VISIBLE, HRX_SHARED,
                                                  HRX_SHARED,    HRX_NPU_LOCAL,    HRX_GPU_LOCAL};

enum what { FILL, COPY, INCREMENT, SUM, SUM_IN_PLACE, NPU_COPY, HOST_ADD, JOIN, WHATS };

struct range {
  int buffer;
  size_t begin, bytes;
  hrx_access access;
};

/* operands[0] is written. */
struct operation {
  enum what what;
  unsigned operands;
  struct range operand[OPERANDS];
  hrx_lane lane;
  uint32_t value;
};

struct machine {
  hrx_runtime *runtime;
  hrx_gpu_kernel *increment[SIZES], *sum[SIZES]; /* of 1 to SIZES granules */
  hrx_npu_kernel *copy[SIZES];
  unsigned slots;
  bool shared; /* by more than one world: launches of explicit graphs of one hold up maps of the other */
};

typedef unsigned char image[BUFFERS][BYTES];

struct decisions {
  uint64_t state;             /* of a seed */
  const unsigned char *bytes; /* or these, where not NULL */
  size_t left;
};

struct world {
  struct machine *machine;
  struct decisions decisions;
  unsigned long seed;
  const char *doing;
  hrx_buffer *buffers[BUFFERS];
  image model;
  hrx_stream *stream; /* of its own */
  hrx_stream_kernel *stream_increment;
  _Atomic unsigned jobs; /* contexts of host functions that are not released */
};

/* --- what is wrong --- */

__attribute__((format(printf, 2, 3), noreturn)) static void wrong(const struct world *world, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "seed %lu, %s: ", world->seed, world->doing);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

static void must(const struct world *world, hrx_status status, const char *what) {
  if (status != HRX_OK) wrong(world, "%s: %s: %s", what, hrx_status_name(status), hrx_last_message());
}

static void refused(const struct world *world, hrx_status status, hrx_status wanted, hrx_reason reason, const char *what) {
  if (status != wanted || (reason != HRX_REASON_NONE && hrx_last_reason() != reason))
    wrong(world, "%s: %s/%d instead of %s/%d: %s", what, hrx_status_name(status), (int)hrx_last_reason(), hrx_status_name(wanted),
          (int)reason, hrx_last_message());
}

/* --- deciding --- */

/* 0 once the bytes are used up. */
static unsigned pick(struct world *world, unsigned below) {
  struct decisions *decisions = &world->decisions;
  if (decisions->bytes != NULL) {
    unsigned value = 0;
    for (unsigned most = 1; most < below && decisions->left > 0; most *= 256) {
      value = value * 256 + *decisions->bytes++;
      decisions->left--;
    }
    return value % below;
  }
  decisions->state = decisions->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (unsigned)(decisions->state >> 33) % below;
}

static bool reachable(enum what what, int buffer) {
  hrx_placement placement = placements[buffer];
  if (what == INCREMENT || what == SUM || what == SUM_IN_PLACE) return placement != HRX_NPU_LOCAL;
  if (what == NPU_COPY) return placement == HRX_SHARED || placement == HRX_NPU_LOCAL;
  if (what == HOST_ADD) return placement == HRX_HOST_VISIBLE || placement == HRX_SHARED;
  return true;
}

static int pick_buffer(struct world *world, enum what what) {
  int buffer = (int)pick(world, BUFFERS);
  while (!reachable(what, buffer)) buffer = (buffer + 1) % BUFFERS;
  return buffer;
}

static bool meet(const struct range *one, const struct range *other) {
  return one->buffer == other->buffer && one->begin < other->begin + other->bytes && other->begin < one->begin + one->bytes;
}

static bool conflict_of(const struct range *one, const struct range *other) {
  return meet(one, other) && (one->access != HRX_READ || other->access != HRX_READ);
}

static bool operation_conflicts(const struct operation *operation, const struct range *range) {
  for (unsigned i = 0; i < operation->operands; i++)
    if (conflict_of(&operation->operand[i], range)) return true;
  return false;
}

static bool operations_conflict(const struct operation *one, const struct operation *other) {
  if (one->what == JOIN || other->what == JOIN) return true; /* of one graph */
  for (unsigned i = 0; i < other->operands; i++)
    if (operation_conflicts(one, &other->operand[i])) return true;
  return false;
}

static unsigned operands_of(enum what what) {
  static const unsigned counts[WHATS] = {1, 2, 1, 3, 2, 2, 2, 0};
  return counts[what];
}

/* Whole granules for kernels; where bytes are enough, ends may lie beside a granule's. */
static struct operation operation_pick(struct world *world, bool host) {
  static const enum what often[] = {FILL, COPY, INCREMENT, SUM, SUM_IN_PLACE, NPU_COPY, COPY, FILL, HOST_ADD, JOIN};
  struct operation operation = {.what = often[pick(world, host ? 10 : 8)], .value = pick(world, 256)};
  if (operation.what == JOIN && pick(world, 3) != 0) operation.what = FILL;
  operation.operands = operands_of(operation.what);
  bool bytes = operation.what == FILL || operation.what == COPY || operation.what == HOST_ADD, large = bytes && pick(world, 6) == 0;
  size_t count = 1 + pick(world, large ? GRANULES / 3 : SIZES), odd = bytes && pick(world, 6) == 0 ? ODD : 0;
  for (unsigned i = 0; i < operation.operands; i++) {
    struct range *range = &operation.operand[i];
    *range = (struct range){.buffer = pick_buffer(world, operation.what), .bytes = count * GRANULE - odd, .access = i == 0 ? HRX_WRITE : HRX_READ};
    range->begin = pick(world, (unsigned)(GRANULES - count) + 1) * GRANULE + odd;
    if (i == 0 || !meet(range, &operation.operand[0])) continue;
    size_t behind = operation.operand[0].begin - odd + count * GRANULE, before = operation.operand[0].begin - odd;
    range->begin = (behind + count * GRANULE <= BYTES ? behind : before - count * GRANULE) + odd; /* a third of a buffer at most: there is room */
  }
  if (operation.what == INCREMENT || operation.what == SUM_IN_PLACE || operation.what == HOST_ADD)
    operation.operand[0].access = HRX_READ_WRITE;
  if (operation.what == COPY && pick(world, 4) == 0) operation.lane = (hrx_lane)pick(world, HRX_LANE_HOST + 1);
  return operation;
}

/* --- what an operation does --- */

static void words_add(unsigned char *to, const unsigned char *one, const unsigned char *other, uint32_t by, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4) {
    uint32_t a, b = by;
    memcpy(&a, one + i, 4);
    if (other != NULL) memcpy(&b, other + i, 4);
    a += b;
    memcpy(to + i, &a, 4);
  }
}

static void bytes_add(unsigned char *to, const unsigned char *from, uint32_t by, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = (unsigned char)(to[i] + from[i] + by);
}

static void operation_do(const struct operation *operation, image memory) {
  unsigned char *at[OPERANDS] = {NULL};
  for (unsigned i = 0; i < operation->operands; i++) at[i] = memory[operation->operand[i].buffer] + operation->operand[i].begin;
  size_t bytes = operation->operand[0].bytes;
  switch (operation->what) {
  case FILL: memset(at[0], (int)operation->value, bytes); break;
  case COPY:
  case NPU_COPY: memcpy(at[0], at[1], bytes); break;
  case INCREMENT: words_add(at[0], at[0], NULL, operation->value, bytes); break;
  case SUM: words_add(at[0], at[1], at[2], 0, bytes); break;
  case SUM_IN_PLACE: words_add(at[0], at[0], at[1], 0, bytes); break;
  case HOST_ADD: bytes_add(at[0], at[1], operation->value, bytes); break;
  case JOIN:
  case WHATS: break;
  }
}

/* --- recording one --- */

static hrx_view view_of(const struct world *world, const struct range *range) {
  hrx_view view;
  must(world, hrx_view_slice(hrx_buffer_view(world->buffers[range->buffer]), range->begin, range->bytes, &view), "slice");
  return view;
}

/* What a host function works on: its operation, which a rebind changes while no run of its graph is in flight. */
struct job {
  struct operation operation;
  struct world *world;
};

static hrx_status job_run(void *context) {
  const struct job *job = context;
  const struct range *to = &job->operation.operand[0], *from = &job->operation.operand[1];
  for (unsigned yields = job->operation.value & 3; yields > 0; yields--) sched_yield();
  bytes_add((unsigned char *)hrx_buffer_address(job->world->buffers[to->buffer]) + to->begin,
            (const unsigned char *)hrx_buffer_address(job->world->buffers[from->buffer]) + from->begin, job->operation.value, to->bytes);
  return HRX_OK;
}

static void job_release(void *context) {
  struct job *job = context;
  atomic_fetch_sub(&job->world->jobs, 1);
  free(job);
}

static struct job *record_host(struct world *world, hrx_graph *graph, const struct operation *operation, hrx_node *out_node) {
  struct job *job = malloc(sizeof *job);
  if (job == NULL) wrong(world, "no memory");
  *job = (struct job){*operation, world};
  atomic_fetch_add(&world->jobs, 1);
  hrx_view_access accesses[2];
  for (unsigned i = 0; i < 2; i++)
    accesses[i] = (hrx_view_access){view_of(world, &operation->operand[i]), operation->operand[i].access};
  must(world, hrx_graph_host(graph, accesses, 2, job_run, job, job_release, out_node), "host");
  return job;
}

/* The constants of an increment. */
struct increment_constants {
  uint32_t words, by;
};

static struct increment_constants constants_of(const struct operation *operation) {
  return (struct increment_constants){(uint32_t)(operation->operand[0].bytes / 4), operation->value};
}

/* Adds the operation; the job of a host function, else NULL. */
static struct job *operation_record(struct world *world, hrx_graph *graph, const struct operation *operation, hrx_node *out_node) {
  const struct machine *machine = world->machine;
  hrx_view views[OPERANDS];
  for (unsigned i = 0; i < operation->operands; i++) views[i] = view_of(world, &operation->operand[i]);
  size_t size = (operation->operand[0].bytes - 1) / GRANULE;
  hrx_status status = HRX_OK;
  switch (operation->what) {
  case FILL: status = hrx_graph_fill(graph, views[0], (uint8_t)operation->value, out_node); break;
  case COPY: status = hrx_graph_copy_on(graph, operation->lane, views[0], views[1], out_node); break;
  case INCREMENT: status = hrx_graph_gpu(graph, machine->increment[size], views, 1, out_node); break;
  case SUM: status = hrx_graph_gpu(graph, machine->sum[size], views, 3, out_node); break;
  case SUM_IN_PLACE:
    status = hrx_graph_gpu_aliasing(graph, machine->sum[size], (hrx_view[]){views[0], views[0], views[1]}, 3, out_node);
    break;
  case NPU_COPY: status = hrx_graph_npu(graph, machine->copy[size], views, 2, out_node); break;
  case HOST_ADD: return record_host(world, graph, operation, out_node);
  case JOIN:
  case WHATS: status = hrx_graph_join(graph, out_node); break;
  }
  must(world, status, "record");
  return NULL;
}

/* --- machines --- */

/* A file of the build folder, in which the program lies somewhere. */
static void file_find(const char *name, char path[PATH_MAX]) {
  char folder[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  folder[length > 0 ? length : 0] = '\0';
  for (char *slash = strrchr(folder, '/'); slash != NULL; slash = strrchr(folder, '/')) {
    *slash = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && access(path, R_OK) == 0) return;
  }
  fprintf(stderr, "there is no %s above the program\n", name);
  abort();
}

static hrx_contract *contract_with(const struct world *world, size_t bytes, const hrx_access *accesses, size_t count) {
  hrx_binding bindings[OPERANDS];
  for (size_t i = 0; i < count; i++) bindings[i] = (hrx_binding){.bytes = bytes, .alignment = 4, .access = accesses[i]};
  hrx_contract *contract;
  must(world, hrx_contract_create(bindings, count, &contract), "contract");
  return contract;
}

static void machine_kernels(struct machine *machine, const struct world *world) {
  char path[PATH_MAX], program[PATH_MAX];
  file_find("tests/fixtures/native.co", path);
  file_find("lib/npu/copy.so", program);
  const hrx_dimensions one = {1, 1, 1}, block = {GRANULE, 1, 1};
  hrx_npu *npu;
  must(world, hrx_runtime_npu(machine->runtime, 0, &npu), "npu");
  for (unsigned i = 0; i < SIZES; i++) {
    size_t bytes = (i + 1) * GRANULE;
    hrx_contract *contract = contract_with(world, bytes, (hrx_access[]){HRX_READ_WRITE}, 1);
    must(world, hrx_contract_push_u32(contract, (uint32_t)bytes / 4), "push");
    must(world, hrx_contract_push_u32(contract, 0), "push");
    must(world, hrx_gpu_kernel_load_file(machine->runtime, path, "increment", one, block, 0, contract, &machine->increment[i]), "kernel");
    hrx_contract_release(contract);
    contract = contract_with(world, bytes, (hrx_access[]){HRX_WRITE, HRX_READ, HRX_READ}, 3);
    must(world, hrx_contract_push_u32(contract, (uint32_t)bytes / 4), "push");
    must(world, hrx_gpu_kernel_load_file(machine->runtime, path, "sum", one, block, 0, contract, &machine->sum[i]), "kernel");
    hrx_contract_release(contract);
    contract = contract_with(world, bytes, (hrx_access[]){HRX_WRITE, HRX_READ}, 2);
    must(world, hrx_npu_kernel_load_file(npu, program, "copy", 1 + i, contract, &machine->copy[i]), "NPU kernel");
    hrx_contract_release(contract);
  }
}

/* `world` decides how many slots and lanes there are. `capacity`: enough for all that use it. */
static void machine_init(struct machine *machine, struct world *world, unsigned capacity) {
  world->doing = "a runtime is made";
  *machine = (struct machine){.slots = 1 + pick(world, 3)};
  hrx_runtime_options options = {.size = sizeof options, .gpu = HRX_GPU_SOFT, .npu = HRX_NPU_SOFT, .max_submissions = capacity,
                                 .graph_slots = machine->slots, .compute_lanes = 1 + pick(world, 4)};
  options.order = pick(world, 5) == 0 ? HRX_ORDER_SUBMISSION : HRX_ORDER_INFERRED;
  must(world, hrx_runtime_create(&options, &machine->runtime), "runtime");
  machine_kernels(machine, world);
}

static void machine_finish(struct machine *machine) {
  for (unsigned i = 0; i < SIZES; i++) {
    hrx_gpu_kernel_release(machine->increment[i]);
    hrx_gpu_kernel_release(machine->sum[i]);
    hrx_npu_kernel_release(machine->copy[i]);
  }
  hrx_runtime_release(machine->runtime);
}

#endif
