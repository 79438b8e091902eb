/* Offload bundles, plain and compressed: the containers inside a fat binary.
 *
 * Source: Clang documentation, "Offload Bundler"; the compressed header's fields from its versions 1 to 3. Errors are
 * INVALID/IMAGE with the offset. */
#ifndef HRX_CODE_BUNDLE_H
#define HRX_CODE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/fat_binary.h"

enum { BUNDLE_MAGIC_BYTES = 24, COMPRESSED_MAGIC_BYTES = 4 };

bool bundle_is_plain(const uint8_t *bytes, size_t size);
bool bundle_is_compressed(const uint8_t *bytes, size_t size);

/* Appends the entries of the plain bundle at `bytes` to the binary. `offset` is where it lies, for messages.
 * `*out_size` is the bundle's own length, at most `limit`. Entries point into `bytes`. */
hrx_status bundle_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct fat_binary *binary,
                       size_t *out_size);

/* Decompresses the bundle at `bytes` into new memory (freed by the caller). Never reads behind `limit`, nor, where the
 * limit is only a guess, behind the page that holds the last byte. `*out_size` is the compressed bundle's own length.
 */
hrx_status bundle_decompress(const uint8_t *bytes, size_t limit, uint64_t offset, void **out_plain,
                             size_t *out_plain_size, size_t *out_size);

/* Adds one entry. Errors: OUT_OF_MEMORY. */
hrx_status bundle_add(struct fat_binary *binary, const char *target, const void *bytes, size_t size);

#endif
