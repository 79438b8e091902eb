#include "interpose/properties.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"

static int clamp_int(uint64_t value) { return value > INT_MAX ? INT_MAX : (int)value; }

/* "gfx1030" is 10.3 stepping 0: the last two digits, hexadecimal, are minor version and stepping. */
static void version_of(const char *target, int *out_major, int *out_minor) {
  size_t length = strcspn(target, ":");
  *out_major = *out_minor = 0;
  if (length < 6 || length > 16 || strncmp(target, "gfx", 3) != 0) return;
  char digits[16] = {0};
  memcpy(digits, target + 3, length - 5);
  *out_major = atoi(digits);
  digits[0] = target[length - 2];
  digits[1] = '\0';
  *out_minor = (int)strtol(digits, NULL, 16);
}

static void limits_fill(const struct gpu_properties *gpu, hipDeviceProp_tR0600 *p) {
  p->totalGlobalMem = gpu->memory_bytes;
  p->sharedMemPerBlock = p->sharedMemPerMultiprocessor = p->maxSharedMemoryPerMultiProcessor = gpu->lds_bytes;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = (int)gpu->wave_lanes;
  p->memPitch = INT_MAX;
  p->maxThreadsPerBlock = (int)gpu->max_block;
  for (int axis = 0; axis < 3; axis++) {
    p->maxThreadsDim[axis] = clamp_int(gpu->max_block_axis[axis]);
    p->maxGridSize[axis] = clamp_int(gpu->max_grid[axis]);
  }
  p->clockRate = clamp_int(gpu->clock_hz / 1000);
  p->memoryClockRate = clamp_int(gpu->memory_clock_hz / 1000);
  p->clockInstructionRate = 100000; /* s_memrealtime counts at 100 MHz */
  p->memoryBusWidth = 256;
  p->totalConstMem = INT_MAX;
  p->multiProcessorCount = (int)gpu->compute_units;
  p->maxThreadsPerMultiProcessor = clamp_int((uint64_t)gpu->waves_per_unit * gpu->wave_lanes);
  p->maxBlocksPerMultiProcessor = p->maxThreadsPerMultiProcessor / (int)(gpu->wave_lanes != 0 ? gpu->wave_lanes : 1);
  p->l2CacheSize = 4 << 20;
}

static void textures_fill(hipDeviceProp_tR0600 *p) {
  p->textureAlignment = p->texturePitchAlignment = p->surfaceAlignment = 256;
  p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2D[1] = 16384;
  p->maxTexture1DLinear = p->maxTexture2DLinear[0] = p->maxTexture2DLinear[1] = 16384;
  for (int axis = 0; axis < 3; axis++) p->maxTexture3D[axis] = 2048;
}

static void features_fill(hipDeviceProp_tR0600 *p) {
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->concurrentManagedAccess = p->directManagedMemAccessFromHost = p->hostRegisterSupported = 1;
  p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = p->isLargeBar = p->hostNativeAtomicSupported = 1;
  p->streamPrioritiesSupported = p->deviceOverlap = p->asyncEngineCount = p->computePreemptionSupported = 1;
  p->cooperativeMultiDeviceLaunch = p->cooperativeMultiDeviceUnmatchedFunc = p->cooperativeMultiDeviceUnmatchedGridDim = 1;
  p->cooperativeMultiDeviceUnmatchedBlockDim = p->cooperativeMultiDeviceUnmatchedSharedMem = 1;
  p->arch.hasGlobalInt32Atomics = p->arch.hasGlobalFloatAtomicExch = p->arch.hasSharedInt32Atomics = 1;
  p->arch.hasSharedFloatAtomicExch = p->arch.hasFloatAtomicAdd = p->arch.hasGlobalInt64Atomics = 1;
  p->arch.hasSharedInt64Atomics = p->arch.hasDoubles = p->arch.hasWarpVote = p->arch.hasWarpBallot = 1;
  p->arch.hasWarpShuffle = p->arch.has3dGrid = p->arch.hasThreadFenceSystem = 1;
}

void properties_fill(const struct hip_device *device, hipDeviceProp_tR0600 *out_properties) {
  const struct gpu_properties *gpu = &device->gpu->properties;
  hipDeviceProp_tR0600 *p = out_properties;
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", gpu->name);
  snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", gpu->target);
  snprintf(p->uuid.bytes, sizeof p->uuid.bytes, "hrx-%04d", device->ordinal);
  version_of(gpu->target, &p->major, &p->minor);
  p->pciBusID = device->ordinal + 1;
  limits_fill(gpu, p);
  textures_fill(p);
  features_fill(p);
}

