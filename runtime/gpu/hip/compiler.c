#include "gpu/hip/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "gpu/hip/library.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[PATH_MAX]; /* written before `opened` */
static void *_Atomic opened;

static void *open_one(void) {
  void *library = dlopen(path, HIP_LIBRARY_OPEN_FLAGS);
  return library != NULL && dlsym(library, "hiprtcCompileProgram") != NULL ? library : NULL;
}

static void *library_open(void) {
  static const char *const separate[] = {"/opt/rocm/lib/libhiprtc.so"};
  void *library = hip_library_find(path, sizeof path) ? open_one() : NULL;
  for (size_t i = 0; library == NULL && i < sizeof separate / sizeof *separate; i++) {
    snprintf(path, sizeof path, "%s", separate[i]);
    library = open_one();
  }
  if (library == NULL) log_line(LOG_ERROR, "hiprtc is not available: no HIP library with a compiler was found (Debian: libamdhip64-5)");
  return library;
}

void *hip_compiler_library(void) {
  static bool tried; /* guarded by `lock`: what the file system lacks it will go on lacking */
  void *library = atomic_load_explicit(&opened, memory_order_acquire);
  if (library != NULL) return library;
  pthread_mutex_lock(&lock);
  library = atomic_load(&opened);
  if (library == NULL && !tried) {
    tried = true;
    library = library_open();
    atomic_store_explicit(&opened, library, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return library;
}

const char *hip_compiler_path(void) { return atomic_load_explicit(&opened, memory_order_acquire) != NULL ? path : ""; }
