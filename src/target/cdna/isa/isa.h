/* isa.h - the instructions of gfx942 and gfx950: a table of them, decoding, and printing.
 *
 * instructions.def has a row for each opcode of each encoding:
 *
 *     I(VOP3, 459, 3, "v_fma_f32", "Dv1 0x1 1x1 2x1", 4, zero, shown, VALU, ACCESS_NONE, 0, LANES, "")
 *
 * The columns: encoding, opcode, machines (1 = gfx942, 2 = gfx950), mnemonic without suffix, operands in the order of
 * the text, forms. Then two masks over the first 64 bits: bits that must be zero, and bits outside of operands that
 * change the text. An operand is a field, what it may hold, and its width in dwords:
 *   fields  D destination; 0 1 2 sources; S scalar destination of VOP3; A address; W data; X second data; B base
 * address or
 *           resource; O scalar offset; K a literal that always follows; C vcc; M an immediate in words; Z "off"
 *   holds   v VGPR (or accumulation register), a accumulation register, s scalar register or constant, r scalar
 * register,
 *           x VGPR or scalar or constant, k literal
 * forms: 1 has a DPP form, 2 an SDWA form, 4 its mnemonic ends in _e64, 8 in _e32.
 *
 * The last five columns are the meaning of the instruction, so that effects and checks compare no mnemonics: the unit
 * that executes it (cdna_class), its access to memory (cdna_access_kind), bytes, data flow (cdna_flow) and traits
 * (cdna_trait, a letter each). For memory, bytes counts what a lane accesses; 0 where operands or a format decide. For
 * a vector instruction it is the mask of the bytes that a source uses; 0 for all. */
#ifndef TW_CDNA_ISA_H
#define TW_CDNA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "target/cdna/arch.h"

typedef enum cdna_encoding {
  CDNA_SOP2,
  CDNA_SOPK,
  CDNA_SOP1,
  CDNA_SOPC,
  CDNA_SOPP,
  CDNA_SMEM,
  CDNA_VOP2,
  CDNA_VOP1,
  CDNA_VOPC,
  CDNA_VOP3,
  CDNA_VOP3P,
  CDNA_DS,
  CDNA_FLAT,
  CDNA_SCRATCH,
  CDNA_GLOBAL,
  CDNA_MUBUF,
  CDNA_MTBUF,
  CDNA_ENCODINGS
} cdna_encoding;

enum {
  CDNA_FORM_DPP = 1,
  CDNA_FORM_SDWA = 2,
  CDNA_FORM_E64 = 4,
  CDNA_FORM_E32 = 8,
  CDNA_OPERANDS_MAX = 6,
  CDNA_INSTRUCTIONS_MAX = 2048
};

/* The unit that executes an instruction. */
typedef enum cdna_class {
  CDNA_CLASS_SALU,
  CDNA_CLASS_BRANCH,   /* sets the PC, or ends the wave */
  CDNA_CLASS_INTERNAL, /* s_nop, s_waitcnt, s_setprio, ...: the sequencer itself */
  CDNA_CLASS_BARRIER,
  CDNA_CLASS_SMEM,
  CDNA_CLASS_VALU,
  CDNA_CLASS_TRANS, /* transcendental functions: a quarter of VALU's rate */
  CDNA_CLASS_MATRIX,
  CDNA_CLASS_LDS,
  CDNA_CLASS_VMEM, /* FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF */
  CDNA_CLASSES
} cdna_class;

typedef enum cdna_access_kind {
  CDNA_ACCESS_NONE,
  CDNA_LOAD,
  CDNA_STORE,
  CDNA_ATOMIC,
  CDNA_LOAD_TO_LDS
} cdna_access_kind;

/* How bits of the sources reach the result: bit by bit for scalar instructions, byte by byte for vector
 * instructions. */
