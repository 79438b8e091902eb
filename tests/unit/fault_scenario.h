/* Runs a scenario again and again, each time in a fresh process with another request failing, and judges what comes of it.
 *
 * A scenario is a list of units over a scene. A unit is a function that makes calls by STEP, OUT, VALUE and LATER, each of
 * which goes to its label `over` when it gives up. Three ways to go on after the failure:
 *   again    only that one request fails. A call that failed is made once more and must succeed then; a unit whose LATER failed
 *            is run once more.
 *   abandon  only that one request fails, and everything is released where the scenario stands.
 *   forever  all requests behind it fail too, also during the release.
 * Then the whole scenario must succeed in the same process, and leave nothing behind that two runs without a fault would not.
 *
 * How many requests are tried: FAULT_EVERY=1 tries each; the default is a sample. FAULT_ONLY="memory again 17" tries one, in this
 * process, for a debugger. */
#ifndef HRX_TESTS_UNIT_FAULT_SCENARIO_H
#define HRX_TESTS_UNIT_FAULT_SCENARIO_H

#include <check.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "fault_injection.h"

/* A domain that lives as long as the process keeps pools, whose size depends a little on timing: the limit is the highest level of
 * some processes, and what is above it must be so each time. */
enum { FAULT_FAILURES_MOST = 40, FAULT_PROCESSES_WITHOUT = 4, FAULT_TRIES = 3 };
enum fault_mode { FAULT_AGAIN, FAULT_ABANDON, FAULT_FOREVER, FAULT_MODES };
static const char *const fault_mode_names[] = {"again", "abandon", "forever"};

struct scenario {
  const char *name;
  void *scene;                             /* as it is before the first unit: copied over the live one */
  size_t scene_bytes;
  bool (*const *units)(void);              /* ends with NULL; true: it did all */
  void (*release)(void);                   /* of whatever of the scene is there */
  bool (*accepts)(int status, bool later); /* whether a call may fail like that; says why not on stderr */
  void (*before)(void);                    /* before each call; may be NULL */
  bool pools;                              /* something lives on that keeps what it once needed: only what grows is a leak */
};

static const struct scenario *scenario;
static enum fault_mode fault_mode;
static bool fault_reported; /* a call has failed */
static const char *fault_reported_by = "";
static int fault_line;      /* of the last call, for the watchdog */

#define FATAL(...)                         \
  do {                                     \
    fprintf(stderr, __VA_ARGS__);          \
    fprintf(stderr, " (line %d)\n", fault_line); \
    _exit(1);                              \
  } while (0)

