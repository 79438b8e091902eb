/* GPU kernels with a fixed launch, and HIP source compiled at run time. */
#ifndef HRX_KERNEL_H
#define HRX_KERNEL_H

#include <hrx/contract.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_gpu_kernel hrx_gpu_kernel;
typedef struct hrx_artifact hrx_artifact;

/* Workgroups, not work-items, and work-items of a workgroup. A zero axis means 1. */
typedef struct hrx_dimensions {
  uint32_t x, y, z;
} hrx_dimensions;

/* Loads kernel `symbol` (without ".kd") from a code object, an offload bundle or a fat binary, in a file or in memory. Bindings
 * of the contract are the kernel's pointer arguments in order, its constants the by-value ones. Everything is checked here:
 * numbers of bindings, constant bytes, block size, LDS, instructions. Errors: IO; INVALID/IMAGE; UNSUPPORTED/TARGET,
 * /INSTRUCTION; INVALID/NOT_FOUND, /CONTRACT, /LAUNCH_GEOMETRY. */
hrx_status hrx_gpu_kernel_load(hrx_runtime *runtime, const void *bytes, size_t size, const char *symbol, hrx_dimensions grid,
                               hrx_dimensions block, uint32_t dynamic_lds, hrx_contract *contract, hrx_gpu_kernel **out_kernel);
hrx_status hrx_gpu_kernel_load_file(hrx_runtime *runtime, const char *path, const char *symbol, hrx_dimensions grid,
                                    hrx_dimensions block, uint32_t dynamic_lds, hrx_contract *contract,
                                    hrx_gpu_kernel **out_kernel);

/* A stream's kernel (stream.h) with a launch and a contract; its code is shared, not loaded again. */
typedef struct hrx_stream_kernel hrx_stream_kernel;
hrx_status hrx_gpu_kernel_adopt(hrx_runtime *runtime, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                                uint32_t dynamic_lds, hrx_contract *contract, hrx_gpu_kernel **out_kernel);

hrx_gpu_kernel *hrx_gpu_kernel_retain(hrx_gpu_kernel *kernel);
void hrx_gpu_kernel_release(hrx_gpu_kernel *kernel);

/* Whether hrx knows what the kernel's code does to its memory: until it analyses code, NOT_ANALYSED, and the contract counts. */
typedef enum hrx_access_verdict { HRX_ACCESS_NOT_ANALYSED = 0, HRX_ACCESS_CLOSED, HRX_ACCESS_OPAQUE } hrx_access_verdict;

typedef struct hrx_kernel_info {
  size_t size; /* the caller's sizeof */
  const char *name, *target;
  size_t constant_bytes;
  unsigned binding_count, parameter_count;
  hrx_dimensions block; /* that the code insists on; zeros: none */
  unsigned max_block;   /* work-items */
  unsigned vgprs, sgprs, lds_bytes, scratch_bytes;
  hrx_access_verdict verdict;
} hrx_kernel_info;

/* Strings live as long as the kernel. */
hrx_status hrx_gpu_kernel_info(const hrx_gpu_kernel *kernel, hrx_kernel_info *io_info);
hrx_status hrx_stream_kernel_info(const hrx_stream_kernel *kernel, hrx_kernel_info *io_info);

/* A name and a value: -DNAME=VALUE for the compiler. */
typedef struct hrx_configuration {
  const char *name, *value;
} hrx_configuration;

/* Compiles HIP source through hiprtc, for `target` (NULL: the runtime's GPU). Kernels are found by name if they are extern "C". The result is kept in a cache on disk
 * ($XDG_CACHE_HOME/hrx, HRX_CACHE), found again by source, target, configuration and compiler, and verified by digest when read.
 * Errors: COMPILE with the compiler's first lines in the message (all of them: hrx_artifact_report of *out_artifact, which is
 * also set on COMPILE); UNSUPPORTED if there is no hiprtc; IO for the file. */
hrx_status hrx_compile_hip(hrx_runtime *runtime, const char *source, size_t bytes, const char *name, const char *target,
                           const hrx_configuration *configuration, size_t count, hrx_artifact **out_artifact);
hrx_status hrx_compile_hip_file(hrx_runtime *runtime, const char *path, const char *target,
                                const hrx_configuration *configuration, size_t count, hrx_artifact **out_artifact);
void hrx_artifact_release(hrx_artifact *artifact);

const void *hrx_artifact_bytes(const hrx_artifact *artifact, size_t *out_size); /* NULL after a failed compilation */
const char *hrx_artifact_path(const hrx_artifact *artifact);                    /* in the cache; "" if it could not be kept */
const char *hrx_artifact_digest(const hrx_artifact *artifact);                  /* of the code, in hexadecimal */
const char *hrx_artifact_compiler(const hrx_artifact *artifact);
const char *hrx_artifact_report(const hrx_artifact *artifact); /* what the compiler said */
bool hrx_artifact_cached(const hrx_artifact *artifact);        /* it came from the cache */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
