#include "interpose/occupancy.h"

#include <hip/hip_runtime_api.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/handle.h"

enum { OCCUPANCY_FLAGS = 1 /* hipOccupancyDisableCachingOverride */ };

unsigned occupancy_blocks(const struct ihipModuleSymbol_t *function, uint32_t block_items, size_t dynamic_lds) {
  const struct gpu_properties *properties = &function->device->gpu->properties;
  const struct kernel_code *code = function->code;
  uint32_t limit = code->max_workgroup != 0 && code->max_workgroup < properties->max_block ? code->max_workgroup
                                                                                         : properties->max_block;
  if (block_items == 0 || block_items > limit || properties->wave_lanes == 0) return 0;
  unsigned waves = (block_items + properties->wave_lanes - 1) / properties->wave_lanes;
  unsigned blocks = properties->waves_per_unit / waves;
  size_t lds = dynamic_lds > properties->lds_bytes ? SIZE_MAX : code->group_segment_bytes + dynamic_lds;
  if (lds > properties->lds_bytes) return 0;
  /* a compute unit of a gfx10 has two workgroups' worth of LDS */
  if (lds != 0 && 2 * (size_t)properties->lds_bytes / lds < blocks) blocks = (unsigned)(2 * (size_t)properties->lds_bytes / lds);
  return blocks;
}

hipError_t cooperative_check(const struct launch_operation *operation) {
  const struct gpu_properties *properties = &operation->function->device->gpu->properties;
  uint64_t items = (uint64_t)operation->block[0] * operation->block[1];
  if (items > properties->max_block || items * operation->block[2] > properties->max_block)
    return hipErrorInvalidConfiguration;
  items *= operation->block[2];
  uint64_t blocks = 1;
  for (int axis = 0; axis < 3; axis++) {
    uint64_t count = ((uint64_t)operation->grid[axis] + operation->block[axis] - 1) / operation->block[axis];
    if (__builtin_mul_overflow(blocks, count, &blocks)) return hipErrorCooperativeLaunchTooLarge;
  }
  uint64_t resident = (uint64_t)occupancy_blocks(operation->function, (uint32_t)items, operation->dynamic_lds) *
                      properties->compute_units;
  return blocks <= resident ? hipSuccess : hipErrorCooperativeLaunchTooLarge;
}

static hipError_t function_current(const void *stub, struct ihipModuleSymbol_t **out_function) {
  struct hip_device *device = NULL;
  if (stub == NULL) return hipErrorInvalidDeviceFunction;
  hipError_t error = state_current(&device);
  return error == hipSuccess ? function_find(stub, device, out_function) : error;
}

static hipError_t active_blocks(int *count, const void *function, int block, size_t shared) {
  struct ihipModuleSymbol_t *found = NULL;
  if (count == NULL) return hipErrorInvalidValue;
  hipError_t error = function_current(function, &found);
  if (error == hipSuccess && block <= 0) error = hipErrorInvalidValue;
  if (error == hipSuccess) *count = (int)occupancy_blocks(found, (uint32_t)block, shared);
  return error;
}

static hipError_t potential_block(int *grid, int *block, const void *function, size_t shared, int limit) {
  struct ihipModuleSymbol_t *found = NULL;
  if (grid == NULL || block == NULL) return hipErrorInvalidValue;
  hipError_t error = function_current(function, &found);
  if (error != hipSuccess) return error;
  const struct gpu_properties *properties = &found->device->gpu->properties;
  uint32_t most = found->code->max_workgroup != 0 && found->code->max_workgroup < properties->max_block
                    ? found->code->max_workgroup
                    : properties->max_block;
  if (limit > 0 && (uint32_t)limit < most) most = (uint32_t)limit;
  uint32_t best = 0;
  unsigned best_items = 0;
  for (uint32_t items = most; items > 0; items = items > properties->wave_lanes ? items - properties->wave_lanes : 0) {
    unsigned resident = occupancy_blocks(found, items, shared) * items;
    if (resident > best_items) {
      best_items = resident;
      best = items;
    }
  }
  if (best == 0) return hipErrorInvalidValue;
  *block = (int)best;
  *grid = (int)(best_items / best * properties->compute_units);
  return hipSuccess;
}

