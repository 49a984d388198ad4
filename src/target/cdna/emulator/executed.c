/* executed.c - finds which instructions the emulator executes: each row of the table, in each of its forms, is
 * lowered like code with register operands, so that the answer is the emulator's own. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"

/* An encoding of the row: its opcode, VGPRs as sources where possible, no modifiers. */
static uint64_t plain_bits(const cdna_instruction *i) {
  uint64_t bits = cdna_encoding_bits(i);
  if (i->encoding == CDNA_VOP3 || i->encoding == CDNA_VOP3P)
    for (int o = 0; o < i->n_operands; o++) {
      const cdna_operand_form *f = &i->operand[o];
      if (f->field >= '0' && f->field <= '2' && f->holds != 's' && f->holds != 'r')
        bits |= 256ull << (32 + 9 * (f->field - '0'));
    }
  if (i->encoding == CDNA_VOP3P && strstr(i->name, "v_accvgpr_write")) bits |= 256ull << 32;
  if (i->encoding == CDNA_VOP1 || i->encoding == CDNA_VOP2 || i->encoding == CDNA_VOPC)
    if (cdna_find_field(i, '0')) bits |= 256;
  return bits;
}

/* False: the row has no such form on this machine. */
static bool sample(cdna_arch arch, const cdna_instruction *i, cdna_variant form, cdna_code *out) {
  const uint64_t bits = plain_bits(i);
  uint32_t word[4] = {(uint32_t)bits, (uint32_t)(bits >> 32)};
  if (!(i->arches >> arch & 1)) return false;
  switch (form) {
  case CDNA_PLAIN: break;
  case CDNA_DPP: /* quad_perm:[0,1,2,3], all rows and banks */
    if (!(i->forms & CDNA_FORM_DPP)) return false;
    word[0] = (word[0] & ~0x1FFu) | CDNA_CODE_DPP;
    word[1] = 0xFF00E400u;
    break;
  case CDNA_SDWA: /* whole dwords */
    if (!(i->forms & CDNA_FORM_SDWA)) return false;
    word[0] = (word[0] & ~0x1FFu) | CDNA_CODE_SDWA;
    word[1] = i->encoding == CDNA_VOPC ? 0x06060000u : i->encoding == CDNA_VOP1 ? 0x00060600u : 0x06060600u;
    break;
  case CDNA_SCALED:
    if (arch != CDNA4 || !strstr(i->name, "_f8f6f4")) return false;
    word[2] = word[0] | 0x800, word[3] = word[1];
    word[0] = 0xD3AC0000u, word[1] = 0x18020100u;
    break;
  }
  return !cdna_decode(arch, word, 4, out);
}

bool cdna_is_executed(cdna_arch arch, const cdna_instruction *i, cdna_variant form, bool *exists, const char **why) {
  const cdna_object object = {.arch = arch};
  cdna_program p = {.object = &object};
  cdna_code c;
  *why = NULL;
  *exists = sample(arch, i, form, &c) && cdna_program_open(&p);
  if (*exists) {
    cdna_op op = {0};
    cdna_lower(&p, &c, &op);
    if (op.run == cdna_stop_here) *why = op.why; /* static text */
  }
  cdna_program_free(&p);
  return *exists && !*why;
}
