/* The loop that fma.hip, fma_scalar.c and fma_pocl.c run, each in its own language: eight chains of fused multiply-add a
 * work-item, independent of each other, so that throughput counts and not latency. A run is short, so that some fall between
 * what else the machine does; the best one counts. */
#ifndef BENCH_FMA_H
#define BENCH_FMA_H

enum { FMA_ITEMS = 2048, FMA_BLOCK = 256, FMA_ROUNDS = 1024, FMA_CHAINS = 8, FMA_RUNS = 80 };

#define FMA_FLOP (2.0 * FMA_ITEMS * FMA_ROUNDS * FMA_CHAINS)
#define FMA_SCALE 0.999f
#define FMA_ADD 0.25f

#endif
