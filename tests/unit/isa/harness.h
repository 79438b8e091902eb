/* Runs short pieces of gfx1030 code on a bare wave and compares all that they may have changed: registers, SCC, memory,
 * LDS.
 *
 * A case is a text (its words are in words.inc, made by ./assemble), a pool that inputs come from, and C that says,
 * lane by lane, what is different afterwards. Inputs of a case: v0 a, v1 b, v2 c (ia: signed, fa: float, ha: half);
 * v[4:5] A, v[6:7] B, v[8:9] C (IA: signed, DA: double); v3 the lane v10..v13 where results go, random before (old:
 * v10, OLD: v[10:11]); v[14:15] address of 64 bytes of the lane's own in memory, v16 64 * lane; others random s0 sa, s1
 * sb, s2 sc; s[4:5] SA, s[6:7] SB; s[8:9] address of memory; s10..s13 where results go; s20 a mask; s28 a lane; s[64:71] a 2D
 * image of 16 x 128 floats over memory, s[72:75] a sampler for it: nearest texel, clamped, coordinates in texels; vcc_lo,
 * EXEC, SCC and M0 differ from round to round (EXEC is sometimes 0) */
#ifndef TESTS_UNIT_ISA_HARNESS_H
#define TESTS_UNIT_ISA_HARNESS_H

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gpu/soft/program.h"

enum { LANES = 32, VECTORS = 40, MEMORY = 8192, LDS = 4096, SCRATCH = 64, ROUNDS = 48 };

enum pool { INTS, FLOATS, DOUBLES, HALVES };
enum same { BITS, AS_F32, AS_F64, AS_F16, AS_2F16 }; /* how v10 is compared: NaNs are equal if they are quiet */

struct state {
  uint32_t v[VECTORS][LANES];
  uint32_t s[SREG_FILE];
  uint32_t scc;
  uint8_t memory[MEMORY], lds[LDS], scratch[SCRATCH * LANES];
};

struct run {
  const char *text;
  enum pool pool;
  enum same same;
  unsigned ulps, round;
  uint32_t any; /* lanes whose v10 is not compared */
  bool failed;
  enum fault_kind fault; /* how the code ends if not by s_endpgm */
  uint32_t mode;
  struct decoded *decoded;
  struct soft_program *programs[3];
  struct state start, want;
};

extern unsigned case_failures; /* of this process */

/* Decodes and binds `text` at every level that this CPU runs. */
void run_begin(struct run *run, const char *text, enum pool pool);

/* Fills start and want with the next round's inputs; false, and everything is released, after the last one. */
bool run_round(struct run *run);

/* Executes start at every level and compares with want. Counts and prints a failure once a case. */
void run_compare(struct run *run);

/* Words of a text out of words.inc; NULL if it is not there. */
const uint32_t *case_words(const char *text, unsigned *out_count);

/* Every text of words.inc, in order; NULL behind the last. */
const char *case_text(unsigned index);

static inline float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
static inline uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
static inline double as_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  return value;
}
static inline uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}
static inline _Float16 as_half(uint32_t bits) {
  uint16_t narrow = (uint16_t)bits;
  _Float16 value;
  memcpy(&value, &narrow, 2);
  return value;
}
static inline uint32_t half_bits(_Float16 value) {
  uint16_t bits;
  memcpy(&bits, &value, 2);
  return bits;
}
static inline uint64_t pair(const uint32_t *low) { return (uint64_t)low[1] << 32 | low[0]; }
static inline void set_pair(uint32_t *low, uint64_t value) {
  low[0] = (uint32_t)value, low[1] = (uint32_t)(value >> 32);
}

#define UNUSED __attribute__((unused))

#define SCALARS                                                                                                        \
  UNUSED const uint32_t sa = in->s[0], sb = in->s[1], sc = in->s[2], scc = in->scc, vcc = in->s[SREG_VCC_LO];          \
  UNUSED const uint32_t exec = in->s[SREG_EXEC_LO], mask = in->s[20], m0 = in->s[SREG_M0];                             \
  UNUSED const int32_t isa = (int32_t)sa, isb = (int32_t)sb;                                                           \
  UNUSED const uint64_t SA = pair(&in->s[4]), SB = pair(&in->s[6]);

