#include "memory/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SMALLEST = 256 };
static const size_t ARENA_BYTES = (size_t)32 << 20;
static const size_t OWN_ARENA_BYTES = (size_t)4 << 20; /* larger chunks get an arena of their own */

struct heap_arena {
  uintptr_t base; /* of the mapping, guard page included */
  size_t mapped;
  uintptr_t next, end; /* what is not cut yet */
  size_t live;         /* chunks handed out */
  struct heap_arena *previous, *following;
};

/* Four steps a doubling above 1 KiB, multiples of 256 below. Only for sizes up to 2^60. */
static unsigned class_of(size_t bytes, size_t *out_class_bytes) {
  if (bytes <= 1024) {
    unsigned index = bytes == 0 ? 0 : (unsigned)((bytes - 1) / SMALLEST);
    *out_class_bytes = ((size_t)index + 1) * SMALLEST;
    return index;
  }
  unsigned top = 63u - (unsigned)__builtin_clzll((unsigned long long)bytes - 1); /* 2^top < bytes <= 2^(top+1) */
  size_t step = (size_t)1 << (top - 2);
  size_t steps = (bytes - ((size_t)1 << top) + step - 1) / step; /* 1..4 */
  *out_class_bytes = ((size_t)1 << top) + steps * step;
  return 4 + (top - 10) * 4 + (unsigned)steps - 1;
}

static struct heap_arena *arena_map(struct heap *heap, size_t bytes) {
  size_t mapped = bytes + 2 * PAGE;
  struct heap_arena *arena = calloc(1, sizeof *arena);
  if (arena == NULL) return NULL;
  void *base = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    free(arena);
    return NULL;
  }
  if (mprotect((char *)base + PAGE, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(base, mapped);
    free(arena);
    return NULL;
  }
  arena->base = (uintptr_t)base;
  arena->mapped = mapped;
  arena->next = arena->base + PAGE;
  arena->end = arena->next + bytes;
  arena->following = heap->arenas;
  if (heap->arenas != NULL) heap->arenas->previous = arena;
  heap->arenas = arena;
  return arena;
}

static void arena_unmap(struct heap *heap, struct heap_arena *arena) {
  if (arena->previous != NULL)
    arena->previous->following = arena->following;
  else
    heap->arenas = arena->following;
  if (arena->following != NULL) arena->following->previous = arena->previous;
  if (heap->open == arena) heap->open = NULL;
  munmap((void *)arena->base, arena->mapped);
  free(arena);
}

static void list_remove(struct heap *heap, struct chunk *chunk) {
  if (chunk->previous != NULL)
    chunk->previous->next = chunk->next;
  else
    heap->free[chunk->size_class] = chunk->next;
  if (chunk->next != NULL) chunk->next->previous = chunk->previous;
  chunk->next = chunk->previous = NULL;
  if (chunk->touched) heap->cached -= chunk->bytes;
}

struct chunk *heap_reuse(struct heap *heap, size_t bytes) {
  size_t class_bytes;
  struct chunk *chunk = heap->free[class_of(bytes, &class_bytes)];
  if (chunk == NULL) return NULL;
  list_remove(heap, chunk);
  chunk->arena->live++;
  return chunk;
}

bool heap_cut(struct heap *heap, size_t bytes, struct chunk *out_chunk) {
  size_t class_bytes;
  unsigned size_class = class_of(bytes, &class_bytes);
  size_t gap = class_bytes >= PAGE ? PAGE : SMALLEST;
  size_t natural = class_bytes >= PAGE ? PAGE : SMALLEST;
  struct heap_arena *arena;
  uintptr_t address;
  if (class_bytes >= OWN_ARENA_BYTES) {
    class_bytes = (class_bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    arena = arena_map(heap, class_bytes);
    if (arena == NULL) return false;
    address = arena->next;
    arena->next = arena->end;
  } else {
    arena = heap->open;
    address = arena == NULL ? 0 : (arena->next + natural - 1) & ~(uintptr_t)(natural - 1);
    if (arena == NULL || address + class_bytes + gap > arena->end) {
      arena = arena_map(heap, ARENA_BYTES);
      if (arena == NULL) return false;
      heap->open = arena;
      address = arena->next;
    }
    arena->next = address + class_bytes + gap;
  }
  arena->live++;
  *out_chunk = (struct chunk){.address = address, .bytes = class_bytes, .arena = arena, .size_class = size_class};
  return true;
}

void heap_return(struct heap *heap, struct chunk *chunk) {
  chunk->arena->live--;
  chunk->touched = true;
  heap->cached += chunk->bytes;
  chunk->previous = NULL;
  chunk->next = heap->free[chunk->size_class];
  if (chunk->next != NULL) chunk->next->previous = chunk;
  heap->free[chunk->size_class] = chunk;
}

void heap_trim(struct heap *heap, void (*lost)(struct chunk *chunk, void *context), void *context) {
  for (unsigned i = 0; i < HEAP_CLASSES; i++) {
    for (struct chunk *chunk = heap->free[i], *next; chunk != NULL; chunk = next) {
      next = chunk->next;
      if (chunk->arena->live == 0) {
        list_remove(heap, chunk);
        lost(chunk, context);
      } else if (chunk->touched && chunk->bytes >= PAGE &&
                 madvise((void *)chunk->address, chunk->bytes & ~(size_t)(PAGE - 1), MADV_DONTNEED) == 0) {
        chunk->touched = false;
        heap->cached -= chunk->bytes;
      }
    }
  }
  for (struct heap_arena *arena = heap->arenas, *following; arena != NULL; arena = following) {
    following = arena->following;
    if (arena->live == 0) arena_unmap(heap, arena);
  }
}

void heap_finish(struct heap *heap) {
  while (heap->arenas != NULL) arena_unmap(heap, heap->arenas);
  memset(heap, 0, sizeof *heap);
}
