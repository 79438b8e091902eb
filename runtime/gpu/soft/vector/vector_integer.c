/* Integer arithmetic, bits, shifts and selection of all widths. Formulas: RDNA2 ISA, "Vector ALU instructions". */
#include "gpu/soft/vector/integer.h"
#include "gpu/soft/vector/vector.h"

/* clang-format off */
#define MOVES_AND_BITS(X)                                                                                            \
  X(HOT1,   v_mov_b32,    u32, u32, d = a)                                                                           \
  X(HOT1,   v_not_b32,    u32, u32, d = ~a)                                                                          \
  X(PLAIN1, v_bfrev_b32,  u32, u32, d = reverse_bits(a))                                                             \
  X(PLAIN1, v_ffbh_u32,   u32, u32, d = first_from_top(a))                                                           \
  X(PLAIN1, v_ffbh_i32,   u32, i32, d = first_unlike_sign(a))                                                        \
  X(PLAIN1, v_ffbl_b32,   u32, u32, d = first_from_bottom(a))                                                        \
  X(PLAIN1, v_sat_pk_u8_i16, u16, p16,                                                                               \
    const int low = low_signed(a); const int high = high_signed(a);                                                  \
    d = (uint16_t)((low < 0 ? 0 : low > 255 ? 255 : low) | (high < 0 ? 0 : high > 255 ? 255 : high) << 8))           \
  X(PLAIN2, v_bcnt_u32_b32, u32, u32, u32, d = count_bits(a) + b)                                                    \
  X(PLAIN2, v_mbcnt_lo_u32_b32, u32, u32, u32, d = count_bits(a & mask_below(lane, 0)) + b)                          \
  X(PLAIN2, v_mbcnt_hi_u32_b32, u32, u32, u32, d = count_bits(a & mask_below(lane, 1)) + b)                          \
  X(HOT2,   v_and_b32,    u32, u32, u32, d = a & b)                                                                  \
  X(HOT2,   v_or_b32,     u32, u32, u32, d = a | b)                                                                  \
  X(HOT2,   v_xor_b32,    u32, u32, u32, d = a ^ b)                                                                  \
  X(PLAIN2, v_xnor_b32,   u32, u32, u32, d = ~(a ^ b))                                                               \
  X(HOT3,   v_and_or_b32, u32, u32, u32, u32, d = (a & b) | c)                                                       \
  X(HOT3,   v_or3_b32,    u32, u32, u32, u32, d = a | b | c)                                                         \
  X(PLAIN3, v_xor3_b32,   u32, u32, u32, u32, d = a ^ b ^ c)                                                         \
  X(HOT3,   v_bfe_u32,    u32, u32, u32, u32, d = field_unsigned(a, b, c))                                           \
  X(PLAIN3, v_bfe_i32,    u32, u32, u32, u32, d = field_signed(a, b, c))                                             \
  X(HOT3,   v_bfi_b32,    u32, u32, u32, u32, d = (a & b) | (~a & c))                                                \
  X(PLAIN2, v_bfm_b32,    u32, u32, u32, d = ((1u << (a & 31)) - 1) << (b & 31))                                     \
  X(PLAIN3, v_perm_b32,   u32, u32, u32, u32, d = permute_bytes(a, b, c))                                            \
  X(HOT3,   v_alignbit_b32, u32, u32, u32, u32, d = (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))                 \
  X(PLAIN3, v_alignbyte_b32, u32, u32, u32, u32, d = (uint32_t)(((uint64_t)a << 32 | b) >> 8 * (c & 3)))             \
  X(SELECT2, v_cndmask_b32, u32, u32, u32, d = carry_in ? b : a)

