/* What the scalar families share: how their handlers are written and bound. Included by scalar_*.c only.
 *
 * A row's `parameter` says where an instruction's operands go (enum scalar_shape). The 16-bit immediate of SOPK and SOPP comes
 * from the encoding, where it is the low half of the first word on every ISA. */
#ifndef HRX_GPU_SOFT_SCALAR_H
#define HRX_GPU_SOFT_SCALAR_H

#include "gpu/soft/operation.h"

enum scalar_shape {
  SHAPE_DESTINATION = 1 << 0, /* operand 0 is written; sources follow */
  SHAPE_UPDATE = 1 << 1,      /* the destination is also read, as the source behind the last one */
  SHAPE_IMMEDIATE = 1 << 2,   /* the last source is the sign-extended 16-bit immediate */
  SHAPE_UNSIGNED = 1 << 3,    /* it is zero-extended instead */
  SHAPE_SOURCES = 4,          /* shift: number of explicit sources */
  SHAPE_TYPES = 8             /* shift: enum operand_type of each source, four bits each */
};
#define SHAPE(flags, sources, type0, type1) \
  ((uint32_t)(flags) | (uint32_t)(sources) << SHAPE_SOURCES | (uint32_t)(type0) << SHAPE_TYPES | (uint32_t)(type1) << (SHAPE_TYPES + 4))

static inline uint32_t scalar_immediate(const struct operation *operation) {
  return operation->instruction->encoding[0] & 0xffff;
}

static inline void scalar_store64(struct wave *wave, const struct operation *operation, uint64_t value) {
  uint32_t *word = wave_word(wave, operation->destination);
  word[0] = (uint32_t)value;
  word[1] = (uint32_t)(value >> 32);
}

/* Binds by row->parameter. Errors: UNSUPPORTED/INSTRUCTION if the operands are not there. In scalar_arithmetic.c. */
hrx_status scalar_bind(const struct binding *row, const struct instruction *instruction, struct operation *out);

#define HANDLER(name) \
  static const struct operation *run_##name(struct wave *wave, const struct operation *operation)

/* d = f(a, b) on 32 bits; a body may set `scc`. */
#define SCALAR2(name, ...)                                                                                  \
  HANDLER(name) {                                                                                           \
    const uint32_t a = operation_scalar(wave, operation, 0), b = operation_scalar(wave, operation, 1);      \
    uint32_t d, scc = wave->scc;                                                                            \
    __VA_ARGS__;                                                                                            \
    *wave_word(wave, operation->destination) = d;                                                           \
    wave->scc = scc;                                                                                        \
    return operation + 1;                                                                                   \
  }
/* d = f(a, b): 64 bits, b may be narrower by its shape. */
#define SCALAR2_64(name, ...)                                                                               \
  HANDLER(name) {                                                                                           \
    const uint64_t a = operation_scalar64(wave, operation, 0), b = operation_scalar64(wave, operation, 1);  \
    uint32_t scc = wave->scc;                                                                               \
    uint64_t d;                                                                                             \
    __VA_ARGS__;                                                                                            \
    scalar_store64(wave, operation, d);                                                                     \
    wave->scc = scc;                                                                                        \
    return operation + 1;                                                                                   \
  }
#define SCALAR1(name, ...)                                                                                  \
  HANDLER(name) {                                                                                           \
    const uint32_t a = operation_scalar(wave, operation, 0);                                                \
    uint32_t d, scc = wave->scc;                                                                            \
    __VA_ARGS__;                                                                                            \
    *wave_word(wave, operation->destination) = d;                                                           \
    wave->scc = scc;                                                                                        \
    return operation + 1;                                                                                   \
  }
#define SCALAR1_64(name, ...)                                                                               \
  HANDLER(name) {                                                                                           \
    const uint64_t a = operation_scalar64(wave, operation, 0);                                              \
    uint32_t scc = wave->scc;                                                                               \
    uint64_t d;                                                                                             \
    __VA_ARGS__;                                                                                            \
    scalar_store64(wave, operation, d);                                                                     \
    wave->scc = scc;                                                                                        \
    return operation + 1;                                                                                   \
  }
/* A 64-bit source, a 32-bit result. */
#define SCALAR1_NARROW(name, ...)                                                                           \
  HANDLER(name) {                                                                                           \
    const uint64_t a = operation_scalar64(wave, operation, 0);                                              \
    uint32_t d, scc = wave->scc;                                                                            \
    __VA_ARGS__;                                                                                            \
    *wave_word(wave, operation->destination) = d;                                                           \
    wave->scc = scc;                                                                                        \
    return operation + 1;                                                                                   \
  }

#define SCALAR_ROW(name, shape) {OPCODE_s_##name, scalar_bind, run_##name, NULL, NULL, shape}
#define SCALAR_TABLE(name)                                                                  \
  const struct binding_table name##_table = {name##_rows, sizeof name##_rows / sizeof name##_rows[0]}

#endif
