/* fidelity.h - how certain it is that an instruction's result equals the machine's result.
 * docs/explain/cdna-emulator.md, "What is executed", lists the decisions and their sources. */
#ifndef TW_CDNA_FIDELITY_H
#define TW_CDNA_FIDELITY_H

#include "target/cdna/isa/isa.h"

typedef enum cdna_fidelity {
  CDNA_EXACT,      /* exact bits, as documented or measured */
  CDNA_IS_ASSUMED, /* documents do not define a part, so the emulator decides */
  /* the machine's bits are not published: the last bits may differ, or the value is specific to the machine */
  CDNA_UNDOCUMENTED,
  CDNA_FIDELITIES
} cdna_fidelity;

/* `why` receives the reason (static text), or NULL if the result is exact; it may be NULL. */
cdna_fidelity cdna_fidelity_of(cdna_arch, const cdna_code *, const char **why);
const char *cdna_fidelity_name(cdna_fidelity); /* "exact", ... */

#endif
