/* loops.h - computes one part of a planned gemm. */
#ifndef TW_X86_LOOPS_H
#define TW_X86_LOOPS_H

#include "target/x86/plan.h"

/* Computes part `part` of parts_m x parts_n of C. Parts do not overlap. `workspace`: bytes_per_thread of the calling
 * thread's own, aligned to TW_GEMM_ALIGNMENT. */
void x86_run_part(const tw_gemm_planned *, const tw_gemm_operands *, char *workspace, int part);

/* As above for plans that pack B (`packs_b`): B unpacked, and the factor of its elements (x86_pack_panels). */
void x86_run_part_on(const tw_gemm_planned *, const tw_gemm_operands *, const void *b, float scale, char *workspace,
                     int part);

#endif
