/* Decides before main whether calls go to the software GPU or to the real HIP library, and fills the table accordingly.
 *
 * Forwarding is a change of addresses: the exported names then jump straight into the real library. */
#include "interpose/real.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "base/config.h"
#include "base/log.h"
#include "gpu/hip/library.h"
#include "interpose/call_trace.h"
#include "interpose/entry.h"
#include "interpose/entrypoints.h"
#include "interpose/native.h"
#include "interpose/state.h"
#include "interpose/table.h"

static bool used;

bool real_library_used(void) { return used; }

/* RTLD_DEEPBIND: the real library calls some of its own exports by name and must not come back to ours. */
static void *library_open(void) {
  char path[PATH_MAX];
  if (!hip_library_find(path, sizeof path)) {
    log_line(config_get()->gpu == GPU_CHOICE_HIP ? LOG_ERROR : LOG_INFO, "no real HIP library was found%s",
             config_get()->gpu == GPU_CHOICE_HIP ? ": with HRX_GPU=hip there is no device" : "");
    return NULL;
  }
  void *library = dlopen(path, HIP_LIBRARY_OPEN_FLAGS);
  if (library == NULL) log_line(LOG_ERROR, "%s cannot be opened: %s", path, dlerror());
  return library;
}

static bool has_device(void *library) {
  hipError_t (*count_of)(int *) = (hipError_t(*)(int *))dlsym(library, "hipGetDeviceCount");
  int count = 0;
  return count_of != NULL && count_of(&count) == hipSuccess && count > 0;
}

/* The address of each symbol in the real library, C++ names included; what it lacks stays refused or ours. */
static void table_forward(void *library) {
  static const char *const symbols[] = {
#define HIP_ENTRY(name, ...) #name,
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
  };
  for (unsigned i = 0; i < ENTRY_COUNT; i++) {
    void *address = dlsym(library, symbols[i]);
    if (address != NULL) hrx_hip_entries[i] = address;
  }
  static const struct { const char *symbol; enum entry_index index; } aliases[] = {
#define HIP_ENTRY(name, ...)
#define HIP_ALIAS(symbol, name, node) {#symbol, ENTRY_##name},
#include "interpose/entrypoints.def"
#undef HIP_ENTRY
  };
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    void *address = dlsym(library, aliases[i].symbol);
    if (address != NULL) hrx_hip_entries[aliases[i].index] = address;
  }
}

static bool forward_wanted(void **out_library) {
  enum gpu_choice choice = config_get()->gpu;
  if (choice == GPU_CHOICE_SOFT) return false;
  /* without the kernel's driver there can be no device, and the real library is slow to find that out */
  if (choice == GPU_CHOICE_AUTO && access("/dev/kfd", F_OK) != 0) return false;
  void *library = library_open();
  if (library == NULL) return false;
  if (choice == GPU_CHOICE_AUTO && !has_device(library)) {
    dlclose(library);
    return false;
  }
  *out_library = library;
  return true;
}

__attribute__((constructor)) static void decide(void) {
  void *library = NULL;
  caller_start();
  if (forward_wanted(&library)) {
    table_forward(library);
    used = true;
  } else {
    native_offer();
  }
  if (log_enabled(LOG_TRACE)) call_trace_set(true);
}
