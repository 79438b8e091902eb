/* An operation: one instruction bound to a handler, ready to execute.
 *
 * Execution is  `while (operation != NULL) operation = operation->handler(wave, operation);`
 * A handler does its work and returns the operation to go on with: `operation + 1`, a branch target, or NULL when the wave
 * stops (it has set wave->state, and wave->next where the wave goes on later). It may also go on by itself, in tail position
 * (vector_next in vector/vector.h). */
#ifndef HRX_GPU_SOFT_OPERATION_H
#define HRX_GPU_SOFT_OPERATION_H

#include <stdint.h>

#include "gpu/soft/machine.h"

typedef const struct operation *(*operation_handler)(struct wave *, const struct operation *);

/* How a handler finds a source. */
enum source_kind {
  SOURCE_NONE,
  SOURCE_VECTOR,   /* value = byte offset in struct wave of lane 0; registers follow SOFT_LANES * 4 apart */
  SOURCE_SCALAR,   /* value = byte offset in struct wave of the dword (64-bit operands: two dwords) */
  SOURCE_CONSTANT, /* value = the operand, already widened or narrowed to the operation's type */
  SOURCE_SPECIAL   /* value = enum special_source: read through operation_special */
};

/* What is rare and long: only operations with OPERATION_MODIFIED or a family's need look at it. */
struct operation {
  operation_handler handler;
  uint32_t destination;      /* byte offset in struct wave (VGPR lane 0 or scalar dword) */
  uint32_t destination2;     /* second one (carry out, v_div_scale's VCC), 0 if none */
  uint8_t kind[4];           /* enum source_kind of each source */
  uint8_t flags;             /* enum operation_flags */
  uint8_t width;             /* registers moved, for memory operations */
  uint16_t extra;            /* family's own */
  uint64_t source[3];        /* by kind */
  union {
    uint64_t source3;        /* a fourth source */
    const struct operation *target; /* branches */
    const void *compute;     /* vector families: the plain function for the modified path */
  };
  const struct instruction *instruction; /* where it came from: modifiers, messages */
};
_Static_assert(sizeof(struct operation) == 64, "operations are walked in order: keep them small");

enum operation_flags { OPERATION_MODIFIED = 1 /* neg, abs, clamp, omod, op_sel, SDWA, DPP: take the general path */ };

/* One row of a family's table: how to make an operation out of an instruction of this opcode. */
struct binding {
  enum opcode opcode;
  /* Fills `out` (zeroed, `instruction` set; branch targets are set by the program builder from instruction->target). Returns
   * UNSUPPORTED/INSTRUCTION for a form that it cannot do. Called once an instruction, at a kernel's first launch. */
  hrx_status (*bind)(const struct binding *row, const struct instruction *instruction, struct operation *out);
  operation_handler handler;   /* plain path */
  operation_handler modified;  /* general path, NULL if the family needs none */
  const void *compute;
  uint32_t parameter;          /* family's own: types, sizes, predicates */
};

struct binding_table {
  const struct binding *rows;
  unsigned count;
};

/* The families, each for one level of vector instructions. SOFT_LEVEL is baseline, v3 or v4 in files under vector/ and memory/
 * that are compiled once a level (Makefile); scalar ones exist once. */
#define SOFT_JOIN_(a, b) a##_##b
#define SOFT_JOIN(a, b) SOFT_JOIN_(a, b)
#ifdef SOFT_LEVEL
#define SOFT_NAME(name) SOFT_JOIN(name, SOFT_LEVEL)
#endif

#define SOFT_FAMILIES_SCALAR(X) X(scalar_arithmetic) X(scalar_compare) X(scalar_control) X(scalar_memory) X(global_sync)
#define SOFT_FAMILIES_VECTOR(X)                                                                                      \
  X(vector_integer) X(vector_compare) X(vector_lane) X(vector_float) X(vector_double) X(vector_half) X(vector_convert) \
  X(memory_global) X(memory_lds) X(memory_buffer) X(memory_atomic) X(memory_image)

#define SOFT_DECLARE(name) extern const struct binding_table name##_table;
SOFT_FAMILIES_SCALAR(SOFT_DECLARE)
#undef SOFT_DECLARE
#define SOFT_DECLARE(name)                            \
  extern const struct binding_table name##_table_baseline; \
  extern const struct binding_table name##_table_v3;       \
  extern const struct binding_table name##_table_v4;
SOFT_FAMILIES_VECTOR(SOFT_DECLARE)
#undef SOFT_DECLARE

/* Byte offsets in struct wave. A null destination goes to scrap. */
static inline uint32_t operation_vgpr(unsigned index) {
  return (uint32_t)(offsetof(struct wave, v) + index * sizeof(uint32_t) * SOFT_LANES);
}
static inline uint32_t operation_sgpr_read(unsigned index) {
  return (uint32_t)(offsetof(struct wave, s) + index * sizeof(uint32_t));
}
static inline uint32_t operation_sgpr_write(unsigned index) {
  return operation_sgpr_read(index == SREG_NULL ? SREG_FILE : index);
}
static inline uint32_t *wave_word(struct wave *wave, uint64_t offset) { return (uint32_t *)(void *)((char *)wave + offset); }

/* How constants are turned into an operation's source. */
enum operand_type { TYPE_B32, TYPE_B64, TYPE_I64, TYPE_F32, TYPE_F64, TYPE_F16, TYPE_B16, TYPE_V2F16, TYPE_V2B16 };

/* Fills kind[slot] and source[slot] (or source3) from an instruction's operand: constants get their type's form (f64 literals
 * are the high dword, inline floats become doubles or halves, inline integers sign-extend), null reads as constant 0, scalar
 * specials get SOURCE_SPECIAL. In bind.c. */
void operation_source(struct operation *operation, unsigned slot, const struct operand *operand, enum operand_type type);

/* The value of a special scalar source just now. In bind.c. */
uint64_t operation_special(const struct wave *wave, enum special_source which);

/* A scalar source's value (SCALAR, CONSTANT, SPECIAL). */
static inline uint32_t operation_scalar(struct wave *wave, const struct operation *operation, unsigned slot) {
  if (operation->kind[slot] == SOURCE_SCALAR) return *wave_word(wave, operation->source[slot]);
  if (operation->kind[slot] == SOURCE_CONSTANT) return (uint32_t)operation->source[slot];
  return (uint32_t)operation_special(wave, (enum special_source)operation->source[slot]);
}
static inline uint64_t operation_scalar64(struct wave *wave, const struct operation *operation, unsigned slot) {
  if (operation->kind[slot] == SOURCE_SCALAR) {
    const uint32_t *word = wave_word(wave, operation->source[slot]);
    return (uint64_t)word[1] << 32 | word[0];
  }
  if (operation->kind[slot] == SOURCE_CONSTANT) return operation->source[slot];
  return operation_special(wave, (enum special_source)operation->source[slot]);
}

/* Stops the wave with a fault at this operation; the handler returns what this returns (NULL). In bind.c. */
const struct operation *operation_fault(struct wave *wave, const struct operation *operation, enum fault_kind kind,
                                        uint64_t address, uint32_t bytes, bool write, unsigned lane);

#endif
