/* hiprtc: run-time compilation by the compiler that Debian's HIP library brings; it needs no GPU.
 *
 * The real library is opened beside hrx and only its hiprtc functions are called. RTLD_DEEPBIND keeps its own calls
 * inside it. A program's handle is the real library's own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/hip/compiler.h"
#include "interpose/entry.h"

/* name, parameters, arguments: every function that returns a hiprtcResult and is forwarded */
#define HIPRTC_FUNCTIONS(X)                                                                                            \
  X(hiprtcVersion, (int *major, int *minor), (major, minor))                                                           \
  X(hiprtcAddNameExpression, (hiprtcProgram program, const char *name), (program, name))                               \
  X(hiprtcCompileProgram, (hiprtcProgram program, int count, const char **options), (program, count, options))         \
  X(hiprtcCreateProgram,                                                                                               \
    (hiprtcProgram * program, const char *source, const char *name, int count, const char **headers,                   \
     const char **include_names),                                                                                      \
    (program, source, name, count, headers, include_names))                                                            \
  X(hiprtcDestroyProgram, (hiprtcProgram * program), (program))                                                        \
  X(hiprtcGetLoweredName, (hiprtcProgram program, const char *expression, const char **lowered),                       \
    (program, expression, lowered))                                                                                    \
  X(hiprtcGetProgramLog, (hiprtcProgram program, char *log), (program, log))                                           \
  X(hiprtcGetProgramLogSize, (hiprtcProgram program, size_t *size), (program, size))                                   \
  X(hiprtcGetCode, (hiprtcProgram program, char *code), (program, code))                                               \
  X(hiprtcGetCodeSize, (hiprtcProgram program, size_t *size), (program, size))

struct compiler {
#define X(name, parameters, arguments) hiprtcResult(*name) parameters;
  HIPRTC_FUNCTIONS(X)
#undef X
  const char *(*error_string)(hiprtcResult);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct compiler *_Atomic opened;

static const struct compiler *compiler_load_locked(void) {
  static struct compiler found;
  static bool tried;
  if (tried) return atomic_load(&opened);
  tried = true;
  void *library = hip_compiler_library();
  bool whole = library != NULL;
#define X(name, parameters, arguments)                                                        \
  if (whole) {                                                                                \
    found.name = (hiprtcResult(*) parameters)dlsym(library, #name);                           \
    whole = found.name != NULL;                                                               \
  }
  HIPRTC_FUNCTIONS(X)
#undef X
  if (whole) {
    found.error_string = (const char *(*)(hiprtcResult))dlsym(library, "hiprtcGetErrorString");
    atomic_store(&opened, &found);
  }
  return atomic_load(&opened);
}

static const struct compiler *compiler_get(void) {
  const struct compiler *compiler = atomic_load_explicit(&opened, memory_order_acquire);
  if (compiler != NULL) return compiler;
  pthread_mutex_lock(&lock);
  compiler = compiler_load_locked();
  pthread_mutex_unlock(&lock);
  return compiler;
}

#define X(name, parameters, arguments)                                                        \
  hiprtcResult entry_##name parameters {                                                      \
    const struct compiler *compiler = compiler_get();                                         \
    return compiler != NULL ? compiler->name arguments : HIPRTC_ERROR_INTERNAL_ERROR;         \
  }
HIPRTC_FUNCTIONS(X)
#undef X

const char *entry_hiprtcGetErrorString(hiprtcResult result) {
  const struct compiler *compiler = compiler_get();
  return compiler != NULL && compiler->error_string != NULL ? compiler->error_string(result) : "hiprtc is not available";
}
