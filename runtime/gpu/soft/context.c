#include "gpu/soft/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xmmintrin.h>

#include "gpu/soft/access.h"

enum {
  QUANTUM = 4096,      /* branches backward: some hundred microseconds of a busy loop */
  BARRIER_ROUNDS = 256 /* barriers passed before the workgroup gives way */
};

enum { DEFAULT_MXCSR = 0x1f80 };

enum { /* kernel_code_properties and rsrc2, LLVM AMDGPU usage, "Kernel Descriptor" */
  PROPERTY_PRIVATE_BUFFER = 1 << 0, PROPERTY_DISPATCH_POINTER = 1 << 1, PROPERTY_QUEUE_POINTER = 1 << 2,
  PROPERTY_KERNARG_POINTER = 1 << 3, PROPERTY_DISPATCH_ID = 1 << 4, PROPERTY_FLAT_SCRATCH = 1 << 5,
  PROPERTY_PRIVATE_SIZE = 1 << 6,
  RSRC2_PRIVATE_OFFSET = 1 << 0, RSRC2_GROUP_X = 1 << 7, RSRC2_GROUP_Y = 1 << 8, RSRC2_GROUP_Z = 1 << 9,
  RSRC2_GROUP_SIZE = 1 << 10
};

unsigned context_class(uint32_t wave_count) {
  unsigned class = 0;
  while ((1u << class) < wave_count) class++;
  return class;
}

