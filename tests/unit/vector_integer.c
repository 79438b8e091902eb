/* Integer vector operations against formulas, for all kinds of sources, any EXEC and any overlap; then the modified forms. */
#include "tests/unit/vector_wave.h"

/* One row of a test: bits of the result (0: a mask) and of each source (0: there is none), and the formula. */
struct formula {
  enum opcode opcode;
  uint8_t bits[4];
  bool carry_in, carry_out, accumulate;
  uint64_t (*compute)(uint64_t a, uint64_t b, uint64_t c, unsigned lane, bool carry_in, bool *carry_out);
};

/* Registers of a trial: sources v4, v8, v12 or s4, s8, s12 or constants; results in v16, or on a source. */
static void formula_trial(const struct formula *formula, unsigned kinds, unsigned overlap) {
  static const int64_t constants[] = {0, 1, -1, 5, 16, 64, -16, 31};
  struct operand operands[8];
  unsigned count = 0, sources = 0;
  const unsigned result = overlap < 3 ? 4 + 4 * overlap : overlap == 3 ? 5 : 16;
  const bool mask = formula->bits[0] == 0;
  operands[count++] = mask ? sgpr(20) : vgpr(result);
  if (formula->carry_out) operands[count++] = sgpr(21);
  const unsigned first = count;
  while (sources < 3 && formula->bits[1 + sources] != 0) {
    const unsigned kind = kinds >> 2 * sources & 3;
    struct operand *operand = &operands[count++];
    *operand = kind == 0 || kind == 3 ? vgpr(4 + 4 * sources)
               : kind == 1 ? sgpr(4 + 4 * sources) : constant(constants[random_bits() % 8]);
    sources++;
  }
  if (formula->accumulate) operands[--count] = (struct operand){0};
  if (formula->carry_in) operands[count++] = overlap % 2 ? sgpr(22) : sgpr(SREG_VCC_LO);
  const struct instruction instruction = instruction_of(formula->opcode, first, count, operands);
  wave_fill();
  wave_step(&instruction);
  if (formula->accumulate) operands[first + sources - 1] = operands[0];

  uint64_t made_mask = 0, made_carry = 0;
  static uint32_t results[2][SOFT_LANES];
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    uint64_t values[3] = {0};
    bool carry_out = false, carry_in = false;
    for (unsigned i = 0; i < sources; i++) values[i] = lane_value(&operands[first + i], lane, formula->bits[1 + i]);
    if (formula->carry_in) carry_in = expected->s[overlap % 2 ? 22 : SREG_VCC_LO] >> lane & 1;
    uint64_t value = formula->compute(values[0], values[1], values[2], lane, carry_in, &carry_out);
    if (formula->bits[0] == 16) value = (expected->v[result][lane] & 0xffff0000) | (value & 0xffff);
    results[0][lane] = in_exec(lane) ? (uint32_t)value : expected->v[result][lane];
    results[1][lane] = in_exec(lane) ? (uint32_t)(value >> 32) : expected->v[result + 1][lane];
    if (in_exec(lane)) made_mask |= (uint64_t)(value != 0) << lane, made_carry |= (uint64_t)carry_out << lane;
  }
  if (mask) expected->s[20] = (uint32_t)made_mask;
  else memcpy(expected->v[result], results[0], sizeof results[0]);
  if (formula->bits[0] == 64) memcpy(expected->v[result + 1], results[1], sizeof results[1]);
  if (formula->carry_out) expected->s[21] = (uint32_t)made_carry;
  char what[64];
  snprintf(what, sizeof what, "kinds %02x, result %u, exec %08x", kinds, result, expected->s[SREG_EXEC_LO]);
  wave_check(&instruction, what);
}

/* All kinds of sources and all overlaps, a few times. */
static void formula_check(const struct formula *formula) {
  for (unsigned kinds = 0; kinds < 64; kinds++) {
    if ((kinds & 3) == 3 || (kinds >> 2 & 3) == 3 || kinds >> 4 == 3) continue;
    for (unsigned overlap = 0; overlap < 5; overlap++)
      for (unsigned trial = 0; trial < 3; trial++) formula_trial(formula, kinds, overlap);
  }
}

