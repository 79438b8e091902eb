/* Kernels: code that is loaded once, and specialisations of it with a launch and a contract. */
#include <hrx/kernel.h>

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "code/fat_binary.h"
#include "code/kernel.h"
#include "native/contract.h"

static bool is_pointer(const struct kernel_argument *argument) { return argument->kind == ARGUMENT_GLOBAL_BUFFER; }
static bool is_value(const struct kernel_argument *argument) { return argument->kind == ARGUMENT_BY_VALUE; }

/* --- code --- */

hrx_status code_module_load(struct hrx_runtime *runtime, const void *bytes, size_t size, struct code_module **out_code) {
  if (bytes == NULL || size == 0) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "there are no bytes to load");
  struct gpu_device *device = NULL;
  struct fat_binary binary = {0};
  struct code_module *code = calloc(1, sizeof *code);
  hrx_status status = code != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a module");
  if (status == HRX_OK) status = runtime_gpu(runtime, &device);
  if (status == HRX_OK) status = fat_binary_open(bytes, size, &binary);
  if (status == HRX_OK) {
    const struct fat_entry *entry = fat_binary_pick(&binary, device->properties.target);
    if (entry != NULL) {
      status = gpu_module_load(device, entry->bytes, entry->size, &code->module);
    } else {
      char targets[256];
      fat_binary_targets(&binary, targets, sizeof targets);
      status = hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_TARGET, "there is code for %s, and none for this GPU, a %s",
                               targets[0] != '\0' ? targets : "no GPU", device->properties.target);
    }
  }
  fat_binary_finish(&binary);
  if (status != HRX_OK) {
    free(code);
    return status;
  }
  code->references = 1;
  code->runtime = hrx_runtime_retain(runtime);
  *out_code = code;
  return HRX_OK;
}

hrx_status code_module_load_file(struct hrx_runtime *runtime, const char *path, struct code_module **out_code) {
  struct file_bytes file;
  hrx_status status = file_read(path, &file);
  if (status != HRX_OK) return status;
  status = code_module_load(runtime, file.bytes, file.size, out_code);
  file_finish(&file);
  return status;
}

struct code_module *code_module_retain(struct code_module *code) {
  atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed); /* the caller has one */
  return code;
}

void code_module_release(struct code_module *code) {
  if (code == NULL || atomic_fetch_sub(&code->references, 1) != 1) return;
  struct hrx_runtime *runtime = code->runtime;
  gpu_module_release(code->module);
  free(code);
  hrx_runtime_release(runtime);
}

hrx_status code_module_kernel(struct code_module *code, const char *symbol, struct gpu_kernel **out_kernel) {
  if (symbol == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "the kernel's name is NULL");
  struct gpu_kernel *kernel = NULL;
  hrx_status status = gpu_module_kernel(code->module, symbol, &kernel);
  if (status != HRX_OK) return status;
  const struct kernel_code *of = gpu_kernel_code(kernel);
  for (uint32_t i = 0; i < of->explicit_count; i++)
    if (!is_pointer(&of->arguments[i]) && !is_value(&of->arguments[i]))
      return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_CONTRACT, "kernel %s: argument %u is neither a pointer nor a value", of->name, i);
  status = gpu_kernel_ready(kernel);
  if (status == HRX_OK) *out_kernel = kernel;
  return status;
}

/* --- arguments --- */

unsigned kernel_binding_count(const struct kernel_code *code) {
  unsigned count = 0;
  for (uint32_t i = 0; i < code->explicit_count; i++) count += is_pointer(&code->arguments[i]);
  return count;
}

size_t kernel_constant_bytes(const struct kernel_code *code) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < code->explicit_count; i++)
    if (is_value(&code->arguments[i])) bytes += code->arguments[i].bytes;
  return bytes;
}

