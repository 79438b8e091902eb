#include "interpose/pool.h"

#include <stdlib.h>

#include "interpose/array.h"
#include "interpose/error.h"
#include "interpose/handle.h"
#include "interpose/memory_release.h"

enum { ALIGNMENT = 256, PAGE = 4096, FOLLOW = 0, OPPORTUNISTIC = 1, INTERNAL = 2 };

struct pool_block {
  struct ihipMemPoolHandle_t *pool;
  struct allocation *allocation; /* NULL: gone; the block waits for its last ticket */
  size_t bytes;                  /* of the allocation */
  uint64_t frees;                /* how often it was freed: tells a ticket of an earlier life */
  unsigned tickets;              /* tasks that will come back to it */
  bool free, listed, ready;      /* freed; in `held`; the free's point is over */
  uint64_t stream;               /* whose free it was (ihipStream_t.id) */
  struct point point;
  struct pool_block *next, **link;
};

/* The holder of memory of hipMalloc that hipFreeAsync has promised to free. */
static struct pool_block promised;

/* What a queued free carries to its point. */
struct ticket {
  struct pool_block *block;
  uint64_t frees;
};

#define POOL_INIT(kind)                                                                                                               \
  { .lock = PTHREAD_MUTEX_INITIALIZER, .type = (kind), .reuse = {true, true, true} }

static struct ihipMemPoolHandle_t defaults[DOMAIN_DEVICE_MAX] = {
  [0 ... DOMAIN_DEVICE_MAX - 1] = POOL_INIT(hipMemAllocationTypePinned)};
static struct ihipMemPoolHandle_t managed_defaults[DOMAIN_DEVICE_MAX] = {
  [0 ... DOMAIN_DEVICE_MAX - 1] = POOL_INIT(ALLOCATION_MANAGED)};
static struct ihipMemPoolHandle_t *_Atomic current[DOMAIN_DEVICE_MAX], *_Atomic managed_current[DOMAIN_DEVICE_MAX];

/* Created pools, so that one that runs out can ask the others. */
static pthread_mutex_t created_lock = PTHREAD_MUTEX_INITIALIZER;
static struct created {
  struct ihipMemPoolHandle_t *pool;
  struct created *next;
} *created;

static struct domain *domain_of_pools(void) { return state_existing()->domain; }

struct ihipMemPoolHandle_t *pool_default(int device, int type) {
  return type == ALLOCATION_MANAGED ? &managed_defaults[device] : &defaults[device];
}

int pool_device(const struct ihipMemPoolHandle_t *pool) {
  if (pool->own) return pool->device;
  return (int)(pool->type == ALLOCATION_MANAGED ? pool - managed_defaults : pool - defaults);
}

struct ihipMemPoolHandle_t *pool_current(int device, int type) {
  struct ihipMemPoolHandle_t *pool = atomic_load(type == ALLOCATION_MANAGED ? &managed_current[device] : &current[device]);
  return pool != NULL ? pool : pool_default(device, type);
}

void pool_current_set(int device, int type, struct ihipMemPoolHandle_t *pool) {
  atomic_store(type == ALLOCATION_MANAGED ? &managed_current[device] : &current[device], pool);
}

bool pool_live(const struct ihipMemPoolHandle_t *pool) {
  struct hip_state *state = NULL;
  if (pool == NULL || state_get(&state) != hipSuccess) return false;
  return (pool >= defaults && pool < defaults + state->device_count) ||
         (pool >= managed_defaults && pool < managed_defaults + state->device_count) || handle_live(pool, HANDLE_POOL);
}