static uint64_t sign(uint64_t value, unsigned bits) { return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits)); }
static int64_t s32(uint64_t value) { return (int64_t)sign(value, 32); }
static int64_t s24(uint64_t value) { return (int64_t)sign(value, 24); }
static int64_t s16(uint64_t value) { return (int64_t)sign(value, 16); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }
static int64_t middle(int64_t a, int64_t b, int64_t c) { return a + b + c - least(a, least(b, c)) - most(a, most(b, c)); }
static uint64_t ones(uint64_t count) { return (UINT64_C(1) << count) - 1; }
static uint64_t reversed(uint64_t value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 32; i++) result |= (value >> i & 1) << (31 - i);
  return result;
}
static uint64_t leading(uint64_t value) {
  for (unsigned i = 0; i < 32; i++)
    if (value >> (31 - i) & 1) return i;
  return UINT32_MAX;
}
static uint64_t trailing(uint64_t value) {
  for (unsigned i = 0; i < 32; i++)
    if (value >> i & 1) return i;
  return UINT32_MAX;
}
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t selects) {
  uint64_t pair = a << 32 | b, result = 0;
  for (unsigned i = 0; i < 4; i++) {
    const uint64_t select = selects >> 8 * i & 0xff;
    uint64_t byte = 0xff;
    if (select < 8) byte = pair >> 8 * select & 0xff;
    if (select >= 8 && select < 12) byte = pair >> (15 + 16 * (select - 8)) & 1 ? 0xff : 0;
    if (select == 12) byte = 0;
    result |= byte << 8 * i;
  }
  return result;
}
static uint64_t distances(uint64_t a, uint64_t b, unsigned bits, bool masked) {
  uint64_t sum = 0;
  for (unsigned at = 0; at < 32; at += bits) {
    const int64_t x = (int64_t)(a >> at & ones(bits)), y = (int64_t)(b >> at & ones(bits));
    if (!masked || y != 0) sum += (uint64_t)(x < y ? y - x : x - y);
  }
  return sum;
}
static uint64_t quad(uint64_t a, uint64_t b, uint64_t c, bool masked) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; i++)
    result |= ((distances(a >> 8 * i & UINT32_MAX, b, 8, masked) + (c >> 16 * i)) & 0xffff) << 16 * i;
  return result;
}
static uint64_t averages(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t result = 0;
  for (unsigned at = 0; at < 32; at += 8) result |= ((a >> at & 0xff) + (b >> at & 0xff) + (c >> at & 1)) / 2 << at;
  return result;
}
static uint64_t dot(uint64_t a, uint64_t b, unsigned bits, bool is_signed) {
  uint64_t sum = 0;
  for (unsigned at = 0; at < 32; at += bits) {
    uint64_t x = a >> at & ones(bits), y = b >> at & ones(bits);
    sum += is_signed ? sign(x, bits) * sign(y, bits) : x * y;
  }
  return sum;
}
static uint64_t byte_limit(int64_t value) { return (uint64_t)most(0, least(255, value)); }
static uint64_t pair(int64_t low, int64_t high) { return ((uint64_t)low & 0xffff) | ((uint64_t)high & 0xffff) << 16; }

