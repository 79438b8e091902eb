#!/bin/sh
# Every way in: linked, opened by either name, found without opening, deep-bound plugins, libraries that bring kernels, plugins that come
# and go, constructors, exit, fork, exec, signals, first calls of many threads. By the preload with the folder in front, as `hrx run` does.
set -eu
B=${B:-build}
CC=${CC:-gcc}
HIPCC=${HIPCC:-hipcc}
[ -f "$B/lib/libhrx_interpose.so" ] && [ -d "$B/lib/hip" ] || { echo "hrx is not built"; exit 77; }
# sanitizers refuse RTLD_DEEPBIND and count what plugins leave
[ -z "${SANITIZER:-}" ] || { echo "the loading matrix is not run under sanitizers"; exit 77; }
lib=$(realpath "$B/lib")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
ld="-L$lib/hip -l:libamdhip64.so.5"

cat >"$work/kernels.hip" <<'C'
#include <hip/hip_runtime.h>
__global__ void plus(int *at, int value) { at[threadIdx.x] += value; }
extern "C" int use(void) {
  int *memory = nullptr, back[32];
  if (hipMalloc((void **)&memory, sizeof back) != hipSuccess || hipMemset(memory, 0, sizeof back) != hipSuccess) return 1;
  plus<<<1, 32>>>(memory, 5);
  if (hipMemcpy(back, memory, sizeof back, hipMemcpyDeviceToHost) != hipSuccess || hipFree(memory) != hipSuccess) return 2;
  for (int i = 0; i < 32; i++)
    if (back[i] != 5) return 3;
  return 0;
}
C
$HIPCC --offload-arch=gfx1030 -O1 -fPIC -shared "$work/kernels.hip" -o "$work/libkernels.so" || fail "compiling kernels"

# a plugin found by the program's own $ORIGIN, which links HIP
cat >"$work/plugin.c" <<'C'
int hipMalloc(void **, unsigned long), hipFree(void *);
int plugin(void) { void *memory = 0; return hipMalloc(&memory, 64) || !memory || hipFree(memory); }
C
$CC -shared -fPIC "$work/plugin.c" -o "$work/libplugin.so" $ld
cat >"$work/main.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define NEED(what) if (!(what)) { printf("line %d: %s: %s\n", __LINE__, #what, dlerror()); return 1; }
typedef int (*malloc_call)(void **, size_t);
typedef int (*free_call)(void *);
static void *functions; /* a handle, or RTLD_DEFAULT */
static int allocate(void) {
  malloc_call take = (malloc_call)dlsym(functions, "hipMalloc");
  free_call give = (free_call)dlsym(functions, "hipFree");
  void *memory = NULL;
  if (take == NULL || give == NULL) return -1;
  int error = take(&memory, 4096);
  return error != 0 ? error : give(memory);
}
static int opened(const char *name) {
  NEED((functions = dlopen(name, RTLD_NOW)) != NULL);
  NEED(dlsym(functions, "hipMalloc") == dlsym(functions, "hipMalloc")); /* asked twice, the same */
  NEED(allocate() == 0);
  functions = RTLD_DEFAULT;
  return 0;
}
static int plugin(const char *name, const char *function, int flags) {
  void *handle = dlopen(name, flags);
  NEED(handle != NULL);
  int (*call)(void) = (int (*)(void))dlsym(handle, function);
  NEED(call != NULL && call() == 0);
  dlclose(handle);
  return 0;
}
static int child(int wanted) { /* forked: allocating gives `wanted`: 0 for success, 1 for an error, and never hangs */
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) { alarm(20); _exit((allocate() != 0) == wanted ? 0 : 1); }
  int status = 1;
  waitpid(pid, &status, 0);
  NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
static pthread_barrier_t barrier;
static void *first(void *out) { pthread_barrier_wait(&barrier); *(int *)out = allocate(); return NULL; }
static int threads(void) {
  pthread_t all[32]; int errors[32];
  pthread_barrier_init(&barrier, NULL, 32);
  for (int i = 0; i < 32; i++) pthread_create(&all[i], NULL, first, &errors[i]);
  for (int i = 0; i < 32; i++) { pthread_join(all[i], NULL); NEED(errors[i] == 0); }
  return 0;
}
static volatile sig_atomic_t ticks;
static void tick(int signal) { (void)signal; ticks++; }
static int profiled(void) {
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  sigaction(SIGPROF, &action, NULL);
  setitimer(ITIMER_PROF, &timer, NULL);
  while (ticks < 50)
    for (int i = 0; i < 200; i++) NEED(allocate() == 0);
  return plugin("libkernels.so", "use", RTLD_NOW);
}
static void at_exit(void) { if (allocate() != 0) { puts("a call at exit failed"); fflush(stdout); _exit(3); } }
#ifdef EARLY
static int early = -1;
__attribute__((constructor)) static void before_main(void) { early = allocate(); }
__attribute__((destructor)) static void after_main(void) { at_exit(); }
#endif
int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  int failed = 1;
#ifdef EARLY
  NEED(early == 0);
