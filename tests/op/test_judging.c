/* test_judging.c - the table of docs/explain/judging.md is what the comparison does: how rarely it is wrong about a
 * right result, and what it catches, for each type and k.
 *
 * A row is made from 8 x 8 elements of C with inputs of seed 1, and the bounds that the comparison has for them.
 * PRINT=1 prints the table. */
#include "op_fixture.h"

#include <math.h>
#include <stdbool.h>

#include "base/files.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/gemm_values.h"
#include "op/int8.h"
#include "op/numerics.h"

enum { SIDE = 8 };

static const struct {
  const char *types;
  int bits, bits_less; /* of the significands of operands that are taken instead; 0: none */
} kinds[] = {
    {"a=f32 b=f32 c=f32", 11, 8}, {"a=f16 b=f16 c=f32", 8, 4},    {"a=bf16 b=bf16 c=f32", 4, 3},
    {"a=f16 b=f16 c=f16", 8, 4},  {"a=bf16 b=bf16 c=bf16", 4, 3}, {"a=e4m3 b=e4m3 c=f32", 3, 2},
    {"a=f32 b=i8 c=f32", 11, 8},  {"a=f32 b=mxfp4 c=f32", 11, 8}, {"a=bf16 b=i8 c=f32", 4, 3},
    {"a=i8 b=i8 c=i32", 0, 0},    {"a=i8 b=i8 c=i8", 0, 0},
};
static const int64_t depths[] = {64, 1024, 49152};
/* k = 1,024 alone */
static const struct {
  const char *types;
  int bits, bits_less;
} others[] = {
    {"a=f32 b=f32 c=f32 arithmetic=tf32", 8, 4},
    {"a=f32 b=f32 c=f32 arithmetic=bf16", 4, 3},
    {"a=e5m2 b=e5m2 c=f32", 2, 1},
    {"a=e4m3 b=e4m3 c=f32 arithmetic=fast_accum", 3, 2},
    {"a=f32 b=i4 c=f32", 11, 8},
    {"a=f32 b=ternary c=f32", 11, 8},
    {"a=f32 b=mxfp6 c=f32", 11, 8},
    {"a=f32 b=mxfp8 c=f32", 11, 8},
    {"a=f16 b=i8 c=f32", 8, 4},
    {"a=f32 b=i8 c=f32 a_rounding=rows", 8, 4},
    {"a=bf16 b=mxfp4 c=bf16", 4, 3},
    {"a=mxfp4 b=mxfp4 c=f32", 2, 1},
    {"a=mxfp6 b=mxfp6 c=f32", 3, 2},
    {"a=mxfp8 b=mxfp8 c=f32", 3, 2},
};

typedef struct figures {
  double alarm, error, dropped, fewer, least, row;
} figures;

static double rounded(double x, int bits) {
  int exponent;
  const double part = frexp(x, &exponent);
  return ldexp(nearbyint(ldexp(part, bits)), exponent - bits);
}

typedef struct element {
  double products, bound, norm, row, column, weights, largest, sum, terms; /* bound: of the norm */
} element;

/* `size`: of each term, by which norms are balanced (tw_gemm_term_sizes). */
static element look(const double *a, const double *b, const double *size, int64_t k) {
  element e = {0};
  double terms_a = 0, terms_b = 0, balanced_a = 0, balanced_b = 0, fourth_a = 0, fourth_b = 0, balanced_fourth_a = 0,
         balanced_fourth_b = 0;
  for (int64_t p = 0; p < k; p++) {
    const double x = a[p] * b[p], of_a = a[p] * size[p] * a[p] * size[p], of_b = b[p] / size[p] * b[p] / size[p];
    e.sum += x;
    terms_a += a[p] != 0, terms_b += b[p] != 0;
    e.norm += x * x;
    e.row += a[p] * a[p];
    e.column += b[p] * b[p];
    balanced_a += of_a, balanced_b += of_b;
    fourth_a += a[p] * a[p] * a[p] * a[p], fourth_b += b[p] * b[p] * b[p] * b[p];
    balanced_fourth_a += of_a * of_a, balanced_fourth_b += of_b * of_b;
    e.largest = fmax(e.largest, fabs(a[p]));
  }
  e.terms = fmin(terms_a, terms_b);
  e.norm = sqrt(e.norm), e.row = sqrt(e.row), e.column = sqrt(e.column);
  e.products = fmin(e.row * e.column, sqrt(balanced_a * balanced_b));
  e.bound = fmin(tw_gemm_norm(fourth_a, fourth_b), tw_gemm_norm(balanced_fourth_a, balanced_fourth_b));
  return e;
}

