#include "code/metadata.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/msgpack_check.h"

/* Where in which kernel we are, for messages. */
struct reader {
  uint64_t offset; /* of the note's description in the file */
  const char *kernel;
};

static hrx_status bad(const struct reader *reader, const char *key, const char *why) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "metadata at offset %#llx%s%.200s: %s %s",
                         (unsigned long long)reader->offset, reader->kernel != NULL ? ", kernel " : "",
                         reader->kernel != NULL ? reader->kernel : "", key, why);
}

static const msgpack_object *map_find(const msgpack_object *map, const char *key) {
  size_t length = strlen(key);
  for (uint32_t i = 0; i < map->via.map.size; i++) {
    const msgpack_object *name = &map->via.map.ptr[i].key;
    if (name->type == MSGPACK_OBJECT_STR && name->via.str.size == length && memcmp(name->via.str.ptr, key, length) == 0)
      return &map->via.map.ptr[i].val;
  }
  return NULL;
}

/* An unsigned number up to `limit`. A missing one keeps what *out_value has, unless `required`. */
static hrx_status map_number(const struct reader *reader, const msgpack_object *map, const char *key, bool required,
                             uint64_t limit, uint32_t *out_value) {
  const msgpack_object *value = map_find(map, key);
  if (value == NULL) return required ? bad(reader, key, "is missing") : HRX_OK;
  if (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER) return bad(reader, key, "is not a number from 0");
  if (value->via.u64 > limit) return bad(reader, key, "is too large");
  *out_value = (uint32_t)value->via.u64;
  return HRX_OK;
}

