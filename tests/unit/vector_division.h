/* The steps of a division as compilers expand it, for floats and doubles. */
#ifndef HRX_TESTS_VECTOR_DIVISION_H
#define HRX_TESTS_VECTOR_DIVISION_H

#include "vector_rows.h"

enum { D = 20, N = 22, SCALED_D = 30, SCALED_N = 32, R = 34, E = 36, Q = 38, ONE = 40, RESULT = 42 };

/* One instruction on vector registers: as many operands as `form` has letters; a negative number is a negated operand. */
static inline void division_step(const struct binding_table *table, enum opcode opcode, const char *form, unsigned to, int a,
                                 int b, int c) {
  const unsigned registers = form[0] == 'd' ? 2 : 1;
  const int sources[] = {a, b, c};
  struct instruction instruction = instruction_of(opcode, form, false);
  instruction.operands[0] = vgpr(to, registers);
  for (size_t i = 1; i < strlen(form); i++) {
    instruction.operands[i] = vgpr((unsigned)abs(sources[i - 1]), registers);
    instruction.operands[i].negate = sources[i - 1] < 0;
  }
  step(table, &instruction);
}

/* v_div_scale of `source`, which is D or N. */
static inline void division_scale(const struct binding_table *table, enum opcode opcode, const char *form, unsigned to,
                                  unsigned source) {
  const unsigned registers = form[0] == 'd' ? 2 : 1;
  struct instruction instruction = instruction_of(opcode, form, false);
  instruction.destination_count = 2;
  instruction.operand_count = 5;
  instruction.operands[0] = vgpr(to, registers);
  instruction.operands[1] = sgpr(SREG_VCC_LO);
  instruction.operands[2] = vgpr(source, registers);
  instruction.operands[3] = vgpr(D, registers);
  instruction.operands[4] = vgpr(N, registers);
  step(table, &instruction);
}

#endif