/* opcode, bits of result and sources, carry in, carry out, accumulates, formula */
#define U(x) (uint64_t)(x)
#define LOW(x) ((x) & 0xffff)
#define HIGH(x) ((x) >> 16 & 0xffff)
#define PAIR(low, high) pair((int64_t)(low), (int64_t)(high))
#define FORMULAS(X) \
  X(v_mov_b32, 32, 32, 0, 0, 0, 0, 0, a) \
  X(v_not_b32, 32, 32, 0, 0, 0, 0, 0, ~a) \
  X(v_bfrev_b32, 32, 32, 0, 0, 0, 0, 0, reversed(a)) \
  X(v_ffbh_u32, 32, 32, 0, 0, 0, 0, 0, leading(a)) \
  X(v_ffbh_i32, 32, 32, 0, 0, 0, 0, 0, leading(a >> 31 ? ~a & UINT32_MAX : a)) \
  X(v_ffbl_b32, 32, 32, 0, 0, 0, 0, 0, trailing(a)) \
  X(v_sat_pk_u8_i16, 16, 32, 0, 0, 0, 0, 0, byte_limit(s16(a)) | byte_limit(s16(a >> 16)) << 8) \
  X(v_bcnt_u32_b32, 32, 32, 32, 0, 0, 0, 0, U(__builtin_popcountll(a)) + b) \
  X(v_mbcnt_lo_u32_b32, 32, 32, 32, 0, 0, 0, 0, U(__builtin_popcountll(a & ones(lane))) + b) \
  X(v_mbcnt_hi_u32_b32, 32, 32, 32, 0, 0, 0, 0, b) \
  X(v_and_b32, 32, 32, 32, 0, 0, 0, 0, a & b) \
  X(v_or_b32, 32, 32, 32, 0, 0, 0, 0, a | b) \
  X(v_xor_b32, 32, 32, 32, 0, 0, 0, 0, a ^ b) \
  X(v_xnor_b32, 32, 32, 32, 0, 0, 0, 0, ~(a ^ b)) \
  X(v_and_or_b32, 32, 32, 32, 32, 0, 0, 0, (a & b) | c) \
  X(v_or3_b32, 32, 32, 32, 32, 0, 0, 0, a | b | c) \
  X(v_xor3_b32, 32, 32, 32, 32, 0, 0, 0, a ^ b ^ c) \
  X(v_bfe_u32, 32, 32, 32, 32, 0, 0, 0, a >> b % 32 & ones(c % 32)) \
  X(v_bfe_i32, 32, 32, 32, 32, 0, 0, 0, c % 32 == 0 ? 0 : sign(U(s32(a)) >> b % 32 & ones(c % 32), (unsigned)c % 32)) \
  X(v_bfi_b32, 32, 32, 32, 32, 0, 0, 0, (a & b) | (~a & c)) \
  X(v_bfm_b32, 32, 32, 32, 0, 0, 0, 0, ones(a % 32) << b % 32) \
  X(v_perm_b32, 32, 32, 32, 32, 0, 0, 0, permuted(a, b, c)) \
  X(v_alignbit_b32, 32, 32, 32, 32, 0, 0, 0, (a << 32 | b) >> c % 32) \
  X(v_alignbyte_b32, 32, 32, 32, 32, 0, 0, 0, (a << 32 | b) >> 8 * (c % 4)) \
  X(v_cndmask_b32, 32, 32, 32, 0, 1, 0, 0, carry_in ? b : a) \
  X(v_lshlrev_b32, 32, 32, 32, 0, 0, 0, 0, b << a % 32) \
  X(v_lshrrev_b32, 32, 32, 32, 0, 0, 0, 0, b >> a % 32) \
  X(v_ashrrev_i32, 32, 32, 32, 0, 0, 0, 0, U(s32(b) >> a % 32)) \
  X(v_lshlrev_b64, 64, 32, 64, 0, 0, 0, 0, b << a % 64) \
  X(v_lshrrev_b64, 64, 32, 64, 0, 0, 0, 0, b >> a % 64) \
  X(v_ashrrev_i64, 64, 32, 64, 0, 0, 0, 0, U((int64_t)b >> a % 64)) \
  X(v_lshl_add_u32, 32, 32, 32, 32, 0, 0, 0, (a << b % 32) + c) \
  X(v_add_lshl_u32, 32, 32, 32, 32, 0, 0, 0, (a + b) << c % 32) \
  X(v_lshl_or_b32, 32, 32, 32, 32, 0, 0, 0, (a << b % 32) | c) \
  X(v_lshlrev_b16, 16, 16, 16, 0, 0, 0, 0, b << a % 16) \
  X(v_lshrrev_b16, 16, 16, 16, 0, 0, 0, 0, b >> a % 16) \
  X(v_ashrrev_i16, 16, 16, 16, 0, 0, 0, 0, U(s16(b) >> a % 16)) \
  X(v_add_nc_u32, 32, 32, 32, 0, 0, 0, 0, a + b) \
  X(v_sub_nc_u32, 32, 32, 32, 0, 0, 0, 0, a - b) \
  X(v_subrev_nc_u32, 32, 32, 32, 0, 0, 0, 0, b - a) \
  X(v_add_nc_i32, 32, 32, 32, 0, 0, 0, 0, a + b) \
  X(v_sub_nc_i32, 32, 32, 32, 0, 0, 0, 0, a - b) \
  X(v_add_co_u32, 32, 32, 32, 0, 0, 1, 0, (*carry_out = (a + b) >> 32, a + b)) \
  X(v_sub_co_u32, 32, 32, 32, 0, 0, 1, 0, (*carry_out = a < b, a - b)) \
  X(v_subrev_co_u32, 32, 32, 32, 0, 0, 1, 0, (*carry_out = b < a, b - a)) \
  X(v_add_co_ci_u32, 32, 32, 32, 0, 1, 1, 0, (*carry_out = (a + b + carry_in) >> 32, a + b + carry_in)) \
  X(v_sub_co_ci_u32, 32, 32, 32, 0, 1, 1, 0, (*carry_out = a < b + carry_in, a - b - carry_in)) \
  X(v_subrev_co_ci_u32, 32, 32, 32, 0, 1, 1, 0, (*carry_out = b < a + carry_in, b - a - carry_in)) \
  X(v_add3_u32, 32, 32, 32, 32, 0, 0, 0, a + b + c) \
  X(v_xad_u32, 32, 32, 32, 32, 0, 0, 0, (a ^ b) + c) \
  X(v_add_nc_u16, 16, 16, 16, 0, 0, 0, 0, a + b) \
  X(v_sub_nc_u16, 16, 16, 16, 0, 0, 0, 0, a - b) \
  X(v_add_nc_i16, 16, 16, 16, 0, 0, 0, 0, a + b) \
  X(v_sub_nc_i16, 16, 16, 16, 0, 0, 0, 0, a - b) \
  X(v_mul_lo_u32, 32, 32, 32, 0, 0, 0, 0, a * b) \
  X(v_mul_hi_u32, 32, 32, 32, 0, 0, 0, 0, a * b >> 32) \
  X(v_mul_hi_i32, 32, 32, 32, 0, 0, 0, 0, U(s32(a) * s32(b)) >> 32) \
  X(v_mul_u32_u24, 32, 32, 32, 0, 0, 0, 0, (a & 0xffffff) * (b & 0xffffff)) \
  X(v_mul_i32_i24, 32, 32, 32, 0, 0, 0, 0, U(s24(a) * s24(b))) \
  X(v_mul_hi_u32_u24, 32, 32, 32, 0, 0, 0, 0, (a & 0xffffff) * (b & 0xffffff) >> 32) \
  X(v_mul_hi_i32_i24, 32, 32, 32, 0, 0, 0, 0, U(s24(a) * s24(b)) >> 32) \
  X(v_mad_u32_u24, 32, 32, 32, 32, 0, 0, 0, (a & 0xffffff) * (b & 0xffffff) + c) \
  X(v_mad_i32_i24, 32, 32, 32, 32, 0, 0, 0, U(s24(a) * s24(b)) + c) \
  X(v_mad_u64_u32, 64, 32, 32, 64, 0, 1, 0, \
    (*carry_out = ((unsigned __int128)a * b + c) >> 64 != 0, a * b + c)) \
  X(v_mad_i64_i32, 64, 32, 32, 64, 0, 1, 0, \
    (*carry_out = (((__int128)(s32(a) * s32(b)) + (int64_t)c) >> 64 & 1) != 0, U(s32(a) * s32(b)) + c)) \
  X(v_mul_lo_u16, 16, 16, 16, 0, 0, 0, 0, a * b) \
  X(v_mad_u16, 16, 16, 16, 16, 0, 0, 0, a * b + c) \
  X(v_mad_i16, 16, 16, 16, 16, 0, 0, 0, a * b + c) \
  X(v_mad_u32_u16, 32, 16, 16, 32, 0, 0, 0, a * b + c) \
  X(v_mad_i32_i16, 32, 16, 16, 32, 0, 0, 0, U(s16(a) * s16(b)) + c) \
  X(v_min_u32, 32, 32, 32, 0, 0, 0, 0, a < b ? a : b) \
  X(v_max_u32, 32, 32, 32, 0, 0, 0, 0, a < b ? b : a) \
  X(v_min_i32, 32, 32, 32, 0, 0, 0, 0, U(least(s32(a), s32(b)))) \
  X(v_max_i32, 32, 32, 32, 0, 0, 0, 0, U(most(s32(a), s32(b)))) \
  X(v_min3_u32, 32, 32, 32, 32, 0, 0, 0, U(least((int64_t)a, least((int64_t)b, (int64_t)c)))) \
  X(v_max3_u32, 32, 32, 32, 32, 0, 0, 0, U(most((int64_t)a, most((int64_t)b, (int64_t)c)))) \
  X(v_med3_u32, 32, 32, 32, 32, 0, 0, 0, U(middle((int64_t)a, (int64_t)b, (int64_t)c))) \
  X(v_min3_i32, 32, 32, 32, 32, 0, 0, 0, U(least(s32(a), least(s32(b), s32(c))))) \
  X(v_max3_i32, 32, 32, 32, 32, 0, 0, 0, U(most(s32(a), most(s32(b), s32(c))))) \
  X(v_med3_i32, 32, 32, 32, 32, 0, 0, 0, U(middle(s32(a), s32(b), s32(c)))) \
  X(v_min_u16, 16, 16, 16, 0, 0, 0, 0, a < b ? a : b) \
  X(v_max_u16, 16, 16, 16, 0, 0, 0, 0, a < b ? b : a) \
  X(v_min_i16, 16, 16, 16, 0, 0, 0, 0, U(least(s16(a), s16(b)))) \
  X(v_max_i16, 16, 16, 16, 0, 0, 0, 0, U(most(s16(a), s16(b)))) \
  X(v_min3_u16, 16, 16, 16, 16, 0, 0, 0, U(least((int64_t)a, least((int64_t)b, (int64_t)c)))) \
  X(v_max3_u16, 16, 16, 16, 16, 0, 0, 0, U(most((int64_t)a, most((int64_t)b, (int64_t)c)))) \
  X(v_med3_u16, 16, 16, 16, 16, 0, 0, 0, U(middle((int64_t)a, (int64_t)b, (int64_t)c))) \
  X(v_min3_i16, 16, 16, 16, 16, 0, 0, 0, U(least(s16(a), least(s16(b), s16(c))))) \
  X(v_max3_i16, 16, 16, 16, 16, 0, 0, 0, U(most(s16(a), most(s16(b), s16(c))))) \
  X(v_med3_i16, 16, 16, 16, 16, 0, 0, 0, U(middle(s16(a), s16(b), s16(c)))) \
  X(v_sad_u8, 32, 32, 32, 32, 0, 0, 0, distances(a, b, 8, false) + c) \
  X(v_sad_hi_u8, 32, 32, 32, 32, 0, 0, 0, (distances(a, b, 8, false) << 16) + c) \
  X(v_sad_u16, 32, 32, 32, 32, 0, 0, 0, distances(a, b, 16, false) + c) \
  X(v_sad_u32, 32, 32, 32, 32, 0, 0, 0, distances(a, b, 32, false) + c) \
  X(v_msad_u8, 32, 32, 32, 32, 0, 0, 0, distances(a, b, 8, true) + c) \
  X(v_qsad_pk_u16_u8, 64, 64, 32, 64, 0, 0, 0, quad(a, b, c, false)) \
  X(v_mqsad_pk_u16_u8, 64, 64, 32, 64, 0, 0, 0, quad(a, b, c, true)) \
  X(v_lerp_u8, 32, 32, 32, 32, 0, 0, 0, averages(a, b, c)) \
  X(v_dot2_i32_i16, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 16, true) + c) \
  X(v_dot2_u32_u16, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 16, false) + c) \
  X(v_dot4_i32_i8, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 8, true) + c) \
  X(v_dot4_u32_u8, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 8, false) + c) \
  X(v_dot8_i32_i4, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 4, true) + c) \
  X(v_dot8_u32_u4, 32, 32, 32, 32, 0, 0, 0, dot(a, b, 4, false) + c) \
  X(v_dot4c_i32_i8, 32, 32, 32, 32, 0, 0, 1, dot(a, b, 8, true) + c) \
  X(v_pk_add_u16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) + LOW(b), HIGH(a) + HIGH(b))) \
  X(v_pk_sub_u16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) - LOW(b), HIGH(a) - HIGH(b))) \
  X(v_pk_add_i16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) + LOW(b), HIGH(a) + HIGH(b))) \
  X(v_pk_sub_i16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) - LOW(b), HIGH(a) - HIGH(b))) \
  X(v_pk_mul_lo_u16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) * LOW(b), HIGH(a) * HIGH(b))) \
  X(v_pk_mad_u16, 32, 32, 32, 32, 0, 0, 0, PAIR(LOW(a) * LOW(b) + LOW(c), HIGH(a) * HIGH(b) + HIGH(c))) \
  X(v_pk_mad_i16, 32, 32, 32, 32, 0, 0, 0, PAIR(LOW(a) * LOW(b) + LOW(c), HIGH(a) * HIGH(b) + HIGH(c))) \
  X(v_pk_lshlrev_b16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(b) << LOW(a) % 16, HIGH(b) << HIGH(a) % 16)) \
  X(v_pk_lshrrev_b16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(b) >> LOW(a) % 16, HIGH(b) >> HIGH(a) % 16)) \
  X(v_pk_ashrrev_i16, 32, 32, 32, 0, 0, 0, 0, PAIR(s16(b) >> LOW(a) % 16, s16(b >> 16) >> HIGH(a) % 16)) \
  X(v_pk_min_u16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) < LOW(b) ? LOW(a) : LOW(b), HIGH(a) < HIGH(b) ? HIGH(a) : HIGH(b))) \
  X(v_pk_max_u16, 32, 32, 32, 0, 0, 0, 0, PAIR(LOW(a) > LOW(b) ? LOW(a) : LOW(b), HIGH(a) > HIGH(b) ? HIGH(a) : HIGH(b))) \
  X(v_pk_min_i16, 32, 32, 32, 0, 0, 0, 0, PAIR(least(s16(a), s16(b)), least(s16(a >> 16), s16(b >> 16)))) \
  X(v_pk_max_i16, 32, 32, 32, 0, 0, 0, 0, PAIR(most(s16(a), s16(b)), most(s16(a >> 16), s16(b >> 16))))

