/* NPU program "gemm_bf16": C = A x B, row-major without gaps. A and B are bfloat16; sums are kept in float; C is bfloat16
 * (rounded to nearest, ties to even, a NaN stays a NaN), or float in the kernels named ..._f32.
 *
 *   gemm8x8, gemm8x8_f32 (A, B, C; u32 batch): `batch` independent products of 8x8 tiles, each tile 64 elements in a row
 *   gemm,    gemm_f32    (A, B, C; u32 M, K, N): A is MxK, B is KxN, C is MxN
 *
 * Each product and each sum is rounded to float, in ascending k: the result is the same bits on every CPU, whatever the
 * number of columns, which share the tiles or strips of rows. Fails with code 1 if a constant is 0, 2 if a binding is too short. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hrx/npu_program.h>

enum { ZERO_CONSTANT = 1, SHORT_BINDING = 2 };
enum { TILE = 8, TILE_ELEMENTS = TILE * TILE };
/* General form: STRIP rows of C by BAND columns, DEPTH of K at a time; inside, GROUP rows by WIDTH columns stay in registers.
 * About 110 KiB of stack. */
enum { WIDTH = 16, BAND = 4 * WIDTH, GROUP = 8, STRIP = 128, DEPTH = 256 };

typedef float floats8 __attribute__((vector_size(32)));
typedef float floats16 __attribute__((vector_size(64)));
typedef uint16_t halves8 __attribute__((vector_size(16)));
typedef uint16_t halves16 __attribute__((vector_size(32)));
typedef uint32_t words8 __attribute__((vector_size(32)));
typedef uint32_t words16 __attribute__((vector_size(64)));

/* One version a level of the CPU, chosen when the program is loaded. */
#define EACH_LEVEL __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define INLINE static inline __attribute__((always_inline))

INLINE float widen(uint16_t value) {
  uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

INLINE uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40); /* or rounding could make it an infinity */
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE void row_store(void *c, uint64_t at, const float *row, uint32_t count, bool wide) {
  if (wide)
    memcpy((float *)c + at, row, count * sizeof *row);
  else
    for (uint32_t i = 0; i < count; i++) ((uint16_t *)c)[at + i] = narrow(row[i]);
}

INLINE void tile_multiply(void *c, uint64_t at, const uint16_t *a, const uint16_t *b, bool wide) {
  floats8 sums[TILE] = {0};
  for (int k = 0; k < TILE; k++) {
    halves8 raw;
    memcpy(&raw, b + k * TILE, sizeof raw);
    floats8 row = (floats8)(__builtin_convertvector(raw, words8) << 16);
    for (int m = 0; m < TILE; m++) sums[m] += row * widen(a[m * TILE + k]);
  }
  float rows[TILE_ELEMENTS];
  memcpy(rows, sums, sizeof rows);
  row_store(c, at, rows, TILE_ELEMENTS, wide);
}

INLINE void tiles_multiply(void *c, const uint16_t *a, const uint16_t *b, uint64_t first, uint64_t end, bool wide) {
  for (uint64_t at = first * TILE_ELEMENTS; at < end * TILE_ELEMENTS; at += TILE_ELEMENTS)
    tile_multiply(c, at, a + at, b + at, wide);
}

EACH_LEVEL static void tiles_bf16(void *c, const uint16_t *a, const uint16_t *b, uint64_t first, uint64_t end) {
  tiles_multiply(c, a, b, first, end, false);
}
EACH_LEVEL static void tiles_f32(void *c, const uint16_t *a, const uint16_t *b, uint64_t first, uint64_t end) {
  tiles_multiply(c, a, b, first, end, true);
}

struct shape {
  uint32_t m, k, n;
};

/* DEPTH x WIDTH of B as floats; what lies right of the matrix is 0 and its sums are not stored. */
INLINE void panel_pack(float *panel, const uint16_t *b, const struct shape *shape, uint32_t k0, uint32_t depth, uint32_t n0,
                       uint32_t width) {
  for (uint32_t k = 0; k < depth; k++) {
    uint16_t row[WIDTH] = {0};
    memcpy(row, b + (uint64_t)(k0 + k) * shape->n + n0, width * sizeof *row);
    halves16 raw;
    memcpy(&raw, row, sizeof raw);
    words16 bits = __builtin_convertvector(raw, words16) << 16;
    memcpy(panel + k * WIDTH, &bits, sizeof bits);
  }
}