typedef enum cdna_flow {
  /* any source bit of a lane may affect any result bit of that lane; scalars: any source bit may affect any result
   * bit */
  CDNA_FLOW_LANES,
  CDNA_FLOW_MOVE,
  CDNA_FLOW_CHOOSE, /* selects one of two, by SCC or a mask */
  CDNA_FLOW_AND,
  CDNA_FLOW_AND_NOT,
  CDNA_FLOW_AND_OR,
  CDNA_FLOW_OR, /* for vectors, any bitwise operation */
  CDNA_FLOW_OR_NOT,
  CDNA_FLOW_XOR,
  CDNA_FLOW_INSERT, /* v_bfi */
  CDNA_FLOW_LEFT,   /* shifts, by source 0 */
  CDNA_FLOW_RIGHT,
  CDNA_FLOW_LEFT_OR,
  CDNA_FLOW_ALIGN_BIT,
  CDNA_FLOW_ALIGN_BYTE,
  CDNA_FLOW_WIDE_SUM, /* 32 * 32 + 64 bits */
  CDNA_FLOW_PERMUTE,  /* selects bytes, by source 2 */
  CDNA_FLOW_PACK,     /* two sources, half of each */
  CDNA_FLOW_PACKED,   /* the halves apart */
  CDNA_FLOW_READ_LANE,
  CDNA_FLOW_READ_FIRST, /* reads the first active lane */
  CDNA_FLOW_WRITE_LANE,
  CDNA_FLOW_SWAP,
  CDNA_FLOW_SWAP_16, /* rows of 16 lanes; of 32 */
  CDNA_FLOW_SWAP_32,
  CDNA_FLOW_PULL, /* through the crossbar of LDS: a lane reads from another, writes to another, or reads by a pattern */
  CDNA_FLOW_PUSH,
  CDNA_FLOW_SWIZZLE
} cdna_flow;

/* The letters of the column. "Reads" and "writes" are about registers that are not in the text. */
typedef enum cdna_trait {
  CDNA_READS_SCC = 1 << 0,   /* c */
  CDNA_WRITES_SCC = 1 << 1,  /* C */
  CDNA_READS_EXEC = 1 << 2,  /* e: reads EXEC as a value; vector instructions read it as a mask unless CDNA_ALL_LANES */
  CDNA_WRITES_EXEC = 1 << 3, /* E */
  CDNA_READS_VCC = 1 << 4,   /* v */
  CDNA_READS_M0 = 1 << 5,    /* m */
  CDNA_WRITES_M0 = 1 << 6,   /* M */
  CDNA_READS_D = 1 << 7,     /* d: D is a source, too */
  CDNA_KEEPS_D = 1 << 8,     /* k: D is a source, and not written */
  CDNA_SWAPS = 1 << 9,       /* s: D and source 0 are read and written */
  CDNA_ALL_LANES = 1 << 10,  /* a: ignores EXEC */
  CDNA_HALVES = 1 << 11,     /* h: sources of 16 bits */
  CDNA_HALF_FACTORS = 1 << 12,  /* H: sources 0 and 1 of 16 bits */
  CDNA_LOW_HALF = 1 << 13,      /* l: 16 bits of data or result, in the lower half of the register */
  CDNA_UPPER_HALF = 1 << 14,    /* u: in the upper half */
  CDNA_RESULT_BYTE = 1 << 15,   /* b: op_sel chooses the result's byte */
  CDNA_RESULT_HALF = 1 << 16,   /* r: op_sel chooses the result's half, and the other is kept */
  CDNA_RESULT_PART = 1 << 17,   /* p: counts as a write of a part for hazards, wherever the part is */
  CDNA_MIX = 1 << 18,           /* x: sources of 32 or 16 bits, by op_sel_hi */
  CDNA_DOT = 1 << 19,           /* D: a dot product */
  CDNA_SIGNED = 1 << 20,        /* S: loaded values are sign-extended */
  CDNA_PLAIN_ADDRESS = 1 << 21, /* L: a scalar load by address, not by buffer */
  CDNA_TWO = 1 << 22,           /* 2: two accesses to LDS */
  CDNA_NOTHING = 1 << 23,       /* N: no effect */
  CDNA_SUSPECT = 1 << 24,       /* !: a defect of the machine is suspected (checks/checks.c) */
  CDNA_ASSUMED = 1 << 25,       /* A: documents are silent about a part of it (fidelity.h) */
  CDNA_UNPUBLISHED = 1 << 26,   /* U: the bits of its result are not published */
} cdna_trait;

