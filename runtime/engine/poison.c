/* Poison: byte ranges that a task which failed on the device may have written in part. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/graph_state.h"
#include "memory/storage.h"

struct poison {
  struct poison *next;
  size_t begin, end;
  struct cause *cause; /* a reference */
  char label[96];      /* of the task, whose own name may be gone by the time somebody asks */
};

static bool writes(const struct access *access) { return access->bytes != 0 && access->kind != ACCESS_READ; }

static const struct task *task_of(const struct slot *slot) {
  return &slot->instance->binding->tasks[slot - slot->instance->slots];
}

struct poison *poison_make(const struct slot *slot) {
  const struct task *task = task_of(slot);
  struct poison *list = NULL;
  if (!slot->instance->run->domain) return NULL; /* the stream carries the failure, as for any task of it */
  for (unsigned i = 0; i < task->access_count; i++) {
    struct poison *poison = writes(&task->accesses[i]) ? malloc(sizeof *poison) : NULL;
    if (poison == NULL) continue;
    poison->next = list;
    list = poison;
  }
  return list;
}

static void storage_add_locked(struct engine *engine, struct storage *storage) {
  if (storage->poison != NULL || storage->lost != NULL) return;
  storage->next_poisoned = engine->poisoned;
  engine->poisoned = storage;
  atomic_fetch_add_explicit(&engine->poison_count, 1, memory_order_relaxed);
}

void poison_leave_locked(struct slot *slot) {
  const struct task *task = task_of(slot);
  struct poison *list = slot->poison;
  for (unsigned i = 0; i < task->access_count && slot->instance->run->domain; i++) {
    const struct access *access = &task->accesses[i];
    if (!writes(access)) continue;
    struct storage *storage = access->allocation->storage;
    storage_add_locked(slot->engine, storage);
    struct poison *poison = list;
    if (poison == NULL) { /* no memory to say where: all of it */
      if (storage->lost == NULL) {
        storage->lost = slot->cause;
        slot->cause->references++;
      }
      continue;
    }
    list = poison->next;
    poison->begin = access->allocation->storage_offset + access->offset;
    poison->end = poison->begin + access->bytes;
    poison->cause = slot->cause;
    slot->cause->references++;
    snprintf(poison->label, sizeof poison->label, "%s", task->label != NULL ? task->label : "a task");
    poison->next = storage->poison;
    storage->poison = poison;
  }
  slot->poison = NULL;
}

bool poison_find_locked(const struct storage *storage, size_t begin, size_t end, struct failure *out_failure) {
  const struct poison *poison = storage->poison;
  while (poison != NULL && (poison->end <= begin || poison->begin >= end)) poison = poison->next;
  const struct cause *cause = poison != NULL ? poison->cause : storage->lost;
  if (cause == NULL) return false;
  out_failure->status = HRX_DEVICE_LOST;
  out_failure->reason = HRX_REASON_POISONED;
  snprintf(out_failure->message, sizeof out_failure->message, "%.96s failed and may have left part of a result there: %.340s",
           poison != NULL ? poison->label : "a task", cause->failure.message);
  return true;
}

static struct poison *storage_clear_locked(struct engine *engine, struct storage *storage) {
  struct poison *list = storage->poison;
  struct storage **link = &engine->poisoned;
  while (*link != storage) link = &(*link)->next_poisoned;
  *link = storage->next_poisoned;
  for (struct poison *poison = list; poison != NULL; poison = poison->next) cause_drop_locked(poison->cause);
  cause_drop_locked(storage->lost);
  storage->poison = NULL;
  storage->lost = NULL;
  atomic_fetch_sub_explicit(&engine->poison_count, 1, memory_order_relaxed);
  return list;
}

static void list_free(struct poison *list) {
  while (list != NULL) {
    struct poison *next = list->next;
    free(list);
    list = next;
  }
}

void engine_storage_forget(struct engine *engine, struct storage *storage) {
  /* relaxed: whoever frees a storage has seen its work over, and with it the poison */
  if (atomic_load_explicit(&engine->poison_count, memory_order_relaxed) == 0 || engine_forked(engine)) return;
  struct poison *list = NULL;
  pthread_mutex_lock(&engine->lock);
  if (storage->poison != NULL || storage->lost != NULL) list = storage_clear_locked(engine, storage);
  pthread_mutex_unlock(&engine->lock);
  list_free(list);
}

void poison_finish(struct engine *engine) {
  while (engine->poisoned != NULL) list_free(storage_clear_locked(engine, engine->poisoned));
}
