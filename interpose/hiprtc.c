/* hiprtc: run-time compilation by the compiler that Debian's HIP library brings; it needs no GPU.
 *
 * The real library is opened beside hrx and only its hiprtc functions are called. RTLD_DEEPBIND keeps its own calls
 * inside it. A program's handle is the real library's own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/hip/compiler.h"
#include "interpose/entry.h"
#include "interpose/hiprtc_bitcode.h"

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

/* As the library does it. */
#define X(name, parameters, arguments)                                                        \
  static hiprtcResult real_##name parameters {                                                \
    const struct compiler *compiler = compiler_get();                                         \
    return compiler != NULL ? compiler->name arguments : HIPRTC_ERROR_INTERNAL_ERROR;         \
  }
HIPRTC_FUNCTIONS(X)
#undef X

hiprtcResult entry_hiprtcVersion(int *major, int *minor) { return real_hiprtcVersion(major, minor); }

hiprtcResult entry_hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int count, const char **headers,
                                       const char **include_names) {
  hiprtcResult result = real_hiprtcCreateProgram(program, source, name, count, headers, include_names);
  if (result == HIPRTC_SUCCESS) bitcode_program_add(*program, source, name, count, headers, include_names);
  return result;
}

hiprtcResult entry_hiprtcDestroyProgram(hiprtcProgram *program) {
  hiprtcProgram handle = program != NULL ? *program : NULL;
  hiprtcResult result = real_hiprtcDestroyProgram(program);
  if (result == HIPRTC_SUCCESS) bitcode_program_remove(handle);
  return result;
}

hiprtcResult entry_hiprtcAddNameExpression(hiprtcProgram program, const char *expression) {
  return real_hiprtcAddNameExpression(program, expression);
}

hiprtcResult entry_hiprtcCompileProgram(hiprtcProgram program, int count, const char **options) {
  return bitcode_wanted(count, options) ? bitcode_compile(program, count, options) : real_hiprtcCompileProgram(program, count, options);
}

hiprtcResult entry_hiprtcGetLoweredName(hiprtcProgram program, const char *expression, const char **lowered) {
  return real_hiprtcGetLoweredName(program, expression, lowered);
}

hiprtcResult entry_hiprtcGetProgramLogSize(hiprtcProgram program, size_t *size) {
  if (!bitcode_program(program)) return real_hiprtcGetProgramLogSize(program, size);
  if (size == NULL) return HIPRTC_ERROR_INVALID_INPUT;
  *size = strlen(bitcode_log(program)) + 1;
  return HIPRTC_SUCCESS;
}

hiprtcResult entry_hiprtcGetProgramLog(hiprtcProgram program, char *log) {
  if (!bitcode_program(program)) return real_hiprtcGetProgramLog(program, log);
  if (log == NULL) return HIPRTC_ERROR_INVALID_INPUT;
  strcpy(log, bitcode_log(program));
  return HIPRTC_SUCCESS;
}

/* A program that was compiled to bitcode has no code. */
hiprtcResult entry_hiprtcGetCodeSize(hiprtcProgram program, size_t *size) {
  return bitcode_program(program) ? HIPRTC_ERROR_INVALID_PROGRAM : real_hiprtcGetCodeSize(program, size);
}

hiprtcResult entry_hiprtcGetCode(hiprtcProgram program, char *code) {
  return bitcode_program(program) ? HIPRTC_ERROR_INVALID_PROGRAM : real_hiprtcGetCode(program, code);
}

const char *entry_hiprtcGetErrorString(hiprtcResult result) {
  const struct compiler *compiler = compiler_get();
  return compiler != NULL && compiler->error_string != NULL ? compiler->error_string(result) : "hiprtc is not available";
}
