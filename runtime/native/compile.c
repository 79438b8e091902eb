/* HIP source compiled through hiprtc, and what became of it. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gpu/hip/compiler.h"
#include "native/artifact.h"
#include "native/objects.h"

enum { CONFIGURATION_MOST = 256, MESSAGE_LINES = 3, MESSAGE_BYTES = 320 };

/* hiprtc.h: a result is 0 for success. */
typedef void *program_handle;

struct compiler {
  int (*version)(int *major, int *minor);
  int (*create)(program_handle *, const char *source, const char *name, int headers, const char **contents, const char **names);
  int (*compile)(program_handle, int count, const char **options);
  int (*destroy)(program_handle *);
  int (*report_size)(program_handle, size_t *);
  int (*report)(program_handle, char *);
  int (*code_size)(program_handle, size_t *);
  int (*code)(program_handle, char *);
  const char *(*error_string)(int);
};

static hrx_status compiler_get(struct compiler *out_compiler) {
  void *library = hip_compiler_library();
  if (library == NULL)
    return hrx_fail(HRX_UNSUPPORTED, "there is no hiprtc: no HIP library with a compiler was found (Debian: libamdhip64-5)");
  struct compiler found = {
      .version = (int (*)(int *, int *))dlsym(library, "hiprtcVersion"),
      .create = (int (*)(program_handle *, const char *, const char *, int, const char **, const char **))dlsym(library, "hiprtcCreateProgram"),
      .compile = (int (*)(program_handle, int, const char **))dlsym(library, "hiprtcCompileProgram"),
      .destroy = (int (*)(program_handle *))dlsym(library, "hiprtcDestroyProgram"),
      .report_size = (int (*)(program_handle, size_t *))dlsym(library, "hiprtcGetProgramLogSize"),
      .report = (int (*)(program_handle, char *))dlsym(library, "hiprtcGetProgramLog"),
      .code_size = (int (*)(program_handle, size_t *))dlsym(library, "hiprtcGetCodeSize"),
      .code = (int (*)(program_handle, char *))dlsym(library, "hiprtcGetCode"),
      .error_string = (const char *(*)(int))dlsym(library, "hiprtcGetErrorString"),
  };
  if (found.version == NULL || found.create == NULL || found.compile == NULL || found.destroy == NULL || found.report_size == NULL ||
      found.report == NULL || found.code_size == NULL || found.code == NULL || found.error_string == NULL)
    return hrx_fail(HRX_UNSUPPORTED, "%s lacks functions of hiprtc", hip_compiler_path());
  *out_compiler = found;
  return HRX_OK;
}

/* What is compiled, and for what. */
struct request {
  const char *source; /* terminated */
  size_t bytes;
  const char *name, *target;
  const char **options; /* for the compiler; texts owned */
  size_t option_count;
};

static void request_finish(struct request *request) {
  for (size_t i = 0; i < request->option_count; i++) free((char *)request->options[i]);
  free(request->options);
}

static bool is_identifier(const char *name) {
  if (name == NULL || (!isalpha((unsigned char)*name) && *name != '_')) return false;
  for (; *name != '\0'; name++)
    if (!isalnum((unsigned char)*name) && *name != '_') return false;
  return true;
}