/* GROUP rows of A as floats, a column behind the other. */
INLINE void group_pack(float *group, const uint16_t *a, const struct shape *shape, uint32_t m0, uint32_t rows, uint32_t k0,
                       uint32_t depth) {
  for (uint32_t m = 0; m < GROUP; m++) {
    const uint16_t *row = a + (uint64_t)(m0 + (m < rows ? m : 0)) * shape->k + k0;
    for (uint32_t k = 0; k < depth; k++) group[k * GROUP + m] = widen(row[k]);
  }
}

/* sums[GROUP][WIDTH] += group x panel. */
INLINE void group_multiply(float *sums, const float *group, const float *panel, uint32_t depth) {
  floats16 rows[GROUP];
  memcpy(rows, sums, sizeof rows);
  for (uint32_t k = 0; k < depth; k++) {
    floats16 b;
    memcpy(&b, panel + k * WIDTH, sizeof b);
#pragma GCC unroll 8
    for (uint32_t m = 0; m < GROUP; m++) rows[m] += b * group[k * GROUP + m];
  }
  memcpy(sums, rows, sizeof rows);
}

/* C's block of `rows` by `columns` elements at (m0, n0). Sums are kept panel by panel, so that a group's are in a row. */
INLINE void block_multiply(void *c, const uint16_t *a, const uint16_t *b, const struct shape *shape, uint32_t m0, uint32_t rows,
                           uint32_t n0, uint32_t columns, bool wide) {
  _Alignas(64) float panels[BAND / WIDTH][DEPTH * WIDTH], sums[BAND / WIDTH][STRIP * WIDTH], group[DEPTH * GROUP];
  uint32_t panel_count = (columns + WIDTH - 1) / WIDTH;
  memset(sums, 0, panel_count * sizeof sums[0]);
  for (uint64_t k = 0; k < shape->k; k += DEPTH) {
    uint32_t depth = shape->k - (uint32_t)k < DEPTH ? shape->k - (uint32_t)k : DEPTH;
    for (uint32_t p = 0; p < panel_count; p++) {
      uint32_t width = columns - p * WIDTH < WIDTH ? columns - p * WIDTH : WIDTH;
      panel_pack(panels[p], b, shape, (uint32_t)k, depth, n0 + p * WIDTH, width);
    }
    for (uint32_t m = 0; m < rows; m += GROUP) {
      group_pack(group, a, shape, m0 + m, rows - m < GROUP ? rows - m : GROUP, (uint32_t)k, depth);
      for (uint32_t p = 0; p < panel_count; p++) group_multiply(sums[p] + m * WIDTH, group, panels[p], depth);
    }
  }
  for (uint32_t m = 0; m < rows; m++)
    for (uint32_t p = 0; p < panel_count; p++) {
      uint32_t width = columns - p * WIDTH < WIDTH ? columns - p * WIDTH : WIDTH;
      row_store(c, (uint64_t)(m0 + m) * shape->n + n0 + p * WIDTH, sums[p] + m * WIDTH, width, wide);
    }
}

/* Rows m0 up to `end` of C. */
INLINE void rows_multiply(void *c, const uint16_t *a, const uint16_t *b, const struct shape *shape, uint32_t m0, uint32_t end,
                          bool wide) {
  for (uint64_t m = m0; m < end; m += STRIP)
    for (uint64_t n = 0; n < shape->n; n += BAND) {
      uint32_t rows = end - (uint32_t)m < STRIP ? end - (uint32_t)m : STRIP;
      uint32_t columns = shape->n - (uint32_t)n < BAND ? shape->n - (uint32_t)n : BAND;
      block_multiply(c, a, b, shape, (uint32_t)m, rows, (uint32_t)n, columns, wide);
    }
}