hrx_status kernel_arguments_write(const struct kernel_code *code, const uintptr_t *addresses, size_t count, const void *constants,
                                  size_t constant_bytes, void *out_segment) {
  uint8_t *segment = out_segment;
  size_t used = 0, pointers = 0, expected = kernel_constant_bytes(code);
  if (count != kernel_binding_count(code))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: %zu pointers, its code has %u pointer arguments", code->name, count,
                           kernel_binding_count(code));
  if (constant_bytes != expected || (constants == NULL && expected != 0))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: %zu bytes of constants, its code has %zu bytes of arguments by value",
                           code->name, constants != NULL ? constant_bytes : 0, expected);
  if (code->explicit_bytes != 0) memset(segment, 0, code->explicit_bytes);
  for (uint32_t i = 0; i < code->explicit_count; i++) {
    const struct kernel_argument *argument = &code->arguments[i];
    if (is_pointer(argument)) {
      uint64_t address = addresses[pointers++];
      memcpy(segment + argument->offset, &address, argument->bytes < sizeof address ? argument->bytes : sizeof address);
    } else if (is_value(argument)) {
      memcpy(segment + argument->offset, (const uint8_t *)constants + used, argument->bytes);
      used += argument->bytes;
    }
  }
  return HRX_OK;
}

hrx_status kernel_launch_make(const struct kernel_code *code, hrx_dimensions grid, hrx_dimensions block, uint32_t dynamic_lds,
                              bool zero_is_one, struct gpu_launch *out_launch) {
  uint32_t groups[3] = {grid.x, grid.y, grid.z}, items[3] = {block.x, block.y, block.z};
  struct gpu_launch launch = {.dynamic_lds = dynamic_lds};
  uint64_t total = 1;
  for (unsigned i = 0; i < 3; i++) {
    if (zero_is_one && groups[i] == 0) groups[i] = 1;
    if (zero_is_one && items[i] == 0) items[i] = 1;
    if (groups[i] == 0 || items[i] == 0)
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: grid or block has no work-items on axis %u", code->name, i);
    if (__builtin_mul_overflow(groups[i], items[i], &launch.grid[i]))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: %u workgroups of %u work-items on axis %u: a launch has less than 2^32",
                             code->name, groups[i], items[i], i);
    launch.block[i] = items[i];
    total *= items[i] <= GPU_BLOCK_MOST ? items[i] : GPU_BLOCK_MOST + 1;
  }
  if (total > GPU_BLOCK_MOST)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_LAUNCH_GEOMETRY, "kernel %s: a block of %u x %u x %u work-items, the limit is %d together",
                           code->name, items[0], items[1], items[2], GPU_BLOCK_MOST);
  *out_launch = launch;
  return HRX_OK;
}

/* --- kernels with a contract --- */

static bool writes(enum argument_access access) { return access == ARGUMENT_ACCESS_WRITE || access == ARGUMENT_ACCESS_READ_WRITE; }

/* Bindings are the pointer arguments in order. What the compiler found out must be within what the contract says. */
static hrx_status bindings_check(const struct kernel_code *code, const struct hrx_contract *contract) {
  unsigned expected = kernel_binding_count(code), index = 0;
  if (contract->binding_count != expected)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: the contract has %zu bindings, the code has %u pointer arguments",
                           code->name, contract->binding_count, expected);
  for (uint32_t i = 0; i < code->explicit_count; i++) {
    const struct kernel_argument *argument = &code->arguments[i];
    if (!is_pointer(argument)) continue;
    if (contract->bindings[index].access == HRX_READ && writes(argument->actual_access))
      return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "kernel %s: the contract says that binding %u is only read, the code writes it",
                             code->name, index);
    index++;
  }
  return HRX_OK;
}

