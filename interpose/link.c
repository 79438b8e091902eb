/* Linking bitcode to code objects, under hiprtc's names and HIP's (6.4). libamd_comgr does the work.
 *
 * Inputs are copied when they are added; the result belongs to the state until that is destroyed. One thread at a time uses a state. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "code/fat_binary.h"
#include "gpu/hip/comgr.h"
#include "interpose/entry.h"
#include "interpose/function.h"
#include "interpose/handle.h"

struct link_input {
  struct link_input *next;
  char *name;
  size_t size;
  char bytes[];
};

struct ihipLinkState_t {
  struct link_input *first, **last;
  size_t count;
  char target[32];
  void *result;
  size_t result_bytes;
};

static hipError_t link_create(hipLinkState_t *out_state) {
  struct hip_device *device = NULL;
  if (out_state == NULL) return hipErrorInvalidValue;
  hipError_t error = state_current(&device);
  if (error != hipSuccess) return error;
  struct ihipLinkState_t *state = calloc(1, sizeof *state);
  if (state == NULL) return hipErrorOutOfMemory;
  state->last = &state->first;
  strcpy(state->target, device->gpu->properties.target);
  error = error_of(handle_add(state, HANDLE_LINK));
  if (error != hipSuccess) {
    free(state);
    return error;
  }
  *out_state = state;
  return hipSuccess;
}

static hipError_t input_add(struct ihipLinkState_t *state, const void *bytes, size_t size, const char *name) {
  size_t all = 0;
  if (__builtin_add_overflow(size, sizeof(struct link_input), &all)) return hipErrorOutOfMemory;
  struct link_input *input = malloc(all);
  char *copy = strdup(name != NULL && *name != '\0' ? name : "input.bc");
  if (input == NULL || copy == NULL) {
    free(input);
    free(copy);
    return hipErrorOutOfMemory;
  }
  *input = (struct link_input){.name = copy, .size = size};
  memcpy(input->bytes, bytes, size);
  *state->last = input;
  state->last = &input->next;
  state->count++;
  return hipSuccess;
}

/* The bitcode for this GPU out of a bundle. */
static hipError_t bundle_add(struct ihipLinkState_t *state, const void *bytes, size_t size, const char *name) {
  struct fat_binary binary = {0};
  hipError_t error = error_logged(fat_binary_open(bytes, size, &binary));
  if (error != hipSuccess) return error;
  const struct fat_entry *entry = fat_binary_pick(&binary, state->target);
  error = entry != NULL ? input_add(state, entry->bytes, entry->size, name) : hipErrorNoBinaryForGpu;
  fat_binary_finish(&binary);
  return error;
}

static bool input_known(int type) { return type >= JIT_INPUT_LLVM_BITCODE && type <= JIT_INPUT_LLVM_ARCHIVE_OF_BUNDLED_BITCODE; }

static hipError_t link_add(hipLinkState_t state, int type, const void *bytes, size_t size, const char *name) {
  if (bytes == NULL || size == 0 || !input_known(type)) return hipErrorInvalidValue;
  if (!handle_live(state, HANDLE_LINK)) return hipErrorInvalidHandle;
  if (state->result != NULL) return hipErrorIllegalState;
  if (type == JIT_INPUT_LLVM_BITCODE) return input_add(state, bytes, size, name);
  if (type == JIT_INPUT_LLVM_BUNDLED_BITCODE) return bundle_add(state, bytes, size, name);
  log_line(LOG_ERROR, "archives of bitcode are not linked here; add the bundles in them one by one");
  return hipErrorNotSupported;
}

static hipError_t link_add_file(hipLinkState_t state, int type, const char *path) {
  void *bytes = NULL;
  size_t size = 0;
  if (path == NULL || !input_known(type)) return hipErrorInvalidValue;
  if (!handle_live(state, HANDLE_LINK)) return hipErrorInvalidHandle;
  hipError_t error = module_file_read(path, &bytes, &size);
  if (error == hipSuccess) error = link_add(state, type, bytes, size, path);
  free(bytes);
  return error;
}

