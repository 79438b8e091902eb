/* What a code object says about one kernel: its metadata and its kernel descriptor, checked. */
#ifndef HRX_CODE_KERNEL_H
#define HRX_CODE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM AMDGPU usage, "Code Object V3+ Metadata", .value_kind */
enum argument_kind {
  ARGUMENT_BY_VALUE, ARGUMENT_GLOBAL_BUFFER, ARGUMENT_DYNAMIC_SHARED_POINTER, ARGUMENT_SAMPLER, ARGUMENT_IMAGE, ARGUMENT_PIPE,
  ARGUMENT_QUEUE,
  ARGUMENT_HIDDEN_GLOBAL_OFFSET_X, ARGUMENT_HIDDEN_GLOBAL_OFFSET_Y, ARGUMENT_HIDDEN_GLOBAL_OFFSET_Z, ARGUMENT_HIDDEN_NONE,
  ARGUMENT_HIDDEN_PRINTF_BUFFER, ARGUMENT_HIDDEN_HOSTCALL_BUFFER, ARGUMENT_HIDDEN_DEFAULT_QUEUE,
  ARGUMENT_HIDDEN_COMPLETION_ACTION, ARGUMENT_HIDDEN_MULTIGRID_SYNC,
  ARGUMENT_HIDDEN_BLOCK_COUNT_X, ARGUMENT_HIDDEN_BLOCK_COUNT_Y, ARGUMENT_HIDDEN_BLOCK_COUNT_Z,
  ARGUMENT_HIDDEN_GROUP_SIZE_X, ARGUMENT_HIDDEN_GROUP_SIZE_Y, ARGUMENT_HIDDEN_GROUP_SIZE_Z,
  ARGUMENT_HIDDEN_REMAINDER_X, ARGUMENT_HIDDEN_REMAINDER_Y, ARGUMENT_HIDDEN_REMAINDER_Z, ARGUMENT_HIDDEN_GRID_DIMS,
  ARGUMENT_HIDDEN_HEAP, ARGUMENT_HIDDEN_DYNAMIC_LDS_SIZE, ARGUMENT_HIDDEN_PRIVATE_BASE, ARGUMENT_HIDDEN_SHARED_BASE,
  ARGUMENT_HIDDEN_QUEUE_POINTER,
  ARGUMENT_UNKNOWN /* a newer kind: kept, zero-filled if hidden */
};

enum argument_access { ARGUMENT_ACCESS_UNKNOWN, ARGUMENT_ACCESS_READ, ARGUMENT_ACCESS_WRITE, ARGUMENT_ACCESS_READ_WRITE };

struct kernel_argument {
  uint32_t offset, bytes; /* inside the kernel argument segment, checked against it */
  enum argument_kind kind;
  enum argument_access access, actual_access;
  bool hidden;
  char name[64]; /* "" if the metadata has none; cut, for messages only */
};

/* COMPUTE_PGM_RSRC and enable bits, LLVM AMDGPU usage "Kernel Descriptor". */
struct kernel_descriptor {
  uint32_t group_segment_bytes, private_segment_bytes, kernarg_bytes;
  int64_t entry_offset; /* from the descriptor's own address */
  uint32_t rsrc1, rsrc2, rsrc3;
  uint16_t properties; /* kernel_code_properties: which user SGPRs are set up, wave32, dynamic stack */
};

struct kernel_code {
  char *name;   /* without ".kd" */
  char *symbol; /* with it */
  struct kernel_argument *arguments;
  uint32_t argument_count, explicit_count; /* hidden ones come last */
  uint32_t explicit_bytes;                 /* end of the last explicit argument */
  uint32_t kernarg_bytes, kernarg_alignment;
  uint32_t group_segment_bytes, private_segment_bytes; /* LDS and scratch (per work-item) */
  uint32_t sgpr_count, vgpr_count, sgpr_spills, vgpr_spills;
  uint32_t wave_lanes;          /* 32 or 64 */
  uint32_t max_workgroup;       /* .max_flat_workgroup_size */
  uint32_t required_workgroup[3]; /* .reqd_workgroup_size, zeros if none */
  bool dynamic_stack;
  struct kernel_descriptor descriptor;
  uint64_t descriptor_address; /* virtual address in the image */
  uint64_t entry_address;      /* virtual address of the first instruction, inside an executable segment */
  uint64_t code_bytes;         /* of the function symbol, or to the end of its segment if unknown */
};

#endif
