/* fma.h as plain C: what the interpreter is measured against. The Makefile turns vectorisation off, and FMA instructions on. */
#include <math.h>
#include <stdlib.h>

#include "fma.h"
#include "timing.h"

static void fma_chains(float *out, float scale, float add, int rounds) {
  for (int item = 0; item < FMA_ITEMS; item++) {
    float x[FMA_CHAINS];
    for (int c = 0; c < FMA_CHAINS; c++) x[c] = (float)(item + c);
    for (int round = 0; round < rounds; round++)
      for (int c = 0; c < FMA_CHAINS; c++) x[c] = fmaf(x[c], scale, add);
    float sum = 0;
    for (int c = 0; c < FMA_CHAINS; c++) sum += x[c];
    out[item] = sum;
  }
}

int main(void) {
  float *out = malloc(FMA_ITEMS * sizeof *out);
  double best = 0;
  if (out == NULL) return 1;
  for (int run = 0; run < FMA_RUNS; run++) {
    volatile int rounds = FMA_ROUNDS; /* as unknown to the compiler as a kernel's argument */
    volatile float scale = FMA_SCALE, add = FMA_ADD;
    double began = now_ns();
    fma_chains(out, scale, add, rounds);
    double rate = FMA_FLOP / (now_ns() - began);
    if (rate > best) best = rate;
  }
  volatile float seen = out[FMA_ITEMS - 1];
  (void)seen;
  free(out);
  figure("fma_scalar_c", best);
  return 0;
}