/* HIP 5 had the target as a decimal number too: "gfx1030" is 1030, "gfx90a" 910 (stepping 10). */
static int target_number(const char *target) {
  size_t length = strcspn(target, ":");
  int major = 0, minor = 0;
  version_of(target, &major, &minor);
  char stepping[2] = {length > 3 ? target[length - 1] : '0', '\0'};
  return major * 100 + minor * 10 + (int)strtol(stepping, NULL, 16);
}

/* What both layouts have under the same name. */
#define SHARED_FIELDS(X) \
  X(name) X(gcnArchName) X(totalGlobalMem) X(sharedMemPerBlock) X(regsPerBlock) X(warpSize) X(maxThreadsPerBlock) \
  X(maxThreadsDim) X(maxGridSize) X(clockRate) X(memoryClockRate) X(memoryBusWidth) X(totalConstMem) X(major) X(minor) \
  X(multiProcessorCount) X(l2CacheSize) X(maxThreadsPerMultiProcessor) X(computeMode) X(clockInstructionRate) X(arch) \
  X(concurrentKernels) X(pciDomainID) X(pciBusID) X(pciDeviceID) X(maxSharedMemoryPerMultiProcessor) \
  X(canMapHostMemory) X(cooperativeLaunch) X(maxTexture1DLinear) X(maxTexture1D) X(maxTexture2D) X(maxTexture3D) \
  X(memPitch) X(textureAlignment) X(texturePitchAlignment) X(isLargeBar) X(managedMemory) \
  X(directManagedMemAccessFromHost) X(concurrentManagedAccess) X(cooperativeMultiDeviceLaunch) \
  X(cooperativeMultiDeviceUnmatchedFunc) X(cooperativeMultiDeviceUnmatchedGridDim) \
  X(cooperativeMultiDeviceUnmatchedBlockDim) X(cooperativeMultiDeviceUnmatchedSharedMem)

