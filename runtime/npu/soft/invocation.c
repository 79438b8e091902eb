/* Invocations: a program with buffers and constants, checked when they are given, never when it runs. */
#include <stdlib.h>
#include <string.h>

#include "npu/soft/parts.h"

static struct npu_soft_invocation *invocation_of(struct npu_invocation *base) { return (struct npu_soft_invocation *)base; }

static hrx_status binding_refuse(const struct npu_program_info *info, unsigned index, hrx_reason reason, const char *what,
                                 unsigned long long value, unsigned long long limit) {
  return hrx_fail_reason(HRX_INVALID, reason, "NPU kernel %.100s: binding %u (%.60s) %s: %llu, not %llu", info->name, index,
                         info->bindings[index].name, what, value, limit);
}

static hrx_status binding_check_locked(const struct npu_soft_device *device, const struct npu_program_info *info,
                                       unsigned index, const void *address, size_t bytes) {
  const struct npu_binding_info *binding = &info->bindings[index];
  if (bytes == 0 || (binding->bytes != 0 && bytes != binding->bytes))
    return binding_refuse(info, index, HRX_REASON_ARGUMENT,
                          binding->bytes != 0 ? "has the wrong number of bytes" : "has too few bytes", bytes,
                          binding->bytes != 0 ? binding->bytes : 1);
  if ((uintptr_t)address % binding->alignment != 0)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT,
                           "NPU kernel %.100s: binding %u (%.60s) is at %p, which is no multiple of %zu", info->name, index,
                           binding->name, address, binding->alignment);
  const char *why = NULL;
  if (!npu_soft_reaches_locked(device, address, bytes, &why))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_POINTER, "NPU kernel %.100s: binding %u (%.60s), %zu bytes at %p, is %s",
                           info->name, index, binding->name, bytes, address, why);
  return HRX_OK;
}

static hrx_status count_check(const struct npu_program_info *info, const void *given, unsigned count) {
  if (count != info->binding_count || given == NULL)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "NPU kernel %.100s has %u bindings, not %u", info->name,
                           info->binding_count, given == NULL ? 0 : count);
  return HRX_OK;
}

static hrx_status constants_check(const struct npu_program_info *info, const void *constants, size_t bytes) {
  if (bytes != info->constant_bytes || (bytes != 0 && constants == NULL))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "NPU kernel %.100s takes %zu bytes of constants, not %zu", info->name,
                           info->constant_bytes, constants == NULL ? 0 : bytes);
  return HRX_OK;
}

/* One block: the invocation, its ranges, its constants (aligned to 16). */
static struct npu_soft_invocation *invocation_allocate(struct npu_soft_program *program) {
  const struct npu_program_info *info = &program->base.info;
  size_t ranges = (sizeof(struct npu_soft_invocation) + 15) & ~(size_t)15;
  size_t constants = ranges + info->binding_count * sizeof(hrx_npu_range);
  struct npu_soft_invocation *invocation = calloc(1, constants + info->constant_bytes);
  if (invocation == NULL) return NULL;
  invocation->ranges = (hrx_npu_range *)((char *)invocation + ranges);
  invocation->constants = (unsigned char *)invocation + constants;
  invocation->base.device = program->base.device;
  invocation->program = program;
  invocation->call = (hrx_npu_call){
      .columns = info->columns,
      .binding_count = info->binding_count,
      .bindings = invocation->ranges,
      .constants = info->constant_bytes != 0 ? invocation->constants : NULL,
      .constant_bytes = (uint32_t)info->constant_bytes,
      .message = invocation->message,
      .message_bytes = sizeof invocation->message,
  };
  return invocation;
}
_Static_assert(sizeof(hrx_npu_range) == 16, "constants stay aligned to 16 behind any number of ranges");

hrx_status npu_soft_invocation_create(struct npu_program *base, const struct npu_binding *bindings, unsigned count,
                                      const void *constants, size_t constant_bytes, struct npu_invocation **out_invocation) {
  struct npu_soft_program *program = (struct npu_soft_program *)base;
  struct npu_soft_device *device = npu_soft_device_of(base->device);
  const struct npu_program_info *info = &base->info;
  hrx_status status = npu_soft_alive(device);
  if (status == HRX_OK) status = count_check(info, bindings, count);
  if (status == HRX_OK) status = constants_check(info, constants, constant_bytes);
  if (status != HRX_OK) return status;
  struct npu_soft_invocation *invocation = invocation_allocate(program);
  if (invocation == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a run of NPU kernel %.100s", info->name);

  pthread_mutex_lock(&device->lock);
  for (unsigned i = 0; status == HRX_OK && i < count; i++) {
    status = binding_check_locked(device, info, i, bindings[i].address, bindings[i].bytes);
    invocation->ranges[i] = (hrx_npu_range){bindings[i].address, bindings[i].bytes};
  }
  if (status == HRX_OK) status = npu_soft_lane_ensure_locked(device);
  pthread_mutex_unlock(&device->lock);

  if (status != HRX_OK) {
    free(invocation);
    return status;
  }
  if (constant_bytes != 0) memcpy(invocation->constants, constants, constant_bytes);
  atomic_fetch_add(&program->references, 1);
  atomic_fetch_add(&device->invocations_live, 1);
  *out_invocation = &invocation->base;
  return HRX_OK;
}

void npu_soft_invocation_release(struct npu_invocation *base) {
  struct npu_soft_invocation *invocation = invocation_of(base);
  atomic_fetch_sub(&npu_soft_device_of(base->device)->invocations_live, 1);
  npu_soft_program_release(&invocation->program->base);
  free(invocation);
}

static hrx_status idle_check(const struct npu_soft_invocation *invocation) {
  if (atomic_load(&invocation->state) == NPU_SOFT_IDLE) return HRX_OK;
  return hrx_fail_reason(HRX_BUSY, HRX_REASON_LIVE, "a run of NPU kernel %.100s is changed while it is started",
                         invocation->program->base.info.name);
}

hrx_status npu_soft_invocation_rebind(struct npu_invocation *base, void *const *addresses, unsigned count) {
  struct npu_soft_invocation *invocation = invocation_of(base);
  struct npu_soft_device *device = npu_soft_device_of(base->device);
  const struct npu_program_info *info = &invocation->program->base.info;
  hrx_status status = npu_soft_alive(device);
  if (status == HRX_OK) status = idle_check(invocation);
  if (status == HRX_OK) status = count_check(info, addresses, count);
  pthread_mutex_lock(&device->lock);
  for (unsigned i = 0; status == HRX_OK && i < count; i++)
    status = binding_check_locked(device, info, i, addresses[i], invocation->ranges[i].bytes);
  pthread_mutex_unlock(&device->lock);
  if (status != HRX_OK) return status;
  for (unsigned i = 0; i < count; i++) invocation->ranges[i].pointer = addresses[i];
  return HRX_OK;
}

hrx_status npu_soft_invocation_constants(struct npu_invocation *base, const void *constants, size_t bytes) {
  struct npu_soft_invocation *invocation = invocation_of(base);
  hrx_status status = npu_soft_alive(npu_soft_device_of(base->device));
  if (status == HRX_OK) status = idle_check(invocation);
  if (status == HRX_OK) status = constants_check(&invocation->program->base.info, constants, bytes);
  if (status == HRX_OK && bytes != 0) memcpy(invocation->constants, constants, bytes);
  return status;
}
