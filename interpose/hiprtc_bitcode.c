#include "interpose/hiprtc_bitcode.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gpu/hip/comgr.h"
#include "interpose/entry.h"
#include "interpose/pointer_map.h"
#include "interpose/state.h"

struct bitcode_source {
  char *name, *text;
};

struct bitcode_program {
  struct bitcode_source source;
  struct bitcode_source *headers;
  size_t header_count;
  bool compiled; /* to bitcode, or it failed */
  char *log;
  void *bytes;
  size_t size;
};

static struct pointer_map programs = POINTER_MAP_INIT;

static void program_release(struct bitcode_program *program) {
  if (program == NULL) return;
  for (size_t i = 0; program->headers != NULL && i < program->header_count; i++) {
    free(program->headers[i].name);
    free(program->headers[i].text);
  }
  free(program->headers);
  free(program->source.name);
  free(program->source.text);
  free(program->log);
  free(program->bytes);
  free(program);
}

static bool source_copy(struct bitcode_source *to, const char *name, const char *given) {
  to->name = strdup(name != NULL && *name != '\0' ? name : "program.hip");
  to->text = given != NULL ? strdup(given) : NULL;
  return to->name != NULL && to->text != NULL;
}

void bitcode_program_add(hiprtcProgram handle, const char *source, const char *name, int header_count, const char *const *headers,
                         const char *const *include_names) {
  struct bitcode_program *program = calloc(1, sizeof *program);
  bool whole = program != NULL && source_copy(&program->source, name, source);
  if (whole && header_count > 0 && headers != NULL && include_names != NULL) {
    program->headers = calloc((size_t)header_count, sizeof *program->headers);
    whole = program->headers != NULL;
    for (int i = 0; whole && i < header_count; i++, program->header_count++)
      whole = source_copy(&program->headers[i], include_names[i], headers[i]);
  }
  if (!whole || pointer_map_set(&programs, handle, program) != HRX_OK) program_release(program);
}

void bitcode_program_remove(hiprtcProgram handle) { program_release(pointer_map_take(&programs, handle)); }

bool bitcode_wanted(int count, const char *const *options) {
  for (int i = 0; options != NULL && i < count; i++)
    if (options[i] != NULL && strcmp(options[i], "-fgpu-rdc") == 0) return true;
  return false;
}

bool bitcode_program(hiprtcProgram handle) {
  const struct bitcode_program *program = pointer_map_get(&programs, handle);
  return program != NULL && program->compiled;
}

const char *bitcode_log(hiprtcProgram handle) {
  const struct bitcode_program *program = pointer_map_get(&programs, handle);
  return program != NULL && program->log != NULL ? program->log : "";
}

/* "--offload-arch=gfx1030:xnack-" */
static const char *option_target(const char *option) {
  static const char *const spellings[] = {"--offload-arch=", "--gpu-architecture="};
  for (int i = 0; i < 2; i++)
    if (strncmp(option, spellings[i], strlen(spellings[i])) == 0) return option + strlen(spellings[i]);
  return NULL;
}

static hrx_status compile(struct bitcode_program *program, int count, const char *const *options, const char *target) {
  const char **passed = calloc((size_t)count + 1, sizeof *passed);
  struct comgr_input *headers = calloc(program->header_count + 1, sizeof *headers);
  size_t passed_count = 0;
  hrx_status status = passed != NULL && headers != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory to compile");
  for (int i = 0; status == HRX_OK && i < count; i++) {
    const char *named = option_target(options[i]);
    if (named != NULL) target = named;
    else if (strcmp(options[i], "-fgpu-rdc") != 0) passed[passed_count++] = options[i];
  }
  for (size_t i = 0; status == HRX_OK && i < program->header_count; i++) {
    const struct bitcode_source *from = &program->headers[i];
    headers[i] = (struct comgr_input){from->name, from->text, strlen(from->text)};
  }
  struct comgr_input source = {program->source.name, program->source.text, strlen(program->source.text)};
  if (status == HRX_OK)
    status = comgr_compile(&source, headers, program->header_count, passed, passed_count, target, &program->log, &program->bytes,
                           &program->size);
  free(passed);
  free(headers);
  return status;
}

hiprtcResult bitcode_compile(hiprtcProgram handle, int count, const char *const *options) {
  struct bitcode_program *program = pointer_map_get(&programs, handle);
  struct hip_device *device = NULL;
  if (program == NULL) return HIPRTC_ERROR_INVALID_PROGRAM;
  for (int i = 0; i < count; i++)
    if (options[i] == NULL) return HIPRTC_ERROR_INVALID_INPUT;
  if (state_current(&device) != hipSuccess) return HIPRTC_ERROR_INTERNAL_ERROR;
  free(program->log);
  free(program->bytes);
  program->log = NULL;
  program->bytes = NULL;
  program->compiled = true;
  hrx_status status = compile(program, count, options, device->gpu->properties.target);
  if (status == HRX_OK) return HIPRTC_SUCCESS;
  if (status == HRX_OUT_OF_MEMORY) return HIPRTC_ERROR_OUT_OF_MEMORY;
  if (status == HRX_COMPILE) return HIPRTC_ERROR_COMPILATION;
  log_line(LOG_ERROR, "hiprtc: %s", hrx_last_message());
  return HIPRTC_ERROR_INTERNAL_ERROR;
}

hiprtcResult entry_hiprtcGetBitcodeSize(hiprtcProgram handle, size_t *size) {
  const struct bitcode_program *program = pointer_map_get(&programs, handle);
  if (size == NULL) return HIPRTC_ERROR_INVALID_INPUT;
  if (program == NULL || program->bytes == NULL) return HIPRTC_ERROR_INVALID_PROGRAM;
  *size = program->size;
  return HIPRTC_SUCCESS;
}

hiprtcResult entry_hiprtcGetBitcode(hiprtcProgram handle, char *bitcode) {
  const struct bitcode_program *program = pointer_map_get(&programs, handle);
  if (bitcode == NULL) return HIPRTC_ERROR_INVALID_INPUT;
  if (program == NULL || program->bytes == NULL) return HIPRTC_ERROR_INVALID_PROGRAM;
  memcpy(bitcode, program->bytes, program->size);
  return HIPRTC_SUCCESS;
}