static hrx_status option_add(struct request *request, const char *format, const char *first, const char *second) {
  char *option = NULL;
  size_t length = strlen(format) + strlen(first) + strlen(second) + 1;
  option = malloc(length);
  if (option == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an option of the compiler");
  snprintf(option, length, "%s%s%s", format, first, second);
  request->options[request->option_count++] = option;
  return HRX_OK;
}

static hrx_status options_make(struct request *request, const hrx_configuration *configuration, size_t count) {
  if (count > CONFIGURATION_MOST || (configuration == NULL && count != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "%zu values of configuration, at most %d are possible", count, CONFIGURATION_MOST);
  request->options = calloc(count + 1, sizeof *request->options);
  if (request->options == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu options", count + 1);
  hrx_status status = option_add(request, "--offload-arch=", request->target, "");
  for (size_t i = 0; status == HRX_OK && i < count; i++) {
    if (!is_identifier(configuration[i].name))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "configuration value %zu: \"%s\" is no name in C", i,
                             configuration[i].name != NULL ? configuration[i].name : "");
    const char *value = configuration[i].value != NULL ? configuration[i].value : "";
    char define[256];
    int length = snprintf(define, sizeof define, "-D%s%s", configuration[i].name, configuration[i].value != NULL ? "=" : "");
    if (length < 0 || (size_t)length >= sizeof define)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "configuration value %zu: its name is too long", i);
    status = option_add(request, define, value, "");
  }
  return status;
}

/* A library that is replaced by another of the same version is another compiler. */
static char *identity_make(const struct compiler *compiler) {
  int major = 0, minor = 0;
  struct stat about = {0};
  char *text = NULL;
  compiler->version(&major, &minor);
  stat(hip_compiler_path(), &about);
  if (asprintf(&text, "hiprtc %d.%d (%s, %lld bytes, of %lld)", major, minor, hip_compiler_path(), (long long)about.st_size,
               (long long)about.st_mtim.tv_sec) < 0)
    return NULL;
  return text;
}

/* Each part with its length, so that no two requests look alike. */
static void part_add(struct sha256 *sha, const char *text, size_t bytes) {
  uint64_t length = bytes;
  sha256_add(sha, &length, sizeof length);
  sha256_add(sha, text, bytes);
}

static void key_make(const struct request *request, const char *compiler, char out_key[SHA256_TEXT]) {
  struct sha256 sha;
  sha256_init(&sha);
  part_add(&sha, compiler, strlen(compiler));
  part_add(&sha, request->name, strlen(request->name));
  part_add(&sha, request->source, request->bytes);
  for (size_t i = 0; i < request->option_count; i++) part_add(&sha, request->options[i], strlen(request->options[i]));
  sha256_text(&sha, out_key);
}

/* The compiler's text or code. */
static hrx_status bytes_get(int (*size_of)(program_handle, size_t *), int (*get)(program_handle, char *), program_handle program,
                            char **out_bytes, size_t *out_size) {
  size_t size = 0;
  if (size_of(program, &size) != 0) size = 0;
  char *bytes = calloc(size + 1, 1);
  if (bytes == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes from the compiler", size);
  if (size != 0 && get(program, bytes) != 0) size = 0;
  *out_bytes = bytes;
  *out_size = size;
  return HRX_OK;
}

/* The first lines of what the compiler said become the message. */
static hrx_status compile_failed(const struct compiler *compiler, const struct request *request, int result, const char *report) {
  char lines[MESSAGE_BYTES];
  snprintf(lines, sizeof lines, "%s", report);
  char *end = lines;
  for (int i = 0; i < MESSAGE_LINES && end != NULL; i++) end = strchr(i == 0 ? end : end + 1, '\n');
  if (end != NULL) *end = '\0';
  return hrx_fail(HRX_COMPILE, "%s: %s: %s", request->name, compiler->error_string(result), lines);
}

static hrx_status compile(const struct compiler *compiler, const struct request *request, struct hrx_artifact *artifact) {
  program_handle program = NULL;
  size_t length = 0;
  int result = compiler->create(&program, request->source, request->name, 0, NULL, NULL);
  if (result != 0) return hrx_fail(HRX_BACKEND, "hiprtcCreateProgram: %s (%d)", compiler->error_string(result), result);
  result = compiler->compile(program, (int)request->option_count, request->options);
  hrx_status status = bytes_get(compiler->report_size, compiler->report, program, &artifact->report, &length);
  if (status == HRX_OK && result != 0) status = compile_failed(compiler, request, result, artifact->report);
  if (status == HRX_OK) {
    char *code = NULL;
    status = bytes_get(compiler->code_size, compiler->code, program, &code, &artifact->size);
    artifact->bytes = code;
    if (status == HRX_OK && artifact->size == 0) status = hrx_fail(HRX_BACKEND, "%s: hiprtc gave no code", request->name);
  }
  compiler->destroy(&program);
  return status;
}

static hrx_status request_serve(const struct request *request, hrx_artifact **out_artifact) {
  char key[SHA256_TEXT];
  struct compiler compiler = {0};
  struct hrx_artifact *artifact = calloc(1, sizeof *artifact);
  hrx_status status = artifact != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for an artifact");
  if (status == HRX_OK) status = compiler_get(&compiler);
  if (status == HRX_OK && (artifact->compiler = identity_make(&compiler)) == NULL)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for the compiler's name");
  if (status == HRX_OK) {
    key_make(request, artifact->compiler, key);
    if (!artifact_cache_find(key, artifact)) {
      status = compile(&compiler, request, artifact);
      if (status == HRX_OK) artifact_cache_keep(key, artifact);
    }
  }
  if (status != HRX_OK && status != HRX_COMPILE) {
    hrx_artifact_release(artifact);
    return status;
  }
  *out_artifact = artifact; /* also of a failed compilation: its report is what the caller needs */
  return status;
}

hrx_status hrx_compile_hip(hrx_runtime *runtime, const char *source, size_t bytes, const char *name, const char *target,
                           const hrx_configuration *configuration, size_t count, hrx_artifact **out_artifact) {
  if (source == NULL || out_artifact == NULL || (runtime == NULL && target == NULL))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "source, out_artifact, or both runtime and target are NULL");
  if (memchr(source, '\0', bytes) != NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the source has a zero byte");
  hrx_status status = HRX_OK;
  if (target == NULL) status = hrx_runtime_gpu(runtime, &target);
  if (status != HRX_OK) return status;
  char *copy = strndup(source, bytes);
  if (copy == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of source", bytes);
  struct request request = {.source = copy, .bytes = bytes, .name = name != NULL ? name : "source.hip", .target = target};
  status = options_make(&request, configuration, count);
  if (status == HRX_OK) status = request_serve(&request, out_artifact);
  request_finish(&request);
  free(copy);
  return status;
}

hrx_status hrx_compile_hip_file(hrx_runtime *runtime, const char *path, const char *target,
                                const hrx_configuration *configuration, size_t count, hrx_artifact **out_artifact) {
  struct file_bytes file;
  hrx_status status = file_read(path, &file);
  if (status != HRX_OK) return status;
  status = hrx_compile_hip(runtime, file.bytes, file.size, path, target, configuration, count, out_artifact);
  file_finish(&file);
  return status;
}

void hrx_artifact_release(hrx_artifact *artifact) {
  if (artifact == NULL) return;
  free(artifact->bytes);
  free(artifact->compiler);
  free(artifact->report);
  free(artifact);
}

const void *hrx_artifact_bytes(const hrx_artifact *artifact, size_t *out_size) {
  if (out_size != NULL) *out_size = artifact != NULL ? artifact->size : 0;
  return artifact != NULL ? artifact->bytes : NULL;
}
const char *hrx_artifact_path(const hrx_artifact *artifact) { return artifact != NULL ? artifact->path : ""; }
const char *hrx_artifact_digest(const hrx_artifact *artifact) { return artifact != NULL ? artifact->digest : ""; }
const char *hrx_artifact_compiler(const hrx_artifact *artifact) { return artifact != NULL ? artifact->compiler : ""; }
const char *hrx_artifact_report(const hrx_artifact *artifact) {
  return artifact != NULL && artifact->report != NULL ? artifact->report : "";
}
bool hrx_artifact_cached(const hrx_artifact *artifact) { return artifact != NULL && artifact->cached; }
