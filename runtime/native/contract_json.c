/* Contracts as JSON. What is not known is an error: a field that is ignored would be a promise that nobody checks. */
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "native/objects.h"

enum { HEX_MOST = 1 << 16 };

static hrx_status wrong(const char *place, const char *expected) {
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "contract, %s: expected %s", place, expected);
}

static hrx_status fields_check(json_t *object, const char *place, const char *const *known) {
  const char *name;
  json_t *value;
  json_object_foreach(object, name, value) {
    bool found = false;
    for (size_t i = 0; known[i] != NULL; i++) found |= strcmp(known[i], name) == 0;
    if (!found) return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "contract, %s: there is no field \"%s\"", place, name);
  }
  return HRX_OK;
}

static hrx_status size_read(const json_t *value, const char *place, const char *field, size_t *out_size) {
  if (json_is_integer(value) && json_integer_value(value) >= 0) {
    *out_size = (size_t)json_integer_value(value);
    return HRX_OK;
  }
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "contract, %s.%s: expected a whole number from 0 up", place, field);
}

static hrx_status access_read(const json_t *value, const char *place, hrx_access *out_access) {
  static const struct {
    const char *name;
    hrx_access access;
  } accesses[] = {{"read", HRX_READ}, {"write", HRX_WRITE}, {"read-write", HRX_READ_WRITE}, {"atomic", HRX_ATOMIC}};
  const char *name = json_string_value(value);
  for (size_t i = 0; name != NULL && i < sizeof accesses / sizeof *accesses; i++)
    if (strcmp(accesses[i].name, name) == 0) {
      *out_access = accesses[i].access;
      return HRX_OK;
    }
  return hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT,
                         "contract, %s.access: expected \"read\", \"write\", \"read-write\" or \"atomic\"", place);
}

static hrx_status binding_read(json_t *value, size_t index, hrx_binding *out_binding) {
  static const char *const known[] = {"bytes", "alignment", "access", "layout", NULL};
  char place[48];
  snprintf(place, sizeof place, "bindings[%zu]", index);
  if (!json_is_object(value)) return wrong(place, "an object");
  hrx_binding binding = {.alignment = 1};
  hrx_status status = fields_check(value, place, known);
  if (status == HRX_OK) status = size_read(json_object_get(value, "bytes"), place, "bytes", &binding.bytes);
  if (status == HRX_OK) status = access_read(json_object_get(value, "access"), place, &binding.access);
  const json_t *alignment = json_object_get(value, "alignment"), *layout = json_object_get(value, "layout");
  if (status == HRX_OK && alignment != NULL) status = size_read(alignment, place, "alignment", &binding.alignment);
  if (status == HRX_OK && layout != NULL && !json_is_string(layout)) status = wrong(place, "a text for layout");
  if (status != HRX_OK) return status;
  binding.layout = json_string_value(layout);
  *out_binding = binding;
  return HRX_OK;
}

