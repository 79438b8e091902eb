/* A first look over msgpack from outside, before a library allocates what its counts ask for. */
#ifndef HRX_CODE_MSGPACK_CHECK_H
#define HRX_CODE_MSGPACK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `bytes` begin with one complete msgpack object, nested at most 16 deep, none of whose counts exceeds the
 * bytes that are left. `*out_end` is where it ends, or where it goes wrong. Cost: linear; recursion is bounded by the
 * depth. */
bool msgpack_check(const void *bytes, size_t size, size_t *out_end);

#endif
