/* Comparisons and class tests: v_cmp_* writes a mask to VCC or an SGPR, v_cmpx_* to EXEC and nothing else (gfx10). Both
 * give 0 for lanes outside EXEC, so v_cmpx is v_cmp with another destination and shares its handlers. Predicates: RDNA2 ISA,
 * "Vector comparison". An n before a predicate is its negation, true for NaN. */
#include "gpu/soft/vector/vector.h"

/* Halves compare as integers once the sign is made two's complement; both zeros become 0. */
VECTOR_INLINE int half_order(uint32_t half) {
  const int magnitude = (int)(half & 0x7fff);
  return half & 0x8000 ? -magnitude : magnitude;
}
VECTOR_INLINE int half_unordered(uint32_t a, uint32_t b) { return ((a & 0x7fff) > 0x7c00) | ((b & 0x7fff) > 0x7c00); }

/* Which class a number is, as the bit that v_cmp_class tests: RDNA2 ISA, "V_CMP_CLASS_F32". `infinity` is the exponent field
 * in place, `quiet` the top bit of the fraction, `normal` the smallest normal number; a magnitude has no sign. */
VECTOR_INLINE uint32_t class_bit(uint64_t magnitude, bool negative, uint64_t infinity, uint64_t quiet, uint64_t normal) {
  const uint32_t nan = magnitude & quiet ? 1u << 1 : 1u << 0;
  const uint32_t minus = magnitude == infinity ? 1u << 2 : magnitude >= normal ? 1u << 3 : magnitude != 0 ? 1u << 4 : 1u << 5;
  const uint32_t plus = magnitude == infinity ? 1u << 9 : magnitude >= normal ? 1u << 8 : magnitude != 0 ? 1u << 7 : 1u << 6;
  return magnitude > infinity ? nan : negative ? minus : plus;
}
VECTOR_INLINE uint32_t class_f32(uint32_t bits) {
  return class_bit(bits & 0x7fffffff, bits >> 31, 0x7f800000, 0x400000, 0x800000);
}
VECTOR_INLINE uint32_t class_f64(uint64_t bits) {
  return class_bit(bits & INT64_MAX, bits >> 63, UINT64_C(0x7ff) << 52, UINT64_C(1) << 51, UINT64_C(1) << 52);
}
VECTOR_INLINE uint32_t class_f16(uint32_t bits) { return class_bit(bits & 0x7fff, bits >> 15 & 1, 0x7c00, 0x200, 0x400); }

