/* apply.c - see apply.h. Blocks of another shape are clipped to this shape. */
#include "target/x86/tune/apply.h"

#include "target/x86/choose.h"

int64_t x86_tuned_block(const x86_tuned *t, const tw_gemm_plan *p, int64_t chosen) {
  if (!t || t->blocks.kc <= 0) return chosen;
  const int64_t elements = x86_kernel_group(t->kernel), units = x86_ceil_div(p->spec.k, elements);
  const int64_t step = x86_block_step(p, units);
  const int64_t block = x86_ceil_div(t->blocks.kc / elements > 0 ? t->blocks.kc / elements : 1, step) * step;
  return x86_min(block, x86_ceil_div(units, step) * step);
}

static bool can_read_in_place(const tw_gemm_plan *p) {
  return !x86_converts_a(p) && p->spec.k % x86_kernel_group(p->kernel) == 0;
}

void x86_tune_blocks(tw_gemm_plan *p, const x86_blocks *b) {
  if (b->panels > 0 && !p->on_codes) {
    p->wide = b->panels == 2;
    p->strip_rows = p->wide ? p->kernel->wide_rows : p->kernel->rows;
  }
  const int64_t rows = p->strip_rows, columns = p->kernel->columns;
  if (b->a == X86_PACK_A || (!p->on_codes && b->a == X86_READ_A_IN_PLACE && can_read_in_place(p)))
    p->a_mode = b->a == X86_PACK_A ? X86_A_PACKED : X86_A_IN_PLACE;
  if (b->mc > 0) p->mc = x86_ceil_div(x86_min(b->mc, p->spec.m), rows) * rows;
  if (b->nc > 0) p->nc = x86_ceil_div(x86_min(b->nc, p->spec.n), columns) * columns;
  p->rho = (int)x86_min(b->rho > 0 ? b->rho : p->rho, x86_ceil_div(p->mc, rows)); /* the buffer is a strip at least */
  if (b->ahead > 0) p->ahead = b->ahead;
}

static unsigned heights_of_strips(const tw_gemm_plan *p, int64_t rows, bool two_panels) {
  const x86_strips s = x86_strips_of(p, rows, x86_rows_of_tile(p, two_panels));
  const int64_t last = rows - (s.n - 1) * s.low - x86_min(s.taller, s.n - 1);
  return 1u << (last - 1) | (s.n > 1 ? 1u << (s.low - 1) : 0) | (s.taller ? 1u << s.low : 0);
}

x86_heights x86_heights_of(const tw_gemm_plan *p) {
  const int64_t buffer = x86_ceil_div(p->mc, p->rho);
  unsigned all = 0, wide = 0;
  for (int t = 0; t < p->parts_m; t++) {
    const int64_t end = x86_part_row(p, t + 1);
    for (int64_t row = x86_part_row(p, t); row < end; row += p->mc)
      for (int64_t left = x86_min(p->mc, end - row); left > 0; left -= buffer)
        all |= heights_of_strips(p, x86_min(buffer, left), false),
            wide |= p->wide ? heights_of_strips(p, x86_min(buffer, left), true) : 0;
  }
  if (p->on_codes) return (x86_heights){.coded = all};
  /* an odd last panel, of all panels or of a thread's, uses the narrow tiles */
  if (p->a_mode == X86_A_IN_PLACE) return (x86_heights){.direct = all, .wide_direct = wide};
  return (x86_heights){.packed = all, .wide_packed = wide};
}

bool x86_has_heights(const tw_gemm_plan *p) {
  const x86_kernel *k = p->kernel;
  if (!k->packed) return true;
  const x86_heights used = x86_heights_of(p);
  for (int r = 0; r < X86_ROWS_MAX; r++) {
    if (used.packed >> r & 1 && !k->packed[r]) return false;
    if (used.direct >> r & 1 && !k->direct[r]) return false;
    if (used.wide_packed >> r & 1 && !k->wide_packed[r]) return false;
    if (used.wide_direct >> r & 1 && !k->wide_direct[r]) return false;
    if (used.coded >> r & 1 && !k->coded[p->codes.form][r]) return false;
  }
  return true;
}