static void *pages_map(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

enum { LDS_PAGES = SOFT_LDS_BYTES + 4096 };

hrx_status context_create(unsigned class, struct soft_context **out_context) {
  uint32_t waves = UINT32_C(1) << class;
  struct soft_context *context = calloc(1, sizeof *context);
  if (context != NULL) {
    context->wave_capacity = waves;
    context->lds_memory = pages_map(LDS_PAGES);
    context->waves = pages_map(waves * sizeof *context->waves);
  }
  if (context == NULL || context->lds_memory == NULL || context->waves == NULL) {
    context_release(context);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a workgroup of %u waves", waves);
  }
  *out_context = context;
  return HRX_OK;
}

void context_release(struct soft_context *context) {
  if (context == NULL) return;
  if (context->lds_memory != NULL) munmap(context->lds_memory, LDS_PAGES);
  if (context->waves != NULL) munmap(context->waves, context->wave_capacity * sizeof *context->waves);
  if (context->scratch != NULL) munmap(context->scratch, context->scratch_capacity);
  free(context);
}

hrx_status context_fit(struct soft_context *context, struct soft_dispatch *dispatch) {
  context->dispatch = dispatch;
  size_t needed = (size_t)dispatch->scratch_bytes_lane * SOFT_LANES * dispatch->wave_count;
  if (needed <= context->scratch_capacity) return HRX_OK;
  needed = (needed + 65535) & ~(size_t)65535;
  uint8_t *scratch = pages_map(needed);
  if (scratch == NULL)
    return hrx_fail(HRX_OUT_OF_MEMORY, "kernel %s: no memory for %zu bytes of scratch", dispatch->kernel->code->name, needed);
  if (context->scratch != NULL) munmap(context->scratch, context->scratch_capacity);
  context->scratch = scratch;
  context->scratch_capacity = needed;
  return HRX_OK;
}

static void put64(uint32_t *s, unsigned *at, uint64_t value) {
  s[(*at)++] = (uint32_t)value;
  s[(*at)++] = (uint32_t)(value >> 32);
}

/* The buffer resource of scratch: swizzled so that dword d of lane l is dword d * lanes + l. The wave's own offset is 0, because
 * its base is the wave's own. */
static void put_scratch_resource(uint32_t *s, unsigned *at, const struct wave *wave) {
  uint64_t base = (uint64_t)(uintptr_t)wave->scratch;
  s[(*at)++] = (uint32_t)base;
  s[(*at)++] = (uint32_t)(base >> 32 & 0xffff) | UINT32_C(1) << 31; /* swizzle enable */
  s[(*at)++] = wave->scratch_bytes_lane * SOFT_LANES;
  /* X Y Z W selects, format 32_UINT, index stride of a wave, add thread id, resource level, raw bounds */
  s[(*at)++] = UINT32_C(0xfac) | UINT32_C(20) << 12 | (SOFT_LANES == 32 ? UINT32_C(2) : UINT32_C(3)) << 21 |
               UINT32_C(1) << 23 | UINT32_C(1) << 24 | UINT32_C(2) << 28;
}

static void scalars_begin(const struct soft_context *context, struct wave *wave) {
  const struct soft_dispatch *dispatch = context->dispatch;
  const struct kernel_descriptor *descriptor = &dispatch->kernel->code->descriptor;
  const struct soft_device *device = soft_device_of(dispatch->base.device);
  uintptr_t packet = dispatch->memory->address;
  uint32_t *s = wave->s, properties = descriptor->properties, rsrc2 = descriptor->rsrc2;
  unsigned at = 0;
  memset(s, 0, sizeof wave->s);
  if ((properties & PROPERTY_PRIVATE_BUFFER) != 0) put_scratch_resource(s, &at, wave);
  if ((properties & PROPERTY_DISPATCH_POINTER) != 0) put64(s, &at, packet);
  if ((properties & PROPERTY_QUEUE_POINTER) != 0) put64(s, &at, device->queue->address);
  if ((properties & PROPERTY_KERNARG_POINTER) != 0) put64(s, &at, packet + SOFT_KERNARG_OFFSET);
  if ((properties & PROPERTY_DISPATCH_ID) != 0) put64(s, &at, 0);
  if ((properties & PROPERTY_FLAT_SCRATCH) != 0) put64(s, &at, (uint64_t)(uintptr_t)wave->scratch);
  if ((properties & PROPERTY_PRIVATE_SIZE) != 0) s[at++] = dispatch->scratch_bytes_lane;
  /* the system registers follow as many user registers as the descriptor counts */
  at = rsrc2 >> 1 & 31;
  if ((rsrc2 & RSRC2_GROUP_X) != 0) s[at++] = context->group.id[0];
  if ((rsrc2 & RSRC2_GROUP_Y) != 0) s[at++] = context->group.id[1];
  if ((rsrc2 & RSRC2_GROUP_Z) != 0) s[at++] = context->group.id[2];
  if ((rsrc2 & RSRC2_GROUP_SIZE) != 0) s[at++] = context->group.wave_count;
  if ((rsrc2 & RSRC2_PRIVATE_OFFSET) != 0) s[at++] = 0;
}

/* MODE from rsrc1: round and denormal fields at 12, DX10_CLAMP at 21, IEEE at 23. */
static uint32_t mode_begin(uint32_t rsrc1) {
  return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
}

/* Work-item ids in v0, v1, v2 and EXEC, counting through the workgroup. */
static void items_begin(struct soft_context *context, const uint32_t extent[3], unsigned axes) {
  uint32_t left = extent[0] * extent[1] * extent[2], x = 0, y = 0, z = 0;
  for (uint32_t w = 0; w < context->group.wave_count; w++) {
    struct wave *wave = &context->waves[w];
    uint32_t lanes = left < SOFT_LANES ? left : SOFT_LANES;
    wave->s[SREG_EXEC_LO] = lanes >= 32 ? UINT32_MAX : (UINT32_C(1) << lanes) - 1;
    if (SOFT_LANES == 64) wave->s[SREG_EXEC_HI] = lanes <= 32 ? 0 : (uint32_t)((UINT64_C(1) << (lanes - 32)) - 1);
    if (extent[1] == 1 && extent[2] == 1) {
      for (uint32_t l = 0; l < SOFT_LANES; l++) wave->v[0][l] = w * SOFT_LANES + l;
      if (axes > 0) memset(wave->v[1], 0, sizeof wave->v[1]);
      if (axes > 1) memset(wave->v[2], 0, sizeof wave->v[2]);
    } else {
      for (uint32_t l = 0; l < SOFT_LANES; l++) {
        wave->v[0][l] = x;
        if (axes > 0) wave->v[1][l] = y;
        if (axes > 1) wave->v[2][l] = z;
        if (++x < extent[0]) continue;
        x = 0;
        if (++y < extent[1]) continue;
        y = 0;
        z++;
      }
    }
    left -= lanes;
  }
}

void context_begin(struct soft_context *context, uint64_t number) {
  const struct soft_dispatch *dispatch = context->dispatch;
  const struct soft_kernel *kernel = dispatch->kernel;
  const struct kernel_descriptor *descriptor = &kernel->code->descriptor;
  const struct memory *memory = soft_device_of(dispatch->base.device)->memory;
  struct workgroup *group = &context->group;
  if (dispatch->shuffle_step != 0)
    number = (uint64_t)(((unsigned __int128)number * dispatch->shuffle_step + dispatch->shuffle_start) % dispatch->total);
  uint64_t rows = number / dispatch->groups[0];
  uint32_t id[3] = {(uint32_t)(number % dispatch->groups[0]), (uint32_t)(rows % dispatch->groups[1]),
                    (uint32_t)(rows / dispatch->groups[1])};
  uint32_t extent[3];
  for (unsigned i = 0; i < 3; i++) {
    uint64_t left = dispatch->grid[i] - (uint64_t)id[i] * dispatch->block[i];
    extent[i] = left < dispatch->block[i] ? (uint32_t)left : dispatch->block[i];
    group->id[i] = id[i];
  }
  group->wave_count = (extent[0] * extent[1] * extent[2] + SOFT_LANES - 1) / SOFT_LANES;
  group->waves_ended = group->waves_at_barrier = 0;
  group->lds = context->lds_memory;
  group->lds_bytes = dispatch->lds_bytes;
  group->dispatch = context->dispatch;
  if (dispatch->lds_bytes > 0) memset(group->lds, 0, dispatch->lds_bytes);
  uint32_t mode = mode_begin(descriptor->rsrc1);
  for (uint32_t w = 0; w < group->wave_count; w++) {
    struct wave *wave = &context->waves[w];
    soft_wave_start(wave, kernel->bound.program, kernel->bound.entry);
    wave->scc = 0;
    wave->mode = mode;
    wave->status_priv = 0;
    wave->sync_generation = 0;
    wave->flat_scratch_low = wave->flat_scratch_high = 0;
    wave->index = w;
    wave->group = group;
    wave->lds = group->lds;
    wave->lds_bytes = group->lds_bytes;
    wave->scratch_bytes_lane = dispatch->scratch_bytes_lane;
    wave->scratch = context->scratch == NULL ? NULL : context->scratch + (size_t)w * dispatch->scratch_bytes_lane * SOFT_LANES;
    wave->memory = memory;
    scalars_begin(context, wave);
  }
  items_begin(context, extent, descriptor->rsrc2 >> 11 & 3);
}

static void wave_run(struct wave *wave) {
  wave->quantum = QUANTUM;
  access_refresh(wave);
  const uint32_t before = soft_wave_mxcsr(wave);
  if (before != DEFAULT_MXCSR) _mm_setcsr(before);
  soft_wave_run(wave);
  if (before != DEFAULT_MXCSR || soft_wave_mxcsr(wave) != DEFAULT_MXCSR) _mm_setcsr(DEFAULT_MXCSR);
}

enum context_outcome context_run(struct soft_context *context, struct wave **out_wave) {
  struct workgroup *group = &context->group;
  for (unsigned round = 0; round < BARRIER_ROUNDS; round++) {
    for (uint32_t w = 0; w < group->wave_count; w++) {
      struct wave *wave = &context->waves[w];
      if (wave->state != WAVE_RUNNING && wave->state != WAVE_YIELDED) continue;
      wave_run(wave);
      if (wave->state == WAVE_ENDED) group->waves_ended++;
      if (wave->state == WAVE_BARRIER) group->waves_at_barrier++;
      if (wave->state == WAVE_FAULTED) {
        *out_wave = wave;
        return CONTEXT_FAULTED;
      }
    }
    if (group->waves_ended == group->wave_count) return CONTEXT_DONE;
    if (group->waves_ended + group->waves_at_barrier < group->wave_count) break;
    group->waves_at_barrier = 0;
    for (uint32_t w = 0; w < group->wave_count; w++)
      if (context->waves[w].state == WAVE_BARRIER) context->waves[w].state = WAVE_RUNNING;
  }
  return CONTEXT_PARKED;
}
