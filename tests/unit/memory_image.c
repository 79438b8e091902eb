/* Images, samplers and typed buffers on a bare wave. */
#include "gpu/soft/texture.h"
#include "tests/unit/memory_wave.h"

static union {
  uint8_t bytes[4096];
  float floats[1024];
  uint16_t halves[2048];
} memory;

static struct soft_texture image_of(unsigned width, unsigned height, unsigned channels, unsigned bits, enum soft_texel_kind kind) {
  return (struct soft_texture){.address = (uintptr_t)&memory, .type = TEXTURE_2D, .width = width, .height = height, .depth = 1,
                             .row_bytes = width * channels * bits / 8 + 4, .slice_rows = height, .channels = channels, .bits = bits,
                             .kind = kind};
}

static void bind_image(const struct soft_texture *image, const struct soft_sampler *sampler) {
  uint32_t words[SOFT_TEXTURE_WORDS];
  ck_assert(soft_texture_object_encode(image, sampler, words));
  memcpy(&wave->s[0], words, 32);
  memcpy(&wave->s[8], words + SOFT_TEXTURE_SAMPLER_WORD, 16);
  wave_allow(0, &memory, sizeof memory, true);
}

static struct instruction sample_of(enum opcode opcode, unsigned mask) {
  return (struct instruction){.opcode = opcode, .operand_count = 4, .dmask = (uint8_t)mask, .dimension = 1,
                              .operands = {vgpr(8, 4), vgpr(2, 2), sgpr(0, 8), sgpr(8, 4)}};
}

static float lane_float(unsigned index, unsigned lane) {
  float value;
  memcpy(&value, &wave->v[index][lane], 4);
  return value;
}
static void lane_set(unsigned index, unsigned lane, float value) { memcpy(&wave->v[index][lane], &value, 4); }

START_TEST(what_is_encoded_is_decoded) {
  struct soft_texture image = image_of(1000, 7, 2, 16, TEXEL_SNORM), back;
  struct soft_sampler sampler = {.mode = {ADDRESS_WRAP, ADDRESS_BORDER, ADDRESS_MIRROR}, .linear = true, .border = 2}, again;
  uint32_t words[8];
  level = _i;
  image.address = UINT64_C(0x7f1234567893);
  image.type = TEXTURE_3D;
  image.depth = 77;
  ck_assert(soft_texture_encode(&image, words));
  ck_assert(soft_texture_decode(words, &back));
  ck_assert_uint_eq(back.address, image.address);
  ck_assert_uint_eq(back.width, 1000);
  ck_assert_uint_eq(back.height, 7);
  ck_assert_uint_eq(back.depth, 77);
  ck_assert_uint_eq(back.row_bytes, image.row_bytes);
  ck_assert_uint_eq(back.channels, 2);
  ck_assert_uint_eq(back.bits, 16);
  ck_assert_int_eq(back.kind, TEXEL_SNORM);
  soft_sampler_encode(&sampler, words);
  soft_sampler_decode(words, &again);
  ck_assert_int_eq(again.mode[1], ADDRESS_BORDER);
  ck_assert(again.linear && !again.normalized && again.border == 2);
  image.width = SOFT_TEXTURE_EXTENT + 1;
  ck_assert(!soft_texture_encode(&image, words));
  image.width = 8;
  image.bits = 32; /* no 32-bit snorm */
  ck_assert(!soft_texture_encode(&image, words));
}
END_TEST

START_TEST(point_and_linear_filters) {
  struct soft_texture image = image_of(8, 4, 1, 32, TEXEL_FLOAT);
  struct soft_sampler sampler = {.mode = {ADDRESS_CLAMP, ADDRESS_CLAMP, ADDRESS_CLAMP}};
  level = _i;
  for (unsigned y = 0; y < 4; y++)
    for (unsigned x = 0; x < 8; x++) memory.floats[y * 9 + x] = (float)(10 * y + x);
  bind_image(&image, &sampler);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    lane_set(2, lane, (float)(lane % 8) + 0.25f);
    lane_set(3, lane, (float)(lane / 8) + 0.75f);
  }
  lane_set(2, 31, 100.0f);
  lane_set(3, 31, -5.0f);
  struct instruction sample = sample_of(OPCODE_image_sample_lz, 0xf);
  ck_assert(wave_step(&sample));
  for (unsigned lane = 0; lane < 31; lane++) ck_assert(lane_float(8, lane) == (float)(10 * (lane / 8) + lane % 8));
  ck_assert(lane_float(8, 31) == 7.0f);
  ck_assert(lane_float(9, 0) == 0.0f);
  ck_assert(lane_float(11, 0) == 1.0f);
  sampler.linear = true;
  sampler.normalized = true;
  bind_image(&image, &sampler);
  lane_set(2, 0, 2.75f / 8);
  lane_set(3, 0, 1.5f / 4);
  lane_set(2, 1, 0.0f); /* half outside: clamped */
  lane_set(3, 1, 0.5f / 4);
  ck_assert(wave_step(&sample));
  ck_assert(lane_float(8, 0) == 12.25f);
  ck_assert(lane_float(8, 1) == 0.0f);
}
END_TEST

