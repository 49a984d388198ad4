/* verify.c - see verify.h. R. Freivalds' check (1977): C x = A (B x) for a random vector x of signs costs m n + m k
 * instead of m n k operations. It is exact for integers; for reals within the bound below, which a wrong row exceeds
 * when errors of the size of elements are many: what the complete comparison before and after the measurement adds is
 * every element. With relu, and rounded to i8, C is not linear in x: then some elements are computed. */
#include "target/x86/tune/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/int8.h"

enum { SAMPLES = 24 };

static double a_at(const x86_verifier *v, const void *a, int64_t i, int64_t p) {
  return v->gemm.a_transposed ? tw_operand_element(&v->operand[0], a, p, i)
                              : tw_operand_element(&v->operand[0], a, i, p);
}

static double b_at(const x86_verifier *v, int64_t p, int64_t j) {
  return v->gemm.b_transposed ? tw_operand_element(&v->operand[1], v->b, j, p)
                              : tw_operand_element(&v->operand[1], v->b, p, j);
}

static double c_at(const x86_verifier *v, const void *c, int64_t i, int64_t j) {
  return tw_operand_element(&v->operand[v->n_operands - 1], c, i, j);
}

tw_status x86_verifier_make(const tw_problem *p, void *const buffer[], uint64_t seed, x86_verifier *out,
                            tw_error *error) {
  x86_verifier v = {.gemm = tw_gemm_of(p), .b = buffer[1]};
  v.numerics = tw_gemm_numerics_of(&v.gemm);
  const int64_t n = v.gemm.n, k = v.gemm.k;
  v.n_operands = p->op->operands(p, v.operand);
  v.d = v.n_operands == 4 ? buffer[2] : NULL;
  v.sign = tw_new((size_t)n, sizeof *v.sign);
  v.product = tw_new((size_t)k, sizeof *v.product);
  double *norm = tw_new((size_t)n, sizeof *norm);
  if (!v.sign || !v.product || !norm) {
    free(norm);
    x86_verifier_free(&v);
    return tw_fail(error, TW_MISSING, "out of memory");
  }
  tw_random r;
  tw_random_seed(&r, seed);
  for (int64_t j = 0; j < n; j++) v.sign[j] = tw_random_next(&r) & 1 ? 1 : -1;
  for (int64_t q = 0; q < k; q++)
    for (int64_t j = 0; j < n; j++) {
      const double b = b_at(&v, q, j);
      v.product[q] += b * v.sign[j];
      norm[j] += b * b;
    }
  for (int64_t j = 0; j < n; j++) {
    v.columns = fmax(v.columns, sqrt(norm[j]));
    if (v.d) v.bias += v.sign[j] * tw_operand_element(&v.operand[2], v.d, 0, j);
  }
  free(norm);
  *out = v;
  return TW_OK;
}

void x86_verifier_free(x86_verifier *v) {
  free(v->sign);
  free(v->product);
  *v = (x86_verifier){0};
}

/* Sign and mantissa are random, the exponent is that of [1/2, 1). */
void x86_fill_a(const x86_verifier *v, uint64_t seed, void *a) {
  uint64_t keep = ~UINT64_C(0), set = 0;
  switch (v->operand[0].type) {
  case TW_F32: keep = UINT64_C(0x807fffff807fffff), set = UINT64_C(0x3f0000003f000000); break;
  case TW_BF16: keep = UINT64_C(0x807f807f807f807f), set = UINT64_C(0x3f003f003f003f00); break;
  case TW_F16: keep = UINT64_C(0x83ff83ff83ff83ff), set = UINT64_C(0x3800380038003800); break;
  default: break;
  }
  tw_random r;
  tw_random_seed(&r, seed);
  const size_t bytes = v->operand[0].bytes;
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t x = (tw_random_next(&r) & keep) | set;
    memcpy((char *)a + i, &x, bytes - i < sizeof x ? bytes - i : sizeof x);
  }
}

/* ---- what is right ---- */

