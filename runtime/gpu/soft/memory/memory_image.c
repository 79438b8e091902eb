/* Image operations and typed buffer loads (RDNA2 ISA, "Vector memory image instructions"): linear images without levels of
 * detail, as texture.h describes them.
 *
 * The operands are walked in the instruction itself: an address may be spread over single VGPRs. `extra` is the index of the
 * operand that is the image's resource. */
#include "gpu/soft/memory/resource.h"
#include "gpu/soft/memory/texel.h"

enum action { ACTION_LOAD, ACTION_STORE, ACTION_SAMPLE, ACTION_GATHER, ACTION_SIZE };
/* What stands in the address beside the coordinates. */
enum { BEFORE_BIAS = 0x10, BEFORE_SLOPES = 0x20, AFTER_LEVEL = 0x40 };

/* Everything about one operation that is the same for all lanes. */
struct picture {
  struct soft_texture image;
  struct soft_sampler sampler;
  unsigned texel_bytes, selects, axes; /* axes: spatial coordinates */
  bool layered;
};

LANE_INLINE unsigned dimension_axes(unsigned dimension) { return dimension == 2 ? 3 : dimension == 1 || dimension == 5 ? 2 : 1; }
LANE_INLINE bool dimension_layered(unsigned dimension) { return dimension == 4 || dimension == 5; }

/* The host address of a texel that lies inside the image. */
LANE_INLINE uint64_t texel_address(const struct picture *picture, const int32_t at[3]) {
  const uint64_t row = (uint64_t)(uint32_t)at[2] * picture->image.slice_rows + (uint32_t)at[1];
  return picture->image.address + row * picture->image.row_bytes + (uint64_t)(uint32_t)at[0] * picture->texel_bytes;
}

LANE_INLINE bool texel_load(struct wave *wave, const struct operation *operation, const struct picture *picture,
                            const int32_t at[3], unsigned lane, uint32_t out_texel[4]) {
  const uint64_t address = texel_address(picture, at);
  const uint8_t *memory = (const uint8_t *)(uintptr_t)address;
  uint32_t channels[4] = {0, 0, 0, 0};
  if (!access_ok(wave, address, picture->texel_bytes, false)) {
    operation_fault(wave, operation, FAULT_ADDRESS, address, picture->texel_bytes, false, lane);
    return false;
  }
  for (unsigned c = 0; c < picture->image.channels; c++)
    channels[c] = channel_load(memory + c * picture->image.bits / 8, picture->image.bits, picture->image.kind);
  texel_select(channels, picture->selects, picture->image.kind, out_texel);
  return true;
}

/* The texel that an address mode makes of a coordinate; -1: the border. */
LANE_INLINE int32_t coordinate_inside(int32_t at, int32_t extent, enum soft_address_mode mode) {
  switch ((unsigned)mode) {
  case ADDRESS_WRAP: return (at % extent + extent) % extent;
  case ADDRESS_MIRROR: {
    const int32_t folded = (at % (2 * extent) + 2 * extent) % (2 * extent);
    return folded < extent ? folded : 2 * extent - 1 - folded;
  }
  case 3: /* mirror once */
    if (at < 0) at = -1 - at;
    return at >= extent ? extent - 1 : at;
  case ADDRESS_CLAMP: return at < 0 ? 0 : at >= extent ? extent - 1 : at;
  default: return at < 0 || at >= extent ? -1 : at;
  }
}

LANE_INLINE int32_t picture_extent(const struct picture *picture, unsigned axis) {
  return (int32_t)(axis == 0 ? picture->image.width : axis == 1 ? picture->image.height : picture->image.depth);
}

/* One texel for a sampler, with integers as they are and everything else as floats. */
LANE_INLINE bool texel_sample(struct wave *wave, const struct operation *operation, const struct picture *picture,
                              const int32_t at[3], unsigned lane, uint32_t out_texel[4]) {
  int32_t inside[3] = {0, 0, at[2]};
  for (unsigned axis = 0; axis < picture->axes; axis++) {
    inside[axis] = coordinate_inside(at[axis], picture_extent(picture, axis), picture->sampler.mode[axis]);
    if (inside[axis] >= 0) continue;
    for (unsigned i = 0; i < 4; i++)
      out_texel[i] = picture->sampler.border == 2 || (picture->sampler.border == 1 && i == 3) ? float_bits(1.0f) : 0;
    return true;
  }
  return texel_load(wave, operation, picture, inside, lane, out_texel);
}

/* Far outside is as good as anywhere outside: keeps the integers small. NaN counts as 0. */
LANE_INLINE float coordinate_bounded(float value) { return value == value ? clamped(value, -0x1p20f, 0x1p20f) : 0.0f; }