START_TEST(address_modes) {
  static const struct { enum soft_address_mode mode; float at, texel; } kinds[] = {
      {ADDRESS_WRAP, 1.0f + 1.5f / 8, 1}, {ADDRESS_WRAP, -0.5f / 8, 7}, {ADDRESS_MIRROR, 1.0f + 1.5f / 8, 6},
      {ADDRESS_MIRROR, -1.5f / 8, 1}, {ADDRESS_CLAMP, 5.0f, 7}, {ADDRESS_CLAMP, -5.0f, 0}, {ADDRESS_BORDER, -0.5f / 8, 1},
      {ADDRESS_BORDER, 7.5f / 8, 7}};
  struct soft_texture image = image_of(8, 1, 1, 32, TEXEL_FLOAT);
  level = _i;
  for (unsigned x = 0; x < 8; x++) memory.floats[x] = (float)x;
  for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const struct soft_sampler sampler = {.mode = {kinds[k].mode, ADDRESS_CLAMP, ADDRESS_CLAMP}, .normalized = true, .border = 2};
    bind_image(&image, &sampler);
    wave->s[SREG_EXEC_LO] = 1;
    lane_set(2, 0, kinds[k].at);
    lane_set(3, 0, 0.5f);
    struct instruction sample = sample_of(OPCODE_image_sample, 1);
    ck_assert(wave_step(&sample));
    ck_assert(lane_float(8, 0) == kinds[k].texel);
    ck_assert_uint_eq(wave->v[9][0], 0xa0000000u + 9 * 256);
  }
}
END_TEST

START_TEST(formats_convert_both_ways) {
  struct soft_texture image = image_of(16, 1, 4, 8, TEXEL_UNORM);
  level = _i;
  bind_image(&image, NULL);
  wave->s[SREG_EXEC_LO] = 1;
  wave->v[2][0] = 3;
  wave->v[3][0] = 0;
  lane_set(8, 0, 1.0f);
  lane_set(9, 0, 0.5f);
  lane_set(10, 0, -3.0f);
  lane_set(11, 0, 2.0f);
  struct instruction store = sample_of(OPCODE_image_store, 0xf), load = sample_of(OPCODE_image_load, 0xf);
  store.operand_count = load.operand_count = 3;
  ck_assert(wave_step(&store));
  ck_assert_uint_eq(memory.bytes[12], 255);
  ck_assert_uint_eq(memory.bytes[13], 128);
  ck_assert_uint_eq(memory.bytes[14], 0);
  ck_assert_uint_eq(memory.bytes[15], 255);
  ck_assert(wave_step(&load));
  ck_assert(lane_float(9, 0) == 128.0f / 255.0f);
  image = image_of(16, 1, 2, 16, TEXEL_SINT);
  bind_image(&image, NULL);
  wave->v[8][0] = (uint32_t)-70000;
  wave->v[9][0] = 1234;
  ck_assert(wave_step(&store));
  ck_assert(wave_step(&load));
  ck_assert_int_eq((int32_t)wave->v[8][0], -32768);
  ck_assert_uint_eq(wave->v[9][0], 1234);
  ck_assert_uint_eq(wave->v[10][0], 0);
  ck_assert_uint_eq(wave->v[11][0], 1);
  image = image_of(16, 1, 1, 16, TEXEL_FLOAT);
  bind_image(&image, NULL);
  static const struct { float value; uint16_t half; } halves[] = {
      {1.0f, 0x3c00}, {-2.5f, 0xc100}, {65504.0f, 0x7bff}, {65520.0f, 0x7c00}, {0x1p-24f, 1}, {1.0f + 0x1p-11f, 0x3c00}, {1.0f + 0x1.8p-10f, 0x3c02}, {0x1p-14f, 0x0400}};
  for (unsigned i = 0; i < sizeof halves / sizeof *halves; i++) {
    lane_set(8, 0, halves[i].value);
    store.dmask = 1;
    ck_assert(wave_step(&store));
    ck_assert_uint_eq(memory.halves[3], halves[i].half);
  }
  memory.halves[3] = 0x0001;
  ck_assert(wave_step(&load));
  ck_assert(lane_float(8, 0) == 0x1p-24f);
}
END_TEST