hipError_t pool_create(const struct pool_properties *properties, struct shared *imported, struct ihipMemPoolHandle_t **out_pool) {
  struct ihipMemPoolHandle_t *pool = calloc(1, sizeof *pool);
  struct created *entry = calloc(1, sizeof *entry);
  hipError_t error = pool != NULL && entry != NULL ? hipSuccess : hipErrorOutOfMemory;
  if (error == hipSuccess) {
    *pool = (struct ihipMemPoolHandle_t)POOL_INIT(properties->type);
    pool->device = properties->location.id;
    pool->handle_types = properties->handle_types;
    pool->max_bytes = properties->max_bytes;
    pool->own = true;
    pool->imported = imported != NULL;
    pool->file = imported;
    if (imported == NULL && properties->handle_types != hipMemHandleTypeNone)
      error = error_of(shared_create(domain_of_pools()->memory, 0, true, &pool->file));
  }
  if (error == hipSuccess && handle_add(pool, HANDLE_POOL) != HRX_OK) {
    if (imported == NULL) shared_release(domain_of_pools()->memory, pool->file);
    error = hipErrorOutOfMemory;
  }
  if (error != hipSuccess) {
    free(pool);
    free(entry);
    return error;
  }
  entry->pool = pool;
  pthread_mutex_lock(&created_lock);
  entry->next = created;
  created = entry;
  pthread_mutex_unlock(&created_lock);
  *out_pool = pool;
  return hipSuccess;
}