/* Typed constants first, then indices at the width of the argument that each becomes. */
static hrx_status constants_make(const struct kernel_code *code, const struct hrx_contract *contract, uint8_t **out_constants,
                                 size_t *out_bytes) {
  size_t expected = kernel_constant_bytes(code), at = 0, index = 0;
  uint8_t *constants = malloc(expected + 1);
  if (constants == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of constants", expected);
  hrx_status status = HRX_OK;
  for (uint32_t i = 0; status == HRX_OK && i < code->explicit_count; i++) {
    const struct kernel_argument *argument = &code->arguments[i];
    if (!is_value(argument)) continue;
    if (at >= contract->constant_bytes && index < contract->index_count)
      status = contract_index_write(code->name, contract->indices[index++], argument->bytes, i, constants + at);
    else if (at + argument->bytes <= contract->constant_bytes)
      memcpy(constants + at, contract->constants + at, argument->bytes);
    else
      break;
    at += argument->bytes;
  }
  if (status == HRX_OK && (at != expected || index != contract->index_count || contract->constant_bytes > at))
    status = hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT,
                             "kernel %s: the contract has %zu bytes of constants and %zu indices, the code has %zu bytes of arguments by value",
                             code->name, contract->constant_bytes, contract->index_count, expected);
  if (status != HRX_OK) {
    free(constants);
    return status;
  }
  *out_constants = constants;
  *out_bytes = expected;
  return HRX_OK;
}

/* What only the device knows about a launch: a dispatch that is never started. */
static hrx_status launch_try(struct gpu_kernel *kernel, const struct gpu_launch *launch) {
  struct gpu_dispatch *dispatch = NULL;
  hrx_status status = gpu_dispatch_create(kernel, launch, &dispatch);
  if (status == HRX_OK) gpu_dispatch_release(dispatch);
  return status;
}

/* Takes over the reference to the code on success. */
static hrx_status kernel_make(struct code_module *code, struct gpu_kernel *of, hrx_dimensions grid, hrx_dimensions block,
                              uint32_t dynamic_lds, struct hrx_contract *contract, hrx_gpu_kernel **out_kernel) {
  const struct kernel_code *metadata = gpu_kernel_code(of);
  struct hrx_gpu_kernel *kernel = calloc(1, sizeof *kernel);
  hrx_status status = kernel != NULL ? HRX_OK : hrx_fail(HRX_OUT_OF_MEMORY, "no memory for kernel %s", metadata->name);
  if (status == HRX_OK) status = bindings_check(metadata, contract);
  if (status == HRX_OK) status = kernel_launch_make(metadata, grid, block, dynamic_lds, true, &kernel->launch);
  if (status == HRX_OK) status = launch_try(of, &kernel->launch);
  if (status == HRX_OK) status = constants_make(metadata, contract, &kernel->constants, &kernel->constant_bytes);
  if (status != HRX_OK) {
    free(kernel);
    return status;
  }
  kernel->references = 1;
  kernel->code = code;
  kernel->kernel = of;
  kernel->contract = hrx_contract_retain(contract);
  contract_seal(contract);
  *out_kernel = kernel;
  return HRX_OK;
}

static hrx_status arguments_check(const void *runtime, const void *contract, void *out_kernel) {
  if (runtime != NULL && contract != NULL && out_kernel != NULL) return HRX_OK;
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime, contract or out_kernel is NULL");
}

/* Takes over the reference to the code in any case. */
static hrx_status loaded(struct code_module *code, const char *symbol, hrx_dimensions grid, hrx_dimensions block, uint32_t dynamic_lds,
                         struct hrx_contract *contract, hrx_gpu_kernel **out_kernel) {
  struct gpu_kernel *kernel = NULL;
  hrx_status status = code_module_kernel(code, symbol, &kernel);
  if (status == HRX_OK) status = kernel_make(code, kernel, grid, block, dynamic_lds, contract, out_kernel);
  if (status != HRX_OK) code_module_release(code);
  return status;
}

hrx_status hrx_gpu_kernel_load(hrx_runtime *runtime, const void *bytes, size_t size, const char *symbol, hrx_dimensions grid,
                               hrx_dimensions block, uint32_t dynamic_lds, hrx_contract *contract, hrx_gpu_kernel **out_kernel) {
  struct code_module *code = NULL;
  hrx_status status = arguments_check(runtime, contract, out_kernel);
  if (status == HRX_OK) status = code_module_load(runtime, bytes, size, &code);
  return status == HRX_OK ? loaded(code, symbol, grid, block, dynamic_lds, contract, out_kernel) : status;
}

