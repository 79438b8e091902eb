/* The loops of fills and copies: up to three dimensions, on host memory. Any thread, no lock. */
#ifndef HRX_ENGINE_COPY_H
#define HRX_ENGINE_COPY_H

#include <stdint.h>

#include "engine/engine.h"

void fill_run(const struct task_fill *fill);
void copy_run(const struct task_copy *copy);

/* Bytes that they move, and about how much work that is (in bytes, short rows weighed). */
uint64_t fill_bytes(const struct task_fill *fill);
uint64_t copy_bytes(const struct task_copy *copy);
uint64_t fill_work(const struct task_fill *fill);
uint64_t copy_work(const struct task_copy *copy);

/* Errors: INVALID/ARGUMENT for a size that wraps, a pattern that does not divide the rows, a missing pointer. */
hrx_status fill_check(const struct task_fill *fill);
hrx_status copy_check(const struct task_copy *copy);

#endif