#define FUNCTION(name, d, x, y, z, in, out, old, ...)                                                              \
  static uint64_t name##_formula(uint64_t a, uint64_t b, uint64_t c, unsigned lane, bool carry_in, bool *carry_out) { \
    (void)a, (void)b, (void)c, (void)lane, (void)carry_in, (void)carry_out;                                        \
    return __VA_ARGS__;                                                                                            \
  }
#define ROW(name, d, x, y, z, in, out, old, ...) {OPCODE_##name, {d, x, y, z}, in, out, old, name##_formula},
FORMULAS(FUNCTION)
static const struct formula formulas[] = {FORMULAS(ROW)};

START_TEST(formulas_hold) {
  if (!wave_open(_i)) return;
  for (unsigned i = 0; i < sizeof formulas / sizeof *formulas; i++) formula_check(&formulas[i]);
}
END_TEST

/* One instruction on v4, v8 (and v12), its result in v16. */
static struct instruction plain(enum opcode opcode, unsigned sources) {
  const struct operand operands[] = {vgpr(16), vgpr(4), vgpr(8), vgpr(12)};
  return instruction_of(opcode, 1, 1 + sources, operands);
}

START_TEST(clamp_saturates) {
  if (!wave_open(_i)) return;
  static const struct { enum opcode opcode; uint32_t a, b, result; } cases[] = {
      {OPCODE_v_add_nc_u32, 0xfffffff0, 0x20, UINT32_MAX}, {OPCODE_v_add_nc_u32, 1, 2, 3},
      {OPCODE_v_sub_nc_u32, 1, 2, 0}, {OPCODE_v_subrev_nc_u32, 1, 2, 1}, {OPCODE_v_subrev_nc_u32, 2, 1, 0},
      {OPCODE_v_add_nc_i32, 0x7fffffff, 1, 0x7fffffff}, {OPCODE_v_sub_nc_i32, 0x80000000, 1, 0x80000000},
      {OPCODE_v_add_nc_u16, 0xfff0, 0x20, 0xffff}, {OPCODE_v_sub_nc_u16, 1, 2, 0},
      {OPCODE_v_add_nc_i16, 0x7fff, 1, 0x7fff}, {OPCODE_v_sub_nc_i16, 0x8000, 1, 0x8000},
      {OPCODE_v_pk_add_u16, 0x0001ffff, 0x00020001, 0x0003ffff}, {OPCODE_v_pk_sub_i16, 0x80000001, 0x00010002, 0x8000ffff}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct instruction instruction = plain(cases[i].opcode, 2);
    instruction.clamp = true;
    wave_fill();
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      wave->v[4][lane] = cases[i].a, wave->v[8][lane] = cases[i].b, wave->v[16][lane] = 0;
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++)
      if (in_exec(lane)) expected->v[16][lane] = cases[i].result;
    wave_check(&instruction, "clamp");
  }
}
END_TEST