static tw_status wrong(int64_t i, const char *what, tw_error *error) {
  return tw_fail(error, TW_FAILED, "wrong result while it was timed, with new inputs: row %" PRId64 " of C %s", i,
                 what);
}

static tw_status verify_row(const x86_verifier *v, const void *a, const void *c, int64_t i, tw_error *error) {
  const tw_gemm *g = &v->gemm;
  double sum = 0, norm = 0, got = 0, size = 0, largest = 0;
  for (int64_t p = 0; p < g->k; p++) {
    const double x = a_at(v, a, i, p);
    sum += x * v->product[p];
    norm += x * x;
    largest = fmax(largest, fabs(x));
  }
  for (int64_t j = 0; j < g->n; j++) {
    const double x = c_at(v, c, i, j);
    got += x * v->sign[j];
    size += x * x;
  }
  /* Errors of n elements with random signs: eight standard deviations. */
  const double expected = (double)g->scale * sum + v->bias;
  const double unit = v->numerics.exact ? 0 : fmax(v->numerics.unit, 0x1p-24);
  double off = 0;
  if (v->numerics.real)
    off = tw_gemm_sum_off(
        g, &v->numerics,
        &(tw_gemm_sizes){
            .products = sqrt(norm) * v->columns, .row = sqrt(norm), .column = v->columns, .largest = largest});
  const double bound = 8 * sqrt((double)g->n) * off + 8 * unit * sqrt(size) + 8 * 0x1p-24 * fabs(v->bias);
  return fabs(got - expected) <= bound ? TW_OK : wrong(i, "is not that of the product", error);
}

static tw_status verify_element(const x86_verifier *v, const void *a, const void *c, int64_t i, int64_t j,
                                tw_error *error) {
  const tw_gemm *g = &v->gemm;
  double sum = 0, rows = 0, columns = 0;
  tw_gemm_sizes s = {0};
  for (int64_t p = 0; p < g->k; p++) {
    const double x = a_at(v, a, i, p), y = b_at(v, p, j);
    sum += x * y;
    rows += x * x;
    columns += y * y;
    s.products += fabs(x * y);
    s.weights += fabs(y);
    s.largest = fmax(s.largest, fabs(x));
  }
  if (g->c == TW_I8) { /* exact */
    const double rounded = tw_round_i8((int32_t)sum, g->scale, g->relu);
    return c_at(v, c, i, j) == rounded ? TW_OK : wrong(i, "has an element that is not that of the product", error);
  }
  s.row = sqrt(rows);
  s.column = sqrt(columns);
  s.value = (double)g->scale * sum;
  if (v->d) s.value += s.bias = tw_operand_element(&v->operand[2], v->d, 0, j);
  if (g->relu && s.value < 0) s.value = 0;
  return fabs(c_at(v, c, i, j) - s.value) <= tw_gemm_tolerance(g, &v->numerics, &s, false)
             ? TW_OK
             : wrong(i, "has an element that is not that of the product", error);
}

tw_status x86_verify(const x86_verifier *v, const void *a, const void *c, tw_error *error) {
  const tw_gemm *g = &v->gemm;
  const tw_operand *o = &v->operand[v->n_operands - 1];
  tw_status status = TW_OK;
  tw_random r;
  if (!g->relu && g->c != TW_I8) {
    for (int64_t i = 0; status == TW_OK && i < g->m; i++) status = verify_row(v, a, c, i, error);
    return status;
  }
  tw_random_seed(&r, (uint64_t)v->sign[0] ^ (uint64_t)(uintptr_t)v->sign);
  for (int i = 0; status == TW_OK && i < SAMPLES; i++)
    status = verify_element(v, a, c, tw_random_between(&r, 0, g->m - 1), tw_random_between(&r, 0, g->n - 1), error);
  for (int64_t i = 0; status == TW_OK && i < g->m; i++)
    for (int64_t j = 0; status == TW_OK && j < g->n; j++)
      if (tw_is_poison(o, c, i, j)) /* of i8 it is a number like others */
        status = g->c == TW_I8 ? verify_element(v, a, c, i, j, error) : wrong(i, "was not written", error);
  return status;
}
