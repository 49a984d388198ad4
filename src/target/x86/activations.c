/* activations.c - rounds rows of A to int8 with scales while they are packed. runtime/quantize.h has the arithmetic;
 * this file finds the rows: in A, or gathered from columns of a transposed A. */
#include "target/x86/activations.h"

#include <math.h>
#include <string.h>

#include "target/x86/choose.h"

static x86_real real_of(tw_type type) {
  return type == TW_BF16 ? X86_REAL_BF16 : type == TW_F16 ? X86_REAL_F16 : X86_REAL_F32;
}

/* Elements [first, first + n) of row `row` of op(A), in A's type. */
static const void *row_at(const tw_gemm_plan *p, const void *a, int64_t row, int64_t first, int64_t n, void *room) {
  const tw_gemm_spec *s = &p->spec;
  const size_t bytes = (size_t)tw_type_bits(s->a) / 8;
  const char *from = a;
  if (!s->a_transposed) return from + (size_t)(row * s->lda + first) * bytes;
  for (int64_t q = 0; q < n; q++)
    memcpy((char *)room + (size_t)q * bytes, from + (size_t)((first + q) * s->lda + row) * bytes, bytes);
  return room;
}

void x86_row_scales(const tw_gemm_plan *p, const void *a, int64_t row, int64_t rows, float *scale, void *room) {
  const int64_t k = p->spec.k, block = p->layout.block * x86_kernel_group(p->kernel);
  const x86_real type = real_of(p->spec.a);
  if (!p->spec.a_transposed) {
    p->kernel->scales_of_rows(type, row_at(p, a, row, 0, k, NULL), p->a_stride, rows, k, scale);
    return;
  }
  for (int64_t i = 0; i < rows; i++) {
    scale[i] = 0;
    for (int64_t first = 0; first < k && !isnan(scale[i]); first += block) {
      const int64_t n = x86_min(block, k - first);
      float part;
      p->kernel->scales_of_rows(type, row_at(p, a, row + i, first, n, room), 0, 1, n, &part);
      if (!(part <= scale[i])) scale[i] = part; /* NaN too */
    }
  }
}

int64_t x86_run(const tw_gemm_plan *p) {
  return p->codes.group_units * x86_kernel_group(p->kernel) % X86_RUN == 0 ? X86_RUN : X86_EIGHT;
}

int64_t x86_units_in_runs(const tw_gemm_plan *p, int64_t units) {
  const int64_t run = x86_run(p) / x86_kernel_group(p->kernel);
  return x86_ceil_div(units, run) * run;
}

void x86_round_strips(const tw_gemm_plan *p, const void *a, int64_t row, int64_t strips, int64_t rows, int64_t unit,
                      int64_t units, const x86_rounded *out) {
  const int64_t group = x86_kernel_group(p->kernel), first = unit * group;
  const int64_t n = x86_min(units * group, p->spec.k - first);
  const bool by_groups = p->spec.a_rounding == TW_A_INT8_GROUPS;
  x86_quantize q = {.type = real_of(p->spec.a),
                    .strips = strips,
                    .rows = rows,
                    .from_stride = p->a_stride,
                    .n = n,
                    .group = x86_min(p->codes.group_units, units) * group,
                    .row_scales = out->row_scales,
                    .run = x86_run(p),
                    .to = out->to,
                    .to_n = x86_units_in_runs(p, units) * group,
                    .groups = x86_groups(p, units),
                    .scales = by_groups ? out->a_scales : NULL,
                    .lift = p->codes.lift,
                    .starts = out->start};
  if (p->spec.a_transposed) {
    q.from = out->room, q.from_stride = n * (int64_t)tw_type_bits(p->spec.a) / 8;
    for (int64_t i = 0; i < rows; i++) row_at(p, a, row + i, first, n, (char *)out->room + i * q.from_stride);
  } else {
    q.from = row_at(p, a, row, first, n, NULL);
  }
  p->kernel->quantize(&q);
}
