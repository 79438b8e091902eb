/* SHA-256 (FIPS 180-4): digests of what is kept on disk. Not for secrets. */
#ifndef HRX_BASE_SHA256_H
#define HRX_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_TEXT = 2 * SHA256_BYTES + 1 };

struct sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);

/* Writes the digest in hexadecimal, terminated. `sha` is used up. */
void sha256_text(struct sha256 *sha, char out_text[SHA256_TEXT]);

#endif