static uint32_t selected(uint32_t value, unsigned select, bool extend) {
  const unsigned bits = select == SDWA_DWORD ? 32 : select >= SDWA_WORD_0 ? 16 : 8;
  const unsigned at = select == SDWA_DWORD ? 0 : select >= SDWA_WORD_0 ? 16 * (select - SDWA_WORD_0) : 8 * select;
  const uint64_t field = value >> at & ones(bits);
  return (uint32_t)(extend ? sign(field, bits) : field);
}

START_TEST(sdwa_selects_parts) {
  if (!wave_open(_i)) return;
  for (unsigned code = 0; code < 7 * 7 * 7 * 3 * 4; code++) {
    const unsigned a = code % 7, b = code / 7 % 7, to = code / 49 % 7, unused = code / 343 % 3;
    struct instruction instruction = plain(OPCODE_v_add_nc_u32, 2);
    instruction.form = FORM_SDWA;
    instruction.operands[1].select = (uint8_t)a;
    instruction.operands[2].select = (uint8_t)b;
    instruction.operands[1].sext = code / 1029 & 1;
    instruction.operands[2].sext = code / 1029 & 2;
    instruction.sdwa_destination = (uint8_t)to;
    instruction.sdwa_unused = (uint8_t)unused;
    if (code % 5 == 0) instruction.operands[0] = vgpr(8);
    const unsigned result = instruction.operands[0].index;
    wave_fill();
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      if (!in_exec(lane)) continue;
      const uint32_t sum = selected(expected->v[4][lane], a, instruction.operands[1].sext) +
                           selected(expected->v[8][lane], b, instruction.operands[2].sext);
      const unsigned bits = to == SDWA_DWORD ? 32 : to >= SDWA_WORD_0 ? 16 : 8;
      const unsigned at = to == SDWA_DWORD ? 0 : to >= SDWA_WORD_0 ? 16 * (to - SDWA_WORD_0) : 8 * to;
      const uint64_t field = ones(bits) << at;
      uint64_t value = (uint64_t)sum << at & field;
      if (unused == SDWA_SEXT) value = sign(sum & ones(bits), bits) << at;
      if (unused == SDWA_PRESERVE) value |= expected->v[result][lane] & ~field;
      expected->v[result][lane] = (uint32_t)value;
    }
    wave_check(&instruction, "sdwa");
  }
}
END_TEST