/* A pool that was destroyed ends with its last block. */
static void pool_end(struct ihipMemPoolHandle_t *pool) {
  pthread_mutex_lock(&created_lock);
  struct created **at = &created;
  while (*at != NULL && (*at)->pool != pool) at = &(*at)->next;
  struct created *entry = *at;
  if (entry != NULL) *at = entry->next;
  pthread_mutex_unlock(&created_lock);
  free(entry);
  shared_release(domain_of_pools()->memory, pool->file);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

static void list_add_locked(struct pool_block **list, struct pool_block *block) {
  block->next = *list;
  block->link = list;
  if (block->next != NULL) block->next->link = &block->next;
  *list = block;
}

static void list_remove_locked(struct pool_block *block) {
  *block->link = block->next;
  if (block->next != NULL) block->next->link = block->link;
  block->link = NULL;
}

/* The block's memory goes back to the domain. It is in no list. */
static void block_empty_locked(struct pool_block *block) {
  struct ihipMemPoolHandle_t *pool = block->pool;
  const struct domain *domain = domain_of_pools();
  struct shared *file = pool->imported ? NULL : pool->file;
  size_t offset = block->allocation->storage_offset, pages = (block->bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
  if (file == NULL) engine_storage_forget(domain->engine, block->allocation->storage);
  memory_free(domain->memory, block->allocation);
  if (file != NULL) shared_discard(domain->memory, file, offset, pages);
  block->allocation = NULL;
  if (!pool->imported) pool->reserved -= block->bytes;
}

/* Frees the block if nothing needs it any more. */
static void block_end_locked(struct pool_block *block) {
  if (block->allocation != NULL || block->tickets != 0) return;
  block->pool->blocks--;
  free(block);
}

/* The same, and the pool with its last block. Unlocks the pool. */
static void block_settle(struct pool_block *block) {
  struct ihipMemPoolHandle_t *pool = block->pool;
  block_end_locked(block);
  bool last = pool->destroyed && pool->blocks == 0;
  pthread_mutex_unlock(&pool->lock);
  if (last) pool_end(pool);
}

/* What has come back for good stays in the pool up to its threshold. */
static void ready_locked(struct pool_block *block) {
  struct ihipMemPoolHandle_t *pool = block->pool;
  block->ready = true;
  if (!block->listed) return;
  if (!pool->destroyed && !pool->imported && pool->reserved <= pool->release_threshold) return;
  list_remove_locked(block);
  block->listed = false;
  block_empty_locked(block);
}

void pool_trim(struct ihipMemPoolHandle_t *pool, uint64_t keep) {
  pthread_mutex_lock(&pool->lock);
  for (struct pool_block *block = pool->held, *next; block != NULL && pool->reserved > keep; block = next) {
    next = block->next;
    if (!block->ready) continue;
    list_remove_locked(block);
    block->listed = false;
    block_empty_locked(block);
    block_end_locked(block);
  }
  pthread_mutex_unlock(&pool->lock);
}

static void trim_all(void) {
  for (int i = 0; i < DOMAIN_DEVICE_MAX; i++) {
    pool_trim(&defaults[i], 0);
    pool_trim(&managed_defaults[i], 0);
  }
  pthread_mutex_lock(&created_lock);
  for (struct created *at = created; at != NULL; at = at->next) pool_trim(at->pool, 0);
  pthread_mutex_unlock(&created_lock);
}

void pool_destroy(struct ihipMemPoolHandle_t *pool) {
  struct ihipMemPoolHandle_t *itself = pool;
  if (!handle_remove(pool, HANDLE_POOL)) return;
  /* the device's own pool takes its place */
  atomic_compare_exchange_strong(&current[pool->device], &itself, NULL);
  itself = pool;
  atomic_compare_exchange_strong(&managed_current[pool->device], &itself, NULL);
  pool_trim(pool, 0);
  pthread_mutex_lock(&pool->lock);
  pool->destroyed = true;
  bool empty = pool->blocks == 0;
  pthread_mutex_unlock(&pool->lock);
  if (empty) pool_end(pool);
}

static void use_locked(struct pool_block *block) {
  struct ihipMemPoolHandle_t *pool = block->pool;
  block->free = block->ready = block->listed = false;
  list_add_locked(&pool->taken, block);
  pool->used += block->bytes;
  if (pool->used > pool->used_high) pool->used_high = pool->used;
}

enum fit { FIT_NONE, FIT_LATER, FIT_NOW };

/* Whether the block may be used by the stream's next work, or could be if that work waited for it. */
static enum fit fit_locked(const struct pool_block *block, const struct ihipStream_t *stream, const struct clock *clock, size_t bytes) {
  const struct ihipMemPoolHandle_t *pool = block->pool;
  if (block->bytes < bytes || block->bytes - bytes > bytes / 8) return FIT_NONE;
  if (block->stream == stream->id || (block->ready && pool->reuse[OPPORTUNISTIC])) return FIT_NOW;
  if (pool->reuse[FOLLOW] && clock_covers(clock, block->point)) return FIT_NOW;
  return FIT_LATER;
}

static struct pool_block *held_take_locked(struct ihipMemPoolHandle_t *pool, const struct ihipStream_t *stream, const struct clock *clock,
                                           size_t bytes, enum fit wanted) {
  for (struct pool_block *block = pool->held; block != NULL; block = block->next) {
    if (fit_locked(block, stream, clock, bytes) < wanted) continue;
    list_remove_locked(block);
    use_locked(block);
    return block;
  }
  return NULL;
}

/* New memory for the pool: in its file if it has one. */
static hipError_t fresh(struct ihipMemPoolHandle_t *pool, size_t bytes, struct pool_block **out_block) {
  struct memory *memory = domain_of_pools()->memory;
  struct allocation *allocation = NULL;
  struct pool_block *block = calloc(1, sizeof *block);
  if (block == NULL) return hipErrorOutOfMemory;
  enum memory_kind kind = pool->type == ALLOCATION_MANAGED ? MEMORY_MANAGED : MEMORY_DEVICE;
  hrx_status status = HRX_OK;
  if (pool->file == NULL) {
    status = memory_allocate(memory, bytes, ALIGNMENT, kind, 0, pool_device(pool), &allocation);
  } else {
    size_t pages = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1), offset = shared_bytes(pool->file);
    status = bytes <= pages ? shared_grow(memory, pool->file, pages) : HRX_OUT_OF_MEMORY;
    if (status == HRX_OK) {
      status = shared_map(memory, pool->file, offset, bytes, 0, kind, MEMORY_READ | MEMORY_WRITE, pool->device, &allocation);
      if (status != HRX_OK) shared_discard(memory, pool->file, offset, pages);
    }
    if (status == HRX_OK) allocation->shared = true;
  }
  if (status != HRX_OK) {
    free(block);
    return error_of(status);
  }
  *block = (struct pool_block){.pool = pool, .allocation = allocation, .bytes = bytes};
  allocation->holder = block;
  *out_block = block;
  return hipSuccess;
}

static hipError_t fresh_locked(struct ihipMemPoolHandle_t *pool, size_t bytes, struct pool_block **out_block) {
  if (pool->max_bytes != 0 && (bytes > pool->max_bytes || pool->reserved > pool->max_bytes - bytes)) return hipErrorOutOfMemory;
  hipError_t error = fresh(pool, bytes, out_block);
  if (error != hipSuccess) return error;
  pool->blocks++;
  use_locked(*out_block);
  pool->reserved += bytes;
  if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
  return hipSuccess;
}

/* One attempt: memory that came back, else new memory, else memory that the stream can wait for. `out_after` is that point. */
static hipError_t take(struct ihipMemPoolHandle_t *pool, const struct ihipStream_t *stream, const struct clock *clock, size_t bytes,
                       void **out_pointer, struct point *out_after) {
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&pool->lock);
  struct pool_block *block = held_take_locked(pool, stream, clock, bytes, FIT_NOW);
  if (block == NULL) error = fresh_locked(pool, bytes, &block);
  if (error != hipSuccess && pool->reuse[INTERNAL]) {
    block = held_take_locked(pool, stream, clock, bytes, FIT_LATER);
    if (block != NULL) {
      *out_after = block->point;
      error = hipSuccess;
    }
  }
  if (error == hipSuccess) *out_pointer = (void *)block->allocation->address;
  pthread_mutex_unlock(&pool->lock);
  return error;
}

