/* access.c - finds the memory that an instruction accesses: see observe.h. */
#include "target/cdna/emulator/observe.h"

bool cdna_access_of(const cdna_wave *w, const cdna_op *op, cdna_access *out) {
  if (!op->instruction) return false;
  switch (op->instruction->encoding) {
  case CDNA_DS: return cdna_lds_access(w, op, out);
  case CDNA_SMEM: return cdna_smem_access(w, op, out);
  case CDNA_FLAT:
  case CDNA_SCRATCH:
  case CDNA_GLOBAL:
  case CDNA_MUBUF: return cdna_vmem_access(w, op, out);
  default: return false;
  }
}
