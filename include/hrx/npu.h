/* NPUs and their programs. hrx/npu_program.h is what a program for the software NPU is made of. */
#ifndef HRX_NPU_H
#define HRX_NPU_H

#include <hrx/contract.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_npu_kernel hrx_npu_kernel;

const char *hrx_npu_name(const hrx_npu *npu);
unsigned hrx_npu_columns(const hrx_npu *npu);

/* Loads `kernel` of a program for `columns` (1 to 8) columns with a contract, which is checked against it. For the software NPU a
 * program is a shared object, and loading runs its code. Errors: IO; INVALID/IMAGE, /NOT_FOUND, /CONTRACT, /ARGUMENT. */
hrx_status hrx_npu_kernel_load(hrx_npu *npu, const void *bytes, size_t size, const char *kernel, unsigned columns,
                               hrx_contract *contract, hrx_npu_kernel **out_kernel);
hrx_status hrx_npu_kernel_load_file(hrx_npu *npu, const char *path, const char *kernel, unsigned columns, hrx_contract *contract,
                                    hrx_npu_kernel **out_kernel);
hrx_npu_kernel *hrx_npu_kernel_retain(hrx_npu_kernel *kernel);
void hrx_npu_kernel_release(hrx_npu_kernel *kernel);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