START_TEST(outside_of_the_image_loads_zero_and_stores_nothing) {
  struct soft_texture image = image_of(4, 2, 1, 32, TEXEL_UINT);
  static union { uint8_t bytes[4096]; } before;
  level = _i;
  memset(&memory, 0x5a, sizeof memory);
  memcpy(&before, &memory, sizeof memory);
  bind_image(&image, NULL);
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) {
    wave->v[2][lane] = lane - 3;
    wave->v[3][lane] = 2 - lane % 2;
  }
  wave->s[SREG_EXEC_LO] = 0xffffff87; /* not those that are inside */
  struct instruction store = sample_of(OPCODE_image_store, 1), load = sample_of(OPCODE_image_load, 1);
  store.operand_count = load.operand_count = 3;
  ck_assert(wave_step(&store));
  ck_assert_int_eq(memcmp(&memory, &before, sizeof memory), 0);
  ck_assert(wave_step(&load));
  ck_assert_uint_eq(wave->v[8][0], 0);
  wave->spans[0].high = (uintptr_t)&memory + 4; /* a freed image faults */
  wave->s[SREG_EXEC_LO] = 1;
  wave->v[2][0] = wave->v[3][0] = 1;
  ck_assert(!wave_step(&load));
}
END_TEST

START_TEST(texels_of_a_buffer) {
  level = _i;
  memset(&memory, 0, sizeof memory);
  for (unsigned i = 0; i < 64; i++) memory.halves[i] = (uint16_t)(0x3c00 + i);
  wave_allow(0, &memory, sizeof memory, true);
  ck_assert(soft_texel_buffer_encode((uintptr_t)&memory, 30, 2, 16, TEXEL_UINT, &wave->s[0]));
  for (unsigned lane = 0; lane < SOFT_LANES; lane++) wave->v[2][lane] = lane;
  struct instruction load = {.opcode = OPCODE_buffer_load_format_xyzw, .operand_count = 4, .idxen = true,
                             .operands = {vgpr(8, 4), vgpr(2, 1), sgpr(0, 4), number(0)}};
  ck_assert(wave_step(&load));
  ck_assert_uint_eq(wave->v[8][29], 0x3c00 + 58);
  ck_assert_uint_eq(wave->v[9][29], 0x3c00 + 59);
  ck_assert_uint_eq(wave->v[11][29], 1);
  ck_assert_uint_eq(wave->v[8][30], 0);
  ck_assert_uint_eq(wave->v[11][30], 0);
}
END_TEST

START_TEST(gather_takes_four_neighbours) {
  struct soft_texture image = image_of(8, 4, 1, 32, TEXEL_FLOAT);
  struct soft_sampler sampler = {.mode = {ADDRESS_CLAMP, ADDRESS_CLAMP, ADDRESS_CLAMP}, .normalized = false};
  level = _i;
  for (unsigned y = 0; y < 4; y++)
    for (unsigned x = 0; x < 8; x++) memory.floats[y * 9 + x] = (float)(10 * y + x);
  bind_image(&image, &sampler);
  wave->s[SREG_EXEC_LO] = 1;
  lane_set(2, 0, 3.0f);
  lane_set(3, 0, 2.0f);
  struct instruction gather = sample_of(OPCODE_image_gather4_lz, 1);
  ck_assert(wave_step(&gather));
  ck_assert(lane_float(8, 0) == 22 && lane_float(9, 0) == 23 && lane_float(10, 0) == 13 && lane_float(11, 0) == 12);
}
END_TEST

RUN_FAMILY(memory_image, what_is_encoded_is_decoded, point_and_linear_filters, address_modes, formats_convert_both_ways,
           outside_of_the_image_loads_zero_and_stores_nothing, texels_of_a_buffer, gather_takes_four_neighbours)
