#include "trace/label.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 << 10 };

static const char substitute[] = "(one of more names than a trace keeps)";

struct label_chunk {
  struct label_chunk *next;
  size_t used, size;
  char bytes[];
};

/* FNV-1a */
static uint64_t label_hash(const char *label, size_t length) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)label[i]) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

/* Room for a name of this size, terminator included, or NULL. */
static char *label_room(struct label_table *table, size_t size) {
  struct label_chunk *chunk = table->chunks;
  if (chunk == NULL || chunk->size - chunk->used < size) {
    if (table->bytes + CHUNK_BYTES > LABEL_BYTES_MOST) return NULL;
    chunk = malloc(sizeof *chunk + CHUNK_BYTES);
    if (chunk == NULL) return NULL;
    chunk->next = table->chunks;
    chunk->used = 0;
    chunk->size = CHUNK_BYTES;
    table->chunks = chunk;
    table->bytes += CHUNK_BYTES;
  }
  char *room = chunk->bytes + chunk->used;
  chunk->used += size;
  return room;
}

const char *label_intern(struct label_table *table, const char *label) {
  if (label == NULL) label = "";
  size_t length = strnlen(label, LABEL_LENGTH_MOST);
  uint64_t hash = label_hash(label, length);
  size_t at = hash & (LABEL_SLOTS - 1);
  for (; table->slots[at].text != NULL; at = (at + 1) & (LABEL_SLOTS - 1)) {
    const char *text = table->slots[at].text;
    if (table->slots[at].hash == hash && strncmp(text, label, length) == 0 && text[length] == '\0') return text;
  }
  char *copy = table->count < LABELS_MOST ? label_room(table, length + 1) : NULL;
  if (copy == NULL) return substitute;
  memcpy(copy, label, length);
  copy[length] = '\0';
  table->slots[at].hash = hash;
  table->slots[at].text = copy;
  table->count++;
  return copy;
}

void label_table_finish(struct label_table *table) {
  for (struct label_chunk *chunk = table->chunks, *next; chunk != NULL; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  memset(table, 0, sizeof *table);
}
