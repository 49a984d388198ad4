/* atomics.h - memory that atomics reach in a timed launch, compared with the same workgroups in the check.
 *
 * Sums of floats depend on the order of atomics, which differs. So their values are compared as numbers. Where atomics
 * distribute the work, plain stores to the workspace may exchange places: their dwords are compared as a set
 * (cdna_memory_is_permuted). */
#ifndef TW_CDNA_ATOMICS_H
#define TW_CDNA_ATOMICS_H

#include "op/operand.h"
#include "target/cdna/emulator/observe.h"

/* For each byte of the allocation: nonzero if atomics reached it. NULL: none did. False: no memory. */
bool cdna_atomics_note(uint8_t **marks, const cdna_allocation *, uint64_t address, int bytes);
/* True if the bytes are close as numbers. `operand`: the output; NULL: the workspace, whose numbers have the width of
 * their atomics. `copy`: the bytes in the check. */
bool cdna_atomics_agree(const uint8_t *marks, const cdna_allocation *, const uint8_t *copy, const tw_operand *operand);

#endif
