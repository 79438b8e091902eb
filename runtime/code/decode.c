#include "code/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/decode_line.h"
#include "code/disassembler.h"

enum { INSTRUCTION_BYTES = 20 }; /* the longest: an image instruction with its addresses in three more words */

static void decode_one(struct disassembler *disassembler, const uint8_t *bytes, size_t size, uint32_t offset,
                       struct instruction *out) {
  const struct instruction blank = {.offset = offset,
                                    .size = 4,
                                    .sdwa_destination = SDWA_DWORD,
                                    .dpp_row_mask = 0xf,
                                    .dpp_bank_mask = 0xf,
                                    .target = -1};
  char line[512];
  uint32_t words[INSTRUCTION_BYTES / 4] = {0};
  struct instruction instruction = blank;
  size_t window = size < INSTRUCTION_BYTES ? size & ~(size_t)3 : INSTRUCTION_BYTES;
  memcpy(words, bytes, window);
  memcpy(instruction.encoding, words, sizeof instruction.encoding);
  size_t used = disassembler_line(disassembler, bytes, window, line, sizeof line);
  if (used >= 4 && used % 4 == 0) {
    instruction.size = (uint8_t)used;
    if (used == 4) instruction.encoding[1] = 0;
    if (decode_line(line, &instruction)) {
      instruction.destination_count = decode_destinations(&instruction);
      decode_fields(words, &instruction);
      *out = instruction;
      return;
    }
  }
  *out = blank;
  out->size = instruction.size;
  memcpy(out->encoding, instruction.encoding, sizeof out->encoding);
}

static hrx_status append(struct decoded *decoded, uint32_t *capacity, const struct instruction *instruction) {
  if (decoded->count == *capacity) {
    uint32_t larger = *capacity + *capacity / 2;
    void *grown = realloc(decoded->instructions, (size_t)larger * sizeof *decoded->instructions);
    if (grown == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u decoded instructions", larger);
    decoded->instructions = grown;
    *capacity = larger;
  }
  decoded->instructions[decoded->count++] = *instruction;
  return HRX_OK;
}

static hrx_status allocate(const char *target, size_t size, struct decoded **out_decoded, uint32_t *out_capacity) {
  if (size > UINT32_MAX)
    return hrx_fail(HRX_UNSUPPORTED, "%zu bytes of code: at most %u can be decoded at once", size, UINT32_MAX);
  uint32_t capacity = (uint32_t)(size / 6) + 16; /* most instructions have 4 or 8 bytes */
  struct decoded *decoded = calloc(1, sizeof *decoded);
  if (decoded != NULL) decoded->instructions = malloc((size_t)capacity * sizeof *decoded->instructions);
  if (decoded == NULL || decoded->instructions == NULL) {
    free(decoded);
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory to decode %zu bytes of code", size);
  }
  snprintf(decoded->target, sizeof decoded->target, "%s", target);
  *out_decoded = decoded;
  *out_capacity = capacity;
  return HRX_OK;
}

hrx_status decode_code(const char *target, const void *bytes, size_t size, struct decoded **out_decoded) {
  struct disassembler disassembler = {0};
  struct decoded *decoded = NULL;
  uint32_t capacity = 0;
  hrx_status status = disassembler_init(&disassembler, target);
  if (status == HRX_OK) status = allocate(target, size, &decoded, &capacity);
  for (size_t offset = 0; status == HRX_OK && size - offset >= 4;) {
    struct instruction instruction;
    decode_one(&disassembler, (const uint8_t *)bytes + offset, size - offset, (uint32_t)offset, &instruction);
    offset += instruction.size;
    status = append(decoded, &capacity, &instruction);
  }
  disassembler_finish(&disassembler);
  if (status != HRX_OK) {
    decoded_release(decoded);
    return status;
  }
  *out_decoded = decoded;
  return HRX_OK;
}

void decoded_release(struct decoded *decoded) {
  if (decoded == NULL) return;
  free(decoded->instructions);
  free(decoded);
}

hrx_status decode_text(const char *target, const void *bytes, size_t size, char *out_text, size_t capacity) {
  struct disassembler disassembler = {0};
  char line[512];
  size_t used = 0;
  hrx_status status = disassembler_init(&disassembler, target);
  if (status == HRX_OK) {
    size_t window = size < INSTRUCTION_BYTES ? size : INSTRUCTION_BYTES;
    used = window >= 4 ? disassembler_line(&disassembler, bytes, window, line, sizeof line) : 0;
    if (used == 0) status = hrx_fail(HRX_INVALID, "%zu bytes that are no %s instruction", size, target);
  }
  disassembler_finish(&disassembler);
  if (status != HRX_OK) return status;
  const char *text = line + strspn(line, "\t ");
  snprintf(out_text, capacity, "%.*s", (int)strcspn(text, ";\n"), text);
  size_t length = strlen(out_text);
  while (length > 0 && out_text[length - 1] == ' ') out_text[--length] = '\0';
  return HRX_OK;
}

long decoded_find(const struct decoded *decoded, uint64_t offset) {
  uint32_t low = 0, high = decoded->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (decoded->instructions[middle].offset == offset) return (long)middle;
    if (decoded->instructions[middle].offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

bool decode_describe(char *out_text, size_t capacity) { return disassembler_describe(out_text, capacity); }