#define SHIFTS(X)                                                                                                    \
  X(HOT2,   v_lshlrev_b32, u32, u32, u32, d = b << (a & 31))                                                         \
  X(HOT2,   v_lshrrev_b32, u32, u32, u32, d = b >> (a & 31))                                                         \
  X(HOT2,   v_ashrrev_i32, i32, u32, i32, d = b >> (a & 31))                                                         \
  X(HOT2,   v_lshlrev_b64, u64, u32, u64, d = b << (a & 63))                                                         \
  X(PLAIN2, v_lshrrev_b64, u64, u32, u64, d = b >> (a & 63))                                                         \
  X(PLAIN2, v_ashrrev_i64, i64, u32, i64, d = b >> (a & 63))                                                         \
  X(HOT3,   v_lshl_add_u32, u32, u32, u32, u32, d = (a << (b & 31)) + c)                                             \
  X(HOT3,   v_add_lshl_u32, u32, u32, u32, u32, d = (a + b) << (c & 31))                                             \
  X(HOT3,   v_lshl_or_b32, u32, u32, u32, u32, d = (a << (b & 31)) | c)                                              \
  X(PLAIN2, v_lshlrev_b16, u16, u16, u16, d = (uint16_t)(b << (a & 15)))                                             \
  X(PLAIN2, v_lshrrev_b16, u16, u16, u16, d = (uint16_t)(b >> (a & 15)))                                             \
  X(PLAIN2, v_ashrrev_i16, i16, u16, i16, d = (int16_t)(b >> (a & 15)))

#define SUMS(X)                                                                                                      \
  X(HOT2,   v_add_nc_u32, u32, u32, u32, const uint32_t sum = a + b; d = side->clamp && sum < a ? UINT32_MAX : sum)  \
  X(HOT2,   v_sub_nc_u32, u32, u32, u32, d = side->clamp && a < b ? 0 : a - b)                                       \
  X(HOT2,   v_subrev_nc_u32, u32, u32, u32, d = side->clamp && b < a ? 0 : b - a)                                    \
  X(PLAIN2, v_add_nc_i32, u32, i32, i32,                                                                             \
    d = side->clamp ? saturate_i32((int64_t)a + b) : (uint32_t)a + (uint32_t)b)                                      \
  X(PLAIN2, v_sub_nc_i32, u32, i32, i32,                                                                             \
    d = side->clamp ? saturate_i32((int64_t)a - b) : (uint32_t)a - (uint32_t)b)                                      \
  X(CARRYOUT2, v_add_co_u32, u32, u32, u32,                                                                          \
    const uint32_t sum = a + b; carry_out = sum < a; d = side->clamp && carry_out ? UINT32_MAX : sum)                \
  X(CARRYOUT2, v_sub_co_u32, u32, u32, u32, carry_out = a < b; d = side->clamp && carry_out ? 0 : a - b)             \
  X(CARRYOUT2, v_subrev_co_u32, u32, u32, u32, carry_out = b < a; d = side->clamp && carry_out ? 0 : b - a)          \
  X(CARRY2, v_add_co_ci_u32, u32, u32, u32,                                                                          \
    const uint32_t part = a + b; const uint32_t sum = part + carry_in;                                               \
    carry_out = (part < a) | (sum < part); d = side->clamp && carry_out ? UINT32_MAX : sum)                          \
  X(CARRY2, v_sub_co_ci_u32, u32, u32, u32,                                                                          \
    const uint32_t part = a - b; carry_out = (a < b) | (part < carry_in);                                            \
    d = side->clamp && carry_out ? 0 : part - carry_in)                                                              \
  X(CARRY2, v_subrev_co_ci_u32, u32, u32, u32,                                                                       \
    const uint32_t part = b - a; carry_out = (b < a) | (part < carry_in);                                            \
    d = side->clamp && carry_out ? 0 : part - carry_in)                                                              \
  X(HOT3,   v_add3_u32, u32, u32, u32, u32, d = a + b + c)                                                           \
  X(HOT3,   v_xad_u32,  u32, u32, u32, u32, d = (a ^ b) + c)                                                         \
  X(PLAIN2, v_add_nc_u16, u16, u16, u16, d = side->clamp ? saturate_u16((int64_t)a + b) : (uint16_t)(a + b))         \
  X(PLAIN2, v_sub_nc_u16, u16, u16, u16, d = side->clamp ? saturate_u16((int64_t)a - b) : (uint16_t)(a - b))         \
  X(PLAIN2, v_add_nc_i16, u16, i16, i16, d = side->clamp ? saturate_i16((int64_t)a + b) : (uint16_t)(a + b))         \
  X(PLAIN2, v_sub_nc_i16, u16, i16, i16, d = side->clamp ? saturate_i16((int64_t)a - b) : (uint16_t)(a - b))