static hipError_t stream_follow(struct ihipStream_t *stream, struct point point) {
  struct clock clock = {0};
  hrx_status status = clock_include(&clock, point);
  if (status == HRX_OK) status = hip_stream_join(stream);
  if (status == HRX_OK) status = stream_wait_clock(stream->stream, &clock);
  clock_finish(&clock);
  if (status == HRX_OK) hip_stream_touched(stream);
  return error_of(status);
}

hipError_t pool_allocate(struct ihipMemPoolHandle_t *pool, struct ihipStream_t *stream, size_t bytes, void **out_pointer) {
  struct clock clock = {0};
  struct point after = {0, 0};
  if (pool->imported) return hipErrorInvalidValue;
  hipError_t error = error_of(hip_stream_clock(stream, &clock));
  if (error == hipSuccess) error = take(pool, stream, &clock, bytes, out_pointer, &after);
  if (error == hipErrorOutOfMemory) {
    trim_all();
    error = take(pool, stream, &clock, bytes, out_pointer, &after);
  }
  /* at last, whatever was promised to come back when its stream gets there */
  if (error == hipErrorOutOfMemory && memory_wait(state_existing()) == hipSuccess) {
    trim_all();
    error = take(pool, stream, &clock, bytes, out_pointer, &after);
  }
  clock_finish(&clock);
  if (error == hipSuccess && after.sequence != 0) error = stream_follow(stream, after);
  return error;
}

/* The free has reached its point, in whatever state its stream is. */
static hrx_status point_reached(void *context) {
  const struct ticket *ticket = context;
  struct pool_block *block = ticket->block;
  pthread_mutex_lock(&block->pool->lock);
  block->tickets--;
  if (block->free && block->frees == ticket->frees) ready_locked(block);
  block_settle(block);
  return HRX_OK;
}

static hrx_status plain_free(void *context) {
  const struct domain *domain = domain_of_pools();
  engine_storage_forget(domain->engine, ((struct allocation *)context)->storage);
  memory_free(domain->memory, context);
  return HRX_OK;
}

/* run_always: a failed kernel before it must not leak the memory. */
static hrx_status free_submit(struct ihipStream_t *stream, task_host_function call, void *context, void (*release)(void *),
                              struct point *out_point) {
  struct task task = {.kind = TASK_HOST,
                      .opaque = true,
                      .run_always = true,
                      .label = "hipFreeAsync",
                      .host = {.call = call, .context = context, .release = release}};
  return hip_stream_submit(stream, &task, out_point);
}

/* Takes the block from the program. False if it was freed before. */
static bool block_claim_locked(struct pool_block *block) {
  if (block->free) return false;
  block->free = true;
  block->ready = false;
  block->frees++;
  list_remove_locked(block);
  block->pool->used -= block->bytes;
  return true;
}