START_TEST(dpp_moves_across_lanes) {
  if (!wave_open(_i)) return;
  static const struct { uint8_t form, kind; uint32_t value; } cases[] = {
      {FORM_DPP, DPP_QUAD_PERM, 0x1b}, {FORM_DPP, DPP_ROW_SHL, 3}, {FORM_DPP, DPP_ROW_SHR, 1}, {FORM_DPP, DPP_ROW_ROR, 5},
      {FORM_DPP, DPP_ROW_MIRROR, 0}, {FORM_DPP, DPP_ROW_HALF_MIRROR, 0}, {FORM_DPP, DPP_ROW_SHARE, 7},
      {FORM_DPP, DPP_ROW_XMASK, 9}, {FORM_DPP8, DPP_NONE, 052164037}};
  for (unsigned code = 0; code < 9 * 4 * 20; code++) {
    struct instruction instruction = plain(OPCODE_v_sub_nc_u32, 2);
    instruction.form = cases[code % 9].form;
    instruction.dpp = cases[code % 9].kind;
    const unsigned amount = instruction.dpp_value = cases[code % 9].value;
    instruction.dpp_bound_ctrl = code / 9 & 1;
    instruction.dpp_fi = code / 18 & 1;
    if (instruction.form == FORM_DPP && code / 36 % 3 == 0) instruction.dpp_row_mask = 2, instruction.dpp_bank_mask = 11;
    wave_fill();
    wave_step(&instruction);
    uint32_t result[SOFT_LANES];
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      const int row = (int)lane / 16 * 16, place = (int)lane % 16;
      int from = -1;
      if (instruction.form == FORM_DPP8) from = (int)(lane / 8 * 8 + (amount >> lane % 8 * 3) % 8);
      else if (instruction.dpp == DPP_QUAD_PERM) from = (int)(lane / 4 * 4 + (amount >> lane % 4 * 2) % 4);
      else if (instruction.dpp == DPP_ROW_SHL) from = place + 3 < 16 ? row + place + 3 : -1;
      else if (instruction.dpp == DPP_ROW_SHR) from = place > 0 ? row + place - 1 : -1;
      else if (instruction.dpp == DPP_ROW_ROR) from = row + (place + 16 - 5) % 16;
      else if (instruction.dpp == DPP_ROW_MIRROR) from = row + 15 - place;
      else if (instruction.dpp == DPP_ROW_HALF_MIRROR) from = row + place / 8 * 8 + 7 - place % 8;
      else if (instruction.dpp == DPP_ROW_SHARE) from = row + 7;
      else if (instruction.dpp == DPP_ROW_XMASK) from = row + (place ^ 9);
      const bool valid = from >= 0 && (instruction.dpp_fi || in_exec((unsigned)from));
      const bool zero = instruction.dpp_bound_ctrl || instruction.form == FORM_DPP8;
      const bool written = in_exec(lane) && (valid || zero) && (instruction.dpp_row_mask >> lane / 16 & 1) &&
                           (instruction.dpp_bank_mask >> lane % 16 / 4 & 1);
      result[lane] = expected->v[16][lane];
      if (written) result[lane] = (valid ? expected->v[4][from] : 0) - expected->v[8][lane];
    }
    memcpy(expected->v[16], result, sizeof result);
    wave_check(&instruction, "dpp");
  }
}
END_TEST