typedef struct cdna_operand_form {
  char field, holds;
  uint8_t width; /* dwords */
} cdna_operand_form;

typedef struct cdna_instruction {
  const char *name;
  uint8_t encoding, arches, forms, n_operands;
  uint16_t opcode;
  uint64_t zero, shown;
  uint8_t klass, access, bytes, flow; /* cdna_class, cdna_access_kind, ..., cdna_flow */
  uint32_t traits;
  cdna_operand_form operand[CDNA_OPERANDS_MAX];
} cdna_instruction;

/* All rows of the table, at most CDNA_INSTRUCTIONS_MAX. */
const cdna_instruction *cdna_instructions(size_t *n);

typedef enum cdna_variant { CDNA_PLAIN, CDNA_DPP, CDNA_SDWA, CDNA_SCALED } cdna_variant;

/* Codes of scalar operands (8 or 9 bits). */
enum {
  CDNA_SGPRS = 102,
  CDNA_FLAT_SCRATCH = 102,
  CDNA_XNACK = 104,
  CDNA_VCC = 106,
  CDNA_TTMP = 108,
  CDNA_M0 = 124,
  CDNA_NULL = 125,
  CDNA_EXEC = 126,
  CDNA_ZERO = 128, /* integers 0 to 64, then -1 to -16 */
  CDNA_APERTURES = 235,
  CDNA_FLOATS = 240,
  CDNA_CODE_SDWA = 249,
  CDNA_CODE_DPP = 250,
  CDNA_VCCZ = 251,
  CDNA_EXECZ = 252,
  CDNA_SCC = 253,
  CDNA_LDS_DIRECT = 254,
  CDNA_LITERAL = 255,
  CDNA_VGPRS = 256,
};

/* One instruction in code. */
typedef struct cdna_code {
  const cdna_instruction *instruction;
  cdna_variant variant;
  uint8_t dwords;   /* 1 to 4 */
  uint64_t bits;    /* the first 64 (of a scaled MFMA the second 64, that are an MFMA) */
  uint32_t extra;   /* DPP's or SDWA's dword */
  uint32_t literal; /* if has_literal */
  uint64_t prefix;  /* a scaled MFMA's first 64 bits */
  bool has_literal;
} cdna_code;

/* Decodes the instruction at word[0], where n dwords are available. Returns NULL and the reason (static text) if it is
 * not an instruction. */
const char *cdna_decode(cdna_arch, const uint32_t word[], size_t n, cdna_code *out);

static inline uint32_t cdna_bits(uint64_t value, int low, int width) {
  return (uint32_t)(value >> low & ((1ull << width) - 1));
}

/* The bits that identify the row's encoding and opcode; operands and modifiers are zero. */
uint64_t cdna_encoding_bits(const cdna_instruction *);
/* The operand of a field; NULL if the instruction has none. */
const cdna_operand_form *cdna_find_field(const cdna_instruction *, char field);
/* The code in a field: 0..255 a scalar operand, 256.. a VGPR; fields that hold only VGPRs too. AccVGPRs are 512 to
 * 767. */
int cdna_operand_code(const cdna_code *, const cdna_operand_form *);
/* Dwords of an operand: from the table; for f8f6f4 from its format. */
int cdna_operand_width(const cdna_code *, const cdna_operand_form *);

/* Do its sources have 16 bits? Then constants have, too. */
bool cdna_takes_halves(const cdna_instruction *);
/* The text that llvm-objdump prints, without tabs. Branches print their offset in words. */
void cdna_print(const cdna_code *, tw_text *);

#endif