/* mad_i64_i32: the mask gets bit 64 of the sum of sign-extended terms. */
#define PRODUCTS(X)                                                                                                  \
  X(HOT2,   v_mul_lo_u32, u32, u32, u32, d = a * b)                                                                  \
  X(PLAIN2, v_mul_hi_u32, u32, u32, u32, d = (uint32_t)((uint64_t)a * b >> 32))                                      \
  X(PLAIN2, v_mul_hi_i32, u32, i32, i32, d = (uint32_t)((uint64_t)((int64_t)a * b) >> 32))                           \
  X(PLAIN2, v_mul_u32_u24, u32, u32, u32, d = unsigned24(a) * unsigned24(b))                                         \
  X(PLAIN2, v_mul_i32_i24, u32, u32, u32, d = (uint32_t)signed24(a) * (uint32_t)signed24(b))                         \
  X(PLAIN2, v_mul_hi_u32_u24, u32, u32, u32, d = (uint32_t)((uint64_t)unsigned24(a) * unsigned24(b) >> 32))          \
  X(PLAIN2, v_mul_hi_i32_i24, u32, u32, u32,                                                                         \
    d = (uint32_t)((uint64_t)((int64_t)signed24(a) * signed24(b)) >> 32))                                            \
  X(PLAIN3, v_mad_u32_u24, u32, u32, u32, u32,                                                                       \
    d = side->clamp ? saturate_u32((int64_t)unsigned24(a) * unsigned24(b) + c) : unsigned24(a) * unsigned24(b) + c)  \
  X(PLAIN3, v_mad_i32_i24, u32, u32, u32, i32,                                                                       \
    d = side->clamp ? saturate_i32((int64_t)signed24(a) * signed24(b) + c)                                           \
                    : (uint32_t)signed24(a) * (uint32_t)signed24(b) + (uint32_t)c)                                   \
  X(CARRYOUT3, v_mad_u64_u32, u64, u32, u32, u64, d = (uint64_t)a * b + c; carry_out = d < c)                        \
  X(CARRYOUT3, v_mad_i64_i32, u64, i32, i32, u64,                                                                    \
    const uint64_t product = (uint64_t)((int64_t)a * b); d = product + c;                                            \
    carry_out = ((product & c) | ((product | c) & ~d)) >> 63 != (product >> 63 != c >> 63))                          \
  X(PLAIN2, v_mul_lo_u16, u16, u16, u16, d = (uint16_t)((uint32_t)a * b))                                            \
  X(PLAIN3, v_mad_u16, u16, u16, u16, u16,                                                                           \
    d = side->clamp ? saturate_u16((int64_t)a * b + c) : (uint16_t)((uint32_t)a * b + c))                            \
  X(PLAIN3, v_mad_i16, u16, i16, i16, i16,                                                                           \
    d = side->clamp ? saturate_i16((int64_t)a * b + c) : (uint16_t)(a * b + c))                                      \
  X(PLAIN3, v_mad_u32_u16, u32, u16, u16, u32,                                                                       \
    d = side->clamp ? saturate_u32((int64_t)a * b + c) : (uint32_t)a * b + c)                                        \
  X(PLAIN3, v_mad_i32_i16, u32, i16, i16, i32,                                                                       \
    d = side->clamp ? saturate_i32((int64_t)a * b + c) : (uint32_t)(a * b) + (uint32_t)c)

