/* Memory of one process in another: hipIpcGetMemHandle turns an allocation into shared bytes where it is, hipIpcOpenMemHandle shows
 * them there. A handle of an inner pointer stands for the whole allocation. */
#include "interpose/ipc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/array.h"
#include "interpose/caller.h"
#include "interpose/entry.h"
#include "interpose/memory_release.h"

#define IPC_MAGIC 0x31787268u

static uint32_t check_of(const struct ipc_handle *handle) {
  const unsigned char *bytes = (const unsigned char *)handle;
  uint32_t sum = 0x811c9dc5u; /* FNV-1a */
  for (size_t i = 0; i < offsetof(struct ipc_handle, check); i++) sum = (sum ^ bytes[i]) * 0x01000193u;
  return sum;
}

hipError_t ipc_handle_make(int descriptor, uint32_t kind, uint64_t bytes, int ordinal, void *out_handle) {
  struct stat file;
  if (fstat(descriptor, &file) != 0) return hipErrorOutOfMemory;
  struct ipc_handle handle = {.magic = IPC_MAGIC,
                              .kind = kind,
                              .process = getpid(),
                              .descriptor = descriptor,
                              .device = file.st_dev,
                              .inode = file.st_ino,
                              .bytes = bytes,
                              .ordinal = (uint32_t)ordinal};
  handle.check = check_of(&handle);
  _Static_assert(sizeof handle <= HIP_IPC_HANDLE_SIZE, "HIP's size");
  memset(out_handle, 0, HIP_IPC_HANDLE_SIZE);
  memcpy(out_handle, &handle, sizeof handle);
  return hipSuccess;
}

hipError_t ipc_handle_open(const void *bytes, uint32_t kind, hipError_t gone, struct ipc_handle *out_handle, int *out_descriptor) {
  struct ipc_handle handle;
  struct stat file;
  char path[64];
  memcpy(&handle, bytes, sizeof handle);
  if (handle.magic != IPC_MAGIC || handle.kind != kind || handle.check != check_of(&handle)) return hipErrorInvalidValue;
  if (handle.process == getpid()) return hipErrorInvalidContext;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.descriptor);
  int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return gone;
  if (fstat(descriptor, &file) != 0 || file.st_dev != handle.device || file.st_ino != handle.inode) {
    close(descriptor);
    return gone;
  }
  *out_handle = handle;
  *out_descriptor = descriptor;
  return hipSuccess;
}

/* One file that is open here, however often the program opened it. */
struct import {
  struct shared *shared;
  struct allocation *allocation;
  unsigned opened;
  struct import *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct import *imports;

/* Work that was submitted since the last question may have changed what was just copied. */
struct quiet {
  struct hip_state *state;
  uint64_t tasks;
};

static bool quiet_since(void *context) {
  struct quiet *quiet = context;
  struct engine_statistics statistics;
  if (memory_wait(quiet->state) != hipSuccess) return false;
  engine_statistics(quiet->state->domain->engine, &statistics);
  bool same = statistics.tasks == quiet->tasks;
  quiet->tasks = statistics.tasks;
  return same;
}

static hipError_t handle_get(void *out_handle, const void *pointer) {
  struct hip_state *state = NULL;
  struct shared *shared = NULL;
  hipError_t error = out_handle != NULL && pointer != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error != hipSuccess) return error;
  struct memory *memory = state->domain->memory;
  struct allocation *allocation = memory_find(memory, (uintptr_t)pointer);
  /* only what hipMalloc gave: memory of pools and handles has ways of its own, an import is its maker's to give away */
  if (allocation == NULL || allocation->kind != MEMORY_DEVICE || allocation->holder != NULL || allocation->owner != NULL ||
      (allocation->flags & ARRAY_MEMORY_FLAG) != 0)
    return hipErrorInvalidDevicePointer;
  struct quiet quiet = {state, 0};
  error = error_of(shared_convert(memory, allocation, quiet_since, &quiet, &shared));
  if (error == hipSuccess)
    error = ipc_handle_make(shared_descriptor(shared), IPC_MEMORY, allocation->bytes, allocation->device, out_handle);
  shared_release(memory, shared);
  return error;
}

hipError_t entry_hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *pointer) {
  ENTRY_RETURN(hipIpcGetMemHandle, handle_get(handle, pointer));
}

static hipError_t import_make_locked(struct memory *memory, struct shared *shared, size_t bytes, int device, struct import **out_import) {
  struct import *import = calloc(1, sizeof *import);
  if (import == NULL) return hipErrorOutOfMemory;
  hipError_t error = error_of(
    shared_map(memory, shared, 0, bytes, 0, MEMORY_IMPORTED, MEMORY_READ | MEMORY_WRITE, device, &import->allocation));
  if (error != hipSuccess) {
    free(import);
    return error;
  }
  import->shared = shared; /* the view has a reference */
  import->next = imports;
  imports = import;
  *out_import = import;
  return hipSuccess;
}

static hipError_t handle_open(void **out_pointer, const hipIpcMemHandle_t *bytes, unsigned flags) {
  struct hip_device *device = NULL;
  struct shared *shared = NULL;
  struct ipc_handle handle;
  int descriptor = -1;
  /* hipIpcMemLazyEnablePeerAccess was 0 in ROCm 5 and is 1 since */
  if (out_pointer == NULL || (flags != 1 && (flags != 0 || caller_hip_version() >= 6))) return hipErrorInvalidValue;
  hipError_t error = state_current(&device);
  if (error == hipSuccess) error = ipc_handle_open(bytes, IPC_MEMORY, hipErrorInvalidDevicePointer, &handle, &descriptor);
  if (error != hipSuccess) return error;
  struct memory *memory = state_existing()->domain->memory;
  error = error_of(shared_open(memory, descriptor, &shared));
  close(descriptor);
  if (error != hipSuccess) return error;
  pthread_mutex_lock(&lock);
  struct import *import = imports;
  while (import != NULL && import->shared != shared) import = import->next;
  if (import == NULL) error = import_make_locked(memory, shared, handle.bytes, device->ordinal, &import);
  if (error == hipSuccess) {
    import->opened++;
    *out_pointer = (void *)import->allocation->address;
  }
  pthread_mutex_unlock(&lock);
  shared_release(memory, shared);
  return error;
}

hipError_t entry_hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle, unsigned flags) {
  CALLER_NOTE();
  ENTRY_RETURN(hipIpcOpenMemHandle, handle_open(pointer, &handle, flags));
}

static hipError_t handle_close(const void *pointer) {
  struct hip_state *state = NULL;
  hipError_t error = pointer != NULL ? state_get(&state) : hipErrorInvalidValue;
  if (error == hipSuccess) error = memory_wait(state);
  if (error != hipSuccess) return error;
  pthread_mutex_lock(&lock);
  struct import **at = &imports;
  while (*at != NULL && (*at)->allocation->address != (uintptr_t)pointer) at = &(*at)->next;
  struct import *import = *at;
  bool last = import != NULL && --import->opened == 0;
  if (last) *at = import->next;
  pthread_mutex_unlock(&lock);
  if (import == NULL) return hipErrorInvalidHandle;
  if (!last) return hipSuccess;
  engine_storage_forget(state->domain->engine, import->allocation->storage);
  memory_free(state->domain->memory, import->allocation);
  free(import);
  return hipSuccess;
}

hipError_t entry_hipIpcCloseMemHandle(void *pointer) { ENTRY_RETURN(hipIpcCloseMemHandle, handle_close(pointer)); }
