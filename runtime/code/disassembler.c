#include "code/disassembler.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "code/encoding_check.h"

/* llvm-c/Disassembler.h and llvm-c/Core.h, by hand: LLVM's headers are not needed to build. */
struct llvm {
  void *library;
  char error[256];
  void (*initialize_info)(void), (*initialize_mc)(void), (*initialize_disassembler)(void);
  void *(*create)(const char *triple, const char *cpu, const char *features, void *data, int tag, void *operand_info,
                  void *symbol_lookup);
  size_t (*line)(void *context, uint8_t *bytes, uint64_t size, uint64_t address, char *out_text, size_t capacity);
  void (*dispose)(void *context);
  void (*version)(unsigned *out_major, unsigned *out_minor, unsigned *out_patch);
};

static struct llvm llvm;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static const char *const library_names[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so",
                                            "/usr/lib/llvm-19/lib/libLLVM.so.19.1",
                                            "/usr/lib/llvm-19/lib/libLLVM-19.so"};

/* LLVM prints to stderr when it is asked for a processor that it does not know, so that it must not be asked. */
static const char *const targets[] = {"gfx700",  "gfx701",  "gfx702",  "gfx703",  "gfx704",  "gfx705",  "gfx801",
                                      "gfx802",  "gfx803",  "gfx805",  "gfx810",  "gfx900",  "gfx902",  "gfx904",
                                      "gfx906",  "gfx908",  "gfx909",  "gfx90a",  "gfx90c",  "gfx940",  "gfx941",
                                      "gfx942",  "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031",
                                      "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101",
                                      "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1200", "gfx1201"};

static bool find_function(void *out_function, const char *name) {
  void *symbol = dlsym(llvm.library, name);
  if (symbol == NULL) {
    snprintf(llvm.error, sizeof llvm.error, "libLLVM-19 has no function %s", name);
    return false;
  }
  memcpy(out_function, &symbol, sizeof symbol);
  return true;
}

static hrx_status load_locked(void) {
  void *library = NULL;
  errno = 0;
  for (size_t i = 0; library == NULL && errno != ENOMEM && i < sizeof library_names / sizeof *library_names; i++)
    library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    bool memory = errno == ENOMEM; /* the loader leaves it, and has no better way to say so */
    const char *reason = dlerror();
    snprintf(llvm.error, sizeof llvm.error, "libLLVM-19 cannot be loaded (Debian package libllvm19): %s",
             memory           ? "no memory"
             : reason != NULL ? reason
                              : "not found");
    return memory ? HRX_OUT_OF_MEMORY : HRX_UNSUPPORTED;
  }
  llvm.library = library;
  bool complete = find_function(&llvm.initialize_info, "LLVMInitializeAMDGPUTargetInfo") &&
                  find_function(&llvm.initialize_mc, "LLVMInitializeAMDGPUTargetMC") &&
                  find_function(&llvm.initialize_disassembler, "LLVMInitializeAMDGPUDisassembler") &&
                  find_function(&llvm.create, "LLVMCreateDisasmCPUFeatures") &&
                  find_function(&llvm.line, "LLVMDisasmInstruction") &&
                  find_function(&llvm.dispose, "LLVMDisasmDispose") && find_function(&llvm.version, "LLVMGetVersion");
  if (!complete) {
    llvm.library = NULL;
    dlclose(library);
    return HRX_UNSUPPORTED;
  }
  llvm.initialize_info();
  llvm.initialize_mc();
  llvm.initialize_disassembler();
  return HRX_OK;
}

/* Until it has worked once: what was missing may have come. */
static hrx_status load(char out_error[sizeof llvm.error]) {
  pthread_mutex_lock(&loading);
  hrx_status status = llvm.library == NULL ? load_locked() : HRX_OK;
  memcpy(out_error, llvm.error, sizeof llvm.error);
  pthread_mutex_unlock(&loading);
  return status;
}

static bool target_known(const char *name) {
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (strcmp(targets[i], name) == 0) return true;
  return false;
}

hrx_status disassembler_init(struct disassembler *disassembler, const char *target) {
  char name[32];
  disassembler->context = NULL;
  const char *colon = strchr(target, ':');
  size_t length = colon != NULL ? (size_t)(colon - target) : strlen(target);
  bool wave64 = colon != NULL && strcmp(colon, ":wave64") == 0;
  if (length >= sizeof name || (colon != NULL && !wave64))
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "no disassembler for target \"%.64s\"", target);
  memcpy(name, target, length);
  name[length] = '\0';
  if (!target_known(name))
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "no disassembler for target \"%s\"", name);

  char error[sizeof llvm.error];
  hrx_status status = load(error);
  if (status != HRX_OK) return hrx_fail(status, "code for %s cannot be decoded: %s", name, error);

  bool chooses = length == 7; /* gfx10 and later have both sizes, and four digits */
  const char *features = !chooses ? ""
                         : wave64 ? "-wavefrontsize32,+wavefrontsize64"
                                  : "+wavefrontsize32,-wavefrontsize64";
  disassembler->context = llvm.create("amdgcn-amd-amdhsa", name, features, NULL, 0, NULL, NULL);
  if (disassembler->context == NULL)
    return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "libLLVM-19 has no disassembler for %s", name);
  return HRX_OK;
}

void disassembler_finish(struct disassembler *disassembler) {
  if (disassembler->context != NULL) llvm.dispose(disassembler->context);
  disassembler->context = NULL;
}

size_t disassembler_line(struct disassembler *disassembler, const uint8_t *bytes, size_t size, char *out_text,
                         size_t capacity) {
  if (!encoding_printable(bytes, size)) return 0;
  /* LLVM's parameter is not const, but it only reads. */
  size_t used = llvm.line(disassembler->context, (uint8_t *)(uintptr_t)bytes, size, 0, out_text, capacity);
  return used <= size ? used : 0;
}

bool disassembler_describe(char *out_text, size_t capacity) {
  char error[sizeof llvm.error];
  if (load(error) != HRX_OK) {
    snprintf(out_text, capacity, "%s", error);
    return false;
  }
  unsigned major = 0, minor = 0, patch = 0;
  llvm.version(&major, &minor, &patch);
  Dl_info place = {0};
  void *symbol = dlsym(llvm.library, "LLVMDisasmInstruction");
  const char *path = dladdr(symbol, &place) != 0 && place.dli_fname != NULL ? place.dli_fname : "libLLVM-19";
  snprintf(out_text, capacity, "LLVM %u.%u.%u (%s)", major, minor, patch, path);
  return true;
}