/* clang-format off */
#define ORDERS(X, kind, type)                        \
  X(kind, lt_##type, type, type, d = a < b)          \
  X(kind, eq_##type, type, type, d = a == b)         \
  X(kind, le_##type, type, type, d = a <= b)         \
  X(kind, gt_##type, type, type, d = a > b)          \
  X(kind, ne_##type, type, type, d = a != b)         \
  X(kind, ge_##type, type, type, d = a >= b)
#define CONSTANTS(X, type)                           \
  X(PLAIN, f_##type, type, type, (void)a; (void)b; d = 0) \
  X(PLAIN, t_##type, type, type, (void)a; (void)b; d = 1)

#define FLOATS(X, kind, type)                                     \
  X(PLAIN, f_##type, type, type, (void)a; (void)b; d = 0)         \
  X(kind, lt_##type, type, type, d = a < b)                       \
  X(kind, eq_##type, type, type, d = a == b)                      \
  X(kind, le_##type, type, type, d = a <= b)                      \
  X(kind, gt_##type, type, type, d = a > b)                       \
  X(kind, lg_##type, type, type, d = (a < b) | (a > b))           \
  X(kind, ge_##type, type, type, d = a >= b)                      \
  X(kind, o_##type, type, type, d = (a == a) & (b == b))          \
  X(kind, u_##type, type, type, d = (a != a) | (b != b))          \
  X(kind, nge_##type, type, type, d = !(a >= b))                  \
  X(PLAIN, nlg_##type, type, type, d = !((a < b) | (a > b)))      \
  X(kind, ngt_##type, type, type, d = !(a > b))                   \
  X(kind, nle_##type, type, type, d = !(a <= b))                  \
  X(kind, neq_##type, type, type, d = a != b)                     \
  X(kind, nlt_##type, type, type, d = !(a < b))                   \
  X(PLAIN, tru_##type, type, type, (void)a; (void)b; d = 1)

#define UNORDERED half_unordered(a, b)
#define HALVES(X)                                                                                  \
  X(PLAIN, f_f16, h16, h16, (void)a; (void)b; d = 0)                                               \
  X(PLAIN, lt_f16, h16, h16, d = !UNORDERED & (half_order(a) < half_order(b)))                     \
  X(PLAIN, eq_f16, h16, h16, d = !UNORDERED & (half_order(a) == half_order(b)))                    \
  X(PLAIN, le_f16, h16, h16, d = !UNORDERED & (half_order(a) <= half_order(b)))                    \
  X(PLAIN, gt_f16, h16, h16, d = !UNORDERED & (half_order(a) > half_order(b)))                     \
  X(PLAIN, lg_f16, h16, h16, d = !UNORDERED & (half_order(a) != half_order(b)))                    \
  X(PLAIN, ge_f16, h16, h16, d = !UNORDERED & (half_order(a) >= half_order(b)))                    \
  X(PLAIN, o_f16, h16, h16, d = !UNORDERED)                                                        \
  X(PLAIN, u_f16, h16, h16, d = UNORDERED)                                                         \
  X(PLAIN, nge_f16, h16, h16, d = UNORDERED | (half_order(a) < half_order(b)))                     \
  X(PLAIN, nlg_f16, h16, h16, d = UNORDERED | (half_order(a) == half_order(b)))                    \
  X(PLAIN, ngt_f16, h16, h16, d = UNORDERED | (half_order(a) <= half_order(b)))                    \
  X(PLAIN, nle_f16, h16, h16, d = UNORDERED | (half_order(a) > half_order(b)))                     \
  X(PLAIN, neq_f16, h16, h16, d = UNORDERED | (half_order(a) != half_order(b)))                    \
  X(PLAIN, nlt_f16, h16, h16, d = UNORDERED | (half_order(a) >= half_order(b)))                    \
  X(PLAIN, tru_f16, h16, h16, (void)a; (void)b; d = 1)

#define CLASSES(X)                                                                \
  X(HOT, class_f32, f32, u32, d = (class_f32(bits_of_float(a)) & b) != 0)         \
  X(PLAIN, class_f64, f64, u32, d = (class_f64(bits_of_double(a)) & b) != 0)      \
  X(PLAIN, class_f16, h16, u32, d = (class_f16(a) & b) != 0)
/* clang-format on */

#define COMPARISONS(X)                                                                                         \
  ORDERS(X, HOT, i32) ORDERS(X, HOT, u32) ORDERS(X, PLAIN, i64) ORDERS(X, HOT, u64) ORDERS(X, PLAIN, i16)      \
  ORDERS(X, PLAIN, u16) CONSTANTS(X, i32) CONSTANTS(X, u32) CONSTANTS(X, i64) CONSTANTS(X, u64)                \
  FLOATS(X, HOT, f32) FLOATS(X, PLAIN, f64) HALVES(X) CLASSES(X)

#define COMPARE_FORM_(suffix, hot, at, bt)                                                                     \
  static const struct vector_form v_cmpx_##suffix##_form = {                                                   \
    v_cmp_##suffix##_compute, hot, {VECTOR_mask, VECTOR_##at, VECTOR_##bt, VECTOR_none}, VECTOR_TO_EXEC};
#define COMPARE_DEFINE_PLAIN(suffix, at, bt, ...)                  \
  VECTOR_DEFINE(PLAIN2, v_cmp_##suffix, mask, at, bt, __VA_ARGS__) \
  COMPARE_FORM_(suffix, NULL, at, bt)
#define COMPARE_DEFINE_HOT(suffix, at, bt, ...)                  \
  VECTOR_DEFINE(HOT2, v_cmp_##suffix, mask, at, bt, __VA_ARGS__) \
  COMPARE_FORM_(suffix, v_cmp_##suffix##_hot, at, bt)
#define COMPARE_DEFINE(kind, ...) COMPARE_DEFINE_##kind(__VA_ARGS__)

#define COMPARE_ROW(kind, suffix, ...)                                                                         \
  VECTOR_ROW(kind, v_cmp_##suffix)                                                                             \
  {OPCODE_v_cmpx_##suffix, SOFT_NAME(vector_bind), v_cmp_##suffix##_any, SOFT_NAME(vector_modified),           \
   &v_cmpx_##suffix##_form, 0},

COMPARISONS(COMPARE_DEFINE)

static const struct binding vector_compare_rows[] = {COMPARISONS(COMPARE_ROW)};
const struct binding_table SOFT_NAME(vector_compare_table) = {vector_compare_rows,
                                                              sizeof vector_compare_rows / sizeof vector_compare_rows[0]};
