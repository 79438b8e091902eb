/* The loops of fills and copies: up to three dimensions, on host memory. Any thread, no lock. */
#ifndef HRX_ENGINE_COPY_H
#define HRX_ENGINE_COPY_H

#include <stdint.h>

#include "engine/engine.h"

void task_fill_run(const struct task_fill *fill);
void task_copy_run(const struct task_copy *copy);

/* Bytes that they move, and about how much work that is (in bytes, short rows weighed). */
uint64_t task_fill_bytes(const struct task_fill *fill);
uint64_t task_copy_bytes(const struct task_copy *copy);
uint64_t task_fill_work(const struct task_fill *fill);
uint64_t task_copy_work(const struct task_copy *copy);

/* Errors: INVALID/ARGUMENT for a size that wraps, a pattern that does not divide the rows, a missing pointer. */
hrx_status task_fill_check(const struct task_fill *fill);
hrx_status task_copy_check(const struct task_copy *copy);

#endif
