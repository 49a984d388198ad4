/* isa.h - the instructions of gfx942 and gfx950: a table of them, decoding, and printing.
 *
 * instructions.def has a row for each opcode of each encoding:
 *
 *     I(VOP3, 459, 3, "v_fma_f32", "Dv1 0x1 1x1 2x1", 4, zero, shown)
 *
 * encoding, opcode, machines (1 = gfx942, 2 = gfx950), mnemonic without suffix, operands in the order of the text,
 * forms, and two masks over the first 64 bits: bits that must be zero, and bits outside of operands that change the
 * text. An operand is a field, what it may hold, and its width in dwords:
 *   fields  D destination; 0 1 2 sources; S scalar destination of VOP3; A address; W data; X second data; B base
 * address or
 *           resource; O scalar offset; K a literal that always follows; C vcc; M an immediate in words; Z "off"
 *   holds   v VGPR (or accumulation register), a accumulation register, s scalar register or constant, r scalar
 * register,
 *           x VGPR or scalar or constant, k literal
 * forms: 1 has a DPP form, 2 an SDWA form, 4 its mnemonic ends in _e64, 8 in _e32. */
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

enum { CDNA_FORM_DPP = 1, CDNA_FORM_SDWA = 2, CDNA_FORM_E64 = 4, CDNA_FORM_E32 = 8, CDNA_OPERANDS_MAX = 6 };

typedef struct cdna_operand_form {
  char field, holds;
  uint8_t width; /* dwords */
} cdna_operand_form;

typedef struct cdna_instruction {
  const char *name;
  uint8_t encoding, arches, forms, n_operands;
  uint16_t opcode;
  uint64_t zero, shown;
  cdna_operand_form operand[CDNA_OPERANDS_MAX];
} cdna_instruction;

/* All rows of the table. */
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

/* The bits that tell the row's encoding and opcode; operands and modifiers are zero. */
uint64_t cdna_encoding_bits(const cdna_instruction *);
/* The operand in a field; NULL if the instruction has none. */
const cdna_operand_form *cdna_find_field(const cdna_instruction *, char field);
/* The code in a field: 0..255 a scalar operand, 256.. a VGPR; fields that hold only VGPRs too. AccVGPRs are 512 to
 * 767. */
int cdna_operand_code(const cdna_code *, const cdna_operand_form *);
/* Dwords of an operand: from the table; for f8f6f4 from its format. */
int cdna_operand_width(const cdna_code *, const cdna_operand_form *);

/* Are its sources of 16 bits? Then constants are, too. */
bool cdna_takes_halves(const cdna_instruction *);
/* The text that llvm-objdump prints, without tabs. Branches print their offset in words. */
void cdna_print(const cdna_code *, tw_text *);

#endif
