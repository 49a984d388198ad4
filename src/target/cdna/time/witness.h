/* witness.h - checks that the workgroups whose accesses decide the cache rates make the same accesses in the check of
 * results.
 *
 * Rates are found without matrix instructions, and with waves that alternate at each access (reuse.h). A kernel could
 * detect that and read fewer lines there. So the memory requests of each wave of some random workgroups are compared
 * with the requests of the same workgroup in the check. */
#ifndef TW_CDNA_WITNESS_H
#define TW_CDNA_WITNESS_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/isa/effects.h"

enum { CDNA_WITNESSES = 6, CDNA_WITNESS_WAVES = 16, CDNA_WITNESS_LINES = 1 << 16 };

/* Requests of one workgroup, up to the point to which it was followed. */
typedef struct cdna_witness {
  uint64_t group;
  uint64_t accesses[CDNA_WITNESS_WAVES];
  uint64_t sum[CDNA_WITNESS_WAVES];    /* hash of the lines, in their order */
  uint8_t met[CDNA_WITNESS_LINES / 8]; /* a bit for each line, by its hash */
} cdna_witness;

/* Adds an access of a wave to lines of 1 << shift bytes. */
void cdna_witness_note(cdna_witness *, int wave, const cdna_access *, int shift);
/* Executes the workgroup as in the check, and records the requests of its waves up to the point to which they were
 * followed. */
tw_status cdna_witness_check(const cdna_witness *, cdna_dispatch *, const cdna_effects *, int shift,
                             cdna_witness *checked, tw_error *);
/* True if each wave has requested the same lines in the same order. */
bool cdna_witness_is_same(const cdna_witness *, const cdna_witness *checked);
/* The approximate number of different lines. */
int cdna_witness_lines(const cdna_witness *);

#endif