/* A string without zero bytes, allocated. */
static hrx_status map_text(const struct reader *reader, const msgpack_object *map, const char *key, char **out_text) {
  const msgpack_object *value = map_find(map, key);
  if (value == NULL) return bad(reader, key, "is missing");
  if (value->type != MSGPACK_OBJECT_STR || value->via.str.size == 0 ||
      memchr(value->via.str.ptr, '\0', value->via.str.size) != NULL)
    return bad(reader, key, "is not a plain string");
  char *text = strndup(value->via.str.ptr, value->via.str.size);
  if (text == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for a kernel's name");
  *out_text = text;
  return HRX_OK;
}

static bool is_text(const msgpack_object *value, const char *text) {
  size_t length = strlen(text);
  return value->type == MSGPACK_OBJECT_STR && value->via.str.size == length &&
         memcmp(value->via.str.ptr, text, length) == 0;
}

static const struct {
  const char *name;
  enum argument_kind kind;
} kinds[] = {
    {"by_value", ARGUMENT_BY_VALUE},
    {"global_buffer", ARGUMENT_GLOBAL_BUFFER},
    {"dynamic_shared_pointer", ARGUMENT_DYNAMIC_SHARED_POINTER},
    {"sampler", ARGUMENT_SAMPLER},
    {"image", ARGUMENT_IMAGE},
    {"pipe", ARGUMENT_PIPE},
    {"queue", ARGUMENT_QUEUE},
    {"hidden_global_offset_x", ARGUMENT_HIDDEN_GLOBAL_OFFSET_X},
    {"hidden_global_offset_y", ARGUMENT_HIDDEN_GLOBAL_OFFSET_Y},
    {"hidden_global_offset_z", ARGUMENT_HIDDEN_GLOBAL_OFFSET_Z},
    {"hidden_none", ARGUMENT_HIDDEN_NONE},
    {"hidden_printf_buffer", ARGUMENT_HIDDEN_PRINTF_BUFFER},
    {"hidden_hostcall_buffer", ARGUMENT_HIDDEN_HOSTCALL_BUFFER},
    {"hidden_default_queue", ARGUMENT_HIDDEN_DEFAULT_QUEUE},
    {"hidden_completion_action", ARGUMENT_HIDDEN_COMPLETION_ACTION},
    {"hidden_multigrid_sync_arg", ARGUMENT_HIDDEN_MULTIGRID_SYNC},
    {"hidden_block_count_x", ARGUMENT_HIDDEN_BLOCK_COUNT_X},
    {"hidden_block_count_y", ARGUMENT_HIDDEN_BLOCK_COUNT_Y},
    {"hidden_block_count_z", ARGUMENT_HIDDEN_BLOCK_COUNT_Z},
    {"hidden_group_size_x", ARGUMENT_HIDDEN_GROUP_SIZE_X},
    {"hidden_group_size_y", ARGUMENT_HIDDEN_GROUP_SIZE_Y},
    {"hidden_group_size_z", ARGUMENT_HIDDEN_GROUP_SIZE_Z},
    {"hidden_remainder_x", ARGUMENT_HIDDEN_REMAINDER_X},
    {"hidden_remainder_y", ARGUMENT_HIDDEN_REMAINDER_Y},
    {"hidden_remainder_z", ARGUMENT_HIDDEN_REMAINDER_Z},
    {"hidden_grid_dims", ARGUMENT_HIDDEN_GRID_DIMS},
    {"hidden_heap_v1", ARGUMENT_HIDDEN_HEAP},
    {"hidden_dynamic_lds_size", ARGUMENT_HIDDEN_DYNAMIC_LDS_SIZE},
    {"hidden_private_base", ARGUMENT_HIDDEN_PRIVATE_BASE},
    {"hidden_shared_base", ARGUMENT_HIDDEN_SHARED_BASE},
    {"hidden_queue_ptr", ARGUMENT_HIDDEN_QUEUE_POINTER},
};

static hrx_status argument_kind(const struct reader *reader, const msgpack_object *map,
                                struct kernel_argument *argument) {
  const msgpack_object *value = map_find(map, ".value_kind");
  if (value == NULL || value->type != MSGPACK_OBJECT_STR) return bad(reader, ".value_kind", "is missing or no string");
  argument->kind = ARGUMENT_UNKNOWN;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (is_text(value, kinds[i].name)) argument->kind = kinds[i].kind;
  argument->hidden = value->via.str.size >= 7 && memcmp(value->via.str.ptr, "hidden_", 7) == 0;
  return HRX_OK;
}

static enum argument_access argument_access(const msgpack_object *map, const char *key) {
  const msgpack_object *value = map_find(map, key);
  if (value == NULL) return ARGUMENT_ACCESS_UNKNOWN;
  if (is_text(value, "read_only")) return ARGUMENT_ACCESS_READ;
  if (is_text(value, "write_only")) return ARGUMENT_ACCESS_WRITE;
  if (is_text(value, "read_write")) return ARGUMENT_ACCESS_READ_WRITE;
  return ARGUMENT_ACCESS_UNKNOWN;
}

static hrx_status argument_read(const struct reader *reader, const msgpack_object *map, uint32_t kernarg_bytes,
                                struct kernel_argument *argument) {
  if (map->type != MSGPACK_OBJECT_MAP) return bad(reader, ".args", "has an element that is no map");
  hrx_status status = map_number(reader, map, ".offset", true, kernarg_bytes, &argument->offset);
  if (status == HRX_OK) status = map_number(reader, map, ".size", true, kernarg_bytes, &argument->bytes);
  if (status == HRX_OK) status = argument_kind(reader, map, argument);
  if (status != HRX_OK) return status;
  if (argument->bytes > kernarg_bytes - argument->offset)
    return bad(reader, ".args", "has an element behind .kernarg_segment_size");
  argument->access = argument_access(map, ".access");
  argument->actual_access = argument_access(map, ".actual_access");
  const msgpack_object *name = map_find(map, ".name");
  if (name != NULL && name->type == MSGPACK_OBJECT_STR)
    snprintf(argument->name, sizeof argument->name, "%.*s", (int)(name->via.str.size < 63 ? name->via.str.size : 63),
             name->via.str.ptr);
  return HRX_OK;
}

static hrx_status arguments_read(const struct reader *reader, const msgpack_object *map, struct kernel_code *kernel) {
  const msgpack_object *list = map_find(map, ".args");
  if (list == NULL) return HRX_OK;
  if (list->type != MSGPACK_OBJECT_ARRAY) return bad(reader, ".args", "is no array");
  uint32_t count = list->via.array.size, explicit_count = 0;
  kernel->arguments = calloc((size_t)count + 1, sizeof *kernel->arguments);
  if (kernel->arguments == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u kernel arguments", count);
  kernel->argument_count = count;
  for (uint32_t i = 0; i < count; i++) {
    struct kernel_argument *argument = &kernel->arguments[i];
    hrx_status status = argument_read(reader, &list->via.array.ptr[i], kernel->kernarg_bytes, argument);
    if (status != HRX_OK) return status;
    if (argument->hidden) continue;
    if (explicit_count != i) return bad(reader, ".args", "has an explicit element behind a hidden one");
    explicit_count++;
    if (argument->offset + argument->bytes > kernel->explicit_bytes)
      kernel->explicit_bytes = argument->offset + argument->bytes;
  }
  kernel->explicit_count = explicit_count;
  return HRX_OK;
}

static hrx_status required_workgroup(const struct reader *reader, const msgpack_object *map,
                                     struct kernel_code *kernel) {
  const msgpack_object *list = map_find(map, ".reqd_workgroup_size");
  if (list == NULL) return HRX_OK;
  if (list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size != 3)
    return bad(reader, ".reqd_workgroup_size", "is no array of 3 numbers");
  for (int i = 0; i < 3; i++) {
    const msgpack_object *value = &list->via.array.ptr[i];
    if (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER || value->via.u64 > UINT32_MAX)
      return bad(reader, ".reqd_workgroup_size", "is no array of 3 numbers");
    kernel->required_workgroup[i] = (uint32_t)value->via.u64;
  }
  return HRX_OK;
}

static hrx_status kernel_read(struct reader *reader, const msgpack_object *map, struct kernel_code *kernel) {
  if (map->type != MSGPACK_OBJECT_MAP) return bad(reader, "amdhsa.kernels", "has an element that is no map");
  hrx_status status = map_text(reader, map, ".name", &kernel->name);
  if (status == HRX_OK) {
    reader->kernel = kernel->name;
    status = map_text(reader, map, ".symbol", &kernel->symbol);
  }
  const struct {
    const char *key;
    bool required;
    uint32_t *value;
  } numbers[] = {
      {".kernarg_segment_size", true, &kernel->kernarg_bytes},
      {".kernarg_segment_align", true, &kernel->kernarg_alignment},
      {".group_segment_fixed_size", true, &kernel->group_segment_bytes},
      {".private_segment_fixed_size", true, &kernel->private_segment_bytes},
      {".wavefront_size", true, &kernel->wave_lanes},
      {".max_flat_workgroup_size", true, &kernel->max_workgroup},
      {".sgpr_count", true, &kernel->sgpr_count},
      {".vgpr_count", true, &kernel->vgpr_count},
      {".sgpr_spill_count", false, &kernel->sgpr_spills},
      {".vgpr_spill_count", false, &kernel->vgpr_spills},
  };
  for (size_t i = 0; status == HRX_OK && i < sizeof numbers / sizeof *numbers; i++)
    status = map_number(reader, map, numbers[i].key, numbers[i].required, INT32_MAX, numbers[i].value);
  if (status == HRX_OK && (kernel->kernarg_alignment & (kernel->kernarg_alignment - 1)) != 0)
    status = bad(reader, ".kernarg_segment_align", "is no power of two");
  if (status == HRX_OK && kernel->wave_lanes != 32 && kernel->wave_lanes != 64)
    status = bad(reader, ".wavefront_size", "is neither 32 nor 64");
  const msgpack_object *dynamic = map_find(map, ".uses_dynamic_stack");
  kernel->dynamic_stack = dynamic != NULL && dynamic->type == MSGPACK_OBJECT_BOOLEAN && dynamic->via.boolean;
  if (status == HRX_OK) status = required_workgroup(reader, map, kernel);
  if (status == HRX_OK) status = arguments_read(reader, map, kernel);
  reader->kernel = NULL;
  return status;
}

static hrx_status root_read(struct reader *reader, const msgpack_object *root, struct metadata *metadata) {
  if (root->type != MSGPACK_OBJECT_MAP) return bad(reader, "the whole", "is no map");
  const msgpack_object *version = map_find(root, "amdhsa.version");
  if (version == NULL || version->type != MSGPACK_OBJECT_ARRAY || version->via.array.size != 2 ||
      version->via.array.ptr[0].type != MSGPACK_OBJECT_POSITIVE_INTEGER)
    return bad(reader, "amdhsa.version", "is no array of 2 numbers");
  if (version->via.array.ptr[0].via.u64 != 1) return bad(reader, "amdhsa.version", "is not 1.x");
  const msgpack_object *target = map_find(root, "amdhsa.target");
  if (target != NULL) {
    if (target->type != MSGPACK_OBJECT_STR || target->via.str.size >= sizeof metadata->target)
      return bad(reader, "amdhsa.target", "is no short string");
    snprintf(metadata->target, sizeof metadata->target, "%.*s", (int)target->via.str.size, target->via.str.ptr);
  }
  const msgpack_object *list = map_find(root, "amdhsa.kernels");
  if (list == NULL) return HRX_OK; /* a module of variables only */
  if (list->type != MSGPACK_OBJECT_ARRAY) return bad(reader, "amdhsa.kernels", "is no array");
  uint32_t count = list->via.array.size;
  metadata->kernels = calloc((size_t)count + 1, sizeof *metadata->kernels);
  if (metadata->kernels == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %u kernels", count);
  metadata->kernel_count = count;
  hrx_status status = HRX_OK;
  for (uint32_t i = 0; status == HRX_OK && i < count; i++)
    status = kernel_read(reader, &list->via.array.ptr[i], &metadata->kernels[i]);
  return status;
}

hrx_status metadata_read(const void *bytes, size_t size, uint64_t offset, struct metadata *out_metadata) {
  struct reader reader = {.offset = offset};
  struct metadata metadata = {.target = ""};
  size_t end = 0;
  if (!msgpack_check(bytes, size, &end))
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_IMAGE, "metadata at offset %#llx: malformed msgpack at offset %#llx",
                           (unsigned long long)offset, (unsigned long long)(offset + end));
  msgpack_unpacked unpacked;
  msgpack_unpacked_init(&unpacked);
  size_t read = 0;
  hrx_status status = HRX_OK;
  msgpack_unpack_return result = msgpack_unpack_next(&unpacked, bytes, size, &read);
  if (result == MSGPACK_UNPACK_NOMEM_ERROR)
    status = hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of metadata", size);
  else if (result != MSGPACK_UNPACK_SUCCESS && result != MSGPACK_UNPACK_EXTRA_BYTES)
    status = bad(&reader, "the whole", "is no msgpack");
  if (status == HRX_OK) status = root_read(&reader, &unpacked.data, &metadata);
  msgpack_unpacked_destroy(&unpacked);

  if (status != HRX_OK) {
    metadata_release_kernels(metadata.kernels, metadata.kernel_count);
    return status;
  }
  *out_metadata = metadata;
  return HRX_OK;
}

void metadata_release_kernels(struct kernel_code *kernels, uint32_t count) {
  for (uint32_t i = 0; kernels != NULL && i < count; i++) {
    free(kernels[i].name);
    free(kernels[i].symbol);
    free(kernels[i].arguments);
  }
  free(kernels);
}