/* As gemm_compare.c has it. */
static double bound_of(const tw_gemm *g, const element *e) {
  const tw_gemm_numerics n = tw_gemm_numerics_of(g);
  const tw_gemm_sizes s = {.products = e->products,
                           .row = e->row,
                           .column = e->column,
                           .norm = e->bound,
                           .largest = e->largest,
                           .terms = e->terms,
                           .value = (double)g->scale * e->sum};
  return tw_gemm_tolerance(g, &n, &s, true);
}

/* What each element of a timed row of COLUMNS may be off, in the mean square, relative to its products' norm: as
 * verify.c has it for x86. */
enum { COLUMNS = 1024 };
static double row_bound_of(const tw_gemm *g, const element *e) {
  const tw_gemm_numerics n = tw_gemm_numerics_of(g);
  const tw_gemm_sizes s = {
      .products = e->products, .row = e->row, .column = e->column, .norm = e->bound, .largest = e->largest};
  const double unit = fmax(n.unit, TW_U32) + 3 * TW_U32;
  return tw_gemm_signed_off(g, &n, &s, COLUMNS) / sqrt(COLUMNS) / e->norm + 8 * unit * (1 + 6 / sqrt(COLUMNS));
}

/* Does op->compare accept what is off by this? */
static bool accepts(const op_run *r, int64_t at, double off) {
  const size_t c = r->data.n_operands - 1;
  const double before = op_get(r, c, at);
  op_put(r, c, at, before + off);
  const bool right = r->problem.op->compare(&r->problem, r->data.buffer, r->actual, NULL) == TW_OK;
  op_put(r, c, at, before);
  return right;
}

/* The chance that operands of fewer bits give an element within its bound: errors of many products are normal. */
static double passes_with(const double *a, const double *b, int64_t k, int bits, double bound) {
  double square = 0;
  for (int64_t p = 0; p < k; p++) {
    const double off = rounded(a[p], bits) * rounded(b[p], bits) - a[p] * b[p];
    square += off * off;
  }
  return erf(bound / sqrt(2 * square));
}

static double passes_dropped(const tw_gemm *g, const double *a, const double *b, const element *e, double bound) {
  const int64_t step = g->k / 64;
  double passed = 0;
  for (int64_t p = 0; p < g->k; p += step) {
    const double x = a[p] * b[p];
    if (g->c == TW_I8)
      passed += tw_round_i8((int32_t)e->sum, g->scale, false) == tw_round_i8((int32_t)(e->sum - x), g->scale, false);
    else
      passed += fabs(x) <= bound;
  }
  return passed / 64;
}