static hipError_t block_free(struct ihipStream_t *stream, struct pool_block *block) {
  struct ihipMemPoolHandle_t *pool = block->pool;
  struct ticket *ticket = malloc(sizeof *ticket);
  struct point point;
  if (ticket == NULL) return hipErrorOutOfMemory;
  pthread_mutex_lock(&pool->lock);
  bool claimed = block_claim_locked(block);
  if (claimed) {
    *ticket = (struct ticket){block, block->frees};
    block->tickets += 2; /* the task's and this function's */
  }
  pthread_mutex_unlock(&pool->lock);
  if (!claimed) {
    free(ticket);
    return hipErrorInvalidValue;
  }
  hrx_status status = free_submit(stream, point_reached, ticket, free, &point);
  pthread_mutex_lock(&pool->lock);
  block->tickets--;
  if (status != HRX_OK) { /* nothing happened: it is the program's again */
    free(ticket);
    block->tickets--;
    block->frees--;
    use_locked(block);
  } else {
    block->stream = stream->id;
    block->point = point;
    block->listed = true;
    list_add_locked(&pool->held, block);
    if (block->ready) ready_locked(block);
  }
  block_settle(block);
  return error_of(status);
}

/* Memory that starts at the pointer and is the program's to free. */
static struct allocation *freeable(const void *pointer) {
  struct allocation *allocation = memory_find(domain_of_pools()->memory, (uintptr_t)pointer);
  if (allocation == NULL || allocation->address != (uintptr_t)pointer || allocation->owner != NULL ||
      allocation->holder == &promised || (allocation->flags & ARRAY_MEMORY_FLAG) != 0)
    return NULL;
  return allocation->kind == MEMORY_DEVICE || allocation->kind == MEMORY_MANAGED ? allocation : NULL;
}

hipError_t pool_free(struct ihipStream_t *stream, void *pointer) {
  struct allocation *allocation = freeable(pointer);
  struct point point;
  if (allocation == NULL) return hipErrorInvalidValue;
  if (allocation->holder != NULL) return block_free(stream, allocation->holder);
  allocation->holder = &promised;
  hrx_status status = free_submit(stream, plain_free, allocation, NULL, &point);
  if (status != HRX_OK) allocation->holder = NULL;
  return error_of(status);
}

hipError_t pool_free_now(struct allocation *allocation) {
  struct pool_block *block = allocation->holder;
  if (block == &promised) return hipErrorInvalidValue;
  struct ihipMemPoolHandle_t *pool = block->pool;
  pthread_mutex_lock(&pool->lock);
  bool claimed = block_claim_locked(block);
  if (claimed) {
    block->stream = 0;
    block->point = (struct point){0, 0};
    block->listed = true;
    list_add_locked(&pool->held, block);
    ready_locked(block);
  }
  block_settle(block);
  return claimed ? hipSuccess : hipErrorInvalidValue;
}

hipError_t pool_adopt(struct ihipMemPoolHandle_t *pool, struct allocation *allocation) {
  struct pool_block *block = calloc(1, sizeof *block);
  if (block == NULL) return hipErrorOutOfMemory;
  *block = (struct pool_block){.pool = pool, .allocation = allocation, .bytes = allocation->bytes};
  allocation->holder = block;
  allocation->shared = true;
  pthread_mutex_lock(&pool->lock);
  pool->blocks++;
  use_locked(block);
  pthread_mutex_unlock(&pool->lock);
  return hipSuccess;
}

bool pool_place(const void *pointer, struct shared **out_file, size_t *out_offset, size_t *out_bytes) {
  const struct allocation *allocation = freeable(pointer);
  struct pool_block *block = allocation != NULL ? allocation->holder : NULL;
  if (block == NULL || block->pool->file == NULL) return false;
  pthread_mutex_lock(&block->pool->lock);
  bool taken = !block->free;
  pthread_mutex_unlock(&block->pool->lock);
  *out_file = block->pool->file;
  *out_offset = allocation->storage_offset;
  *out_bytes = allocation->bytes;
  return taken;
}

static void reset_one(struct ihipMemPoolHandle_t *pool) {
  pthread_mutex_lock(&pool->lock);
  while (pool->taken != NULL) {
    struct pool_block *block = pool->taken;
    block_claim_locked(block);
    block->listed = block->ready = true;
    list_add_locked(&pool->held, block);
  }
  pthread_mutex_unlock(&pool->lock);
  pool_trim(pool, 0);
}

void pool_device_reset(int device) {
  reset_one(&defaults[device]);
  reset_one(&managed_defaults[device]);
  pthread_mutex_lock(&created_lock);
  for (struct created *at = created; at != NULL; at = at->next)
    if (pool_device(at->pool) == device) reset_one(at->pool);
  pthread_mutex_unlock(&created_lock);
}