hrx_status hrx_gpu_kernel_load_file(hrx_runtime *runtime, const char *path, const char *symbol, hrx_dimensions grid,
                                    hrx_dimensions block, uint32_t dynamic_lds, hrx_contract *contract,
                                    hrx_gpu_kernel **out_kernel) {
  struct code_module *code = NULL;
  hrx_status status = arguments_check(runtime, contract, out_kernel);
  if (status == HRX_OK) status = code_module_load_file(runtime, path, &code);
  return status == HRX_OK ? loaded(code, symbol, grid, block, dynamic_lds, contract, out_kernel) : status;
}

hrx_status hrx_gpu_kernel_adopt(hrx_runtime *runtime, hrx_stream_kernel *kernel, hrx_dimensions grid, hrx_dimensions block,
                                uint32_t dynamic_lds, hrx_contract *contract, hrx_gpu_kernel **out_kernel) {
  hrx_status status = arguments_check(runtime, contract, out_kernel);
  if (status == HRX_OK && kernel == NULL) status = hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel is NULL");
  if (status != HRX_OK) return status;
  if (kernel->code->runtime->domain != runtime->domain)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_FOREIGN, "kernel %s belongs to another runtime", gpu_kernel_code(kernel->kernel)->name);
  struct code_module *code = code_module_retain(kernel->code);
  status = kernel_make(code, kernel->kernel, grid, block, dynamic_lds, contract, out_kernel);
  if (status != HRX_OK) code_module_release(code);
  return status;
}

hrx_gpu_kernel *hrx_gpu_kernel_retain(hrx_gpu_kernel *kernel) {
  if (kernel != NULL) atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed); /* the caller has one */
  return kernel;
}

void hrx_gpu_kernel_release(hrx_gpu_kernel *kernel) {
  if (kernel == NULL || atomic_fetch_sub(&kernel->references, 1) != 1) return;
  hrx_contract_release(kernel->contract);
  free(kernel->constants);
  code_module_release(kernel->code);
  free(kernel);
}

/* --- what is known about a kernel --- */

static hrx_status info_write(const struct gpu_kernel *kernel, const struct hrx_contract *contract, hrx_kernel_info *io_info) {
  if (io_info == NULL || io_info->size < sizeof io_info->size || io_info->size > 4096)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "io_info is NULL or its size is not set");
  const struct kernel_code *code = gpu_kernel_code(kernel);
  const struct gpu_properties *properties = &kernel->device->properties;
  hrx_kernel_info info = {
      .size = io_info->size,
      .name = code->name,
      .target = properties->target,
      .constant_bytes = kernel_constant_bytes(code),
      .binding_count = contract != NULL ? (unsigned)contract->binding_count : kernel_binding_count(code),
      .parameter_count = code->explicit_count,
      .block = {code->required_workgroup[0], code->required_workgroup[1], code->required_workgroup[2]},
      .max_block = code->max_workgroup != 0 && code->max_workgroup < properties->max_block ? code->max_workgroup : properties->max_block,
      .vgprs = code->vgpr_count,
      .sgprs = code->sgpr_count,
      .lds_bytes = code->group_segment_bytes,
      .scratch_bytes = code->private_segment_bytes,
      .verdict = HRX_ACCESS_NOT_ANALYSED,
  };
  memcpy(io_info, &info, info.size < sizeof info ? info.size : sizeof info);
  return HRX_OK;
}

hrx_status hrx_gpu_kernel_info(const hrx_gpu_kernel *kernel, hrx_kernel_info *io_info) {
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel is NULL");
  return info_write(kernel->kernel, kernel->contract, io_info);
}

hrx_status hrx_stream_kernel_info(const hrx_stream_kernel *kernel, hrx_kernel_info *io_info) {
  if (kernel == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "kernel is NULL");
  return info_write(kernel->kernel, NULL, io_info);
}
