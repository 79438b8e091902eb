/* hrx run: the program's own process, with hrx in front of its HIP runtime.
 *
 * Two ways at once: libhrx_interpose.so is preloaded, and lib/hip with the stand-ins comes first in the library path,
 * so that dlopen, dlsym and RTLD_DEEPBIND users are caught too. What neither reaches:
 *   - a statically linked program (said at start);
 *   - a setuid or setgid program: the loader ignores both variables (said at start);
 *   - a program whose own DT_RPATH leads to another libamdhip64: the preload still catches its calls, a dlopen by it
 * may not. A script works: its interpreter inherits the variables. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/soft/device.h"
#include "tool/place.h"
#include "tool/probe.h"
#include "tool/tool.h"

enum { PROBE_TIMEOUT_MS = 20000 };

struct options {
  const char *gpu, *arch, *trace;
  bool statistics;
  char **program; /* ends in NULL */
};

static int complain(const char *what, const char *which) {
  fprintf(stderr,
          "hrx run: %s%s\nusage: hrx run [--gpu auto|hip|soft] [--arch NAME] [--stats] [--trace FILE] [--] PROGRAM "
          "ARGUMENTS...\n",
          what, which);
  return EXIT_USAGE;
}

/* The value of `--name VALUE` or `--name=VALUE`, or NULL. */
static const char *option_value(const char *name, int count, char **arguments, int *index) {
  size_t length = strlen(name);
  const char *argument = arguments[*index];
  if (strncmp(argument, name, length) != 0) return NULL;
  if (argument[length] == '=') return argument + length + 1;
  if (argument[length] != '\0' || *index + 1 >= count) return NULL;
  return arguments[++*index];
}

static bool gpu_known(const char *name) {
  return strcmp(name, "auto") == 0 || strcmp(name, "hip") == 0 || strcmp(name, "soft") == 0;
}

static int options_read(int count, char **arguments, struct options *out) {
  int i = 0;
  for (; i < count && arguments[i][0] == '-'; i++) {
    const char *value = NULL;
    if (strcmp(arguments[i], "--") == 0) {
      i++;
      break;
    }
    if (strcmp(arguments[i], "--stats") == 0)
      out->statistics = true;
    else if ((value = option_value("--gpu", count, arguments, &i)) != NULL)
      out->gpu = value;
    else if ((value = option_value("--arch", count, arguments, &i)) != NULL)
      out->arch = value;
    else if ((value = option_value("--trace", count, arguments, &i)) != NULL)
      out->trace = value;
    else
      return complain("unknown option, or one without its value: ", arguments[i]);
  }
  if (out->gpu != NULL && !gpu_known(out->gpu)) return complain("--gpu is auto, hip or soft, not ", out->gpu);
  if (out->arch != NULL && soft_target_check(out->arch) != HRX_OK) return complain("--arch: ", hrx_last_message());
  if (i == count) return complain("no program is named", "");
  out->program = arguments + i;
  return 0;
}

/* Puts `value` in front of what the variable has, with a colon between. */
static bool environment_prepend(const char *name, const char *value) {
  const char *old = getenv(name);
  if (old == NULL || *old == '\0') return setenv(name, value, 1) == 0;
  char *whole = NULL;
  if (asprintf(&whole, "%s:%s", value, old) < 0) return false;
  bool good = setenv(name, whole, 1) == 0;
  free(whole);
  return good;
}