EACH_LEVEL static void rows_bf16(void *c, const uint16_t *a, const uint16_t *b, const struct shape *shape, uint32_t m0,
                                 uint32_t end) {
  rows_multiply(c, a, b, shape, m0, end, false);
}
EACH_LEVEL static void rows_f32(void *c, const uint16_t *a, const uint16_t *b, const struct shape *shape, uint32_t m0,
                                uint32_t end) {
  rows_multiply(c, a, b, shape, m0, end, true);
}

static int lengths_check(const hrx_npu_call *call, uint64_t a, uint64_t b, uint64_t c, bool wide) {
  const uint64_t elements[] = {a, b, c};
  for (unsigned i = 0; i < 3; i++) {
    uint64_t size = i == 2 && wide ? sizeof(float) : sizeof(uint16_t), have = call->bindings[i].bytes / size;
    if (elements[i] <= have) continue;
    snprintf(call->message, call->message_bytes, "%c has room for %llu elements, the constants ask for %llu", "ABC"[i],
             (unsigned long long)have, (unsigned long long)elements[i]);
    return SHORT_BINDING;
  }
  return 0;
}

static int run_tiles(const hrx_npu_call *call, bool wide) {
  uint32_t batch;
  memcpy(&batch, call->constants, sizeof batch);
  if (batch == 0) return ZERO_CONSTANT;
  uint64_t elements = (uint64_t)batch * TILE_ELEMENTS;
  int code = lengths_check(call, elements, elements, elements, wide);
  for (uint64_t column = 0; code == 0 && column < call->columns; column++)
    (wide ? tiles_f32 : tiles_bf16)(call->bindings[2].pointer, call->bindings[0].pointer, call->bindings[1].pointer,
                                    batch * column / call->columns, batch * (column + 1) / call->columns);
  return code;
}

static int run_gemm(const hrx_npu_call *call, bool wide) {
  struct shape shape;
  memcpy(&shape, call->constants, sizeof shape);
  if (shape.m == 0 || shape.k == 0 || shape.n == 0) return ZERO_CONSTANT;
  int code = lengths_check(call, (uint64_t)shape.m * shape.k, (uint64_t)shape.k * shape.n, (uint64_t)shape.m * shape.n, wide);
  uint64_t share = (shape.m / call->columns + STRIP) & ~(uint64_t)(STRIP - 1); /* rows of one column, whole strips */
  for (uint64_t m = 0; code == 0 && m < shape.m; m += share)
    (wide ? rows_f32 : rows_bf16)(call->bindings[2].pointer, call->bindings[0].pointer, call->bindings[1].pointer, &shape,
                                  (uint32_t)m, (uint32_t)(shape.m - m < share ? shape.m : m + share));
  return code;
}

static int run_gemm8x8(const hrx_npu_call *call) { return run_tiles(call, false); }
static int run_gemm8x8_f32(const hrx_npu_call *call) { return run_tiles(call, true); }
static int run_gemm_bf16(const hrx_npu_call *call) { return run_gemm(call, false); }
static int run_gemm_f32(const hrx_npu_call *call) { return run_gemm(call, true); }

#define INPUTS {"A", HRX_NPU_READ, sizeof(uint16_t), 0}, {"B", HRX_NPU_READ, sizeof(uint16_t), 0}
static const hrx_npu_binding narrow_bindings[] = {INPUTS, {"C", HRX_NPU_WRITE, sizeof(uint16_t), 0}};
static const hrx_npu_binding wide_bindings[] = {INPUTS, {"C", HRX_NPU_WRITE, sizeof(float), 0}};
static const hrx_npu_entry kernels[] = {
    {"gemm8x8", run_gemm8x8, narrow_bindings, 3, sizeof(uint32_t)},
    {"gemm8x8_f32", run_gemm8x8_f32, wide_bindings, 3, sizeof(uint32_t)},
    {"gemm", run_gemm_bf16, narrow_bindings, 3, sizeof(struct shape)},
    {"gemm_f32", run_gemm_f32, wide_bindings, 3, sizeof(struct shape)},
};
const struct hrx_npu_table hrx_npu_program = HRX_NPU_PROGRAM(kernels, 4);