static figures make(const char *types, int bits, int bits_less, int64_t k) {
  char text[256];
  const bool scales = strstr(types, "c=i8");
  snprintf(text, sizeof text, "gemm m=%d n=%d k=%lld %s acc=%s", SIDE, SIDE, (long long)k, types,
           strstr(types, "a=i8") ? "i32" : "f32");
  if (scales) snprintf(text + strlen(text), sizeof text - strlen(text), " scale=%.3g", 0.0073 / sqrt((double)k));
  op_run r;
  op_run_make(&r, text, 1);
  const tw_gemm g = tw_gemm_of(&r.problem);
  const tw_gemm_numerics n = tw_gemm_numerics_of(&g);
  r.problem.op->reference(&r.problem, r.data.buffer, 1);
  op_run_reference(&r);
  double *a = tw_new((size_t)(SIDE * k), sizeof *a), *b = tw_new((size_t)(SIDE * k), sizeof *b);
  for (int64_t i = 0; i < SIDE; i++)
    for (int64_t p = 0; p < k; p++) {
      a[i * k + p] = tw_operand_element(&r.data.operand[0], r.data.buffer[0], i, p);
      b[i * k + p] = tw_operand_element(&r.data.operand[1], r.data.buffer[1], p, i);
    }
  double *size = tw_new(2 * (size_t)k, sizeof *size);
  const tw_gemm_values values = tw_gemm_values_of(&g, r.data.buffer);
  tw_gemm_term_sizes(&values, size + k, size);
  const double walk = exp(-acos(-1) / 2 * sqrt(3) * TW_WALK);
  figures f = {.alarm = n.exact ? 0 : walk};
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      const double *x = a + i * k, *y = b + j * k;
      const element e = look(x, y, size, k);
      const double bound = bound_of(&g, &e);
      f.error = fmax(f.error, bound / ((double)g.scale * e.norm));
      if (n.real) f.row = fmax(f.row, row_bound_of(&g, &e));
      f.dropped += passes_dropped(&g, x, y, &e, bound) / (SIDE * SIDE);
      if (bits) f.fewer += passes_with(x, y, k, bits, bound) / (SIDE * SIDE);
      if (bits) f.least += passes_with(x, y, k, bits_less, bound) / (SIDE * SIDE);
      if (i != j || i % 4 || !n.real) continue; /* the comparison has this very bound */
      const double slack = 2 * fmax(n.unit, TW_U32) * (fabs(e.sum) + bound);
      assert_true(accepts(&r, i * g.ldc + j, (e.sum < 0 ? 1 : -1) * fmax(0.99 * bound - slack, 0)));
      assert_false(accepts(&r, i * g.ldc + j, 1.01 * bound + slack));
    }
  free(a);
  free(b);
  free(size);
  op_run_free(&r);
  return f;
}

static void print_part(double part, char out[16]) {
  snprintf(out, 16, part > 0.995 ? "100%%" : part > 0.1 ? "%.0f%%" : "%.2g%%", 100 * part);
}

/* One row of the table, as docs/explain/judging.md has it. */
static void print_row(const char *keys, int bits, int bits_less, int64_t k, const figures *f, char *out, size_t size) {
  char types[64];
  snprintf(types, sizeof types, "%s", keys);
  for (char *p = types; p; p = strchr(p, ' '), p += p != NULL) /* without the names of one letter */
    if (*p && p[1] == '=') memmove(p, p + 2, strlen(p + 2) + 1);
  char dropped[16], fewer[16], least[16];
  print_part(f->dropped, dropped), print_part(f->fewer, fewer), print_part(f->least, least);
  if (f->alarm > 0)
    snprintf(out, size, "| %s | %lld | %.0e | %.1e | %s | %s (%d), %s (%d) | %.1e |", types, (long long)k, f->alarm,
             f->error, dropped, fewer, bits, least, bits_less, f->row);
  else
    snprintf(out, size, "| %s | %lld | never | any | %s | | %s |", types, (long long)k, dropped,
             strstr(types, "i32") ? "any" : "sample");
}

static int is_missing(const char *document, const char *types, int bits, int bits_less, int64_t k) {
  char row[256];
  const figures f = make(types, bits, bits_less, k);
  print_row(types, bits, bits_less, k, &f, row, sizeof row);
  if (getenv("PRINT")) printf("%s\n", row);
  if (strstr(document, row)) return 0;
  print_message("docs/explain/judging.md does not have: %s\n", row);
  return 1;
}