/* `coordinates` in texels. Weights have 8 bits, as the hardware's do. */
LANE_INLINE bool picture_sample(struct wave *wave, const struct operation *operation, const struct picture *picture,
                                const float coordinates[3], int32_t layer, unsigned lane, uint32_t out_texel[4]) {
  const bool linear = picture->sampler.linear && picture->image.kind != TEXEL_UINT && picture->image.kind != TEXEL_SINT;
  int32_t base[3] = {0, 0, layer};
  float weights[3] = {0, 0, 0}, sum[4] = {0, 0, 0, 0};
  for (unsigned axis = 0; axis < picture->axes; axis++) {
    const float at = coordinates[axis] - (linear ? 0.5f : 0.0f), whole = floorf(at);
    base[axis] = (int32_t)whole;
    weights[axis] = rintf((at - whole) * 256.0f) / 256.0f;
  }
  if (!linear) return texel_sample(wave, operation, picture, base, lane, out_texel);
  for (unsigned corner = 0; corner < 1u << picture->axes; corner++) {
    int32_t at[3] = {base[0], base[1], base[2]};
    float weight = 1.0f;
    uint32_t texel[4];
    for (unsigned axis = 0; axis < picture->axes; axis++) {
      const bool second = (corner >> axis & 1) != 0;
      at[axis] += second ? 1 : 0;
      weight *= second ? weights[axis] : 1.0f - weights[axis];
    }
    if (weight == 0.0f) continue;
    if (!texel_sample(wave, operation, picture, at, lane, texel)) return false;
    for (unsigned i = 0; i < 4; i++) sum[i] += weight * bits_float(texel[i]);
  }
  for (unsigned i = 0; i < 4; i++) out_texel[i] = float_bits(sum[i]);
  return true;
}

/* One component of the four texels that a linear filter would blend, counter-clockwise from the lower left. */
LANE_INLINE bool picture_gather(struct wave *wave, const struct operation *operation, const struct picture *picture,
                                const float coordinates[3], int32_t layer, unsigned component, unsigned lane,
                                uint32_t out_texel[4]) {
  static const uint8_t steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const int32_t x = (int32_t)floorf(coordinates[0] - 0.5f), y = (int32_t)floorf(coordinates[1] - 0.5f);
  for (unsigned i = 0; i < 4; i++) {
    const int32_t at[3] = {x + steps[i][0], y + steps[i][1], layer};
    uint32_t texel[4];
    if (!texel_sample(wave, operation, picture, at, lane, texel)) return false;
    out_texel[i] = texel[component];
  }
  return true;
}

/* The registers of the address in order; returns how many there are. */
static unsigned address_registers(const struct instruction *instruction, unsigned resource, uint16_t out_registers[16]) {
  unsigned count = 0;
  for (unsigned i = 1; i < resource; i++)
    for (unsigned r = 0; r < instruction->operands[i].registers && count < 16; r++)
      out_registers[count++] = (uint16_t)(instruction->operands[i].index + r);
  return count;
}

/* One lane's texel at whole coordinates; outside of the image loads give 0 and stores do nothing. */
LANE_INLINE bool lane_whole(struct wave *wave, const struct operation *operation, const struct picture *picture,
                            const uint16_t *registers, unsigned lane, enum action action, unsigned mask, uint32_t texel[4]) {
  int32_t at[3] = {0, 0, 0};
  bool inside = true;
  const unsigned coordinates = picture->axes + (picture->layered ? 1 : 0);
  for (unsigned i = 0; i < coordinates; i++) {
    const unsigned axis = picture->layered && i == picture->axes ? 2 : i;
    const uint32_t value = wave->v[registers[i]][lane];
    inside = inside && value < (uint32_t)picture_extent(picture, axis);
    at[axis] = (int32_t)value;
  }
  if (action == ACTION_LOAD) {
    for (unsigned i = 0; i < 4; i++) texel[i] = 0;
    return !inside || texel_load(wave, operation, picture, at, lane, texel);
  }
  if (!inside) return true;
  const uint64_t address = texel_address(picture, at);
  if (!access_ok(wave, address, picture->texel_bytes, true)) {
    operation_fault(wave, operation, FAULT_ADDRESS, address, picture->texel_bytes, true, lane);
    return false;
  }
  for (unsigned c = 0; c < picture->image.channels; c++)
    if ((mask >> c & 1) != 0)
      channel_store((uint8_t *)(uintptr_t)address + c * picture->image.bits / 8, picture->image.bits, picture->image.kind, texel[c]);
  return true;
}