START_TEST(op_sel_picks_halves) {
  if (!wave_open(_i)) return;
  for (unsigned code = 0; code < 8 * 8; code++) {
    struct instruction instruction = plain(OPCODE_v_sub_nc_u16, 2);
    instruction.op_sel = code & 7;
    instruction.has_op_sel = true;
    wave_fill();
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      if (!in_exec(lane)) continue;
      const uint32_t value = ((expected->v[4][lane] >> (code & 1 ? 16 : 0)) - (expected->v[8][lane] >> (code & 2 ? 16 : 0))) & 0xffff;
      uint32_t *to = &expected->v[16][lane];
      *to = code & 4 ? (*to & 0xffff) | value << 16 : (*to & 0xffff0000) | value;
    }
    wave_check(&instruction, "op_sel");

    instruction = plain(OPCODE_v_pk_sub_u16, 2);
    instruction.op_sel = code & 3;
    instruction.op_sel_hi = code >> 2 & 3;
    wave_fill();
    wave_step(&instruction);
    for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
      if (!in_exec(lane)) continue;
      const uint32_t a = expected->v[4][lane], b = expected->v[8][lane];
      const uint32_t low = (a >> (code & 1 ? 16 : 0)) - (b >> (code & 2 ? 16 : 0));
      const uint32_t high = (a >> (code & 4 ? 16 : 0)) - (b >> (code & 8 ? 16 : 0));
      expected->v[16][lane] = (low & 0xffff) | high << 16;
    }
    wave_check(&instruction, "packed op_sel");
  }
}
END_TEST