static void the_table_is_true(void **state) {
  char *document;
  tw_error error;
  if (tw_file_read(TW_TEST_DATA "/../../docs/explain/judging.md", 1 << 20, &document, NULL, &error) != TW_OK)
    fail_msg("%s", error.text);
  int missing = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (size_t j = 0; j < sizeof depths / sizeof *depths; j++)
      missing += is_missing(document, kinds[i].types, kinds[i].bits, kinds[i].bits_less, depths[j]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    missing += is_missing(document, others[i].types, others[i].bits, others[i].bits_less, 1024);
  free(document);
  assert_int_equal(missing, 0);
}

/* ---- what kernels do ---- */

typedef enum plan { CHAIN, LANES, PARTS, PAIRS, PLANS, ONE_DROPPED = PLANS, BF16_ROW, BF16, TF32, SUM_OF_16_BITS } plan;

static float pairs(const float *a, const float *b, int64_t k, int64_t step) {
  if (k == 1) return *a * *b;
  return pairs(a, b, k / 2, step) + pairs(a + k / 2, b + k / 2 * step, k - k / 2, step);
}

static float product(const float *a, const float *b, int64_t k, int64_t step, plan how, int64_t row) {
  float lane[16] = {0}, part = 0;
  const int bits = how == BF16 || (how == BF16_ROW && row == 7) ? 8 : how == TF32 ? 11 : 0;
  if (how == PAIRS) return pairs(a, b, k, step);
  for (int64_t p = 0; p < k; p++) {
    float x = a[p], y = b[p * step];
    if (how == ONE_DROPPED && p == k / 3) continue;
    if (bits) x = (float)rounded((double)x, bits), y = (float)rounded((double)y, bits);
    float *sum = &lane[how == LANES ? p % 16 : 0];
    *sum = how == LANES ? fmaf(x, y, *sum) : *sum + x * y;
    if (how == SUM_OF_16_BITS) *sum = (float)rounded((double)*sum, 8);
    if (how == PARTS && p % 512 == 511) part += *sum, *sum = 0;
  }
  for (int l = 1; l < 16; l++) lane[0] += lane[l];
  return part + lane[0];
}

/* How far off is the worst element, relative to its bound? Then what compare says. */
static double judge(op_run *r, plan how, tw_status *status) {
  const tw_gemm g = tw_gemm_of(&r->problem);
  double worst = 0, *value = tw_new((size_t)(g.m * g.n), sizeof *value),
         *bound = tw_new((size_t)(g.m * g.n), sizeof *bound);
  tw_place *place = tw_new((size_t)(g.m * g.n), sizeof *place);
  for (int64_t e = 0; e < g.m * g.n; e++) {
    place[e] = (tw_place){e / g.n, e % g.n};
    op_put(r, 2, e,
           (double)product((const float *)r->actual[0] + e / g.n * g.k, (const float *)r->actual[1] + e % g.n, g.k, g.n,
                           how, e / g.n));
  }
  assert_int_equal(tw_gemm_exact(&r->problem, r->actual, 2, (size_t)(g.m * g.n), place, value, bound, 1, NULL), TW_OK);
  for (int64_t e = 0; e < g.m * g.n; e++) worst = fmax(worst, fabs(op_get(r, 2, e) - value[e]) / bound[e]);
  *status = r->problem.op->compare(&r->problem, r->data.buffer, r->actual, NULL);
  free(place);
  free(value);
  free(bound);
  return worst;
}

static void right_sums_are_far_from_the_bound_and_wrong_ones_beyond(void **state) {
  static const int64_t sizes[] = {40, 1500, 49152};
  for (int i = 0; i < 3; i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      char text[128];
      op_run r;
      tw_status status;
      snprintf(text, sizeof text, "gemm m=9 n=%d k=%lld a=f32 b=f32 c=f32 acc=f32", sizes[i] < 9999 ? 30 : 8,
               (long long)sizes[i]);
      op_run_make(&r, text, seed);
      r.problem.op->reference(&r.problem, r.data.buffer, 1);
      for (plan how = CHAIN; how <= SUM_OF_16_BITS; how++) {
        const double worst = judge(&r, how, &status);
        if (how < PLANS && (status != TW_OK || worst > 0.45))
          fail_msg("%s, plan %d: %g of the bound", text, how, worst);
        if (how >= PLANS && (status != TW_FAILED || worst < 1))
          fail_msg("%s, plan %d: %g of the bound", text, how, worst);
      }
      op_run_free(&r);
    }
}

/* In the case of whole numbers an element that lacks any one product is refused, for certain. */
static void a_product_that_is_left_out_of_whole_inputs_is_seen(void **state) {
  static const char *const types[] = {"a=f32 b=f32 c=f32",   "a=f16 b=f16 c=f32",    "a=bf16 b=bf16 c=f32",
                                      "a=f16 b=f16 c=f16",   "a=bf16 b=bf16 c=bf16", "a=e4m3 b=e4m3 c=f32",
                                      "a=e4m3 b=e4m3 c=bf16"};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t d = 0; d <= sizeof depths / sizeof *depths; d++) {
      char text[256];
      op_run r;
      snprintf(text, sizeof text, "gemm m=3 n=2 k=%lld %s acc=f32 a_transposed=%d b_transposed=%d",
               (long long)(d ? depths[d - 1] : 33), types[t], (int)(t & 1), (int)(t / 2 & 1));
      op_run_make(&r, text, TW_SEED_WHOLE | (t + 1));
      const tw_gemm g = tw_gemm_of(&r.problem);
      r.problem.op->reference(&r.problem, r.data.buffer, 1);
      op_run_reference(&r);
      assert_int_equal(r.problem.op->compare(&r.problem, r.data.buffer, r.actual, NULL), TW_OK);
      double least = INFINITY;
      for (int64_t p = 0; p < g.k; p++)
        least = fmin(least, fabs(tw_operand_element(&r.data.operand[0], r.data.buffer[0], g.a_transposed ? p : 1,
                                                    g.a_transposed ? 1 : p) *
                                 tw_operand_element(&r.data.operand[1], r.data.buffer[1], g.b_transposed ? 1 : p,
                                                    g.b_transposed ? p : 1)));
      assert_true(least >= 16);
      const int64_t at = g.ldc + 1;
      assert_false(accepts(&r, at, 16));
      assert_false(accepts(&r, at, -16));
      double value, bound;
      assert_int_equal(tw_gemm_exact(&r.problem, r.data.buffer, 2, 1, &(tw_place){1, 1}, &value, &bound, 1, NULL),
                       TW_OK);
      assert_true(bound < 1);
      op_run_free(&r);
    }
}

