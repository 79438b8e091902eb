#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "code/bundle.h"

enum { METHOD_ZLIB = 0, METHOD_ZSTD = 1, FEED_PAGE = 4096 };

#define PLAIN_MAX (UINT64_C(4) << 30)

/* The most that a byte can stand for: deflate's longest match costs two bits (zlib, "Maximum Compression Factor"); a
 * zstd block of one repeated byte is 4 bytes long and gives 128 KiB (RFC 8878, 3.1.1.2). */
enum { RATIO_ZLIB = 1040, RATIO_ZSTD = 32768 };

struct compressed {
  const uint8_t *payload;
  size_t payload_limit; /* bytes that may belong to it */
  bool exact;           /* the header said so; else the stream's own end counts */
  uint64_t plain_size, offset;
  unsigned method;
  uint8_t *plain;
};

static hrx_status bad(uint64_t offset, const char *what, uint64_t value, uint64_t limit) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "compressed bundle at offset %#llx: %s is %llu, expected %llu",
                         (unsigned long long)offset, what, (unsigned long long)value, (unsigned long long)limit);
}

bool bundle_is_compressed(const uint8_t *bytes, size_t size) {
  return size >= COMPRESSED_MAGIC_BYTES && memcmp(bytes, "CCOB", COMPRESSED_MAGIC_BYTES) == 0;
}

static uint64_t little(const uint8_t *bytes, unsigned width) {
  uint64_t value = 0;
  memcpy(&value, bytes, width);
  return value;
}

/* How much of the input to show at once. Without a known end only up to the next page boundary: the byte behind it may
 * not be readable, and decompressors look ahead inside what they are given. */
static size_t feed_size(const struct compressed *in, size_t at) {
  size_t left = in->payload_limit - at;
  if (in->exact) return left;
  size_t page = FEED_PAGE - ((uintptr_t)in->payload + at) % FEED_PAGE;
  return left < page ? left : page;
}

static hrx_status inflate_all(const struct compressed *in, size_t *out_used) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (inflateInit(&stream) != Z_OK) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for zlib");
  size_t at = 0, done = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    size_t input = feed_size(in, at), output = in->plain_size - done;
    if (input > UINT32_MAX / 2) input = UINT32_MAX / 2;
    if (output > UINT32_MAX / 2) output = UINT32_MAX / 2;
    stream.next_in = (Bytef *)(uintptr_t)(in->payload + at);
    stream.avail_in = (uInt)input;
    stream.next_out = in->plain + done;
    stream.avail_out = (uInt)output;
    result = inflate(&stream, Z_NO_FLUSH); /* Z_BUF_ERROR: nothing left to read or no room */
    at += input - stream.avail_in;
    done += output - stream.avail_out;
  }
  inflateEnd(&stream);
  *out_used = at;
  if (result == Z_MEM_ERROR) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for zlib");
  if (result != Z_STREAM_END) return bad(in->offset + at, "the zlib result", (uint64_t)(int64_t)result, Z_STREAM_END);
  if (done != in->plain_size) return bad(in->offset + at, "the decompressed size", done, in->plain_size);
  return HRX_OK;
}

static hrx_status zstd_all(const struct compressed *in, size_t *out_used) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (context == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for zstd");
  ZSTD_outBuffer output = {.dst = in->plain, .size = in->plain_size};
  size_t at = 0, left = 1;
  bool stuck = false;
  while (left != 0 && !ZSTD_isError(left) && !stuck) {
    ZSTD_inBuffer input = {.src = in->payload + at, .size = feed_size(in, at)};
    size_t before = output.pos;
    left = ZSTD_decompressStream(context, &output, &input);
    at += input.pos;
    stuck = input.pos == 0 && output.pos == before;
  }
  ZSTD_freeDCtx(context);
  *out_used = at;
  if (ZSTD_isError(left))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "compressed bundle at offset %#llx: zstd: %s",
                           (unsigned long long)(in->offset + at), ZSTD_getErrorName(left));
  if (left != 0) return bad(in->offset + at, "the zstd stream's missing input", left, 0);
  if (output.pos != in->plain_size) return bad(in->offset + at, "the decompressed size", output.pos, in->plain_size);
  return HRX_OK;
}

/* Version 1: u32 plain size. Version 2: u32 file size first. Version 3: both u64. Then 8 bytes of hash, which nobody
 * checks: the decompressors have checksums of their own, and the hash function has changed between releases. */
static hrx_status header_read(const uint8_t *bytes, size_t limit, uint64_t offset, struct compressed *out) {
  if (limit < 20) return bad(offset, "the size", limit, 20);
  uint64_t version = little(bytes + 4, 2);
  out->method = (unsigned)little(bytes + 6, 2);
  if (version < 1 || version > 3) return bad(offset + 4, "the version", version, 3);
  if (out->method != METHOD_ZLIB && out->method != METHOD_ZSTD)
    return bad(offset + 6, "the method", out->method, METHOD_ZSTD);
  size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (limit < header) return bad(offset, "the size", limit, header);
  uint64_t file_size = limit;
  if (version == 1) {
    out->plain_size = little(bytes + 8, 4);
  } else {
    unsigned width = version == 2 ? 4 : 8;
    file_size = little(bytes + 8, width);
    out->plain_size = little(bytes + 8 + width, width);
    if (file_size < header || file_size > limit) return bad(offset + 8, "the file size", file_size, limit);
  }
  out->exact = version > 1;
  out->payload = bytes + header;
  out->payload_limit = file_size - header;
  out->offset = offset + header;
  uint64_t ratio = out->method == METHOD_ZLIB ? RATIO_ZLIB : RATIO_ZSTD;
  if (out->plain_size > PLAIN_MAX) return bad(offset + 8, "the decompressed size", out->plain_size, PLAIN_MAX);
  if (out->plain_size / ratio > out->payload_limit)
    return bad(offset + 8, "the decompressed size", out->plain_size, ratio * out->payload_limit);
  return HRX_OK;
}

hrx_status bundle_decompress(const uint8_t *bytes, size_t limit, uint64_t offset, void **out_plain,
                             size_t *out_plain_size, size_t *out_size) {
  if (limit > UINTPTR_MAX - (uintptr_t)bytes) limit = UINTPTR_MAX - (uintptr_t)bytes;
  struct compressed in = {.payload = NULL};
  size_t used = 0;
  hrx_status status = header_read(bytes, limit, offset, &in);
  if (status != HRX_OK) return status;
  in.plain = malloc(in.plain_size + 1);
  if (in.plain == NULL)
    return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a compressed bundle of %llu bytes",
                    (unsigned long long)in.plain_size);
  status = in.method == METHOD_ZLIB ? inflate_all(&in, &used) : zstd_all(&in, &used);
  if (status != HRX_OK) {
    free(in.plain);
    return status;
  }
  *out_plain = in.plain;
  *out_plain_size = in.plain_size;
  *out_size = (size_t)(in.payload - bytes) + (in.exact ? in.payload_limit : used);
  return HRX_OK;
}