#define EXTREMES(X)                                                                                                  \
  X(HOT2,   v_min_u32, u32, u32, u32, d = smaller_u32(a, b))                                                         \
  X(HOT2,   v_max_u32, u32, u32, u32, d = larger_u32(a, b))                                                          \
  X(HOT2,   v_min_i32, i32, i32, i32, d = smaller_i32(a, b))                                                         \
  X(HOT2,   v_max_i32, i32, i32, i32, d = larger_i32(a, b))                                                          \
  X(PLAIN3, v_min3_u32, u32, u32, u32, u32, d = smaller_u32(smaller_u32(a, b), c))                                   \
  X(PLAIN3, v_max3_u32, u32, u32, u32, u32, d = larger_u32(larger_u32(a, b), c))                                     \
  X(PLAIN3, v_med3_u32, u32, u32, u32, u32, d = middle_u32(a, b, c))                                                 \
  X(PLAIN3, v_min3_i32, i32, i32, i32, i32, d = smaller_i32(smaller_i32(a, b), c))                                   \
  X(PLAIN3, v_max3_i32, i32, i32, i32, i32, d = larger_i32(larger_i32(a, b), c))                                     \
  X(PLAIN3, v_med3_i32, i32, i32, i32, i32, d = middle_i32(a, b, c))                                                 \
  X(PLAIN2, v_min_u16, u16, u16, u16, d = a < b ? a : b)                                                             \
  X(PLAIN2, v_max_u16, u16, u16, u16, d = a > b ? a : b)                                                             \
  X(PLAIN2, v_min_i16, i16, i16, i16, d = a < b ? a : b)                                                             \
  X(PLAIN2, v_max_i16, i16, i16, i16, d = a > b ? a : b)                                                             \
  X(PLAIN3, v_min3_u16, u16, u16, u16, u16, d = (uint16_t)smaller_i32(smaller_i32(a, b), c))                         \
  X(PLAIN3, v_max3_u16, u16, u16, u16, u16, d = (uint16_t)larger_i32(larger_i32(a, b), c))                           \
  X(PLAIN3, v_med3_u16, u16, u16, u16, u16, d = (uint16_t)middle_i32(a, b, c))                                       \
  X(PLAIN3, v_min3_i16, i16, i16, i16, i16, d = (int16_t)smaller_i32(smaller_i32(a, b), c))                          \
  X(PLAIN3, v_max3_i16, i16, i16, i16, i16, d = (int16_t)larger_i32(larger_i32(a, b), c))                            \
  X(PLAIN3, v_med3_i16, i16, i16, i16, i16, d = (int16_t)middle_i32(a, b, c))

#define SUMMED(sum) d = side->clamp ? saturate_u32((int64_t)(sum)) : (uint32_t)(sum)
#define DISTANCES(X)                                                                                                 \
  X(PLAIN3, v_sad_u8,  u32, u32, u32, u32, SUMMED((uint64_t)distance_bytes(a, b, false) + c))                        \
  X(PLAIN3, v_sad_hi_u8, u32, u32, u32, u32, SUMMED(((uint64_t)distance_bytes(a, b, false) << 16) + c))              \
  X(PLAIN3, v_sad_u16, u32, u32, u32, u32,                                                                           \
    SUMMED((uint64_t)distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c))                             \
  X(PLAIN3, v_sad_u32, u32, u32, u32, u32, SUMMED((uint64_t)distance(a, b) + c))                                     \
  X(PLAIN3, v_msad_u8, u32, u32, u32, u32, SUMMED((uint64_t)distance_bytes(a, b, true) + c))                         \
  X(PLAIN3, v_qsad_pk_u16_u8, u64, u64, u32, u64, d = distance_quad(a, b, c, false))                                 \
  X(PLAIN3, v_mqsad_pk_u16_u8, u64, u64, u32, u64, d = distance_quad(a, b, c, true))                                 \
  X(PLAIN3, v_lerp_u8, u32, u32, u32, u32, d = average_bytes(a, b, c))

#define DOT_SIGNED(bits) \
  const int64_t sum = dot_signed(a, b, bits) + (int32_t)c; d = side->clamp ? saturate_i32(sum) : (uint32_t)sum
#define DOT_UNSIGNED(bits) \
  const int64_t sum = dot_unsigned(a, b, bits) + c; d = side->clamp ? saturate_u32(sum) : (uint32_t)sum
#define DOTS(X)                                                                                                      \
  X(PLAIN3, v_dot2_i32_i16, u32, p16, p16, u32, DOT_SIGNED(16))                                                      \
  X(PLAIN3, v_dot2_u32_u16, u32, p16, p16, u32, DOT_UNSIGNED(16))                                                    \
  X(PLAIN3, v_dot4_i32_i8,  u32, u32, u32, u32, DOT_SIGNED(8))                                                       \
  X(PLAIN3, v_dot4_u32_u8,  u32, u32, u32, u32, DOT_UNSIGNED(8))                                                     \
  X(PLAIN3, v_dot8_i32_i4,  u32, u32, u32, u32, DOT_SIGNED(4))                                                       \
  X(PLAIN3, v_dot8_u32_u4,  u32, u32, u32, u32, DOT_UNSIGNED(4))                                                     \
  X(ACCUMULATE3, v_dot4c_i32_i8, u32, u32, u32, u32, DOT_SIGNED(8))

