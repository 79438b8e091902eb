#include "gpu/hip/comgr.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/hip/library.h"

/* amd_comgr.h, version 2: handles are structures of one word; a status is 0 for success. */
typedef struct {
  uint64_t handle;
} comgr_data, comgr_set, comgr_action;

enum { DATA_SOURCE = 1, DATA_INCLUDE = 2, DATA_LOG = 5, DATA_BITCODE = 6, DATA_EXECUTABLE = 8 };
enum { ACTION_COMPILE = 2, ACTION_ADD_LIBRARIES = 3, ACTION_LINK_BITCODE = 4, ACTION_CODEGEN = 6, ACTION_LINK_EXECUTABLE = 9 };
enum { LANGUAGE_HIP = 4 };

#define COMGR_FUNCTIONS(X)                                              \
  X(create_data, (int kind, comgr_data *))                              \
  X(release_data, (comgr_data))                                         \
  X(set_data, (comgr_data, size_t, const char *))                       \
  X(get_data, (comgr_data, size_t *, char *))                           \
  X(set_data_name, (comgr_data, const char *))                          \
  X(create_data_set, (comgr_set *))                                     \
  X(destroy_data_set, (comgr_set))                                      \
  X(data_set_add, (comgr_set, comgr_data))                              \
  X(create_action_info, (comgr_action *))                               \
  X(destroy_action_info, (comgr_action))                                \
  X(action_info_set_language, (comgr_action, int))                      \
  X(action_info_set_isa_name, (comgr_action, const char *))             \
  X(action_info_set_option_list, (comgr_action, const char **, size_t)) \
  X(action_info_set_logging, (comgr_action, bool))                      \
  X(do_action, (int, comgr_action, comgr_set, comgr_set))               \
  X(action_data_get_data, (comgr_set, int kind, size_t index, comgr_data *))

