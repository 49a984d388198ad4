/* choose.h - the defaults of a plan without tuning: kernel from the types, blocks from the caches, threads from the
 * shape. */
#ifndef TW_X86_CHOOSE_H
#define TW_X86_CHOOSE_H

#include "target/x86/plan.h"

/* The named kernel, or the fastest kernel of this CPU for the description. */
tw_status x86_choose_kernel(const tw_gemm_spec *, const x86_kernel **out, tw_error *);
/* Blocks of k are a multiple of this: of groups of units that share a scale (if there are several in `units`), and of
 * 16 units, which are a multiple of the unrolling, of the rows of units in lines of codes, and of AMX's units; for
 * X86_T3, which has neither groups nor AMX, of some lines. The plan has kernel, description and codes. */
int64_t x86_block_step(const tw_gemm_plan *, int64_t units);
/* Units of k in a block, a multiple of x86_block_step: depends on kernel and weights alone, so that packed weights
 * serve every m. */
int64_t x86_choose_block(const tw_gemm_plan *);
bool x86_has_scales(const tw_gemm_spec *); /* weights with shared scales, for real A */
/* True if tiles read codes and no panel is expanded. `coded_rows`: rows of the kernel's tile on codes (AMX has
 * none). */
bool x86_runs_on_codes(const tw_gemm_spec *, int coded_rows);
/* Does the CPU have the kernel's instructions, and does the kernel compute the types? */
bool x86_computes(const x86_kernel *, const tw_gemm_spec *);
/* The value of `by_strips`, which follows from the kernel, mc, rho and parts_m. */
bool x86_goes_by_strips(const tw_gemm_plan *);
/* Fills a_mode, mc, nc, rho, parts_m, parts_n, threads. 0 parts: their number is chosen. */
void x86_choose_blocks(tw_gemm_plan *, int parts_m, int parts_n);

int x86_kernel_group(const x86_kernel *);
bool x86_sums_are_integers(const x86_kernel *);
/* True if elements of A must be converted before the kernel can read them. Elements after the last whole unit of k
 * always must. */
bool x86_converts_a(const tw_gemm_plan *);

#endif