hipError_t entry_hipOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *f, int block, size_t shared) {
  ENTRY_RETURN(hipOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks(count, f, block, shared));
}

hipError_t entry_hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *f, int block, size_t shared,
                                                                       unsigned flags) {
  hipError_t error = flags <= OCCUPANCY_FLAGS ? active_blocks(count, f, block, shared)
                                                                 : hipErrorInvalidValue;
  ENTRY_RETURN(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, error);
}

hipError_t entry_hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *count, hipFunction_t f, int block, size_t shared) {
  ENTRY_RETURN(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, active_blocks(count, f, block, shared));
}

hipError_t entry_hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, hipFunction_t f, int block,
                                                                             size_t shared, unsigned flags) {
  hipError_t error = flags <= OCCUPANCY_FLAGS ? active_blocks(count, f, block, shared)
                                                                 : hipErrorInvalidValue;
  ENTRY_RETURN(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, error);
}

hipError_t entry_hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *f, size_t shared, int limit) {
  ENTRY_RETURN(hipOccupancyMaxPotentialBlockSize, potential_block(grid, block, f, shared, limit));
}

hipError_t entry_hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t f, size_t shared, int limit) {
  ENTRY_RETURN(hipModuleOccupancyMaxPotentialBlockSize, potential_block(grid, block, f, shared, limit));
}

hipError_t entry_hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, hipFunction_t f, size_t shared,
                                                                  int limit, unsigned flags) {
  hipError_t error = flags <= OCCUPANCY_FLAGS ? potential_block(grid, block, f, shared, limit)
                                                                 : hipErrorInvalidValue;
  ENTRY_RETURN(hipModuleOccupancyMaxPotentialBlockSizeWithFlags, error);
}

static void attributes_of(const struct ihipModuleSymbol_t *function, hipFuncAttributes *out_attributes) {
  const struct gpu_properties *properties = &function->device->gpu->properties;
  const struct kernel_code *code = function->code;
  uint32_t most = code->max_workgroup != 0 ? code->max_workgroup : properties->max_block;
  unsigned chosen = atomic_load_explicit(&function->max_dynamic_lds, memory_order_relaxed);
  unsigned left = properties->lds_bytes > code->group_segment_bytes ? properties->lds_bytes - code->group_segment_bytes : 0;
  *out_attributes = (hipFuncAttributes){.binaryVersion = 0,
                                        .cacheModeCA = 0,
                                        .constSizeBytes = 0,
                                        .localSizeBytes = code->private_segment_bytes,
                                        .maxDynamicSharedSizeBytes = (int)(chosen != 0 ? chosen : left),
                                        .maxThreadsPerBlock = (int)most,
                                        .numRegs = (int)code->vgpr_count,
                                        .preferredShmemCarveout = 0,
                                        .ptxVersion = 0,
                                        .sharedSizeBytes = code->group_segment_bytes};
}

hipError_t entry_hipFuncGetAttributes(struct hipFuncAttributes *attributes, const void *stub) {
  struct ihipModuleSymbol_t *found = NULL;
  hipError_t error = attributes != NULL ? function_current(stub, &found) : hipErrorInvalidValue;
  if (error == hipSuccess) attributes_of(found, attributes);
  ENTRY_RETURN(hipFuncGetAttributes, error);
}

static bool attribute_pick(const hipFuncAttributes *all, hipFunction_attribute which, int *out_value) {
  switch (which) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *out_value = all->maxThreadsPerBlock; return true;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *out_value = (int)all->sharedSizeBytes; return true;
  case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *out_value = (int)all->constSizeBytes; return true;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *out_value = (int)all->localSizeBytes; return true;
  case HIP_FUNC_ATTRIBUTE_NUM_REGS: *out_value = all->numRegs; return true;
  case HIP_FUNC_ATTRIBUTE_PTX_VERSION: *out_value = all->ptxVersion; return true;
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: *out_value = all->binaryVersion; return true;
  case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *out_value = all->cacheModeCA; return true;
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *out_value = all->maxDynamicSharedSizeBytes; return true;
  case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *out_value = all->preferredShmemCarveout; return true;
  default: return false;
  }
}

