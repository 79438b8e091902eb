/* Counts what this process allocates: the program's malloc, calloc, realloc, free and mmap take the place of the C library's, for
 * libhrx.so as well. Include it in one file of a program. A sanitizer has its own, so under one nothing is counted. */
#ifndef HRX_TESTS_NATIVE_ALLOCATIONS_H
#define HRX_TESTS_NATIVE_ALLOCATIONS_H

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t allocation_calls;
static _Atomic int64_t allocation_bytes; /* live ones, as malloc rounds them */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool allocations_counted = false;
#else
static const bool allocations_counted = true;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *pointer);

static void *allocation_count(void *pointer) {
  atomic_fetch_add_explicit(&allocation_calls, 1, memory_order_relaxed);
  if (pointer != NULL) atomic_fetch_add_explicit(&allocation_bytes, (int64_t)malloc_usable_size(pointer), memory_order_relaxed);
  return pointer;
}

static void allocation_forget(void *pointer) {
  if (pointer != NULL) atomic_fetch_sub_explicit(&allocation_bytes, (int64_t)malloc_usable_size(pointer), memory_order_relaxed);
}

void *malloc(size_t bytes) { return allocation_count(__libc_malloc(bytes)); }
void *calloc(size_t count, size_t bytes) { return allocation_count(__libc_calloc(count, bytes)); }
void *memalign(size_t alignment, size_t bytes) { return allocation_count(__libc_memalign(alignment, bytes)); }
void *aligned_alloc(size_t alignment, size_t bytes) { return allocation_count(__libc_memalign(alignment, bytes)); }

int posix_memalign(void **out_pointer, size_t alignment, size_t bytes) {
  *out_pointer = allocation_count(__libc_memalign(alignment, bytes));
  return *out_pointer != NULL ? 0 : ENOMEM;
}

void *realloc(void *pointer, size_t bytes) {
  int64_t before = pointer != NULL ? (int64_t)malloc_usable_size(pointer) : 0;
  void *result = __libc_realloc(pointer, bytes);
  if (result != NULL || bytes == 0) atomic_fetch_sub_explicit(&allocation_bytes, before, memory_order_relaxed);
  return allocation_count(result);
}

void free(void *pointer) {
  allocation_forget(pointer);
  __libc_free(pointer);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  atomic_fetch_add_explicit(&allocation_calls, 1, memory_order_relaxed);
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
#endif

static inline uint64_t allocation_calls_now(void) { return atomic_load_explicit(&allocation_calls, memory_order_relaxed); }
static inline int64_t allocation_bytes_now(void) { return atomic_load_explicit(&allocation_bytes, memory_order_relaxed); }

#endif