#define LANE_VALUES                                                                                                    \
  UNUSED const uint32_t a = in->v[0][lane], b = in->v[1][lane], c = in->v[2][lane], old = in->v[10][lane];             \
  UNUSED const int32_t ia = (int32_t)a, ib = (int32_t)b, ic = (int32_t)c;                                              \
  UNUSED const float fa = as_float(a), fb = as_float(b), fc = as_float(c);                                             \
  UNUSED const _Float16 ha = as_half(a), hb = as_half(b), hc = as_half(c);                                             \
  UNUSED const uint64_t A = (uint64_t)in->v[5][lane] << 32 | in->v[4][lane];                                           \
  UNUSED const uint64_t B = (uint64_t)in->v[7][lane] << 32 | in->v[6][lane];                                           \
  UNUSED const uint64_t C = (uint64_t)in->v[9][lane] << 32 | in->v[8][lane];                                           \
  UNUSED const uint64_t OLD = (uint64_t)in->v[11][lane] << 32 | old;                                                   \
  UNUSED const int64_t IA = (int64_t)A, IB = (int64_t)B, IC = (int64_t)C;                                              \
  UNUSED const double DA = as_double(A), DB = as_double(B), DC = as_double(C);                                         \
  UNUSED const bool active = exec >> lane & 1, carry = vcc >> lane & 1, chosen = mask >> lane & 1;

/* The body runs once a lane; `want` starts as a copy of `in`. */
#define LANES_CASE(TEXT, POOL, SAME, ULPS, ...)                                                                        \
  do {                                                                                                                 \
    struct run *run = &the_run;                                                                                        \
    run_begin(run, TEXT, POOL);                                                                                        \
    run->same = SAME, run->ulps = ULPS;                                                                                \
    while (run_round(run)) {                                                                                           \
      const struct state *in = &run->start;                                                                            \
      UNUSED struct state *want = &run->want;                                                                          \
      SCALARS(void) want;                                                                                              \
      for (unsigned lane = 0; lane < LANES; lane++) {                                                                  \
        LANE_VALUES                                                                                                    \
        __VA_ARGS__                                                                                                    \
      }                                                                                                                \
      run_compare(run);                                                                                                \
    }                                                                                                                  \
  } while (0)

/* The body runs once a round. */
#define SCALAR(TEXT, ...)                                                                                              \
  do {                                                                                                                 \
    struct run *run = &the_run;                                                                                        \
    run_begin(run, TEXT, INTS);                                                                                        \
    while (run_round(run)) {                                                                                           \
      const struct state *in = &run->start;                                                                            \
      UNUSED struct state *want = &run->want;                                                                          \
      SCALARS __VA_ARGS__ run_compare(run);                                                                            \
    }                                                                                                                  \
  } while (0)

#define D10(value) want->s[10] = (uint32_t)(value)
#define D64(value) set_pair(&want->s[10], value)
#define SCC(value) want->scc = (value) ? 1 : 0

#define PUT(value)                                                                                                     \
  if (active) want->v[10][lane] = (uint32_t)(value);
#define PUT64(value)                                                                                                   \
  if (active) want->v[10][lane] = (uint32_t)(value), want->v[11][lane] = (uint32_t)((uint64_t)(value) >> 32);
#define PUTMASK(register, value)                                                                                       \
  want->s[register] = (want->s[register] & ~(1u << lane)) | (uint32_t)(active && (value)) << lane;
#define LOW16(value) ((old & 0xffff0000) | ((uint32_t)(value)&0xffff)) /* 16-bit results leave the high half alone */

#define I32(TEXT, value) LANES_CASE(TEXT, INTS, BITS, 0, PUT(value))
#define I64(TEXT, value) LANES_CASE(TEXT, INTS, BITS, 0, PUT64(value))
#define I16(TEXT, value) LANES_CASE(TEXT, INTS, BITS, 0, PUT(LOW16(value)))
#define F32(TEXT, value) LANES_CASE(TEXT, FLOATS, AS_F32, 0, PUT(float_bits(value)))
#define F64(TEXT, value) LANES_CASE(TEXT, DOUBLES, AS_F64, 0, PUT64(double_bits(value)))
#define F16(TEXT, value) LANES_CASE(TEXT, HALVES, AS_F16, 0, PUT(LOW16(half_bits(value))))
#define FROM_F32(TEXT, value) LANES_CASE(TEXT, FLOATS, BITS, 0, PUT(value))
#define FROM_F64(TEXT, value) LANES_CASE(TEXT, DOUBLES, BITS, 0, PUT(value))
/* About right: the hardware's result is only known to some ulps, and what it does with denormals is not. */
#define NEAR_F32(TEXT, ULPS, value)                                                                                    \
  LANES_CASE(TEXT, FLOATS, AS_F32, ULPS, float result_ = (float)(value);                                               \
             if (fpclassify(fa) == FP_SUBNORMAL || fpclassify(result_) == FP_SUBNORMAL) run->any |= 1u << lane;        \
             PUT(float_bits(result_)))
#define MASK(TEXT, POOL, REGISTER, value) LANES_CASE(TEXT, POOL, BITS, 0, PUTMASK(REGISTER, value))
#define CMPX(TEXT, POOL, value) MASK(TEXT, POOL, SREG_EXEC_LO, value)

#endif