/* A sanitizer's library has to be the first in a process; where this command has one, hrx's libraries have too. */
static int sanitizer_find(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  const char *name = strrchr(info->dlpi_name, '/');
  if (name == NULL || (strncmp(name, "/libasan.so", 11) != 0 && strncmp(name, "/libtsan.so", 11) != 0)) return 0;
  snprintf(context, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

/* Decides what runs the kernels. 0, or an exit status after a message. */
static int gpu_choose(struct options *options) {
  if (options->gpu == NULL) options->gpu = getenv("HRX_GPU");
  if (options->gpu != NULL && *options->gpu != '\0' && !gpu_known(options->gpu)) {
    /* in the words of base/config.c, which does not see it: the program gets what is chosen here */
    fprintf(stderr, "hrx: HRX_GPU=%s is ignored: expected auto, hip or soft\n", options->gpu);
    options->gpu = "auto";
  }
  if (options->gpu == NULL || *options->gpu == '\0') options->gpu = "auto";
  if (strcmp(options->gpu, "soft") == 0) return 0;
  bool automatic = strcmp(options->gpu, "auto") == 0;
  if (automatic && !probe_driver_present()) {
    options->gpu = "soft";
    return 0;
  }
  struct probe probe;
  probe_run(PROBE_TIMEOUT_MS, &probe);
  if (automatic && !probe_has_device(&probe)) {
    options->gpu = "soft";
    return 0;
  }
  if (probe.outcome == PROBE_NO_LIBRARY) {
    fprintf(stderr, "hrx run: --gpu hip: no libamdhip64 is found%s%s; HRX_HIP_LIBRARY=/absolute/path names one\n",
            probe.path[0] != '\0' ? " at " : "", probe.path);
    return EXIT_CANNOT_START;
  }
  options->gpu = "hip";
  setenv("HRX_HIP_LIBRARY", probe.path, 1);
  return 0;
}

/* Whether a file can be written there later, without making it now: 0 or an errno. */
static int writable(const char *path) {
  struct stat status;
  if (stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return EISDIR;
    return access(path, W_OK) == 0 ? 0 : errno;
  }
  const char *slash = strrchr(path, '/');
  char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  int error = folder == NULL ? ENOMEM : access(folder, W_OK | X_OK) == 0 ? 0 : errno;
  free(folder);
  return error;
}

/* Sets HRX_TRACE. The file is written when the program ends: what can be known to go wrong then is said now. 0, or an exit
 * status after a message. */
static int trace_choose(const struct options *options) {
  if (options->trace == NULL) return 0;
  if (options->trace[0] == '\0') return complain("--trace needs the name of a file", "");
  if (strcmp(options->gpu, "hip") == 0)
    fprintf(stderr, "hrx run: --trace: calls go to the real HIP library unchanged, so there will be no trace\n");
  char here[PATH_MAX], *path = NULL;
  bool relative = options->trace[0] != '/' && getcwd(here, sizeof here) != NULL;
  int length = asprintf(&path, "%s%s%s", relative ? here : "", relative ? "/" : "", options->trace);
  int error = length < 0 ? ENOMEM : writable(path);
  if (error == 0 && setenv("HRX_TRACE", path, 1) != 0) error = errno;
  if (length >= 0) free(path);
  if (error == 0) return 0;
  fprintf(stderr, "hrx run: --trace: %s cannot be written: %s\n", options->trace, strerror(error));
  return EXIT_CANNOT_START;
}

/* The file that execvp will run, or "" */
static void program_find(const char *name, char *out_path, size_t capacity) {
  out_path[0] = '\0';
  if (strchr(name, '/') != NULL) {
    snprintf(out_path, capacity, "%s", name);
    return;
  }
  const char *at = getenv("PATH");
  while (at != NULL && *at != '\0') {
    size_t length = strcspn(at, ":");
    int written = snprintf(out_path, capacity, "%.*s/%s", (int)length, length > 0 ? at : ".", name);
    if (written > 0 && (size_t)written < capacity && access(out_path, X_OK) == 0) return;
    at += length + (at[length] == ':');
  }
  out_path[0] = '\0';
}

/* Says so where the loader will not take the preload: such a program would run without hrx, in silence. */
static void program_warn(const char *name) {
  char path[PATH_MAX];
  struct stat status;
  Elf64_Ehdr header;
  program_find(name, path, sizeof path);
  int file = path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  if (fstat(file, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != status.st_uid)
    fprintf(stderr, "hrx run: %s is setuid or setgid: the loader ignores LD_PRELOAD, its HIP calls are not caught\n",
            path);
  if (pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
      memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr)) {
    bool interpreter = false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
      Elf64_Phdr segment;
      if (pread(file, &segment, sizeof segment, (off_t)(header.e_phoff + i * sizeof segment)) !=
          (ssize_t)sizeof segment)
        break;
      interpreter |= segment.p_type == PT_INTERP;
    }
    if (!interpreter) fprintf(stderr, "hrx run: %s is statically linked: its HIP calls are not caught\n", path);
  }
  close(file);
}

int tool_run(int count, char **arguments) {
  struct options options = {.gpu = NULL};
  struct place place;
  char sanitizer[PATH_MAX] = "";
  int status = options_read(count, arguments, &options);
  if (status != 0) return status;
  if (!place_find(&place)) {
    fprintf(stderr, "hrx run: %s or %s is missing: is hrx installed whole?\n", place.preload, place.stand_ins);
    return EXIT_CANNOT_START;
  }
  if (strpbrk(place.preload, ": ") != NULL) {
    fprintf(stderr, "hrx run: LD_PRELOAD cannot name %s: its path has a colon or a space\n", place.preload);
    return EXIT_CANNOT_START;
  }
  status = gpu_choose(&options);
  if (status == 0) status = trace_choose(&options);
  if (status != 0) return status;

  dl_iterate_phdr(sanitizer_find, sanitizer);
  bool good = environment_prepend("LD_PRELOAD", place.preload) &&
              environment_prepend("LD_LIBRARY_PATH", place.stand_ins) && setenv("HRX_GPU", options.gpu, 1) == 0;
  if (good && sanitizer[0] != '\0') good = environment_prepend("LD_PRELOAD", sanitizer);
  if (good && options.arch != NULL) good = setenv("HRX_SOFT_ARCH", options.arch, 1) == 0;
  if (good && options.statistics) good = setenv("HRX_STATS", "1", 1) == 0;
  if (!good) {
    fprintf(stderr, "hrx run: the environment cannot be set: %s\n", strerror(errno));
    return EXIT_CANNOT_START;
  }
  program_warn(options.program[0]);
  execvp(options.program[0], options.program);
  int error = errno;
  fprintf(stderr, "hrx run: %s cannot be started: %s\n", options.program[0], strerror(error));
  return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_START;
}
