/* counts.h - counts for each instruction of a kernel: for a run with --counts, and for the view `code`.
 *
 * Phases and turns in LDS follow layout/lds.h, as in `view banks`. Lines are L2's, of 128 bytes; the lines that the
 * lanes of one instruction touch are its transactions. */
#ifndef TW_CDNA_COUNTS_H
#define TW_CDNA_COUNTS_H

#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"
#include "tilewright/extend/target.h"

enum { CDNA_LINE = 128 };

typedef struct cdna_count {
  uint64_t executions, vector, lanes; /* executions by waves; of vector instructions, the lanes that were active */
  uint64_t phases, turns, lds_bytes;  /* turns - phases are lost to bank conflicts */
  int worst;                          /* turns in the worst phase */
  /* bytes of global memory; lines accessed; lines that this number of bytes would fill */
  uint64_t bytes, lines, least_lines;
} cdna_count;

/* `a` is the accessed memory; NULL: none. */
void cdna_count_instruction(const cdna_wave *, const cdna_op *, bool vector, uint64_t exec, const cdna_access *a,
                            cdna_count *);
void cdna_count_add(cdna_count *to, const cdna_count *from);
/* Reports counts of a kernel's code dwords as text and as JSON. The work-items of a workgroup and its LDS determine
 * how many workgroups fit on a CU. */
void cdna_counts_report(const cdna_count *, size_t n, const cdna_object *, const cdna_kernel *, const cdna_machine *,
                        int work_items, int lds, tw_inspection *);

#endif