/* {"u32": 7} and the like. */
static hrx_status constant_push(json_t *value, size_t index, struct hrx_contract *contract) {
  char place[48];
  snprintf(place, sizeof place, "constants[%zu]", index);
  void *field = json_is_object(value) && json_object_size(value) == 1 ? json_object_iter(value) : NULL;
  if (field == NULL) return wrong(place, "an object with one field, its type");
  const char *type = json_object_iter_key(field);
  const json_t *number = json_object_iter_value(field);
  if (json_is_number(number) && strcmp(type, "f32") == 0) return hrx_contract_push_f32(contract, (float)json_number_value(number));
  if (json_is_number(number) && strcmp(type, "f64") == 0) return hrx_contract_push_f64(contract, json_number_value(number));
  json_int_t whole = json_integer_value(number);
  bool integer = json_is_integer(number);
  if (integer && strcmp(type, "u32") == 0 && whole >= 0 && whole <= UINT32_MAX) return hrx_contract_push_u32(contract, (uint32_t)whole);
  if (integer && strcmp(type, "i32") == 0 && whole >= INT32_MIN && whole <= INT32_MAX)
    return hrx_contract_push_i32(contract, (int32_t)whole);
  if (integer && strcmp(type, "u64") == 0 && whole >= 0) return hrx_contract_push_u64(contract, (uint64_t)whole);
  if (integer && strcmp(type, "i64") == 0) return hrx_contract_push_i64(contract, whole);
  if (integer && strcmp(type, "index") == 0 && whole >= 0) {
    uint64_t one = (uint64_t)whole;
    return hrx_contract_push_indices(contract, &one, 1);
  }
  return wrong(place, "u32, i32, u64, i64, f32, f64 or index with a number that it can hold");
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static hrx_status hex_push(json_t *value, struct hrx_contract *contract) {
  static const char *const known[] = {"hex", NULL};
  hrx_status status = fields_check(value, "constants", known);
  if (status != HRX_OK) return status;
  const char *text = json_string_value(json_object_get(value, "hex"));
  size_t length = text != NULL ? strlen(text) : 1;
  if (length % 2 != 0 || length / 2 > HEX_MOST) return wrong("constants.hex", "an even number of hexadecimal digits");
  uint8_t *bytes = malloc(length / 2 + 1);
  if (bytes == NULL) return hrx_fail(HRX_OUT_OF_MEMORY, "no memory for %zu bytes of constants", length / 2);
  for (size_t i = 0; status == HRX_OK && i < length / 2; i++) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) status = wrong("constants.hex", "hexadecimal digits");
    bytes[i] = (uint8_t)((high << 4 | low) & 0xff);
  }
  if (status == HRX_OK) status = hrx_contract_constants(contract, bytes, length / 2);
  free(bytes);
  return status;
}

static hrx_status constants_read(json_t *value, struct hrx_contract *contract) {
  if (value == NULL) return HRX_OK;
  if (json_is_object(value)) return hex_push(value, contract);
  if (!json_is_array(value)) return wrong("constants", "an array, or an object with the field hex");
  hrx_status status = HRX_OK;
  for (size_t i = 0; status == HRX_OK && i < json_array_size(value); i++)
    status = constant_push(json_array_get(value, i), i, contract);
  return status;
}

static hrx_status contract_read(json_t *root, struct hrx_contract **out_contract) {
  static const char *const known[] = {"bindings", "constants", NULL};
  hrx_binding bindings[BINDINGS_MOST];
  if (!json_is_object(root)) return wrong("the whole", "an object");
  json_t *list = json_object_get(root, "bindings");
  hrx_status status = fields_check(root, "the whole", known);
  if (status == HRX_OK && !json_is_array(list)) status = wrong("bindings", "an array");
  if (status == HRX_OK && json_array_size(list) > BINDINGS_MOST) status = wrong("bindings", "at most 64");
  for (size_t i = 0; status == HRX_OK && i < json_array_size(list); i++)
    status = binding_read(json_array_get(list, i), i, &bindings[i]);
  struct hrx_contract *contract = NULL;
  if (status == HRX_OK) status = hrx_contract_create(bindings, json_array_size(list), &contract);
  if (status == HRX_OK) status = constants_read(json_object_get(root, "constants"), contract);
  if (status != HRX_OK) {
    hrx_contract_release(contract);
    return status;
  }
  *out_contract = contract;
  return HRX_OK;
}

hrx_status hrx_contract_parse(const char *json, size_t bytes, hrx_contract **out_contract) {
  if (json == NULL || out_contract == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "json or out_contract is NULL");
  json_error_t error;
  json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL)
    return json_error_code(&error) == json_error_out_of_memory
               ? hrx_fail(HRX_OUT_OF_MEMORY, "no memory to read a contract of %zu bytes", bytes)
               : hrx_fail_reason(HRX_INVALID, HRX_REASON_CONTRACT, "contract, line %d, column %d: %s", error.line, error.column, error.text);
  hrx_status status = contract_read(root, out_contract);
  json_decref(root);
  return status;
}
