/* counts.h - what a kernel's instructions did, one by one: for a run with --counts, and the view of code.
 *
 * Phases and turns in LDS are those of layout/lds.h, so that they are what `view banks` predicts. Lines are 128 bytes: L2's;
 * the lines that the lanes of one instruction touch are its transactions. */
#ifndef TW_CDNA_COUNTS_H
#define TW_CDNA_COUNTS_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"
#include "tilewright/target.h"

enum { CDNA_LINE = 128 };

typedef struct cdna_count {
  uint64_t executions, vector, lanes; /* of waves; of vector instructions, and the lanes that were on then */
  uint64_t phases, turns, lds_bytes;  /* turns - phases are lost to bank conflicts */
  int worst;                          /* turns of the worst phase */
  uint64_t bytes, lines, least_lines; /* of global memory; lines that so many bytes would fill */
} cdna_count;

/* `a` is what it reaches; NULL: nothing. */
void cdna_count_instruction(const cdna_wave *, const cdna_op *, bool vector, uint64_t exec, const cdna_access *a,
                            cdna_count *);
void cdna_count_add(cdna_count *to, const cdna_count *from);
/* In words and as JSON, for counts of the dwords of a kernel's code; work-items of a workgroup and its LDS say how many
 * fit on a CU. */
void cdna_counts_report(const cdna_count *, size_t n, const cdna_object *, const cdna_kernel *, const cdna_machine *,
                        int work_items, int lds, tw_inspection *);

#endif
