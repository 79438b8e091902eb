/* Memory types that programs built against ROCm 6 and 7 use and that the headers of ROCm 5.2 lack. Layouts follow the public HIP
 * documentation; tests/unit/hip_memory_more.c holds them to the offsets that programs were compiled with. */
#ifndef HRX_INTERPOSE_ABI_MEMORY_H
#define HRX_INTERPOSE_ABI_MEMORY_H

#include <hip/hip_runtime_api.h>

/* hipMemLocation.type: HIP 5 has the first one only. */
enum memory_location { LOCATION_DEVICE = 1, LOCATION_HOST = 2, LOCATION_HOST_NODE = 3, LOCATION_HOST_NODE_CURRENT = 4 };

/* hipMemAllocationType beside hipMemAllocationTypePinned. */
enum { ALLOCATION_MANAGED = 2, ALLOCATION_UNCACHED = 0x40000000 };

/* hipMemAllocationProp since ROCm 5.3; the header's has other places for the same. */
struct allocation_properties {
  int type;
  int handle_types;
  hipMemLocation location;
  void *win32;
  unsigned char compression, rdma;
  unsigned short usage;
};

/* hipMemPoolProps: `max_bytes` was part of the reserved bytes before ROCm 6. */
struct pool_properties {
  int type;
  int handle_types;
  hipMemLocation location;
  void *win32;
  size_t max_bytes;
  unsigned char reserved[56];
};

typedef struct hipMemcpyAttributes {
  int srcAccessOrder; /* 1: in stream order, 2: during the call, 3: any */
  hipMemLocation srcLocHint, dstLocHint;
  unsigned flags;
} hipMemcpyAttributes;

typedef struct hipMemcpy3DOperand {
  int type; /* 1: pointer, 2: array */
  union {
    struct {
      void *ptr;
      size_t rowLength, layerHeight; /* elements and rows; 0: as the copy's extent */
      hipMemLocation locHint;
    } ptr;
    struct {
      hipArray_t array;
      struct { size_t x, y, z; } offset; /* elements */
    } array;
  } op;
} hipMemcpy3DOperand;

struct hipMemcpy3DBatchOp {
  hipMemcpy3DOperand src, dst;
  hipExtent extent;
  int srcAccessOrder;
  unsigned flags;
};

typedef struct hipMemcpy3DPeerParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  int srcDevice;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  int dstDevice;
  hipExtent extent;
} hipMemcpy3DPeerParms;

typedef struct hipArrayMemoryRequirements {
  size_t alignment, size;
} hipArrayMemoryRequirements;

#endif
