/* What kernels of both kinds need of contracts, beside contract_check (objects.h). */
#ifndef HRX_NATIVE_CONTRACT_H
#define HRX_NATIVE_CONTRACT_H

#include "native/objects.h"

/* From now on its constants cannot change. */
void contract_seal(struct hrx_contract *contract);

/* Writes an index at the width of the argument that takes it. Errors: INVALID/CONTRACT for another width than 4 or 8, and for a
 * value that does not fit. */
hrx_status contract_index_write(const char *kernel, uint64_t value, size_t width, unsigned argument, uint8_t *out_bytes);

#endif