LANE_INLINE bool lane_sampled(struct wave *wave, const struct operation *operation, const struct picture *picture,
                              const uint16_t *registers, unsigned lane, enum action action, unsigned mask, uint32_t texel[4]) {
  float coordinates[3] = {0, 0, 0};
  int32_t layer = 0;
  for (unsigned axis = 0; axis < picture->axes; axis++) {
    const float value = bits_float(wave->v[registers[axis]][lane]);
    coordinates[axis] = coordinate_bounded(picture->sampler.normalized ? value * (float)picture_extent(picture, axis) : value);
  }
  if (picture->layered) {
    const float last = (float)(picture->image.depth - 1);
    layer = (int32_t)rintf(clamped(bits_float(wave->v[registers[picture->axes]][lane]), 0.0f, last));
  }
  if (action == ACTION_GATHER)
    return picture_gather(wave, operation, picture, coordinates, layer, (unsigned)__builtin_ctz(mask), lane, texel);
  return picture_sample(wave, operation, picture, coordinates, layer, lane, texel);
}

SOFT_GUEST static const struct operation *image(struct wave *wave, const struct operation *operation, enum action action,
                                                unsigned parameter) {
  const struct instruction *instruction = operation->instruction;
  const unsigned resource = operation->extra, mask = instruction->dmask;
  const uint32_t *words = &wave->s[instruction->operands[resource].index];
  const uint64_t exec = wave_exec(wave);
  struct picture picture = {.axes = dimension_axes(instruction->dimension), .layered = dimension_layered(instruction->dimension)};
  uint16_t registers[16];
  if (exec == 0) return operation + 1;
  const bool known = soft_texture_decode(words, &picture.image);
  if (!known && (words[3] != 0 || action == ACTION_SIZE)) /* an empty resource reads as 0, as in the ISA */
    return operation_fault(wave, operation, FAULT_ADDRESS, (uint64_t)words[1] << 32 | words[0], 32, false, lanes_first(exec));
  picture.texel_bytes = picture.image.channels * picture.image.bits / 8;
  picture.selects = words[3] & 0xfff;
  if (action == ACTION_SAMPLE || action == ACTION_GATHER) {
    soft_sampler_decode(&wave->s[instruction->operands[resource + 1].index], &picture.sampler);
    if (instruction->unorm) picture.sampler.normalized = false;
  }
  address_registers(instruction, resource, registers);
  const uint16_t *coordinates = registers + ((parameter & BEFORE_BIAS) != 0 ? 1 : 0) +
                                ((parameter & BEFORE_SLOPES) != 0 ? 2 * picture.axes : 0);
  const unsigned written = action == ACTION_GATHER ? 15 : mask;
  FOR_LANES(lane, exec) {
    uint32_t texel[4] = {0, 0, 0, 0};
    const unsigned data = instruction->operands[0].index;
    if (action == ACTION_STORE)
      for (unsigned c = 0, r = 0; c < 4; c++) texel[c] = (mask >> c & 1) != 0 ? wave->v[data + r++][lane] : 0;
    if (action == ACTION_SIZE) {
      const uint32_t size[4] = {picture.image.width, picture.axes > 1 ? picture.image.height : picture.image.depth,
                                picture.image.depth, 1};
      for (unsigned c = 0; c < 4; c++) texel[c] = size[c];
    } else if (known && (action == ACTION_SAMPLE || action == ACTION_GATHER)) {
      if (!lane_sampled(wave, operation, &picture, coordinates, lane, action, mask, texel)) return NULL;
    } else if (known) {
      if (!lane_whole(wave, operation, &picture, coordinates, lane, action, mask, texel)) return NULL;
    }
    if (action != ACTION_STORE) /* this lane's address has been read */
      for (unsigned c = 0, r = 0; c < 4; c++)
        if ((written >> c & 1) != 0) wave->v[data + r++][lane] = texel[c];
  }
  return operation + 1;
}

static hrx_status refuse(const struct instruction *instruction) {
  return hrx_fail_reason(HRX_UNSUPPORTED, HRX_REASON_INSTRUCTION, "%s: operands of a form that is not implemented",
                         opcode_name(instruction->opcode));
}