hipError_t function_attribute(const struct ihipModuleSymbol_t *function, hipFunction_attribute which, int *out_value) {
  hipFuncAttributes all;
  attributes_of(function, &all);
  return attribute_pick(&all, which, out_value) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function) {
  if (value == NULL) ENTRY_RETURN(hipFuncGetAttribute, hipErrorInvalidValue);
  if (!handle_live(function, HANDLE_FUNCTION)) ENTRY_RETURN(hipFuncGetAttribute, hipErrorInvalidDeviceFunction);
  ENTRY_RETURN(hipFuncGetAttribute, function_attribute(function, attribute, value));
}

hipError_t function_set_dynamic_lds(struct ihipModuleSymbol_t *function, int bytes) {
  size_t limit = function->device->gpu->properties.lds_bytes;
  if (bytes < 0 || (size_t)bytes + function->code->group_segment_bytes > limit) return hipErrorInvalidValue;
  atomic_store_explicit(&function->max_dynamic_lds, (unsigned)bytes, memory_order_relaxed);
  return hipSuccess;
}

hipError_t entry_hipFuncSetAttribute(const void *stub, hipFuncAttribute attribute, int value) {
  struct ihipModuleSymbol_t *found = NULL;
  hipError_t error = function_current(stub, &found);
  if (error != hipSuccess) ENTRY_RETURN(hipFuncSetAttribute, error);
  if (attribute == hipFuncAttributePreferredSharedMemoryCarveout)
    ENTRY_RETURN(hipFuncSetAttribute, value >= -1 && value <= 100 ? hipSuccess : hipErrorInvalidValue);
  if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize) ENTRY_RETURN(hipFuncSetAttribute, hipErrorInvalidValue);
  ENTRY_RETURN(hipFuncSetAttribute, function_set_dynamic_lds(found, value));
}

/* Hints for caches that the software GPU does not have. */
hipError_t entry_hipFuncSetCacheConfig(const void *stub, hipFuncCache_t config) {
  struct ihipModuleSymbol_t *found = NULL;
  hipError_t error = (unsigned)config <= hipFuncCachePreferEqual ? function_current(stub, &found) : hipErrorInvalidValue;
  ENTRY_RETURN(hipFuncSetCacheConfig, error);
}

hipError_t entry_hipFuncSetSharedMemConfig(const void *stub, hipSharedMemConfig config) {
  struct ihipModuleSymbol_t *found = NULL;
  hipError_t error = (unsigned)config <= hipSharedMemBankSizeEightByte ? function_current(stub, &found)
                                                                       : hipErrorInvalidValue;
  ENTRY_RETURN(hipFuncSetSharedMemConfig, error);
}

hipError_t entry_hipOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *f, int blocks, int block) {
  struct ihipModuleSymbol_t *found = NULL;
  hipError_t error = bytes != NULL && blocks > 0 && block > 0 ? function_current(f, &found) : hipErrorInvalidValue;
  if (error != hipSuccess) ENTRY_RETURN(hipOccupancyAvailableDynamicSMemPerBlock, error);
  if (occupancy_blocks(found, (uint32_t)block, 0) < (unsigned)blocks)
    ENTRY_RETURN(hipOccupancyAvailableDynamicSMemPerBlock, hipErrorInvalidValue);
  /* what the blocks that should fit leave of the unit's LDS, at most a workgroup's share */
  size_t one = found->device->gpu->properties.lds_bytes, each = 2 * one / (unsigned)blocks;
  *bytes = (each < one ? each : one) - found->code->group_segment_bytes;
  ENTRY_RETURN(hipOccupancyAvailableDynamicSMemPerBlock, hipSuccess);
}
