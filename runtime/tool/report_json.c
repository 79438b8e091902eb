#include <jansson.h>

#include "tool/inspection.h"

const char *report_argument_kind(enum argument_kind kind) {
  static const char *const names[] = {[ARGUMENT_BY_VALUE] = "by_value",
                                      [ARGUMENT_GLOBAL_BUFFER] = "global_buffer",
                                      [ARGUMENT_DYNAMIC_SHARED_POINTER] = "dynamic_shared_pointer",
                                      [ARGUMENT_SAMPLER] = "sampler",
                                      [ARGUMENT_IMAGE] = "image",
                                      [ARGUMENT_PIPE] = "pipe",
                                      [ARGUMENT_QUEUE] = "queue",
                                      [ARGUMENT_HIDDEN_GLOBAL_OFFSET_X] = "hidden_global_offset_x",
                                      [ARGUMENT_HIDDEN_GLOBAL_OFFSET_Y] = "hidden_global_offset_y",
                                      [ARGUMENT_HIDDEN_GLOBAL_OFFSET_Z] = "hidden_global_offset_z",
                                      [ARGUMENT_HIDDEN_NONE] = "hidden_none",
                                      [ARGUMENT_HIDDEN_PRINTF_BUFFER] = "hidden_printf_buffer",
                                      [ARGUMENT_HIDDEN_HOSTCALL_BUFFER] = "hidden_hostcall_buffer",
                                      [ARGUMENT_HIDDEN_DEFAULT_QUEUE] = "hidden_default_queue",
                                      [ARGUMENT_HIDDEN_COMPLETION_ACTION] = "hidden_completion_action",
                                      [ARGUMENT_HIDDEN_MULTIGRID_SYNC] = "hidden_multigrid_sync_arg",
                                      [ARGUMENT_HIDDEN_BLOCK_COUNT_X] = "hidden_block_count_x",
                                      [ARGUMENT_HIDDEN_BLOCK_COUNT_Y] = "hidden_block_count_y",
                                      [ARGUMENT_HIDDEN_BLOCK_COUNT_Z] = "hidden_block_count_z",
                                      [ARGUMENT_HIDDEN_GROUP_SIZE_X] = "hidden_group_size_x",
                                      [ARGUMENT_HIDDEN_GROUP_SIZE_Y] = "hidden_group_size_y",
                                      [ARGUMENT_HIDDEN_GROUP_SIZE_Z] = "hidden_group_size_z",
                                      [ARGUMENT_HIDDEN_REMAINDER_X] = "hidden_remainder_x",
                                      [ARGUMENT_HIDDEN_REMAINDER_Y] = "hidden_remainder_y",
                                      [ARGUMENT_HIDDEN_REMAINDER_Z] = "hidden_remainder_z",
                                      [ARGUMENT_HIDDEN_GRID_DIMS] = "hidden_grid_dims",
                                      [ARGUMENT_HIDDEN_HEAP] = "hidden_heap_v1",
                                      [ARGUMENT_HIDDEN_DYNAMIC_LDS_SIZE] = "hidden_dynamic_lds_size",
                                      [ARGUMENT_HIDDEN_PRIVATE_BASE] = "hidden_private_base",
                                      [ARGUMENT_HIDDEN_SHARED_BASE] = "hidden_shared_base",
                                      [ARGUMENT_HIDDEN_QUEUE_POINTER] = "hidden_queue_ptr",
                                      [ARGUMENT_UNKNOWN] = "unknown"};
  return (size_t)kind < sizeof names / sizeof *names && names[kind] != NULL ? names[kind] : "unknown";
}

/* Names out of files need not be UTF-8: what is not becomes "?". */
static json_t *text(const char *value) {
  json_t *string = json_string(value);
  if (string != NULL) return string;
  char clean[1024];
  size_t i = 0;
  for (; value[i] != '\0' && i < sizeof clean - 1; i++) clean[i] = value[i] >= ' ' && value[i] < 0x7f ? value[i] : '?';
  clean[i] = '\0';
  return json_string(clean);
}

static json_t *arguments_json(const struct kernel_code *kernel) {
  static const char *const accesses[] = {"unknown", "read_only", "write_only", "read_write"};
  json_t *list = json_array();
  for (uint32_t i = 0; i < kernel->argument_count; i++) {
    const struct kernel_argument *argument = &kernel->arguments[i];
    enum argument_access access =
        argument->actual_access != ARGUMENT_ACCESS_UNKNOWN ? argument->actual_access : argument->access;
    json_array_append_new(list,
                          json_pack("{s:i, s:i, s:s, s:s, s:b, s:o}", "offset", (int)argument->offset, "size",
                                    (int)argument->bytes, "kind", report_argument_kind(argument->kind), "access",
                                    accesses[access], "hidden", (int)argument->hidden, "name", text(argument->name)));
  }
  return list;
}

