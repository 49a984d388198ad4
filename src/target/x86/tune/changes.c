/* changes.c - see changes.h. A change of one element is the hardest to notice for a kernel that samples its operands,
 * but rounding may hide its effect. So the length is random, in powers of two, and is doubled until one element of C
 * moves by four times its tolerance. */
#include "target/x86/tune/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum { MORE = 8 /* further elements of C that must follow a change */, VISIBLE = 4 /* tolerances */ };

typedef struct range {
  int64_t first, end; /* in units along k */
} range;

/* A range of 2^x of n units, every x with equal probability; in half of all cases 1 unit. */
static range draw_range(tw_random *r, int64_t n) {
  int powers = 1;
  while ((int64_t)1 << powers <= n && powers < 62) powers++;
  if (tw_random_below(r, 2)) powers = 1;
  const int64_t most = (int64_t)1 << tw_random_below(r, (uint64_t)powers), count = most < n ? most : n;
  const int64_t first = tw_random_between(r, 0, n - count);
  return (range){first, first + count};
}

/* A range of twice the length, at most n. */
static range doubled(range x, int64_t n) {
  const int64_t length = 2 * (x.end - x.first), end = x.first + length < n ? x.first + length : n;
  return (range){end > length ? end - length : 0, end};
}

static bool shows(double before, double after, double tolerance) {
  return fabs(after - before) > VISIBLE * tolerance && after != before;
}

/* ---- A ---- */

tw_status x86_change_a(const x86_verifier *v, tw_random *r, void *a, x86_change *out, tw_error *error) {
  const int64_t k = v->gemm.k, row = tw_random_between(r, 0, v->gemm.m - 1),
                column = tw_random_between(r, 0, v->gemm.n - 1);
  double *x = tw_new((size_t)k, sizeof *x), tolerance;
  if (!x) return tw_no_memory(error, NULL);
  x86_read_a(v, a, row, x);
  const double before = x86_element(v, x, column, &tolerance);
  for (range done = {0, 0}, now = draw_range(r, k);; done = now, now = doubled(now, k)) {
    const bool fresh = done.end == 0;
    x86_negate_a(v, a, row, now.first, fresh ? now.end : done.first);
    if (!fresh) x86_negate_a(v, a, row, done.end, now.end);
    x86_read_a(v, a, row, x);
    if (now.end - now.first == k || shows(before, x86_element(v, x, column, &tolerance), tolerance)) break;
  }
  free(x);
  *out = (x86_change){.row = row, .column = {column, column}, .of = X86_OF_ROW};
  return TW_OK;
}

/* ---- B ---- */

/* Elements along k that share a scale, and are exchanged together. */
static int64_t grain_of(const tw_gemm *g) {
  tw_packing packing;
  if (!tw_gemm_weights_only(g) || tw_gemm_packing(g, &packing, NULL) != TW_OK) return 1;
  if (packing.format->scale != TW_SCALE_F32) return (int64_t)packing.format->block;
  return packing.group ? (int64_t)packing.group : g->k;
}

/* Exchanges bytes, so that all values stay the same. */
static void exchange(const x86_verifier *v, const int64_t column[2], int64_t first, int64_t end) {
  const tw_operand *o = &v->operand[1];
  const bool are_rows = v->gemm.b_transposed;
  const size_t size = (size_t)tw_type_bits(o->type) / 8;
  for (int64_t p = first; p < end; p++) {
    char *x = (char *)v->b + (size_t)(p * o->stride[are_rows] + column[0] * o->stride[!are_rows]) * size;
    char *y = (char *)v->b + (size_t)(p * o->stride[are_rows] + column[1] * o->stride[!are_rows]) * size, z[8];
    memcpy(z, x, size);
    memcpy(x, y, size);
    memcpy(y, z, size);
  }
}

tw_status x86_change_b(x86_verifier *v, tw_random *r, const void *a, x86_change *out, tw_error *error) {
  const int64_t k = v->gemm.k, grain = grain_of(&v->gemm), units = (k + grain - 1) / grain;
  const int64_t row = tw_random_between(r, 0, v->gemm.m - 1), one = tw_random_between(r, 0, v->gemm.n - 1),
                other = (one + tw_random_between(r, 1, v->gemm.n - 1)) % v->gemm.n;
  const int64_t column[2] = {one, other};
  double *x = tw_new((size_t)k, sizeof *x), before[2], tolerance;
  if (!x) return tw_no_memory(error, NULL);
  x86_read_a(v, a, row, x);
  for (int i = 0; i < 2; i++) before[i] = x86_element(v, x, column[i], &tolerance);
  x86_verifier_forget(v, column);
  for (range done = {0, 0}, now = draw_range(r, units);; done = now, now = doubled(now, units)) {
    const bool fresh = done.end == 0;
    bool seen = now.end - now.first == units;
    const int64_t end = now.end * grain < k ? now.end * grain : k;
    exchange(v, column, now.first * grain, fresh ? end : done.first * grain);
    if (!fresh && done.end < now.end) exchange(v, column, done.end * grain, end);
    for (int i = 0; i < 2; i++) seen |= shows(before[i], x86_element(v, x, column[i], &tolerance), tolerance);
    if (seen) break;
  }
  x86_verifier_learn(v, column);
  free(x);
  *out = (x86_change){.row = row, .column = {one, other}, .of = X86_OF_COLUMNS};
  return TW_OK;
}

/* ---- C ---- */

static tw_status verify_place(const x86_verifier *v, double *x, const void *a, const void *c, int64_t row,
                              int64_t column, tw_error *error) {
  x86_read_a(v, a, row, x);
  return x86_verify_element(v, x, c, row, column, error);
}

tw_status x86_verify_change(const x86_verifier *v, const x86_change *change, tw_random *r, const void *a, const void *c,
                            tw_error *error) {
  double *x = tw_new((size_t)v->gemm.k, sizeof *x);
  if (!x) return tw_no_memory(error, NULL);
  tw_status status = TW_OK;
  for (int i = 0; status == TW_OK && i < 2 + MORE; i++) {
    const int64_t row = i < 2 || change->of == X86_OF_ROW ? change->row : tw_random_between(r, 0, v->gemm.m - 1),
                  column = i < 2 || change->of == X86_OF_COLUMNS ? change->column[i % 2]
                                                                 : tw_random_between(r, 0, v->gemm.n - 1);
    status = verify_place(v, x, a, c, row, column, error);
  }
  free(x);
  return status;
}
