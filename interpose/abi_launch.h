/* Types of HIP 6.4 to 7.2 for streams, launches, libraries and linking, which the headers of ROCm 5.2 lack.
 *
 * Layouts follow the public HIP documentation; tests/unit/hip_stream.c holds them to the offsets that programs were compiled with. */
#ifndef HRX_INTERPOSE_ABI_LAUNCH_H
#define HRX_INTERPOSE_ABI_LAUNCH_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>

/* Memory operations in a stream (6.4). */
enum stream_memory_operation {
  STREAM_WAIT_VALUE_32 = 1,
  STREAM_WRITE_VALUE_32 = 2,
  STREAM_FLUSH_REMOTE_WRITES = 3,
  STREAM_WAIT_VALUE_64 = 4,
  STREAM_WRITE_VALUE_64 = 5,
  STREAM_BARRIER = 6
};

typedef union hipStreamBatchMemOpParams {
  int operation; /* enum stream_memory_operation */
  struct {
    int operation;
    void *address;
    union {
      uint32_t value;
      uint64_t value64;
    };
    unsigned flags;
    void *alias;
  } value;
  uint64_t pad[6];
} hipStreamBatchMemOpParams;

/* What a launch (6.5) or a stream (7.1) may be given beyond its arguments. */
enum launch_attribute {
  LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  LAUNCH_ATTRIBUTE_PRIORITY = 8
};

enum synchronization_policy { SYNCHRONIZATION_AUTO = 1, SYNCHRONIZATION_BLOCKING = 4 };

typedef union hipLaunchAttributeValue {
  char pad[64];
  int cooperative;
  int priority;
  int synchronization_policy;
} hipLaunchAttributeValue;

typedef struct hipLaunchAttribute {
  int id; /* enum launch_attribute */
  char pad[4];
  hipLaunchAttributeValue value;
} hipLaunchAttribute;

typedef struct hipLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  hipStream_t stream;
  hipLaunchAttribute *attrs;
  unsigned numAttrs;
} hipLaunchConfig_t;

typedef struct HIP_LAUNCH_CONFIG {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  hipStream_t hStream;
  hipLaunchAttribute *attrs;
  unsigned numAttrs;
} HIP_LAUNCH_CONFIG;

typedef struct hipFunctionLaunchParams {
  hipFunction_t function;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  hipStream_t hStream;
  void **kernelParams;
} hipFunctionLaunchParams;

/* Libraries (7.2): code that is opened on each device where it is used. */
typedef struct ihipLibrary_t *hipLibrary_t;
typedef struct ihipModuleSymbol_t *hipKernel_t; /* a kernel of a library is a function like any other */

/* Linking (hiprtc; 6.4 under HIP's own name too). */
typedef struct ihipLinkState_t *hipLinkState_t;

enum jit_input {
  JIT_INPUT_LLVM_BITCODE = 100,
  JIT_INPUT_LLVM_BUNDLED_BITCODE = 101,
  JIT_INPUT_LLVM_ARCHIVE_OF_BUNDLED_BITCODE = 102
};

#endif
