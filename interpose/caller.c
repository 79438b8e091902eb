#include "interpose/caller.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Atomic bool caller_is_traced;
_Atomic int caller_error_rule = ERROR_OVERWRITES;

/* Counts objects that came and went: cached ranges of an earlier count are not believed. */
static _Atomic unsigned changes = 1;

/* What a dynamic section needs, or 0. Addresses in it are relocated in place, which glibc does but for read-only ones. */
static int needed_version(const ElfW(Dyn) *dynamic, ElfW(Addr) base) {
  static const char prefix[] = "libamdhip64.so.";
  const char *strings = NULL;
  if (dynamic == NULL) return 0;
  for (const ElfW(Dyn) *at = dynamic; at->d_tag != DT_NULL; at++)
    if (at->d_tag == DT_STRTAB) strings = (const char *)(at->d_un.d_ptr < base ? at->d_un.d_ptr + base : at->d_un.d_ptr);
  for (const ElfW(Dyn) *at = dynamic; strings != NULL && at->d_tag != DT_NULL; at++) {
    const char *name = at->d_tag == DT_NEEDED ? strings + at->d_un.d_val : "";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
    int major = atoi(name + sizeof prefix - 1);
    return major >= 5 && major <= 7 ? major : 0;
  }
  return 0;
}

struct process {
  int first, lowest, highest;
};

static int object_visit(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  struct process *process = context;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    int version = needed_version((const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), info->dlpi_addr);
    if (version == 0) continue;
    if (process->first == 0) process->first = process->lowest = process->highest = version;
    if (version < process->lowest) process->lowest = version;
    if (version > process->highest) process->highest = version;
  }
  return 0;
}

/* The version of whoever does not say. Kept once there is an object that does. */
static int process_version(void) {
  static _Atomic int kept;
  int version = atomic_load_explicit(&kept, memory_order_relaxed);
  if (version != 0) return version;
  struct process process = {0};
  dl_iterate_phdr(object_visit, &process);
  if (process.first == 0) return 5;
  atomic_store_explicit(&kept, process.first, memory_order_relaxed);
  return process.first;
}

static int rule_of(int version) { return version >= 7 ? ERROR_STAYS : ERROR_OVERWRITES; }

void caller_start(void) {
  struct process process = {0};
  dl_iterate_phdr(object_visit, &process);
  int lowest = rule_of(process.lowest), highest = rule_of(process.highest);
  atomic_store_explicit(&caller_error_rule, lowest == highest ? lowest : ERROR_BY_CALLER, memory_order_relaxed);
}

int caller_hip_version_of(const void *address) {
  /* relaxed: a thread that uses a new object has synchronised with the one that loaded it */
  unsigned now = atomic_load_explicit(&changes, memory_order_relaxed);
  struct thread_state *thread = &thread_state;
  if (thread->object_changes == now && (uintptr_t)address - thread->object_begin < thread->object_bytes)
    return thread->object_version;
  struct dl_find_object object;
  if (address == NULL || _dl_find_object((void *)(uintptr_t)address, &object) != 0) return process_version();
  int version = needed_version(object.dlfo_link_map->l_ld, object.dlfo_link_map->l_addr);
  if (version == 0) version = process_version();
  thread->object_begin = (uintptr_t)object.dlfo_map_start;
  thread->object_bytes = (uintptr_t)object.dlfo_map_end - (uintptr_t)object.dlfo_map_start;
  thread->object_version = version;
  thread->object_changes = now;
  int rule = atomic_load_explicit(&caller_error_rule, memory_order_relaxed);
  if (rule != ERROR_BY_CALLER && rule != rule_of(version))
    atomic_store_explicit(&caller_error_rule, ERROR_BY_CALLER, memory_order_relaxed);
  return version;
}

int caller_hip_version(void) { return caller_hip_version_of(thread_state.caller); }

void caller_objects_changed(const void *address) {
  atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
  caller_hip_version_of(address); /* it may bring another rule for errors */
}
