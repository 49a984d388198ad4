/* check.h - replays a schedule cycle by cycle and reports errors in it. It uses the machine, the instructions with
 * their operands, and the schedule, but no edges, lives or tables of the schedulers. */
#ifndef TW_XDNA2_CORE_CHECK_H
#define TW_XDNA2_CORE_CHECK_H

#include "target/xdna2/core/timetable.h"

/* Runs `iterations` (at least 1) as the core would: an instruction of iteration i issues at i * ii + cycle. Checked:
 *   slots      one instruction per slot and cycle, and only in a slot that it has;
 *   ports      one vector result per load slot and cycle;
 *   banks      one access per bank and cycle;
 *   registers  every read finds its intended value, of its iteration, at that cycle: results are neither late nor
 *   overwrite needed values; constants stay; pairs are aligned, pins kept;
 *   FIFOs      accesses in program order, one per cycle; no pop of absent data, no push into a full store FIFO.
 * TW_FAILED with the cycle, the instruction and the reason; TW_NO_MEMORY if memory ran out. */
tw_status xc_check(const xc_graph *, const xc_timetable *, int iterations, tw_error *);

#endif