#define MUST(condition)                          \
  do {                                           \
    fault_line = __LINE__;                       \
    if (!(condition)) FATAL("not so: %s", #condition); \
  } while (0)

static inline void call_begins(int line) {
  fault_line = line;
  if (scenario->before != NULL) scenario->before();
}

/* Judges the failure of a call. True: make it again. */
static inline bool call_failed(int status, const char *call, bool later) {
  if (!atomic_load(&fault.fired)) FATAL("%s fails with %d (%s) though nothing was made to fail", call, status, hrx_last_message());
  if (fault_mode == FAULT_AGAIN && fault_reported) FATAL("%s fails with %d (%s) after %s reported the failure", call, status, hrx_last_message(), fault_reported_by);
  if (!scenario->accepts(status, later)) FATAL("%s fails with %d", call, status);
  fault_reported = true;
  fault_reported_by = call;
  return fault_mode == FAULT_AGAIN && !later;
}

/* A call whose failure is its own, and changes nothing. */
#define STEP(call)                                                \
  do {                                                            \
    call_begins(__LINE__);                                        \
    int status_ = (int)(call);                                    \
    if (status_ != 0 && call_failed(status_, #call, false)) {     \
      status_ = (int)(call);                                      \
      if (status_ != 0) FATAL("%s fails again: %d", #call, status_); \
    }                                                             \
    if (status_ != 0) goto over;                                  \
  } while (0)

/* And that writes `out` on success only. A pointer is NULL after a failure that was given up on. */
#define VALUE(out, before, after, call)                           \
  do {                                                            \
    call_begins(__LINE__);                                        \
    (out) = (before);                                             \
    int status_ = (int)(call);                                    \
    if (status_ != 0) {                                           \
      if ((out) != (before)) FATAL("%s fails and writes %s", #call, #out); \
      (out) = (after);                                            \
      if (call_failed(status_, #call, false)) {                   \
        status_ = (int)(call);                                    \
        if (status_ != 0) FATAL("%s fails again: %d", #call, status_); \
      }                                                           \
    }                                                             \
    if (status_ != 0) goto over;                                  \
  } while (0)
#define OUT(out, call) VALUE(out, (__typeof__(out))(uintptr_t)0x5a5a5a5a5a50, NULL, call)

/* A call that reports what became of earlier ones. */
#define LATER(call)                                  \
  do {                                               \
    call_begins(__LINE__);                           \
    int status_ = (int)(call);                       \
    if (status_ != 0) {                              \
      call_failed(status_, #call, true);             \
      goto over;                                     \
    }                                                \
  } while (0)

/* --- one process --- */

static inline void scenario_run(void) {
  static unsigned char untouched[4096];
  if (scenario->scene_bytes > sizeof untouched) FATAL("the scene is larger than %zu bytes", sizeof untouched);
  memcpy(untouched, scenario->scene, scenario->scene_bytes);
  fault_reported = false;
  bool done = true;
  for (unsigned i = 0; done && scenario->units[i] != NULL; i++) {
    done = scenario->units[i]();
    if (!done && !fault_reported) FATAL("unit %u gives up for no reason", i);
    if (!done && fault_mode == FAULT_AGAIN) done = scenario->units[i]();
    if (!done && fault_mode == FAULT_AGAIN) FATAL("unit %u gives up again", i);
  }
  scenario->release();
  memcpy(scenario->scene, untouched, scenario->scene_bytes);
}

static inline bool level_within(struct fault_level level, struct fault_level limit) {
  return level.blocks <= limit.blocks && level.mapped <= limit.mapped && level.descriptors <= limit.descriptors;
}

/* Runtimes end on a thread of the library: until nothing is live that was not before, or `wait_ns` have passed. */
static inline bool level_reached(struct fault_level limit, uint64_t wait_ns) {
  uint64_t deadline = time_now_ns() + wait_ns;
  while (!level_within(fault_level(), limit))
    if (time_now_ns() >= deadline)
      return false;
    else
      sched_yield();
  return true;
}

/* The lowest level within a fifth of a second. */
static inline struct fault_level level_settled(void) {
  struct fault_level lowest = fault_level();
  uint64_t deadline = time_now_ns() + 200000000;
  while (time_now_ns() < deadline) {
    struct fault_level level = fault_level();
    if (level_within(level, lowest)) lowest = level;
    sched_yield();
  }
  return lowest;
}

static void watchdog(int number) {
  char text[] = "hangs in or behind line 00000\n";
  int line = fault_line;
  for (size_t at = sizeof text - 3; line != 0; line /= 10) text[at--] = (char)('0' + line % 10);
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  signal(number, SIG_DFL);
  raise(number);
}

struct report {
  struct fault_level level;
  uint64_t requests[FAULT_KINDS];
  bool fired, reported, left; /* `left`: all that is wrong is what is left behind */
};

/* Without a fault, twice: what is live then is what a process keeps. */
static inline void process_without(struct report *out_report) {
  fault_watch();
  fault_arm(FAULT_MEMORY, 0, false); /* only counts: requests begin at 1 */
  scenario_run();
  fault_disarm();
  for (int i = 0; i < FAULT_KINDS; i++) out_report->requests[i] = atomic_load(&fault.requests[i]);
  level_settled();
  scenario_run();
  out_report->level = level_settled();
}

static inline void process_with(enum fault_kind kind, enum fault_mode mode, uint64_t at, struct fault_level limit, struct report *out_report) {
  fault_watch();
  fault_mode = mode;
  fault_arm(kind, at, mode == FAULT_FOREVER);
  scenario_run();
  fault_disarm();
  out_report->reported = fault_reported;
  if ((out_report->fired = atomic_load(&fault.fired))) {
    atomic_store(&fault.fired, false); /* from now on nothing may fail */
    scenario_run();
  }
  if (level_reached(limit, 3000000000)) return;
  if (scenario->pools) {
    struct fault_level first = level_settled();
    for (int i = 0; i < FAULT_TRIES; i++) {
      fault_arm(kind, at, mode == FAULT_FOREVER);
      scenario_run();
      fault_disarm();
      atomic_store(&fault.fired, false);
      scenario_run();
    }
    first.blocks += FAULT_TRIES - 1; /* a leak is one block each time */
    if (level_reached(first, 3000000000)) return;
  }
  out_report->left = true;
  struct fault_level level = fault_level();
  fprintf(stderr, "left behind: %llu blocks (%llu without a fault), %llu bytes mapped (%llu), %llu descriptors (%llu)\n",
          (unsigned long long)level.blocks, (unsigned long long)limit.blocks, (unsigned long long)level.mapped,
          (unsigned long long)limit.mapped, (unsigned long long)level.descriptors, (unsigned long long)limit.descriptors);
  fault_blocks_print(0);
  FATAL("a leak");
}

/* --- all of them --- */

static inline unsigned long number_from(const char *name, unsigned long otherwise) {
  const char *text = getenv(name);
  return text != NULL && atol(text) > 0 ? (unsigned long)atol(text) : otherwise;
}

static struct report *shared_report;

/* Runs in a child that has only the report in common with this process. False, and a line on stderr, if it did not end well. */
static inline bool in_child(void (*run)(void *), void *context, const char *what) {
  fflush(NULL);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    signal(SIGALRM, watchdog);
    alarm((unsigned)number_from("FAULT_SECONDS", 60));
    run(context);
    _exit(0);
  }
  int outcome = 0;
  while (waitpid(child, &outcome, 0) < 0) {
  }
  if (outcome == 0) return true;
  fprintf(stderr, "^ %s: %s: %s %d\n", scenario->name, what, WIFSIGNALED(outcome) ? "signal" : "exit status",
          WIFSIGNALED(outcome) ? WTERMSIG(outcome) : WEXITSTATUS(outcome));
  return false;
}

struct trial {
  enum fault_kind kind;
  enum fault_mode mode;
  uint64_t at;
  struct fault_level limit;
};

static void trial_run(void *context) {
  const struct trial *trial = context;
  process_with(trial->kind, trial->mode, trial->at, trial->limit, shared_report);
}

static void trial_without(void *context) {
  (void)context;
  process_without(shared_report);
}

/* The level that a process without faults ends at, and how many requests a scenario makes. */
static inline struct report without_faults(void) {
  if (shared_report == NULL) {
    shared_report = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared_report, MAP_FAILED);
  }
  static struct report report;
  static const struct scenario *of;
  if (of != scenario) {
    struct fault_level highest = {0};
    for (int i = 0; i < FAULT_PROCESSES_WITHOUT; i++) {
      ck_assert(in_child(trial_without, NULL, "without a fault"));
      const struct fault_level *level = &shared_report->level;
      if (level->blocks > highest.blocks) highest.blocks = level->blocks;
      if (level->mapped > highest.mapped) highest.mapped = level->mapped;
      if (level->descriptors > highest.descriptors) highest.descriptors = level->descriptors;
    }
    report = *shared_report;
    report.level = highest;
    of = scenario;
  }
  return report;
}

/* Each `every`-th request of a kind fails, until there are no more. Each of the modes has its turn. */
static inline void faults_try(enum fault_kind kind, unsigned long sample) {
  unsigned long every = number_from("FAULT_EVERY", sample);
  struct report without = without_faults();
  unsigned tried = 0, reported = 0, failed = 0;
  for (uint64_t at = 1, i = 0;; at += every, i++) {
    bool fired = false;
    for (int mode = 0; mode < FAULT_MODES; mode++) {
      if (every > 1 && i % FAULT_MODES != (unsigned)mode) continue;
      if (kind == FAULT_LOST && mode == FAULT_AGAIN) continue; /* what the failed work may have written is lost */
      struct trial trial = {kind, (enum fault_mode)mode, at, without.level};
      char what[200];
      snprintf(what, sizeof what, "FAULT_ONLY=\"%s %s %llu\"", fault_kind_names[kind], fault_mode_names[mode], (unsigned long long)at);
      bool good = false;
      for (int try = 0; !good && try < FAULT_TRIES; try++) {
        *shared_report = (struct report){.fired = false};
        good = in_child(trial_run, &trial, what);
        if (!good && !shared_report->left) break;
      }
      if (!good) {
        ck_assert_msg(++failed < FAULT_FAILURES_MOST, "%u failures, and more may follow", failed);
        fired = true;
      }
      fired |= shared_report->fired;
      reported += shared_report->reported;
      tried++;
    }
    if (!fired && (every == 1 || at > without.requests[kind])) break;
  }
  fprintf(stderr, "%s: %s: %llu requests without a fault; %u runs with one, %u of which a call reported\n", scenario->name,
          fault_kind_names[kind], (unsigned long long)without.requests[kind], tried, reported);
  ck_assert_uint_eq(failed, 0);
}

/* FAULT_ONLY, in this process. */
static inline void fault_only(void) {
  const char *only = getenv("FAULT_ONLY");
  char kind[16], mode[16];
  unsigned long at = 0;
  struct report without = without_faults(), report = {.fired = false};
  ck_assert_int_eq(sscanf(only, "%15s %15s %lu", kind, mode, &at), 3);
  for (int i = 0; i < FAULT_KINDS; i++)
    for (int j = 0; j < FAULT_MODES; j++)
      if (strcmp(kind, fault_kind_names[i]) == 0 && strcmp(mode, fault_mode_names[j]) == 0)
        process_with((enum fault_kind)i, (enum fault_mode)j, at, without.level, &report);
  fprintf(stderr, "%s: %s\n", only,
          report.reported ? "failed and was reported" : report.fired ? "failed, and nobody was told" : "was not reached");
  if (report.fired) fprintf(stderr, "  %s at %#zx\n", fault.name, (size_t)fault_site_offset(fault.site));
}

/* `only` instead of the tests if FAULT_ONLY is set. */
static inline int faults_run(const char *name, void (*setup)(void), void (*teardown)(void), const TTest *only, const TTest *const *tests) {
  Suite *suite = suite_create(name);
  setenv("HRX_LOG", "error", 0); /* that a thread could not be started is what is wanted here */
  const TTest *const alone[] = {only, NULL};
  if (getenv("FAULT_ONLY") != NULL) tests = alone;
  for (; *tests != NULL; tests++) { /* a case each: CK_RUN_CASE picks one */
    TCase *one = tcase_create((*tests)->name);
    tcase_add_unchecked_fixture(one, setup, teardown);
    tcase_add_test(one, *tests);
    suite_add_tcase(suite, one);
  }
  SRunner *runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK); /* each try has a process of its own */
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

#endif
