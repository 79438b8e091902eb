/* Contracts: what a kernel's bindings and constants are. The caller asserts it; hrx checks it against the code as far as the
 * code says, and every recorded call against it. */
#ifndef HRX_CONTRACT_H
#define HRX_CONTRACT_H

#include <hrx/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_contract hrx_contract;

typedef struct hrx_binding {
  size_t bytes;       /* exact, 1 to SSIZE_MAX */
  size_t alignment;   /* of the absolute address; a power of two; 0: 1 */
  hrx_access access;
  const char *layout; /* a label, compared as text where two kernels meet in a manifest; NULL: none. Copied. */
} hrx_binding;

/* Errors: INVALID/CONTRACT naming the binding and the field. `bindings` are copied. */
hrx_status hrx_contract_create(const hrx_binding *bindings, size_t count, hrx_contract **out_contract);
hrx_contract *hrx_contract_retain(hrx_contract *contract);
void hrx_contract_release(hrx_contract *contract);

/* Constants, packed little-endian in the order of the pushes; or as raw bytes at once. They must end up as long as the
 * kernel's by-value arguments are together (kernel.h). Not while a kernel uses the contract. Errors: OUT_OF_MEMORY; INVALID once a
 * kernel was made of it. */
hrx_status hrx_contract_constants(hrx_contract *contract, const void *bytes, size_t count);
hrx_status hrx_contract_push_u32(hrx_contract *contract, uint32_t value);
hrx_status hrx_contract_push_i32(hrx_contract *contract, int32_t value);
hrx_status hrx_contract_push_f32(hrx_contract *contract, float value);
hrx_status hrx_contract_push_u64(hrx_contract *contract, uint64_t value);
hrx_status hrx_contract_push_i64(hrx_contract *contract, int64_t value);
hrx_status hrx_contract_push_f64(hrx_contract *contract, double value);

/* Each pushed at the width that the kernel declares for that argument (4 or 8 bytes) when the kernel is loaded, behind all other
 * constants: those must be pushed first. An NPU kernel's indices share evenly what its other constants leave. Errors then:
 * INVALID/CONTRACT if a value does not fit. */
hrx_status hrx_contract_push_indices(hrx_contract *contract, const uint64_t *values, size_t count);

/* The same as JSON (access: "read", "write", "read-write", "atomic"; constants: u32, i32, u64, i64, f32, f64, index): {"bindings":[{"bytes":4096,"alignment":16,"access":"read","layout":"row-major"}],
 * "constants":[{"u32":7},{"f32":0.5}] or "constants":{"hex":"0a00..."}}. An unknown field is an error with its place. */
hrx_status hrx_contract_parse(const char *json, size_t bytes, hrx_contract **out_contract);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
