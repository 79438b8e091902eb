/* One decoded machine instruction, neutral of the ISA that encoded it.
 *
 * Operation names are LLVM's mnemonics without the encoding suffix (_e32, _e64, _sdwa, _dpp, _dpp8): gfx9's and gfx10's
 * names for the same operation are told apart by the name only where the meaning differs. Registers are numbered as the
 * gfx10 scalar operand encoding does, whatever the ISA (RDNA2 ISA, "Scalar operands"). */
#ifndef HRX_CODE_INSTRUCTION_H
#define HRX_CODE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of opcodes.def: OPCODE_s_add_u32 and so on. OPCODE_UNKNOWN is 0: a mnemonic that is in no row (or bytes that
 * LLVM cannot decode); it fails only a kernel that can reach it. */
enum opcode {
  OPCODE_UNKNOWN = 0,
#define OPCODE(name) OPCODE_##name,
#include "code/opcodes.def"
#undef OPCODE
  OPCODE_COUNT
};

/* Name of an opcode without suffix; "unknown" for 0. */
const char *opcode_name(enum opcode opcode);

/* The opcode with this name (`length` bytes, without suffix), OPCODE_UNKNOWN if there is none. O(log n). */
enum opcode opcode_find(const char *name, size_t length);

enum { /* scalar register numbers */
  SREG_VCC_LO = 106, SREG_VCC_HI = 107, SREG_TTMP0 = 108, SREG_M0 = 124, SREG_NULL = 125, SREG_EXEC_LO = 126,
  SREG_EXEC_HI = 127, SREG_FILE = 128
};

enum operand_kind {
  OPERAND_NONE,
  OPERAND_VGPR,     /* index = first register */
  OPERAND_SGPR,     /* index = first register, SREG_ numbers for the special ones */
  OPERAND_CONSTANT, /* value = the bits, see below */
  OPERAND_SPECIAL,  /* index = enum special_source */
  OPERAND_OFF       /* "off": no register */
};

enum special_source {
  SPECIAL_SCC, SPECIAL_VCCZ, SPECIAL_EXECZ, SPECIAL_SHARED_BASE, SPECIAL_SHARED_LIMIT, SPECIAL_PRIVATE_BASE,
  SPECIAL_PRIVATE_LIMIT, SPECIAL_POPS_EXITING_WAVE_ID, SPECIAL_LDS_DIRECT
};

enum sdwa_select { SDWA_BYTE_0, SDWA_BYTE_1, SDWA_BYTE_2, SDWA_BYTE_3, SDWA_WORD_0, SDWA_WORD_1, SDWA_DWORD };
enum sdwa_unused { SDWA_PAD, SDWA_SEXT, SDWA_PRESERVE };

struct operand {
  uint8_t kind;        /* enum operand_kind */
  uint8_t registers;   /* dwords: 2 for v[4:5]; 1 for constants */
  uint16_t index;
  bool negate, absolute, sext; /* -v0, |v0|, sext(v0) */
  uint8_t select;      /* enum sdwa_select of this source; SDWA_DWORD when not SDWA */
  bool literal;        /* a constant that came as a 32-bit literal, not inline */
  bool inline_float;   /* an inline 0.5, -0.5, 1.0, 2.0, 4.0 (and negatives), 1/(2*pi): value holds its FLOAT32 bits;
                          whoever executes widens or narrows it to the operand's type */
  uint64_t value;      /* OPERAND_CONSTANT: inline integers sign-extended to 64 bits, literals zero-extended */
};

enum instruction_form { FORM_PLAIN, FORM_E32, FORM_E64, FORM_SDWA, FORM_DPP, FORM_DPP8 };

/* data parallel primitives: kind and amount as in the text (RDNA2 ISA, "DPP_CTRL") */
enum dpp_kind {
  DPP_NONE, DPP_QUAD_PERM, DPP_ROW_SHL, DPP_ROW_SHR, DPP_ROW_ROR, DPP_WAVE_SHL, DPP_WAVE_ROL, DPP_WAVE_SHR, DPP_WAVE_ROR,
  DPP_ROW_MIRROR, DPP_ROW_HALF_MIRROR, DPP_ROW_BCAST15, DPP_ROW_BCAST31, DPP_ROW_SHARE, DPP_ROW_XMASK, DPP_ROW_NEWBCAST
};

enum { INSTRUCTION_OPERANDS = 8 };

struct instruction {
  uint32_t offset;         /* bytes from the start of the decoded code */
  uint8_t size;            /* bytes: 4 to 20 */
  uint8_t operand_count;
  uint8_t destination_count; /* the first ones are written: as LLVM's text orders them; 0 for stores and branches */
  uint8_t form;            /* enum instruction_form */
  enum opcode opcode;
  uint32_t encoding[2];    /* first words, for messages */
  struct operand operands[INSTRUCTION_OPERANDS]; /* explicit ones in text order; see the note on implicit VCC below */
  /* modifiers; zero where absent */
  bool clamp;
  uint8_t omod;            /* 0 none, 1 mul:2, 2 mul:4, 3 div:2 */
  uint8_t op_sel, op_sel_hi, neg_lo, neg_hi; /* bit i: i-th element of the text's list; op_sel_hi defaults to all ones on
                                                packed instructions and to 0 on v_fma_mix*, as LLVM's text leaves them out */
  bool has_op_sel, has_op_sel_hi;
  uint8_t sdwa_destination; /* enum sdwa_select, SDWA_DWORD if not SDWA */
  uint8_t sdwa_unused;      /* enum sdwa_unused */
  uint8_t dpp;             /* enum dpp_kind */
  uint8_t dpp_row_mask, dpp_bank_mask; /* 0xf if absent */
  bool dpp_bound_ctrl, dpp_fi;
  uint32_t dpp_value;      /* amount; quad_perm: 2 bits a lane; DPP8: 3 bits a lane */
  int32_t offset0, offset1; /* offset: / offset0: and offset1: */
  bool gds, glc, slc, dlc, lds, idxen, offen, addr64, tfe, unorm, a16, d16, r128, da, lwe;
  uint8_t dmask, dimension, format;  /* image and typed buffer: enum in the ISA's own numbers; dimension 0 1D, 1 2D, 2 3D... */
  uint32_t immediate;      /* SOPP/SOPK simm16 (raw 16 bits), swizzle offset, s_waitcnt bits, hwreg: raw encoding field */
  int64_t target;          /* branches: byte offset of the target from the start of the decoded code; -1 if none */
};

#endif
