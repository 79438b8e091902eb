/* The software NPU: what it refuses and how it says so, memory, runs, cancelling, threads, fork. */
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "npu_device.h"

#define GOOD "tests/fixtures/npu_good.so"

static struct npu_statistics counted(void) {
  struct npu_statistics statistics;
  npu_statistics(device, &statistics);
  return statistics;
}

START_TEST(what_is_no_program_is_refused_and_says_why) {
  struct npu_program *program = NULL;
  FAILS(load_file("tests/fixtures/npu_magic.so", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "magic is 0x7f454c46");
  FAILS(load_file("tests/fixtures/npu_version.so", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "version 2");
  FAILS(load_file("tests/fixtures/npu_lacking.so", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "exports no");
  FAILS(load_file("tests/fixtures/npu_small.so", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "too small");
  FAILS(load_file("tests/fixtures/npu_empty.so", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "0 kernels");
  FAILS(load_file("tests/fixtures/nothing.so", "count", 1, &program), HRX_IO, HRX_REASON_FILE_NOT_FOUND, "nothing.so");
  FAILS(load_file("tests/fixtures", "count", 1, &program), HRX_IO, HRX_REASON_NONE, "regular");
  FAILS(load_file("tests/unit/npu_soft.d", "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "not an ELF");
  struct npu_source nothing = {0};
  FAILS(npu_program_load(device, &nothing, "count", 1, &program), HRX_INVALID, HRX_REASON_IMAGE, "no bytes");
  ck_assert_ptr_null(program);
}
END_TEST

START_TEST(kernel_that_breaks_a_limit_is_refused_and_its_neighbours_are_not) {
  static const char *const names[] = {"no_run",        "no_bindings", "many_bindings", "much_constant",
                                      "odd_alignment", "no_access",   "nameless"};
  static const char *const words[] = {"no run", "no bindings", "33", "4097", "alignment 3", "access 0", "no name"};
  struct npu_program *program = NULL;
  for (unsigned i = 0; i < 7; i++) FAILS(load_file(GOOD, names[i], 1, &program), HRX_INVALID, HRX_REASON_IMAGE, words[i]);
  FAILS(load_file(GOOD, "absent", 1, &program), HRX_INVALID, HRX_REASON_NOT_FOUND, "absent");
  FAILS(load_file(GOOD, NULL, 1, &program), HRX_INVALID, HRX_REASON_ARGUMENT, "name");
  FAILS(load_file(GOOD, "count", 0, &program), HRX_INVALID, HRX_REASON_ARGUMENT, "0 columns");
  FAILS(load_file(GOOD, "count", 9, &program), HRX_INVALID, HRX_REASON_ARGUMENT, "9 columns");
  npu_program_release(load(GOOD, "count"));
}
END_TEST

/* A cut file is refused, or cut behind all that the loader maps; it never reaches a header that points outside. */
START_TEST(cut_and_damaged_bytes_are_refused) {
  struct fixture fixture = fixture_read("npu_good.so");
  unsigned refused = 0;
  for (size_t size = 0; size < fixture.size; size += size < 1024 ? 1 : 61) {
    unsigned char *copy = malloc(size + 1); /* just that long: a sanitizer sees what is read behind it */
    memcpy(copy, fixture.bytes, size);
    struct npu_source source = {.bytes = copy, .size = size};
    struct npu_program *program = NULL;
    hrx_status status = npu_program_load(device, &source, "count", 1, &program);
    ck_assert(status == HRX_OK || status == HRX_INVALID);
    refused += status != HRX_OK;
    npu_program_release(program);
    free(copy);
  }
  ck_assert_uint_gt(refused, 1024);
  for (size_t at = 0; at < 64; at++) { /* the ELF header, what it says about the target and the tables */
    if (at >= 24 && at < 32) continue;  /* an entry point that nobody calls */
    fixture.bytes[at] ^= 0xff;
    struct npu_source source = {.bytes = fixture.bytes, .size = fixture.size};
    struct npu_program *program = NULL;
    hrx_status status = npu_program_load(device, &source, "count", 1, &program);
    ck_assert(status == HRX_OK || status == HRX_INVALID);
    npu_program_release(program);
    fixture.bytes[at] ^= 0xff;
  }
  free(fixture.bytes);
}
END_TEST

START_TEST(info_is_what_the_program_says) {
  struct npu_program *program = NULL;
  OK(load_file(GOOD, "scale", 3, &program));
  const struct npu_program_info *info = npu_program_info(program);
  ck_assert_str_eq(info->name, "scale");
  ck_assert_uint_eq(info->columns, 3);
  ck_assert_uint_eq(info->binding_count, 2);
  ck_assert_uint_eq(info->constant_bytes, 4);
  ck_assert_str_eq(info->bindings[0].name, "io");
  ck_assert_uint_eq(info->bindings[0].access, MEMORY_READ | MEMORY_WRITE);
  ck_assert_uint_eq(info->bindings[0].alignment, 64);
  ck_assert_uint_eq(info->bindings[1].access, MEMORY_READ);
  ck_assert_uint_eq(info->bindings[1].bytes, 0);
  npu_program_release(program);
  program = load(GOOD, "exact");
  ck_assert_uint_eq(npu_program_info(program)->bindings[0].bytes, 64);
  npu_program_release(program);
}
END_TEST

START_TEST(program_of_either_language_gets_a_call_as_promised) {
  fesetround(FE_DOWNWARD); /* of this thread, not of the NPU's */
  struct npu_program *program = NULL;
  OK(load_file(_i == 0 ? GOOD : "tests/fixtures/npu_plus.so", "inspect", 8, &program));
  uint32_t *out = local(64);
  struct npu_invocation *invocation = invocation_of_one(program, out, 64);
  fesetround(FE_TONEAREST);
  npu_program_release(program); /* lives on in its invocation */
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  static const uint32_t expected[] = {8, 0, 1, 1, 1};
  for (int i = 0; i < 5; i++) ck_assert_uint_eq(out[i], expected[i]);
  npu_invocation_release(invocation);
}
END_TEST

/* The loader knows files by name, and the descriptor of a memory file gets the same number again. */
START_TEST(programs_from_memory_are_told_apart) {
  static const char *const names[] = {"npu_good.so", "npu_plus.so", "npu_good.so"};
  struct npu_program *programs[3] = {0};
  struct npu_program *none = NULL;
  struct fixture wrong = fixture_read("npu_version.so");
  for (int i = 0; i < 3; i++) {
    struct fixture fixture = fixture_read(names[i]);
    struct npu_source source = {.bytes = fixture.bytes, .size = fixture.size};
    OK(npu_program_load(device, &source, "count", 1, &programs[i]));
    memset(fixture.bytes, 0, fixture.size); /* they were copied */
    free(fixture.bytes);
    struct npu_source refused = {.bytes = wrong.bytes, .size = wrong.size};
    FAILS(npu_program_load(device, &refused, "count", 1, &none), HRX_INVALID, HRX_REASON_IMAGE, "version 2");
  }
  uint32_t *counter = local(4);
  for (int i = 0; i < 3; i++) {
    struct npu_invocation *invocation = invocation_of_one(programs[i], counter, 4);
    ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
    npu_invocation_release(invocation);
    npu_program_release(programs[i]);
  }
  ck_assert_uint_eq(*counter, 3);
  free(wrong.bytes);
}
END_TEST

START_TEST(binding_that_breaks_the_contract_is_named) {
  struct npu_program *program = load(GOOD, "scale"), *exact = load(GOOD, "exact");
  struct npu_invocation *invocation = NULL;
  unsigned char *bytes = local(1024);
  struct npu_binding bindings[] = {{bytes, 256}, {bytes + 256, 256}};
  uint32_t scale = 2;
#define CREATE(count, constants, size) npu_invocation_create(program, bindings, count, constants, size, &invocation)
  FAILS(CREATE(1, &scale, 4), HRX_INVALID, HRX_REASON_ARGUMENT, "2 bindings, not 1");
  FAILS(CREATE(3, &scale, 4), HRX_INVALID, HRX_REASON_ARGUMENT, "2 bindings, not 3");
  FAILS(CREATE(2, &scale, 3), HRX_INVALID, HRX_REASON_ARGUMENT, "4 bytes of constants, not 3");
  FAILS(CREATE(2, NULL, 4), HRX_INVALID, HRX_REASON_ARGUMENT, "4 bytes of constants, not 0");
  bindings[0].address = bytes + 32; /* of the absolute address: 64 is asked for */
  FAILS(CREATE(2, &scale, 4), HRX_INVALID, HRX_REASON_ARGUMENT, "binding 0 (io)");
  bindings[0] = (struct npu_binding){bytes, 0};
  FAILS(CREATE(2, &scale, 4), HRX_INVALID, HRX_REASON_ARGUMENT, "binding 0 (io) has too few");
  bindings[0] = (struct npu_binding){bytes, 256};
  bindings[1] = (struct npu_binding){bytes + 256, 768};
  OK(CREATE(2, &scale, 4)); /* to the last byte */
  npu_invocation_release(invocation);
  invocation = NULL;
  bindings[1].bytes = 769;
  FAILS(CREATE(2, &scale, 4), HRX_INVALID, HRX_REASON_POINTER, "binding 1 (in)");
  bindings[1].bytes = SIZE_MAX; /* wraps */
  FAILS(CREATE(2, &scale, 4), HRX_INVALID, HRX_REASON_POINTER, "longer");
  bindings[1] = (struct npu_binding){NULL, 4};
  FAILS(CREATE(2, &scale, 4), HRX_INVALID, HRX_REASON_POINTER, "binding 1 (in)");
  struct npu_binding odd = {bytes, 63};
  FAILS(npu_invocation_create(exact, &odd, 1, NULL, 0, &invocation), HRX_INVALID, HRX_REASON_ARGUMENT, "63, not 64");
  ck_assert_ptr_null(invocation);
  npu_program_release(program);
  npu_program_release(exact);
}
END_TEST

START_TEST(shared_memory_is_imported_once_and_must_be) {
  struct npu_program *program = load(GOOD, "count");
  struct allocation *shared = NULL;
  OK(memory_allocate(memory, 8192, 256, MEMORY_DEVICE, 0, 0, &shared));
  void *address = (void *)shared->address;
  memset(address, 0, 8192);
  struct npu_binding binding = {(char *)address + 4096, 4};
  struct npu_invocation *invocation = NULL;
  FAILS(npu_invocation_create(program, &binding, 1, NULL, 0, &invocation), HRX_INVALID, HRX_REASON_POINTER, "binding 0 (out)");
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "imported"));
  struct npu_import *imports[3];
  OK(npu_import(device, address, 16, &imports[0]));
  OK(npu_import(device, (char *)address + 8000, 192, &imports[1])); /* another part of the same storage */
  OK(npu_import(device, address, 8192, &imports[2]));
  ck_assert_uint_eq(counted().imports, 1);
  ck_assert_uint_eq(counted().imported_bytes, 8192);
  npu_import_release(imports[0]);
  npu_import_release(imports[1]);
  OK(npu_invocation_create(program, &binding, 1, NULL, 0, &invocation));
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  ck_assert_uint_eq(((uint32_t *)address)[1024], 1);
  npu_invocation_release(invocation);
  npu_import_release(imports[2]);
  ck_assert_int_eq(npu_invocation_create(program, &binding, 1, NULL, 0, &invocation), HRX_INVALID);
  OK(npu_import(device, address, 8192, &imports[0]));
  ck_assert_uint_eq(counted().imports, 2); /* it was really gone */
  npu_import_release(imports[0]);
  npu_program_release(program);
}
END_TEST

START_TEST(only_memory_of_the_domain_can_be_imported) {
  struct npu_import *import = NULL;
  static int here;
  FAILS(npu_import(device, &here, sizeof here, &import), HRX_INVALID, HRX_REASON_POINTER, "no memory of this domain");
  FAILS(npu_import(device, local(64), 64, &import), HRX_INVALID, HRX_REASON_POINTER, "needs no import");
  struct allocation *shared = NULL;
  OK(memory_allocate(memory, 4096, 256, MEMORY_HOST, 0, 0, &shared));
  void *address = (void *)shared->address;
  FAILS(npu_import(device, address, 4097, &import), HRX_INVALID, HRX_REASON_POINTER, "longer");
  FAILS(npu_import(device, address, 0, &import), HRX_INVALID, HRX_REASON_POINTER, "empty");
  /* freed under its import, and another one in its place */
  OK(npu_import(device, address, 64, &import));
  memory_free(memory, shared);
  OK(memory_allocate(memory, 4096, 256, MEMORY_HOST, 0, 0, &shared));
  if ((void *)shared->address == address)
    FAILS(npu_cache(device, address, 64, NPU_CACHE_TO_DEVICE), HRX_INVALID, HRX_REASON_POINTER, "freed before");
  npu_import_release(import);
}
END_TEST

START_TEST(local_memory_is_zero_limited_and_closed_to_gpu_kernels) {
  struct allocation *allocation = NULL, *second = NULL;
  OK(npu_allocate(device, 1 << 20, 1 << 16, &allocation));
  ck_assert_uint_eq(allocation->access, 0);
  ck_assert_uint_eq(allocation->address % (1 << 16), 0);
  memset((void *)allocation->address, 0xa5, 1 << 20);
  npu_free(device, allocation);
  OK(npu_allocate(device, 1 << 20, 1 << 16, &allocation)); /* the same pages again */
  static const unsigned char zero[1 << 20];
  ck_assert_int_eq(memcmp((void *)allocation->address, zero, sizeof zero), 0);
  ck_assert_uint_eq(counted().local_bytes, 1 << 20);
  size_t rest = (size_t)device->properties.memory_bytes - (1 << 20);
  FAILS(npu_allocate(device, rest + 1, 0, &second), HRX_OUT_OF_MEMORY, HRX_REASON_NONE, "1048576 of 67108864");
  OK(npu_allocate(device, rest, 0, &second));
  npu_free(device, second);
  ck_assert_uint_eq(counted().local_peak, 64 << 20);
  FAILS(npu_allocate(device, 0, 0, &second), HRX_INVALID, HRX_REASON_ARGUMENT, "0 bytes");
  FAILS(npu_allocate(device, 8, 3000, &second), HRX_INVALID, HRX_REASON_ARGUMENT, "3000");
  ck_assert_uint_eq(counted().local_bytes, 1 << 20);
  struct memory_statistics of_gpu;
  memory_statistics(memory, &of_gpu);
  ck_assert_uint_eq(of_gpu.used, 0); /* nothing charged to the GPU */

  struct npu_device *other = NULL;
  OK(npu_soft_create(memory, &other));
  FAILS(npu_cache(other, (void *)allocation->address, 4, NPU_CACHE_TO_DEVICE), HRX_INVALID, HRX_REASON_POINTER, "another device");
  npu_device_release(other);
  OK(npu_cache(device, (void *)allocation->address, 100, NPU_CACHE_TO_DEVICE));
  OK(npu_cache(device, (char *)allocation->address + 7, 23, NPU_CACHE_FROM_DEVICE));
  ck_assert_uint_eq(counted().maintained_bytes, 123);
  ck_assert(device->properties.coherent);
}
END_TEST

START_TEST(invocation_runs_again_with_other_buffers_and_constants) {
  struct npu_program *program = load(GOOD, "scale");
  uint32_t *bytes = local(4096), scale = 3;
  for (uint32_t i = 0; i < 16; i++) bytes[512 + i] = i + 1;
  struct npu_binding bindings[] = {{bytes, 64}, {bytes + 512, 64}};
  struct npu_invocation *invocation = NULL;
  OK(npu_invocation_create(program, bindings, 2, &scale, sizeof scale, &invocation));
  scale = 0; /* it was copied */
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  for (uint32_t i = 0; i < 16; i++) ck_assert_uint_eq(bytes[i], 6 * (i + 1));
  void *elsewhere[] = {bytes + 256, bytes + 512};
  OK(npu_invocation_rebind(invocation, elsewhere, 2));
  scale = 10;
  OK(npu_invocation_constants(invocation, &scale, sizeof scale));
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK);
  for (uint32_t i = 0; i < 16; i++) ck_assert_uint_eq(bytes[256 + i], 10 * (i + 1));
  void *unaligned[] = {bytes, (char *)bytes + 2}, *outside[] = {bytes, bytes + 1012};
  FAILS(npu_invocation_rebind(invocation, unaligned, 2), HRX_INVALID, HRX_REASON_ARGUMENT, "binding 1 (in)");
  FAILS(npu_invocation_rebind(invocation, outside, 2), HRX_INVALID, HRX_REASON_POINTER, "binding 1 (in)");
  FAILS(npu_invocation_rebind(invocation, elsewhere, 1), HRX_INVALID, HRX_REASON_ARGUMENT, "2 bindings");
  FAILS(npu_invocation_constants(invocation, &scale, 2), HRX_INVALID, HRX_REASON_ARGUMENT, "constants");
  ck_assert_int_eq(invocation_run(invocation).status, HRX_OK); /* as before the refusals */
  for (uint32_t i = 0; i < 16; i++) ck_assert_uint_eq(bytes[256 + i], 20 * (i + 1));
  npu_invocation_release(invocation);
  npu_program_release(program);
}
END_TEST

START_TEST(run_that_fails_says_its_code_and_the_device_goes_on) {
  struct npu_program *program = load(GOOD, "fail"), *count = load(GOOD, "count");
  uint32_t *bytes = local(64);
  struct npu_invocation *failing = invocation_of_one(program, bytes, 4), *counting = invocation_of_one(count, bytes + 8, 4);
  for (int i = 0; i < 2; i++) {
    struct failure failure = invocation_run(failing);
    ck_assert_int_eq(failure.status, HRX_EXECUTION);
    ck_assert_ptr_nonnull(strstr(failure.message, "npu_good.so"));
    ck_assert_ptr_nonnull(strstr(failure.message, "kernel fail failed with code 42: there was no question"));
    ck_assert_int_eq(invocation_run(counting).status, HRX_OK);
  }
  ck_assert_uint_eq(bytes[8], 2);
  ck_assert_uint_eq(counted().failed, 2);
  ck_assert_uint_eq(counted().completed, 2);
  npu_invocation_release(failing);
  npu_invocation_release(counting);
  npu_program_release(program);
  npu_program_release(count);
}
END_TEST

struct gate {
  uint32_t *state;
  struct npu_invocation *invocation;
  struct outcome outcome;
};

/* A run that is inside its kernel and stays there until gate_open. */
static void gate_start(struct gate *gate, struct npu_program *program) {
  gate->state = local(64);
  gate->invocation = invocation_of_one(program, gate->state, 64);
  npu_invocation_start(gate->invocation, outcome_note, &gate->outcome);
  while (__atomic_load_n(&gate->state[1], __ATOMIC_SEQ_CST) == 0) sched_yield();
}

static void gate_open(struct gate *gate) {
  __atomic_store_n(&gate->state[0], 1, __ATOMIC_SEQ_CST);
  outcome_wait(&gate->outcome, 1);
}

START_TEST(cancelled_before_it_ran_is_skipped_and_what_runs_drains) {
  struct npu_program *program = load(GOOD, "gate"), *count = load(GOOD, "count");
  struct gate gate = {0};
  gate_start(&gate, program);
  uint32_t *counter = local(4);
  struct npu_invocation *first = invocation_of_one(count, counter, 4), *second = invocation_of_one(count, counter, 4);
  struct outcome of_first = {0}, of_second = {0};
  npu_invocation_start(first, outcome_note, &of_first);
  npu_invocation_start(second, outcome_note, &of_second);
  npu_invocation_cancel(first);
  npu_invocation_cancel(first);           /* twice is once */
  npu_invocation_cancel(gate.invocation); /* runs: it goes to its end */
  void *address = counter;
  FAILS(npu_invocation_rebind(second, &address, 1), HRX_BUSY, HRX_REASON_LIVE, "count");
  FAILS(npu_invocation_constants(second, NULL, 0), HRX_BUSY, HRX_REASON_LIVE, "count");
  ck_assert_uint_eq(atomic_load(&of_first.calls), 0);
  gate_open(&gate);
  outcome_wait(&of_second, 1);
  ck_assert_int_eq(gate.outcome.failure.status, HRX_OK);
  ck_assert_int_eq(of_first.failure.status, HRX_CANCELLED);
  ck_assert_int_eq(of_second.failure.status, HRX_OK);
  ck_assert_uint_eq(*counter, 1);
  ck_assert_uint_eq(counted().cancelled, 1);
  npu_invocation_cancel(first); /* not started: nothing to cancel, also not later */
  ck_assert_int_eq(invocation_run(first).status, HRX_OK);
  ck_assert_uint_eq(*counter, 2);
  npu_invocation_release(gate.invocation);
  npu_invocation_release(first);
  npu_invocation_release(second);
  npu_program_release(program);
  npu_program_release(count);
}
END_TEST

struct chain {
  struct npu_invocation *invocation;
  _Atomic uint32_t left;
};

static void chain_next(void *context, const struct failure *failure) {
  struct chain *chain = context;
  ck_assert_ptr_null(failure);
  if (atomic_load(&chain->left) > 1) npu_invocation_start(chain->invocation, chain_next, chain);
  else npu_invocation_release(chain->invocation);
  atomic_fetch_sub(&chain->left, 1);
  futex_wake(&chain->left, 1);
}

START_TEST(invocation_belongs_to_the_caller_inside_done) {
  struct npu_program *program = load(GOOD, "count");
  uint32_t *counter = local(4);
  struct chain chain = {.invocation = invocation_of_one(program, counter, 4), .left = 1000};
  npu_program_release(program); /* goes when the last run releases its invocation */
  /* the shape in which the engine starts and cancels any device's work */
  void (*start)(void *, gpu_done, void *) = npu_invocation_start;
  void (*cancel)(void *) = npu_invocation_cancel;
  cancel(chain.invocation);
  start(chain.invocation, chain_next, &chain);
  for (uint32_t left; (left = atomic_load(&chain.left)) != 0;) futex_wait(&chain.left, left, UINT64_MAX);
  ck_assert_uint_eq(*counter, 1000);
}
END_TEST

enum { THREADS = 8, ROUNDS = 50, BATCH = 20 };
static struct npu_program *counting;
static uint32_t *counter;

static void *starter(void *context) {
  struct npu_invocation *invocations[BATCH];
  struct outcome outcome = {0};
  (void)context;
  for (int i = 0; i < BATCH; i++) invocations[i] = invocation_of_one(counting, counter, 4);
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    for (int i = 0; i < BATCH; i++) npu_invocation_start(invocations[i], outcome_note, &outcome);
    outcome_wait(&outcome, round * BATCH);
  }
  for (int i = 0; i < BATCH; i++) npu_invocation_release(invocations[i]);
  return NULL;
}

START_TEST(eight_threads_start_and_one_runs_at_a_time) {
  counting = load(GOOD, "count");
  counter = local(4);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, starter, NULL), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  ck_assert_uint_eq(*counter, THREADS * ROUNDS * BATCH);
  ck_assert_uint_eq(counted().completed, THREADS * ROUNDS * BATCH);
  npu_program_release(counting);
}
END_TEST

START_TEST(release_of_the_device_waits_for_what_was_started) {
  struct npu_device *kept = device;
  OK(npu_soft_create(memory, &device));
  struct npu_program *program = load(GOOD, "count");
  struct allocation *shared = NULL;
  OK(memory_allocate(memory, 64, 256, MEMORY_HOST, 0, 0, &shared));
  memset((void *)shared->address, 0, 64);
  struct npu_import *import = NULL;
  OK(npu_import(device, (void *)shared->address, 64, &import));
  struct chain chains[30];
  for (int i = 0; i < 30; i++) {
    chains[i] = (struct chain){.invocation = invocation_of_one(program, (void *)shared->address, 4), .left = 1};
    npu_invocation_start(chains[i].invocation, chain_next, &chains[i]);
  }
  npu_program_release(program);
  npu_import_release(import);
  npu_device_release(device);
  ck_assert_uint_eq(*(uint32_t *)shared->address, 30);
  for (int i = 0; i < 30; i++) ck_assert_uint_eq(atomic_load(&chains[i].left), 0);
  device = kept;
  npu_device_release(NULL);
  npu_program_release(NULL);
  npu_invocation_release(NULL);
  npu_import_release(NULL);
  npu_free(device, NULL);
}
END_TEST

/* In the child: 0 if all work is refused and all releases work. */
static int child_tries(struct npu_program *program, struct npu_invocation *invocation, uint32_t *local_counter) {
  struct outcome outcome = {0};
  npu_invocation_start(invocation, outcome_note, &outcome);
  if (atomic_load(&outcome.calls) != 1 || outcome.failure.status != HRX_DEVICE_LOST) return 1;
  struct npu_program *again = NULL;
  struct npu_invocation *another = NULL;
  struct npu_import *import = NULL;
  struct allocation *allocation = NULL;
  struct npu_binding binding = {local_counter, 4};
  void *address = local_counter;
  if (load_file(GOOD, "count", 1, &again) != HRX_DEVICE_LOST) return 2;
  if (npu_invocation_create(program, &binding, 1, NULL, 0, &another) != HRX_DEVICE_LOST) return 3;
  if (npu_import(device, local_counter, 4, &import) != HRX_DEVICE_LOST) return 4;
  if (npu_allocate(device, 64, 0, &allocation) != HRX_DEVICE_LOST) return 5;
  if (npu_invocation_rebind(invocation, &address, 1) != HRX_DEVICE_LOST) return 6;
  if (strstr(hrx_last_message(), "fork") == NULL) return 7;
  npu_invocation_release(invocation);
  npu_program_release(program);
  npu_device_release(device);
  memory_release(memory);
  return 0;
}

/* Forked while another run is inside its kernel and one waits. */
START_TEST(child_of_fork_refuses_and_the_parent_goes_on) {
  struct npu_program *program = load(GOOD, "gate"), *count = load(GOOD, "count");
  uint32_t *local_counter = local(4);
  struct npu_invocation *idle = invocation_of_one(count, local_counter, 4), *waits = invocation_of_one(count, local_counter, 4);
  struct gate gate = {0};
  struct outcome outcome = {0};
  gate_start(&gate, program);
  npu_invocation_start(waits, outcome_note, &outcome);
  npu_fork_prepare(device);
  memory_fork_prepare(memory);
  pid_t child = fork();
  memory_fork_done(memory);
  npu_fork_done(device, child == 0);
  if (child == 0) _exit(child_tries(count, idle, local_counter));
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  gate_open(&gate);
  outcome_wait(&outcome, 1);
  ck_assert_int_eq(outcome.failure.status, HRX_OK);
  ck_assert_int_eq(invocation_run(idle).status, HRX_OK);
  ck_assert_uint_eq(*local_counter, 2);
  npu_invocation_release(idle);
  npu_invocation_release(waits);
  npu_invocation_release(gate.invocation);
  npu_program_release(program);
  npu_program_release(count);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("npu_soft");
  TCase *rules = tcase_create("device");
  tcase_add_checked_fixture(rules, device_setup, device_teardown);
  tcase_add_test(rules, what_is_no_program_is_refused_and_says_why);
  tcase_add_test(rules, kernel_that_breaks_a_limit_is_refused_and_its_neighbours_are_not);
  tcase_add_test(rules, cut_and_damaged_bytes_are_refused);
  tcase_add_test(rules, info_is_what_the_program_says);
  tcase_add_loop_test(rules, program_of_either_language_gets_a_call_as_promised, 0, 2);
  tcase_add_test(rules, programs_from_memory_are_told_apart);
  tcase_add_test(rules, binding_that_breaks_the_contract_is_named);
  tcase_add_test(rules, shared_memory_is_imported_once_and_must_be);
  tcase_add_test(rules, only_memory_of_the_domain_can_be_imported);
  tcase_add_test(rules, local_memory_is_zero_limited_and_closed_to_gpu_kernels);
  tcase_add_test(rules, invocation_runs_again_with_other_buffers_and_constants);
  tcase_add_test(rules, run_that_fails_says_its_code_and_the_device_goes_on);
  tcase_add_test(rules, cancelled_before_it_ran_is_skipped_and_what_runs_drains);
  tcase_add_test(rules, invocation_belongs_to_the_caller_inside_done);
  tcase_add_test(rules, eight_threads_start_and_one_runs_at_a_time);
  tcase_add_test(rules, release_of_the_device_waits_for_what_was_started);
  tcase_add_test(rules, child_of_fork_refuses_and_the_parent_goes_on);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
