/* fidelity.c - see fidelity.h. */
#include "target/cdna/isa/fidelity.h"

#include "target/cdna/isa/effects.h"

const char *cdna_fidelity_name(cdna_fidelity f) {
  static const char *const name[CDNA_FIDELITIES] = {"exact", "assumed", "undocumented"};
  return name[f];
}

/* CBSZ: AMD's calculator and the manual differ where it is smaller than the number of blocks. */
static bool is_broadcast(const cdna_code *c, const cdna_mfma *m) {
  return m->fields == CDNA_FIELDS_BROADCAST && cdna_bits(c->bits, 8, 3);
}

static const char *assumption(const cdna_code *c) {
  switch ((cdna_class)c->instruction->klass) {
  case CDNA_CLASS_LDS: return "8-bit, 6-bit and 4-bit items are transposed by the rule of 16-bit items";
  case CDNA_CLASS_VMEM: return "typed buffers: rounding and range of components";
  default: return "stochastic rounding: the place of the random bits";
  }
}

static const char *unknown(const cdna_code *c) {
  switch ((cdna_class)c->instruction->klass) {
  case CDNA_CLASS_SMEM: return "a clock, which follows instructions here";
  case CDNA_CLASS_SALU: return "registers of the hardware, whose values are the machine's own";
  case CDNA_CLASS_MATRIX: return "the order in which the matrix unit sums is not published";
  default: return "rounded correctly or nearly so; the machine's result may differ by 1 ulp";
  }
}

cdna_fidelity cdna_fidelity_of(cdna_arch arch, const cdna_code *c, const char **why) {
  const cdna_instruction *i = c->instruction;
  const char *reason = NULL;
  cdna_fidelity f = CDNA_EXACT;
  cdna_effects e;
  cdna_effects_of(arch, c, &e);
  if (i->traits & CDNA_UNPUBLISHED || (e.mfma && arch == CDNA4 && e.mfma->c != CDNA_I32)) {
    f = CDNA_UNDOCUMENTED;
    reason = unknown(c);
  } else if (e.mfma && is_broadcast(c, e.mfma)) {
    f = CDNA_IS_ASSUMED;
    reason = "CBSZ broadcasts within groups of blocks, as in AMD's calculator";
  } else if (i->traits & CDNA_ASSUMED) {
    f = CDNA_IS_ASSUMED;
    reason = assumption(c);
  }
  if (why) *why = reason;
  return f;
}