#endif
  if (!strcmp(what, "linked")) failed = allocate() != 0;
  if (!strcmp(what, "so.5")) failed = opened("libamdhip64.so.5");
  if (!strcmp(what, "so")) failed = opened("libamdhip64.so");
  if (!strcmp(what, "two")) failed = opened("libamdhip64.so.5") || opened("libamdhip64.so.6") || opened("libamdhip64.so");
  if (!strcmp(what, "copies")) {
    void *second = dlopen(getenv("SECOND"), RTLD_NOW | RTLD_GLOBAL), *memory = NULL;
    NEED(second != NULL && dlsym(second, "hipMalloc") != dlsym(RTLD_DEFAULT, "hipMalloc"));
    NEED(((malloc_call)dlsym(second, "hipMalloc"))(&memory, 4096) == 0);
    failed = ((free_call)dlsym(RTLD_DEFAULT, "hipFree"))(memory) != 0 || allocate() != 0;
  }
  if (!strcmp(what, "noload")) {
    NEED((functions = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD)) != NULL);
    NEED(dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD) != NULL);
    failed = allocate() != 0;
  }
  if (!strcmp(what, "deepbind")) failed = plugin("libplugin.so", "plugin", RTLD_NOW | RTLD_DEEPBIND);
  if (!strcmp(what, "kernels")) failed = plugin("libkernels.so", "use", RTLD_NOW | RTLD_DEEPBIND);
  if (!strcmp(what, "thousand")) {
    failed = 0;
    for (int i = 0; i < 1000 && !failed; i++) failed = plugin("libkernels.so", "use", RTLD_NOW);
  }
  if (!strcmp(what, "fork-before")) failed = child(0) || allocate() != 0;
  if (!strcmp(what, "fork-after")) failed = allocate() != 0 || child(1) || allocate() != 0;
  if (!strcmp(what, "exec")) {
    NEED(allocate() == 0);
    pid_t pid = fork();
    if (pid == 0) { execl("/proc/self/exe", arguments[0], "linked", (char *)NULL); _exit(9); }
    int status = 1;
    waitpid(pid, &status, 0);
    failed = status != 0;
  }
  if (!strcmp(what, "threads")) failed = threads();
  if (!strcmp(what, "profiled")) failed = profiled();
  if (!strcmp(what, "exit")) { failed = allocate() != 0; atexit(at_exit); }
  if (!failed) puts("PASS");
  return failed;
}
C
$CC "$work/main.c" -o "$work/dynamic" -Wl,-rpath,'$ORIGIN' -pthread
$CC "$work/main.c" -o "$work/linked" -Wl,-rpath,'$ORIGIN' -pthread -Wl,--no-as-needed $ld
$CC -DEARLY "$work/main.c" -o "$work/early" -Wl,-rpath,'$ORIGIN' -pthread -Wl,--no-as-needed $ld
$CC "$work/main.c" -o "$work/needed" -Wl,-rpath,'$ORIGIN' -pthread -Wl,--no-as-needed -L"$work" -lkernels -Wl,-rpath-link,"$lib/hip"
try() {
  program=$1 way=$2
  LD_PRELOAD="$lib/libhrx_interpose.so" LD_LIBRARY_PATH="$lib/hip" HRX_GPU=soft timeout 40 "$work/$program" "$way" >"$work/out" 2>&1 &&
    grep -q '^PASS$' "$work/out" || { cat "$work/out"; fail "$program $way"; }
}
for way in so.5 so two noload deepbind kernels fork-before fork-after threads; do try dynamic $way; done
for way in linked so so.5 deepbind kernels thousand fork-before fork-after exec threads profiled exit; do try linked $way; done
for way in linked exit exec; do try early $way; done
for way in linked kernels exit; do try needed $way; done
# without the preload, by the folder alone
for way in linked so.5 so deepbind kernels; do
  LD_LIBRARY_PATH="$lib/hip" HRX_GPU=soft timeout 40 "$work/linked" $way >"$work/out" 2>&1 || { cat "$work/out"; fail "by the folder: $way"; }
done
# two copies of the HIP library have one state: memory of one is freed through the other
mkdir "$work/second"
cp "$lib/libhrx.so" "$work/second/libhrx.so.1"
cp "$lib/libhrx_interpose.so" "$work/second/libamdhip64.so.5"
export SECOND="$work/second/libamdhip64.so.5"
try linked copies
try dynamic copies
echo "loading: passed"
