/* fidelity.h - how certain it is that an instruction's result equals the machine's result.
 * docs/explain/cdna-emulator.md, "What is executed", lists the decisions and their sources. */
#ifndef TW_CDNA_FIDELITY_H
#define TW_CDNA_FIDELITY_H

#include "target/cdna/isa/isa.h"

typedef enum cdna_fidelity {
  CDNA_EXACT,      /* as documented or measured, to the bit */
  CDNA_IS_ASSUMED, /* documents are silent about a part: the emulator's decision */
  CDNA_UNDOCUMENTED, /* the machine's bits are not published: the last ones may differ, or the value is the machine's own */
  CDNA_FIDELITIES
} cdna_fidelity;

/* `why` receives the reason (static text), NULL if it is exact; it may be NULL. */
cdna_fidelity cdna_fidelity_of(cdna_arch, const cdna_code *, const char **why);
const char *cdna_fidelity_name(cdna_fidelity); /* "exact", ... */

#endif
