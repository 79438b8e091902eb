/* libhrx_interpose.so: every exported name is a jump through its slot of hrx_hip_entries. No frame, no register but r11: any
 * signature passes unchanged. */

.set entry_slot, 0

#define HIP_ENTRY(name, ...) \
  .p2align 4; .globl name; .type name, @function; \
name: .cfi_startproc; endbr64; movq hrx_hip_entries@GOTPCREL(%rip), %r11; jmp *(entry_slot * 8)(%r11); .cfi_endproc; \
  .size name, . - name; \
  .set entry_slot, entry_slot + 1;
#define HIP_ALIAS(symbol, name, node) .globl symbol; .type symbol, @function; .set symbol, name;

  .text
#include "interpose/entrypoints.def"

  .section .note.GNU-stack, "", @progbits