void properties_narrow(const hipDeviceProp_tR0600 *properties, hipDeviceProp_t *out_properties) {
  memset(out_properties, 0, sizeof *out_properties);
#define COPY(field)                                                                                            \
  _Static_assert(sizeof out_properties->field == sizeof properties->field, #field " has two sizes");           \
  memcpy(&out_properties->field, &properties->field, sizeof out_properties->field);
  SHARED_FIELDS(COPY)
#undef COPY
  out_properties->gcnArch = target_number(properties->gcnArchName);
}

/* hipDeviceAttributes that the header of 5.2 does not have yet. */
enum { ATTRIBUTE_VIRTUAL_MEMORY = 89, ATTRIBUTE_HOST_REGISTER = 90, ATTRIBUTE_WALL_CLOCK_RATE = 10017 };

static bool attribute_geometry(const hipDeviceProp_tR0600 *p, int attribute, int *out_value) {
  switch (attribute) {
  case hipDeviceAttributeMaxThreadsPerBlock: *out_value = p->maxThreadsPerBlock; return true;
  case hipDeviceAttributeMaxBlockDimX: *out_value = p->maxThreadsDim[0]; return true;
  case hipDeviceAttributeMaxBlockDimY: *out_value = p->maxThreadsDim[1]; return true;
  case hipDeviceAttributeMaxBlockDimZ: *out_value = p->maxThreadsDim[2]; return true;
  case hipDeviceAttributeMaxGridDimX: *out_value = p->maxGridSize[0]; return true;
  case hipDeviceAttributeMaxGridDimY: *out_value = p->maxGridSize[1]; return true;
  case hipDeviceAttributeMaxGridDimZ: *out_value = p->maxGridSize[2]; return true;
  case hipDeviceAttributeMaxThreadsDim: *out_value = p->maxThreadsDim[0]; return true;
  case hipDeviceAttributeMaxSharedMemoryPerBlock: *out_value = clamp_int(p->sharedMemPerBlock); return true;
  case hipDeviceAttributeSharedMemPerMultiprocessor:
  case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
    *out_value = clamp_int(p->maxSharedMemoryPerMultiProcessor);
    return true;
  case hipDeviceAttributeSharedMemPerBlockOptin: *out_value = clamp_int(p->sharedMemPerBlockOptin); return true;
  case hipDeviceAttributeTotalConstantMemory: *out_value = clamp_int(p->totalConstMem); return true;
  case hipDeviceAttributeTotalGlobalMem: *out_value = clamp_int(p->totalGlobalMem); return true;
  case hipDeviceAttributeWarpSize: *out_value = p->warpSize; return true;
  case hipDeviceAttributeMaxRegistersPerBlock: *out_value = p->regsPerBlock; return true;
  case hipDeviceAttributeMaxRegistersPerMultiprocessor: *out_value = p->regsPerMultiprocessor; return true;
  case hipDeviceAttributeMultiprocessorCount:
  case hipDeviceAttributePhysicalMultiProcessorCount: *out_value = p->multiProcessorCount; return true;
  case hipDeviceAttributeMaxThreadsPerMultiProcessor: *out_value = p->maxThreadsPerMultiProcessor; return true;
  case hipDeviceAttributeMaxBlocksPerMultiProcessor: *out_value = p->maxBlocksPerMultiProcessor; return true;
  case hipDeviceAttributeMaxPitch: *out_value = clamp_int(p->memPitch); return true;
  case hipDeviceAttributeClockRate: *out_value = p->clockRate; return true;
  case hipDeviceAttributeMemoryClockRate: *out_value = p->memoryClockRate; return true;
  case hipDeviceAttributeMemoryBusWidth: *out_value = p->memoryBusWidth; return true;
  case hipDeviceAttributeClockInstructionRate:
  case ATTRIBUTE_WALL_CLOCK_RATE: *out_value = p->clockInstructionRate; return true;
  case hipDeviceAttributeL2CacheSize: *out_value = p->l2CacheSize; return true;
  case hipDeviceAttributeComputeCapabilityMajor: *out_value = p->major; return true;
  case hipDeviceAttributeComputeCapabilityMinor: *out_value = p->minor; return true;
  case hipDeviceAttributeGcnArch: *out_value = target_number(p->gcnArchName); return true;
  case hipDeviceAttributePciBusId: *out_value = p->pciBusID; return true;
  case hipDeviceAttributePciDeviceId: *out_value = p->pciDeviceID; return true;
  case hipDeviceAttributePciDomainID: *out_value = p->pciDomainID; return true;
  default: return false;
  }
}

static bool attribute_texture(const hipDeviceProp_tR0600 *p, int attribute, int *out_value) {
  switch (attribute) {
  case hipDeviceAttributeMaxTexture1DWidth: *out_value = p->maxTexture1D; return true;
  case hipDeviceAttributeMaxTexture1DLinear: *out_value = p->maxTexture1DLinear; return true;
  case hipDeviceAttributeMaxTexture2DWidth: *out_value = p->maxTexture2D[0]; return true;
  case hipDeviceAttributeMaxTexture2DHeight: *out_value = p->maxTexture2D[1]; return true;
  case hipDeviceAttributeMaxTexture3DWidth: *out_value = p->maxTexture3D[0]; return true;
  case hipDeviceAttributeMaxTexture3DHeight: *out_value = p->maxTexture3D[1]; return true;
  case hipDeviceAttributeMaxTexture3DDepth: *out_value = p->maxTexture3D[2]; return true;
  case hipDeviceAttributeTextureAlignment: *out_value = clamp_int(p->textureAlignment); return true;
  case hipDeviceAttributeTexturePitchAlignment: *out_value = clamp_int(p->texturePitchAlignment); return true;
  case hipDeviceAttributeSurfaceAlignment: *out_value = clamp_int(p->surfaceAlignment); return true;
  case hipDeviceAttributeImageSupport: *out_value = p->maxTexture1D != 0; return true;
  default: return false;
  }
}

static bool attribute_feature(const hipDeviceProp_tR0600 *p, int attribute, int *out_value) {
  switch (attribute) {
  case hipDeviceAttributeCanMapHostMemory: *out_value = p->canMapHostMemory; return true;
  case hipDeviceAttributeConcurrentKernels: *out_value = p->concurrentKernels; return true;
  case hipDeviceAttributeConcurrentManagedAccess: *out_value = p->concurrentManagedAccess; return true;
  case hipDeviceAttributeManagedMemory: *out_value = p->managedMemory; return true;
  case hipDeviceAttributeDirectManagedMemAccessFromHost: *out_value = p->directManagedMemAccessFromHost; return true;
  case hipDeviceAttributePageableMemoryAccess: *out_value = p->pageableMemoryAccess; return true;
  case hipDeviceAttributeCooperativeLaunch: *out_value = p->cooperativeLaunch; return true;
  case hipDeviceAttributeCanUseHostPointerForRegisteredMem: *out_value = p->canUseHostPointerForRegisteredMem; return true;
  case hipDeviceAttributeHostNativeAtomicSupported: *out_value = p->hostNativeAtomicSupported; return true;
  case hipDeviceAttributeStreamPrioritiesSupported: *out_value = p->streamPrioritiesSupported; return true;
  case hipDeviceAttributeAsyncEngineCount: *out_value = p->asyncEngineCount; return true;
  case hipDeviceAttributeDeviceOverlap: *out_value = p->deviceOverlap; return true;
  case hipDeviceAttributeUnifiedAddressing: *out_value = p->unifiedAddressing; return true;
  case hipDeviceAttributeComputePreemptionSupported: *out_value = p->computePreemptionSupported; return true;
  case hipDeviceAttributeMemoryPoolsSupported: *out_value = p->memoryPoolsSupported; return true;
  case hipDeviceAttributeIsLargeBar: *out_value = p->isLargeBar; return true;
  case hipDeviceAttributeFineGrainSupport: *out_value = 1; return true;
  case hipDeviceAttributeCanUseStreamWaitValue: *out_value = 1; return true;
  case hipDeviceAttributeCooperativeMultiDeviceLaunch: *out_value = p->cooperativeMultiDeviceLaunch; return true;
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc: *out_value = p->cooperativeMultiDeviceUnmatchedFunc; return true;
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
    *out_value = p->cooperativeMultiDeviceUnmatchedGridDim;
    return true;
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
    *out_value = p->cooperativeMultiDeviceUnmatchedBlockDim;
    return true;
  case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
    *out_value = p->cooperativeMultiDeviceUnmatchedSharedMem;
    return true;
  case ATTRIBUTE_HOST_REGISTER: *out_value = p->hostRegisterSupported; return true;
  case ATTRIBUTE_VIRTUAL_MEMORY:
  case hipDeviceAttributeEccEnabled:
  case hipDeviceAttributeComputeMode:
  case hipDeviceAttributeGlobalL1CacheSupported:
  case hipDeviceAttributeLocalL1CacheSupported:
  case hipDeviceAttributeIntegrated:
  case hipDeviceAttributeIsMultiGpuBoard:
  case hipDeviceAttributeMultiGpuBoardGroupID:
  case hipDeviceAttributeKernelExecTimeout:
  case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
  case hipDeviceAttributePersistingL2CacheMaxSize:
  case hipDeviceAttributeReservedSharedMemPerBlock:
  case hipDeviceAttributeAccessPolicyMaxWindowSize:
  case hipDeviceAttributeSingleToDoublePrecisionPerfRatio:
  case hipDeviceAttributeTccDriver:
  case hipDeviceAttributeAsicRevision: *out_value = 0; return true;
  default: return false;
  }
}

bool properties_attribute(const hipDeviceProp_tR0600 *properties, int attribute, int *out_value) {
  return attribute_geometry(properties, attribute, out_value) || attribute_texture(properties, attribute, out_value) ||
         attribute_feature(properties, attribute, out_value);
}

static hipError_t properties_of(int ordinal, hipDeviceProp_tR0600 *out_properties) {
  struct hip_device *device = NULL;
  hipError_t error = state_device(ordinal, &device);
  if (error == hipSuccess) properties_fill(device, out_properties);
  return error;
}

static hipError_t properties_old(hipDeviceProp_t *out_properties, int ordinal) {
  hipDeviceProp_tR0600 wide;
  if (out_properties == NULL) return hipErrorInvalidValue;
  hipError_t error = properties_of(ordinal, &wide);
  if (error == hipSuccess) properties_narrow(&wide, out_properties);
  return error;
}

/* The plain name keeps the layout that it had before HIP 6: programs built for it have only that much room. */
hipError_t entry_hipGetDeviceProperties(hipDeviceProp_t *prop, int device) {
  ENTRY_RETURN(hipGetDeviceProperties, properties_old(prop, device));
}

hipError_t entry_hipGetDevicePropertiesR0000(hipDeviceProp_t *prop, int device) {
  ENTRY_RETURN(hipGetDevicePropertiesR0000, properties_old(prop, device));
}

hipError_t entry_hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *prop, int device) {
  ENTRY_RETURN(hipGetDevicePropertiesR0600, prop != NULL ? properties_of(device, prop) : hipErrorInvalidValue);
}

hipError_t entry_hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device) {
  hipDeviceProp_tR0600 properties;
  hipError_t error = value != NULL ? properties_of(device, &properties) : hipErrorInvalidValue;
  int found = 0;
  if (error == hipSuccess && !properties_attribute(&properties, (int)attribute, &found)) error = hipErrorInvalidValue;
  if (error == hipSuccess) *value = found;
  ENTRY_RETURN(hipDeviceGetAttribute, error);
}
