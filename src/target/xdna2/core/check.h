/* check.h - replays a schedule cycle by cycle and says what is wrong with it. Knows the machine, the instructions with
 * their operands, and the schedule; nothing of edges, lives or tables by which schedulers work. */
#ifndef TW_XDNA2_CORE_CHECK_H
#define TW_XDNA2_CORE_CHECK_H

#include "target/xdna2/core/timetable.h"

/* Runs `iterations` (at least 1) as the core would: an instruction of iteration i issues at i * ii + cycle. Checked:
 *   slots      one instruction a slot and cycle, and only in a slot that it has;
 *   ports      one vector result of a load slot a cycle;
 *   banks      one access a bank and cycle;
 *   registers  every read finds the value that it is meant to, that of its iteration, at that cycle: results come
 *              neither late nor over what is still needed; constants stay; pairs are aligned, pins kept;
 *   FIFOs      accesses in program order, one a cycle; no pop of what was not filled in, no push into a full store FIFO.
 * TW_FAILED with the cycle, the instruction and the reason; TW_MISSING if memory ran out. */
tw_status xc_check(const xc_graph *, const xc_timetable *, int iterations, tw_error *);

#endif