static json_t *kernel_json(const struct inspected_code *code, uint32_t index) {
  const struct kernel_code *kernel = &code->object->kernels[index];
  json_t *missing = code->checked ? json_array() : json_null();
  for (unsigned i = 0; code->checked && i < code->kernels[index].missing_count; i++) {
    const struct missing_instruction *found = &code->kernels[index].missing[i];
    json_array_append_new(missing, json_pack("{s:o, s:[I, I], s:i, s:i}", "mnemonic", text(found->mnemonic), "encoding",
                                             (json_int_t)found->encoding[0],
                                             (json_int_t)(found->size > 4 ? found->encoding[1] : 0), "size",
                                             (int)found->size, "uses", (int)found->uses));
  }
  const char *refusal = code->checked ? code->kernels[index].refusal : NULL;
  return json_pack("{s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:b, s:o, s:o, s:o}", "name", text(kernel->name),
                   "wave_lanes", (int)kernel->wave_lanes, "vgprs", (int)kernel->vgpr_count, "sgprs",
                   (int)kernel->sgpr_count, "lds_bytes", (int)kernel->group_segment_bytes, "scratch_bytes",
                   (int)kernel->private_segment_bytes, "kernarg_bytes", (int)kernel->kernarg_bytes, "max_block",
                   (int)kernel->max_workgroup, "code_bytes", (json_int_t)kernel->code_bytes, "explicit_arguments",
                   (int)kernel->explicit_count, "dynamic_stack", (int)kernel->dynamic_stack, "arguments",
                   arguments_json(kernel), "not_implemented", missing, "refusal",
                   refusal != NULL ? text(refusal) : json_null());
}

static json_t *code_json(const struct inspected_code *code) {
  json_t *kernels = json_array(), *variables = json_array();
  for (uint32_t i = 0; code->object != NULL && i < code->object->kernel_count; i++)
    json_array_append_new(kernels, kernel_json(code, i));
  for (uint32_t i = 0; code->object != NULL && i < code->object->variable_count; i++)
    json_array_append_new(variables, json_pack("{s:o, s:I}", "name", text(code->object->variables[i].name), "size",
                                               (json_int_t)code->object->variables[i].bytes));
  return json_pack("{s:o, s:I, s:i, s:b, s:o, s:o, s:o}", "target", text(code->target), "size", (json_int_t)code->size,
                   "version", code->object != NULL ? (int)code->object->version : 0, "chosen", (int)code->chosen,
                   "error", code->error[0] != '\0' ? text(code->error) : json_null(), "kernels", kernels, "variables",
                   variables);
}

static void lack_append(const char *sentence, void *context) { json_array_append_new(context, text(sentence)); }

bool report_json(const struct inspection *inspection, FILE *out) {
  json_t *codes = json_array(), *libraries = json_array(), *imports = json_array(), *lacks = json_array();
  for (unsigned i = 0; i < inspection->code_count; i++) json_array_append_new(codes, code_json(&inspection->codes[i]));
  for (unsigned i = 1; i < inspection->library_count; i++) {
    const struct inspected_library *library = &inspection->libraries[i];
    json_array_append_new(libraries, json_pack("{s:o, s:o, s:b}", "name", text(library->name), "path",
                                               library->path[0] != '\0' ? text(library->path) : json_null(), "stand_in",
                                               (int)library->stand_in));
  }
  for (unsigned i = 0; i < inspection->import_count; i++) {
    const struct inspected_import *import = &inspection->imports[i];
    json_array_append_new(imports, json_pack("{s:o, s:s, s:s, s:o}", "name", text(import->name), "policy",
                                             policy_name(import->policy), "group", import->group, "importer",
                                             text(import->importer)));
  }
  inspection_lacks(inspection, lack_append, lacks);
  json_t *root = json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "file", text(inspection->path), "kind",
                           inspection_kind_name(inspection->kind), "arch", inspection->arch, "code", codes, "libraries",
                           libraries, "imports", imports, "missing", lacks);
  bool good = root != NULL && json_dumpf(root, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
  json_decref(root);
  return good;
}