struct comgr {
#define X(name, parameters) int(*name) parameters;
  COMGR_FUNCTIONS(X)
#undef X
  /* what hiprtc includes before all sources; NULL if the library with it is missing */
  const char *runtime_header;
  size_t runtime_header_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct comgr *_Atomic opened;

static void runtime_header_find(struct comgr *comgr) {
  void *library = dlopen("libhiprtc-builtins.so.5", RTLD_NOW | RTLD_LOCAL);
  const char *header = library != NULL ? dlsym(library, "__hipRTC_header") : NULL;
  const unsigned *bytes = library != NULL ? dlsym(library, "__hipRTC_header_size") : NULL;
  if (header == NULL || bytes == NULL) return;
  comgr->runtime_header = header;
  comgr->runtime_header_bytes = *bytes;
}

static const struct comgr *open_locked(void) {
  static struct comgr comgr;
  static bool tried; /* what the system lacks it will go on lacking */
  if (tried) return atomic_load(&opened);
  tried = true;
  void *library = dlopen("libamd_comgr.so.2", HIP_LIBRARY_OPEN_FLAGS);
  bool whole = library != NULL;
#define X(name, parameters)                                                      \
  if (whole) {                                                                   \
    comgr.name = (int(*) parameters)dlsym(library, "amd_comgr_" #name);          \
    whole = comgr.name != NULL;                                                  \
  }
  COMGR_FUNCTIONS(X)
#undef X
  if (!whole) return NULL;
  runtime_header_find(&comgr);
  atomic_store_explicit(&opened, &comgr, memory_order_release);
  return &comgr;
}

static hrx_status comgr_get(const struct comgr **out_comgr) {
  const struct comgr *comgr = atomic_load_explicit(&opened, memory_order_acquire);
  if (comgr == NULL) {
    pthread_mutex_lock(&lock);
    comgr = open_locked();
    pthread_mutex_unlock(&lock);
  }
  if (comgr == NULL) return hrx_fail(HRX_UNSUPPORTED, "there is no compiler: libamd_comgr.so.2 was not found (Debian: libamd-comgr2)");
  *out_comgr = comgr;
  return HRX_OK;
}

static hrx_status step(int status, const char *what) {
  return status == 0 ? HRX_OK : hrx_fail(HRX_COMPILE, "libamd_comgr fails to %s: status %d", what, status);
}

static hrx_status set_put(const struct comgr *comgr, comgr_set set, int kind, const char *name, const void *bytes, size_t size) {
  comgr_data data = {0};
  hrx_status status = step(comgr->create_data(kind, &data), "make an input");
  if (status != HRX_OK) return status;
  status = step(comgr->set_data(data, size, bytes), "take an input");
  if (status == HRX_OK) status = step(comgr->set_data_name(data, name), "name an input");
  if (status == HRX_OK) status = step(comgr->data_set_add(set, data), "add an input");
  comgr->release_data(data);
  return status;
}

/* The first result of a kind, malloced with a zero behind it; *out_bytes stays if there is none. */
static hrx_status set_get(const struct comgr *comgr, comgr_set set, int kind, void **out_bytes, size_t *out_size) {
  comgr_data data = {0};
  size_t size = 0;
  hrx_status status = step(comgr->action_data_get_data(set, kind, 0, &data), "give a result");
  if (status != HRX_OK) return status;
  status = step(comgr->get_data(data, &size, NULL), "measure a result");
  char *bytes = status == HRX_OK ? calloc(size + 1, 1) : NULL;
  if (status == HRX_OK && bytes == NULL) status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes from the compiler", size);
  if (status == HRX_OK) status = step(comgr->get_data(data, &size, bytes), "give a result");
  comgr->release_data(data);
  if (status != HRX_OK) {
    free(bytes);
    return status;
  }
  *out_bytes = bytes;
  *out_size = size;
  return HRX_OK;
}

static hrx_status action_new(const struct comgr *comgr, const char *target, const char **options, size_t count, comgr_action *out_action) {
  char isa[128];
  snprintf(isa, sizeof isa, "amdgcn-amd-amdhsa--%s", target);
  hrx_status status = step(comgr->create_action_info(out_action), "start");
  if (status != HRX_OK) return status;
  status = step(comgr->action_info_set_isa_name(*out_action, isa), "use the target");
  if (status == HRX_OK) status = step(comgr->action_info_set_language(*out_action, LANGUAGE_HIP), "use HIP");
  if (status == HRX_OK) status = step(comgr->action_info_set_logging(*out_action, true), "log");
  if (status == HRX_OK && count != 0) status = step(comgr->action_info_set_option_list(*out_action, options, count), "take options");
  if (status != HRX_OK) comgr->destroy_action_info(*out_action);
  return status;
}

/* Does one action on `in` and gives its results; a failure takes the first line that the compiler said. */
static hrx_status action_do(const struct comgr *comgr, int kind, const char *what, const char *target, const char **options,
                            size_t option_count, comgr_set in, comgr_set *out_set, char **out_log) {
  comgr_action action = {0};
  comgr_set out = {0};
  void *log = NULL;
  size_t log_bytes = 0;
  hrx_status status = action_new(comgr, target, options, option_count, &action);
  if (status != HRX_OK) return status;
  status = step(comgr->create_data_set(&out), "start");
  if (status == HRX_OK) {
    int result = comgr->do_action(kind, action, in, out);
    /* the log comes without saying whether there is one */
    if (set_get(comgr, out, DATA_LOG, &log, &log_bytes) != HRX_OK) log = NULL;
    if (result != 0)
      status = hrx_fail(HRX_COMPILE, "libamd_comgr fails to %s: %.*s", what, log != NULL ? (int)strcspn(log, "\n") : 9,
                        log != NULL ? (const char *)log : "no reason");
    if (status != HRX_OK) comgr->destroy_data_set(out);
  }
  comgr->destroy_action_info(action);
  if (out_log != NULL) *out_log = log;
  else free(log);
  if (status == HRX_OK) *out_set = out;
  return status;
}

hrx_status comgr_compile(const struct comgr_input *source, const struct comgr_input *headers, size_t header_count,
                         const char *const *options, size_t option_count, const char *target, char **out_log, void **out_bytes,
                         size_t *out_size) {
  static const char *const fixed[] = {"-O3", "-std=c++14", "-nogpuinc", "-fgpu-rdc", "-Wno-missing-prototypes"};
  enum { FIXED = sizeof fixed / sizeof *fixed };
  const struct comgr *comgr = NULL;
  comgr_set in = {0}, out = {0};
  *out_log = NULL;
  hrx_status status = comgr_get(&comgr);
  if (status != HRX_OK) return status;
  const char **all = calloc(FIXED + option_count + 2, sizeof *all);
  if (all == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu options", option_count);
  size_t count = 0;
  for (; count < FIXED; count++) all[count] = fixed[count];
  if (comgr->runtime_header != NULL) {
    all[count++] = "-include";
    all[count++] = "hiprtc_runtime.h";
  }
  for (size_t i = 0; i < option_count; i++) all[count++] = options[i];
  status = step(comgr->create_data_set(&in), "start");
  bool made = status == HRX_OK;
  if (status == HRX_OK) status = set_put(comgr, in, DATA_SOURCE, source->name, source->bytes, source->size);
  if (status == HRX_OK && comgr->runtime_header != NULL)
    status = set_put(comgr, in, DATA_INCLUDE, "hiprtc_runtime.h", comgr->runtime_header, comgr->runtime_header_bytes);
  for (size_t i = 0; status == HRX_OK && i < header_count; i++)
    status = set_put(comgr, in, DATA_INCLUDE, headers[i].name, headers[i].bytes, headers[i].size);
  if (status == HRX_OK)
    status = action_do(comgr, ACTION_COMPILE, "compile", target, all, count, in, &out, out_log);
  if (status == HRX_OK) {
    status = set_get(comgr, out, DATA_BITCODE, out_bytes, out_size);
    comgr->destroy_data_set(out);
  }
  if (made) comgr->destroy_data_set(in);
  free(all);
  return status;
}

hrx_status comgr_link(const struct comgr_input *inputs, size_t count, const char *target, void **out_bytes, size_t *out_size) {
  static const struct {
    int action;
    const char *what;
  } steps[] = {{ACTION_ADD_LIBRARIES, "add the device libraries"}, {ACTION_LINK_BITCODE, "link bitcode"}, {ACTION_CODEGEN, "generate code"}, {ACTION_LINK_EXECUTABLE, "link"}};
  static const char *codegen_options[] = {"-O3", "-mllvm", "-amdgpu-internalize-symbols"}; /* what no kernel needs goes */
  const struct comgr *comgr = NULL;
  comgr_set set = {0};
  hrx_status status = comgr_get(&comgr);
  if (status == HRX_OK) status = step(comgr->create_data_set(&set), "start");
  if (status != HRX_OK) return status;
  for (size_t i = 0; status == HRX_OK && i < count; i++)
    status = set_put(comgr, set, DATA_BITCODE, inputs[i].name, inputs[i].bytes, inputs[i].size);
  for (size_t i = 0; status == HRX_OK && i < sizeof steps / sizeof *steps; i++) {
    comgr_set next = {0};
    bool codegen = steps[i].action == ACTION_CODEGEN;
    status = action_do(comgr, steps[i].action, steps[i].what, target, codegen ? codegen_options : NULL, codegen ? 3 : 0, set, &next, NULL);
    if (status != HRX_OK) break;
    comgr->destroy_data_set(set);
    set = next;
  }
  if (status == HRX_OK) status = set_get(comgr, set, DATA_EXECUTABLE, out_bytes, out_size);
  comgr->destroy_data_set(set);
  return status;
}
