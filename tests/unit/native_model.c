/* Random programs of the public interface on the software devices, against the same operations done one after the other
 * (include/native_program.h says what they do).
 *
 * NATIVE_MODEL_PROGRAMS says how many (default 3,000), NATIVE_MODEL_SEED where to begin. A seed that failed fails alone. */
#include <pthread.h>
#include <signal.h>

#include "include/native_program.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { PROGRAMS = 500 };
#else
enum { PROGRAMS = 3000 };
#endif
enum { A_MACHINE = 30, WORLDS = 2, PATIENCE_S = 120 };

static _Atomic unsigned long current[WORLDS];

static void hangs(int signal) {
  char text[80];
  int length = snprintf(text, sizeof text, "seed %lu or %lu hangs\n", current[0], current[1]);
  if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(2);
  (void)signal;
  abort();
}

struct run_of_worlds {
  struct world world;
  unsigned index;
  unsigned long first, count;
};

static void *programs_run(void *context) {
  struct run_of_worlds *run = context;
  for (unsigned long i = 0; i < run->count; i++) {
    run->world.seed = run->first + i;
    run->world.decisions.state = run->world.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    atomic_store(&current[run->index], run->world.seed);
    alarm(PATIENCE_S);
    program_run(&run->world);
  }
  return NULL;
}

/* Programs `first` and on, in one runtime: by one thread, or by two at once, each with buffers of its own. */
static void machine_run(unsigned long first, unsigned long count) {
  static struct run_of_worlds runs[WORLDS];
  struct machine machine;
  struct decisions decisions = {.state = first * UINT64_C(0xd1342543de82ef95) + 3};
  runs[0].world = (struct world){.seed = first, .decisions = decisions};
  machine_init(&machine, &runs[0].world, 64);
  unsigned worlds = count > 1 && pick(&runs[0].world, 4) == 0 ? 2 : 1;
  machine.shared = worlds > 1;
  pthread_t threads[WORLDS];
  for (unsigned i = 0; i < worlds; i++) {
    runs[i].index = i;
    runs[i].first = first + i * (count / worlds);
    runs[i].count = i + 1 < worlds ? count / worlds : count - i * (count / worlds);
    runs[i].world.seed = runs[i].first;
    world_init(&runs[i].world, &machine);
  }
  if (worlds == 2 && pthread_create(&threads[1], NULL, programs_run, &runs[1]) != 0) wrong(&runs[1].world, "no thread");
  programs_run(&runs[0]);
  if (worlds == 2) pthread_join(threads[1], NULL);
  for (unsigned i = 0; i < worlds; i++) world_finish(&runs[i].world);
  hrx_statistics statistics = {.size = sizeof statistics};
  must(&runs[0].world, hrx_runtime_statistics(machine.runtime, &statistics), "statistics");
  if (statistics.submissions != statistics.completions || statistics.completions_failed != 0)
    wrong(&runs[0].world, "%llu submissions, %llu completions, %llu failed", (unsigned long long)statistics.submissions,
          (unsigned long long)statistics.completions, (unsigned long long)statistics.completions_failed);
  machine_finish(&machine);
}

int main(void) {
  const char *many = getenv("NATIVE_MODEL_PROGRAMS"), *where = getenv("NATIVE_MODEL_SEED");
  unsigned long left = many != NULL ? strtoul(many, NULL, 10) : PROGRAMS, seed = where != NULL ? strtoul(where, NULL, 10) : 1;
  signal(SIGALRM, hangs);
  for (unsigned long count; left > 0; left -= count, seed += count) {
    count = A_MACHINE - seed % A_MACHINE;
    if (count > left) count = left;
    machine_run(seed, count);
  }
  printf("programs up to seed %lu did what the model says\n", seed - 1);
  return 0;
}