static hrx_status bind(const struct binding *row, const struct instruction *instruction, struct operation *out) {
  const enum action action = (enum action)(row->parameter & 15);
  const bool sampled = action == ACTION_SAMPLE || action == ACTION_GATHER;
  const unsigned axes = dimension_axes(instruction->dimension);
  unsigned resource = 1, needed = action == ACTION_SIZE ? 1 : axes + (dimension_layered(instruction->dimension) ? 1 : 0);
  uint16_t registers[16];
  while (resource < instruction->operand_count && instruction->operands[resource].kind == OPERAND_VGPR) resource++;
  needed += (row->parameter & BEFORE_BIAS) != 0 ? 1 : 0;
  needed += (row->parameter & BEFORE_SLOPES) != 0 ? 2 * axes : 0;
  needed += (row->parameter & AFTER_LEVEL) != 0 ? 1 : 0;
  const unsigned dimension = instruction->dimension, data = action == ACTION_GATHER ? 4 : (unsigned)__builtin_popcount(instruction->dmask & 15);
  if (resource + (sampled ? 1 : 0) >= instruction->operand_count || dimension == 3 || dimension > 5 ||
      instruction->dmask == 0 || instruction->dmask > 15 || instruction->tfe || instruction->lwe || instruction->d16 ||
      instruction->a16 || instruction->r128 || !vgprs_fit(&instruction->operands[0], data) ||
      (action == ACTION_GATHER && axes != 2) || address_registers(instruction, resource, registers) < needed)
    return refuse(instruction);
  for (unsigned i = 0; i < needed; i++)
    if (registers[i] >= 256) return refuse(instruction);
  for (unsigned i = resource; i <= resource + (sampled ? 1u : 0u); i++)
    if (instruction->operands[i].kind != OPERAND_SGPR || instruction->operands[i].index + (i == resource ? 8 : 4) > SREG_FILE)
      return refuse(instruction);
  out->extra = (uint16_t)resource;
  out->handler = row->handler;
  return HRX_OK;
}

/* Typed buffer loads: texels by index. Components that the operation does not ask for are not written. */
LANE_INLINE const struct operation *load_format(struct wave *wave, const struct operation *operation, unsigned components) {
  const struct resource resource = resource_of(wave, operation);
  const uint32_t *words = wave_word(wave, operation->source3), scalar = operation_scalar(wave, operation, 1);
  const uint64_t exec = wave_exec(wave);
  unsigned channels = 0, bits = 0;
  enum soft_texel_kind kind = TEXEL_UINT;
  const bool known = soft_format_decode(words[3] >> 12 & 0x7f, &channels, &bits, &kind);
  uint32_t *registers = wave_word(wave, operation->destination);
  FOR_LANES(lane, exec) {
    const struct part part = lane_part(wave, operation, &resource, lane);
    const uint64_t address = part_address(&resource, &part, scalar);
    uint32_t raw[4] = {0, 0, 0, 0}, texel[4] = {0, 0, 0, 0};
    if (part_inside(&resource, &part, lane, channels * bits / 8)) {
      if (!known || !access_ok(wave, address, channels * bits / 8, false))
        return operation_fault(wave, operation, FAULT_ADDRESS, address, channels * bits / 8, false, lane);
      for (unsigned c = 0; c < channels; c++) raw[c] = channel_load((const uint8_t *)(uintptr_t)address + c * bits / 8, bits, kind);
      texel_select(raw, words[3] & 0xfff, kind, texel);
    }
    for (unsigned c = 0; c < components; c++) registers[c * SOFT_LANES + lane] = texel[c];
  }
  return operation + 1;
}

#define OPERATIONS(X)                                                                                                     \
  X(image_load, ACTION_LOAD, 0) X(image_load_mip, ACTION_LOAD, AFTER_LEVEL) X(image_store, ACTION_STORE, 0)               \
  X(image_store_mip, ACTION_STORE, AFTER_LEVEL) X(image_sample, ACTION_SAMPLE, 0) X(image_sample_lz, ACTION_SAMPLE, 0)     \
  X(image_sample_l, ACTION_SAMPLE, AFTER_LEVEL) X(image_sample_b, ACTION_SAMPLE, BEFORE_BIAS)                             \
  X(image_sample_d, ACTION_SAMPLE, BEFORE_SLOPES) X(image_gather4, ACTION_GATHER, 0) X(image_gather4_lz, ACTION_GATHER, 0) \
  X(image_gather4_l, ACTION_GATHER, AFTER_LEVEL) X(image_get_resinfo, ACTION_SIZE, 0)
#define HANDLER(name, action, parameter)                                                               \
  static const struct operation *name(struct wave *wave, const struct operation *operation) {          \
    return image(wave, operation, action, parameter);                                                  \
  }
OPERATIONS(HANDLER)

#define FORMATS(X) X(x, 1) X(xy, 2) X(xyz, 3) X(xyzw, 4)
#define FORMAT_HANDLER(name, components)                                                                              \
  SOFT_GUEST static const struct operation *load_format_##name(struct wave *wave, const struct operation *operation) { \
    return load_format(wave, operation, components);                                                                  \
  }
FORMATS(FORMAT_HANDLER)

#define ROW(name, action, parameter) {OPCODE_##name, bind, name, NULL, NULL, (uint32_t)(action) | (parameter)},
#define FORMAT_ROW(name, components) {OPCODE_buffer_load_format_##name, resource_bind, load_format_##name, NULL, NULL, components},

static const struct binding rows[] = {OPERATIONS(ROW) FORMATS(FORMAT_ROW)};

const struct binding_table SOFT_NAME(memory_image_table) = {rows, sizeof rows / sizeof *rows};