/* Few products that are not 0: weights of fewer bits than f32 has are seen in every element, whatever k is. */
static void fewer_bits_of_weights_are_seen_in_few_inputs(void **state) {
  for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
    for (uint64_t seed = 1; seed <= 2; seed++) {
      char text[128];
      op_run r;
      tw_status status;
      snprintf(text, sizeof text, "gemm m=9 n=8 k=%lld a=f32 b=f32 c=f32 acc=f32", (long long)depths[d]);
      op_run_make(&r, text, TW_SEED_KIND | seed);
      const tw_gemm g = tw_gemm_of(&r.problem);
      r.problem.op->reference(&r.problem, r.data.buffer, 1);
      for (plan how = CHAIN; how < PLANS; how++) {
        const double worst = judge(&r, how, &status);
        if (status != TW_OK || worst > 0.5) fail_msg("%s, plan %d: %g of the bound", text, how, worst);
      }
      op_run_reference(&r);
      for (int bits = 19; bits >= 11; bits -= 4)
        for (int64_t e = 0; e < g.m * g.n; e++) {
          double sum = 0, most = 0;
          for (int64_t p = 0; p < g.k; p++) {
            const double a = tw_operand_element(&r.data.operand[0], r.data.buffer[0], e / g.n, p),
                         b = tw_operand_element(&r.data.operand[1], r.data.buffer[1], p, e % g.n);
            sum += a * rounded(b, bits);
            most = fmax(most, fabs(a * b));
          }
          /* products are in [1/2, 4), and some lines are 2^24 times as large or small; by luck, an error may be small */
          const double off = sum - op_get(&r, 2, e), unit = 20 * 0x1p-24 * 8 * most;
          if (fabs(off) > unit) assert_false(accepts(&r, e, off));
        }
      op_run_free(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_is_true),
                                     cmocka_unit_test(right_sums_are_far_from_the_bound_and_wrong_ones_beyond),
                                     cmocka_unit_test(a_product_that_is_left_out_of_whole_inputs_is_seen),
                                     cmocka_unit_test(fewer_bits_of_weights_are_seen_in_few_inputs)};
  return cmocka_run_group_tests_name("judging", tests, NULL, NULL);
}
