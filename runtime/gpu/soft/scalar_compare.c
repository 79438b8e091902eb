/* SOPC and the comparing half of SOPK: only SCC is written (RDNA2 ISA, "SOPC"). */
#include "gpu/soft/scalar.h"

#define COMPARE(name, expression)                                                                          \
  HANDLER(name) {                                                                                          \
    const uint32_t a = operation_scalar(wave, operation, 0), b = operation_scalar(wave, operation, 1);     \
    wave->scc = (expression);                                                                              \
    return operation + 1;                                                                                  \
  }
#define COMPARE_64(name, expression)                                                                       \
  HANDLER(name) {                                                                                          \
    const uint64_t a = operation_scalar64(wave, operation, 0), b = operation_scalar64(wave, operation, 1); \
    wave->scc = (expression);                                                                              \
    return operation + 1;                                                                                  \
  }

COMPARE(cmp_eq_u32, a == b)
COMPARE(cmp_lg_u32, a != b)
COMPARE(cmp_lt_u32, a < b)
COMPARE(cmp_le_u32, a <= b)
COMPARE(cmp_gt_u32, a > b)
COMPARE(cmp_ge_u32, a >= b)
COMPARE(cmp_lt_i32, (int32_t)a < (int32_t)b)
COMPARE(cmp_le_i32, (int32_t)a <= (int32_t)b)
COMPARE(cmp_gt_i32, (int32_t)a > (int32_t)b)
COMPARE(cmp_ge_i32, (int32_t)a >= (int32_t)b)
COMPARE_64(cmp_eq_u64, a == b)
COMPARE_64(cmp_lg_u64, a != b)
COMPARE(bitcmp0_b32, (a >> (b & 31) & 1) == 0)
COMPARE(bitcmp1_b32, (a >> (b & 31) & 1) != 0)
/* the bit number is one dword: only its low bits are looked at */
COMPARE_64(bitcmp0_b64, (a >> (b & 63) & 1) == 0)
COMPARE_64(bitcmp1_b64, (a >> (b & 63) & 1) != 0)

#define TWO SHAPE(0, 2, TYPE_B32, TYPE_B32)
#define TWO_64 SHAPE(0, 2, TYPE_B64, TYPE_B64)
#define WIDE_NARROW SHAPE(0, 2, TYPE_B64, TYPE_B32)
/* the register is LLVM's first operand; the second is the immediate, which the encoding holds */
#define SIGNED_K SHAPE(SHAPE_IMMEDIATE, 1, TYPE_B32, 0)
#define UNSIGNED_K SHAPE(SHAPE_IMMEDIATE | SHAPE_UNSIGNED, 1, TYPE_B32, 0)
#define ROW_AS(name, runs, shape) {OPCODE_s_##name, scalar_bind, run_##runs, NULL, NULL, shape}
#define FAMILY(name, as)                                                              \
  ROW_AS(cmp_##name##_i32, cmp_##name##_##as##32, TWO), SCALAR_ROW(cmp_##name##_u32, TWO), \
  ROW_AS(cmpk_##name##_i32, cmp_##name##_##as##32, SIGNED_K), ROW_AS(cmpk_##name##_u32, cmp_##name##_u32, UNSIGNED_K)

static const struct binding scalar_compare_rows[] = {
    FAMILY(eq, u), FAMILY(lg, u), FAMILY(lt, i), FAMILY(le, i), FAMILY(gt, i), FAMILY(ge, i),
    SCALAR_ROW(cmp_eq_u64, TWO_64), SCALAR_ROW(cmp_lg_u64, TWO_64),
    SCALAR_ROW(bitcmp0_b32, TWO), SCALAR_ROW(bitcmp1_b32, TWO),
    SCALAR_ROW(bitcmp0_b64, WIDE_NARROW), SCALAR_ROW(bitcmp1_b64, WIDE_NARROW),
};
SCALAR_TABLE(scalar_compare);
