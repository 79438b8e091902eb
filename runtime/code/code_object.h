/* One ELF code object for one AMD GPU: its target, segments, kernels and variables.
 *
 * Pure functions over bytes: no globals, no device. Everything from the file is checked before it is believed; errors
 * are INVALID/IMAGE and name the offset. */
#ifndef HRX_CODE_CODE_OBJECT_H
#define HRX_CODE_CODE_OBJECT_H

#include "base/status.h"
#include "code/kernel.h"

struct code_segment {
  uint64_t address;      /* virtual */
  uint64_t memory_bytes; /* at least file_bytes; the rest is zero */
  uint64_t file_offset, file_bytes;
  bool executable, writable;
};

struct code_variable {
  char *name;
  uint64_t address, bytes; /* inside a segment */
};

struct code_object {
  char target[48];      /* "gfx1030": processor without features */
  char features[48];    /* ":xnack-" or "" */
  unsigned version;     /* of the code object: 3, 4, 5; 6 is as 5 */
  uint64_t image_bytes; /* from address 0 to the end of the last segment: the size of the loaded image */
  struct code_segment *segments;
  uint32_t segment_count;
  struct kernel_code *kernels;
  uint32_t kernel_count;
  struct code_variable *variables; /* __device__ and __constant__: STT_OBJECT symbols that are no descriptors */
  uint32_t variable_count;
};

/* Reads a code object. `bytes` need not outlive the call. Cost: linear in the metadata, n log n in symbols; no code is
 * read. Errors: INVALID/IMAGE, OUT_OF_MEMORY. */
hrx_status code_object_open(const void *bytes, size_t size, struct code_object **out_object);

/* NULL is accepted. */
void code_object_release(struct code_object *object);

/* Copies the segments into `image` (image_bytes long, zeroed by this call) and applies dynamic relocations as if the
 * image lay at `load_address`. Errors: INVALID/IMAGE for a relocation type or target that is not allowed. */
hrx_status code_object_load(const struct code_object *object, const void *bytes, size_t size, uint64_t load_address,
                            void *image);

/* Linear search by name without ".kd"; NULL if there is none. */
const struct kernel_code *code_object_kernel(const struct code_object *object, const char *name);

#endif
