/* Loaded code and its programs: a kernel is bound at its first launch.
 *
 * Most kernels are one closed function, and only that is decoded. One that calls or jumps out of itself uses a program over all
 * of the image's executable code, which is decoded once and shared. */
#ifndef HRX_GPU_SOFT_IMAGE_H
#define HRX_GPU_SOFT_IMAGE_H

#include "code/code_object.h"
#include "gpu/soft/program.h"

enum { SOFT_SCRATCH_LIMIT = 1 << 20 }; /* bytes a work-item, more than the hardware has */

struct soft_image {
  const struct code_object *object;
  const uint8_t *bytes; /* the loaded image */
  uint64_t base;        /* its address as waves see it */
  struct decoded *decoded;       /* all executable code, once a kernel needed it */
  struct soft_program *program;
  uint64_t program_start; /* image offset of its first byte */
};

/* A kernel that can run. */
struct soft_bound {
  struct decoded *decoded;      /* its own; NULL if it uses the image's program */
  struct soft_program *own;
  const struct soft_program *program;
  uint32_t entry; /* byte offset in program */
};

/* Binds a kernel. Calls `visit` for each missing instruction that it can reach, sometimes more than once; the kernel is bound
 * nevertheless. This alone decides which kernels can be launched. Not thread safe: the caller serialises. Errors:
 * UNSUPPORTED/INSTRUCTION for a wave size that is not executed; UNSUPPORTED (no libLLVM); INVALID/IMAGE; OUT_OF_MEMORY. */
hrx_status soft_image_bind(struct soft_image *image, const struct kernel_code *kernel, const char *level,
                           void (*visit)(const struct operation *operation, void *context), void *context,
                           struct soft_bound *out_bound);

void soft_bound_finish(struct soft_bound *bound);

/* Frees the shared program, not the object or the bytes. */
void soft_image_finish(struct soft_image *image);

#endif
