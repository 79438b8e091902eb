#include "code/msgpack_check.h"

#include <stdint.h>

enum { DEPTH_MAX = 16 };

struct walk {
  const uint8_t *bytes;
  size_t size, at;
};

static bool take(struct walk *walk, size_t count) {
  if (count > walk->size - walk->at) return false;
  walk->at += count;
  return true;
}

/* A big-endian number of `width` bytes. */
static bool number(struct walk *walk, unsigned width, size_t *out_value) {
  size_t value = 0;
  if (width > walk->size - walk->at) return false;
  for (unsigned i = 0; i < width; i++) value = value << 8 | walk->bytes[walk->at++];
  *out_value = value;
  return true;
}

static bool object(struct walk *walk, unsigned depth);

static bool objects(struct walk *walk, size_t count, unsigned depth) {
  if (depth == DEPTH_MAX || count > walk->size - walk->at) return false; /* each takes a byte at least */
  for (size_t i = 0; i < count; i++)
    if (!object(walk, depth + 1)) return false;
  return true;
}

/* msgpack specification, "Formats" */
static bool object(struct walk *walk, unsigned depth) {
  size_t value = 0;
  if (!number(walk, 1, &value)) return false;
  uint8_t tag = (uint8_t)value;
  if (tag <= 0x7f || tag >= 0xe0) return true;                           /* fixint */
  if (tag <= 0x8f) return objects(walk, (size_t)(tag & 0xf) * 2, depth); /* fixmap */
  if (tag <= 0x9f) return objects(walk, tag & 0xf, depth);               /* fixarray */
  if (tag <= 0xbf) return take(walk, tag & 0x1f);                        /* fixstr */
  switch (tag) {
  case 0xc0:
  case 0xc2:
  case 0xc3: return true; /* nil, false, true */
  case 0xc4:
  case 0xc5:
  case 0xc6: return number(walk, 1u << (tag - 0xc4), &value) && take(walk, value); /* bin */
  case 0xc7:
  case 0xc8:
  case 0xc9: return number(walk, 1u << (tag - 0xc7), &value) && take(walk, value + 1); /* ext */
  case 0xca:
  case 0xcb: return take(walk, tag == 0xca ? 4 : 8); /* float */
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf: return take(walk, (size_t)1 << (tag - 0xcc)); /* uint */
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3: return take(walk, (size_t)1 << (tag - 0xd0)); /* int */
  case 0xd4:
  case 0xd5:
  case 0xd6:
  case 0xd7:
  case 0xd8: return take(walk, ((size_t)1 << (tag - 0xd4)) + 1); /* fixext */
  case 0xd9:
  case 0xda:
  case 0xdb: return number(walk, 1u << (tag - 0xd9), &value) && take(walk, value); /* str */
  case 0xdc:
  case 0xdd: return number(walk, tag == 0xdc ? 2 : 4, &value) && objects(walk, value, depth); /* array */
  case 0xde:
  case 0xdf: return number(walk, tag == 0xde ? 2 : 4, &value) && objects(walk, value * 2, depth); /* map */
  default: return false;                                                                          /* 0xc1: never used */
  }
}

bool msgpack_check(const void *bytes, size_t size, size_t *out_end) {
  struct walk walk = {.bytes = bytes, .size = size};
  bool good = object(&walk, 0);
  *out_end = walk.at;
  return good;
}
