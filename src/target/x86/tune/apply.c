/* apply.c - see apply.h. Blocks that came from another shape are cut to this one. */
#include "target/x86/tune/apply.h"

#include "target/x86/choose.h"

int64_t x86_tuned_block(const x86_tuned *t, int64_t k, int64_t group, int64_t chosen) {
  if (!t || t->blocks.kc <= 0) return chosen;
  const int64_t elements = x86_kernel_group(t->kernel), units = x86_ceil_div(k, elements);
  const int64_t step = x86_block_step(group, units);
  const int64_t block = x86_ceil_div(t->blocks.kc / elements > 0 ? t->blocks.kc / elements : 1, step) * step;
  return x86_min(block, x86_ceil_div(units, step) * step);
}

static bool can_read_in_place(const tw_gemm_planned *p) {
  return !x86_converts_a(p) && p->spec.k % x86_kernel_group(p->kernel) == 0;
}

void x86_tune_blocks(tw_gemm_planned *p, const x86_blocks *b) {
  if (p->on_codes) return; /* other tiles than those that were tuned */
  const int64_t rows = p->kernel->rows, columns = p->kernel->columns;
  if (b->threads_m > 0 && b->threads_n > 0 && b->threads_m * b->threads_n <= p->spec.threads) {
    p->threads_m = b->threads_m;
    p->threads_n = b->threads_n;
  }
  if (b->a == X86_PACK_A || (b->a == X86_READ_A_IN_PLACE && can_read_in_place(p)))
    p->a_mode = b->a == X86_PACK_A ? X86_A_PACKED : X86_A_IN_PLACE;
  if (b->mc > 0) p->mc = x86_ceil_div(x86_min(b->mc, p->spec.m), rows) * rows;
  if (b->nc > 0) p->nc = x86_ceil_div(x86_min(b->nc, p->spec.n), columns) * columns;
  if (b->rho > 0) p->rho = (int)x86_min(b->rho, x86_ceil_div(p->mc, rows));
}