static hrx_status link_do(struct ihipLinkState_t *state) {
  struct comgr_input *inputs = calloc(state->count, sizeof *inputs);
  if (inputs == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to link %zu inputs", state->count);
  size_t count = 0;
  for (const struct link_input *at = state->first; at != NULL; at = at->next)
    inputs[count++] = (struct comgr_input){at->name, at->bytes, at->size};
  hrx_status status = comgr_link(inputs, count, state->target, &state->result, &state->result_bytes);
  free(inputs);
  return status;
}

static hipError_t link_complete(hipLinkState_t state, void **out_bytes, size_t *out_size) {
  if (out_bytes == NULL) return hipErrorInvalidValue;
  if (!handle_live(state, HANDLE_LINK)) return hipErrorInvalidHandle;
  if (state->count == 0) return hipErrorInvalidValue;
  hipError_t error = state->result == NULL ? error_logged(link_do(state)) : hipSuccess;
  if (error != hipSuccess) return error;
  *out_bytes = state->result;
  if (out_size != NULL) *out_size = state->result_bytes;
  return hipSuccess;
}

static hipError_t link_destroy(hipLinkState_t state) {
  if (!handle_remove(state, HANDLE_LINK)) return hipErrorInvalidHandle;
  for (struct link_input *at = state->first, *next = NULL; at != NULL; at = next) {
    next = at->next;
    free(at->name);
    free(at);
  }
  free(state->result);
  free(state);
  return hipSuccess;
}

/* Options steer compilers of other kinds of input, which are refused. */
static hipError_t options_check(unsigned count, const void *options, void *const *values) {
  return count == 0 || (options != NULL && values != NULL) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipLinkCreate(unsigned count, hipJitOption *options, void **values, hipLinkState_t *state) {
  hipError_t error = options_check(count, options, values);
  ENTRY_RETURN(hipLinkCreate, error == hipSuccess ? link_create(state) : error);
}

hipError_t entry_hipLinkAddData(hipLinkState_t state, int type, void *data, size_t size, const char *name, unsigned count,
                                hipJitOption *options, void **values) {
  hipError_t error = options_check(count, options, values);
  ENTRY_RETURN(hipLinkAddData, error == hipSuccess ? link_add(state, type, data, size, name) : error);
}

hipError_t entry_hipLinkAddFile(hipLinkState_t state, int type, const char *path, unsigned count, hipJitOption *options,
                                void **values) {
  hipError_t error = options_check(count, options, values);
  ENTRY_RETURN(hipLinkAddFile, error == hipSuccess ? link_add_file(state, type, path) : error);
}

hipError_t entry_hipLinkComplete(hipLinkState_t state, void **binary, size_t *size) {
  ENTRY_RETURN(hipLinkComplete, link_complete(state, binary, size));
}

hipError_t entry_hipLinkDestroy(hipLinkState_t state) { ENTRY_RETURN(hipLinkDestroy, link_destroy(state)); }

/* hiprtc's results for the same: its later headers have a number of their own for linking. */
enum { HIPRTC_ERROR_LINKING = 100 };

static hiprtcResult result_of(hipError_t error, int otherwise) {
  switch (error) {
  case hipSuccess: return HIPRTC_SUCCESS;
  case hipErrorInvalidValue:
  case hipErrorInvalidHandle:
  case hipErrorIllegalState: return HIPRTC_ERROR_INVALID_INPUT;
  case hipErrorOutOfMemory: return HIPRTC_ERROR_OUT_OF_MEMORY;
  default: return (hiprtcResult)otherwise;
  }
}

hiprtcResult entry_hiprtcLinkCreate(unsigned count, hipJitOption *options, void **values, hipLinkState_t *state) {
  hipError_t error = options_check(count, options, values);
  return result_of(error == hipSuccess ? link_create(state) : error, HIPRTC_ERROR_INTERNAL_ERROR);
}

hiprtcResult entry_hiprtcLinkAddData(hipLinkState_t state, int type, void *image, size_t size, const char *name, unsigned count,
                                     hipJitOption *options, void **values) {
  hipError_t error = options_check(count, options, values);
  return result_of(error == hipSuccess ? link_add(state, type, image, size, name) : error, HIPRTC_ERROR_PROGRAM_CREATION_FAILURE);
}

hiprtcResult entry_hiprtcLinkAddFile(hipLinkState_t state, int type, const char *path, unsigned count, hipJitOption *options,
                                     void **values) {
  hipError_t error = options_check(count, options, values);
  return result_of(error == hipSuccess ? link_add_file(state, type, path) : error, HIPRTC_ERROR_PROGRAM_CREATION_FAILURE);
}

hiprtcResult entry_hiprtcLinkComplete(hipLinkState_t state, void **binary, size_t *size) {
  return result_of(link_complete(state, binary, size), HIPRTC_ERROR_LINKING);
}

hiprtcResult entry_hiprtcLinkDestroy(hipLinkState_t state) { return result_of(link_destroy(state), HIPRTC_ERROR_INTERNAL_ERROR); }
