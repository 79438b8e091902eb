#include "base/block.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  SHIFT_FIRST = 12, SHIFT_LAST = 24, /* kept sizes: above 4 KiB, up to 16 MiB */
  STEPS = 4,
  CLASSES = (SHIFT_LAST - SHIFT_FIRST) * STEPS + 1,
  PLACES = 8, /* of each class */
  COUNT_FIRST = 16
};
static const size_t HUGE_PAGE = (size_t)2 << 20;
#ifdef __SANITIZE_ADDRESS__
static const size_t KEPT_MOST = 0; /* what is used after its return shall be found */
#else
static const size_t KEPT_MOST = (size_t)32 << 20;
#endif

struct block {
  size_t room;    /* bytes of the payload */
  uint32_t class; /* 0: none */
  bool mapped;
  _Alignas(16) char payload[];
};

/* A block is whoever's that exchanged its place for NULL. */
static struct block *_Atomic places[CLASSES][PLACES];
static _Atomic size_t kept_bytes;
static _Atomic uint32_t evicted; /* where the next look for something to free begins */

/* Rounds `*io_bytes` up to the size of its class. */
static uint32_t class_of(size_t *io_bytes) {
  size_t bytes = *io_bytes;
  if (bytes <= (size_t)1 << SHIFT_FIRST || bytes > (size_t)1 << SHIFT_LAST) return 0;
  unsigned shift = 63u - (unsigned)__builtin_clzll(bytes - 1);
  size_t below = (size_t)1 << shift, step = below / STEPS, steps = (bytes - 1 - below) / step + 1;
  *io_bytes = below + steps * step;
  return (shift - SHIFT_FIRST) * STEPS + (uint32_t)steps;
}

static struct block *kept_take(uint32_t class) {
  for (unsigned i = 0; class != 0 && i < PLACES; i++) {
    if (atomic_load_explicit(&places[class][i], memory_order_relaxed) == NULL) continue;
    struct block *block = atomic_exchange(&places[class][i], NULL);
    if (block == NULL) continue;
    atomic_fetch_sub_explicit(&kept_bytes, block->room, memory_order_relaxed); /* a bound, no more */
    return block;
  }
  return NULL;
}

/* At a boundary of huge pages: the kernel uses them for whole ones only. */
static struct block *block_map(size_t room) {
  size_t bytes = sizeof(struct block) + room;
  if (bytes < room || bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
  char *pages = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  size_t before = -(uintptr_t)pages & (HUGE_PAGE - 1), whole = (bytes + 4095) & ~(size_t)4095;
  if (before != 0) munmap(pages, before);
  if (before + whole < bytes + HUGE_PAGE) munmap(pages + before + whole, HUGE_PAGE - before - (whole - bytes));
  madvise(pages + before, whole, MADV_HUGEPAGE); /* a wish */
  return (struct block *)(void *)(pages + before);
}

static void block_free(struct block *block) {
  if (block->mapped)
    munmap(block, sizeof *block + block->room);
  else
    free(block);
}

/* `*out_zero`: the payload is zero already. */
static struct block *block_make(size_t bytes, bool *out_zero) {
  uint32_t class = class_of(&bytes);
  struct block *block = kept_take(class);
  *out_zero = block == NULL;
  if (block != NULL) return block;
  bool map = bytes >= HUGE_PAGE;
  block = map ? block_map(bytes) : calloc(1, sizeof *block + bytes);
  if (block == NULL) return NULL;
  block->room = bytes;
  block->class = class;
  block->mapped = map;
  return block;
}

void *block_take(size_t count, size_t item_bytes) {
  size_t bytes;
  bool zero;
  struct block *block = __builtin_mul_overflow(count, item_bytes, &bytes) ? NULL : block_make(bytes, &zero);
  if (block == NULL) return NULL;
  if (!zero) memset(block->payload, 0, bytes);
  return block->payload;
}

void *block_take_unset(size_t count, size_t item_bytes) {
  size_t bytes;
  bool zero;
  struct block *block = __builtin_mul_overflow(count, item_bytes, &bytes) ? NULL : block_make(bytes, &zero);
  return block != NULL ? block->payload : NULL;
}

bool block_grow(void **io_items, size_t count, size_t *io_capacity, size_t wanted, size_t item_bytes) {
  if (wanted <= *io_capacity) return true;
  size_t capacity = *io_capacity < SIZE_MAX / 2 ? *io_capacity * 2 : wanted;
  if (capacity < wanted) capacity = wanted;
  if (capacity < COUNT_FIRST) capacity = COUNT_FIRST;
  void *items = block_take_unset(capacity, item_bytes);
  if (items == NULL) return false;
  if (count != 0) memcpy(items, *io_items, count * item_bytes);
  block_return(*io_items);
  *io_items = items;
  *io_capacity = capacity;
  return true;
}

/* Frees kept blocks, in turn, until `bytes` more have room. */
static void room_make(size_t bytes) {
  for (unsigned looks = 0; looks < CLASSES * PLACES; looks++) {
    if (atomic_load_explicit(&kept_bytes, memory_order_relaxed) + bytes <= KEPT_MOST) return;
    uint32_t at = atomic_fetch_add_explicit(&evicted, 1, memory_order_relaxed) % (CLASSES * PLACES);
    struct block *block = atomic_exchange(&places[at / PLACES][at % PLACES], NULL);
    if (block == NULL) continue;
    atomic_fetch_sub_explicit(&kept_bytes, block->room, memory_order_relaxed);
    block_free(block);
  }
}

void block_return(void *payload) {
  if (payload == NULL) return;
  struct block *block = (struct block *)(void *)((char *)payload - offsetof(struct block, payload));
  size_t room = block->room;
  if (block->class != 0 && room <= KEPT_MOST) {
    room_make(room);
    atomic_fetch_add_explicit(&kept_bytes, room, memory_order_relaxed); /* before it can be taken again */
    for (unsigned i = 0; i < PLACES; i++) {
      struct block *nobody = NULL;
      if (atomic_compare_exchange_strong(&places[block->class][i], &nobody, block)) return;
    }
    atomic_fetch_sub_explicit(&kept_bytes, room, memory_order_relaxed);
  }
  block_free(block);
}