/* The same for both halves, sign- or zero-extended. */
#define PACKED(expression_low, expression_high) d = pack_halves((uint32_t)(expression_low), (uint32_t)(expression_high))
#define PACKED2(extend, f) PACKED(f(low_##extend(a), low_##extend(b)), f(high_##extend(a), high_##extend(b)))
#define PACKED3(extend, f) \
  PACKED(f(low_##extend(a), low_##extend(b), low_##extend(c)), f(high_##extend(a), high_##extend(b), high_##extend(c)))
#define ADD_U(x, y) (side->clamp ? saturate_u16((int64_t)(x) + (y)) : (x) + (y))
#define SUB_U(x, y) (side->clamp ? saturate_u16((int64_t)(x) - (y)) : (x) - (y))
#define ADD_I(x, y) (side->clamp ? saturate_i16((int64_t)(x) + (y)) : (x) + (y))
#define SUB_I(x, y) (side->clamp ? saturate_i16((int64_t)(x) - (y)) : (x) - (y))
#define MUL(x, y) ((uint32_t)(x) * (uint32_t)(y))
#define MAD_U(x, y, z) (side->clamp ? saturate_u16((int64_t)(x) * (y) + (z)) : MUL(x, y) + (uint32_t)(z))
#define MAD_I(x, y, z) (side->clamp ? saturate_i16((int64_t)(x) * (y) + (z)) : (uint32_t)((x) * (y) + (z)))
#define SHIFT_LEFT(x, y) ((uint32_t)(y) << ((x) & 15))
#define SHIFT_RIGHT(x, y) ((y) >> ((x) & 15))
#define PACKS(X)                                                                                                     \
  X(PLAIN2, v_pk_add_u16, p16, p16, p16, PACKED2(unsigned, ADD_U))                                                   \
  X(PLAIN2, v_pk_sub_u16, p16, p16, p16, PACKED2(unsigned, SUB_U))                                                   \
  X(PLAIN2, v_pk_add_i16, p16, p16, p16, PACKED2(signed, ADD_I))                                                     \
  X(PLAIN2, v_pk_sub_i16, p16, p16, p16, PACKED2(signed, SUB_I))                                                     \
  X(PLAIN2, v_pk_mul_lo_u16, p16, p16, p16, PACKED2(unsigned, MUL))                                                  \
  X(PLAIN3, v_pk_mad_u16, p16, p16, p16, p16, PACKED3(unsigned, MAD_U))                                              \
  X(PLAIN3, v_pk_mad_i16, p16, p16, p16, p16, PACKED3(signed, MAD_I))                                                \
  X(PLAIN2, v_pk_lshlrev_b16, p16, p16, p16, PACKED2(unsigned, SHIFT_LEFT))                                          \
  X(PLAIN2, v_pk_lshrrev_b16, p16, p16, p16, PACKED2(unsigned, SHIFT_RIGHT))                                         \
  X(PLAIN2, v_pk_ashrrev_i16, p16, p16, p16, PACKED2(signed, SHIFT_RIGHT))                                           \
  X(PLAIN2, v_pk_min_u16, p16, p16, p16, PACKED2(unsigned, smaller_i32))                                             \
  X(PLAIN2, v_pk_max_u16, p16, p16, p16, PACKED2(unsigned, larger_i32))                                              \
  X(PLAIN2, v_pk_min_i16, p16, p16, p16, PACKED2(signed, smaller_i32))                                               \
  X(PLAIN2, v_pk_max_i16, p16, p16, p16, PACKED2(signed, larger_i32))
/* clang-format on */

#define OPERATIONS(X) \
  MOVES_AND_BITS(X) SHIFTS(X) SUMS(X) PRODUCTS(X) EXTREMES(X) DISTANCES(X) DOTS(X) PACKS(X)

OPERATIONS(VECTOR_DEFINE)
VECTOR_TABLE(vector_integer, OPERATIONS)