START_TEST(moves_take_signs) {
  if (!wave_open(_i)) return;
  const struct operand operands[] = {vgpr(16), vgpr(4), sgpr(8), sgpr(22)};
  struct instruction instruction = instruction_of(OPCODE_v_cndmask_b32, 1, 4, operands);
  instruction.operands[1].negate = true;
  instruction.operands[2].absolute = true;
  wave_fill();
  wave_step(&instruction);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++)
    if (in_exec(lane))
      expected->v[16][lane] = expected->s[22] >> lane & 1 ? expected->s[8] & 0x7fffffff : expected->v[4][lane] ^ 0x80000000;
  wave_check(&instruction, "signs");
}
END_TEST

START_TEST(wrong_operands_are_refused) {
  if (!wave_open(_i)) return;
  struct operation operation = {0};
  const struct binding *row = level->bindings[OPCODE_v_lshlrev_b64];
  struct instruction instruction = plain(OPCODE_v_lshlrev_b64, 2);
  instruction.operands[0].index = 255;
  ck_assert(row->bind(row, &instruction, &operation) != HRX_OK);
  instruction.operands[0].index = 254;
  ck_assert(row->bind(row, &instruction, &operation) == HRX_OK);
  instruction.operands[2].index = 255;
  ck_assert(row->bind(row, &instruction, &operation) != HRX_OK);
  instruction = plain(OPCODE_v_lshlrev_b64, 1);
  ck_assert(row->bind(row, &instruction, &operation) != HRX_OK);
  instruction = plain(OPCODE_v_lshlrev_b64, 2);
  instruction.operands[0] = sgpr(3);
  ck_assert(row->bind(row, &instruction, &operation) != HRX_OK);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vector_integer");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, formulas_hold, 0, LEVELS);
  tcase_add_loop_test(tests, clamp_saturates, 0, LEVELS);
  tcase_add_loop_test(tests, sdwa_selects_parts, 0, LEVELS);
  tcase_add_loop_test(tests, dpp_moves_across_lanes, 0, LEVELS);
  tcase_add_loop_test(tests, op_sel_picks_halves, 0, LEVELS);
  tcase_add_loop_test(tests, moves_take_signs, 0, LEVELS);
  tcase_add_loop_test(tests, wrong_operands_are_refused, 0, LEVELS);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
